//! Trial documents as runs to compare.
//!
//! A figure's case is its metric and its place the variant: hosts, dates and ranks do not belong to a series.
//! Two trials are comparable where they ran the same program; everything else that differs is named.

use report::TrialDocument;
use report::settings::CopyEngine;
use report::trial::{TrialOutcome, TrialRow};

use crate::conditions::Condition;
use crate::figure::{Figure, Key, Unit};
use crate::run::{NoRun, Run, ended};

/// A trial as comparisons see it.
///
/// # Errors
/// [`NoRun`]: it is under way, or nothing in it counts.
pub fn run(name: &str, document: &TrialDocument) -> Result<Run, NoRun> {
    ended(document.status)?;
    if document.rows.is_empty() {
        return Err(NoRun::Empty);
    }

    let host = document.hostname.clone().unwrap_or_default();
    let mut conditions = vec![
        Condition::new("program", document.settings.program.join(" "), true),
        Condition::new("host", &host, false),
    ];
    let lines =
        document.variants.iter().map(|one| Condition::new(format!("line of {}", one.name), &one.line, false));
    conditions.extend(lines);
    let figures = document.rows.iter().map(|row| (key(row), figure(document, row))).collect();
    Ok(Run {
        name: name.to_owned(),
        host,
        started_at: document.started_at.clone(),
        asked: None,
        conditions,
        engine: CopyEngine::default(),
        figures,
    })
}

fn key(row: &TrialRow) -> Key {
    Key::in_words(&row.metric, format!("variant {}", row.variant))
}

fn figure(document: &TrialDocument, row: &TrialRow) -> Result<Figure, String> {
    let unit = match (row.unit.as_deref(), row.more_is_better) {
        (Some("s"), false) => Unit::S,
        (_, true) => Unit::More,
        (_, false) => Unit::Less,
    };
    let counts = document
        .runs
        .iter()
        .filter(|run| run.block > 0 && run.variant == row.variant && run.outcome == TrialOutcome::Counted);
    let blocks = counts.filter_map(|run| run.metrics.get(&row.metric).copied()).collect();
    let median = row.median.ok_or_else(|| format!("no run of {} counts", row.variant))?;
    Ok(Figure::measured(unit, median, blocks))
}
