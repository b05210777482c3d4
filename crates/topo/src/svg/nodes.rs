//! NUMA nodes: the box of a node, and in it a strip that is its memory.

use stats::IdSet;
use stats::units::rounded_size;

use super::block::{Block, Line, Panel};
use super::look::Look;
use super::pus::listed;
use super::text_metrics::Font;
use crate::model::{NodeKind, NumaNode};
use crate::survey::Survey;
use crate::text::layout::ids;

/// The widest that a list of PUs makes its box, px; longer lists are cut, and whole in the tooltip.
const LIST: i32 = 250;

/// The box of a node: what it is, and its memory.
pub(super) fn node(survey: &Survey, node: &NumaNode) -> Block {
    let pus = match node.kind {
        NodeKind::Normal | NodeKind::CpuOnly if node.pus.is_empty() => "its PUs are not shown".to_owned(),
        NodeKind::Normal | NodeKind::CpuOnly => listed(&node.pus),
        NodeKind::MemoryOnly | NodeKind::GpuMemory | NodeKind::Empty => "no CPUs".to_owned(),
    };
    let heading = Line::new(Font::HEADING, format!("NUMA node {}", node.os_index)).and(pus.clone());
    let strip = Panel::stacked(0, vec![memory(survey, node)]);
    let tooltip = format!("NUMA node {}: {pus}", node.os_index);
    Block::new(Look::Node, tooltip, vec![heading.asking_at_most(LIST)]).with(strip)
}

fn memory(survey: &Survey, node: &NumaNode) -> Block {
    let size = match (node.total_bytes, node.free_bytes) {
        (0, _) if node.kind == NodeKind::Normal => "memory not known".to_owned(),
        (0, _) => "no memory".to_owned(),
        (total, Some(free)) => format!("{}, {} free", rounded_size(total), rounded_size(free)),
        (total, None) => rounded_size(total),
    };
    let subtype = node.subtype.as_ref().filter(|_| node.kind != NodeKind::GpuMemory);
    let subtype = subtype.map_or_else(String::new, |subtype| format!(" ({subtype})"));
    let mut lines = vec![Line::new(Font::BODY, format!("{size}{subtype}"))];
    let forbidden = !node.allowed && node.total_bytes > 0;
    if node.kind == NodeKind::GpuMemory {
        let whose = owner(survey, node.os_index).map_or_else(|| "of a GPU".to_owned(), |gpu| format!("of GPU {gpu}"));
        lines.push(Line::new(Font::SMALL, format!("the memory {whose}, not for host buffers")));
    }
    if forbidden {
        lines.push(Line::new(Font::SMALL, "not allowed here"));
    }
    let own = survey.huge_pages.iter().filter(|pages| pages.node == node.os_index && pages.total > 0);
    for pages in own {
        let free = pages.free.map_or_else(String::new, |free| format!(" ({free} free)"));
        let words = format!("huge pages: {} of {}{free}", pages.total, rounded_size(pages.page_bytes));
        lines.push(Line::new(Font::SMALL, words));
    }
    let look = match node.kind {
        _ if node.total_bytes == 0 => Look::NoMemory,
        NodeKind::GpuMemory => Look::GpuMemory,
        _ if forbidden => Look::ForbiddenMemory,
        _ => Look::Memory,
    };
    Block::new(look, format!("memory of NUMA node {}", node.os_index), lines).spaced(4, 0)
}

/// The GPU whose memory the node is, where only one can be meant.
fn owner(survey: &Survey, node: u32) -> Option<u32> {
    let mut near = survey.topology.gpus.iter().filter(|gpu| gpu.locality.nodes.contains(node));
    near.next().filter(|_| near.next().is_none()).map(|gpu| gpu.index)
}

/// A box that says which nodes are nothing but numbers (the spare ones of GPUs' MIG instances).
pub(super) fn empty(nodes: &IdSet) -> Option<Block> {
    let noun = if nodes.len() == 1 { "NUMA node" } else { "NUMA nodes" };
    let lines = vec![
        Line::new(Font::HEADING, format!("{noun} {}", ids(nodes))).asking_at_most(LIST),
        Line::new(Font::BODY, "neither memory nor CPUs"),
    ];
    (!nodes.is_empty()).then(|| Block::new(Look::Edge, format!("{noun} {}", ids(nodes)), lines))
}
