//! What a terminal shows of a trial document: the answer, a table of the variants, and what is to be known
//! beside.

use report::trial::{TrialComparison, TrialDocument, TrialMetric, TrialRow, TrialVerdict};
use stats::units::counted;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use super::screen;
use super::table::Style;
use crate::digits::{percent, signed_change};

/// The document as text for a terminal. Quiet is the answer alone.
pub fn trial(document: &TrialDocument, style: &Style) -> String {
    let mut page = Page::new(style.width);
    for (at, line) in document.verdict.iter().enumerate() {
        match line.starts_with("Use: ") {
            true => page.paste(line),
            false => {
                let tone = if at == 0 { Tone::Title } else { Tone::Plain };
                // In a log each of them is one line.
                if style.screen.is_some() {
                    page.paragraph(tone, "", line)
                } else {
                    page.line(tone, line.clone())
                }
            }
        }
    }

    if style.quiet {
        return page.finish(style.color);
    }
    for metric in &document.settings.metrics {
        page.blank();
        table(document, metric, &mut page);
    }

    page.blank();
    for note in &document.notes {
        let tone = if note.starts_with("MISPLACED") { Tone::Warning } else { Tone::Plain };
        page.paragraph(tone, "note: ", note);
    }

    if let Some(drift) = document.drift.filter(|drift| drift.is_found) {
        let text = format!(
            "the machine changed over the trial: figures of the last block were {:.3} of the first's (p = \
             {:.4}); comparisons within a block are hardly affected, medians are",
            drift.ratio, drift.p_value
        );
        page.paragraph(Tone::Plain, "note: ", &text);
    }

    let host = document.hostname.as_deref().unwrap_or("a machine without a name");
    let (runs, tool) = (document.runs.iter().filter(|run| run.block > 0).count(), &document.tool);
    let runs = counted(runs, "run");
    page.paragraph(
        Tone::Faint,
        "",
        &format!(
            "{} {}, {runs} on {host} in {:.1} s, seed {}, begun {}",
            tool.name, tool.version, document.elapsed_s, document.settings.seed, document.started_at
        ),
    );

    let mut end = Page::new(style.width);
    if let Some(path) = &style.saved_to {
        end.line(Tone::Plain, format!("Trial document: {path}"));
    }
    screen::finish(page, end, style)
}

fn table(document: &TrialDocument, metric: &TrialMetric, page: &mut Page) {
    let unit = metric.unit.as_ref().map_or(String::new(), |unit| format!(" {unit}"));
    let median = format!("{}{unit}", metric.name);
    let scales = document.rows.iter().any(|row| row.efficiency.is_some());
    let mut header = vec!["variant", "runs", "not counted", median.as_str(), "± 95 %", "against baseline"];
    header.extend(["95 % interval", "verdict"]);
    if scales {
        header.extend(["ranks", "efficiency"]);
    }
    let mut grid = TextGrid::new(1, &header);

    for row in document.rows.iter().filter(|row| row.metric == metric.name) {
        let found = document
            .comparisons
            .iter()
            .find(|found| found.variant == row.variant && found.metric == row.metric);
        let mut cells = cells(row, found);
        if scales {
            cells.push(row.ranks.map_or_else(|| "-".to_owned(), |ranks| ranks.to_string()));
            cells.push(row.efficiency.map_or_else(|| "-".to_owned(), percent));
        }
        grid.row(cells, Vec::new());
    }
    grid.draw_fitting(&["± 95 %", "95 % interval", "not counted"], page);
}

fn cells(row: &TrialRow, found: Option<&TrialComparison>) -> Vec<String> {
    let dash = || "-".to_owned();
    let half = row.median_low.zip(row.median_high).zip(row.median);
    let bad = match (row.misplaced, row.failed) {
        (0, 0) => dash(),
        (misplaced, 0) => format!("{misplaced} misplaced"),
        (0, failed) => format!("{failed} failed"),
        (misplaced, failed) => format!("{misplaced} misplaced, {failed} failed"),
    };

    vec![
        row.variant.clone(),
        row.counted.to_string(),
        bad,
        row.median.map_or_else(dash, figure),
        half.map_or_else(dash, |((low, high), median)| {
            format!("{:.1} %", (high - low) / 2.0 / median * 100.0)
        }),
        found.and_then(|found| found.ratio).map_or_else(dash, signed_change),
        found
            .and_then(|found| found.ratio_interval)
            .map_or_else(dash, |ends| format!("{} .. {}", signed_change(ends.low), signed_change(ends.high))),
        found.map_or_else(|| "baseline".to_owned(), |found| word(found.verdict, &row.metric).to_owned()),
    ]
}

/// The verdict by a metric in a word.
pub(crate) fn word(verdict: TrialVerdict, metric: &str) -> &'static str {
    match (verdict, metric == "wall") {
        (TrialVerdict::Better, true) => "faster",
        (TrialVerdict::Better, false) => "better",
        (TrialVerdict::Worse, true) => "slower",
        (TrialVerdict::Worse, false) => "worse",
        (TrialVerdict::Same, _) => "no difference",
        (TrialVerdict::Undecided, _) => "undecided",
        (TrialVerdict::Newer, _) => "known to a newer numabench",
    }
}

/// A figure with four digits or more.
fn figure(value: f64) -> String {
    match value {
        value if value >= 1000.0 => format!("{value:.1}"),
        value if value >= 10.0 => format!("{value:.2}"),
        value if value >= 0.1 => format!("{value:.4}"),
        value => format!("{value:.4e}"),
    }
}
