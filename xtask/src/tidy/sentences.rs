//! Tests that hold a part of a sentence for users: a better word breaks them, though nothing that they are about has changed.
//!
//! A test counts where it asks whether a text contains, begins or ends with a literal of two words or more.

use std::path::PathBuf;

/// How a test asks for a part of a text.
const ASKS: [&str; 6] = ["contains(", "starts_with(", "ends_with(", "stdout(", "stderr(", "find("];

/// How many tests of `files` match a part of a sentence.
pub fn count(files: &[(PathBuf, String)]) -> usize {
    files.iter().map(|(_, text)| text.split("#[test]").skip(1).filter(|test| matches_a_sentence(test)).count()).sum()
}

/// Whether the text up to the next test has a literal of two words or more behind one of `ASKS`.
fn matches_a_sentence(test: &str) -> bool {
    ASKS.iter().any(|ask| {
        test.match_indices(ask).any(|(at, _)| {
            let rest = test[at + ask.len()..].trim_start_matches(['&', ' ', '\n']);
            let literal = rest.strip_prefix('"').and_then(|rest| rest.split('"').next());
            literal.is_some_and(|literal| literal.split_whitespace().count() >= 2)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_counts_once_where_it_matches_words_and_not_where_it_matches_a_name() {
        let text = "#[test]\nfn a() { assert!(out.contains(\"one two three\")); assert!(out.contains(\"four five six\")); }\n\
                    #[test]\nfn b() { assert!(out.contains(\"h2d\")); }\n";
        assert_eq!(count(&[(PathBuf::from("a.rs"), text.to_owned())]), 1);
    }
}
