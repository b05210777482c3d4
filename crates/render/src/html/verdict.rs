//! The answer of a run, before any picture: its sentences, in the colour of their standing, and warnings and missing ranks below.

use analysis::answer_status::{self, AnswerStatus};
use std::collections::BTreeMap;

use analysis::figure::status_word;
use report::Document;
use report::document::{Level, PlatformKind, Status};
use stats::units::counted;

use super::write::{HtmlPage, simulated};
use crate::names;

/// So many sentences stand open.
const SENTENCES: usize = 8;

pub(super) fn draw(document: &Document, page: &mut HtmlPage) {
    let (tone, state) = state(document);
    let own = || if document.matrices.is_empty() { analysis::answer::answer(document) } else { Vec::new() };
    let mut said = if document.verdict.is_empty() { own() } else { document.verdict.clone() };
    let slow = slower(document);
    match (slow.is_empty(), tone) {
        (false, _) => drop(said.splice(0..0, slow)),
        // The first sentence is what the reader takes away: that it did not end well, then.
        (true, AnswerStatus::Finding) => said.insert(0, state.clone()),
        _ if said.is_empty() => said.push(state.clone()),
        _ => {}
    }
    let more = said.split_off(said.len().min(SENTENCES));
    page.answer(tone, &said);
    if !more.is_empty() {
        page.folded(&format!("{} more sentences", more.len()), |page| page.list(&more));
    }
    let mut also: Vec<String> = Vec::new();
    if document.platform.kind == PlatformKind::Host && document.cases.iter().all(|case| case.range_bytes.is_none()) {
        also.push("No GPU in this measurement: host memory was measured instead.".to_owned());
    }
    also.extend(document.platform.simulated.as_deref().map(simulated));
    let grave = document.messages.iter().filter(|message| message.level != Level::Info);
    also.extend(grave.map(|message| message.text.clone()));
    also.extend(document.missing.iter().map(|lost| format!("Rank {} is missing: {}.", lost.rank, lost.why)));
    if !said.contains(&state) && !more.contains(&state) {
        also.push(state);
    }
    page.list(&also);
}

/// GPUs that are slower than those like them, each in a sentence.
fn slower(document: &Document) -> Vec<String> {
    let one = |slower: &report::slower_twin::SlowerTwin| {
        format!(
            "{} is slow: {:.1} GB/s against {:.1} GB/s of its twins ({}); {}.",
            names::slower(document, slower),
            slower.bytes_per_s / 1e9,
            slower.twins_bytes_per_s / 1e9,
            names::slower_case(document, slower),
            slower.cause
        )
    };
    document.slower_twins.iter().map(one).collect()
}

/// How the run ended, in one sentence.
fn state(document: &Document) -> (AnswerStatus, String) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &document.rows {
        *counts.entry(status_word(row.status)).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    let (cases, ranks) = (counted(document.cases.len(), "case"), counted(document.ranks.len(), "rank"));
    let figures = format!("{cases} on {ranks}: {}", counts.join(", "));
    let reason = document.status_reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
    let few = analysis::few_blocks::clause(document);
    let well = answer_status::of_result(document);
    let words = match document.status {
        Status::Complete => format!("Complete. {figures}.{}", few.map_or(String::new(), |few| format!(" {few}."))),
        Status::Running => format!("Still running, or killed. {figures}."),
        Status::Partial => format!("Partial{reason}. {figures}."),
        Status::Failed => format!("Failed: no result{reason}. {figures}."),
        Status::Interrupted => format!("Interrupted{reason}. {figures}."),
        Status::TimedOut => format!("Timed out{reason}. {figures}."),
        Status::DataCorrupt => format!("Data corrupt{reason}. {figures}."),
        Status::Newer => format!("A status that only a newer numabench knows. {figures}."),
    };
    (well, words)
}
