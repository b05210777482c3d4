//! A report of trials: the answer first, then the table, then every run with what was seen of it.

use analysis::incomplete::Incomplete;
use report::TrialDocument;
use report::trial::{TrialOutcome, TrialRun};
use stats::IdSet;

use super::write::Page;
use super::{begin, end};
use crate::xml::escaped;

/// The report of these trials, in the order given; `names` are their files.
pub fn trials(trials: &[(String, TrialDocument)]) -> String {
    let title = match trials {
        [(_, only)] => format!(
            "numabench trial on {}, {}",
            only.hostname.as_deref().unwrap_or("a machine without a name"),
            only.started_at
        ),
        several => format!("numabench: {} trials", several.len()),
    };
    let mut page = begin(&title);
    for (name, document) in trials {
        page.level = if trials.len() > 1 { 3 } else { 2 };
        if trials.len() > 1 {
            page.element("h2", name);
        }
        one(document, &mut page);
    }
    end(page)
}

fn one(document: &TrialDocument, page: &mut Page) {
    for (at, line) in document.verdict.iter().enumerate() {
        let class = if at == 0 { " class=\"verdict\"" } else { "" };
        page.raw(&format!("<p{class}>{}</p>\n", escaped(line)));
    }
    if let Some(incomplete) = Incomplete::of_trial(document) {
        page.raw(&format!("<p class=\"verdict finding\">Not complete: {}.</p>\n", escaped(&incomplete.to_string())));
    }
    let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.5}"));
    let rows = document.rows.iter().map(|row| {
        let found =
            document.comparisons.iter().find(|found| found.variant == row.variant && found.metric == row.metric);
        let ends = found.and_then(|found| found.ratio_interval);
        vec![
            row.variant.clone(),
            row.metric.clone(),
            row.counted.to_string(),
            (row.misplaced + row.failed).to_string(),
            number(row.median),
            found.and_then(|found| found.ratio).map_or("–".to_owned(), percent),
            ends.map_or("–".to_owned(), |ends| format!("{} .. {}", percent(ends.low), percent(ends.high))),
            found.map_or("baseline", |found| found.verdict.name()).to_owned(),
        ]
    });
    let header =
        ["variant", "metric", "runs ", "not counted ", "median ", "against baseline ", "95 % interval", "verdict"];
    page.table("Variants against the baseline", &header, rows);
    let lines =
        document.variants.iter().map(|variant| vec![variant.name.clone(), variant.what.clone(), variant.line.clone()]);
    page.table("What was run", &["variant", "place", "line"], lines);
    let runs = document.runs.iter().map(|run| {
        vec![
            run.block.to_string(),
            run.variant.clone(),
            format!("{:.4}", run.wall_s),
            run.reason.clone().unwrap_or_else(|| {
                if run.outcome == TrialOutcome::Counted { "counted".to_owned() } else { "–".to_owned() }
            }),
            seen(run),
        ]
    });
    page.table("Every run, block 0 being the warm-up", &["block", "variant", "wall s ", "outcome", "PUs seen"], runs);
    if !document.notes.is_empty() {
        let items: String = document.notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note))).collect();
        page.raw(&format!("<ul>\n{items}</ul>\n"));
    }
}

/// The PUs that a run's ranks were seen to have, over all looks.
fn seen(run: &TrialRun) -> String {
    let all = run.looks.iter().flat_map(|look| &look.ranks).filter_map(|rank| rank.pus.as_ref());
    all.fold(None, |so_far: Option<IdSet>, pus| Some(so_far.map_or_else(|| pus.clone(), |so_far| so_far.or(pus))))
        .map_or("not seen".to_owned(), |pus| pus.to_string())
}
