//! What is said of ranks in words, beside their numbers: how their locality is known, who chose their PUs,
//! how their placement was seen, what is wrong with their data or that it was verified, how much was counted.
//!
//! One rank has it in its block. Several ranks mostly have the same to say, so it stands once after their
//! numbers, with the ranks it is said of.

use std::collections::BTreeMap;

use analysis::matrix_analysis::row_sweep;
use report::Document;
use report::device::DeviceKind;
use report::rank::{ChosenBy, Locality, Rank};
use report::result::RankResult;
use stats::IdSet;
use stats::alike::grouped;
use stats::units;

use super::page::{Page, Tone};
use super::visible_cells::{Shown, of_result};
use super::{placement, places, words};

/// Something to say of a rank.
#[derive(PartialEq)]
struct Remark {
    key: &'static str,
    tone: Tone,
    text: String,
}

/// Where every rank has something else to say under one key, the first ones tell what it is about.
const MOST_OF_A_KEY: usize = 12;

/// What stands above the numbers of the only rank.
pub(super) fn before_one(rank: &Rank, page: &mut Page) {
    on_choice(rank).into_iter().for_each(|remark| page.key(remark.tone, remark.key, &remark.text));
}

/// What stands below them.
pub(super) fn after_one(document: &Document, rank: &Rank, quiet: bool, page: &mut Page) {
    let results: Vec<&RankResult> = document.cases.iter().flat_map(|case| &case.ranks).collect();
    for remark in
        on_results(document, rank, &results, true).into_iter().filter(|remark| !quiet || remark.is_loud())
    {
        page.key(remark.tone, remark.key, &remark.text);
    }
    for (key, (_, text)) in totals(document).filter(|_| !quiet) {
        page.key(Tone::Plain, key, &text);
    }
}

/// What stands below the numbers of several ranks.
pub(super) fn on_several(document: &Document, quiet: bool, page: &mut Page) {
    let of_rank = places::by_rank(document);
    // Rows are near and far on purpose, and one at a time.
    let has_rows = row_sweep::matrix(document).is_some();
    let remarks = document.ranks.iter().flat_map(|rank| {
        let results = of_rank.get(&rank.rank).map(Vec::as_slice).unwrap_or_default();
        let choice = if has_rows { Vec::new() } else { on_choice(rank) };
        let all = choice.into_iter().chain(on_results(document, rank, results, false));
        all.filter(|remark| !quiet || remark.is_loud()).map(|remark| (remark, rank.rank))
    });
    let mut said: Vec<(Remark, IdSet)> = grouped(remarks);
    let of_all = totals(document).filter(|_| !quiet);
    said.extend(of_all.map(|(key, (ranks, text))| (Remark { key, tone: Tone::Plain, text }, ranks)));
    if said.is_empty() {
        return;
    }
    page.line(Tone::Title, "About the ranks");

    for key in KEYS {
        let of_key: Vec<&(Remark, IdSet)> = said.iter().filter(|(remark, _)| remark.key == key).collect();
        for (remark, ranks) in of_key.iter().take(MOST_OF_A_KEY) {
            // What each of them has, not all together.
            let each = if remark.key == "placement" && ranks.len() > 1 { " each" } else { "" };
            page.key(remark.tone, key, &format!("{}{each}: {}", words::ranks(ranks), remark.text));
        }
        let rest: IdSet = of_key.iter().skip(MOST_OF_A_KEY).flat_map(|(_, ranks)| ranks.iter()).collect();
        if !rest.is_empty() {
            page.key(
                Tone::Warning,
                key,
                &format!("{}: similar; the document has the details", words::ranks(&rest)),
            );
        }
    }
    page.blank();
}

/// The keys, in the order they are said.
const KEYS: [&str; 6] = ["locality", "PU chosen", "note", "placement", "data", "counted"];

impl Remark {
    /// Whether it says more than that all is well.
    fn is_loud(&self) -> bool {
        !matches!(self.tone, Tone::Plain | Tone::Faint)
    }
}

