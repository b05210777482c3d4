//! Type names that stand for more than one type: a reader who searches for one finds several, and cannot know
//! which is meant.
//!
//! A name counts where two types that have it are plainly `pub`, in whichever crates, and where two types of
//! one crate have it that can both be seen outside their files (`pub`, `pub(crate)`, `pub(super)`, `pub(in
//! …)`). A type that is private to its file is read there and nowhere else.
//!
//! Two layers repeat names on purpose, as faces of the same thing: the command line as typed
//! (`crates/numabench/src/args`, what clap reads) and documents as written (`crates/report`, what serde
//! writes). `Order` is an order whether it is typed, measured or written, and a document that is read for
//! years must not change because an inner type did. So a name in a face and once in a library is one name;
//! twice within one face, or twice in libraries, it counts.
//!
//! Left out: type aliases and associated types, which name another type, what only tests define, and programs
//! that are no crate of the binary (`xtask`, `tests`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::circles::without_tests;
use super::finding::Finding;
use super::rust_code::is_of_tests;

/// Names that two types have for a reason.
const REASONS: &[(&str, &str)] = &[(
    "Api",
    "an opened driver's functions, in `backend-cuda` and `backend-hip`: the same role for two vendors, and \
     nothing uses both",
)];

/// Where this list is.
const LIST: &str = "xtask/src/tidy/names.rs";

/// The layers that repeat names of libraries, by how their files' paths begin.
const FACES: [&str; 2] = ["crates/numabench/src/args", "crates/report/"];

/// Who can see a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visibility {
    /// Whoever sees its module: plainly `pub`.
    Public,
    /// Its crate or a part of it: `pub(crate)`, `pub(super)`, `pub(in …)`.
    Crate,
    /// Its file.
    File,
}

/// Where a type is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Definition<'f> {
    file: &'f Path,
    line: usize,
    visibility: Visibility,
}

/// What is wrong with the names of the tree's types.
pub fn check(files: &[(PathBuf, String)]) -> Vec<Finding> {
    check_by(files, REASONS)
}

/// Each name that is defined more than once without a reason, with how often.
pub fn repeated_without_reason(files: &[(PathBuf, String)]) -> Vec<(String, usize)> {
    let has_reason = |name: &str| REASONS.iter().any(|(known, _)| *known == name);
    let all = repeated(files).into_iter().filter(|(name, _)| !has_reason(name));
    all.map(|(name, definitions)| (name, definitions.len())).collect()
}

fn check_by(files: &[(PathBuf, String)], reasons: &[(&str, &str)]) -> Vec<Finding> {
    let repeated = repeated(files);
    let listed: Vec<&str> = reasons.iter().map(|(name, _)| *name).collect();
    let mut findings = Vec::new();
    for (name, definitions) in &repeated {
        let [others @ .., last] = definitions.as_slice() else { continue };
        if listed.contains(&name.as_str()) {
            continue;
        }
        let others: Vec<String> =
            others.iter().map(|other| format!("{}:{}", other.file.display(), other.line)).collect();
        let what = format!("a second type is called `{name}`, as in {}", others.join(", "));
        let remedy = "give one of them the noun that a stranger would search for; a name that two types have \
            for a reason is in REASONS of xtask/src/tidy/names.rs";
        findings.push(Finding::new(last.file, last.line, what, remedy));
    }
    for name in listed.into_iter().filter(|name| !repeated.contains_key(*name)) {
        let what = format!("`{name}` is in the list of names that two types have, and they do not");
        findings.push(Finding::new(Path::new(LIST), line_of(files, name), what, "take it out of the list"));
    }
    findings
}

/// The line in which a name stands in the list.
fn line_of(files: &[(PathBuf, String)], name: &str) -> usize {
    let list = files.iter().find(|(file, _)| file == Path::new(LIST));
    let quoted = format!("\"{name}\"");
    list.and_then(|(_, text)| text.lines().position(|line| line.contains(&quoted))).map_or(1, |at| at + 1)
}

