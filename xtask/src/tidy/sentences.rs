//! Tests that hold a part of a sentence for users: a better word breaks them, though nothing that they are
//! about has changed.
//!
//! A test counts where one of its literals has three words or more in a row that the program says as well, in
//! a literal of its own: however the test asks for them, in a list, by a function or as a whole. What a test
//! says itself where it fails counts too if the program says the same. A snapshot (`@"…"`) is the place where
//! a sentence stands, and does not count; nor does a whole sentence with something filled in.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::circles::without_tests;
use super::rust_code::{is_of_tests, literals};

/// Fewer words in a row are a name or chance.
const WORDS: usize = 3;

/// How many tests of `files` hold a part of a sentence.
pub fn count(files: &[(PathBuf, String)]) -> usize {
    let said = Said::by(files);
    files.iter().map(|(file, text)| tests(file, text).filter(|test| said.is_in(test)).count()).sum()
}

/// The texts of a file's tests, each with what stands up to the next.
fn tests<'t>(file: &Path, text: &'t str) -> impl Iterator<Item = &'t str> {
    let from = if is_of_tests(file) { Some(0) } else { text.find("#[cfg(test)]") };
    from.into_iter().flat_map(|from| text[from..].split("#[test]").skip(1))
}

/// What the program says.
struct Said {
    /// Its pieces, between what is filled in, one a line.
    pieces: String,
    /// All words in a row of them: most literals of tests are not in it, and need not be looked for.
    rows: HashSet<String>,
}

impl Said {
    /// What all code but tests says.
    fn by(files: &[(PathBuf, String)]) -> Self {
        let code = files.iter().filter(|(file, _)| !is_of_tests(file)).map(|(_, text)| {
            let lines = without_tests(text).lines().count();
            text.lines().take(lines).collect::<Vec<_>>().join("\n")
        });
        let pieces: Vec<Vec<String>> = code.flat_map(|text| pieces(&text)).collect();
        let rows = pieces.iter().flat_map(|piece| rows(piece)).collect();
        let lines: Vec<String> = pieces.iter().map(|piece| format!(" {} ", piece.join(" "))).collect();
        Self { pieces: lines.join("\n"), rows }
    }

    /// Whether a test has a part of it.
    fn is_in(&self, test: &str) -> bool {
        pieces(test).iter().any(|piece| {
            piece.len() >= WORDS
                && rows(piece).all(|row| self.rows.contains(&row))
                && self.pieces.contains(&format!(" {} ", piece.join(" ")))
        })
    }
}

fn rows(piece: &[String]) -> impl Iterator<Item = String> {
    piece.windows(WORDS).map(|row| row.join(" "))
}

/// The words of the literals of a text, piece by piece: what is filled in parts them.
fn pieces(text: &str) -> Vec<Vec<String>> {
    let mut pieces = Vec::new();
    for literal in literals(text).iter().filter(|literal| !literal.is_snapshot) {
        for piece in literal.text.split(['{', '}', '\n']) {
            let words =
                piece.split_whitespace().map(|word| word.trim_matches(['.', ',', ';', ':', '(', ')', '"']));
            pieces.push(words.filter(|word| !word.is_empty()).map(str::to_owned).collect());
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = r#"fn refuse() { say(format!("no GPU {gpu} on this node: see \
        numabench topo")) }"#;

    fn counted(test: &str) -> usize {
        let file = |name: &str, text: &str| (PathBuf::from(name), text.to_owned());
        count(&[
            file("crates/a/src/b.rs", PROGRAM),
            file("crates/a/tests/c.rs", &format!("#[test]\nfn c() {{ {test} }}\n")),
        ])
    }

    #[test]
    fn a_part_of_what_the_program_says_counts_however_it_is_asked_for_and_once_a_test() {
        for test in [
            r#"assert!(out.contains("on this node"));"#,
            r#"says(&out, &["h2d", "on this node: see numabench topo"]);"#,
            r#"assert_eq!(out, "on this node: see numabench topo");"#,
            r#"let words = "on this node"; assert!(out.contains("see numabench topo") && out.contains(words));"#,
        ] {
            assert_eq!(counted(test), 1, "{test}");
        }
    }

    #[test]
    fn names_words_of_the_test_and_snapshots_do_not_count() {
        for test in [
            r#"assert!(out.contains("numabench topo"));"#,
            r#"assert!(ok, "a node without it is well"); // no GPU on this node"#,
            r#"assert_snapshot!(out, @"on this node: see numabench topo");"#,
            r#"assert!(out.contains("this on node see"));"#,
        ] {
            assert_eq!(counted(test), 0, "{test}");
        }
    }
}
