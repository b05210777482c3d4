//! Which of many pairs stand for all: a seeded sample in which everyone takes part each way and every class
//! of link is there, twice where the sample is large enough.
//!
//! Pairs grow with the square of the members: 16 GPUs have 240. A sample is a small cover, filled up at
//! random. The cover is greedy: pairs in a random order, first those that are needed for the most, then what
//! others have made needless is left out. The smallest of [`TRIES`] covers counts, because a greedy one may
//! end with a member that is left to itself. Nothing here knows what a class is: a number for each.

use crate::random::SplitMix64;

/// How many covers are made.
const TRIES: usize = 64;
/// How often each class is to be there.
const CLASS_TWICE: usize = 2;
const CLASS_ONCE: usize = 1;
/// The most that one pair can be needed for: both of its ends, and its class.
const MOST_NEEDED: usize = 3;

/// A pair that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPair {
    /// The member that it begins at.
    pub from: usize,
    /// The member that it ends at.
    pub to: usize,
    /// What lies between them, by a number of the caller's.
    pub class: usize,
}

/// Which ends of its pairs each member must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberEnds {
    /// It begins one and ends one: a pair and its reverse are two.
    Each,
    /// It has one, at whichever end.
    Either,
}

/// What is still needed, and what takes part how often.
struct Cover<'p> {
    pairs: &'p [LinkPair],
    ends: MemberEnds,
    /// How often each class is needed.
    demand: Vec<usize>,
    /// How many chosen pairs begin and end at each member; where either will do, the first counts both.
    at: [Vec<usize>; 2],
    of_class: Vec<usize>,
}

impl Cover<'_> {
    /// The ends of a pair as [`Cover::at`] counts them.
    fn slots(&self, pair: &LinkPair) -> [(usize, usize); 2] {
        [(0, pair.from), (usize::from(self.ends == MemberEnds::Each), pair.to)]
    }

    /// For how much this pair is needed.
    fn gain(&self, pair: &LinkPair) -> usize {
        let new_ends = self.slots(pair).into_iter().filter(|(end, member)| self.at[*end][*member] == 0);
        new_ends.count() + usize::from(self.of_class[pair.class] < self.demand[pair.class])
    }

    /// Whether nothing is missing without this pair, which is chosen.
    fn is_needless(&self, pair: &LinkPair) -> bool {
        self.slots(pair).into_iter().all(|(end, member)| self.at[end][member] > 1)
            && self.of_class[pair.class] > self.demand[pair.class]
    }

    fn add(&mut self, pair: &LinkPair) {
        self.slots(pair).into_iter().for_each(|(end, member)| self.at[end][member] += 1);
        self.of_class[pair.class] += 1;
    }

    fn remove(&mut self, pair: &LinkPair) {
        self.slots(pair).into_iter().for_each(|(end, member)| self.at[end][member] -= 1);
        self.of_class[pair.class] -= 1;
    }

    /// Chooses pairs of this order until nothing is missing.
    fn choose(mut self, order: &[usize]) -> Vec<usize> {
        let pairs = self.pairs;
        let (mut chosen, mut is_chosen) = (Vec::new(), vec![false; pairs.len()]);
        // What a pair is needed for only shrinks: one pass for each number of needs finds all that have it.
        for needed in (1..=MOST_NEEDED).rev() {
            for at in order {
                if !is_chosen[*at] && self.gain(&pairs[*at]) >= needed {
                    self.add(&pairs[*at]);
                    is_chosen[*at] = true;
                    chosen.push(*at);
                }
            }
        }

        chosen.retain(|at| {
            let needless = self.is_needless(&pairs[*at]);
            if needless {
                self.remove(&pairs[*at]);
            }
            !needless
        });
        chosen
    }
}

/// A small cover by these pairs, each class so often, or as often as there are pairs of it.
fn cover(pairs: &[LinkPair], ends: MemberEnds, often: usize, random: &mut SplitMix64) -> Vec<usize> {
    let members = pairs.iter().map(|pair| pair.from.max(pair.to) + 1).max().unwrap_or(0);
    let classes = pairs.iter().map(|pair| pair.class + 1).max().unwrap_or(0);
    let mut demand = vec![0; classes];
    pairs.iter().for_each(|pair| demand[pair.class] = often.min(demand[pair.class] + 1));
    let mut order: Vec<usize> = (0..pairs.len()).collect();

    let tries = (0..TRIES).map(|_| {
        random.shuffle(&mut order);
        let at = [vec![0; members], vec![0; members]];
        let empty = Cover { pairs, ends, demand: demand.clone(), at, of_class: vec![0; classes] };
        empty.choose(&order)
    });
    tries.min_by_key(Vec::len).unwrap_or_default()
}

