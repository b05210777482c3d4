//! What tests left out on this machine, said in their own lines (`SKIPPED why`), counted at the end of `cargo
//! xtask test`.
//!
//! A passing test's output is shown nowhere, but the runner keeps it in its JUnit file
//! (`.config/nextest.toml`). Where CI says that it is CI (`CI=true`), a test that should run there must: only
//! what no runner can have may be left out ([`MAY_BE_LEFT_OUT`]).

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};

use crate::junit;

/// How a line of a test begins that leaves something out.
const MARK: &str = "SKIPPED ";
/// Words of reasons that hold on a CI runner: files that are not the project's to publish, hardware,
/// namespaces, and the module system that Debian does not install beside the other, or GPU libraries that
/// should not be there.
const MAY_BE_LEFT_OUT: [&str; 13] = [
    "three ranks need three PUs",
    "two ranks of two threads: four PUs",
    "a rank for each core: this machine has other than two",
    "no captures at ",
    "ROCm's own library",
    "memory policies are not allowed here",
    "has no such backend",
    "the module file of Lmod",
    "pages in a browser: there is no chromium",
    "doctor without rights: ",
    "kernels from two cores: ",
    "a vendor's libraries that are missing: this machine has them",
    "hosts with rails: ",
];

/// Forgets an earlier run's file.
pub fn forget(target: &Path) {
    drop(std::fs::remove_file(junit::file(target)));
}

/// Says what was left out, and why.
///
/// # Errors
/// The runner left no file, or, with `in_ci`, something was left out that should run there.
pub fn count(target: &Path, in_ci: bool) -> Result<()> {
    let found = found(&junit::read(target)?);
    eprintln!("test: left out on this machine: {}", found.values().map(Vec::len).sum::<usize>());
    for (why, tests) in &found {
        eprintln!("test:   {} × {why} (the first: {})", tests.len(), tests[0]);
    }

    let missed: Vec<&str> = found
        .keys()
        .map(String::as_str)
        .filter(|why| !MAY_BE_LEFT_OUT.iter().any(|words| why.contains(words)))
        .collect();
    if in_ci && !missed.is_empty() {
        bail!("CI must not leave out: {} (cargo xtask setup installs what tests need)", missed.join("; "));
    }
    Ok(())
}

/// The tests that left something out, by the reason.
fn found(junit: &str) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for (test, line) in junit::lines(junit) {
        let text = line.rsplit_once("<system-err>").map_or(line, |(_, text)| text);
        if let Some(why) = text.strip_prefix(MARK) {
            let why = why.split("</system-err>").next().unwrap_or_default();
            found.entry(plain(why)).or_default().push(test.to_owned());
        }
    }
    found
}

/// XML's five entities as what they stand for.
fn plain(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, char)| text.replace(entity, char))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUNIT: &str = r#"<testsuites>
        <testcase name="first" classname="a" time="0.1">
            <system-out>SKIPPED on the wrong side</system-out>
            <system-err>SKIPPED ROCm&apos;s own library: none
SKIPPED tasks with a CPU each: this machine has one CPU</system-err>
        </testcase>
        <testcase name="second" classname="a">
            <system-err>a line
SKIPPED tasks with a CPU each: this machine has one CPU
another</system-err>
        </testcase>"#;

    #[test]
    fn every_reason_is_found_with_the_tests_that_gave_it() {
        let found = found(JUNIT);
        let of = |why: &str| found.get(why).cloned().unwrap_or_default();
        assert_eq!(of("tasks with a CPU each: this machine has one CPU"), ["first", "second"]);
        assert_eq!(of("ROCm's own library: none"), ["first"]);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn ci_fails_where_something_is_left_out_that_should_run_there() -> Result<()> {
        let target = tempfile::tempdir()?;
        let file = junit::file(target.path());
        assert!(count(target.path(), false).is_err(), "without the runner's file nothing is known");
        std::fs::create_dir_all(file.parent().unwrap_or(target.path()))?;
        std::fs::write(&file, JUNIT)?;
        assert!(count(target.path(), false).is_ok());
        let error = count(target.path(), true).expect_err("one CPU").to_string();
        assert!(error.contains("one CPU") && !error.contains("ROCm"), "{error}");
        forget(target.path());
        assert!(!file.exists());
        Ok(())
    }
}
