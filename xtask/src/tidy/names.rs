//! Type names that more than one file defines: a reader who searches for one finds several, and cannot know which is meant.
//!
//! Left out: type aliases and associated types, which name another type, and what only tests define.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::circles::without_tests;
use super::rust_code::is_of_tests;

/// Each name that is defined more than once, with how often.
pub fn repeated(files: &[(PathBuf, String)]) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (file, text) in files {
        if !is_of_tests(file) {
            for name in defined(&without_tests(text)) {
                *counts.entry(name).or_default() += 1;
            }
        }
    }
    counts.into_iter().filter(|(_, count)| *count > 1).collect()
}

/// The structs, enums, unions and traits that a file defines.
fn defined(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in code.lines() {
        let words: Vec<&str> = line
            .split_whitespace()
            .skip_while(|word| word.starts_with("pub") || word.ends_with(')') || *word == "unsafe")
            .collect();
        if let ["struct" | "enum" | "union" | "trait", name, ..] = words.as_slice() {
            let end = name.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(name.len());
            if end > 0 {
                found.push(name[..end].to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_once_a_definition_and_not_where_tests_define_it() {
        let file = |name: &str, text: &str| (PathBuf::from(name), text.to_owned());
        let files = [
            file("crates/a/src/b.rs", "pub struct Place { }\npub(crate) enum Case<T> { A(T) }\n"),
            file("crates/c/src/d.rs", "trait Place {}\n#[cfg(test)]\nmod tests {\n    struct Case;\n}\n"),
            file("crates/c/tests/e.rs", "struct Case;\n"),
        ];
        assert_eq!(repeated(&files), [("Place".to_owned(), 2)]);
    }
}
