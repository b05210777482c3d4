//! Nodes by their names: which host a node is, and many host names in the short form that Slurm users read
//! (`nid[001001-001064]`).
//!
//! A document of schema 1.0 has no nodes; its ranks have hosts all the same.

use std::collections::BTreeSet;

use report::Document;
use stats::IdSet;
use stats::alike::grouped;

use super::words;

/// The nodes that took part, by their ranks too.
pub(super) fn nodes(document: &Document) -> BTreeSet<u32> {
    document.nodes.iter().map(|node| node.index).chain(document.ranks.iter().map(|rank| rank.node)).collect()
}

/// Whether more than one node took part.
pub(super) fn are_several(document: &Document) -> bool {
    nodes(document).len() > 1
}

/// The host name of a node, without its domain.
pub(super) fn name(document: &Document, node: u32) -> &str {
    let node_host = document.nodes.iter().find(|one| one.index == node).map(|one| &one.host);
    let host =
        node_host.or_else(|| document.ranks.iter().find(|rank| rank.node == node).map(|rank| &rank.host));
    short(host.unwrap_or(&document.environment.hostname))
}

/// `node 3 (nid001004)`, `nodes 0-2,4 (nid[001001-001003,001005])`.
pub(super) fn named(document: &Document, nodes: &IdSet) -> String {
    let word = if nodes.len() > 1 { "nodes" } else { "node" };
    // As many hosts as ids would make a list that nobody reads; the node table has the names.
    let ids = words::ids(nodes);
    match nodes.len() > 1 && ids != nodes.to_string() {
        true => format!("{word} {ids}"),
        false => format!("{word} {ids} ({})", folded(nodes.iter().map(|node| name(document, node)))),
    }
}

/// A host name without its domain. An address stays whole.
pub(super) fn short(host: &str) -> &str {
    let first = host.split('.').next().unwrap_or(host);
    if first.is_empty() || first.bytes().all(|byte| byte.is_ascii_digit()) { host } else { first }
}

/// Host names that differ in their last number only are put together: `nid[001001-001003,001005], login1`.
pub(super) fn folded<'a>(hosts: impl Iterator<Item = &'a str>) -> String {
    // By what stands before the number and how many digits it has.
    let numbered = |host: &'a str| {
        let digits = host.bytes().rev().take_while(u8::is_ascii_digit).count();
        // More digits than a number holds are no number here, and the name stays as it is.
        let digits = if digits > 18 { 0 } else { digits };
        let (stem, number) = host.split_at(host.len() - digits);
        ((stem, digits), number.parse().ok())
    };

    let stems: Vec<((&str, usize), BTreeSet<_>)> = grouped(hosts.map(numbered));
    let shown = stems.into_iter().map(|((stem, digits), numbers)| {
        match &ranges(numbers.into_iter().flatten(), digits)[..] {
            [] => stem.to_owned(),
            [one] if !one.contains('-') => format!("{stem}{one}"),
            several => format!("{stem}[{}]", several.join(",")),
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// `001001-001003`, `001005`.
fn ranges(numbers: impl Iterator<Item = u64>, digits: usize) -> Vec<String> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let shown = |(first, last): (u64, u64)| match first == last {
        true => format!("{first:0digits$}"),
        false => format!("{first:0digits$}-{last:0digits$}"),
    };
    runs.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(hosts: &[&str]) -> String {
        folded(hosts.iter().copied())
    }

    #[test]
    fn hosts_are_folded_as_slurm_does() {
        assert_eq!(fold(&["nid001001", "nid001002", "nid001003", "nid001005"]), "nid[001001-001003,001005]");
        assert_eq!(fold(&["nid001004"]), "nid001004");
        assert_eq!(fold(&["login", "g2", "g10", "g9"]), "login, g[2,9], g10");
        assert_eq!(fold(&["localhost", "localhost"]), "localhost");
        assert_eq!(fold(&["c1-b", "c2-b"]), "c1-b, c2-b");
        assert_eq!(fold(&[]), "");
        assert_eq!(fold(&["x12345678901234567890"]), "x12345678901234567890");
    }

    #[test]
    fn a_domain_is_left_out_and_an_address_is_kept() {
        assert_eq!(short("gpu017.cluster.example.org"), "gpu017");
        assert_eq!(short("10.0.0.17"), "10.0.0.17");
        assert_eq!(short("nid001004"), "nid001004");
        assert_eq!(short(""), "");
    }
}
