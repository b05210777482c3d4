//! That each file which ARCHITECTURE.md names is there: whoever follows it should not look for one that was
//! renamed. What the walks of "Adding …" name is not looked for: they make files up.

use std::path::{Path, PathBuf};

use super::finding::Finding;

const PAGE: &str = "ARCHITECTURE.md";

/// The names in backticks with a slash and an ending `.rs` that end no file's path, also not with `src/`
/// behind the crate (`engine/rank.rs`).
fn check(page: &str, files: &[PathBuf]) -> Vec<Finding> {
    let is_there = |name: &str| {
        let in_crate = name.split_once('/').map(|(of, rest)| format!("{of}/src/{rest}"));
        files.iter().any(|path| {
            path.ends_with(name) || in_crate.as_ref().is_some_and(|in_crate| path.ends_with(in_crate))
        })
    };
    let mut findings = Vec::new();
    let mut is_walk = false;
    for (at, line) in page.lines().enumerate() {
        is_walk = if line.starts_with("## ") { line.starts_with("## Adding") } else { is_walk };
        if is_walk {
            continue;
        }
        let quoted = line.split('`').skip(1).step_by(2);
        let is_file = |name: &&str| {
            let is_plain = name.chars().all(|sign| sign.is_ascii_alphanumeric() || "_-./".contains(sign));
            is_plain && name.contains('/') && name.ends_with(".rs")
        };
        for name in quoted.filter(is_file).filter(|name| !is_there(name)) {
            let what = format!("`{name}` is no file");
            findings.push(Finding::new(Path::new(PAGE), at + 1, what, "name the file as it is"));
        }
    }
    findings
}

/// The findings in the page of the tree at this root, whose Rust files are these.
///
/// # Errors
/// The page cannot be read.
pub fn check_page(root: &Path, texts: &[(PathBuf, String)]) -> std::io::Result<Vec<Finding>> {
    let files: Vec<PathBuf> = texts.iter().map(|(path, _)| path.clone()).collect();
    Ok(check(&std::fs::read_to_string(root.join(PAGE))?, &files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_found_but_in_a_walk() {
        let files = [PathBuf::from("crates/a/src/b.rs")];
        let page = "`a/src/b.rs`, `crates/a/src/b.rs`, `a/b.rs` and `b.rs`, `a/{c,d}.rs`\n";
        assert_eq!(check(page, &files).len(), 0);
        assert_eq!(check("## Map\n`a/c.rs` and `c/src/b.rs`\n", &files).len(), 2);
        assert_eq!(check("## Adding a c\n`a/c.rs`\n## Map\n`a/c.rs`\n", &files).len(), 1);
    }
}
