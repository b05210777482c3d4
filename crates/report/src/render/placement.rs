//! A rank's placement, asked and seen: one line when they agree, loud lines when they do not.

use std::collections::BTreeSet;

use stats::IdSet;

use super::page::{Page, Tone};
use super::words;
use crate::device::DeviceKind;
use crate::rank::Rank;
use crate::result::{NodePages, PlacementSeen, RankResult};
use crate::{Document, Known};

pub(super) fn draw(document: &Document, rank: &Rank, results: &[&RankResult], quiet: bool, page: &mut Page) {
    let seen: Vec<&PlacementSeen> =
        results.iter().flat_map(|result| result.seen_before.iter().chain(&result.seen_after)).collect();
    let before_only =
        results.iter().filter(|result| result.seen_before.is_some() && result.seen_after.is_none()).count();
    let node = rank.asked.memory_node.map_or("no node".into(), |node| format!("node {node}"));
    let asked = format!("asked PU {}, {node}", rank.asked.pu);

    let wrong: Vec<Vec<String>> = seen.iter().map(|seen| deviations(rank, seen)).collect();
    let times = wrong.iter().filter(|found| !found.is_empty()).count();
    if times > 0 {
        let what: BTreeSet<&str> = wrong.iter().flatten().map(String::as_str).collect();
        let (what, of) = (what.into_iter().collect::<Vec<_>>().join("; "), seen.len());
        let device = device_node(rank).map_or(String::new(), |node| format!(", device pages on node {node}"));
        page.key(Tone::Bad, "placement", &format!("NOT AS ASKED, {times} of {of} times: {asked}{device}; seen {what}"));
    } else if seen.is_empty() {
        page.key(Tone::Warning, "placement", &format!("{asked}; nothing seen: no result got that far"));
    } else if !quiet {
        let mut parts = vec![format!("seen {}", pus(&seen))];
        parts.extend(pages(&seen, |seen| &seen.host_pages).map(|pages| format!("pages on {pages}")));
        parts.extend(pages(&seen, |seen| &seen.device_pages).map(|pages| format!("device pages on {pages}")));
        let when = match before_only {
            0 => format!("before and after {}", words::count(results.len() as u64, "result")),
            n => format!("in {}, {n} of them before only", words::count(results.len() as u64, "result")),
        };
        page.key(Tone::Plain, "placement", &format!("{asked}; {}; {when}", parts.join(", ")));
    }
    let device = document.devices.iter().find(|device| device.id == rank.asked.device);
    let gpu = device.is_some_and(|device| device.kind == DeviceKind::Gpu);
    for text in unknowns(&seen, gpu) {
        page.key(Tone::Warning, "placement", &text);
    }
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
    rank.asked.device.strip_prefix("node ")?.parse().ok()
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
