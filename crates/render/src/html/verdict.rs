//! The answer of a run, before any picture: its sentences, in the colour of their standing, and warnings and
//! missing ranks below.

use analysis::answer_status::{self, AnswerStatus};
use std::collections::BTreeMap;

use analysis::figure::status_word;
use analysis::{conclusion, unfinished};
use report::Document;
use report::document::{Level, PlatformKind, Status};
use stats::units::counted;

use super::write::{HtmlPage, simulated};
use crate::slower_twins;

/// Draws the answer's first sentence, and what a reader must know to read the picture behind it; the other
/// sentences are held until behind that picture.
pub(super) fn draw(document: &Document, page: &mut HtmlPage) {
    let (tone, state) = state(document);
    let said = sentences(document, tone, &state);
    page.standing(match tone {
        AnswerStatus::Well => "Nothing wrong found",
        AnswerStatus::Finding if document.status != Status::Complete => "Not complete",
        AnswerStatus::Finding => "Something is wrong",
        AnswerStatus::Undecided => "No verdict",
    });
    page.answer_then_picture(tone, &said);
    page.list(&before_the_picture(document, said.first()));
    page.hold(|page| page.list(&warnings(document, &said, state)));
}

/// What the run had to say, and how it ended where no sentence says so.
fn warnings(document: &Document, said: &[String], state: String) -> Vec<String> {
    let mut also: Vec<String> = Vec::new();
    let grave = document.messages.iter().filter(|message| message.level != Level::Info);
    also.extend(grave.map(|message| message.text.clone()));
    if !said.contains(&state) {
        also.push(state);
    }
    also
}

/// The answer's sentences, what the reader takes away first: a slow GPU, or that the run did not end well.
fn sentences(document: &Document, tone: AnswerStatus, state: &str) -> Vec<String> {
    let mut said = conclusion::said(document);
    let slow = slower_twins::sentences(document);
    let partial = unfinished::partial(document);
    let says_how_it_ended = partial.as_ref().is_some_and(|partial| said.contains(partial));

    match (slow.is_empty(), tone) {
        // That some cases are lost stands below the answer, before the picture.
        (false, _) => {
            said.retain(|sentence| Some(sentence) != partial.as_ref());
            said.splice(0..0, slow);
        }
        (true, AnswerStatus::Finding) if !says_how_it_ended && document.status != Status::Complete => {
            said.insert(0, state.to_owned());
        }
        _ if said.is_empty() => said.push(state.to_owned()),
        _ => {}
    }
    said
}

/// What the figures are not: those of real devices, of a GPU, of all cases, of all ranks.
fn before_the_picture(document: &Document, said: Option<&String>) -> Vec<String> {
    let mut notes: Vec<String> = document.platform.simulated.as_deref().map(simulated).into_iter().collect();
    if document.platform.kind == PlatformKind::Host
        && document.cases.iter().all(|case| case.range_bytes.is_none())
    {
        notes.push("No GPU in this measurement: host memory was measured instead.".to_owned());
    }
    notes.extend(unfinished::partial(document).filter(|partial| said != Some(partial)));
    notes.extend(document.missing.iter().map(|lost| format!("Rank {} is missing: {}.", lost.rank, lost.why)));
    notes
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
        Status::Complete => {
            format!("Complete. {figures}.{}", few.map_or(String::new(), |few| format!(" {few}.")))
        }
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