/// Each name that counts, with the definitions that make it count.
fn repeated(files: &[(PathBuf, String)]) -> BTreeMap<String, Vec<Definition<'_>>> {
    let mut named: BTreeMap<String, Vec<Definition>> = BTreeMap::new();
    for (file, text) in files.iter().filter(|(file, _)| file.starts_with("crates") && !is_of_tests(file)) {
        for (name, definition) in defined(file, &without_tests(text)) {
            named.entry(name).or_default().push(definition);
        }
    }
    for definitions in named.values_mut() {
        *definitions = that_collide(definitions);
    }
    named.retain(|_, definitions| !definitions.is_empty());
    named
}

/// Those of a name's definitions that a reader could take for each other.
fn that_collide<'f>(definitions: &[Definition<'f>]) -> Vec<Definition<'f>> {
    let is_public = |it: &Definition| it.visibility == Visibility::Public && face_of(it.file).is_none();
    let is_seen = |it: &Definition| it.visibility != Visibility::File;
    let collide = |one: &Definition| {
        let others = || definitions.iter().filter(|other| *other != one);
        is_public(one) && others().any(is_public)
            || is_seen(one)
                && others().any(|other| is_seen(other) && layer_of(other.file) == layer_of(one.file))
    };
    definitions.iter().filter(|one| collide(one)).cloned().collect()
}

/// The face that a file is of.
fn face_of(file: &Path) -> Option<&'static str> {
    FACES.into_iter().find(|face| file.to_str().is_some_and(|file| file.starts_with(face)))
}

/// The face that a file is of, or its crate.
fn layer_of(file: &Path) -> &str {
    face_of(file).or_else(|| file.iter().nth(1)?.to_str()).unwrap_or_default()
}

