//! How a file reads: lines that are too wide for two files beside each other, and long functions without a
//! paragraph.
//!
//! A function of more than [`LONG`] lines has an empty line somewhere: readers see where one step ends. Found
//! by words and brackets, as the other checks find things, so a closure counts with the function around it,
//! and an inner function also by itself. Left out: whether a paragraph is in the right place, and `xtask`.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::circles::without_tests;
use super::finding::Finding;
use super::rust_code::is_of_tests;

/// Columns of a line, as rustfmt.toml has them.
const WIDTH: usize = 110;

/// The most lines of a body without a paragraph.
const LONG: usize = 15;

/// As many as there were when somebody last looked, of production code, and no more: each number only falls.
const MOST: [usize; 2] = [MOST_WIDE, MOST_UNBROKEN];
const MOST_WIDE: usize = 23;
const MOST_UNBROKEN: usize = 60;

/// Wide lines, and long functions without a paragraph, of production code.
pub fn counts(files: &[(PathBuf, String)]) -> [usize; 2] {
    let (mut wide, mut unbroken) = (0, 0);
    for (_, text) in files.iter().filter(|(file, _)| file.starts_with("crates") && !is_of_tests(file)) {
        // Comments are blanked there, and are read here.
        let code: Vec<char> = without_tests(text).chars().collect();
        let written: Vec<char> = text.chars().take(code.len()).collect();

        let is_wide = |line: &&[char]| line.len() > WIDTH;
        wide += written.split(|char| *char == '\n').filter(is_wide).count();
        unbroken += bodies(&code).filter(|body| is_unbroken(&written[body.clone()])).count();
    }
    [wide, unbroken]
}

/// Whether there are more than there were.
pub fn check(files: &[(PathBuf, String)]) -> Option<Finding> {
    let now = counts(files);
    let what = format!(
        "{} lines over {WIDTH} columns and {} long functions without a paragraph, where {MOST_WIDE} and \
         {MOST_UNBROKEN} are the most",
        now[0], now[1]
    );
    let remedy = "break the line, or give the function an empty line between its steps (MOST in \
        xtask/src/tidy/reading.rs falls with each)";
    let more = now.iter().zip(MOST).any(|(now, most)| *now > most);
    more.then(|| Finding::new(Path::new("crates"), 1, what, remedy))
}

fn is_unbroken(body: &[char]) -> bool {
    let lines: Vec<&[char]> = body.split(|char| *char == '\n').collect();
    let is_empty = |line: &&[char]| line.iter().all(|char| char.is_whitespace());
    lines.len().saturating_sub(2) > LONG && !lines.iter().any(is_empty)
}

/// Where the bodies of all functions are, with their braces.
fn bodies(code: &[char]) -> impl Iterator<Item = Range<usize>> {
    let is_word = |at: usize| code.get(at).is_some_and(|char| char.is_alphanumeric() || *char == '_');
    let begins = move |at: &usize| {
        code[*at..].starts_with(&['f', 'n', ' ']) && at.checked_sub(1).is_none_or(|before| !is_word(before))
    };
    (0..code.len()).filter(begins).filter_map(|at| body(code, at))
}

/// Where the body of the function that begins here begins and ends; `None` of one without a body.
fn body(code: &[char], from: usize) -> Option<Range<usize>> {
    let mut depth = 0_i32;
    let mut first = None;
    for (at, char) in code.iter().enumerate().skip(from) {
        match char {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ';' if depth == 0 && first.is_none() => return None,
            '{' => {
                depth += 1;
                first = first.or(Some(at));
            }
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return first.map(|first| first..at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> [usize; 2] {
        counts(&[(PathBuf::from("crates/topo/src/model.rs"), text.to_owned())])
    }

    #[test]
    fn a_long_function_without_a_paragraph_and_a_wide_line_are_counted() {
        let lines = |count: usize| "    go();\n".repeat(count);
        assert_eq!(counted(&format!("fn short([at, to]: [u8; 2]) {{\n{}}}\n", lines(15))), [0, 0]);
        assert_eq!(counted(&format!("pub fn long<T>(of: T) -> T {{\n{}}}\n", lines(16))), [0, 1]);
        assert_eq!(counted(&format!("fn long() {{\n{}\n{}}}\n", lines(8), lines(8))), [0, 0]);
        assert_eq!(counted("trait Does {\n    fn it(&self);\n}\n"), [0, 0]);
        assert_eq!(counted(&format!("//{}\n", "x".repeat(109))), [1, 0]);
        let of_tests = format!("#[cfg(test)]\nmod tests {{\n    fn long() {{\n{}    }}\n}}\n", lines(20));
        assert_eq!(counted(&of_tests), [0, 0], "tests are read otherwise");
        assert_eq!(counts(&[(PathBuf::from("xtask/src/x.rs"), "x".repeat(200))]), [0, 0]);
    }
}
