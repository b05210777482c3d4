//! Which items belong together, by a figure of every two of them: GPUs by what one gets beside another, cores
//! by how long a handover takes.
//!
//! A partition counts if every pair within a group is closer than every pair that is not, and by a margin:
//! then a threshold exists that tells the groups apart, and which one is chosen does not matter. (Single
//! linkage cut at its widest gap, held to whole cliques: Gower and Ross 1969.)
//!
//! Every claim rests on how well the figure of each two is known (`level`). *Groups*: every pair within is
//! closer than every pair that is not, by one-sided tests that are corrected for every two pairs there are,
//! because chance chose the partition. *No groups*: in no figures that the simultaneous intervals of all
//! pairs allow is there a partition that counts. *Alike*: of every two pairs neither is surely not within the
//! margin of the other (two one-sided tests: Schuirmann 1987). Where none of these holds it is undecided. An
//! item's figures are divided by its own with nobody beside it, so that a faster GPU is no group.
//!
//! Some 470 lines because its tests simulate each claim on the same machines.

use crate::alpha::ALPHA;
use crate::block_interval::BlockValue;
use crate::level::Level;
use crate::scatter::Scatter;

/// The fewest blocks of a pair.
pub const LEAST_BLOCKS: usize = 3;
/// The fewest items: with two there is one pair, and nothing to compare it with.
pub const LEAST_ITEMS: usize = 3;

/// The figures of items in pairs; lower is closer.
#[derive(Clone, Debug, PartialEq)]
pub struct PairFigures {
    /// `blocks[i][j]`: the blocks of item i beside item j; not read where they are the same, and one of the
    /// two is empty where each two have one figure.
    pub blocks: Vec<Vec<Vec<BlockValue>>>,
    /// What the figures of each item are divided by before items are compared: those it has with nobody
    /// beside it. Empty: by nothing.
    pub alone: Vec<Vec<BlockValue>>,
}

/// What makes a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupingRule {
    /// The closest pair that is not within a group has at least so many times the figure of the most distant
    /// one that is.
    pub margin: f64,
    /// How many such questions are asked of the same items: they share the chance of a false alarm.
    pub questions: usize,
}

/// What it came to.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Finding")]
pub enum GroupingFinding {
    /// There are groups.
    Groups,
    /// All pairs are alike within the margin.
    Alike,
    /// Pairs differ, and no set of items is closer to each other than to all others by the margin.
    NoGroups,
    /// The blocks scatter too much to tell.
    Undecided,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// The groups, and how sure they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Grouping {
    /// What it came to.
    pub finding: GroupingFinding,
    /// The groups, of two items and more each.
    pub groups: Vec<Vec<usize>>,
    /// The items of no group.
    pub rest: Vec<usize>,
    /// The closest pair that is not within a group over the most distant one that is.
    pub margin: Option<f64>,
    /// The p-value of the least sure of all pairs within against pairs that are not, adjusted for every two
    /// pairs and question.
    pub p_value: Option<f64>,
}

/// Groups the items; `None` with fewer than three, or where a pair has too few blocks or one that is no
/// positive number.
pub fn group(pairs: &PairFigures, rule: &GroupingRule) -> Option<Grouping> {
    let items = pairs.blocks.len();
    let figures = Figures::of(pairs)?;
    let unseen = Figures::unseen(pairs)?;
    let distances: Distances = (0..items)
        .map(|i| (0..items).map(|j| if i == j { 0.0 } else { figures.distance(i, j).mean.exp() }).collect())
        .collect();

    if let Some(Partition { groups, rest, margin }) = choose(&distances, rule.margin) {
        let p_value = figures.judge(&unseen, &groups, rule);
        if p_value < ALPHA {
            return Some(Grouping {
                finding: GroupingFinding::Groups,
                groups,
                rest,
                margin: Some(margin),
                p_value: Some(p_value),
            });
        }
    }

    let finding = if figures.are_alike(rule) {
        GroupingFinding::Alike
    } else if figures.may_have_groups(rule) {
        GroupingFinding::Undecided
    } else {
        GroupingFinding::NoGroups
    };
    Some(Grouping { finding, groups: Vec::new(), rest: (0..items).collect(), margin: None, p_value: None })
}

