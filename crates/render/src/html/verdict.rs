//! What a run comes to, in words, before any figure.

use std::collections::BTreeMap;

use analysis::figure::said;
use report::Document;
use report::document::{Level, PlatformKind, Status};
use stats::units::counted;

use super::write::Page;
use crate::xml::escaped;

pub(super) fn draw(document: &Document, page: &mut Page) {
    let (is_well, words) = words(document);
    let class = if is_well { "verdict" } else { "verdict finding" };
    page.raw(&format!("<p class=\"{class}\">{}</p>\n", escaped(&words)));
    for sentence in &document.verdict {
        page.raw(&format!("<p>{}</p>\n", escaped(sentence)));
    }
    let mut also: Vec<String> = Vec::new();
    if document.platform.kind == PlatformKind::Host {
        also.push("No GPU took part: the memory of a NUMA node stands in for the device.".to_owned());
    }
    if let Some(simulated) = &document.platform.simulated {
        also.push(format!("The devices are simulated: {simulated}. The figures say nothing about real hardware."));
    }
    for slower in &document.slower_twins {
        also.push(format!(
            "{} (rank {}) copies at {:.1} GB/s where its twins reach {:.1} ({}); {}.",
            slower.device,
            slower.rank,
            slower.bytes_per_s / 1e9,
            slower.twins_bytes_per_s / 1e9,
            slower.case,
            slower.cause
        ));
    }
    let grave = document.messages.iter().filter(|message| message.level != Level::Info);
    also.extend(grave.map(|message| message.text.clone()));
    also.extend(document.missing.iter().map(|lost| format!("Rank {} is missing: {}.", lost.rank, lost.why)));
    if !also.is_empty() {
        let items: String = also.iter().map(|text| format!("<li>{}</li>\n", escaped(text))).collect();
        page.raw(&format!("<ul>\n{items}</ul>\n"));
    }
    page.raw(&format!("<p><code>{}</code></p>\n", escaped(&document.argv.join(" "))));
}

/// Whether all is well, and one sentence.
fn words(document: &Document) -> (bool, String) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &document.rows {
        *counts.entry(said(row.status)).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    let (cases, ranks) = (counted(document.cases.len(), "case"), counted(document.ranks.len(), "rank"));
    let figures = format!("{cases} on {ranks}: {}", counts.join(", "));
    let reason = document.status_reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
    let slower = document.slower_twins.len();
    match document.status {
        Status::Complete if slower > 0 => (
            false,
            format!(
                "Complete, with a finding: {slower} of {} GPUs slower than their twins. {figures}.",
                document.devices.len()
            ),
        ),
        Status::Complete => {
            let few = analysis::few_blocks::said(document).map_or(String::new(), |few| format!(" {few}."));
            (true, format!("Complete. {figures}.{few}"))
        }
        Status::Running => (false, format!("Still running, or killed. {figures}.")),
        Status::Partial => (false, format!("Partial{reason}. {figures}.")),
        Status::Failed => (false, format!("Failed: no result{reason}. {figures}.")),
        Status::Interrupted => (false, format!("Interrupted{reason}. {figures}.")),
        Status::TimedOut => (false, format!("Timed out{reason}. {figures}.")),
        Status::DataCorrupt => (false, format!("Data corrupt{reason}. {figures}.")),
        Status::Newer => (false, format!("A status that only a newer numabench knows. {figures}.")),
    }
}
