//! Whether a rank's placement was seen as it was asked, and what could not be seen.

use std::collections::BTreeSet;

use report::Known;
use report::device::name_on_node;
use report::rank::Rank;
use report::result::{NodePages, PlacementSeen, RankResult};
use stats::IdSet;

/// Whether something was seen that was not asked.
pub fn is_otherwise(rank: &Rank, results: &[&RankResult]) -> bool {
    all_seen(results).iter().any(|seen| !deviations(rank, seen).is_empty())
}

/// What was seen in these results, before and after; without those of memory that moves, whose pages were
/// asked to lie nowhere.
pub fn all_seen<'a>(results: &[&'a RankResult]) -> Vec<&'a PlacementSeen> {
    results
        .iter()
        .filter(|result| result.away.is_empty())
        .flat_map(|result| result.seen_before.iter().chain(&result.seen_after))
        .collect()
}

/// What was seen at one moment that was not asked.
pub fn deviations(rank: &Rank, seen: &PlacementSeen) -> Vec<String> {
    let asked = &rank.asked;
    let pu = seen.pu.value.filter(|&pu| pu != asked.pu).map(|pu| format!("PU {pu}"));
    let affinity = seen.affinity.value.as_ref().filter(|set| !set.iter().eq([asked.pu]));
    let affinity = affinity.map(|affinity| format!("a thread allowed on PU {affinity}"));
    let host = elsewhere("pages", &seen.host_pages, asked.memory_nodes());
    let device_node = device_node(rank).map(|node| IdSet::from_iter([node]));
    let device = elsewhere("device pages", &seen.device_pages, device_node);
    [pu, affinity, host, device].into_iter().flatten().collect()
}

/// The node that stands in for the rank's device; a GPU has none.
pub fn device_node(rank: &Rank) -> Option<u32> {
    name_on_node(&rank.asked.device).strip_prefix("node ")?.parse().ok()
}

/// `120 of 65538 pages on node 0`, when nodes were asked and not all pages are there.
fn elsewhere(what: &str, pages: &Known<Vec<NodePages>>, asked: Option<IdSet>) -> Option<String> {
    let (pages, asked) = (pages.value.as_ref()?, asked?);
    let total: u64 = pages.iter().map(|on| on.pages).sum();
    let away: Vec<&NodePages> = pages.iter().filter(|on| !asked.contains(on.node) && on.pages > 0).collect();
    let count: u64 = away.iter().map(|on| on.pages).sum();
    let nodes: IdSet = away.iter().map(|on| on.node).collect();
    (count > 0).then(|| format!("{count} of {total} {what} on node {nodes}"))
}

/// Whether something that was asked could not be seen; a GPU's own memory has no pages.
pub fn is_unseen(results: &[&RankResult], on_gpu: bool) -> bool {
    !unknowns(&all_seen(results), on_gpu).is_empty()
}

/// What could not be seen, each reason once. That a GPU's own memory has no pages is not news.
pub fn unknowns(seen: &[&PlacementSeen], gpu: bool) -> BTreeSet<String> {
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
