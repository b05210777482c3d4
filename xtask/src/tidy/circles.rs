//! No circles between the files of a crate, nor between its folders: where two files use each other, neither
//! can be read, tested or moved without the other.
//!
//! A file uses another where a path in its code (`crate::…`, `super::…`, in a `use` or not) leads there, also
//! through a re-export. A module and those below it may use each other: the folder is one thing. Folders side
//! by side may not, though no two of their files do. Tests at the end of a file do not count.
//!
//! Left out: names that a glob brings in, and paths made by macros.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::rust_code::code_only;

/// A module by the names that lead to it from the crate's root.
type Module = Vec<String>;

/// The files of one crate: each one's code, without comments, literals and tests.
type Files = BTreeMap<Module, String>;

/// What is wrong with the files' uses of each other; `files` are a tree's Rust files with their text.
pub fn check(files: &[(PathBuf, String)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (source, files) in &by_crate(files) {
        for circle in circles(&uses(files)) {
            let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
            let what = format!("a circle of files that use each other: {}", names.join(", "));
            let remedy =
                "move what both need to a file of its own, or let one of them be given what it needs";
            findings.push(Finding::new(&source.join(format!("{}.rs", names[0])), 1, what, remedy));
        }
    }
    findings
}

/// The circles of folders: where files of one folder use those of its neighbour and are used by them, though
/// no two files use each other.
pub fn folders(files: &[(PathBuf, String)]) -> Vec<String> {
    folder_circles(files).iter().map(|(source, names)| format!("{}: {names}", source.display())).collect()
}

fn folder_circles(files: &[(PathBuf, String)]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for (source, files) in &by_crate(files) {
        let uses = uses(files);
        let edges: Vec<(Module, Module)> =
            uses.iter().flat_map(|(from, to)| to.iter().map(|to| where_they_part(from, to))).collect();
        let mut between: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
        for (from, to) in &edges {
            between.entry(from).or_default().insert(to);
        }
        for circle in circles(&between) {
            let is_folder = |module: &Module| {
                files.keys().any(|file| file.len() > module.len() && file.starts_with(module))
            };
            if circle.iter().any(|module| is_folder(module)) {
                let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
                found.push((source.clone(), names.join(", ")));
            }
        }
    }
    found
}

/// What is wrong with the folders' uses of each other.
pub fn check_folders(files: &[(PathBuf, String)]) -> Vec<Finding> {
    let remedy =
        "move what both need to a file beside the folders, or let one of them be given what it needs";
    let finding = |(source, names): (PathBuf, String)| {
        Finding::new(&source, 1, format!("a circle of folders that use each other: {names}"), remedy)
    };
    folder_circles(files).into_iter().map(finding).collect()
}

/// The first folders or files in which two modules differ: `a/b/c` and `a/d/e` part as `a/b` and `a/d`.
fn where_they_part(one: &Module, other: &Module) -> (Module, Module) {
    let shared = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    (one[..=shared].to_vec(), other[..=shared].to_vec())
}

pub fn by_crate(files: &[(PathBuf, String)]) -> BTreeMap<PathBuf, Files> {
    let mut crates: BTreeMap<PathBuf, Files> = BTreeMap::new();
    for (file, text) in files {
        if let Some((source, module)) = module_of(file) {
            // A package may have a library beside its program.
            let code = crates.entry(source).or_default().entry(module).or_default();
            code.push_str(&without_tests(text));
        }
    }
    crates
}

/// The `src` folder of a file's crate and its module there; `None` for a file of tests.
fn module_of(file: &Path) -> Option<(PathBuf, Module)> {
    let names: Vec<&str> = file.iter().filter_map(|name| name.to_str()).collect();
    let at = names.iter().position(|name| *name == "src")?;
    let mut module: Module =
        names[at + 1..].iter().map(|name| name.trim_end_matches(".rs").to_owned()).collect();
    if matches!(module.last().map(String::as_str), Some("lib" | "main" | "mod")) {
        module.pop();
    }
    let is_of_tests = module.iter().any(|name| name == "tests");
    (!is_of_tests).then(|| (names[..=at].iter().collect(), module))
}

/// The code down to where an inline module of tests begins, which is the end of a file.
pub fn without_tests(text: &str) -> String {
    let code = code_only(text);
    let end = code.match_indices("#[cfg(test)]").map(|(at, _)| at).find(|at| {
        let after = code[at + "#[cfg(test)]".len()..].trim_start();
        after.starts_with("mod ") && after.find('{') < after.find(';').or(Some(usize::MAX))
    });
    end.map_or(code.clone(), |end| code[..end].to_owned())
}

/// The files that each file uses, those above and below it left out.
fn uses(files: &Files) -> BTreeMap<&Module, BTreeSet<&Module>> {
    let exports: BTreeMap<&Module, BTreeMap<String, Vec<String>>> =
        files.iter().map(|(module, code)| (module, exports(code))).collect();
    let of = |module, code: &str| {
        let found = paths(code).into_iter().filter_map(|path| target(files, &exports, module, &path, 0));
        let apart = |other: &&Module| !other.starts_with(module) && !module.starts_with(other.as_slice());
        found.filter(apart).collect()
    };
    files.iter().map(|(module, code)| (module, of(module, code))).collect()
}

/// What a file offers under another path: `pub use a::b` gives `b`.
fn exports(code: &str) -> BTreeMap<String, Vec<String>> {
    let statements =
        code.split([';', '}']).map(str::trim_start).filter(|statement| statement.starts_with("pub"));
    let mut found = BTreeMap::new();
    // A statement with braces is cut at its closing one, which the tree of names does without.
    for (_, tree) in statements.filter_map(|statement| statement.split_once(" use ")) {
        for path in tree_of(tree) {
            if let Some(name) = path.last() {
                found.insert(name.clone(), path.clone());
            }
        }
    }
    found
}

/// Every path in the code that begins with `crate` or `super`.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for word in ["crate", "super"] {
        for (at, _) in code.match_indices(word) {
            let before = code[..at].chars().next_back();
            let begins = before.is_none_or(|char| !char.is_alphanumeric() && char != '_' && char != ':');
            if begins && code[at + word.len()..].starts_with("::") {
                found.extend(tree_of(&code[at..]));
            }
        }
    }
    found
}

