//! A rank's placement, asked and seen: one line when they agree, loud lines when they do not.

use std::collections::BTreeSet;

use stats::IdSet;

use super::page::Tone;
use super::words;
use crate::Known;
use crate::device::name_on_node;
use crate::rank::Rank;
use crate::result::{NodePages, PlacementSeen, RankResult};

/// What is said of a rank's placement: that it was as asked, or how it was not, and what could not be seen. `on_gpu`: a GPU's own
/// memory has no pages to be seen. With `in_full` what was asked and seen is named, else there is a table that has it.
pub(super) fn said(rank: &Rank, results: &[&RankResult], on_gpu: bool, in_full: bool) -> Vec<(Tone, String)> {
    let seen = all_seen(results);
    let node = rank.asked.memory_node.map_or("no node".into(), |node| format!("node {node}"));
    let asked = format!("asked PU {}, {node}", rank.asked.pu);
    let wrong: Vec<Vec<String>> = seen.iter().map(|seen| deviations(rank, seen)).collect();
    let times = wrong.iter().filter(|found| !found.is_empty()).count();
    let unknown = unknowns(&seen, on_gpu);
    let mut said = Vec::new();
    if times > 0 {
        let what: BTreeSet<&str> = wrong.iter().flatten().map(String::as_str).collect();
        let (what, of) = (what.into_iter().collect::<Vec<_>>().join("; "), seen.len());
        let device = device_node(rank).map_or(String::new(), |node| format!(", device pages on node {node}"));
        said.push((Tone::Bad, format!("NOT AS ASKED, {times} of {of} times: {asked}{device}; seen {what}")));
    } else if seen.is_empty() {
        let nothing = "nothing seen: no result got that far";
        said.push((Tone::Warning, if in_full { format!("{asked}; {nothing}") } else { nothing.to_owned() }));
    } else {
        let mut parts = vec![format!("seen {}", pus(&seen))];
        parts.extend(pages(&seen, |seen| &seen.host_pages).map(|pages| format!("pages on {pages}")));
        parts.extend(pages(&seen, |seen| &seen.device_pages).map(|pages| format!("device pages on {pages}")));
        let before_only = results.iter().filter(|one| one.seen_before.is_some() && one.seen_after.is_none()).count();
        let count = words::count(results.len() as u64, "result");
        let when = match before_only {
            0 => format!("before and after {count}"),
            n => format!("in {count}, {n} of them before only"),
        };
        let as_asked = if unknown.is_empty() { "as asked, seen" } else { "what was seen is as asked," };
        let shown =
            if in_full { format!("{asked}; {}; {when}", parts.join(", ")) } else { format!("{as_asked} {when}") };
        said.push((Tone::Plain, shown));
    }
    said.extend(unknown.into_iter().map(|text| (Tone::Warning, text)));
    said
}

/// Whether something was seen that was not asked.
pub(crate) fn is_otherwise(rank: &Rank, results: &[&RankResult]) -> bool {
    all_seen(results).iter().any(|seen| !deviations(rank, seen).is_empty())
}

/// The PUs and the nodes of host pages that were seen, each as a list; a dash for what never was.
pub(super) fn seen(results: &[&RankResult]) -> (String, String) {
    let seen = all_seen(results);
    let pus: IdSet = seen.iter().filter_map(|seen| seen.pu.value).collect();
    let pages = seen.iter().filter_map(|seen| seen.host_pages.value.as_ref()).flatten();
    let nodes: IdSet = pages.filter(|on| on.pages > 0).map(|on| on.node).collect();
    let shown = |set: IdSet| if set.is_empty() { "–".to_owned() } else { set.to_string() };
    (shown(pus), shown(nodes))
}

fn all_seen<'a>(results: &[&'a RankResult]) -> Vec<&'a PlacementSeen> {
    results.iter().flat_map(|result| result.seen_before.iter().chain(&result.seen_after)).collect()
}

/// What was seen at one moment that was not asked.
fn deviations(rank: &Rank, seen: &PlacementSeen) -> Vec<String> {
    let asked = &rank.asked;
    let pu = seen.pu.value.filter(|&pu| pu != asked.pu).map(|pu| format!("PU {pu}"));
    let affinity = seen.affinity.value.as_ref().filter(|set| !set.iter().eq([asked.pu]));
    let affinity = affinity.map(|affinity| format!("a thread allowed on PU {affinity}"));
    let host = elsewhere("pages", &seen.host_pages, asked.memory_node);
    let device = elsewhere("device pages", &seen.device_pages, device_node(rank));
    [pu, affinity, host, device].into_iter().flatten().collect()
}

/// The node that stands in for the rank's device; a GPU has none.
fn device_node(rank: &Rank) -> Option<u32> {
    name_on_node(&rank.asked.device).strip_prefix("node ")?.parse().ok()
}

/// `120 of 65538 pages on node 0`, when a node was asked and not all pages are there.
fn elsewhere(what: &str, pages: &Known<Vec<NodePages>>, asked: Option<u32>) -> Option<String> {
    let (pages, asked) = (pages.value.as_ref()?, asked?);
    let total: u64 = pages.iter().map(|on| on.pages).sum();
    let away: Vec<&NodePages> = pages.iter().filter(|on| on.node != asked && on.pages > 0).collect();
    let count: u64 = away.iter().map(|on| on.pages).sum();
    let nodes: IdSet = away.iter().map(|on| on.node).collect();
    (count > 0).then(|| format!("{count} of {total} {what} on node {nodes}"))
}

fn pus(seen: &[&PlacementSeen]) -> String {
    let pus: IdSet = seen.iter().filter_map(|seen| seen.pu.value).collect();
    if pus.iter().next().is_none() { "no PU".into() } else { format!("PU {pus}") }
}

/// `node 3 (2050 to 65538)`: the nodes, and the smallest and the largest count of pages; none if never known.
fn pages(seen: &[&PlacementSeen], of: fn(&PlacementSeen) -> &Known<Vec<NodePages>>) -> Option<String> {
    let known: Vec<&Vec<NodePages>> = seen.iter().filter_map(|seen| of(seen).value.as_ref()).collect();
    let nodes: IdSet =
        known.iter().flat_map(|pages| pages.iter()).filter(|on| on.pages > 0).map(|on| on.node).collect();
    let counts: BTreeSet<u64> = known.iter().map(|pages| pages.iter().map(|on| on.pages).sum()).collect();
    match (counts.first()?, counts.last()?) {
        (least, most) if least == most => Some(format!("node {nodes} ({least})")),
        (least, most) => Some(format!("node {nodes} ({least} to {most})")),
    }
}

/// Whether something that was asked could not be seen; a GPU's own memory has no pages.
pub(crate) fn is_unseen(results: &[&RankResult], on_gpu: bool) -> bool {
    !unknowns(&all_seen(results), on_gpu).is_empty()
}

/// What could not be seen, each reason once. That a GPU's own memory has no pages is not news.
fn unknowns(seen: &[&PlacementSeen], gpu: bool) -> BTreeSet<String> {
    fn why<T>(what: &str, known: &Known<T>) -> Option<String> {
        let reason = known.reason.as_deref().filter(|_| known.value.is_none())?;
        Some(format!("{what} NOT SEEN: {reason} ({})", known.source))
    }
    let all = seen.iter().flat_map(|seen| {
        let device = if gpu { None } else { why("device pages", &seen.device_pages) };
        [why("PU", &seen.pu), why("affinity", &seen.affinity), why("pages", &seen.host_pages), device]
    });
    all.flatten().collect()
}
