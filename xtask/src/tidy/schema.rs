//! The committed JSON Schema is the one the types generate: a reader of documents sees no build, only this file.

use std::path::Path;

use super::finding::Finding;
use crate::schema::PATH;

const REMEDY: &str = "run `cargo xtask schema` and commit it; a change that breaks readers needs a new major version";

/// Compares the committed schema with the generated one.
pub fn check(root: &Path) -> Option<Finding> {
    compare(std::fs::read_to_string(root.join(PATH)).ok().as_deref(), &report::schema::text())
}

fn compare(committed: Option<&str>, generated: &str) -> Option<Finding> {
    let file = Path::new(PATH);
    let Some(committed) = committed else {
        return Some(Finding::new(file, 1, "there is no committed schema", REMEDY));
    };
    if committed == generated {
        return None;
    }
    let differs = committed.lines().zip(generated.lines()).position(|(one, other)| one != other);
    let line = 1 + differs.unwrap_or_else(|| committed.lines().count().min(generated.lines().count()));
    Some(Finding::new(file, line, "the committed schema is not what the types say", REMEDY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_same_schema_passes() {
        assert_eq!(compare(Some("{\n}\n"), "{\n}\n"), None);
        assert!(compare(None, "{\n}\n").is_some_and(|found| found.to_string().contains("no committed schema")));
    }

    #[test]
    fn the_first_line_that_differs_is_named() {
        let line = |committed, generated| compare(Some(committed), generated).map(|found| found.to_string());
        let at = |found: Option<String>| found.and_then(|text| text.split(':').nth(1).map(str::to_owned));
        assert_eq!(at(line("a\nb\nc\n", "a\nx\nc\n")).as_deref(), Some("2"));
        assert_eq!(at(line("a\n", "a\nb\n")).as_deref(), Some("2"));
        assert_eq!(at(line("a\nb", "a\nb\n")).as_deref(), Some("3"));
    }
}
