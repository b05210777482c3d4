//! Where several ranks sat, a row a rank: what was asked, what was seen, which device it drove.
//!
//! Nodes whose ranks sit alike are shown once, by the ranks' numbers on their node. Whatever is not as asked
//! is marked here and said under `remarks`.

use std::collections::BTreeMap;

use report::Document;
use report::device::{self, Device, DeviceKind};
use report::rank::Rank;
use report::result::RankResult;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use super::row_folding::{self, alike};
use super::{hosts, placement, words};

/// A row: its cells, and whether something was not as asked.
type Row = (Vec<String>, bool);

pub(super) fn draw(document: &Document, page: &mut Page) {
    let results = by_rank(document);
    let devices: BTreeMap<&str, &Device> =
        document.devices.iter().map(|device| (device.id.as_str(), device)).collect();
    let several = hosts::are_several(document);
    let on_gpus = devices.values().any(|device| device.kind != DeviceKind::HostMemory);
    let (labels, header) = header(several, on_gpus);
    let mut grid = TextGrid::new(labels, &header);
    let row = |rank: &Rank| -> Row {
        let results = results.get(&rank.rank).map(Vec::as_slice).unwrap_or_default();
        let device = devices.get(rank.asked.device.as_str()).copied();
        (cells(rank, results, device, several, on_gpus), analysis::placement::is_otherwise(rank, results))
    };
    let of_node =
        |node: u32| document.ranks.iter().filter(|rank| rank.node == node).map(row).collect::<Vec<_>>();
    let ways = alike(document, of_node);
    let heading = match several {
        true => "Placement, by the ranks' numbers on their node".to_owned(),
        false => {
            format!("Placement on {}", ways.first().map_or("", |way| first_host(document, way.nodes.first())))
        }
    };
    page.line(Tone::Title, heading);
    let (ways, others) = row_folding::shown(ways);

    for way in ways {
        if several {
            grid.caption(row_folding::on(document, &way.nodes));
        }
        for (cells, otherwise) in way.what {
            let mark = otherwise.then(|| (Tone::Bad, "NOT AS ASKED".to_owned()));
            grid.row(cells, mark.into_iter().collect());
        }
    }

    if let Some(others) = others {
        grid.foot(Tone::Faint, others);
    }
    grid.draw(page);
    page.blank();
}

/// The results of each rank.
pub(super) fn by_rank(document: &Document) -> BTreeMap<u32, Vec<&RankResult>> {
    let mut results: BTreeMap<u32, Vec<&RankResult>> = BTreeMap::new();
    for result in document.cases.iter().flat_map(|case| &case.ranks) {
        results.entry(result.rank).or_default().push(result);
    }
    results
}

fn first_host(document: &Document, node: Option<u32>) -> &str {
    hosts::name(document, node.unwrap_or_default())
}

fn header(several: bool, on_gpus: bool) -> (usize, Vec<&'static str>) {
    let mut header = vec![if several { "#" } else { "rank" }, "PU asked", "seen", "node asked", "seen"];
    header.extend(if on_gpus { &["GPU", "PCI address"][..] } else { &["device"] });
    header.push("locality");
    (header.len(), header)
}

fn cells(
    rank: &Rank,
    results: &[&RankResult],
    device: Option<&Device>,
    several: bool,
    on_gpus: bool,
) -> Vec<String> {
    let (pus, nodes) = placement::seen(results);
    let number = if several { rank.node_rank } else { rank.rank };
    let node = rank.asked.memory_nodes().map_or("any".into(), |nodes| nodes.to_string());
    let mut cells = vec![number.to_string(), rank.asked.pu.to_string(), pus, node, nodes];
    let name = device::name_on_node(&rank.asked.device).to_owned();
    cells.extend(on_gpus.then(|| device.map_or("?".into(), |device| device.index.to_string())));
    cells.extend([name, words::locality_short(rank.locality).to_owned()]);
    cells
}
