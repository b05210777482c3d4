//! McCalpin's STREAM, in C (5.10 and before) and Fortran: the sizes, and a row for each of its four loops.
//!
//! MB are 10^6 bytes. A loop's bytes are those that its statement names: Copy and Scale read one array and
//! write one, Add and Triad read two and write one; that caches read what they write is not counted (README
//! of STREAM). Where the memory was, and which cores ran, the output does not say.

use report::imported::{ImportedStatus, ImportedUnit};

use super::error::{ImportError, ImportErrorKind};
use super::numbers::{number, whole};
use super::stray::StrayLines;
use super::{Case, Program, Taken, figure};

const LOOPS: [&str; 4] = ["Copy:", "Scale:", "Add:", "Triad:"];

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let mut taken = Taken::default();
    let mut strays = StrayLines::default();
    let mut elements: Option<u64> = None;
    let mut element_bytes: Option<u64> = None;
    let mut failed: Option<String> = None;
    let mut is_validated = false;
    let mut threads: Option<String> = None;
    let mut is_table = false;

    for (line, words) in (1_u64..).zip(text.lines()) {
        let words = words.trim();
        let lower = words.to_lowercase();
        if let Some(version) = lower.strip_prefix("stream version $revision:") {
            taken.version = Some(version.trim_end_matches('$').trim().to_owned());
        } else if words.starts_with("Function") && lower.contains("rate") && lower.contains("mb/s") {
            is_table = true;
        } else if let Some(name) = LOOPS.iter().find(|name| words.starts_with(**name)) {
            if !is_table {
                return Err(ImportError::stray(line, words, "STREAM before the heading of its table"));
            }
            taken.cases.push(row(name, words, line)?);
        } else if let Some(rest) = lower.strip_prefix("array size =") {
            let digits = rest.trim().split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            elements = Some(whole(digits, line, "a count of elements")?);
        } else if let Some(rest) = lower.strip_prefix("this system uses ").or(lower.strip_prefix("assuming "))
        {
            element_bytes = rest.split_whitespace().next().and_then(|digits| digits.parse().ok());
        } else if lower.starts_with("number of threads") {
            threads = words.rsplit('=').next().map(|count| count.trim().to_owned());
        } else if lower.starts_with("failed validation") {
            failed = failed.or_else(|| Some(words.to_owned()));
        } else if lower.starts_with("solution validates") {
            is_validated = true;
        } else if is_table && taken.cases.len() < LOOPS.len() && !words.is_empty() {
            strays.push(line, words);
        }
    }

    if !is_table {
        let missing = "it has no heading \"Function Best Rate MB/s\" (or \"Rate (MB/s)\")";
        return Err(ImportError::whole(ImportErrorKind::NotThis {
            program: Program::Stream.name(),
            missing,
        }));
    }
    if taken.cases.len() < LOOPS.len() {
        let missing = format!("{} of its {} loops", LOOPS.len() - taken.cases.len(), LOOPS.len());
        return Err(ImportError::truncated(text.lines().count() as u64, missing));
    }
    let bytes = elements.zip(element_bytes).and_then(|(count, bytes)| count.checked_mul(bytes));
    for case in &mut taken.cases {
        case.bytes = bytes;
        if let Some(words) = &failed {
            case.figure = Err((ImportedStatus::Failed, words.clone()));
        }
    }
    if failed.is_none() && !is_validated {
        taken
            .notes
            .push("the line that the results are right (\"Solution Validates\") is missing".to_owned());
    }
    if let Some(threads) = threads {
        taken.fact("threads", threads, true);
    }
    strays.note(&mut taken, Program::Stream.name());
    Ok(taken)
}

/// `Copy:           12345.6     0.012     0.011     0.013`.
fn row(name: &str, words: &str, line: u64) -> Result<Case, ImportError> {
    let rate = words[name.len()..].split_whitespace().next().unwrap_or_default();
    Ok(Case {
        id: format!("STREAM/{}", name.trim_end_matches(':')),
        place: "unknown cores and memory".to_owned(),
        bytes: None,
        unit: ImportedUnit::BytesPerS,
        figure: figure(number(rate, line, "a rate")?, 1e6),
        line: Some(line),
    })
}
