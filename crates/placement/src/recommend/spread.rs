//! Ranks over NUMA nodes: as many on each as on any other, as far as each has cores for them.

use super::pool::Pool;
use super::split::split;

/// Cores for each of `count` ranks, from these: neighbours in rank stay neighbours, and none is on two nodes.
pub(super) fn spread(pool: &Pool<'_>, cores: &[usize], count: usize) -> Vec<Vec<usize>> {
    let on = |node: Option<u32>| -> Vec<usize> {
        cores.iter().copied().filter(|core| pool.cores[*core].node == node).collect()
    };
    let nodes: Vec<Vec<usize>> = pool.nodes().into_iter().map(on).filter(|cores| !cores.is_empty()).collect();
    let room: Vec<usize> = nodes.iter().map(Vec::len).collect();
    let counts = counts(&room, count);
    nodes.iter().zip(counts).flat_map(|(cores, count)| split(pool, cores, count)).collect()
}

/// How many of `count` ranks each node gets, which has room for so many; the rest go evenly on top where
/// there is room for none.
fn counts(room: &[usize], count: usize) -> Vec<usize> {
    let nodes = room.len();
    let mut counts = vec![0; nodes];
    if nodes == 0 {
        return counts;
    }
    if count < nodes {
        (0..count).for_each(|rank| counts[rank * nodes / count] += 1);
        return counts;
    }
    for rank in 0..count {
        let has_room = |node: &usize| counts[*node] < room[*node];
        let fewest = (0..nodes).filter(has_room).min_by_key(|node| counts[*node]);
        counts[fewest.unwrap_or(rank % nodes)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_get_as_many_ranks_as_each_other_as_far_as_they_have_cores() {
        assert_eq!(counts(&[8, 8], 8), [4, 4]);
        assert_eq!(counts(&[8, 8], 3), [2, 1]);
        assert_eq!(counts(&[2, 14], 8), [2, 6]);
        assert_eq!(counts(&[14, 2], 2), [1, 1]);
        assert_eq!(counts(&[1, 1, 8], 6), [1, 1, 4]);
        assert_eq!(counts(&[], 3), [0; 0]);
    }

    #[test]
    fn fewer_ranks_than_nodes_leave_gaps_of_one_size() {
        assert_eq!(counts(&[4; 4], 2), [1, 0, 1, 0]);
        assert_eq!(counts(&[4; 8], 3), [1, 0, 1, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn more_ranks_than_cores_are_as_even() {
        assert_eq!(counts(&[1, 1], 6).iter().sum::<usize>(), 6);
        assert_eq!(counts(&[1, 1], 6), [3, 3]);
    }
}
