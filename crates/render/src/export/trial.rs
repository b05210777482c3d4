//! Trial documents as points: a variant and metric each.

use analysis::incomplete::Incomplete;
use report::TrialDocument;
use report::json::word;
use report::trial::TrialRow;
use stats::units::counted;

use super::points::{
    Estimate, Label, Measure, MetricFamily, Number, Point, Points, TestCase, TestFault, TestOutcome, known,
};

/// The columns of its table.
const COLUMNS: [&str; 18] = [
    "started_at",
    "host",
    "variant",
    "metric",
    "unit",
    "more_is_better",
    "counted",
    "misplaced",
    "failed",
    "median",
    "median_low",
    "median_high",
    "min",
    "max",
    "ratio",
    "ratio_low",
    "ratio_high",
    "verdict",
];

/// What it is called among test results, and its only suite.
const TITLE: &str = "numabench trial";

/// A document as points.
pub fn points(document: &TrialDocument) -> Points {
    Points {
        record: "numabench_trial",
        title: TITLE,
        started_at: document.started_at.clone(),
        is_dated: false,
        elapsed_s: document.elapsed_s,
        host: document.hostname.clone().unwrap_or_default(),
        incomplete: Incomplete::of_trial(document),
        columns: COLUMNS.to_vec(),
        line_end: "\n",
        labels: Label::same_in_all_forms(&["variant", "metric"]),
        tags: Label::same_in_all_forms(&["variant", "metric"]),
        fields: &["median", "counted"],
        metrics: vec![MetricFamily {
            name: "numabench_trial".to_owned(),
            unit: "",
            help: "The median of the runs that count",
            measure: None,
            scale: 1.0,
            has_ends: false,
        }],
        gauges: Vec::new(),
        suites: vec![TITLE.to_owned()],
        points: document.rows.iter().map(|row| point(document, row)).collect(),
    }
}

fn point(document: &TrialDocument, row: &TrialRow) -> Point {
    let found =
        document.comparisons.iter().find(|found| found.variant == row.variant && found.metric == row.metric);
    let ends = found.and_then(|found| found.ratio_interval);
    let real = |value: Option<f64>| value.map(Number::Real);
    let count = |value| Some(Number::Count(value));
    let host = document.hostname.as_deref();
    let measure = Measure {
        name: row.metric.clone().into(),
        unit: row.unit.clone().unwrap_or_default().into(),
        scale: 1.0,
        more_is_better: row.more_is_better,
        is_relative: false,
    };

    let figure =
        |value| Estimate { measure, is_main: true, value, low: row.median_low, high: row.median_high };

    Point {
        name: format!("{} {}", row.variant, row.metric),
        benchmark: row.variant.clone(),
        origin: format!(
            "{} on {}, {}",
            counted(row.counted as usize, "run"),
            host.unwrap_or("unknown host"),
            document.started_at
        ),
        words: vec![
            ("started_at", document.started_at.clone()),
            ("host", host.unwrap_or_default().to_owned()),
            ("variant", row.variant.clone()),
            ("metric", row.metric.clone()),
            ("unit", row.unit.clone().unwrap_or_default()),
            ("more_is_better", row.more_is_better.to_string()),
            ("verdict", found.map_or_else(|| "baseline".to_owned(), |found| word(&found.verdict))),
        ],
        numbers: known([
            ("counted", count(row.counted.into())),
            ("misplaced", count(row.misplaced.into())),
            ("failed", count(row.failed.into())),
            ("median", real(row.median)),
            ("median_low", real(row.median_low)),
            ("median_high", real(row.median_high)),
            ("min", real(row.min)),
            ("max", real(row.max)),
            ("ratio", real(found.and_then(|found| found.ratio))),
            ("ratio_low", real(ends.map(|ends| ends.low))),
            ("ratio_high", real(ends.map(|ends| ends.high))),
        ]),
        figures: row.median.map(figure).into_iter().collect(),
        test: test(document, row),
    }
}

/// A test a variant, by the first metric; it fails where runs were not where they were to be, or gave no
/// figure.
fn test(document: &TrialDocument, row: &TrialRow) -> Option<TestCase> {
    let first = document.settings.metrics.first().map_or("", |metric| metric.name.as_str());
    let is_bad = row.misplaced + row.failed > 0;
    let reason =
        || format!("{} misplaced, {} without a figure", counted(row.misplaced as usize, "run"), row.failed);

    (row.metric == first).then(|| TestCase {
        suite: TITLE.to_owned(),
        class: first.to_owned(),
        name: row.variant.clone(),
        took_s: 0.0,
        outcome: match is_bad {
            true => TestOutcome::Failure(TestFault { kind: "failed", reason: reason() }),
            false if row.counted == 0 => TestOutcome::Skipped("no run was counted".to_owned()),
            false => TestOutcome::Measured(row.median.map_or(String::new(), |median| {
                format!("{median} {}", row.unit.as_deref().unwrap_or_default())
            })),
        },
    })
}
