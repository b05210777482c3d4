//! JUnit XML, as Jenkins, GitLab and GitHub's reporters read it: a suite a case, a test a place. A place without figures fails or is
//! skipped with its reason; figures are the test's output. A run that is not complete is a test of its own that ends with an error: what a killed run
//! did not come to has no test that could fail.

use std::collections::BTreeMap;

use analysis::figure::said;
use analysis::incomplete::Incomplete;
use report::Document;
use report::case::Case;
use report::result::RankResult;
use report::row::{Row, RowStatus};

use super::name::Names;
use super::words::word;

pub(super) fn junit<B>(document: &Document<B>) -> String {
    let names = Names::of(document);
    let results: BTreeMap<(&str, u32), &RankResult<B>> = document
        .cases
        .iter()
        .flat_map(|case| case.ranks.iter().map(move |result| ((&case.id[..], result.rank), result)))
        .collect();
    let mut rows: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &document.rows {
        rows.entry(&row.case).or_default().push(row);
    }
    let mut suites = String::new();
    let mut all = Counts::default();
    if let Some(incomplete) = Incomplete::of_result(document) {
        all = Counts { tests: 1, errors: 1, ..Counts::default() };
        suites += &suite(document, RUN, &all, document.elapsed_s, &run(&incomplete, document.elapsed_s));
    }
    for case in &document.cases {
        let mut counts = Counts::default();
        let mut tests = String::new();
        for row in rows.remove(&case.id[..]).unwrap_or_default() {
            counts.add(row.status);
            if let Some(result) = results.get(&(&case.id[..], row.rank)) {
                tests += &test(case, &names.name(row), row, result);
            }
        }
        let took = case.ranks.iter().map(seconds).fold(0.0, f64::max);
        suites += &suite(document, &case.id, &counts, took, &tests);
        all.tests += counts.tests;
        all.failures += counts.failures;
        all.errors += counts.errors;
        all.skipped += counts.skipped;
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"numabench\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3}\">\n{suites}</testsuites>\n",
        all.tests, all.failures, all.errors, document.elapsed_s
    )
}

#[derive(Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    fn add(&mut self, status: RowStatus) {
        self.tests += 1;
        match status {
            RowStatus::Measured => {}
            RowStatus::Skipped => self.skipped += 1,
            RowStatus::Failed | RowStatus::Newer => self.errors += 1,
            RowStatus::Invalid | RowStatus::Corrupt => self.failures += 1,
        }
    }
}

/// The name of the run as a test.
const RUN: &str = "run";

/// The run as a test that ends with an error.
pub(super) fn run(incomplete: &Incomplete, elapsed_s: f64) -> String {
    let (message, status) = (escaped(&incomplete.to_string()), word(&incomplete.status));
    format!(
        "    <testcase classname=\"{RUN}\" name=\"{RUN}\" time=\"{elapsed_s:.6}\">\n      <error message=\"{message}\" type=\"{status}\"/>\n    </testcase>\n"
    )
}

fn suite<B>(document: &Document<B>, name: &str, counts: &Counts, took_s: f64, tests: &str) -> String {
    // RFC 3339 less its fraction and zone: the schemas want xs:dateTime without them.
    let started = document.started_at.split(['.', 'Z']).next().unwrap_or_default();
    let Counts { tests: count, failures, errors, skipped } = counts;
    let (name, host) = (escaped(name), escaped(&document.environment.hostname));
    format!(
        "  <testsuite name=\"{name}\" hostname=\"{host}\" timestamp=\"{}\" tests=\"{count}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{took_s:.6}\">\n{tests}  </testsuite>\n",
        escaped(started)
    )
}

fn test<B>(case: &Case<B>, name: &str, row: &Row, result: &RankResult<B>) -> String {
    let open = format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.6}\">\n",
        escaped(&case.id),
        escaped(name),
        seconds(result)
    );
    let reason = escaped(row.reason.as_deref().unwrap_or_default());
    let with = |element: &str| format!("      <{element} message=\"{reason}\" type=\"{}\"/>\n", said(row.status));
    let body = match row.status {
        RowStatus::Measured => {
            let rate = row.median_bytes_per_s.unwrap_or_default() / 1e9;
            let time = row.median_ns.unwrap_or_default() / 1e3;
            format!("      <system-out>{rate:.3} GB/s, median round {time:.3} µs</system-out>\n")
        }
        RowStatus::Skipped => format!("      <skipped message=\"{reason}\"/>\n"),
        RowStatus::Failed | RowStatus::Newer => with("error"),
        RowStatus::Invalid | RowStatus::Corrupt => with("failure"),
    };
    format!("{open}{body}    </testcase>\n")
}

/// How long a rank's blocks took.
fn seconds<B>(result: &RankResult<B>) -> f64 {
    result.summary().map_or(0.0, |summary| summary.elapsed_ns / 1e9)
}

/// Text in XML: markup and quotes escaped, what XML 1.0 has no character for replaced by a space.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push(' '),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
