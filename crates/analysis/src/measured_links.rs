//! What was measured on each link of a node: from a NUMA node's memory to a GPU and back, between GPUs, from
//! a node's cores to a node's memory. The figures are those of the largest copies; where ranks ran alone and
//! at once, both. A link between GPUs or of memory that is far below those of its kind is marked
//! (`peer_outlier`: machines whose links differ by design have none); links of GPUs and host memory are
//! judged GPU by GPU (`slower_twins`).

use std::collections::{BTreeMap, BTreeSet};

use report::Document;
use report::case::{Case, CaseStatus, Order};
use report::device::{DeviceKind, name_on_node};
use report::matrix::{Compares, Matrix};
use report::settings::{Direction, MemoryKind};
use stats::interval::Interval;
use stats::peer_outlier::{fewer_than_half, peer_outliers};

use crate::matrix_analysis::{CellFigure, MatrixFigures, Plane};

/// An end of a link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkEnd {
    /// A NUMA node of the first node of the run, OS index: its memory or its cores.
    Numa(u32),
    /// A device, by its `id`.
    Device(String),
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Bytes/s, or ns where it is a time.
    pub value: f64,
    /// Its 95 % interval; `None` with fewer than 6 blocks.
    pub interval: Option<Interval>,
}

/// A link with its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredLink {
    /// Where the bytes, or the threads that reach for them, are; of copies to and from a GPU the node of host
    /// memory.
    pub from: LinkEnd,
    /// The other end.
    pub to: LinkEnd,
    /// The direction.
    pub direction: Direction,
    /// Whether the figures are times, of which less is better.
    pub is_time: bool,
    /// The size of a copy, or the range of accesses, bytes.
    pub bytes: u64,
    /// Alone, or in the only order measured.
    pub alone: Option<Measured>,
    /// With all others at once.
    pub at_once: Option<Measured>,
    /// Whether it is far below the others of its kind.
    pub is_below: bool,
}

impl MeasuredLink {
    /// The first figure: alone where there is one.
    pub fn first(&self) -> Option<Measured> {
        self.alone.or(self.at_once)
    }

    /// Links that may be compared: between GPUs, of nodes' own memory, from node to node. Those of GPUs and
    /// host memory depend on how near they are.
    fn kind(&self) -> Option<(u8, Direction, bool)> {
        let ends = match (&self.from, &self.to) {
            (LinkEnd::Device(_), LinkEnd::Device(_)) => 0,
            (LinkEnd::Numa(from), LinkEnd::Numa(to)) => 1 + u8::from(from == to),
            _ => return None,
        };
        Some((ends, self.direction, self.is_time))
    }
}

/// The links of the first node, each direction once, in the order of the document.
pub fn measured_links(document: &Document) -> Vec<MeasuredLink> {
    let mut links = Vec::new();
    let has_places =
        |matrix: &&Matrix| matches!(matrix.compares, Compares::Rows | Compares::Columns | Compares::Pairs);
    for matrix in document.matrices.iter().filter(has_places) {
        for plane in largest(matrix.planes(document)) {
            of_matrix(document, matrix, &plane, &mut links);
        }
    }
    of_ranks(document, &mut links);
    mark(&mut links);
    links
}

/// Marks the links that are far below those of their kind.
fn mark(links: &mut [MeasuredLink]) {
    let kinds: BTreeSet<_> = links.iter().filter_map(MeasuredLink::kind).collect();
    for kind in &kinds {
        let of_kind = |link: &MeasuredLink| link.first().filter(|_| link.kind() == Some(*kind));
        let (at, values): (Vec<usize>, Vec<f64>) =
            links.iter().enumerate().filter_map(|(at, link)| Some((at, of_kind(link)?.value))).unzip();
        // One GPU is an end of half of the links among four.
        let most = fewer_than_half(values.len());
        let Ok(judged) = peer_outliers(&values, kinds.len(), most) else { continue };
        let (_, _, is_time) = kind;
        for outlier in judged.outliers {
            links[at[outlier.index]].is_below = (outlier.score > 0.0) == *is_time;
        }
    }
}

/// Of each direction the plane of the largest copies from the first kind of memory.
fn largest(planes: Vec<Plane>) -> Vec<Plane> {
    let mut best: BTreeMap<(Direction, bool), Plane> = BTreeMap::new();
    for plane in planes {
        let amount = |plane: &Plane| (plane.bytes, plane.range_bytes);
        let kept = best.entry((plane.direction, plane.is_time())).or_insert(plane);
        if amount(&plane) > amount(kept) {
            *kept = plane;
        }
    }
    best.into_values().collect()
}

