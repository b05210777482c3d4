//! The committed JSON Schemas are those that the types generate: a reader of documents sees no build, only
//! these files.

use std::path::Path;

use super::finding::Finding;
use crate::schema::all;

const REMEDY: &str =
    "run `cargo xtask schema` and commit it; a change that breaks readers needs a new major version";

/// Compares the committed schemas with the generated ones.
pub fn check(root: &Path) -> Vec<Finding> {
    let compared = all().into_iter().map(|(file, generated)| {
        compare(&file, std::fs::read_to_string(root.join(&file)).ok().as_deref(), &generated)
    });
    compared.flatten().collect()
}

fn compare(file: &Path, committed: Option<&str>, generated: &str) -> Option<Finding> {
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

    fn compared(committed: Option<&str>, generated: &str) -> Option<Finding> {
        compare(Path::new("place-v1.json"), committed, generated)
    }

    #[test]
    fn only_the_very_same_schema_passes() {
        assert_eq!(compared(Some("{\n}\n"), "{\n}\n"), None);
        assert!(
            compared(None, "{\n}\n").is_some_and(|found| found.to_string().contains("no committed schema"))
        );
    }

    #[test]
    fn the_first_line_that_differs_is_named() {
        let line = |committed, generated| compared(Some(committed), generated).map(|found| found.to_string());
        let at = |found: Option<String>| found.and_then(|text| text.split(':').nth(1).map(str::to_owned));
        assert_eq!(at(line("a\nb\nc\n", "a\nx\nc\n")).as_deref(), Some("2"));
        assert_eq!(at(line("a\n", "a\nb\n")).as_deref(), Some("2"));
        assert_eq!(at(line("a\nb", "a\nb\n")).as_deref(), Some("3"));
    }
}
