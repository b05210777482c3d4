//! Cases of one document that are compared with each other: which are worse than which for certain, and which are alike.
//!
//! One file for every such verdict (places of a matrix, ranks at once, pairs of GPUs, MPI's places), because all promise the same:
//!
//! * *null*: the two cases have one level (`stats::level`, Welch's t of logarithms);
//! * *unit*: a block, counted for as many independent ones as the blocks of this kind of case are worth (`stats::scatter`: allocations, neighbours);
//! * *correction*: Holm's over all claims of the family, so that one of them is wrong in at most one document of twenty. A comparison with the best of several takes
//!   all pairs into the family, because chance chose the best;
//!   Where there are many claims a case may also differ *beside the others*: by more than the second widest error of its kind makes in as many claims, and by its own error
//!   as one of a few (`stats::family` says why). Half of a rate is so found with three blocks, and with allocations that differ by 3 %. Each way has half of the chance;
//! * *alike* is said where two one-sided tests say so, within 1 %, of as many pairs as Hochberg's method allows: of all of them where each is; what is neither is undecided.

use std::collections::BTreeMap;

use stats::alpha::ALPHA;
use stats::block_interval::BlockValue;
use stats::family::{NOISIER, by_itself_or_beside, normal_p};
use stats::holm::hochberg;
use stats::level::Level;
use stats::scatter::Scatter;

/// Ratios from one over this to this are no difference: the half-width at which measuring stops is what a case can resolve.
const SAME: f64 = 1.01;

/// Fewer cases of one kind do not show how it scatters.
const FEW: usize = 3;

/// Nor do cases that have fewer differences between blocks than this together: four of three blocks say of two modes what is chance.
const FEW_DIFFERENCES: usize = 16;
/// Fewer cases do not show how much the blocks of a kind hang together: all kinds of so few do.
const SEVERAL: usize = 7;
/// The number of all kinds of so few.
const OF_FEW: usize = usize::MAX;

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseFinding {
    /// Within 1 % for certain.
    Same,
    /// For certain.
    Worse,
    /// For certain: the other one is worse.
    Better,
    /// None of these.
    Undecided,
}

impl CaseFinding {
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
pub struct FamilyCase<'a> {
    /// Cases of one number scatter alike: of one direction, size and kind of memory.
    pub kind: usize,
    /// Whether less is better.
    pub is_time: bool,
    /// Its blocks, in the order measured.
    pub blocks: &'a [BlockValue],
}

/// Cases that are compared with each other.
pub struct CaseFamily {
    /// Of each case its level, where it has one, and whether less is better.
    levels: Vec<(Option<Level>, bool)>,
    /// Of each case the second widest squared error of its kind, where there are several.
    errors: Vec<Option<f64>>,
    /// Of each case what its blocks do not show of another allocation.
    unseen: Vec<Level>,
}

impl CaseFamily {
    /// The family of these; what is there twice shows once how its kind scatters.
    pub fn of(members: &[FamilyCase]) -> Self {
        let mut kinds: BTreeMap<usize, Vec<&[BlockValue]>> = BTreeMap::new();
        for FamilyCase { kind, blocks, .. } in members {
            let alike = kinds.entry(*kind).or_default();
            if !alike.contains(blocks) {
                alike.push(blocks);
            }
        }
        // A few cases do not show how their kind scatters: all that are of such kinds are taken together.
        let differences =
            |cases: &[&[BlockValue]]| cases.iter().map(|case| case.len().saturating_sub(1)).sum::<usize>();
        let is_few = |cases: &[&[BlockValue]]| cases.len() < FEW || differences(cases) < FEW_DIFFERENCES;
        let few: Vec<usize> = kinds.iter().filter(|(_, cases)| is_few(cases)).map(|(kind, _)| *kind).collect();
        let of_small = Scatter::of(kinds.values().filter(|cases| cases.len() < SEVERAL).flatten().copied());
        let joined: Vec<&[BlockValue]> = few.iter().flat_map(|kind| kinds[kind].clone()).collect();
        kinds.retain(|kind, _| !few.contains(kind));
        let kind_of = |member: &FamilyCase| if few.contains(&member.kind) { OF_FEW } else { member.kind };
        kinds.insert(OF_FEW, joined);
        let scatter = |cases: Vec<&[BlockValue]>| match cases.len() < SEVERAL {
            true => Scatter::of(cases).hanging_together_as(&of_small),
            false => Scatter::of(cases),
        };
        let scatters: BTreeMap<usize, Scatter> =
            kinds.into_iter().map(|(kind, cases)| (kind, scatter(cases))).collect();
        let level = |member: &FamilyCase| Level::of(member.blocks, scatters.get(&kind_of(member))?);
        let levels: Vec<Option<Level>> = members.iter().map(level).collect();
        let mut widest: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (member, level) in members.iter().zip(&levels) {
            widest.entry(kind_of(member)).or_default().extend(level.map(|level| level.squared_error()));
        }
        widest.values_mut().for_each(|errors| errors.sort_unstable_by(|a, b| b.total_cmp(a)));
        let second =
            |member: &FamilyCase| widest.get(&kind_of(member)).filter(|errors| errors.len() > NOISIER)?.get(1).copied();
        Self {
            errors: members.iter().map(second).collect(),
            unseen: members.iter().map(|member| Level::of_another_allocation(member.blocks)).collect(),
            levels: levels.into_iter().zip(members).map(|(level, member)| (level, member.is_time)).collect(),
        }
    }

