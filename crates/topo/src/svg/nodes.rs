//! NUMA nodes: the box of a node, and in it a strip that is its memory.

use stats::IdSet;

use super::block::{Block, Grid, Line, Panel};
use super::look::Look;
use super::text_metrics::Font;
use crate::model::{NodeKind, NumaNode};
use crate::survey::Survey;
use crate::text::layout::named;
use crate::text::places;

/// The widest that a list of PUs makes its box, px; longer lists are cut, and whole in the tooltip.
const LIST: i32 = 250;

/// The box of a node: what it is, and its memory.
pub(super) fn node(survey: &Survey, node: &NumaNode) -> Block {
    let pus = match node.kind {
        NodeKind::Normal | NodeKind::CpuOnly if node.pus.is_empty() => "its PUs are not shown".to_owned(),
        NodeKind::Normal | NodeKind::CpuOnly => named("PU", &node.pus),
        NodeKind::MemoryOnly if survey.topology.hides_cpus_of(node) => "its CPUs are not shown".to_owned(),
        NodeKind::MemoryOnly | NodeKind::GpuMemory | NodeKind::Empty => "no CPUs".to_owned(),
    };
    let heading = Line::new(Font::HEADING, format!("NUMA node {}", node.os_index)).and(pus.clone());
    let strip = Panel::new(Grid::Stacked, 0, vec![memory(survey, node)]);
    let tooltip = format!("NUMA node {}: {pus}", node.os_index);
    Block::new(Look::Node, tooltip, vec![heading.asking_at_most(LIST)]).with(strip)
}

fn memory(survey: &Survey, node: &NumaNode) -> Block {
    let subtype = node.subtype.as_ref().filter(|_| node.kind != NodeKind::GpuMemory);
    let subtype = subtype.map_or_else(String::new, |subtype| format!(" ({subtype})"));
    let mut lines = vec![Line::new(Font::BODY, format!("{}{subtype}", places::memory(node)))];
    let forbidden = !node.allowed && node.total_bytes > 0;
    if node.kind == NodeKind::GpuMemory {
        let whose = places::owner(&survey.topology, node);
        lines.push(Line::new(Font::SMALL, format!("the memory of {whose}, not for host buffers")));
    }
    if forbidden {
        lines.push(Line::new(Font::SMALL, "not allowed here"));
    }
    let pages = places::reserved(survey, node.os_index);
    lines.extend(pages.map(|pages| Line::new(Font::SMALL, format!("huge pages: {pages}"))));
    let look = match node.kind {
        _ if node.total_bytes == 0 => Look::NoMemory,
        NodeKind::GpuMemory => Look::GpuMemory,
        _ if forbidden => Look::ForbiddenMemory,
        _ => Look::Memory,
    };

    Block::new(look, format!("memory of NUMA node {}", node.os_index), lines).spaced(4, 0)
}

/// A box that says which nodes are nothing but numbers (the spare ones of GPUs' MIG instances).
pub(super) fn empty(nodes: &IdSet) -> Option<Block> {
    let heading = named("NUMA node", nodes);
    let lines = vec![
        Line::new(Font::HEADING, heading.clone()).asking_at_most(LIST),
        Line::new(Font::BODY, "neither memory nor CPUs"),
    ];
    (!nodes.is_empty()).then(|| Block::new(Look::Edge, heading, lines))
}
