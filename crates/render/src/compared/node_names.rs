//! Nodes in a sentence: the first ones by name, and how many more.

/// So many nodes are named in a sentence.
const MOST_NAMES: usize = 8;

/// `nid1, nid2 and 7 more`.
pub(super) fn names(hosts: &[&str]) -> String {
    let shown = hosts.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    if hosts.len() > MOST_NAMES { format!("{shown} and {} more", hosts.len() - MOST_NAMES) } else { shown }
}