/// What is said of how a rank was placed, before it ran.
fn on_choice(rank: &Rank) -> Vec<Remark> {
    let locality = locality(rank).map(|(tone, text)| Remark { key: "locality", tone, text });
    let chosen = match &rank.chosen_by {
        ChosenBy::Automatic { rule } => {
            Some(Remark { key: "PU chosen", tone: Tone::Plain, text: rule.clone() })
        }
        ChosenBy::User | ChosenBy::Newer => None,
    };
    let note = |text: &String| Remark { key: "note", tone: Tone::Warning, text: text.clone() };
    locality.into_iter().chain(chosen).chain(rank.notes.iter().map(note)).collect()
}

/// What is said of what a rank brought back.
fn on_results(document: &Document, rank: &Rank, results: &[&RankResult], in_full: bool) -> Vec<Remark> {
    let device = document.devices.iter().find(|device| device.id == rank.asked.device);
    let on_gpu = device.is_some_and(|device| device.kind == DeviceKind::Gpu);
    let placement = placement::remarks(rank, results, on_gpu, in_full).into_iter();
    let placement = placement.map(|(tone, text)| Remark { key: "placement", tone, text });
    placement
        .chain(unverified(results).into_iter().map(|(tone, text)| Remark { key: "data", tone, text }))
        .collect()
}

/// Why a locality is what it is, where a reader would ask.
fn locality(rank: &Rank) -> Option<(Tone, String)> {
    match rank.locality {
        Locality::Remote | Locality::SamePackage => Some((Tone::Warning, rank.locality_reason.clone())),
        Locality::Unknown => Some((Tone::Faint, format!("unknown: {}", rank.locality_reason))),
        Locality::L3Local | Locality::NumaLocal | Locality::Newer => None,
    }
}

/// What is wrong with the data of these results.
fn unverified(results: &[&RankResult]) -> Vec<(Tone, String)> {
    let (checked, not): (Vec<_>, Vec<_>) =
        results.iter().map(|result| &result.verification).partition(|check| check.checked);
    let mut said = Vec::new();
    let differ = checked.iter().filter(|check| check.mismatch.is_some()).count();

    if differ > 0 {
        said.push((
            Tone::Bad,
            format!("DATA DIFFERED in {differ} of {}", words::count(checked.len() as u64, "result")),
        ));
    }

    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for check in not {
        *reasons.entry(check.reason.as_deref().unwrap_or("no reason was recorded")).or_default() += 1;
    }
    let not_verified =
        |(reason, n)| (Tone::Warning, format!("NOT VERIFIED in {n} of {}: {reason}", results.len()));
    said.extend(reasons.into_iter().map(not_verified));
    said
}

/// What was verified and what was counted, over all ranks it holds of.
fn totals(document: &Document) -> impl Iterator<Item = (&'static str, (IdSet, String))> {
    let (verified, counted) = (verified(document), counted(document));
    verified.map(|text| ("data", text)).into_iter().chain(counted.map(|text| ("counted", text)))
}

/// The ranks whose data was compared and never differed, and how much that was.
fn verified(document: &Document) -> Option<(IdSet, String)> {
    let mut of_rank: BTreeMap<u32, Vec<&RankResult>> = BTreeMap::new();
    for result in
        document.cases.iter().flat_map(|case| &case.ranks).filter(|result| result.verification.checked)
    {
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
    for case in &document.cases {
        for result in &case.ranks {
            if let Shown::Numbers { summary, stop_reason, .. } = of_result(case, result) {
                ranks.push(result.rank);
                blocks += summary.blocks;
                rounds += summary.rounds;
                outliers += summary.outliers;
                *stops.entry(words::stopped(stop_reason)).or_default() += 1;
            }
        }
    }

    let ended = stops.iter().map(|(how, n)| format!("{} {how}", words::count(*n, "result")));
    let (blocks, rounds) = (words::count(blocks, "block"), words::count(rounds, "round"));
    let outliers = if outliers == 0 {
        "no outliers".to_owned()
    } else {
        format!("{} (not dropped)", words::count(outliers, "outlier"))
    };
    let text = format!("{blocks}, {rounds}, {outliers}; {}", ended.collect::<Vec<_>>().join(", "));
    (!ranks.is_empty()).then(|| (ranks.into_iter().collect(), text))
}
