//! `cargo xtask tidy`: what the project promises about its own source and no compiler checks.
//!
//! Every check looks at the whole tree and returns what it found; all findings are printed at once, each with
//! its place and its remedy. The checks are functions of values (edges, text), so that their tests can make
//! up a bad tree.

mod circles;
mod dependencies;
mod figures;
mod finding;
mod glossary;
mod module_lists;
mod names;
mod orphans;
mod paths;
mod programs;
mod reading;
mod rust_code;
mod sentences;
mod source;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::listing::listed;

/// Runs the command: the checks, or with `--figures` the sizes and counts and no check.
///
/// # Errors
/// A check found something (all of it is printed before), or the tree cannot be read.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let figures = args == ["--figures"];
    if !args.is_empty() && !figures {
        bail!("takes --figures or nothing, but was given {:?}", args.join(" "));
    }
    let files = rust_files(root)?;
    if figures {
        let texts = files
            .into_iter()
            .map(|file| Ok((file.clone(), read(root, &file)?)))
            .collect::<Result<Vec<_>>>()?;
        print!("{}", figures::table(root, &texts));
        return Ok(());
    }
    let mut findings = dependencies::check(root)?;
    let mut texts = Vec::new();
    for file in &files {
        let text = read(root, file)?;
        findings.extend(source::check(file, &text));
        texts.push((file.clone(), text));
    }
    findings.extend(circles::check(&texts));
    findings.extend(circles::check_folders(&texts));
    findings.extend(figures::check(&texts));
    findings.extend(reading::check(&texts));
    findings.extend(names::check(&texts));
    findings.extend(orphans::check(&texts));
    findings.extend(glossary::check_page(root, &texts)?);
    findings.extend(module_lists::check(&texts));
    findings.extend(paths::check_page(root, &texts)?);
    findings.extend(programs::check(root));
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => {
            println!(
                "tidy: {} Rust files, the dependencies and the kernels' PTX are as they should be",
                files.len()
            );
            Ok(())
        }
        count => bail!("{count} finding(s), listed above"),
    }
}

fn read(root: &Path, file: &Path) -> Result<String> {
    let path = root.join(file);
    std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// Every Rust file of ours, relative to `root`, sorted.
fn rust_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for top in ["crates", "xtask", "tests"] {
        collect(root, &root.join(top), &mut files)?;
    }
    files.sort();
    Ok(files)
}

/// Adds the Rust files below `dir` to `files`; build outputs and hidden folders are not ours.
fn collect(root: &Path, dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !dir.is_dir() {
        return Ok(());
    }
    for path in listed(dir)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == "target" || name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path.strip_prefix(root)?.to_path_buf());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_files_of_ours_are_found_and_build_outputs_are_not() -> Result<()> {
        let tree = tempfile::tempdir()?;
        for file in
            ["crates/a/src/lib.rs", "crates/a/target/built.rs", "xtask/src/.hidden/x.rs", "xtask/notes.md"]
        {
            let path = tree.path().join(file);
            std::fs::create_dir_all(path.parent().context("has a parent")?)?;
            std::fs::write(path, "")?;
        }
        assert_eq!(rust_files(tree.path())?, [Path::new("crates/a/src/lib.rs")]);
        Ok(())
    }
}
