//! The .deb and the .rpm of an architecture: the archive's binary, pages, completions and licences where a
//! distribution has them, without the plug-ins.
//!
//! cargo-deb and cargo-generate-rpm make them from the tables in the binary's manifest. The binary has hwloc
//! in it, so neither package asks for more than a glibc.

use std::path::Path;

use anyhow::{Result, bail};

use super::tools::Tools;
use super::tree::{files, put};
use super::{Arch, Folders};
use crate::listing::removed;
use crate::step;

/// What the manifest's tables name below `target/packages`, and where it lies in an archive's tree.
const FILES: [(&str, &str); 5] = [
    ("numabench", "bin/numabench"),
    ("libnumabench_witness.so", "lib/numabench/libnumabench_witness.so"),
    ("bash", "share/bash-completion/completions/numabench"),
    ("zsh", "share/zsh/site-functions/_numabench"),
    ("fish", "share/fish/vendor_completions.d/numabench.fish"),
];
/// Folders of files, the same way.
const FOLDERS: [(&str, &str); 2] = [("man", "share/man/man1"), ("licences", "share/doc/numabench/licences")];

/// Makes both from the tree of the architecture's archive.
///
/// # Errors
/// The tree is not there, one of the programs fails, or it leaves no package.
pub fn built(folders: &Folders, tools: &Tools, arch: Arch) -> Result<()> {
    staged(&folders.tree(arch), &folders.root.join("target/packages"))?;
    let mut deb = tools.cargo("cargo-deb")?;
    deb.args([
        "deb",
        "--no-build",
        "--no-strip",
        "--package",
        "numabench",
        "--target",
        &arch.target(),
        "--output",
    ]);
    step::run(deb.arg(&folders.dist).current_dir(&folders.root))?;
    let mut rpm = tools.cargo("cargo-generate-rpm")?;
    // `builtin`: read from the files by itself, because find-requires is Red Hat's.
    rpm.args([
        "generate-rpm",
        "--package",
        "crates/numabench",
        "--arch",
        arch.name(),
        "--auto-req",
        "builtin",
    ]);
    step::run(rpm.arg("--output").arg(&folders.dist).current_dir(&folders.root))?;
    for file in [deb_name(arch), rpm_name(arch)] {
        let path = folders.dist.join(&file);
        let Ok(meta) = path.metadata() else { bail!("there is no {}", path.display()) };
        println!("target/dist/{file}: {:.1} MB", meta.len() as f64 / 1e6);
    }
    Ok(())
}

fn deb_name(arch: Arch) -> String {
    format!("numabench_{}-1_{}.deb", env!("CARGO_PKG_VERSION"), arch.debians())
}

fn rpm_name(arch: Arch) -> String {
    format!("numabench-{}-1.{}.rpm", env!("CARGO_PKG_VERSION"), arch.name())
}

/// Puts the files where the manifest's tables look for them.
fn staged(tree: &Path, packages: &Path) -> Result<()> {
    removed(packages)?;
    for (name, lies) in FILES {
        put(&tree.join(lies), &packages.join(name))?;
    }
    for (name, lies) in FOLDERS {
        for file in files(&tree.join(lies))? {
            put(&file, &packages.join(name).join(file.file_name().unwrap_or_default()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_file_that_the_manifest_takes_from_the_target_folder_is_staged() -> Result<()> {
        let tree = tempfile::tempdir()?;
        let in_folders = FOLDERS.map(|(_, lies)| format!("{lies}/numabench.1"));
        for lies in FILES.map(|(_, lies)| lies.to_owned()).iter().chain(&in_folders) {
            let path = tree.path().join(lies);
            fs::create_dir_all(path.parent().unwrap_or(tree.path()))?;
            fs::write(path, "")?;
        }
        let packages = tempfile::tempdir()?;
        staged(tree.path(), packages.path())?;
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/numabench/Cargo.toml");
        let manifest = fs::read_to_string(manifest)?;
        let named =
            manifest.split('"').filter_map(|word| word.split_once("target/packages/").map(|(_, name)| name));
        let mut seen = 0;
        for name in named {
            let at = packages.path().join(name.replace("*.1", "numabench.1").replace('*', "numabench.1"));
            assert!(at.is_file(), "{name}");
            seen += 1;
        }
        assert_eq!(seen, 14, "seven of the .deb and seven of the .rpm");
        Ok(())
    }
}
