//! Cases of one document that are compared with each other: which are worse than which for certain, and which
//! are alike.
//!
//! One file for every such verdict (places of a matrix, ranks at once, pairs of GPUs, kernels, MPI's places),
//! because all promise the same:
//!
//! * *null*: the two cases have one level;
//! * *pairs*: cases take turns in passes, and what the machine does to a pass it does to all of them. So a
//!   comparison is of the ratios of blocks of the same pass (a paired t of their logarithms): a drift, a step
//!   or a mode that all cases share cancels. Blocks of passes that only one of the two has do not count;
//! * *unit*: a ratio, counted for as many independent ones as the ratios of this kind of case are worth
//!   (`stats::scatter`: allocations, neighbours);
//! * *error*: each comparison's own, taken together with that of the others of its kind
//!   (`stats::moderated_levels`);
//! * *correction*: Holm's over all claims of the family, so that one of them is wrong in at most one document
//!   of twenty. A comparison with the best of several takes all pairs into the family, because chance chose
//!   the best;
//! * *alike* is said where two one-sided tests say so, within 1 %, of as many pairs as Hochberg's method
//!   allows: of all of them where each is; what is neither is undecided.
//!
//! Where the blocks are on one allocation of memory another is taken to move each case by 1 %, which is known
//! no better than from a few allocations.

use std::collections::BTreeMap;

use stats::alpha::{ALPHA, CONFIDENCE};
use stats::block_interval::{BlockValue, values};
use stats::compare::{TwoSampleComparison, TwoSampleVerdict, cliffs_delta};
use stats::holm::{hochberg, holm};
use stats::level::Level;
use stats::moderated_levels::{OfKind, moderated};
use stats::scatter::Scatter;

use crate::passes::{Moments, passes};

/// Ratios from one over this to this are no difference: the half-width at which measuring stops is what a
/// case can resolve.
const SAME: f64 = 1.01;

/// Fewer comparisons of one kind do not show how it scatters.
const FEW: usize = 3;
/// Nor do comparisons that have fewer differences between blocks than this together: four of three blocks say
/// of two modes what is chance.
const FEW_DIFFERENCES: usize = 16;
/// The number of all kinds of so few.
const OF_FEW: usize = usize::MAX;
/// From so many comparisons on a kind shows by itself how much its blocks hang together; others show it
/// together.
const MANY: usize = 16;

/// How many differences the effect of another allocation counts for, where it is assumed and not seen.
const ASSUMED_FREEDOM: f64 = 4.0;

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
    /// When they began.
    pub began: Moments<'a>,
}

impl FamilyCase<'_> {
    fn is_same(&self, other: &Self) -> bool {
        (self.kind, self.began, self.blocks) == (other.kind, other.began, other.blocks)
    }
}

/// A case's blocks with their passes.
type InPasses<'a> = (&'a [BlockValue], &'a [u32]);

/// One case over another one, in each pass that both have. What is on other memory than the pass before has
/// another number of an allocation.
fn ratios_by_pass((blocks, passes): InPasses, (base, its_passes): InPasses) -> Vec<BlockValue> {
    let mut ratios: Vec<BlockValue> = Vec::new();
    let (mut at, mut before) = (0, None);
    for (block, pass) in blocks.iter().zip(passes) {
        while its_passes.get(at).is_some_and(|other| other < pass) {
            at += 1;
        }
        if its_passes.get(at) == Some(pass) {
            let memory = [block.allocation, base[at].allocation];
            let number = ratios.last().map_or(0, |last| last.allocation + u32::from(before != Some(memory)));
            before = Some(memory);
            ratios.push(BlockValue { value: block.value / base[at].value, allocation: number });
        }
    }
    ratios
}

/// What the second case of two is against the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaseComparison {
    /// What it comes to.
    pub finding: CaseFinding,
    /// The logarithm of their ratio, where there are ratios enough; upside down of times, so that more is
    /// better.
    pub ratio: Option<Level>,
    /// The p-value of there being no difference, adjusted for all comparisons of the family.
    pub p_value: f64,
}

impl CaseComparison {
    /// Whether the second surely has no less than this part of the first, with so small a chance of an error.
    pub fn keeps(&self, part: f64, chance: f64) -> bool {
        self.ratio.is_some_and(|ratio| ratio.p_above(part.ln()) <= chance)
    }

    /// Whether the second surely has less than this part of the first, where one of so many is asked.
    pub fn is_below(&self, part: f64, of: usize) -> bool {
        self.ratio.is_some_and(|ratio| ratio.p_below(part.ln()) * of as f64 <= ALPHA)
    }

    /// What the first is against the second.
    fn turned(self) -> Self {
        Self { finding: self.finding.turned(), ratio: self.ratio.map(|ratio| ratio.times(-1.0)), ..self }
    }
}

/// Cases that are compared with each other.
pub struct CaseFamily<'a> {
    members: Vec<FamilyCase<'a>>,
    /// The pass of each block of each of them.
    passes: Vec<Vec<u32>>,
}

