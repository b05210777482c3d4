//! No file of a crate that no module names: the compiler does not see it, so what stands in it is neither
//! compiled nor tested.
//!
//! A merge that brings back a file which was moved leaves such ones. Left out: files of tests.

use std::path::PathBuf;

use super::circles::by_crate;
use super::finding::Finding;
use super::source::has_word;

/// The files that no module names; `files` are a tree's Rust files with their text.
pub fn check(files: &[(PathBuf, String)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (source, modules) in &by_crate(files) {
        for module in modules.keys() {
            let Some((name, above)) = module.split_last() else { continue };
            let names_it = |line: &str| has_word(line, "mod") && has_word(line, name);
            if !modules.get(above).is_some_and(|code| code.lines().any(names_it)) {
                let file = source.join(format!("{}.rs", module.join("/")));
                let remedy = "name it in the module above it, or delete it";
                findings.push(Finding::new(
                    &file,
                    1,
                    "no module names this file: it is not compiled",
                    remedy,
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(file, text)| (PathBuf::from(file), (*text).to_owned())).collect();
        check(&files)
            .iter()
            .filter_map(|finding| Some(finding.to_string().split_once(':')?.0.to_owned()))
            .collect()
    }

    #[test]
    fn a_file_that_no_module_names_is_found_and_those_that_one_names_are_not() {
        let named = [
            ("crates/a/src/lib.rs", "pub mod b;\n"),
            ("crates/a/src/b.rs", "mod c;\n"),
            ("crates/a/src/b/c.rs", ""),
        ];
        assert_eq!(found(&named), [""; 0]);
        let left = [named[0], named[1], named[2], ("crates/a/src/b/d.rs", ""), ("crates/a/src/c.rs", "")];
        assert_eq!(found(&left), ["crates/a/src/b/d.rs", "crates/a/src/c.rs"]);
    }
}
