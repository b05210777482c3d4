//! Which items belong together, by a figure of every two of them: GPUs by what one gets beside another, cores by how long a handover takes.
//!
//! A partition counts if every pair within a group is closer than every pair that is not, and by a margin: then a threshold exists that tells
//! the groups apart, and which one is chosen does not matter. (Single linkage cut at its widest gap, held to whole cliques: Gower and Ross 1969.)
//!
//! Of the many partitions of a few noisy figures one always looks best, so the one is chosen by every other block and judged by the blocks between them,
//! which had no part in the choice: of each member, its figures with its group against its figures with the others, by the rank test. A member
//! is compared with nobody but itself, so that a faster GPU or core is no group. All members must hold at 5 %, Holm's over all of them. Where there are no
//! groups, one is found in at most 5 % of cases, whatever the noise looks like.

use crate::holm::holm;
use crate::interval::{median, quantile, sorted};
use crate::kruskal_wallis::kruskal_wallis_p;
use crate::mann_whitney::mann_whitney_p;

/// The chance that items without groups are grouped, at most.
pub const FALSE_ALARM: f64 = 0.05;
/// The fewest blocks of a pair: three to choose by and three to judge by.
pub const LEAST_BLOCKS: usize = 6;
/// The fewest items: with two there is one pair, and nothing to compare it with.
pub const LEAST_ITEMS: usize = 3;

/// The figures of items in pairs; lower is closer.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// `blocks[i][j]`: the blocks of item i beside item j; not read where they are the same.
    pub blocks: Vec<Vec<Vec<f64>>>,
    /// What the figures of each item are divided by before items are compared: what it has with nobody beside it.
    pub scale: Vec<f64>,
}

/// What makes a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The closest pair that is not within a group has at least so many times the figure of the most distant one that is.
    pub margin: f64,
    /// How many such questions are asked of the same items: they share the chance of a false alarm.
    pub questions: usize,
}

/// What it came to.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
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
    pub finding: Finding,
    /// The groups, of two items and more each.
    pub groups: Vec<Vec<usize>>,
    /// The items of no group.
    pub rest: Vec<usize>,
    /// The closest pair that is not within a group over the most distant one that is.
    pub margin: Option<f64>,
    /// The p-value of the member that is least sure, adjusted for all that were judged.
    pub p_value: Option<f64>,
}

/// Groups the items; `None` with fewer than three, or where a pair has too few blocks or one that is no positive number.
pub fn group(pairs: &Pairs, rule: &Rule) -> Option<Grouping> {
    let items = pairs.blocks.len();
    let is_good = |blocks: &Vec<f64>| {
        blocks.len() >= LEAST_BLOCKS && blocks.iter().all(|value| value.is_finite() && *value > 0.0)
    };
    let mut cells = (0..items).flat_map(|i| (0..items).filter(move |j| *j != i).map(move |j| (i, j)));
    let whole = pairs.blocks.iter().all(|row| row.len() == items) && pairs.scale.len() == items;
    if items < LEAST_ITEMS || !whole || !cells.all(|(i, j)| is_good(&pairs.blocks[i][j])) {
        return None;
    }
    let every_other = |from: usize| move |blocks: &[f64]| blocks.iter().copied().skip(from).step_by(2).collect();
    let chosen = choose(&distances(pairs, every_other(0))?, rule.margin);
    if let Some(Partition { groups, rest, margin }) = chosen {
        let p_value = judge(pairs, &groups, every_other(1), rule.questions);
        if p_value < FALSE_ALARM {
            return Some(Grouping {
                finding: Finding::Groups,
                groups,
                rest,
                margin: Some(margin),
                p_value: Some(p_value),
            });
        }
    }
    let finding = without(pairs, rule)?;
    Some(Grouping { finding, groups: Vec::new(), rest: (0..items).collect(), margin: None, p_value: None })
}

