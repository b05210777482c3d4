//! `cargo xtask recipes`: the list of crates in EasyBuild's recipe, from Cargo.lock.
//!
//! EasyBuild fetches every crate by itself and builds without a network, so its recipe names them all. The
//! list is committed, and a test fails where it is not what the lock file says. The other recipes under
//! `packaging/` leave that to cargo.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::listing::listed;
use crate::step;

const BEGIN: &str = "# crates: written by `cargo xtask recipes` from Cargo.lock\n";
const END: &str = "# crates: end\n";

/// Runs the command; it takes no argument.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    step::no_arguments(args)?;
    let path = recipe(root)?;
    std::fs::write(&path, written(root, &path)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// EasyBuild's recipe of this version.
fn recipe(root: &Path) -> Result<PathBuf> {
    let folder = root.join("packaging/easybuild");
    let begin = format!("numabench-{}-", env!("CARGO_PKG_VERSION"));
    let mut ours = listed(&folder)?
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begin)));
    ours.next()
        .with_context(|| format!("no {begin}*.eb in {}: the recipe of another version?", folder.display()))
}

/// The recipe as the lock file says.
fn written(root: &Path, recipe: &Path) -> Result<String> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let (text, lock) = (read(recipe)?, read(&root.join("Cargo.lock"))?);
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) =
        parts.with_context(|| format!("{} has not both lines about crates", recipe.display()))?;
    Ok(format!("{before}{BEGIN}crates = [\n{}]\n{END}{after}", crates(&lock)))
}

/// What a package's part of a lock file says of it.
pub fn locked<'l>(package: &'l str, key: &str) -> Option<&'l str> {
    let key = format!("{key} = \"");
    Some(package.lines().find_map(|line| line.strip_prefix(&key))?.trim_end_matches('"'))
}

