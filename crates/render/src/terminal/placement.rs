//! A rank's placement, asked and seen: one line when they agree, loud lines when they do not.

use std::collections::BTreeSet;

use analysis::placement::{all_seen, deviations, device_node, unknowns};
use report::Known;
use report::rank::Rank;
use report::result::{NodePages, PlacementSeen, RankResult};
use stats::IdSet;

use super::page::Tone;
use super::words;

/// What is said of a rank's placement: that it was as asked, or how it was not, and what could not be seen.
/// `on_gpu`: a GPU's own memory has no pages to be seen. With `in_full` what was asked and seen is named,
/// else there is a table that has it.
pub(super) fn remarks(
    rank: &Rank,
    results: &[&RankResult],
    on_gpu: bool,
    in_full: bool,
) -> Vec<(Tone, String)> {
    let seen = all_seen(results);
    let node = rank.asked.memory_nodes().map_or("no node".into(), |nodes| nodes_named(&nodes));
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
        let before_only =
            results.iter().filter(|one| one.seen_before.is_some() && one.seen_after.is_none()).count();
        let looked = results.iter().filter(|one| one.seen_before.is_some()).count();
        let mut count = words::count(looked as u64, "result");
        if looked < results.len() {
            count = format!("{count} of {}", results.len());
        }
        let when = match before_only {
            0 => format!("before and after {count}"),
            n => format!("in {count}, {n} of them before only"),
        };
        let as_asked = if unknown.is_empty() { "as asked, seen" } else { "what was seen is as asked," };
        let shown = if in_full {
            format!("{asked}; {}; {when}", parts.join(", "))
        } else {
            format!("{as_asked} {when}")
        };
        said.push((Tone::Plain, shown));
    }

    said.extend(unknown.into_iter().map(|text| (Tone::Warning, text)));
    said
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

fn pus(seen: &[&PlacementSeen]) -> String {
    let pus: IdSet = seen.iter().filter_map(|seen| seen.pu.value).collect();
    if pus.iter().next().is_none() { "no PU".into() } else { format!("PU {pus}") }
}

fn nodes_named(nodes: &IdSet) -> String {
    if nodes.len() == 1 { format!("node {nodes}") } else { format!("nodes {nodes}") }
}

/// `node 3 (2050–65538)`: the nodes, and the smallest and the largest count of pages; `nodes 1,3 (128 and
/// 128)` where each node's count was always the same; none if never known.
fn pages(seen: &[&PlacementSeen], of: fn(&PlacementSeen) -> &Known<Vec<NodePages>>) -> Option<String> {
    let known: Vec<&Vec<NodePages>> = seen.iter().filter_map(|seen| of(seen).value.as_ref()).collect();
    let nodes: IdSet =
        known.iter().flat_map(|pages| pages.iter()).filter(|on| on.pages > 0).map(|on| on.node).collect();
    let counts: BTreeSet<u64> = known.iter().map(|pages| pages.iter().map(|on| on.pages).sum()).collect();
    let first = known.first()?;
    if first.len() > 1 && known.iter().all(|pages| pages == first) {
        let of_each: Vec<String> = first.iter().map(|on| on.pages.to_string()).collect();
        return Some(format!("{} ({})", nodes_named(&nodes), of_each.join(" and ")));
    }
    match (counts.first()?, counts.last()?) {
        (least, most) if least == most => Some(format!("{} ({least})", nodes_named(&nodes))),
        (least, most) => Some(format!("{} ({least}–{most})", nodes_named(&nodes))),
    }
}