/// Two items.
type Two = [usize; 2];

/// Every two of so many items, by the second.
fn twos(items: usize) -> impl Iterator<Item = Two> {
    (0..items).flat_map(|j| (0..j).map(move |i| [i, j]))
}

/// How well the figures of every two are known.
struct Figures {
    items: usize,
    /// Of each two, the first number the lower: the figure before it is divided.
    pairs: Vec<(Two, Level)>,
    /// What is divided by; `None` where nothing is.
    alone: Option<Vec<Level>>,
}

impl Figures {
    fn of(pairs: &PairFigures) -> Option<Self> {
        let PairFigures { blocks, alone } = pairs;
        let items = blocks.len();
        let whole = blocks.iter().all(|row| row.len() == items) && (alone.is_empty() || alone.len() == items);
        if items < LEAST_ITEMS || !whole {
            return None;
        }
        let cases = twos(items).flat_map(|[i, j]| [&blocks[i][j], &blocks[j][i]]).chain(alone);
        let scatter = Scatter::of(cases.filter(|case| !case.is_empty()).map(Vec::as_slice));
        Self::with(pairs, |case| Level::of(case, &scatter).filter(|_| case.len() >= LEAST_BLOCKS))
    }

    /// What the blocks do not show of other allocations.
    fn unseen(pairs: &PairFigures) -> Option<Self> {
        Self::with(pairs, |case| Some(Level::of_another_allocation(case)))
    }

    fn with(
        PairFigures { blocks, alone }: &PairFigures,
        level: impl Fn(&[BlockValue]) -> Option<Level>,
    ) -> Option<Self> {
        let of = |[i, j]: Two| {
            let level = match [&blocks[i][j], &blocks[j][i]] {
                [one, other] if other.is_empty() => level(one)?,
                [one, other] if one.is_empty() => level(other)?,
                [one, other] => level(one)?.times(0.5).plus(level(other)?.times(0.5)),
            };
            Some(([i, j], level))
        };

        let alone = match alone.is_empty() {
            true => None,
            false => Some(alone.iter().map(|case| level(case)).collect::<Option<_>>()?),
        };
        let items = blocks.len();
        Some(Self { items, pairs: twos(items).map(of).collect::<Option<_>>()?, alone })
    }

    /// The figure of two, divided by what each has alone.
    fn distance(&self, i: usize, j: usize) -> Level {
        let [i, j] = [i.min(j), i.max(j)];
        let (_, level) = self.pairs[j * (j - 1) / 2 + i];
        [i, j].into_iter().fold(level, |level, item| self.divided(level, item, 0.5))
    }

    /// The figure of one two over that of another: what both are divided by does not matter.
    fn ratio(&self, one: &(Two, Level), other: &(Two, Level)) -> Level {
        let own = one.0.into_iter().filter(|item| !other.0.contains(item)).map(|item| (item, 0.5));
        let its = other.0.into_iter().filter(|item| !one.0.contains(item)).map(|item| (item, -0.5));
        own.chain(its).fold(one.1.over(other.1), |level, (item, power)| self.divided(level, item, power))
    }

    fn divided(&self, level: Level, item: usize, power: f64) -> Level {
        self.alone.as_ref().map_or(level, |alone| level.over(alone[item].times(power)))
    }

    /// How sure the least sure of all pairs within is to be closer than all pairs that are not, other
    /// allocations being `unseen`.
    fn judge(&self, unseen: &Self, groups: &[Vec<usize>], rule: &GroupingRule) -> f64 {
        let is_within =
            |(two, _): &(Two, Level)| groups.iter().any(|group| two.iter().all(|item| group.contains(item)));
        let (within, across): (Vec<usize>, Vec<usize>) =
            (0..self.pairs.len()).partition(|at| is_within(&self.pairs[*at]));
        let ratio = |of: &Self, over: usize, one: usize| of.ratio(&of.pairs[over], &of.pairs[one]);
        let both =
            |over: usize, one: usize| ratio(self, over, one).plus(ratio(unseen, over, one)).p_above(0.0);
        let least =
            across.iter().flat_map(|over| within.iter().map(|one| both(*over, *one))).fold(0.0, f64::max);
        let pairs = self.pairs.len();
        (least * (pairs * (pairs - 1) / 2 * rule.questions) as f64).min(1.0)
    }

