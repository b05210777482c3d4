//! `cargo xtask tidy --figures`: how large each crate is, and the counts by which the house is judged.
//!
//! Lines that hold only blanks count nowhere. A line of a test is one below `#[cfg(test)] mod`, or in a file
//! that only tests are built of (`tests/`, `benches/`, `tests.rs`). A doc comment is a line that begins with
//! `//!` or `///`; other comments count nowhere. The counts look at words, as the other checks do, so they
//! tell a tree from the tree before it and not one line from another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::rust_code::{code_only, is_of_tests};
use super::source::has_word;
use super::{circles, names, reading, sentences};

/// Lines and files of one crate.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Size {
    files: usize,
    code: usize,
    tests: usize,
    docs: usize,
}

impl Size {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.code += other.code;
        self.tests += other.tests;
        self.docs += other.docs;
    }
}

/// The table of crates and the counts below it; `files` are a tree's Rust files with their text.
pub fn table(root: &Path, files: &[(PathBuf, String)]) -> String {
    let mut crates: BTreeMap<String, Size> = BTreeMap::new();
    for (file, text) in files {
        crates.entry(crate_of(file)).or_default().add(size(file, text));
    }
    let mut out = format!("{:<24} {:>6} {:>8} {:>8} {:>8}\n", "crate", "files", "code", "tests", "docs");
    let mut all = Size::default();
    for (name, size) in &crates {
        out.push_str(&row(name, *size));
        if !name.starts_with("tests/") {
            all.add(*size);
        }
    }
    out.push_str(&row("all but tests/", all));
    let repeated = names::repeated_without_reason(files);
    let [unsafe_files, unsafe_crates] = unsafe_homes(files);
    let [wide, unbroken] = reading::counts(files);
    let counts = [
        ("type names defined more than once without a reason in tidy's list", repeated.len()),
        ("circles of files", circles::check(files).len()),
        ("circles of folders", circles::folders(files).len()),
        ("tests that match a part of a sentence", sentences::count(files)),
        ("lines of fixtures", fixture_lines(root)),
        ("files of crates that have unsafe code", unsafe_files),
        ("crates that have some", unsafe_crates),
        ("lines of production code over 110 columns", wide),
        ("functions of it over 15 lines without a paragraph", unbroken),
    ];
    out.push('\n');
    for (what, count) in counts {
        out.push_str(&format!("{count:>6}  {what}\n"));
    }
    out.push_str("\nnames: ");
    let listed: Vec<String> = repeated.iter().map(|(name, count)| format!("{name} {count}")).collect();
    out.push_str(&listed.join(", "));
    out.push_str("\nfolders: ");
    out.push_str(&circles::folders(files).join("; "));
    out.push('\n');
    out
}

/// As many files of crates with unsafe code, and crates that have some, and no more: each number only falls
/// (it rose once, with `witness-hook`: a library inside other programs is nothing but calls of C).
const MOST_UNSAFE: [usize; 2] = [49, 9];

/// Whether unsafe code has spread.
pub fn check(files: &[(PathBuf, String)]) -> Option<Finding> {
    let [in_files, in_crates] = unsafe_homes(files);
    let what =
        format!("unsafe code in {in_files} files of {in_crates} crates, where {MOST_UNSAFE:?} is the most");
    let remedy = "do without, or put it into a file that has some (MOST_UNSAFE in xtask/src/tidy/figures.rs \
        falls with each that is freed)";
    let more = in_files > MOST_UNSAFE[0] || in_crates > MOST_UNSAFE[1];
    more.then(|| Finding::new(Path::new("crates"), 1, what, remedy))
}

/// How many files of crates have unsafe code, and how many crates have some.
fn unsafe_homes(files: &[(PathBuf, String)]) -> [usize; 2] {
    let with_unsafe =
        files.iter().filter(|(file, text)| is_unsafe(file, text)).map(|(file, _)| crate_of(file));
    let with_unsafe: Vec<String> = with_unsafe.collect();
    [with_unsafe.len(), with_unsafe.iter().collect::<BTreeSet<_>>().len()]
}

fn row(name: &str, size: Size) -> String {
    format!("{name:<24} {:>6} {:>8} {:>8} {:>8}\n", size.files, size.code, size.tests, size.docs)
}

/// Whether a file of a crate, tests apart, has unsafe code.
fn is_unsafe(file: &Path, text: &str) -> bool {
    file.starts_with("crates") && !is_of_tests(file) && has_word(&code_only(text), "unsafe")
}

/// The folder of a file's crate: `crates/topo`, `xtask`, `tests/fake-driver`.
fn crate_of(file: &Path) -> String {
    let names: Vec<&str> = file.iter().filter_map(|name| name.to_str()).collect();
    let long = matches!(names.first(), Some(&"crates" | &"tests")) && names.len() > 2;
    names[..if long { 2 } else { 1 }].join("/")
}

fn size(file: &Path, text: &str) -> Size {
    let code = code_only(text);
    let full = |part: &str| part.lines().filter(|line| !line.trim().is_empty()).count();
    let docs = text
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with("//!") || line.starts_with("///"))
        .count();
    let all = full(&code);
    let kept = if is_of_tests(file) { 0 } else { full(&circles::without_tests(text)) };
    Size { files: 1, code: kept, tests: all - kept, docs }
}

/// Lines of what tests read: everything in folders named `fixtures`, `golden` and `snapshots`.
fn fixture_lines(root: &Path) -> usize {
    ["crates", "tests", "xtask"].iter().map(|top| lines_below(&root.join(top), false)).sum()
}

fn lines_below(folder: &Path, counts: bool) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let mut lines = 0;
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() {
            let here = counts || matches!(&*name, "fixtures" | "golden" | "snapshots");
            lines += if name == "target" { 0 } else { lines_below(&path, here) };
        } else if counts {
            lines +=
                std::fs::read(&path).map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_tests_and_documentation_are_told_apart() {
        let text = "//! A file.\n\nfn a() {\n    // why\n    b();\n}\n\n/// Says.\nfn b() {}\n\n\
            #[cfg(test)]\nmod tests {\n    #[test]\n    fn c() {}\n}\n";
        assert_eq!(size(Path::new("crates/a/src/b.rs"), text), Size { files: 1, code: 4, tests: 5, docs: 2 });
    }

    #[test]
    fn unsafe_code_in_one_file_more_than_there_were_is_found() {
        let file =
            |at: usize| (PathBuf::from(format!("crates/a/src/f{at}.rs")), "unsafe { g() }\n".to_owned());
        let as_many: Vec<_> = (0..MOST_UNSAFE[0]).map(file).collect();
        assert!(check(&as_many).is_none());
        assert!(check(&(0..=MOST_UNSAFE[0]).map(file).collect::<Vec<_>>()).is_some());
    }

    #[test]
    fn a_file_in_a_folder_of_tests_is_all_tests() {
        assert_eq!(
            size(Path::new("crates/a/tests/b.rs"), "fn a() {}\n"),
            Size { files: 1, code: 0, tests: 1, docs: 0 }
        );
    }
}
