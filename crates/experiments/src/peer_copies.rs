//! Which copies `numabench peer` makes between so many GPUs, who drives each, and its place in the document.
//! Pure.
//!
//! Places are numbered: every pair, then every GPU with itself, then, for copies from one GPU to all others,
//! every pair once more, because there the destination's thread drives it and a place has one PU.
//!
//! nvbandwidth's cases of the same copies by the same GPU (each also `_sm`): all to one is its
//! `all_to_one_write_ce` with `--by source` and `one_to_all_read_ce` with `--by destination`; one to all is
//! `one_to_all_write_ce` and `all_to_one_read_ce`. A copy within a GPU counts each byte once, as
//! `device_local_copy` does; CUDA's p2pBandwidthLatencyTest prints twice that.

/// One copy, by the numbers of the GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneCopy {
    /// Where the bytes come from.
    pub from: usize,
    /// Where they go.
    pub to: usize,
    /// The GPU whose thread drives it: that one's rank.
    pub rank: usize,
    /// Its place.
    pub place: usize,
}

/// From each GPU to each other.
pub fn pairs(gpus: usize) -> Vec<OneCopy> {
    let ends = (0..gpus).flat_map(|from| (0..gpus).map(move |to| (from, to))).filter(|(from, to)| from != to);
    ends.enumerate().map(|(place, (from, to))| OneCopy { from, to, rank: from, place }).collect()
}

/// Within each GPU's memory.
pub fn local(gpus: usize) -> Vec<OneCopy> {
    let first = pairs(gpus).len();
    (0..gpus).map(|gpu| OneCopy { from: gpu, to: gpu, rank: gpu, place: first + gpu }).collect()
}

/// Of each GPU all others' copies to it, each driven by its source.
pub fn all_to_one(gpus: usize) -> Vec<Vec<OneCopy>> {
    (0..gpus).map(|one| pairs(gpus).into_iter().filter(|copy| copy.to == one).collect()).collect()
}

/// Of each GPU its copies to all others, each driven by its destination.
pub fn one_to_all(gpus: usize) -> Vec<Vec<OneCopy>> {
    let first = pairs(gpus).len() + gpus;
    let driven = |copy: OneCopy| OneCopy { rank: copy.to, place: first + copy.place, ..copy };
    (0..gpus)
        .map(|one| pairs(gpus).into_iter().filter(|copy| copy.from == one).map(driven).collect())
        .collect()
}

/// One copy of each place, in order; those after the pairs and the GPUs themselves only with copies of `all`
/// at once.
pub fn every(gpus: usize, all: bool) -> Vec<OneCopy> {
    let again = if all { one_to_all(gpus).concat() } else { Vec::new() };
    [pairs(gpus), local(gpus), again].concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn copies_at_once_have_a_rank_each_and_every_place_is_one_pair_driven_by_one_gpu() {
        for gpus in 1..6 {
            let places = every(gpus, true);
            assert!(places.iter().enumerate().all(|(number, copy)| copy.place == number), "{places:?}");
            for at_once in [all_to_one(gpus), one_to_all(gpus)].concat() {
                let ranks: BTreeSet<usize> = at_once.iter().map(|copy| copy.rank).collect();
                assert_eq!((at_once.len(), ranks.len()), (gpus - 1, gpus - 1));
                assert!(
                    at_once
                        .iter()
                        .all(|copy| copy.from != copy.to && [copy.from, copy.to].contains(&copy.rank))
                );
                assert!(at_once.iter().all(|copy| places[copy.place] == *copy), "{at_once:?}");
            }
        }
    }

    #[test]
    fn all_copy_to_one_and_one_to_all() {
        let ends = |copies: &[OneCopy]| copies.iter().map(|copy| (copy.from, copy.to)).collect::<Vec<_>>();
        assert_eq!(ends(&all_to_one(3)[1]), [(0, 1), (2, 1)]);
        assert_eq!(ends(&one_to_all(3)[1]), [(1, 0), (1, 2)]);
    }
}
