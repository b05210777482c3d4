//! What the boxes mean: an entry for each kind that is in the picture, and no other.

use std::collections::BTreeSet;

use super::block::{Block, Grid, Line, Panel, Size};
use super::look::Look;
use super::pus::{Pus, state};
use super::text_metrics::Font;
use crate::model::{NodeKind, NumaNode};
use crate::survey::Survey;

/// Between an entry's sample and its words, and between entries, px.
const APART: i32 = 6;
const BETWEEN: i32 = 16;

/// The legend in at most `room` px.
pub(super) fn legend(survey: &Survey, pus: &Pus, room: i32) -> Panel {
    let entries: Vec<(Look, String)> = entries(survey, pus).collect();
    let sample = pus.cell_size();
    let widest = entries.iter().map(|(_, words)| Font::SMALL.width(words)).max().unwrap_or(0);
    let entry = sample.width + APART + widest + BETWEEN;
    let columns = usize::try_from((room + BETWEEN) / entry).unwrap_or(1).max(1);
    let blocks = entries.into_iter().map(|(look, words)| legend_entry(look, words, sample)).collect();
    Panel::new(Grid::Fixed(columns), BETWEEN / 2, blocks)
}

fn legend_entry(look: Look, words: String, sample: Size) -> Block {
    let swatch = Block::cell(look, "", "", sample);
    let words = Block::new(Look::Unseen, "", vec![Line::new(Font::SMALL, words)]).spaced(1, 0);
    Block::new(Look::Unseen, "", Vec::new()).spaced(0, 0).with(Panel::new(
        Grid::Fixed(2),
        APART,
        vec![swatch, words],
    ))
}

fn entries(survey: &Survey, pus: &Pus) -> impl Iterator<Item = (Look, String)> {
    let topology = &survey.topology;
    let present: BTreeSet<&str> = pus.looks().map(state).collect();
    let states = [Look::Allowed, Look::Reserved, Look::NotInCgroup, Look::NotInAffinity, Look::Offline];
    let states = states.into_iter().filter(move |look| present.contains(state(*look)));
    let states = states.map(|look| (look, format!("PU, {}", state(look))));
    let siblings = topology.cores.iter().any(|core| core.pus.len() > 1);
    let core = if siblings { "core, its PUs side by side" } else { "core" };
    let rest = [
        (Look::Core, core, true),
        (Look::L3, "L3 cache and its cores", !topology.l3s.is_empty()),
        (Look::Node, "NUMA node", true),
        (Look::Memory, "memory", topology.nodes.iter().any(|node| node.allowed && node.total_bytes > 0)),
        (Look::ForbiddenMemory, "memory, not allowed here", topology.nodes.iter().any(forbidden)),
        (
            Look::GpuMemory,
            "memory of a GPU",
            topology.nodes.iter().any(|node| node.kind == NodeKind::GpuMemory),
        ),
        (Look::Package, "package", !topology.packages.is_empty()),
        (Look::Gpu, "GPU, in what is local to it", !topology.gpus.is_empty()),
        (Look::Nic, "NIC, in what is local to it", !survey.nics.is_empty()),
    ];

    let rest: Vec<_> = rest
        .into_iter()
        .filter(|(_, _, here)| *here)
        .map(|(look, words, _)| (look, words.to_owned()))
        .collect();
    states.chain(rest)
}

fn forbidden(node: &NumaNode) -> bool {
    !node.allowed && node.total_bytes > 0 && node.kind != NodeKind::GpuMemory
}