/// The paths of a tree of names, `a::{b, c::d}`, up to where it ends.
fn tree_of(text: &str) -> Vec<Vec<String>> {
    let (mut above, mut path, mut word) = (vec![Vec::new()], Vec::<String>::new(), String::new());
    let mut found = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            char if char.is_alphanumeric() || char == '_' => word.push(char),
            ':' if chars.get(at + 1) == Some(&':') => {
                path.push(std::mem::take(&mut word));
                at += 1;
            }
            '{' if word.is_empty() => above.push(path.clone()),
            ',' | '}' if above.len() > 1 => {
                if !word.is_empty() {
                    path.push(std::mem::take(&mut word));
                    found.push(path);
                }
                if chars[at] == '}' {
                    above.pop();
                }
                path = above.last().cloned().unwrap_or_default();
            }
            char if char.is_whitespace() && above.len() > 1 => {}
            _ => break,
        }
        at += 1;
    }
    if !word.is_empty() {
        path.push(word);
        found.push(path);
    }
    found
}

/// The file that a path in `module` leads to.
fn target<'f>(
    files: &'f Files,
    exports: &BTreeMap<&Module, BTreeMap<String, Vec<String>>>,
    module: &Module,
    path: &[String],
    depth: usize,
) -> Option<&'f Module> {
    let mut base = module.clone();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => (base, rest) = (Vec::new(), &rest[1..]),
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        name if !files.contains_key(&[base.as_slice(), &[name.to_owned()]].concat()) => return None,
        _ => {}
    }
    while let Some((name, after)) = rest.split_first() {
        let below = [base.as_slice(), std::slice::from_ref(name)].concat();
        if !files.contains_key(&below) {
            break;
        }
        (base, rest) = (below, after);
    }
    // A re-export of a re-export is followed as far as names can lead; a circle of them is not.
    let further = rest.first().and_then(|name| exports.get(&base)?.get(name)).filter(|_| depth < 8);
    let further = further.and_then(|path| target(files, exports, &base, path, depth + 1));
    further.or_else(|| files.get_key_value(&base).map(|(module, _)| module))
}