impl<'a> CaseFamily<'a> {
    /// The family of these.
    pub fn of(members: Vec<FamilyCase<'a>>) -> Self {
        let passes = passes(&members.iter().map(|case| (case.began, case.blocks.len())).collect::<Vec<_>>());
        Self { members, passes }
    }

    /// What the second of each two is against the first. All of them are one family of claims.
    pub fn comparisons(&self, pairs: &[(usize, usize)]) -> Vec<CaseComparison> {
        let ratios = self.ratios(pairs);
        let p_of = |p: &dyn Fn(Level) -> f64| -> Vec<f64> {
            ratios.iter().map(|ratio| ratio.as_ref().map_or(1.0, |ratio| p(ratio.of_run))).collect()
        };
        let differ: Vec<f64> =
            ratios.iter().map(|ratio| ratio.as_ref().map_or(1.0, |ratio| ratio.of_any.p_value())).collect();
        let (differ, alike) = (holm(&differ), hochberg(&p_of(&|ratio| ratio.p_within(SAME))));

        let comparison = |(at, ratio): (usize, &Option<Ratio>)| {
            let is_time = self.members[pairs[at].0].is_time;
            let upright = ratio.as_ref().map(|ratio| ratio.of_run.times(if is_time { -1.0 } else { 1.0 }));
            let finding = match upright {
                None => CaseFinding::Undecided,
                Some(_) if alike[at] <= ALPHA => CaseFinding::Same,
                Some(_) if differ[at] >= ALPHA => CaseFinding::Undecided,
                Some(ratio) if ratio.mean < 0.0 => CaseFinding::Worse,
                Some(_) => CaseFinding::Better,
            };
            CaseComparison { finding, ratio: upright, p_value: differ[at] }
        };
        ratios.iter().enumerate().map(comparison).collect()
    }

    /// What the second of each two is against the first, of cases two after each other.
    pub fn in_twos(&self) -> Vec<CaseComparison> {
        let pairs: Vec<(usize, usize)> = (0..self.members.len() / 2).map(|at| (2 * at, 2 * at + 1)).collect();
        self.comparisons(&pairs)
    }

    /// What every two of a set are, for sets of so many cases after each other. All sets are one family of
    /// claims.
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
        let mut found = self.comparisons(&sets.iter().flat_map(pairs).collect::<Vec<_>>()).into_iter();
        sets.into_iter()
            .map(|(_, size)| ComparedSet { found: all_pairs(size).zip(found.by_ref()).collect() })
            .collect()
    }

    /// The same of cases two after each other, as documents hold it: of their values as they are, times or
    /// rates; none with too few passes.
    pub fn values_in_twos(&self) -> Vec<Option<TwoSampleComparison>> {
        let value = |(twos, found): (&[FamilyCase], CaseComparison)| {
            let raw = found.ratio?.times(if twos[0].is_time { -1.0 } else { 1.0 });
            let [first, second] = [twos[0], twos[1]].map(|case| values(case.blocks));
            let verdict = match (found.finding, raw.mean < 0.0) {
                (CaseFinding::Same, _) => TwoSampleVerdict::NoMeasurableDifference,
                (CaseFinding::Undecided, _) => TwoSampleVerdict::Undecided,
                (_, true) => TwoSampleVerdict::Lower,
                (_, false) => TwoSampleVerdict::Higher,
            };
            Some(TwoSampleComparison {
                ratio: raw.mean.exp(),
                ratio_interval: raw.interval(CONFIDENCE)?,
                p_value: raw.p_value(),
                cliffs_delta: cliffs_delta(&first, &second),
                verdict,
            })
        };

        self.members.chunks_exact(2).zip(self.in_twos()).map(value).collect()
    }

    /// How the second of each two compares with the first, where they have passes enough together.
    fn ratios(&self, pairs: &[(usize, usize)]) -> Vec<Option<Ratio>> {
        let case = |at: usize| (self.members[at].blocks, &self.passes[at][..]);
        let blocks: Vec<Vec<BlockValue>> =
            pairs.iter().map(|(one, other)| ratios_by_pass(case(*other), case(*one))).collect();
        let independent = self.independent(pairs);
        let mut levels: Vec<Option<Level>> = vec![None; pairs.len()];

        for pool in pools(&self.kinds(pairs, &blocks, &independent), &independent) {
            let telling = |kind: &Vec<usize>| -> Vec<&[BlockValue]> {
                kind.iter().filter(|at| independent[**at]).map(|at| &blocks[*at][..]).collect()
            };
            let scatters = Scatter::of_kinds(&pool.iter().map(telling).collect::<Vec<_>>());
            for (kind, scatter) in pool.iter().zip(scatters) {
                let known: Vec<(usize, OfKind)> = (kind.iter())
                    .filter_map(|at| {
                        let level = Level::of(&blocks[*at], &scatter)?;
                        Some((*at, OfKind { level, blocks: &blocks[*at], tells: independent[*at] }))
                    })
                    .collect();
                let together = moderated(&known.iter().map(|(_, one)| *one).collect::<Vec<_>>());
                known.iter().zip(together).for_each(|((at, _), level)| levels[*at] = Some(level));
            }
        }

        let ratio = |(level, blocks): (Option<Level>, &Vec<BlockValue>)| {
            let of_run = level?;
            // Another allocation is another one of each of the two.
            let unseen = Level::of_another_allocation(blocks).times(std::f64::consts::SQRT_2);
            let of_any = match unseen.squared_error() > 0.0 {
                true => of_run.plus(unseen.known_as(unseen.squared_error(), ASSUMED_FREEDOM)),
                false => of_run,
            };
            Some(Ratio { of_run, of_any })
        };
        levels.into_iter().zip(&blocks).map(ratio).collect()
    }

    /// The comparisons of each kind, by their number; those of kinds that show too little of how they scatter
    /// are one.
    fn kinds(
        &self,
        pairs: &[(usize, usize)],
        blocks: &[Vec<BlockValue>],
        independent: &[bool],
    ) -> Vec<Vec<usize>> {
        let mut kinds: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, (one, _)) in pairs.iter().enumerate() {
            kinds.entry(self.members[*one].kind).or_default().push(at);
        }
        let is_few = |of_kind: &Vec<usize>| {
            let telling = || of_kind.iter().filter(|at| independent[**at]);
            let differences: usize = telling().map(|at| blocks[*at].len().saturating_sub(1)).sum();
            telling().count() < FEW || differences < FEW_DIFFERENCES
        };
        let few: Vec<usize> =
            kinds.iter().filter(|(_, of_kind)| is_few(of_kind)).map(|(kind, _)| *kind).collect();
        let joined: Vec<usize> = few.iter().filter_map(|kind| kinds.remove(kind)).flatten().collect();
        if !joined.is_empty() {
            kinds.insert(OF_FEW, joined);
        }

        kinds.into_values().collect()
    }

    /// Of each comparison, whether it tells something that those before it do not: of three cases that are
    /// compared with each other two ratios say what the third is.
    fn independent(&self, pairs: &[(usize, usize)]) -> Vec<bool> {
        let first_alike =
            |at: usize| (0..at).find(|before| self.members[*before].is_same(&self.members[at])).unwrap_or(at);
        let mut trees: Vec<usize> = (0..self.members.len()).map(first_alike).collect();
        let root = |trees: &[usize], mut at: usize| {
            while trees[at] != at {
                at = trees[at];
            }
            at
        };
        let mut joins = |(one, other): &(usize, usize)| {
            let (one, other) = (root(&trees, *one), root(&trees, *other));
            trees[other] = one;
            one != other
        };
        pairs.iter().map(&mut joins).collect()
    }
}