    /// What the second of each two is against the first. All of them are one family of claims.
    pub fn findings(&self, pairs: &[(usize, usize)]) -> Vec<CaseFinding> {
        let ratios: Vec<Option<Level>> = pairs.iter().map(|(one, other)| self.ratio(*other, *one)).collect();
        let alike: Vec<f64> =
            ratios.iter().map(|ratio| ratio.as_ref().map_or(1.0, |ratio| ratio.p_within(SAME))).collect();
        let (differ, alike) = (self.differ(pairs, &ratios), hochberg(&alike));
        let finding = |(at, ratio): (usize, &Option<Level>)| {
            let Some(ratio) = ratio else { return CaseFinding::Undecided };
            let is_worse = (ratio.mean > 0.0) == self.levels[pairs[at].0].1;
            match differ[at] < ALPHA {
                _ if alike[at] <= ALPHA => CaseFinding::Same,
                true if is_worse => CaseFinding::Worse,
                true => CaseFinding::Better,
                false => CaseFinding::Undecided,
            }
        };
        ratios.iter().enumerate().map(finding).collect()
    }

    /// What the second of each two is against the first, of cases two after each other.
    pub fn in_twos(&self) -> Vec<CaseFinding> {
        let pairs: Vec<(usize, usize)> = (0..self.levels.len() / 2).map(|at| (2 * at, 2 * at + 1)).collect();
        self.findings(&pairs)
    }

    /// What every two of a set are, for sets of so many cases after each other. All sets are one family of claims.
    pub fn within_sets(&self, sizes: impl Iterator<Item = usize>) -> Vec<ComparedSet> {
        let begins = |next: &mut usize, size: usize| {
            let first = *next;
            *next += size;
            Some((first, size))
        };
        let sets: Vec<(usize, usize)> = sizes.scan(0, begins).collect();
        let pairs = |(first, size): &(usize, usize)| {
            let first = *first;
            all_pairs(*size).map(move |(one, other)| (first + one, first + other))
        };
        let mut findings = self.findings(&sets.iter().flat_map(pairs).collect::<Vec<_>>()).into_iter();
        let set = |(first, size)| ComparedSet { first, found: all_pairs(size).zip(findings.by_ref()).collect() };
        sets.into_iter().map(set).collect()
    }

    /// The adjusted p-values of differences: by each two's own error, or beside the other cases.
    fn differ(&self, pairs: &[(usize, usize)], ratios: &[Option<Level>]) -> Vec<f64> {
        let unseen = |(one, other): (usize, usize)| self.unseen[one].plus(self.unseen[other]);
        let own: Vec<f64> = (ratios.iter().zip(pairs))
            .map(|(ratio, pair)| ratio.map_or(1.0, |ratio| ratio.plus(unseen(*pair)).p_value()))
            .collect();
        let of_all = |at: usize| {
            let (one, other) = pairs[at];
            let error = (self.errors[one]? + self.errors[other]? + unseen(pairs[at]).squared_error()).sqrt();
            Some(if error > 0.0 { normal_p(ratios[at]?.mean / error) } else { 1.0 })
        };
        by_itself_or_beside(&own, of_all)
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

/// Cases of which every two are compared.
pub struct ComparedSet {
    /// The number of the first of them in the family.
    pub first: usize,
    /// By two of the set's own numbers: what the second is against the first.
    found: Vec<((usize, usize), CaseFinding)>,
}

impl ComparedSet {
    /// What one of them is against another; it is the same as itself.
    pub fn finding(&self, of: usize, against: usize) -> CaseFinding {
        let found = |pair: (usize, usize)| self.found.iter().find(|(at, _)| *at == pair).map(|(_, finding)| *finding);
        match of == against {
            true => CaseFinding::Same,
            false => found((against, of))
                .or_else(|| found((of, against)).map(CaseFinding::turned))
                .unwrap_or(CaseFinding::Undecided),
        }
    }

    /// What each two of them are.
    pub fn findings(&self) -> impl Iterator<Item = CaseFinding> {
        self.found.iter().map(|(_, finding)| *finding)
    }
}

/// Every two of so many.
pub fn all_pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |one| (one + 1..count).map(move |other| (one, other)))
}
