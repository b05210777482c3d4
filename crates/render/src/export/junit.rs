//! JUnit XML, as Jenkins, GitLab and GitHub's reporters read it: a suite a case, a test a place. A place
//! without figures fails or is skipped with its reason; figures are the test's output. A run that is not
//! complete is a test of its own that ends with an error: what a killed run did not come to has no test that
//! could fail.

use analysis::incomplete::Incomplete;
use report::json::word;

use super::points::{Points, TestCase, TestFault, TestOutcome};
use svg::escaped;

pub(super) fn junit(points: &Points) -> String {
    let mut suites = String::new();
    let mut all = Counts::default();
    if let Some(incomplete) = &points.incomplete {
        all = Counts { tests: 1, errors: 1, ..Counts::default() };
        suites += &suite(points, RUN, &all, points.elapsed_s, &run(incomplete, points.elapsed_s));
    }

    for name in &points.suites {
        let tests = || {
            points.points.iter().filter_map(|point| point.test.as_ref()).filter(|test| test.suite == *name)
        };
        let counts = tests().fold(Counts::default(), Counts::with);
        let took_s = tests().map(|test| test.took_s).fold(0.0, f64::max);
        suites += &suite(points, name, &counts, took_s, &tests().map(case).collect::<String>());
        all.tests += counts.tests;
        all.failures += counts.failures;
        all.errors += counts.errors;
        all.skipped += counts.skipped;
    }

    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3}\">\n\
         {suites}</testsuites>\n",
        points.title, all.tests, all.failures, all.errors, points.elapsed_s
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
    fn with(mut self, test: &TestCase) -> Self {
        self.tests += 1;
        match test.outcome {
            TestOutcome::Measured(_) => {}
            TestOutcome::Skipped(_) => self.skipped += 1,
            TestOutcome::Failure(_) => self.failures += 1,
            TestOutcome::Error(_) => self.errors += 1,
        }
        self
    }
}

/// The name of the run as a test.
const RUN: &str = "run";

/// The run as a test that ends with an error.
fn run(incomplete: &Incomplete, elapsed_s: f64) -> String {
    let (message, status) = (escaped(&incomplete.to_string()), word(&incomplete.status));
    format!(
        "    <testcase classname=\"{RUN}\" name=\"{RUN}\" time=\"{elapsed_s:.6}\">\n      <error \
         message=\"{message}\" type=\"{status}\"/>\n    </testcase>\n"
    )
}

fn suite(points: &Points, name: &str, counts: &Counts, took_s: f64, tests: &str) -> String {
    // RFC 3339 less its fraction and zone: the schemas want xs:dateTime without them.
    let started = escaped(points.started_at.split(['.', 'Z']).next().unwrap_or_default());
    let Counts { tests: count, failures, errors, skipped } = counts;
    let (name, host) = (escaped(name), escaped(&points.host));
    format!(
        "  <testsuite name=\"{name}\" hostname=\"{host}\" timestamp=\"{started}\" tests=\"{count}\" \
         failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{took_s:.6}\">\n\
         {tests}  </testsuite>\n"
    )
}

fn case(test: &TestCase) -> String {
    let TestCase { class, name, took_s, outcome, .. } = test;
    let with = |element: &str, TestFault { kind, reason }: &TestFault| {
        format!("<{element} message=\"{}\" type=\"{kind}\"/>", escaped(reason))
    };
    let body = match outcome {
        TestOutcome::Measured(said) => format!("<system-out>{}</system-out>", escaped(said)),
        TestOutcome::Skipped(reason) => format!("<skipped message=\"{}\"/>", escaped(reason)),
        TestOutcome::Failure(why) => with("failure", why),
        TestOutcome::Error(why) => with("error", why),
    };
    let (class, name) = (escaped(class), escaped(name));
    format!(
        "    <testcase classname=\"{class}\" name=\"{name}\" time=\"{took_s:.6}\">\n      {body}\n    \
         </testcase>\n"
    )
}