/// A partition into cliques.
struct Partition {
    groups: Vec<Vec<usize>>,
    rest: Vec<usize>,
    margin: f64,
}

type Distances = Vec<Vec<f64>>;

/// The symmetric distances of all items, by some of the blocks.
fn distances(pairs: &Pairs, some: impl Fn(&[f64]) -> Vec<f64>) -> Option<Distances> {
    let items = pairs.blocks.len();
    let of = |i: usize, j: usize| Some(median(&some(&pairs.blocks[i][j]))? / pairs.scale[i]);
    let both = |i: usize, j: usize| if i == j { Some(0.0) } else { Some((of(i, j)? + of(j, i)?) / 2.0) };
    (0..items).map(|i| (0..items).map(|j| both(i, j)).collect()).collect()
}

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

/// How sure the member is that is least sure.
fn judge(pairs: &Pairs, groups: &[Vec<usize>], some: impl Fn(&[f64]) -> Vec<f64>, questions: usize) -> f64 {
    let of = |group: &[usize], item: usize| {
        let blocks = |is_own: bool| -> Vec<f64> {
            let others = (0..pairs.blocks.len()).filter(|j| *j != item && group.contains(j) == is_own);
            others.flat_map(|j| some(&pairs.blocks[item][j])).collect()
        };
        let (own, other) = (blocks(true), blocks(false));
        let is_closer = median(&own) < median(&other);
        let p = if is_closer { mann_whitney_p(&own, &other).unwrap_or(1.0) } else { 1.0 };
        (p * questions as f64).min(1.0)
    };
    let p_values: Vec<f64> = groups.iter().flat_map(|group| group.iter().map(|item| of(group, *item))).collect();
    holm(&p_values).into_iter().fold(0.0, f64::max)
}

/// What can be said where there are no groups.
fn without(pairs: &Pairs, rule: &Rule) -> Option<Finding> {
    let distances = distances(pairs, <[f64]>::to_vec)?;
    let items = distances.len();
    let all = || (0..items).flat_map(|i| distances[i][..i].iter().copied());
    let spread = all().reduce(f64::max)? / all().reduce(f64::min)?;
    if spread <= rule.margin {
        return Some(Finding::Alike);
    }
    let p_of = |item: usize| {
        let sets: Vec<&[f64]> = (0..items).filter(|j| *j != item).map(|j| &pairs.blocks[item][j][..]).collect();
        kruskal_wallis_p(&sets).unwrap_or(1.0)
    };
    let p_values: Vec<f64> = (0..items).map(p_of).collect();
    if holm(&p_values).into_iter().any(|p| p * (rule.questions as f64) < FALSE_ALARM) {
        return Some(Finding::NoGroups);
    }
    Some(if resolution(pairs)? < rule.margin - 1.0 { Finding::Alike } else { Finding::Undecided })
}

