//! That each word of `docs/glossary.md` has its type in the file that stands beside it.

use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::source::has_word;

const PAGE: &str = "docs/glossary.md";

/// The rows whose file lacks their type; `files` are a tree's Rust files with their text.
pub fn check(page: &str, files: &[(PathBuf, String)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, line) in page.lines().enumerate() {
        let cells: Vec<&str> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let [_, word, name, file, ..] = cells[..] else { continue };
        if !file.ends_with(".rs") {
            continue;
        }

        let text = files.iter().find(|(path, _)| path == Path::new(file)).map(|(_, text)| text);
        let declares = |line: &str| {
            ["struct", "enum", "trait"].iter().any(|kind| has_word(line, kind)) && has_word(line, name)
        };
        if !text.is_some_and(|text| text.lines().any(declares)) {
            let what = format!("`{word}` is said to be `{name}` in {file}, which does not declare it");
            findings.push(Finding::new(
                Path::new(PAGE),
                at + 1,
                what,
                "name the type and the file as they are",
            ));
        }
    }
    findings
}

/// The same for the page of the tree at this root.
///
/// # Errors
/// The page cannot be read.
pub fn check_page(root: &Path, files: &[(PathBuf, String)]) -> std::io::Result<Vec<Finding>> {
    Ok(check(&std::fs::read_to_string(root.join(PAGE))?, files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_whose_file_has_not_its_type_is_found() {
        let files = [(PathBuf::from("crates/a/src/b.rs"), "pub struct Site {}\n".to_owned())];
        let row = |name: &str| {
            format!(
                "| word | type | file | what |\n|---|---|---|---|\n| site | `{name}` | `crates/a/src/b.rs` | a place |\n"
            )
        };
        assert_eq!(check(&row("Site"), &files).len(), 0);
        assert_eq!(check(&row("Place"), &files).len(), 1);
        assert_eq!(check(&row("Site"), &[]).len(), 1);
    }
}