    /// Whether of every two pairs neither may have more than the margin times the other.
    fn are_alike(&self, rule: &GroupingRule) -> bool {
        let limit = rule.margin.ln();
        let both = |(at, one): (usize, &(Two, Level))| {
            self.pairs[..at].iter().all(|other| {
                let ratio = self.ratio(one, other);
                ratio.mean.abs() < limit && ratio.is_within(rule.margin, 1.0 - ALPHA)
            })
        };
        self.pairs.iter().enumerate().all(both)
    }

    /// Whether the intervals of all pairs allow figures that make groups.
    ///
    /// Of figures that do, the most distant pair of those within a group is at some height; pairs whose
    /// interval ends less than the margin above it are within a group, and pairs whose interval begins above
    /// it are not. Heights at which an interval begins are enough.
    fn may_have_groups(&self, rule: &GroupingRule) -> bool {
        let confidence = 1.0 - ALPHA / (self.pairs.len() * rule.questions) as f64;
        let bounds = |(two, _): &(Two, Level)| {
            let found = self.distance(two[0], two[1]).interval(confidence)?;
            Some((*two, found.low, found.high))
        };
        let Some(bounds) = self.pairs.iter().map(bounds).collect::<Option<Vec<_>>>() else { return true };

        bounds.iter().any(|(highest, height, _)| {
            let mut group: Vec<usize> = (0..self.items).collect();
            for (two, _, high) in &bounds {
                if two == highest || *high < height * rule.margin {
                    let [from, to] = two.map(|item| group[item]);
                    group.iter_mut().filter(|own| **own == from).for_each(|own| *own = to);
                }
            }
            let is_one = group.iter().all(|own| *own == group[0]);
            !is_one && bounds.iter().all(|([i, j], low, _)| group[*i] != group[*j] || low <= height)
        })
    }
}

/// A partition into cliques.
struct Partition {
    groups: Vec<Vec<usize>>,
    rest: Vec<usize>,
    margin: f64,
}

/// The symmetric distances of all items.
type Distances = Vec<Vec<f64>>;

/// The partition into cliques with the widest gap, if one is as wide as the margin.
fn choose(distances: &Distances, margin: f64) -> Option<Partition> {
    let items = distances.len();
    let mut steps: Vec<f64> = (0..items).flat_map(|i| distances[i][..i].iter().copied()).collect();
    steps.sort_by(f64::total_cmp);
    let mut gaps: Vec<(f64, f64)> = steps.windows(2).map(|two| (two[1] / two[0], two[0])).collect();
    gaps.retain(|(gap, _)| *gap >= margin);
    gaps.sort_by(|a, b| b.0.total_cmp(&a.0));
    gaps.into_iter().find_map(|(gap, within)| cliques(distances, within).map(|all| of_cliques(all, gap)))
}

/// The items that are within this distance of each other, if that makes cliques and leaves more than one.
fn cliques(distances: &Distances, within: f64) -> Option<Vec<Vec<usize>>> {
    let near = |i: usize, j: usize| i == j || distances[i][j] <= within;
    let mut all: Vec<Vec<usize>> = Vec::new();
    for item in 0..distances.len() {
        match all.iter_mut().find(|clique| near(item, clique[0])) {
            Some(clique) => clique.push(item),
            None => all.push(vec![item]),
        }
    }
    let of = |item: usize| all.iter().position(|clique| clique.contains(&item));
    let is_whole = (0..distances.len()).all(|i| (0..i).all(|j| near(i, j) == (of(i) == of(j))));
    (is_whole && all.len() > 1).then_some(all)
}

