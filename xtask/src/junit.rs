//! The file that nextest leaves of a run of tests (`.config/nextest.toml`), line by line with the test it is of.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Where it is, of this target folder.
pub fn file(target: &Path) -> PathBuf {
    target.join("nextest/ci/junit.xml")
}

/// Its text.
///
/// # Errors
/// There is none.
pub fn read(target: &Path) -> Result<String> {
    let file = file(target);
    std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
}

/// Each line with the name of the test that it is of; empty before the first.
pub fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut test = "";
    text.lines().map(move |line| {
        if let Some((_, rest)) = line.split_once("<testcase name=\"") {
            test = rest.split('"').next().unwrap_or_default();
        }
        (test, line)
    })
}