/// The logarithm of a ratio.
struct Ratio {
    /// On the memory of this run.
    of_run: Level,
    /// On any memory.
    of_any: Level,
}

/// Kinds that show together how much their blocks hang together.
fn pools(kinds: &[Vec<usize>], independent: &[bool]) -> Vec<Vec<Vec<usize>>> {
    let is_many = |kind: &&Vec<usize>| kind.iter().filter(|at| independent[**at]).count() >= MANY;
    let (many, few): (Vec<&Vec<usize>>, Vec<&Vec<usize>>) = kinds.iter().partition(is_many);
    let alone = many.into_iter().map(|kind| vec![kind.clone()]);
    alone.chain([few.into_iter().cloned().collect::<Vec<_>>()]).filter(|pool| !pool.is_empty()).collect()
}

/// Cases of which every two are compared.
pub struct ComparedSet {
    /// By two of the set's own numbers: what the second is against the first.
    found: Vec<((usize, usize), CaseComparison)>,
}

impl ComparedSet {
    /// What one of them is against another one; `None` of itself.
    fn comparison(&self, of: usize, against: usize) -> Option<CaseComparison> {
        let found =
            |pair: (usize, usize)| self.found.iter().find(|(at, _)| *at == pair).map(|(_, found)| *found);
        found((against, of)).or_else(|| found((of, against)).map(CaseComparison::turned))
    }

    /// What one of them is against another; it is the same as itself.
    pub fn finding(&self, of: usize, against: usize) -> CaseFinding {
        match of == against {
            true => CaseFinding::Same,
            false => self.comparison(of, against).map_or(CaseFinding::Undecided, |found| found.finding),
        }
    }

    /// Whether one of them is no more than 1 % worse than another one, with so small a chance of an error.
    pub fn is_no_worse(&self, of: usize, than: usize, chance: f64) -> bool {
        self.comparison(of, than).is_some_and(|found| found.keeps(1.0 / SAME, chance))
    }

    /// What each two of them are.
    pub fn findings(&self) -> impl Iterator<Item = CaseFinding> {
        self.found.iter().map(|(_, found)| found.finding)
    }
}

/// Every two of so many.
pub fn all_pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |one| (one + 1..count).map(move |other| (one, other)))
}
