//! The wheel of an architecture: the archive's binary, file for file, as `pip install numabench` puts it into
//! an environment.
//!
//! maturin writes what describes it (from `pyproject.toml`, by which `pip install .` builds one too), and
//! Python's `wheel` packs that with the archive's binary, its licences and its bill of materials. maturin's
//! own build would compile everything a second time, with flags of its own. `--prove` installs it into a
//! fresh virtual environment and runs it there. Left out: plug-ins, which are the archives' and the site's; a
//! Python module, because the documents are JSON.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::binary::HOOK;
use super::tools::Tools;
use super::{Arch, Folders, GLIBC, tree};
use crate::listing::removed;
use crate::step;

/// The platform that pip compares with its own: it takes the wheel where the glibc is as new as this says.
fn platform(arch: Arch) -> String {
    format!("manylinux_{}_{}_{}", GLIBC.0, GLIBC.1, arch.name())
}

/// The wheel's file.
pub fn file(folders: &Folders, arch: Arch) -> PathBuf {
    folders.dist.join(format!("numabench-{}-py3-none-{}.whl", env!("CARGO_PKG_VERSION"), platform(arch)))
}

/// Makes the wheel from the tree of the architecture's archive.
///
/// # Errors
/// The tree is not there, one of the programs fails, or it leaves no wheel of the promised name.
pub fn built(folders: &Folders, tools: &Tools, arch: Arch) -> Result<()> {
    let staged = folders.dist.join("wheel").join(arch.name());
    removed(&staged)?;
    let mut maturin = Command::new(tools.bin.join("maturin"));
    maturin.args(["pep517", "write-dist-info", "--locked", "--interpreter"]).arg(tools.bin.join("python3"));
    maturin.arg("--metadata-directory").arg(&staged).env("PATH", tools.path()?);
    step::run(maturin.current_dir(&folders.root))?;
    filled(&staged, &folders.tree(arch), arch)?;
    let mut pack = Command::new(tools.bin.join("python3"));
    pack.args(["-m", "wheel", "pack", "--dest-dir"]).arg(&folders.dist).arg(&staged);
    step::run(pack.env("SOURCE_DATE_EPOCH", folders.epoch()))?;
    let wheel = file(folders, arch);
    let Ok(meta) = wheel.metadata() else { bail!("there is no {}", wheel.display()) };
    println!("{}: {:.1} MB", wheel.display(), meta.len() as f64 / 1e6);
    Ok(())
}

/// Puts beside what maturin wrote the binary where pip takes programs from, the licences of all that is in
/// it, and the bill of materials; and says for which machines it is.
fn filled(staged: &Path, tree: &Path, arch: Arch) -> Result<()> {
    let name = concat!("numabench-", env!("CARGO_PKG_VERSION"));
    let info = staged.join(format!("{name}.dist-info"));
    tree::put(&tree.join("bin/numabench"), &staged.join(format!("{name}.data/scripts/numabench")))?;
    let hook = Path::new("lib/numabench").join(HOOK);
    tree::put(&tree.join(&hook), &staged.join(format!("{name}.data/data")).join(hook))?;
    let doc = tree.join("share/doc/numabench");
    for licence in tree::files(&doc.join("licences"))? {
        tree::put(&licence, &info.join("licenses/inside").join(licence.file_name().unwrap_or_default()))?;
    }
    tree::put(&doc.join("sbom.cdx.json"), &info.join("sboms/sbom.cdx.json"))?;
    let tags = info.join("WHEEL");
    let text = fs::read_to_string(&tags).with_context(|| format!("maturin left no {}", tags.display()))?;
    let kept = text.lines().filter(|line| !line.starts_with("Tag: ") && !line.is_empty());
    let text: String = kept.map(|line| format!("{line}\n")).collect();
    fs::write(&tags, format!("{text}Tag: py3-none-{}\n", platform(arch)))
        .context("cannot write the wheel's tags")
}

/// Installs the wheel into a fresh virtual environment, from the file alone, and runs it: its version, this
/// machine and a short host ping-pong.
///
/// # Errors
/// pip refuses the wheel, or the program does not run.
pub fn prove(folders: &Folders, arch: Arch) -> Result<()> {
    let venv = folders.dist.join("wheel-proof");
    removed(&venv)?;
    step::run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let mut pip = Command::new(venv.join("bin/pip"));
    step::run(pip.args(["install", "--quiet", "--no-index"]).arg(file(folders, arch)))?;
    for words in
        [&["--version"][..], &["topo"], &["pingpong", "--backend", "host", "--size", "1MiB", "--reps", "6"]]
    {
        // Nothing of the caller's environment is needed to find it or hwloc.
        step::run(Command::new(venv.join("bin/numabench")).args(words).env_remove("LD_LIBRARY_PATH"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_has_the_archives_own_binary_its_licences_and_the_tag_of_its_architecture() -> Result<()> {
        let (tree, staged) = (tempfile::tempdir()?, tempfile::tempdir()?);
        for file in [
            "bin/numabench",
            "lib/numabench/libnumabench_witness.so",
            "share/doc/numabench/sbom.cdx.json",
            "share/doc/numabench/licences/LICENCES",
        ] {
            let path = tree.path().join(file);
            fs::create_dir_all(path.parent().unwrap_or(tree.path()))?;
            fs::write(path, file)?;
        }
        let name = concat!("numabench-", env!("CARGO_PKG_VERSION"));
        let info = staged.path().join(format!("{name}.dist-info"));
        fs::create_dir_all(&info)?;
        fs::write(
            info.join("WHEEL"),
            "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n",
        )?;
        filled(staged.path(), tree.path(), Arch::Arm)?;
        let binary = fs::read_to_string(staged.path().join(format!("{name}.data/scripts/numabench")))?;
        assert_eq!(binary, "bin/numabench");
        let hook = format!("{name}.data/data/lib/numabench/libnumabench_witness.so");
        assert!(staged.path().join(hook).is_file());
        assert!(
            info.join("licenses/inside/LICENCES").is_file() && info.join("sboms/sbom.cdx.json").is_file()
        );
        let tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-manylinux_2_28_aarch64\n";
        assert_eq!(fs::read_to_string(info.join("WHEEL"))?, tags);
        Ok(())
    }
}