/// The circles: sets of files of which each leads to every other, in order.
fn circles<'f>(uses: &BTreeMap<&'f Module, BTreeSet<&'f Module>>) -> Vec<Vec<&'f Module>> {
    let reached = |from: &'f Module| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            next.extend(uses.get(module).into_iter().flatten().filter(|other| seen.insert(**other)));
        }
        seen
    };
    let reached: BTreeMap<&'f Module, BTreeSet<&'f Module>> =
        uses.keys().map(|from| (*from, reached(from))).collect();
    let circle = |from: &'f Module| -> Vec<&'f Module> {
        reached[from]
            .iter()
            .copied()
            .filter(|to| reached.get(to).is_some_and(|back| back.contains(from)))
            .collect()
    };
    let found: BTreeSet<Vec<&'f Module>> =
        reached.keys().map(|from| circle(from)).filter(|all| all.len() > 1).collect();
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(file, text)| (PathBuf::from(file), (*text).to_owned())).collect();
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn two_files_that_use_each_other_are_found_however_they_do_it() {
        for (a, b) in [
            ("use crate::b::B;", "use crate::a::A;"),
            ("use super::b::B;", "fn f() -> crate::a::A {}"),
            ("use crate::{x, b::{B, C}};", "use crate::A;"),
        ] {
            let lib = ("crates/k/src/lib.rs", "mod a; mod b; pub use a::{A, Z};");
            let wrong = found(&[lib, ("crates/k/src/a.rs", a), ("crates/k/src/b.rs", b)]);
            assert!(
                wrong.len() == 1 && wrong[0].starts_with("crates/k/src/a.rs:1: a circle"),
                "{a} {b}: {wrong:?}"
            );
        }
    }

    #[test]
    fn a_circle_over_three_files_is_found_once() {
        let files = [
            ("crates/k/src/a.rs", "use crate::b::B;"),
            ("crates/k/src/b.rs", "use crate::c::C;"),
            ("crates/k/src/c.rs", "use crate::a::A;"),
        ];
        assert_eq!(found(&files).len(), 1);
        assert_eq!(found(&files[..2]), [""; 0]);
    }

    #[test]
    fn two_folders_that_use_each_other_are_a_circle_though_no_two_files_are() {
        let files = [
            ("crates/k/src/a.rs", "mod one; mod two;"),
            ("crates/k/src/b.rs", "mod one; mod two;"),
            ("crates/k/src/a/one.rs", "use crate::b::one::B;"),
            ("crates/k/src/a/two.rs", ""),
            ("crates/k/src/b/one.rs", ""),
            ("crates/k/src/b/two.rs", "use crate::a::two::A;"),
        ]
        .map(|(file, text)| (PathBuf::from(file), text.to_owned()));
        assert_eq!(check(&files).len(), 0);
        assert_eq!(folders(&files), ["crates/k/src: a, b"]);
        assert_eq!(check_folders(&files).len(), 1);
        assert_eq!(folders(&files[..5]), [""; 0]);
    }

    #[test]
    fn a_folder_is_one_thing_and_tests_and_comments_do_not_count() {
        let files = [
            ("crates/k/src/a.rs", "mod inner; use crate::a::inner::I;"),
            ("crates/k/src/a/inner.rs", "use super::A;"),
            (
                "crates/k/src/b.rs",
                "use crate::a::A;\n// crate::c::C\n#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}\n",
            ),
            ("crates/k/src/c.rs", "use crate::b::B; const TEXT: &str = \"crate::c\";"),
            ("crates/k/src/b/tests.rs", "use crate::c::C;"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }
}
