//! Where each rank was asked to be and was seen: a picture of the node, and the table that holds it to account.

use std::collections::BTreeSet;

use report::Document;
use report::result::{NodePages, PlacementSeen};

use super::picture;
use super::write::Page;

/// Ranks shown at most.
const RANKS: usize = 256;

pub(super) fn draw(document: &Document, page: &mut Page) {
    page.heading(0, "Placement, asked and seen");
    picture::draw(document, page);
    let rows = document.ranks.iter().take(RANKS).map(|rank| {
        let seen: Vec<&PlacementSeen> = document
            .cases
            .iter()
            .flat_map(|case| case.ranks.iter().filter(|result| result.rank == rank.rank))
            .flat_map(|result| result.seen_before.iter().chain(&result.seen_after))
            .collect();
        let pus: BTreeSet<String> = seen.iter().filter_map(|seen| seen.pu.value).map(|pu| pu.to_string()).collect();
        let nodes: BTreeSet<u32> = seen
            .iter()
            .filter_map(|seen| seen.host_pages.value.as_ref())
            .flatten()
            .map(|NodePages { node, .. }| *node)
            .collect();
        let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
        let known = |text: String| if text.is_empty() { "not known".to_owned() } else { text };
        vec![
            rank.rank.to_string(),
            rank.host.clone(),
            rank.asked.pu.to_string(),
            known(pus.into_iter().collect::<Vec<_>>().join(", ")),
            rank.asked.memory_node.map_or("any".to_owned(), |node| node.to_string()),
            known(nodes.join(", ")),
            rank.asked.device.clone(),
            format!("{:?}", rank.locality),
        ]
    });
    let header = ["rank", "host", "PU asked ", "PU seen ", "node asked ", "pages seen on ", "device", "locality"];
    page.table("Placement of each rank", &header, rows);
    if document.ranks.len() > RANKS {
        page.element("p", &format!("{} more ranks are in the document.", document.ranks.len() - RANKS));
    }
}
