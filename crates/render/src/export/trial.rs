//! Trial documents in the forms of dashboards: a series is a variant and a metric.

use std::collections::BTreeMap;

use analysis::incomplete::Incomplete;
use report::TrialDocument;
use report::trial::TrialRow;
use stats::units::counted;

use super::bmf::Metric;
use super::gha::Benchmark;
use super::openmetrics::label;
use super::{Form, csv, influx, junit};
use report::json::{JsonError, json_value};

/// A trial in one of the forms.
///
/// # Errors
/// [`JsonError`]: a figure is not finite, which no document that was read has.
pub fn trial(document: &TrialDocument, form: Form) -> Result<Vec<u8>, JsonError> {
    let rows = || document.rows.iter().filter_map(|row| Some((row, row.median?)));
    let text = |lines: Vec<String>| lines.concat().into_bytes();
    Ok(match form {
        Form::Csv => table(document).into_bytes(),
        Form::Bmf => {
            let mut benchmarks: BTreeMap<&str, BTreeMap<&str, Metric>> = BTreeMap::new();
            for (row, value) in rows() {
                let metric = Metric { value, lower_value: row.median_low, upper_value: row.median_high };
                benchmarks.entry(&row.variant).or_default().insert(&row.metric, metric);
            }
            json_value(&benchmarks)?
        }
        Form::GhaBigger | Form::GhaSmaller => {
            let wanted = rows().filter(|(row, _)| row.more_is_better == (form == Form::GhaBigger));
            let host = document.hostname.as_deref().unwrap_or("unknown host");
            let benchmark = |(row, value)| entry(row, value, host, &document.started_at);
            json_value(&wanted.map(benchmark).collect::<Vec<_>>())?
        }
        Form::OpenMetrics => {
            let head = "# TYPE numabench_trial gauge\n# HELP numabench_trial The median of the runs that count.\n";
            let line = |(row, value): (&TrialRow, f64)| {
                format!(
                    "numabench_trial{{variant=\"{}\",metric=\"{}\"}} {value}\n",
                    label(&row.variant),
                    label(&row.metric)
                )
            };
            text([head.to_owned()].into_iter().chain(rows().map(line)).chain(["# EOF\n".to_owned()]).collect())
        }
        Form::Influx => {
            let line = |(row, value): (&TrialRow, f64)| {
                format!(
                    "numabench_trial,variant={},metric={} median={value},counted={}i\n",
                    influx::escaped(&row.variant),
                    influx::escaped(&row.metric),
                    row.counted
                )
            };
            text(rows().map(line).collect())
        }
        Form::Junit => text(tests(document)),
    })
}

fn entry<'r>(row: &'r TrialRow, value: f64, host: &str, started_at: &str) -> Benchmark<'r> {
    let half = |(low, high): (f64, f64)| format!("± {:.4}", (high - low) / 2.0);
    Benchmark {
        name: format!("{} {}", row.variant, row.metric),
        unit: row.unit.as_deref().unwrap_or_default(),
        value,
        range: row.median_low.zip(row.median_high).map(half),
        extra: format!("{} on {host}, {started_at}", counted(row.counted as usize, "run")),
    }
}

fn table(document: &TrialDocument) -> String {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let mut text =
        "started_at,host,variant,metric,unit,more_is_better,counted,misplaced,failed,median,median_low,median_high,min,max,ratio,ratio_low,ratio_high,verdict\n"
            .to_owned();
    for row in &document.rows {
        let found =
            document.comparisons.iter().find(|found| found.variant == row.variant && found.metric == row.metric);
        let ends = found.and_then(|found| found.ratio_interval);
        let fields = [
            csv::quoted(&document.started_at),
            csv::quoted(document.hostname.as_deref().unwrap_or_default()),
            csv::quoted(&row.variant),
            csv::quoted(&row.metric),
            csv::quoted(row.unit.as_deref().unwrap_or_default()),
            row.more_is_better.to_string(),
            row.counted.to_string(),
            row.misplaced.to_string(),
            row.failed.to_string(),
            number(row.median),
            number(row.median_low),
            number(row.median_high),
            number(row.min),
            number(row.max),
            number(found.and_then(|found| found.ratio)),
            number(ends.map(|ends| ends.low)),
            number(ends.map(|ends| ends.high)),
            found.map_or("baseline", |found| found.verdict.name()).to_owned(),
        ];
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}

/// A test a variant; it fails where runs were not where they were to be, or gave no figure.
fn tests(document: &TrialDocument) -> Vec<String> {
    let metric = document.settings.metrics.first().map_or("", |metric| metric.name.as_str());
    let rows: Vec<&TrialRow> = document.rows.iter().filter(|row| row.metric == metric).collect();
    let is_bad = |row: &&&TrialRow| row.misplaced + row.failed > 0;
    let run = Incomplete::of_trial(document).map(|incomplete| junit::run(&incomplete, document.elapsed_s));
    let head = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"numabench trial\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
        rows.len() + run.iter().len(),
        rows.iter().filter(is_bad).count(),
        run.iter().len()
    );
    let case = |row: &&TrialRow| {
        let name = junit::escaped(&row.variant);
        if is_bad(&row) {
            let why = format!("{} misplaced, {} without a figure", counted(row.misplaced as usize, "run"), row.failed);
            format!("  <testcase name=\"{name}\"><failure message=\"{why}\"/></testcase>\n")
        } else {
            format!("  <testcase name=\"{name}\"/>\n")
        }
    };
    [head].into_iter().chain(run).chain(rows.iter().map(case)).chain(["</testsuite>\n".to_owned()]).collect()
}
