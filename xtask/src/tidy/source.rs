//! The rules for one Rust file: it opens with what it is, stays short or says why not, leaves nothing open,
//! and is `unsafe` only where the design says unsafe lives.

use std::path::Path;

use super::finding::Finding;
use super::rust_code::code_only;

/// Above this many lines a file's module doc must say why, with the words [`REASON`].
const LONG: usize = 400;
const REASON: &str = "lines because";
/// A `main.rs` reads as a table of contents.
const MAIN: usize = 80;

/// Where unsafe code may live: path prefixes, from the repository's root. Every block there still says why it
/// is sound (clippy's `undocumented_unsafe_blocks`).
const UNSAFE_HOMES: &[&str] = &[
    "crates/sys/src/",
    "crates/device/src/conformance/tests/",
    "crates/backend-gpu/",
    "crates/backend-cuda/",
    "crates/backend-hip/",
    "crates/pingpong/tests/",
    "crates/mpi/src/calls",
    "crates/mpi/src/endpoint/tests",
    "crates/laplace/src/halos",
    "crates/laplace/src/run/tests",
    "crates/numabench/tests/fake/",
    "crates/mpi-plugin/",
    "crates/plugin/src/",
    "crates/witness-hook/src/",
    "crates/topo/tests/fake/",
    "tests/fake-driver/src/",
    "tests/fake-mpi/",
    "tests/slow-disk/",
    "tests/hip-over-cuda/src/",
];

/// What must not be left in the code, and what to do about it.
const LEFT_OPEN: &[(&str, &str)] = &[
    ("todo!", "write it, or return an error that says what is not there"),
    ("unimplemented!", "write it, or return an error that says what is not there"),
    ("#[ignore", "let the test say what it lacks and skip, or remove it: an ignored test is never missed"),
];

/// What is wrong with `text`, the Rust file at `file` (relative to the repository's root).
pub fn check(file: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !text.starts_with("//!") {
        let remedy = "say on the first line what the file is, why so, and what it leaves out";
        findings.push(Finding::new(file, 1, "does not open with `//!`", remedy));
    }
    findings.extend(length(file, text));
    findings.extend(doctests(file, text));

    let code = code_only(text);
    let home =
        UNSAFE_HOMES.iter().any(|home| file.starts_with(home) || file.to_string_lossy().starts_with(home));
    for (at, line) in code.lines().enumerate() {
        for (word, remedy) in LEFT_OPEN {
            if line.contains(word) {
                findings.push(Finding::new(file, at + 1, format!("`{word}` in the code"), remedy));
            }
        }
        if !home && has_word(line, "unsafe") {
            let remedy = "move it to a place where unsafe lives (UNSAFE_HOMES in xtask/src/tidy/source.rs), \
                or do without";
            findings.push(Finding::new(file, at + 1, "`unsafe` outside its homes", remedy));
        }
    }
    findings
}

fn length(file: &Path, text: &str) -> Option<Finding> {
    let lines = text.lines().count();
    if file.ends_with("src/main.rs") && lines > MAIN {
        let what = format!("{lines} lines; a main.rs has at most {MAIN}");
        return Some(Finding::new(file, MAIN + 1, what, "move what it does to files named for it"));
    }
    let doc: Vec<_> = text.lines().take_while(|line| line.starts_with("//!")).collect();
    if lines > LONG && !doc.iter().any(|line| line.contains(REASON)) {
        let what = format!("{lines} lines, and the module doc does not say why");
        return Some(Finding::new(file, LONG + 1, what, "split it, or say there: `N lines because …`"));
    }
    None
}

/// Code blocks in doc comments that rustdoc would take for tests: nothing runs them.
fn doctests(file: &Path, text: &str) -> Vec<Finding> {
    let mut inside = false;
    let fence = |(at, line): (usize, &str)| {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        let language = doc.trim().strip_prefix("```")?;
        inside = !inside;
        let tested = matches!(language.split(',').next(), Some("" | "rust" | "no_run" | "should_panic"));
        (inside && tested).then_some(at + 1)
    };
    let lines: Vec<usize> = text.lines().enumerate().filter_map(fence).collect();
    let remedy = "say what it is (```text), and make what should be tested a unit test";
    lines.into_iter().map(|line| Finding::new(file, line, "a doctest, which nothing runs", remedy)).collect()
}

