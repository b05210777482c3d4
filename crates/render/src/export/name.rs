//! The name of a figure: the same in every run of the same cases in the same places, on whichever host of a kind.

use std::collections::BTreeMap;

use report::Document;
use report::device::name_on_node;
use report::row::Row;

/// Names rows.
pub(super) struct Names {
    /// The position of each rank's node, where the run was on several.
    nodes: BTreeMap<u32, u32>,
}

impl Names {
    pub(super) fn of<B>(document: &Document<B>) -> Self {
        let several = document.nodes.len() > 1;
        let nodes = document.ranks.iter().filter(|_| several).map(|rank| (rank.rank, rank.node)).collect();
        Self { nodes }
    }

    /// `simultaneous/pinned/h2d/134217728/0000:c1:00.0/pu49/mem3`; on several nodes the node's number stands before the device.
    pub(super) fn name(&self, row: &Row) -> String {
        let node = self.node(row).map_or(String::new(), |node| format!("/node{node}"));
        let memory = row.memory_node.map_or(String::new(), |node| format!("/mem{node}"));
        format!("{}{node}/{}/pu{}{memory}", row.case, name_on_node(&row.device), row.pu)
    }

    /// The number of a row's node, where the run was on several.
    pub(super) fn node(&self, row: &Row) -> Option<u32> {
        self.nodes.get(&row.rank).copied()
    }
}

/// A figure with the ends of its 95 % interval, where it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) value: f64,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
}

/// The median time of a round, ns.
pub(super) fn time_ns(row: &Row) -> Option<Figure> {
    Some(Figure { value: row.median_ns?, low: row.median_low_ns, high: row.median_high_ns })
}

/// The rate of the median block, bytes/s.
pub(super) fn rate(row: &Row) -> Option<Figure> {
    let (value, ns) = (row.median_bytes_per_s?, row.median_ns?);
    let at = |end: Option<f64>| end.map(|end| value * ns / end);
    Some(Figure { value, low: at(row.median_high_ns), high: at(row.median_low_ns) })
}
