//! `numactl -H` (`numactl --hardware`): the CPUs, memory and distances of each NUMA node.

use std::collections::BTreeMap;

use stats::IdSet;

use crate::model::Distances;

/// All that it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Numactl {
    pub(super) nodes: BTreeMap<u32, Node>,
    pub(super) distances: Option<Distances>,
}

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) pus: IdSet,
    pub(super) total_bytes: Option<u64>,
    pub(super) free_bytes: Option<u64>,
}

/// What it says; `None` where no line is its.
pub(super) fn read(lines: &[&str]) -> Option<Numactl> {
    let mut found = Numactl::default();
    let mut order: Vec<u32> = Vec::new();
    let mut rows: Vec<(u32, Vec<u64>)> = Vec::new();
    for line in lines.iter().map(|line| line.trim()) {
        if let Some((number, what, value)) = node_line(line) {
            let node = found.nodes.entry(number).or_default();
            match what {
                "cpus" => node.pus = value.split_whitespace().filter_map(|pu| pu.parse().ok()).collect(),
                "size" => node.total_bytes = mebibytes(value),
                _ => node.free_bytes = mebibytes(value),
            }
        } else if let Some(numbers) = line.strip_prefix("node ").and_then(numbers) {
            order = numbers.into_iter().filter_map(|number| u32::try_from(number).ok()).collect();
        } else if let Some((number, values)) = line.split_once(':')
            && !order.is_empty()
            && let (Ok(number), Some(values)) = (number.trim().parse(), numbers(values))
        {
            rows.push((number, values));
        }
    }

    let is_whole = rows.len() == order.len()
        && rows.iter().zip(&order).all(|((row, values), node)| row == node && values.len() == order.len());
    if is_whole && !order.is_empty() {
        found.distances =
            Some(Distances { nodes: order, rows: rows.into_iter().map(|(_, values)| values).collect() });
    }
    (!found.nodes.is_empty()).then_some(found)
}

/// `node 0 size: 490037 MB` as its number, `size` and the value.
fn node_line(line: &str) -> Option<(u32, &str, &str)> {
    let (head, value) = line.strip_prefix("node ")?.split_once(':')?;
    let (number, what) = head.split_once(' ')?;
    ["cpus", "size", "free"].contains(&what).then_some((number.parse().ok()?, what, value.trim()))
}

/// numactl's MB are 2^20 bytes.
fn mebibytes(value: &str) -> Option<u64> {
    value.strip_suffix(" MB")?.trim().parse::<u64>().ok()?.checked_mul(1 << 20)
}

/// The numbers of a line that holds nothing else.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let numbers: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_with_gaps_and_their_distances_are_read() {
        let text = "available: 2 nodes (0,8)\nnode 0 cpus: 0 1 2\nnode 0 size: 1024 MB\nnode 0 free: 12 MB\n\
            node 8 cpus:\nnode 8 size: 0 MB\nnode 8 free: 0 MB\nnode distances:\n\
            node   0   8 \n  0:  10  40 \n  8:  40  10 \n";
        let found = read(&text.lines().collect::<Vec<_>>()).unwrap_or_default();
        assert_eq!(found.nodes[&0].total_bytes, Some(1 << 30));
        assert_eq!((found.nodes[&0].pus.to_string(), found.nodes[&8].pus.len()), ("0-2".to_owned(), 0));
        assert_eq!(
            found.distances,
            Some(Distances { nodes: vec![0, 8], rows: vec![vec![10, 40], vec![40, 10]] })
        );
        assert_eq!(read(&["node distances:", "a: b"]), None);
    }

    #[test]
    fn distances_that_are_cut_off_are_none() {
        let text = "node 0 cpus: 0\nnode 1 cpus: 1\nnode   0   1\n  0:  10  20\n";
        let found = read(&text.lines().collect::<Vec<_>>()).unwrap_or_default();
        assert_eq!((found.nodes.len(), found.distances), (2, None));
    }
}