/// Whether a word stands in a line.
pub fn has_word(line: &str, word: &str) -> bool {
    line.split(|char: char| !char.is_alphanumeric() && char != '_').any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> Vec<String> {
        check(Path::new(file), text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_that_says_what_it_is_and_does_nothing_odd_passes() {
        let text =
            "//! Says it is not unsafe and has no todo!().\n\nconst WORD: &str = \"unsafe #[ignore]\";\n";
        assert_eq!(found("crates/topo/src/lib.rs", text), [""; 0]);
    }

    #[test]
    fn a_file_without_a_module_doc_is_found() {
        for text in ["", "use std::fs;\n", "// not a module doc\n", "\n//! too late\n"] {
            let wrong = found("crates/topo/src/lib.rs", text);
            assert!(
                wrong.len() == 1 && wrong[0].starts_with("crates/topo/src/lib.rs:1: does not open"),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn a_long_file_must_say_why() {
        let body = "\n".repeat(LONG);
        assert_eq!(found("crates/topo/src/model.rs", &format!("//! Long.\n{body}")).len(), 1);
        assert_eq!(
            found("crates/topo/src/model.rs", &format!("//! Long: 401 lines because of X.\n{body}")),
            [""; 0]
        );
        let reason_outside_the_doc = format!("//! Long.\n// 401 lines because of X.\n{body}");
        assert_eq!(found("crates/topo/src/model.rs", &reason_outside_the_doc).len(), 1);
    }

    #[test]
    fn a_main_longer_than_a_table_of_contents_is_found() {
        let text = |lines| format!("//! Main.{}", "\n// x".repeat(lines - 1));
        assert_eq!(found("xtask/src/main.rs", &text(MAIN)), [""; 0]);
        assert_eq!(found("xtask/src/main.rs", &text(MAIN + 1)).len(), 1);
    }

    #[test]
    fn a_code_block_that_rustdoc_would_run_is_found_and_text_is_not() {
        let text = |language: &str| {
            format!("//! A file.\n//! ```{language}\n//! a\n//! ```\n//! ```text\n//! b\n//! ```\n")
        };
        assert_eq!(found("crates/topo/src/lib.rs", &text("console")), [""; 0]);
        for language in ["", "rust", "no_run", "rust,should_panic"] {
            let wrong = found("crates/topo/src/lib.rs", &text(language));
            assert!(
                wrong.len() == 1 && wrong[0].starts_with("crates/topo/src/lib.rs:2: a doctest"),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn unsafe_code_is_found_outside_its_homes_only() {
        let text = "//! A file.\nfn f() {\n    unsafe { g() }\n}\n";
        let wrong = found("crates/numabench/src/main.rs", text);
        assert!(
            wrong.len() == 1 && wrong[0].starts_with("crates/numabench/src/main.rs:3: `unsafe` outside"),
            "{wrong:?}"
        );
        for home in ["crates/backend-cuda/src/driver.rs", "crates/sys/src/mapping.rs"] {
            assert_eq!(found(home, text), [""; 0], "{home}");
        }
        let deny = "//! A file.\n#![deny(unsafe_op_in_unsafe_fn)]\n";
        assert_eq!(found("crates/numabench/src/main.rs", deny), [""; 0]);
    }

    #[test]
    fn what_is_left_open_is_found_with_its_line() {
        for left in ["todo!()", "unimplemented!(\"later\")", "#[ignore]", "#[ignore = \"slow\"]"] {
            let wrong = found("crates/topo/src/lib.rs", &format!("//! A file.\n\n{left}\n"));
            assert!(
                wrong.len() == 1 && wrong[0].starts_with("crates/topo/src/lib.rs:3: "),
                "{left}: {wrong:?}"
            );
        }
    }
}
