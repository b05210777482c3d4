//! Nodes that have the same to show are shown once: of sixty-four nodes with the same GPUs in the same places
//! a reader wants one list, and to be told of the node that is otherwise.

use report::Document;
use stats::IdSet;
use stats::alike::grouped;

use super::hosts;

/// More ways than this are not all shown: then nearly every node is its own, and the document has them.
const MOST_WAYS: usize = 4;

/// Nodes that show the same.
pub(super) struct Alike<T> {
    pub(super) nodes: IdSet,
    pub(super) what: T,
}

/// The document's nodes by what each of them shows, the most common first.
pub(super) fn alike<T: PartialEq>(document: &Document, of: impl Fn(u32) -> T) -> Vec<Alike<T>> {
    let ways = grouped(hosts::nodes(document).into_iter().map(|node| (of(node), node)));
    let mut ways: Vec<Alike<T>> = ways.into_iter().map(|(what, nodes)| Alike { nodes, what }).collect();
    ways.sort_by_key(|way| std::cmp::Reverse(way.nodes.len()));
    ways
}

/// The ways that are shown, and what is said of the others.
pub(super) fn shown<T>(mut ways: Vec<Alike<T>>) -> (Vec<Alike<T>>, Option<String>) {
    let left_out: usize = ways.iter().skip(MOST_WAYS).map(|way| way.nodes.len()).sum();
    let others = ways.len().saturating_sub(MOST_WAYS);
    ways.truncate(MOST_WAYS);
    let said = format!("{left_out} more nodes have {others} other ways: they are in the document");
    (ways, (left_out > 0).then_some(said))
}

/// `on all 64 nodes`, `on node 3 (nid001004)`.
pub(super) fn on(document: &Document, nodes: &IdSet) -> String {
    let all = hosts::nodes(document).len();
    if nodes.len() == all {
        format!("on all {all} nodes")
    } else {
        format!("on {}", hosts::named(document, nodes))
    }
}