fn of_matrix(document: &Document, matrix: &Matrix, plane: &Plane, links: &mut Vec<MeasuredLink>) {
    for (row, column) in matrix.places().filter(|(row, column)| !matrix.is_own(*row, *column)) {
        let Some(Ok(cell)) = matrix.cell(document, plane, row, column) else { continue };
        let Some((from, to)) = ends(document, matrix, row, column) else { continue };
        let CellFigure { median, interval, .. } = cell;
        let link = MeasuredLink {
            from,
            to,
            direction: plane.direction,
            is_time: plane.is_time(),
            bytes: plane.range_bytes.unwrap_or(plane.bytes),
            alone: Some(Measured { value: median, interval }),
            at_once: None,
            is_below: false,
        };
        kept(links, link);
    }
}

/// The link where it is there already; else it is added.
fn kept(links: &mut Vec<MeasuredLink>, link: MeasuredLink) -> &mut MeasuredLink {
    let same = |other: &MeasuredLink| {
        (&other.from, &other.to, other.direction, other.is_time)
            == (&link.from, &link.to, link.direction, link.is_time)
    };
    let at = links.iter().position(same).unwrap_or_else(|| {
        links.push(link);
        links.len() - 1
    });
    &mut links[at]
}

fn ends(document: &Document, matrix: &Matrix, row: usize, column: usize) -> Option<(LinkEnd, LinkEnd)> {
    let (place, other) = (matrix.rows.get(row)?, matrix.columns.get(column)?);
    let rank = place.ranks.and(&other.ranks).first()?;
    let own = document.ranks.iter().find(|one| one.rank == rank)?;
    if own.node != 0 {
        return None;
    }
    if matrix.compares == Compares::Pairs {
        return Some((LinkEnd::Device(own.asked.device.clone()), LinkEnd::Device(other.device.clone())));
    }
    let cores = || document.environment.topology.nodes.iter().find(|node| node.pus.contains(own.asked.pu));
    let from = match memory(document, &other.device) {
        Some(_) => cores()?.os_index,
        None => place.memory_node.or(own.asked.memory_node)?,
    };

    Some((
        LinkEnd::Numa(from),
        memory(document, &other.device).map_or(LinkEnd::Device(other.device.clone()), LinkEnd::Numa),
    ))
}

/// The NUMA node that stands in for a device.
fn memory(document: &Document, device: &str) -> Option<u32> {
    let is_gpu = document.devices.iter().any(|one| one.id == device && one.kind == DeviceKind::Gpu);
    name_on_node(device).strip_prefix("node ").filter(|_| !is_gpu)?.parse().ok()
}

/// Ranks that copy between their node's memory and their GPU, alone and at once, where no matrix has them.
fn of_ranks(document: &Document, links: &mut Vec<MeasuredLink>) {
    let copies = |case: &&Case| {
        matches!(case.direction, Direction::H2d | Direction::D2h | Direction::Bidirectional)
            && case.range_bytes.is_none()
            && case.status != CaseStatus::Invalid
    };
    let in_matrix = |case: &Case| case.group.as_deref().and_then(report::matrix::engine_of_group).is_some();
    let most = document.cases.iter().filter(copies).map(|case| case.bytes).max();
    let first =
        document.cases.iter().find(|case| copies(case) && Some(case.bytes) == most).map(|case| case.memory);
    let cases =
        document.cases.iter().filter(copies).filter(|case| Some(case.bytes) == most && !in_matrix(case));
    let widest = document.cases.iter().filter(copies).map(|case| case.ranks.len()).max().unwrap_or(0);

    for case in cases.filter(|case| Some(case.memory) == first.filter(|kind| *kind != MemoryKind::Newer)) {
        // Of sets at once the one of all says what the node gives.
        if case.order == Order::Simultaneous && case.ranks.len() < widest {
            continue;
        }
        for result in &case.ranks {
            let Some(rank) = document.ranks.iter().find(|rank| rank.rank == result.rank && rank.node == 0)
            else {
                continue;
            };
            let Some(from) =
                rank.asked.memory_node.filter(|_| memory(document, &rank.asked.device).is_none())
            else {
                continue;
            };
            let Some(summary) = result.summary() else { continue };
            let measured =
                Some(Measured { value: summary.median_bytes_per_s, interval: summary.rate_interval() });
            let link = MeasuredLink {
                from: LinkEnd::Numa(from),
                to: LinkEnd::Device(rank.asked.device.clone()),
                direction: case.direction,
                is_time: false,
                bytes: case.bytes,
                alone: None,
                at_once: None,
                is_below: false,
            };
            let kept = kept(links, link);
            match case.order {
                Order::Simultaneous if case.ranks.len() > 1 => kept.at_once = kept.at_once.or(measured),
                _ => kept.alone = kept.alone.or(measured),
            }
        }
    }
}
