//! Ranks that were lost or never came: how many, at the top, and at the end, where a terminal stands still,
//! which and why.

use std::collections::BTreeSet;

use report::Document;
use report::launch::MissingRank;
use stats::IdSet;
use stats::alike::grouped;

use super::page::{Page, Tone};
use super::{hosts, words};

/// Of more reasons than this the first tell what it is about.
const MOST_REASONS: usize = 12;

/// How many are missing, of how many, and on which hosts.
pub(super) fn count(document: &Document, page: &mut Page) {
    if document.missing.is_empty() {
        return;
    }
    let all: BTreeSet<u32> =
        document.ranks.iter().map(|rank| rank.rank).chain(lost(document).iter()).collect();
    let all = document.launch.as_ref().map_or(all.len(), |launch| launch.tasks as usize);
    let text =
        format!("{} of {all} ranks, {}; see the end", document.missing.len(), on(document.missing.iter()));
    page.paragraph(Tone::Bad, "RANKS ARE MISSING: ", &text);
}

/// Which are missing and why; those with the same host and reason together.
pub(super) fn reasons(document: &Document, page: &mut Page) {
    let reasons: Vec<(&str, Vec<&MissingRank>)> =
        grouped(document.missing.iter().map(|one| (&one.why[..], one)));
    for (why, missing) in reasons.iter().take(MOST_REASONS) {
        let (ranks, where_) = (missing.iter().map(|one| one.rank).collect(), on(missing.iter().copied()));
        page.paragraph(Tone::Bad, "missing: ", &format!("{}, {where_}: {why}", words::ranks(&ranks)));
    }
    if reasons.len() > MOST_REASONS {
        page.line(
            Tone::Bad,
            format!("missing: {} more reasons are in the document", reasons.len() - MOST_REASONS),
        );
    }
    if !reasons.is_empty() {
        page.blank();
    }
}

fn lost(document: &Document) -> IdSet {
    document.missing.iter().map(|missing| missing.rank).collect()
}

/// `on nid[001004-001005]`, and whether some never said where they were.
fn on<'a>(missing: impl Iterator<Item = &'a MissingRank>) -> String {
    let (mut known, mut unknown) = (BTreeSet::new(), false);
    for one in missing {
        match &one.host {
            Some(host) => {
                known.insert(hosts::short(host));
            }
            None => unknown = true,
        }
    }
    let hosts = hosts::folded(known.iter().copied());
    match (known.is_empty(), unknown) {
        (true, _) => "on an unknown host".into(),
        (false, true) => format!("on {hosts} and an unknown host"),
        (false, false) => format!("on {hosts}"),
    }
}
