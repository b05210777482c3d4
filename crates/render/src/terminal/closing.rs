//! The last lines: what the flags mean, what the run had to say, which ranks are missing, how it ended and
//! how long it took.

use std::collections::BTreeSet;

use report::Document;
use report::document::{Level, Status};
use report::result::Outcome;
use stats::flag::Flag;

use super::missing;
use super::page::{Page, Tone};
use super::title;

pub(super) fn draw(document: &Document, saved_to: Option<&str>, quiet: bool, page: &mut Page) {
    if !quiet {
        flags(document, page);
    }
    for message in &document.messages {
        match message.level {
            Level::Error => page.paragraph(Tone::Bad, "error: ", &message.text),
            Level::Warning => page.paragraph(Tone::Warning, "warning: ", &message.text),
            Level::Info | Level::Newer if quiet => {}
            Level::Info | Level::Newer => page.paragraph(Tone::Plain, "note: ", &message.text),
        }
    }

    // The title has it in short.
    let reason =
        document.platform.reason.as_ref().filter(|reason| !quiet && title::in_short(reason) != *reason);
    if let Some(reason) = reason {
        page.paragraph(Tone::Plain, "no GPU: ", &format!("{reason}."));
    }
    page.blank();
    missing::reasons(document, page);
    status(document, quiet, page);
    page.line(
        Tone::Plain,
        format!("Total program time: {}", stats::units::duration_carried(document.elapsed_s * 1e9, None)),
    );

    if let Some(path) = saved_to {
        page.line(Tone::Plain, format!("Result document:    {path}"));
    }
}

fn flags(document: &Document, page: &mut Page) {
    let results = document.cases.iter().flat_map(|case| &case.ranks);
    let seen: BTreeSet<Flag> = results
        .filter_map(|result| match &result.outcome {
            Outcome::Measured { flags, .. } => Some(flags),
            _ => None,
        })
        .flatten()
        .copied()
        .collect();

    if seen.is_empty() {
        return;
    }
    page.line(Tone::Title, "Flags");
    for flag in seen {
        page.paragraph(Tone::Plain, &format!("  {:<18}", flag.name()), flag.meaning());
    }
    page.blank();
}

fn status(document: &Document, quiet: bool, page: &mut Page) {
    if quiet && document.status == Status::Complete {
        return;
    }
    let (tone, word) = super::status::status(document.status);
    let reason = document.status_reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    let exit = document.exit_code.map_or(String::new(), |code| format!(" (exit code {code})"));
    let few = analysis::few_blocks::clause(document).map_or(String::new(), |few| format!("; {few}"));
    page.paragraph(tone, "Status: ", &format!("{word}{reason}{exit}{few}"));
}
