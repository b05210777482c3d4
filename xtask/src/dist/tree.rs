//! The tree of an archive: what lies where, so that it works from any folder it is unpacked in.
//!
//! Manual pages and completions are written by the binary itself, under an emulator where it is another
//! architecture's: they are what that binary says. Names and places follow what module systems, man and the
//! shells look for under a prefix.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use ranks::abi;

use super::binary::{Built, HOOK};
use super::{Arch, Folders, licences, packages, sbom};
use crate::listing::{listed, removed};

/// Files of the repository, and where they lie in the archive.
const DOCUMENTS: [&str; 5] = ["README.md", "METHOD.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Lays out the archive's tree, and its symbols' tree beside it.
pub fn laid_out(
    folders: &Folders,
    hwloc: &Path,
    arch: Arch,
    built: &Built,
    plugins: &[(&'static str, PathBuf)],
) -> Result<()> {
    let tree = folders.tree(arch);
    let debug = tree.with_file_name(format!("{}-debug", Folders::name(arch)));
    removed(&tree)?;
    removed(&debug)?;
    put(&built.debug, &debug.join("numabench.debug"))?;
    let binary = tree.join("bin/numabench");
    put(&built.stripped, &binary)?;
    put(&built.hook, &tree.join("lib/numabench").join(HOOK))?;
    for (family, plugin) in plugins {
        put(plugin, &tree.join("lib/numabench").join(family).join(abi::FILE_NAME))?;
    }
    let share = tree.join("share");
    pages(arch, &binary, &share)?;
    let version = env!("CARGO_PKG_VERSION");
    let modules = folders.root.join("packaging/modulefiles");
    put(&modules.join("numabench.lua"), &share.join(format!("modulefiles/numabench/{version}.lua")))?;
    put(&modules.join("numabench.tcl"), &share.join(format!("modulefiles/numabench/{version}")))?;
    for script in files(&folders.root.join("jobs"))? {
        put(&script, &share.join("numabench/jobs").join(script.file_name().unwrap_or_default()))?;
    }
    let doc = share.join("doc/numabench");
    for name in DOCUMENTS {
        put(&folders.root.join(name), &doc.join(name))?;
    }
    for page in files(&folders.root.join("docs"))? {
        put(&page, &doc.join(page.strip_prefix(&folders.root)?))?;
    }
    put(&folders.root.join("packaging/RELEASE.md"), &tree.join("README.md"))?;
    let inside = packages::all(&folders.root, &arch.target())?;
    licences::write(&doc.join("licences"), &inside, hwloc)?;
    let hwloc_version = hwloc_version(hwloc)?;
    fs::write(doc.join("sbom.cdx.json"), sbom::text(&folders.root, &inside, &hwloc_version)?)?;
    Ok(())
}

/// Manual pages and completions, as the binary writes them.
fn pages(arch: Arch, binary: &Path, share: &Path) -> Result<()> {
    let asked = |words: &[&str]| -> Result<Vec<u8>> {
        let mut command = arch.runner().map_or_else(
            || Command::new(binary),
            |runner| {
                let mut command = Command::new(runner);
                // Its linker and libraries, where Debian's cross packages are installed.
                command.arg("-L").arg(arch.libraries()).arg(binary);
                command
            },
        );
        let output = command
            .args(words)
            .output()
            .with_context(|| format!("cannot run the binary of {}", arch.name()))?;
        if !output.status.success() {
            bail!(
                "numabench {} ended with {}: {}",
                words.join(" "),
                output.status,
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(output.stdout)
    };
    let man = share.join("man/man1");
    asked(&["man", "--dir", &man.display().to_string()])?;
    for (shell, file) in [
        ("bash", "bash-completion/completions/numabench"),
        ("zsh", "zsh/site-functions/_numabench"),
        ("fish", "fish/vendor_completions.d/numabench.fish"),
    ] {
        let path = share.join(file);
        fs::create_dir_all(path.parent().unwrap_or(share))?;
        fs::write(&path, asked(&["completions", shell])?)?;
    }
    Ok(())
}

/// hwloc's version, from its source's own file.
fn hwloc_version(source: &Path) -> Result<String> {
    let text = fs::read_to_string(source.join("VERSION")).context("hwloc's source has no VERSION")?;
    let value = |key: &str| {
        text.lines().find_map(|line| line.strip_prefix(&format!("{key}="))).unwrap_or("0").to_owned()
    };
    Ok(["major", "minor", "release"].map(value).join("."))
}

/// Copies a file and makes its folder.
pub fn put(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// All files below a folder, sorted.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in listed(folder)? {
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hwlocs_version_is_that_of_its_source() -> Result<()> {
        let source = tempfile::tempdir()?;
        fs::write(source.path().join("VERSION"), "# major=9\nmajor=2\nminor=9\nrelease=0\n\ngreek=\n")?;
        assert_eq!(hwloc_version(source.path())?, "2.9.0");
        Ok(())
    }

    #[test]
    fn everything_that_an_archive_takes_from_the_repository_is_there() -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the repository")?;
        let more = [
            "packaging/RELEASE.md",
            "packaging/modulefiles/numabench.lua",
            "packaging/modulefiles/numabench.tcl",
        ];
        for file in DOCUMENTS.iter().chain(&more) {
            assert!(root.join(file).is_file(), "{file}");
        }
        assert!(files(&root.join("jobs"))?.len() > 4);
        assert!(files(&root.join("docs"))?.len() > 8, "the pages that README links to");
        Ok(())
    }
}