/// What comes from the registry, a line a crate.
fn crates(lock: &str) -> String {
    let line = |package: &str| {
        locked(package, "source")?;
        Some(format!("    ('{}', '{}'),\n", locked(package, "name")?, locked(package, "version")?))
    };
    lock.split("[[package]]").filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use anyhow::bail;

    use super::*;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
    }

    /// What a Python program says that must end well.
    fn python(program: &str, args: &[&Path]) -> Result<String> {
        let output = Command::new("python3").arg("-c").arg(program).args(args).output()?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn has(module: &str) -> bool {
        let there = python(&format!("import {module}"), &[]).is_ok();
        if !there {
            eprintln!("SKIPPED a recipe's own check: python3 has no module {module}");
        }
        there
    }

    #[test]
    fn only_what_the_registry_has_is_listed() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\n\
            \n[[package]]\nname = \"ours\"\nversion = \"0.2.0\"\n";
        assert_eq!(crates(lock), "    ('a', '1.0.0'),\n");
    }

    #[test]
    fn the_easyconfig_has_the_crates_of_the_lock_file() -> Result<()> {
        let recipe = recipe(root())?;
        let committed = std::fs::read_to_string(&recipe)?;
        assert!(committed == written(root(), &recipe)?, "run `cargo xtask recipes`");
        Ok(())
    }

    #[test]
    fn every_recipe_is_of_this_version_and_names_hwloc_mpi_and_neither_cuda_nor_rocm() -> Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        for (file, has_mpi) in [
            ("spack/numabench/package.py".into(), true),
            ("conda/meta.yaml".into(), true),
            (format!("easybuild/numabench-MPI-{version}-gompi-2025b.eb"), true),
            (recipe(root())?.display().to_string(), false),
        ] {
            let text = std::fs::read_to_string(root().join("packaging").join(&file))?.to_lowercase();
            assert!(text.contains(version) && text.contains("hwloc"), "{file}");
            assert_eq!(text.contains("mpi-plugin"), has_mpi, "{file}");
            let depends =
                text.lines().filter(|line| line.contains("depend") || line.trim_start().starts_with("- "));
            for line in depends.filter(|line| !line.contains("no dependency")) {
                assert!(!line.contains("cuda") && !line.contains("rocm"), "{file}: {line}");
            }
        }
        Ok(())
    }

    #[test]
    fn every_page_that_names_a_file_of_a_release_or_cites_a_version_has_this_one() -> Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        for page in ["README.md", "packaging/README.md", "CITATION.cff", "packaging/conda/meta.yaml"] {
            let text = std::fs::read_to_string(root().join(page))?;
            let named = ["numabench-", "numabench_", "\nversion: ", "set version = \""];
            let versions = named.iter().flat_map(|before| text.split(before).skip(1)).filter_map(|after| {
                let end = after.find(|of: char| !of.is_ascii_digit() && of != '.')?;
                let named = after[..end].trim_end_matches('.');
                named.contains('.').then(|| named.to_owned())
            });
            let versions: Vec<String> = versions.collect();
            assert!(!versions.is_empty(), "{page} names none");
            assert!(versions.iter().all(|of| of == version), "{page} has {versions:?}, this is {version}");
        }
        Ok(())
    }

    #[test]
    fn spacks_recipe_is_a_python_class_of_the_name_that_spack_looks_for() -> Result<()> {
        if !has("ast") {
            return Ok(());
        }
        let program = "import ast,sys; tree=ast.parse(open(sys.argv[1]).read()); \
            print([node.name+':'+node.bases[0].id for node in tree.body if isinstance(node, ast.ClassDef)])";
        let classes = python(program, &[&root().join("packaging/spack/numabench/package.py")])?;
        assert_eq!(classes.trim(), "['Numabench:CargoPackage']");
        Ok(())
    }

    #[test]
    fn easybuild_reads_its_recipes_and_knows_every_parameter_in_them() -> Result<()> {
        if !has("easybuild.framework") {
            return Ok(());
        }
        // Read only; it would not start as root, which CI is, without the option.
        let program = "import sys\n\
            from easybuild.tools.options import set_up_configuration\n\
            set_up_configuration(args=['--allow-use-as-root-and-accept-consequences'], silent=True)\n\
            from easybuild.framework.easyconfig.default import DEFAULT_CONFIG\n\
            from easybuild.framework.easyconfig.easyconfig import get_easyblock_class\n\
            from easybuild.framework.easyconfig.parser import EasyConfigParser\n\
            for path in sys.argv[1:]:\n    recipe = EasyConfigParser(path).get_config_dict()\n    known = \
            set(DEFAULT_CONFIG) | set(get_easyblock_class(recipe['easyblock']).extra_options())\n    \
            print(recipe['name'], recipe['version'], len(recipe.get('crates', [])) > 0, sorted(set(recipe) - \
            known))\n";
        let folder = root().join("packaging/easybuild");
        let version = env!("CARGO_PKG_VERSION");
        let plugin = folder.join(format!("numabench-MPI-{version}-gompi-2025b.eb"));
        let said = python(program, &[&recipe(root())?, &plugin])?;
        assert!(said.contains(&format!("numabench {version} True []\n")), "{said}");
        assert!(said.contains(&format!("numabench-MPI {version} False []\n")), "{said}");
        Ok(())
    }

    #[test]
    fn pods_ask_for_whole_cpus_of_their_own_and_for_the_capability_that_placing_memory_needs() -> Result<()> {
        if !has("yaml") {
            return Ok(());
        }
        // Guaranteed, which the static CPU manager needs: requests equal limits, and CPUs are whole.
        let program = "import sys, yaml\n\
            for path in sys.argv[1:]:\n    made = yaml.safe_load(open(path))\n    pod = \
            made['spec'].get('template', made)['spec']\n    for one in pod['containers']:\n        asked = \
            one['resources']\n        volumes = {volume['name'] for volume in pod['volumes']}\n        \
            print(made['kind'], asked['requests'] == asked['limits'], \
            asked['limits']['cpu'].isdigit(),\n            one['securityContext']['capabilities']['add'], \
            'numabench check' in one['command'][-1],\n            {mount['name'] for mount in \
            one['volumeMounts']} == volumes)\n";
        let folder = root().join("packaging/container");
        let said = python(program, &[&folder.join("pod.yaml"), &folder.join("job.yaml")])?;
        let all = |kind| format!("{kind} True True ['SYS_NICE'] True True\n");
        assert_eq!(said, all("Pod") + &all("Job"));
        Ok(())
    }

    #[test]
    fn condas_recipe_is_yaml_once_its_template_is_filled_in() -> Result<()> {
        if !has("yaml") || !has("jinja2") {
            return Ok(());
        }
        let program = "import sys, re, yaml, jinja2\n\
            text = open(sys.argv[1]).read()\n\
            for mpi in ('nompi', 'openmpi', 'mpich'):\n    kept = [l for l in text.splitlines() if mpi != \
            'nompi' or '# [mpi != \"nompi\"]' not in l]\n    env = \
            jinja2.Environment(undefined=jinja2.StrictUndefined)\n    filled = \
            env.from_string('\\n'.join(kept)).render(mpi=mpi, compiler=lambda l: l, stdlib=lambda l: l, \
            PKG_HASH='x', PKG_BUILDNUM=0)\n    recipe = yaml.safe_load(filled)\n    print(mpi, \
            recipe['package']['version'], mpi in recipe['requirements']['host'])\n";
        let said = python(program, &[&root().join("packaging/conda/meta.yaml")])?;
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(said, format!("nompi {version} False\nopenmpi {version} True\nmpich {version} True\n"));
        Ok(())
    }
}
