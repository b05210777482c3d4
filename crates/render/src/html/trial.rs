//! A report of trials: the answer, every run as a dot, the paired differences beside the zone that does not
//! matter, then the tables.

use analysis::answer_status;
use analysis::incomplete::Incomplete;
use report::TrialDocument;
use report::document::Tool;
use report::json::word;
use report::trial::{TrialMetric, TrialOutcome, TrialRun, TrialVerdict};
use stats::IdSet;

use super::paged::Paged;
use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::rows::{Mark, Row, Rows};
use crate::digits;
use crate::terminal::trial_verdict;

impl Paged for TrialDocument {
    const SEVERAL: [&str; 2] = ["numabench", "trials"];

    fn title(&self) -> String {
        let host = self.hostname.as_deref().unwrap_or("a machine without a name");
        format!("numabench trial on {host}, {}", self.started_at)
    }

    fn heading(&self, name: &str) -> String {
        name.to_owned()
    }

    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn draw(&self, page: &mut HtmlPage) {
        page.answer_then_picture(answer_status::of_trial(self), &self.verdict);
        if let Some(incomplete) = Incomplete::of_trial(self) {
            page.list(&[format!("Not complete: {incomplete}.")]);
        }
        for metric in &self.settings.metrics {
            differences(self, metric, page);
            runs(self, metric, page);
        }
        page.release();
        page.list(&self.notes);
        tables(self, page);
    }
}

/// What a metric's figures are in: `wall time, s`.
fn titled(metric: &TrialMetric) -> String {
    let unit = metric.unit.as_ref().map_or(String::new(), |unit| format!(", {unit}"));
    let better = if metric.more_is_better { "more is better" } else { "less is better" };
    let name = if metric.name == "wall" { "wall time" } else { &metric.name };
    format!("{name}{unit} ({better})")
}

/// Each variant's difference from the baseline with its interval, beside what does not matter.
fn differences(document: &TrialDocument, metric: &TrialMetric, page: &mut HtmlPage) {
    let found = || document.comparisons.iter().filter(|found| found.metric == metric.name);
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let row = |found: &report::trial::TrialComparison| {
        let verdict = trial_verdict(found.verdict, &metric.name);
        let colour = match found.verdict {
            TrialVerdict::Better => series(2),
            TrialVerdict::Worse => series(1),
            _ => series(5),
        };
        let change = found.ratio.map_or("no figure".to_owned(), digits::change);
        let ends = found.ratio_interval;
        let value = format!("{}: {change}{}, {verdict}", found.variant, digits::known_within(ends.as_ref()));
        let span = ends.map(|ends| (Mark::Span(percent(ends.low), percent(ends.high)), value.clone()));
        let dot = found.ratio.map(|ratio| (Mark::Dot(percent(ratio)), value));
        let marks = span.into_iter().chain(dot).collect();
        Row { name: found.variant.clone(), said: format!("{change}, {verdict}"), colour, marks }
    };

    let rows: Vec<Row> = found().map(row).collect();
    if rows.is_empty() {
        return;
    }
    let zone = document.settings.equivalence * 100.0;
    let rows = Rows {
        title: format!("% against the baseline, {}", titled(metric)),
        rows,
        levels: vec![(0.0, "the baseline".to_owned())],
        zone: Some((-zone, zone, format!("does not matter (±{} %)", digits::shown(zone, None)))),
        signed: true,
        ..Rows::default()
    };
    let title = format!("Difference from the baseline, run beside run: {}", titled(metric));
    page.rows(&title, &rows);
}

/// Every counted run as a dot.
fn runs(document: &TrialDocument, metric: &TrialMetric, page: &mut HtmlPage) {
    let value = |run: &TrialRun| match run.metrics.get(&metric.name) {
        Some(value) => Some(*value),
        None if metric.name == "wall" => Some(run.wall_s),
        None => None,
    };
    let row = |(at, row): (usize, &report::trial::TrialRow)| {
        let counted =
            document.runs.iter().filter(|run| run.block > 0 && run.outcome == TrialOutcome::Counted);
        let of_variant = counted.filter(|run| run.variant == row.variant);
        let speck = |run: &TrialRun| {
            let value = value(run)?;
            Some((
                Mark::Speck(value),
                format!("{}, block {}: {}", row.variant, run.block, digits::shown(value, None)),
            ))
        };
        let mut marks: Vec<(Mark, String)> = of_variant.filter_map(speck).collect();
        let half = row.median_low.zip(row.median_high).map(|(low, high)| (high - low) / 2.0);
        let said = row.median.map_or("no figure".to_owned(), |median| digits::shown(median, half));
        let value = format!("{}: median {said} of {} runs", row.variant, row.counted);
        marks.extend(row.median.map(|median| (Mark::Ring(median), value)));
        Row { name: row.variant.clone(), said, colour: series(at), marks }
    };

    let rows: Vec<Row> =
        document.rows.iter().filter(|row| row.metric == metric.name).enumerate().map(row).collect();
    if rows.iter().all(|row| row.marks.is_empty()) {
        return;
    }
    let rows = Rows { title: titled(metric), rows, ..Rows::default() };
    page.rows(&format!("Every run: {}", titled(metric)), &rows);
}

fn tables(document: &TrialDocument, page: &mut HtmlPage) {
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| digits::shown(value, None));
    let rows = document.rows.iter().map(|row| {
        let found = document
            .comparisons
            .iter()
            .find(|found| found.variant == row.variant && found.metric == row.metric);
        let ends = found.and_then(|found| found.ratio_interval.as_ref());
        vec![
            row.variant.clone(),
            row.metric.clone(),
            row.counted.to_string(),
            (row.misplaced + row.failed).to_string(),
            number(row.median),
            found.and_then(|found| found.ratio).map_or("–".to_owned(), digits::change),
            ends.map_or("–".to_owned(), digits::changes),
            found.map_or_else(|| "baseline".to_owned(), |found| word(&found.verdict)),
        ]
    });

    let header = [
        "variant",
        "metric",
        "runs ",
        "not counted ",
        "median ",
        "against baseline ",
        "95 % interval",
        "verdict",
    ];

    page.folded_table("Variants against the baseline", &header, rows);
    let lines = document
        .variants
        .iter()
        .map(|variant| vec![variant.name.clone(), variant.what.clone(), variant.line.clone()]);
    page.folded_table("What was run", &["variant", "place", "line"], lines);
    let runs = document.runs.iter().map(|run| {
        let counted = || if run.outcome == TrialOutcome::Counted { "counted" } else { "–" }.to_owned();
        vec![
            run.block.to_string(),
            run.variant.clone(),
            digits::shown(run.wall_s, None),
            run.reason.clone().unwrap_or_else(counted),
            seen(run),
        ]
    });
    let header = ["block", "variant", "wall s ", "outcome", "PUs seen"];
    page.folded_table("Every run, block 0 being the warm-up", &header, runs);
}

/// The PUs that a run's ranks were seen to have, over all looks.
fn seen(run: &TrialRun) -> String {
    let all = run.looks.iter().flat_map(|look| &look.ranks).filter_map(|rank| rank.pus.as_ref());
    all.fold(None, |so_far: Option<IdSet>, pus| {
        Some(so_far.map_or_else(|| pus.clone(), |so_far| so_far.or(pus)))
    })
    .map_or("not seen".to_owned(), |pus| pus.to_string())
}