fn of_cliques(all: Vec<Vec<usize>>, margin: f64) -> Partition {
    let (groups, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|clique| clique.len() > 1);
    Partition { groups, rest: rest.into_iter().flatten().collect(), margin }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    const GPUS: GroupingRule = GroupingRule { margin: 1.05, questions: 2 };
    const SCATTERS: [f64; 3] = [0.01, 0.03, 0.10];
    const RUNS: usize = 300;

    /// Blocks of figures that scatter, and of those alone as many that do too.
    fn measured(
        random: &mut SplitMix64,
        items: usize,
        blocks: usize,
        scatter: f64,
        truth: impl Fn(usize, usize) -> f64,
    ) -> PairFigures {
        let mut noisy = |value: f64| -> Vec<BlockValue> {
            let values: Vec<f64> =
                (0..blocks).map(|_| value * (scatter * noise::normal(random)).exp()).collect();
            BlockValue::on_one_allocation(&values)
        };
        let alone = (0..items).map(|_| noisy(1.0)).collect();
        let mut of = |i: usize, j: usize| if i == j { Vec::new() } else { noisy(truth(i, j)) };
        PairFigures { blocks: (0..items).map(|i| (0..items).map(|j| of(i, j)).collect()).collect(), alone }
    }

    /// What part of the rate alone each of eight GPUs keeps beside each other one: the reference, GPUs 0-3
    /// behind one limit and 4-7 behind another.
    fn kept_in_pairs(i: usize, j: usize) -> f64 {
        match (i < 4, j < 4) {
            (true, true) => 37.0 / 55.0,
            (false, false) => 53.0 / 55.0,
            (true, false) => 1.0,
            (false, true) => 48.0 / 55.0,
        }
    }

    /// The time of one with all but another at it, against all of them.
    fn time_without(i: usize, j: usize) -> f64 {
        if (i < 4) == (j < 4) { 0.75 } else { 1.0 }
    }

    fn share_of(runs: usize, mut is_so: impl FnMut() -> bool) -> f64 {
        (0..runs).filter(|_| is_so()).count() as f64 / runs as f64
    }

    #[test]
    fn a_machine_without_groups_is_not_grouped_in_95_of_100_runs() {
        let mut random = SplitMix64::new(50);
        for (items, blocks) in [(3, 10), (4, 10), (8, 6), (8, 10), (8, 20)] {
            for scatter in SCATTERS {
                for level in [1.0, 0.6] {
                    let grouped = share_of(RUNS, || {
                        let pairs = measured(&mut random, items, blocks, scatter, |_, _| level);
                        group(&pairs, &GPUS).is_some_and(|found| found.finding == GroupingFinding::Groups)
                    });
                    assert!(grouped <= ALPHA, "{items} items, {blocks} blocks, {scatter}: {grouped}");
                }
            }
        }
    }

    #[test]
    fn skewed_noise_and_items_of_unequal_rates_are_no_groups_either() {
        let mut random = SplitMix64::new(51);
        let grouped = share_of(RUNS, || {
            let mut pairs = measured(&mut random, 8, 10, 0.0, |i, _| 1.0 + i as f64 / 4.0);
            let rate = |item: usize| 1.0 + item as f64 / 4.0;
            for (item, blocks) in pairs.alone.iter_mut().enumerate() {
                blocks.iter_mut().for_each(|block| block.value = rate(item));
            }
            for blocks in pairs.blocks.iter_mut().flatten().chain(&mut pairs.alone) {
                blocks
                    .iter_mut()
                    .for_each(|block| block.value *= 1.0 + 0.05 * noise::exponential(&mut random));
            }
            group(&pairs, &GPUS).is_some_and(|found| found.finding == GroupingFinding::Groups)
        });
        assert!(grouped <= ALPHA, "{grouped}");
    }

    #[test]
    fn the_reference_of_eight_gpus_is_grouped_right() {
        let mut random = SplitMix64::new(52);
        for (scatter, blocks) in [(0.01, 10), (0.03, 10), (0.10, 20)] {
            let in_pairs = share_of(RUNS, || {
                let found = group(&measured(&mut random, 8, blocks, scatter, kept_in_pairs), &GPUS);
                found.is_some_and(|found| found.groups == [[0, 1, 2, 3]] && found.rest == [4, 5, 6, 7])
            });
            let by_all_but_one = share_of(RUNS, || {
                let found = group(&measured(&mut random, 8, blocks, scatter, time_without), &GPUS);
                found.is_some_and(|found| {
                    found.groups == [[0, 1, 2, 3], [4, 5, 6, 7]] && found.rest.is_empty()
                })
            });
            assert!(in_pairs >= 0.95 && by_all_but_one >= 0.9, "{scatter}: {in_pairs}, {by_all_but_one}");
        }
    }

    #[test]
    fn cores_of_one_cache_are_grouped_and_a_mesh_is_not() {
        let mut random = SplitMix64::new(53);
        let cores = GroupingRule { margin: 1.25, questions: 1 };
        let caches = |i: usize, j: usize| if i / 4 == j / 4 { 28.0 } else { 110.0 };
        // Core i is i steps along a line: neighbours are close, and no two sets are apart.
        let mesh = |i: usize, j: usize| 40.0 + 3.0 * i.abs_diff(j) as f64;
        let with = |pairs: PairFigures| PairFigures { alone: Vec::new(), ..pairs };
        let found = group(&with(measured(&mut random, 12, 10, 0.05, caches)), &cores)
            .unwrap_or_else(|| unreachable!());
        assert_eq!(found.groups, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]);
        assert!(
            found.margin.is_some_and(|margin| margin > 3.0) && found.p_value.is_some_and(|p| p < 1e-3),
            "{found:?}"
        );
        let found = group(&with(measured(&mut random, 12, 10, 0.01, mesh)), &cores);
        assert_eq!(found.map(|found| found.finding), Some(GroupingFinding::NoGroups));
    }

    #[test]
    fn alike_is_said_where_a_difference_would_have_been_seen_and_undecided_where_not() {
        let mut random = SplitMix64::new(54);
        let mut said = |scatter, blocks, wanted| {
            share_of(100, || {
                let pairs = measured(&mut random, 8, blocks, scatter, |_, _| 0.8);
                group(&pairs, &GPUS).is_some_and(|found| found.finding == wanted)
            })
        };
        assert!(said(0.01, 10, GroupingFinding::Alike) >= 0.95);
        assert!(said(0.03, 20, GroupingFinding::Alike) >= 0.9);
        assert!(said(0.10, 10, GroupingFinding::Undecided) >= 0.9);
    }

    #[test]
    fn a_true_group_by_less_than_the_noise_shows_is_undecided_and_never_denied() {
        let mut random = SplitMix64::new(56);
        for (group_of_four, scatter) in [(0.92, 0.03), (0.90, 0.04)] {
            let truth = |i: usize, j: usize| if i < 4 && j < 4 { group_of_four } else { 1.0 };
            let denied = share_of(RUNS, || {
                let found = group(&measured(&mut random, 8, 10, scatter, truth), &GPUS);
                found.is_some_and(|found| {
                    matches!(found.finding, GroupingFinding::NoGroups | GroupingFinding::Alike)
                })
            });
            assert!(denied <= ALPHA, "{group_of_four}, {scatter}: {denied}");
        }
    }

    #[test]
    fn alike_is_not_said_where_one_pair_is_further_than_the_margin() {
        let mut random = SplitMix64::new(57);
        for scatter in [0.01, 0.03] {
            let truth = |i: usize, j: usize| if (i.min(j), i.max(j)) == (0, 1) { 1.055 } else { 1.0 };
            let alike = share_of(RUNS, || {
                let found = group(&measured(&mut random, 4, 10, scatter, truth), &GPUS);
                found.is_some_and(|found| found.finding == GroupingFinding::Alike)
            });
            assert!(alike <= ALPHA, "{scatter}: {alike}");
        }
    }

    #[test]
    fn two_items_or_too_few_blocks_are_not_grouped() {
        let mut random = SplitMix64::new(55);
        assert_eq!(group(&measured(&mut random, 2, 10, 0.01, |_, _| 1.0), &GPUS), None);
        assert_eq!(group(&measured(&mut random, 4, 2, 0.01, |_, _| 1.0), &GPUS), None);
        let mut missing = measured(&mut random, 4, 10, 0.01, |_, _| 1.0);
        missing.blocks[1][2].clear();
        missing.blocks[2][1].clear();
        assert_eq!(group(&missing, &GPUS), None);
    }
}