/// The difference between two pairs that would surely have been seen: three standard errors of a median, by the scatter of a middling pair.
fn resolution(pairs: &Pairs) -> Option<f64> {
    let items = pairs.blocks.len();
    let of = |blocks: &Vec<f64>| {
        let sorted = sorted(blocks);
        // Half of a normal distribution lies within 1.349 deviations; a median's error is 1.253 times a mean's.
        let deviation = (quantile(&sorted, 0.75)? - quantile(&sorted, 0.25)?) / 1.349;
        Some(3.0 * 1.253 * deviation / (blocks.len() as f64).sqrt() / quantile(&sorted, 0.5)?)
    };
    let cells = (0..items).flat_map(|i| (0..items).filter(move |j| *j != i).map(move |j| (i, j)));
    let all: Option<Vec<f64>> = cells.map(|(i, j)| of(&pairs.blocks[i][j])).collect();
    median(&all?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    const GPUS: Rule = Rule { margin: 1.05, questions: 2 };
    const SCATTERS: [f64; 3] = [0.01, 0.03, 0.10];
    const RUNS: usize = 300;

    /// Blocks of figures that scatter, and scales that are medians of as many blocks that do too.
    fn measured(
        random: &mut SplitMix64,
        items: usize,
        blocks: usize,
        scatter: f64,
        truth: impl Fn(usize, usize) -> f64,
    ) -> Pairs {
        let mut noisy =
            |value: f64| -> Vec<f64> { (0..blocks).map(|_| value * (scatter * noise::normal(random)).exp()).collect() };
        let scale = (0..items).map(|_| median(&noisy(1.0)).unwrap_or(1.0)).collect();
        let mut of = |i: usize, j: usize| if i == j { Vec::new() } else { noisy(truth(i, j)) };
        Pairs { blocks: (0..items).map(|i| (0..items).map(|j| of(i, j)).collect()).collect(), scale }
    }

    /// What part of the rate alone each of eight GPUs keeps beside each other one: the reference, GPUs 0-3 behind one limit and 4-7 behind another.
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
                        group(&pairs, &GPUS).is_some_and(|found| found.finding == Finding::Groups)
                    });
                    assert!(grouped <= FALSE_ALARM, "{items} items, {blocks} blocks, {scatter}: {grouped}");
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
            pairs.scale = (0..8).map(rate).collect();
            for blocks in pairs.blocks.iter_mut().flatten() {
                blocks.iter_mut().for_each(|value| *value *= 1.0 + 0.05 * noise::exponential(&mut random));
            }
            group(&pairs, &GPUS).is_some_and(|found| found.finding == Finding::Groups)
        });
        assert!(grouped <= FALSE_ALARM, "{grouped}");
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
                found.is_some_and(|found| found.groups == [[0, 1, 2, 3], [4, 5, 6, 7]] && found.rest.is_empty())
            });
            assert!(in_pairs >= 0.95 && by_all_but_one >= 0.9, "{scatter}: {in_pairs}, {by_all_but_one}");
        }
    }

    #[test]
    fn cores_of_one_cache_are_grouped_and_a_mesh_is_not() {
        let mut random = SplitMix64::new(53);
        let cores = Rule { margin: 1.25, questions: 1 };
        let caches = |i: usize, j: usize| if i / 4 == j / 4 { 28.0 } else { 110.0 };
        // Core i is i steps along a line: neighbours are close, and no two sets are apart.
        let mesh = |i: usize, j: usize| 40.0 + 3.0 * i.abs_diff(j) as f64;
        let with = |pairs: Pairs| Pairs { scale: vec![1.0; pairs.scale.len()], ..pairs };
        let found = group(&with(measured(&mut random, 12, 10, 0.05, caches)), &cores).unwrap_or_else(|| unreachable!());
        assert_eq!(found.groups, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]);
        assert!(
            found.margin.is_some_and(|margin| margin > 3.0) && found.p_value.is_some_and(|p| p < 1e-3),
            "{found:?}"
        );
        let found = group(&with(measured(&mut random, 12, 10, 0.01, mesh)), &cores);
        assert_eq!(found.map(|found| found.finding), Some(Finding::NoGroups));
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
        assert!(said(0.01, 10, Finding::Alike) >= 0.95);
        assert!(said(0.03, 15, Finding::Alike) >= 0.9);
        assert!(said(0.10, 10, Finding::Undecided) >= 0.9);
    }

    #[test]
    fn two_items_or_too_few_blocks_are_not_grouped() {
        let mut random = SplitMix64::new(55);
        assert_eq!(group(&measured(&mut random, 2, 10, 0.01, |_, _| 1.0), &GPUS), None);
        assert_eq!(group(&measured(&mut random, 4, 5, 0.01, |_, _| 1.0), &GPUS), None);
        let mut missing = measured(&mut random, 4, 10, 0.01, |_, _| 1.0);
        missing.blocks[1][2].clear();
        assert_eq!(group(&missing, &GPUS), None);
    }
}
