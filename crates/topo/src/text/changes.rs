//! Differences as a list that a mail or a ticket can hold.

use super::layout::{count, wrapped};
use super::source;
use crate::difference::Difference;
use crate::model::Topology;

/// What is compared, then one entry per difference.
pub(super) fn lines(old: &Topology, new: &Topology, differences: &[Difference], width: usize) -> Vec<String> {
    let named = |topology: &Topology| match &topology.hostname {
        Some(host) => format!("{} ({host})", source(&topology.source)),
        None => source(&topology.source),
    };
    let (from, to) = (named(old), named(new));
    if differences.is_empty() {
        return vec![format!("no difference between {from} and {to}")];
    }
    let mut lines = vec![format!("{} from {from} to {to}", count(differences.len(), "difference"))];
    lines.extend(differences.iter().flat_map(|difference| wrapped("  * ", &difference.words, width)));
    lines
}
