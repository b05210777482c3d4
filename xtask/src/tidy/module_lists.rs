//! That what a crate's or a folder's first lines list is there: a list of modules is read as a map, and one
//! with a name that was changed leads nowhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::source::has_word;

/// The names in backticks in the bullets of the `//!` lines of each file that has modules of its own: each is
/// a file or a folder of its crate, a crate, or something that the file itself names (`pub use`, `mod` with a
/// path).
pub fn check(files: &[(PathBuf, String)]) -> Vec<Finding> {
    let crates: BTreeSet<String> = files.iter().filter_map(|(path, _)| crate_name(path)).collect();
    let mut findings = Vec::new();
    for (path, text) in files.iter().filter(|(_, text)| has_modules(text)) {
        let Some(src) = source_folder(path) else { continue };
        let modules = modules_below(src, files);
        let code = text.lines().filter(|line| !line.starts_with("//"));
        let code: Vec<&str> = code.collect();

        for (at, name) in listed(text) {
            let is_here = code.iter().any(|line| has_word(line, name));
            if !is_here && !modules.contains(name) && !crates.contains(name) {
                let what = format!("`{name}` is no module");
                findings.push(Finding::new(path, at + 1, what, "name the module as it is called"));
            }
        }
    }
    findings
}

/// Whether the file declares modules that are files.
fn has_modules(text: &str) -> bool {
    text.lines().any(|line| {
        let declared = line.strip_suffix(';').and_then(|line| line.split_once("mod "));
        declared.is_some_and(|(before, name)| {
            (before.is_empty() || before.starts_with("pub")) && name.chars().all(is_of_a_name)
        })
    })
}

/// Each name in backticks in a bullet of the first lines, with its line (from 0).
fn listed(text: &str) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    let mut is_bullet = false;

    for (at, line) in text.lines().enumerate() {
        let Some(said) = line.strip_prefix("//!") else { break };
        is_bullet = match said.trim_start() {
            said if said.starts_with("* ") => true,
            "" => false,
            // A bullet goes on where the line is indented.
            _ => is_bullet && said.starts_with("   "),
        };
        let quoted = said.split('`').skip(1).step_by(2).filter(|_| is_bullet);
        names.extend(quoted.filter(|name| is_module_name(name)).map(|name| (at, name)));
    }
    names
}

fn is_module_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(is_of_a_name)
}

const fn is_of_a_name(sign: char) -> bool {
    sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_'
}

/// The crate's folder by its name in code: `backend_cuda` for `crates/backend-cuda`.
fn crate_name(path: &Path) -> Option<String> {
    let name = path.strip_prefix("crates").ok()?.iter().next()?.to_str()?;
    Some(name.replace('-', "_"))
}

/// The folder `src` above a file.
fn source_folder(path: &Path) -> Option<&Path> {
    path.ancestors().find(|folder| folder.ends_with("src"))
}

/// The names of all files and folders below it.
fn modules_below<'f>(src: &Path, files: &'f [(PathBuf, String)]) -> BTreeSet<&'f str> {
    let below = files.iter().filter_map(|(path, _)| path.strip_prefix(src).ok());
    let names = below.flat_map(|path| path.iter()).filter_map(|name| name.to_str());
    names.map(|name| name.trim_end_matches(".rs")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(first_lines: &str, code: &str) -> Vec<String> {
        let library = format!("{first_lines}\n\n{code}\nmod part;\n");
        let files = [
            (PathBuf::from("crates/a-b/src/lib.rs"), library),
            (PathBuf::from("crates/a-b/src/part.rs"), String::new()),
            (PathBuf::from("crates/a-b/src/folder/inner.rs"), String::new()),
            (PathBuf::from("crates/c-d/src/other.rs"), String::new()),
        ];
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_list_names_files_folders_crates_and_what_the_file_itself_has() {
        let list = "//! A crate.\n//!\n//! * `part`, `folder` and its `inner`, of `c_d`\n//!   and `used`";
        assert_eq!(found(list, "pub use part::used;"), <[&str; 0]>::default());
    }

    #[test]
    fn a_name_of_no_module_is_found_in_its_line_and_prose_is_not_looked_at() {
        let list = "//! `prose` of it.\n//!\n//! * `part` and\n//!   `gone`: `Type`, `--option`";
        let said = "crates/a-b/src/lib.rs:4: `gone` is no module; name the module as it is called";
        assert_eq!(found(list, ""), [said]);
        // A module of another crate is none of this one.
        assert_eq!(found("//! * `other`", "").len(), 1);
    }
}
