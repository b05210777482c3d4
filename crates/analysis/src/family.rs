//! Cases of one document that are compared with each other: which are worse than which for certain, and which are alike.
//!
//! One file for every such verdict (places of a matrix, ranks at once, pairs of GPUs, MPI's places), because all promise the same:
//!
//! * *null*: the two cases have one level (`stats::level`, Welch's t of logarithms);
//! * *unit*: a block, counted for as many independent ones as the blocks of this kind of case are worth (`stats::scatter`: allocations, neighbours);
//! * *correction*: Holm's over all claims of the family, so that one of them is wrong in at most one document of twenty. A comparison with the best of several takes
//!   all pairs into the family, because chance chose the best;
//! * *alike* is said where two one-sided tests say so, within 1 %; what is neither is undecided.

use std::collections::BTreeMap;

use stats::alpha::CONFIDENCE;
use stats::block_interval::BlockValue;
use stats::holm::holm;
use stats::level::Level;
use stats::scatter::Scatter;

/// The chance that cases alike are said to differ, over all that a family says.
pub const ALPHA: f64 = 0.05;

/// Ratios from one over this to this are no difference: the half-width at which measuring stops is what a case can resolve.
const SAME: f64 = 1.01;

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Within 1 % for certain.
    Same,
    /// For certain.
    Worse,
    /// For certain: the other one is worse.
    Better,
    /// None of these.
    Undecided,
}

impl Finding {
    /// What the first is against the second, where this is what the second is against the first.
    pub fn turned(self) -> Self {
        match self {
            Self::Worse => Self::Better,
            Self::Better => Self::Worse,
            other => other,
        }
    }
}

/// A case.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Cases of one number scatter alike: of one direction, size and kind of memory.
    pub kind: usize,
    /// Whether less is better.
    pub is_time: bool,
    /// Its blocks, in the order measured.
    pub blocks: &'a [BlockValue],
}

/// Cases that are compared with each other.
pub struct Family {
    /// Of each case its level, where it has one, and whether less is better.
    levels: Vec<(Option<Level>, bool)>,
}

impl Family {
    /// The family of these; what is there twice shows once how its kind scatters.
    pub fn of(members: &[Member]) -> Self {
        let mut kinds: BTreeMap<usize, Vec<&[BlockValue]>> = BTreeMap::new();
        for Member { kind, blocks, .. } in members {
            let alike = kinds.entry(*kind).or_default();
            if !alike.contains(blocks) {
                alike.push(blocks);
            }
        }
        let scatters: BTreeMap<usize, Scatter> =
            kinds.into_iter().map(|(kind, cases)| (kind, Scatter::of(cases))).collect();
        let level = |member: &Member| Level::of(member.blocks, scatters.get(&member.kind)?);
        Self { levels: members.iter().map(|member| (level(member), member.is_time)).collect() }
    }

    /// What the second of each two is against the first. All of them are one family of claims.
    pub fn findings(&self, pairs: &[(usize, usize)]) -> Vec<Finding> {
        let ratios: Vec<Option<Level>> = pairs.iter().map(|(one, other)| self.ratio(*other, *one)).collect();
        let p_values: Vec<f64> = ratios.iter().map(|ratio| ratio.map_or(1.0, |ratio| ratio.p_value())).collect();
        let finding = |((pair, ratio), p): ((&(usize, usize), Option<Level>), f64)| {
            let Some(ratio) = ratio else { return Finding::Undecided };
            let is_worse = (ratio.mean > 0.0) == self.levels[pair.0].1;
            match p < ALPHA {
                _ if ratio.is_within(SAME, CONFIDENCE) => Finding::Same,
                true if is_worse => Finding::Worse,
                true => Finding::Better,
                false => Finding::Undecided,
            }
        };
        pairs.iter().zip(ratios).zip(holm(&p_values)).map(finding).collect()
    }

    /// Whether a case is no more than 1 % worse than another one, with so small a chance of an error.
    pub fn is_no_worse(&self, of: usize, than: usize, chance: f64) -> bool {
        let p = |ratio: Level| match self.levels[of].1 {
            true => ratio.p_below(SAME.ln()),
            false => ratio.p_above(-SAME.ln()),
        };
        self.ratio(of, than).is_some_and(|ratio| p(ratio) <= chance)
    }

    fn ratio(&self, of: usize, over: usize) -> Option<Level> {
        Some(self.levels[of].0?.over(self.levels[over].0?))
    }
}

/// Every two of so many.
pub fn all_pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |one| (one + 1..count).map(move |other| (one, other)))
}