/// The numbers of `count` of the pairs, in order, or of more where fewer would leave out a member or a class.
/// Each class is there twice where that fits, else once.
pub fn sample(pairs: &[LinkPair], ends: MemberEnds, count: usize, seed: u64) -> Vec<usize> {
    let mut random = SplitMix64::new(seed);
    let mut chosen = cover(pairs, ends, CLASS_TWICE, &mut random);
    if chosen.len() > count {
        chosen = cover(pairs, ends, CLASS_ONCE, &mut random);
    }

    let mut others: Vec<usize> = (0..pairs.len()).filter(|at| !chosen.contains(at)).collect();
    random.shuffle(&mut others);
    chosen.extend(others.into_iter().take(count.saturating_sub(chosen.len())));
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::collections::BTreeSet;

    use super::*;

    /// All pairs of so many members, each way or once, of classes that this says.
    fn all(members: usize, ends: MemberEnds, class: impl Fn(usize, usize) -> usize) -> Vec<LinkPair> {
        let two = (0..members).flat_map(|from| (0..members).map(move |to| (from, to)));
        two.filter(|(from, to)| if ends == MemberEnds::Each { from != to } else { from < to })
            .map(|(from, to)| LinkPair { from, to, class: class(from, to) })
            .collect()
    }

    /// How often the chosen pairs have each of the first `classes` classes.
    fn often(pairs: &[LinkPair], chosen: &[usize], classes: usize) -> Vec<usize> {
        (0..classes).map(|class| chosen.iter().filter(|at| pairs[**at].class == class).count()).collect()
    }

    /// Whether every member takes part as it must, and every class is there so often or has no more pairs.
    fn covers(pairs: &[LinkPair], chosen: &[usize], ends: MemberEnds, times: usize) -> bool {
        let of = |pair: &LinkPair| chosen.iter().any(|at| pairs[*at] == *pair);
        let takes_part = |pair: &LinkPair| match ends {
            MemberEnds::Each => {
                let begins = pairs.iter().any(|other| other.from == pair.from && of(other));
                begins && pairs.iter().any(|other| other.to == pair.to && of(other))
            }
            MemberEnds::Either => [pair.from, pair.to]
                .iter()
                .all(|one| pairs.iter().any(|other| [other.from, other.to].contains(one) && of(other))),
        };
        let is_there = |class: usize| {
            let there = pairs.iter().filter(|pair| pair.class == class).count();
            chosen.iter().filter(|at| pairs[**at].class == class).count() >= times.min(there)
        };
        pairs.iter().all(|pair| takes_part(pair) && is_there(pair.class))
    }

    /// The least number of pairs that cover, by trying every set of them.
    fn least(pairs: &[LinkPair], ends: MemberEnds, times: usize) -> usize {
        let set = |bits: u32| (0..pairs.len()).filter(|at| bits >> at & 1 == 1).collect::<Vec<_>>();
        let sets = (0..1_u32 << pairs.len()).filter(|bits| covers(pairs, &set(*bits), ends, times));
        sets.map(u32::count_ones).min().unwrap_or(0) as usize
    }

    proptest! {
        #[test]
        fn everyone_takes_part_each_class_is_there_and_no_pair_is_too_many(
            members in 2_usize..=16,
            classes in 1_usize..=5,
            count in 0_usize..300,
            both in any::<bool>(),
            seed in any::<u64>(),
        ) {
            let ends = if both { MemberEnds::Either } else { MemberEnds::Each };
            let pairs = all(members, ends, |from, to| (from.min(to) * 7 + from.max(to) * 3) % classes);
            let chosen = sample(&pairs, ends, count, seed);
            prop_assert!(covers(&pairs, &chosen, ends, CLASS_ONCE));
            prop_assert!(chosen.is_sorted_by(|one, other| one < other), "each once, in order");
            prop_assert_eq!(&chosen, &sample(&pairs, ends, count, seed));
            // A cover takes a pair for each end and each class at most, and that is the most beyond the count.
            prop_assert!(chosen.len() <= count.max(2 * members + classes));
            prop_assert!(chosen.len() >= count.min(pairs.len()));
        }
    }

    #[test]
    fn more_than_was_asked_for_is_taken_only_where_no_fewer_would_do() {
        let mut random = SplitMix64::new(11);
        for members in 2..=4 {
            for ends in [MemberEnds::Each, MemberEnds::Either] {
                for seed in 0..20 {
                    let classes: Vec<usize> = (0..16).map(|_| random.below(3)).collect();
                    let pairs = all(members, ends, |from, to| classes[from * 4 + to]);
                    let (once, twice) = (least(&pairs, ends, CLASS_ONCE), least(&pairs, ends, CLASS_TWICE));
                    let of = |count| sample(&pairs, ends, count, seed);
                    assert_eq!(of(0).len(), once, "{pairs:?}");
                    assert_eq!(of(twice).len(), twice, "{pairs:?}");
                    assert!(covers(&pairs, &of(twice), ends, CLASS_TWICE), "{pairs:?}");
                }
            }
        }
    }

    #[test]
    fn sixteen_gpus_below_four_switches_need_sixteen_pairs_each_class_twice() {
        // Two of a class below a switch of four, within a half of eight, across the halves.
        let class = |from: usize, to: usize| match (from / 4 == to / 4, from / 8 == to / 8) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        let pairs = all(16, MemberEnds::Each, class);
        let mut seen = BTreeSet::new();
        for seed in 0..20 {
            let chosen = sample(&pairs, MemberEnds::Each, 16, seed);
            assert_eq!((pairs.len(), chosen.len()), (240, 16));
            assert!(often(&pairs, &chosen, 3).iter().all(|times| *times >= 2), "{chosen:?}");
            seen.insert(chosen);
        }
        assert!(seen.len() > 15, "other seeds choose other pairs");
    }

    #[test]
    fn what_is_left_of_the_count_is_any_of_the_other_pairs() {
        let pairs = all(8, MemberEnds::Each, |_, _| 0);
        let mut times = vec![0; pairs.len()];
        (0..500).flat_map(|seed| sample(&pairs, MemberEnds::Each, 20, seed)).for_each(|at| times[at] += 1);
        // 500 × 20 / 56 = 179 expected each; the standard deviation is 11, five of them allowed.
        assert!(times.iter().all(|times: &i32| (times - 179).abs() < 55), "{times:?}");
        assert_eq!(sample(&pairs, MemberEnds::Each, 56, 3).len(), 56);
        assert!(sample(&[], MemberEnds::Each, 3, 1).is_empty());
    }
}