/// The structs, enums, unions and traits that a file defines.
fn defined<'f>(file: &'f Path, code: &str) -> Vec<(String, Definition<'f>)> {
    let mut found = Vec::new();
    for (at, line) in code.lines().enumerate() {
        let visibility = match line.split_whitespace().next() {
            Some("pub") => Visibility::Public,
            Some(word) if word.starts_with("pub(") && word != "pub(self)" => Visibility::Crate,
            _ => Visibility::File,
        };
        let words: Vec<&str> = line
            .split_whitespace()
            .skip_while(|word| word.starts_with("pub") || word.ends_with(')') || *word == "unsafe")
            .collect();
        if let ["struct" | "enum" | "union" | "trait", name, ..] = words.as_slice() {
            let end = name.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(name.len());
            if end > 0 {
                found.push((name[..end].to_owned(), Definition { file, line: at + 1, visibility }));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree<const N: usize>(files: [(&str, &str); N]) -> Vec<(PathBuf, String)> {
        files.map(|(file, text)| (PathBuf::from(file), text.to_owned())).into()
    }

    fn names(files: &[(PathBuf, String)]) -> Vec<String> {
        repeated(files).into_iter().map(|(name, found)| format!("{name} {}", found.len())).collect()
    }

    #[test]
    fn a_name_counts_once_a_definition_and_not_where_tests_define_it() {
        let files = tree([
            ("crates/a/src/b.rs", "pub struct Place { }\npub enum Case<T> { A(T) }\n"),
            ("crates/c/src/d.rs", "pub trait Place {}\n#[cfg(test)]\nmod tests {\n    pub struct Case;\n}\n"),
            ("crates/c/tests/e.rs", "pub struct Case;\n"),
            ("xtask/src/f.rs", "pub struct Case;\n"),
        ]);
        assert_eq!(names(&files), ["Place 2"]);
    }

    #[test]
    fn types_of_two_crates_share_a_name_only_where_both_are_plainly_public() {
        let with = |visibility: &str| {
            let other = format!("{visibility}struct Place;\n");
            names(&tree([
                ("crates/a/src/b.rs", "pub unsafe trait Place {}\n"),
                ("crates/c/src/d.rs", &other),
            ]))
        };
        assert_eq!(with("pub "), ["Place 2"]);
        for narrower in ["pub(crate) ", "pub(super) ", "pub(in crate::d) ", "pub(self) ", ""] {
            assert_eq!(with(narrower), [""; 0], "{narrower}");
        }
    }

    #[test]
    fn types_of_one_crate_share_a_name_where_both_are_seen_outside_their_files() {
        let with = |visibility: &str| {
            let other = format!("{visibility}struct Place;\n");
            names(&tree([("crates/a/src/b.rs", "pub(super) enum Place {}\n"), ("crates/a/src/d.rs", &other)]))
        };
        for seen in ["pub ", "pub(crate) ", "pub(super) ", "pub(in crate::d) "] {
            assert_eq!(with(seen), ["Place 2"], "{seen}");
        }
        for private in ["pub(self) ", ""] {
            assert_eq!(with(private), [""; 0], "{private}");
        }
    }

    #[test]
    fn a_face_repeats_a_name_of_one_library_and_no_more() {
        let typed = ("crates/numabench/src/args/matrix.rs", "pub enum Order {}\n");
        let written = ("crates/report/src/case.rs", "pub enum Order {}\n");
        let measured = ("crates/engine/src/case.rs", "pub enum Order {}\n");
        assert_eq!(names(&tree([typed, written, measured])), [""; 0]);
        let other = ("crates/mpi/src/order.rs", "pub enum Order {}\n");
        assert_eq!(names(&tree([typed, written, measured, other])), ["Order 2"]);
        let typed_too = ("crates/numabench/src/args.rs", "pub enum Order {}\n");
        assert_eq!(names(&tree([typed, typed_too, written])), ["Order 2"]);
        let of_binary = ("crates/numabench/src/order.rs", "pub enum Order {}\n");
        assert_eq!(names(&tree([typed, of_binary])), [""; 0]);
    }

    #[test]
    fn a_new_name_of_two_types_is_found_with_both_places_and_one_with_a_reason_is_not() {
        let files = tree([
            ("crates/a/src/b.rs", "//! B.\npub struct Place;\npub struct Api;\n"),
            ("crates/c/src/d.rs", "pub struct Api;\n\n\npub struct Place;\n"),
        ]);
        let found =
            |reasons| -> Vec<String> { check_by(&files, reasons).iter().map(ToString::to_string).collect() };
        let wrong = found(&[("Api", "two vendors")]);
        assert_eq!(wrong.len(), 1);
        assert!(
            wrong[0].starts_with(
                "crates/c/src/d.rs:4: a second type is called `Place`, as in crates/a/src/b.rs:2; give one"
            ),
            "{wrong:?}"
        );
        assert_eq!(found(&[("Api", "two vendors"), ("Place", "two crates")]), [""; 0]);
        assert_eq!(found(&[]).len(), 2);
    }

    #[test]
    fn a_listed_name_that_two_types_no_longer_have_is_found_in_its_line() {
        let files = tree([
            ("crates/a/src/b.rs", "pub struct Api;\n"),
            (LIST, "//! List.\n[\n    (\"Api\", \"two vendors\"),\n    (\"Place\", \"two crates\"),\n]\n"),
        ]);
        let reasons = [("Api", "two vendors"), ("Place", "two crates")];
        let wrong: Vec<String> = check_by(&files, &reasons).iter().map(ToString::to_string).collect();
        assert_eq!(wrong.len(), 2);
        assert!(wrong[0].starts_with("xtask/src/tidy/names.rs:3: `Api` is in the list"), "{wrong:?}");
        assert!(wrong[1].starts_with("xtask/src/tidy/names.rs:4: `Place` is in the list"), "{wrong:?}");
    }
}
