//! What is said of ranks in words, beside their numbers: how their locality is known, who chose their PUs, that their data
//! was verified, how much was counted.
//!
//! One rank has it in its block. Several ranks mostly have the same to say, so it stands once after their blocks, with the
//! ranks it is said of, and a block keeps its numbers, its proof of placement and whatever is wrong.

use std::collections::BTreeMap;

use stats::IdSet;
use stats::units;

use super::page::{Page, Tone};
use super::shown::{Shown, shown};
use super::words;
use crate::Document;
use crate::rank::{ChosenBy, Locality, Rank};
use crate::result::RankResult;

/// What there is to say of a rank under one key.
type Remarks = fn(&Rank) -> Vec<(Tone, &str)>;

/// The remarks on a rank's placement, by key.
const ON_PLACEMENT: [(&str, Remarks); 3] = [("locality", locality), ("PU chosen", chosen), ("note", notes)];

/// What stands above the numbers of the only rank.
pub(super) fn before_one(rank: &Rank, page: &mut Page) {
    for (key, of) in ON_PLACEMENT {
        of(rank).into_iter().for_each(|(tone, text)| page.key(tone, key, text));
    }
}

/// What stands below them.
pub(super) fn after_one(document: &Document, page: &mut Page) {
    for (key, (_, text)) in totals(document) {
        page.key(Tone::Plain, key, &text);
    }
}

/// What stands below the blocks of several ranks.
pub(super) fn on_several(document: &Document, quiet: bool, page: &mut Page) {
    let mut remarks: Vec<(Tone, &str, String)> = Vec::new();
    for (key, of) in ON_PLACEMENT {
        let mut said: Vec<((Tone, &str), IdSet)> = Vec::new();
        for rank in &document.ranks {
            for remark in of(rank) {
                match said.iter_mut().find(|(known, _)| *known == remark) {
                    Some((_, ranks)) => *ranks = ranks.iter().chain([rank.rank]).collect(),
                    None => said.push((remark, IdSet::from_iter([rank.rank]))),
                }
            }
        }
        let named =
            said.into_iter().map(|((tone, text), ranks)| (tone, key, format!("{}: {text}", words::ranks(&ranks))));
        remarks.extend(named);
    }
    if !quiet {
        let named = |(key, (ranks, text))| (Tone::Plain, key, format!("{}: {text}", words::ranks(&ranks)));
        remarks.extend(totals(document).map(named));
    }
    if remarks.is_empty() {
        return;
    }
    page.line(Tone::Title, "About the ranks");
    remarks.into_iter().for_each(|(tone, key, text)| page.key(tone, key, &text));
    page.blank();
}

/// Why a locality is what it is, where a reader would ask.
fn locality(rank: &Rank) -> Vec<(Tone, &str)> {
    match rank.locality {
        Locality::Remote | Locality::SamePackage => vec![(Tone::Warning, &rank.locality_reason)],
        Locality::Unknown => vec![(Tone::Faint, &rank.locality_reason)],
        Locality::L3Local | Locality::NumaLocal | Locality::Newer => Vec::new(),
    }
}

fn chosen(rank: &Rank) -> Vec<(Tone, &str)> {
    match &rank.chosen_by {
        ChosenBy::Automatic { rule } => vec![(Tone::Plain, rule)],
        ChosenBy::User | ChosenBy::Newer => Vec::new(),
    }
}

fn notes(rank: &Rank) -> Vec<(Tone, &str)> {
    rank.notes.iter().map(|note| (Tone::Warning, note.as_str())).collect()
}

/// What was verified and what was counted, over all ranks it holds of.
fn totals(document: &Document) -> impl Iterator<Item = (&'static str, (IdSet, String))> {
    let (verified, counted) = (verified(document), counted(document));
    verified.map(|text| ("data", text)).into_iter().chain(counted.map(|text| ("counted", text)))
}

/// The ranks whose data was compared and never differed, and how much that was.
fn verified(document: &Document) -> Option<(IdSet, String)> {
    let mut of_rank: BTreeMap<u32, Vec<&RankResult>> = BTreeMap::new();
    for result in document.cases.iter().flat_map(|case| &case.ranks).filter(|result| result.verification.checked) {
        of_rank.entry(result.rank).or_default().push(result);
    }
    of_rank.retain(|_, results| results.iter().all(|result| result.verification.mismatch.is_none()));
    let checks = || of_rank.values().flatten().map(|result| &result.verification);
    let blocks = words::count(checks().map(|check| check.blocks_checked).sum(), "block");
    let bytes = units::rounded_size(checks().map(|check| check.bytes_checked).sum());
    let text = format!("verified after {blocks}, {bytes} compared, no byte differed");
    (!of_rank.is_empty()).then(|| (of_rank.keys().copied().collect(), text))
}

/// The ranks that have numbers, how much was measured for them and why it ended.
fn counted(document: &Document) -> Option<(IdSet, String)> {
    let (mut blocks, mut rounds, mut outliers) = (0, 0, 0);
    let (mut ranks, mut stops) = (Vec::new(), BTreeMap::<&str, u64>::new());
    for rank in &document.ranks {
        for case in &document.cases {
            if let Shown::Numbers { summary, stop_reason, .. } = shown(case, rank.rank) {
                ranks.push(rank.rank);
                blocks += summary.blocks;
                rounds += summary.rounds;
                outliers += summary.outliers;
                *stops.entry(stop_reason.name()).or_default() += 1;
            }
        }
    }
    let ended: Vec<String> = stops.iter().map(|(name, n)| format!("{name} {n}")).collect();
    let (blocks, rounds) = (words::count(blocks, "block"), words::count(rounds, "round"));
    let far_out = format!("{outliers} far out (not dropped)");
    let text = format!("{blocks}, {rounds}, {far_out}; ended by: {}", ended.join(", "));
    (!ranks.is_empty()).then(|| (ranks.into_iter().collect(), text))
}
