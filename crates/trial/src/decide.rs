//! What the figures of the blocks say: of each variant against the baseline, and whether more blocks are
//! wanted. Some 410 lines because a third of them are tests, each a way to end.
//!
//! The unit is the pair: one run of the variant and one of the baseline in the same block, as the logarithm
//! of their ratio. So what changes from block to block (a warmer node, a neighbour) meets both. At each look
//! ([`looks`](crate::sequential_alpha)):
//!
//! * the estimate is the median of the paired ratios;
//! * the interval holds both the exact bootstrap interval of that median and the one that the signed-rank
//!   test leaves: the bootstrap alone is too narrow for few pairs. Intervals of all looks hold together, so
//!   what is kept is what they have in common;
//! * *same* needs the whole interval within the equivalence; *better* and *worse* need the whole interval
//!   beyond it, and a signed-rank p-value, Holm's over the variants, within what the look may spend. So a
//!   verdict and the interval beside it never say different things (equivalence by the interval: Schuirmann,
//!   "A comparison of the two one-sided tests procedure", 1987; its counterpart for a difference is the
//!   minimum-effect test of Murphy and Myors, 1999);
//! * an interval that leaves out 1 and reaches into the equivalence says the direction, and not whether it
//!   matters: that is *undecided*, with its direction;
//! * what the looks so far have in common only narrows, so a verdict stands unless the newest interval has
//!   nothing in common with it: then the ratio itself has changed, and the newest interval alone decides.
//!
//! Left out: which of two variants is better that are both better than the baseline. Their intervals are
//! there to see.

use std::collections::BTreeMap;

use report::trial::{TrialStop, TrialVerdict};
use stats::bootstrap::{self, MedianLaw};
use stats::holm::holm;
use stats::interval::{Interval, median};
use stats::signed_rank::{signed_rank_interval, signed_rank_p};

use crate::sequential_alpha::{ALPHA, ScheduledLook, last_within, looks};

/// From so many pairs on it is judged whether more of them can decide.
const JUDGED_FROM: usize = 10;

/// What is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Better {
    /// Less of it, as of a time.
    #[default]
    Lower,
    /// More of it, as of a rate.
    Higher,
}

/// When a trial has enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialRule {
    /// Ratios from 1/(1 + this) to 1 + this do not matter.
    pub equivalence: f64,
    /// The most blocks.
    pub max_blocks: usize,
    /// What is better.
    pub better: Better,
}

/// A variant against the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantComparison {
    /// Pairs at the last look.
    pub pairs: usize,
    /// The median of variant / baseline; `None` before the first look.
    pub ratio: Option<f64>,
    /// What the intervals of all looks have in common, at 95 %.
    pub interval: Option<Interval>,
    /// The p-value at the last look, Holm's over the variants.
    pub p_value: Option<f64>,
    /// What it comes to.
    pub verdict: TrialVerdict,
    /// Which side of the baseline it is on, where that is known: [`TrialVerdict::Better`] or
    /// [`TrialVerdict::Worse`], whether it matters or not.
    pub direction: Option<TrialVerdict>,
    /// After how many blocks the verdict was made.
    pub decided_after: Option<usize>,
    /// About how many pairs would decide it, where it is not decided and its spread is known.
    pub wanted: Option<usize>,
}

/// How the trial stands.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialStanding {
    /// Each variant but the baseline, in order.
    pub compared: Vec<VariantComparison>,
    /// Why no further block is wanted; `None`: one is.
    pub stop: Option<TrialStop>,
}

/// How the trial stands after these blocks: a figure for each variant, the baseline first, positive; `None`
/// where a run gave none. All looks are taken anew, so it depends on the figures alone and a trial that is
/// taken up again stands where it stood. Variants that were given up are not waited for.
pub fn standing(
    blocks: &[Vec<Option<f64>>],
    variants: usize,
    rule: &TrialRule,
    given_up: &[usize],
) -> TrialStanding {
    let comparisons = variants.saturating_sub(1);
    let nothing = VariantComparison {
        pairs: 0,
        ratio: None,
        interval: None,
        p_value: None,
        verdict: TrialVerdict::Undecided,
        direction: None,
        decided_after: None,
        wanted: None,
    };

    let mut compared = vec![nothing; comparisons];

    // What the figures come to is known before the first look; what it is worth is not.
    for (variant, found) in compared.iter_mut().enumerate() {
        let logs = log_ratios(blocks, variant + 1);
        (found.pairs, found.ratio) = (logs.len(), median(&logs).map(f64::exp));
    }

    let mut stop = None;
    let within = |look: &ScheduledLook| look.blocks <= blocks.len() && look.blocks <= rule.max_blocks;

    for look in looks(comparisons).take_while(within) {
        take(look, &blocks[..look.blocks], rule, &mut compared);
        stop = enough(look, rule, &compared, given_up);
        if stop.is_some() {
            break;
        }
    }

    if stop.is_none() && blocks.len() >= rule.max_blocks {
        stop = Some(TrialStop::MaxRuns);
    }
    TrialStanding { compared, stop }
}

/// Takes one look.
fn take(
    look: ScheduledLook,
    blocks: &[Vec<Option<f64>>],
    rule: &TrialRule,
    compared: &mut [VariantComparison],
) {
    let logs: Vec<Vec<f64>> = (1..=compared.len()).map(|variant| log_ratios(blocks, variant)).collect();
    let raw: Vec<f64> = logs.iter().map(|logs| signed_rank_p(logs).unwrap_or(1.0)).collect();
    let adjusted = holm(&raw);

    // Of as many pairs the medians of resamples are distributed alike.
    let mut laws: BTreeMap<usize, MedianLaw> = BTreeMap::new();

    for ((logs, p_value), found) in logs.iter().zip(adjusted).zip(compared.iter_mut()) {
        found.pairs = logs.len();
        found.p_value = Some(p_value);
        found.ratio = median(logs).map(f64::exp);
        let law = laws.entry(logs.len()).or_insert_with(|| MedianLaw::of(logs.len()));
        let Some((low, high)) = interval(logs, law, look.alpha) else { continue };
        let new = Interval { low: low.exp(), high: high.exp(), confidence: 1.0 - ALPHA };
        let common = found.interval.map_or(new, |old| Interval {
            low: old.low.max(new.low),
            high: old.high.min(new.high),
            ..new
        });
        // Nothing in common: the ratio itself has changed over the trial. The newest interval is all that can
        // be said.
        let is_common = common.low <= common.high;
        let now = if is_common { common } else { new };
        if !is_common {
            (found.verdict, found.direction, found.decided_after) = (TrialVerdict::Undecided, None, None);
        }
        found.interval = Some(now);
        found.wanted = Some(wanted(logs.len(), low, high, rule));
        if p_value <= look.alpha {
            found.direction = found.direction.or(direction(&now, rule.better));
        }
        if found.verdict == TrialVerdict::Undecided {
            found.verdict = verdict(&now, found.direction, rule.equivalence);
            found.decided_after = (found.verdict != TrialVerdict::Undecided).then_some(look.blocks);
        }
    }
}

/// The logarithms of variant / baseline of the blocks that have both.
pub fn log_ratios(blocks: &[Vec<Option<f64>>], variant: usize) -> Vec<f64> {
    let pair = |block: &Vec<Option<f64>>| {
        let (baseline, own) = ((*block.first()?)?, (*block.get(variant)?)?);
        Some((own / baseline).ln()).filter(|log| log.is_finite())
    };
    blocks.iter().filter_map(pair).collect()
}

/// The interval of the centre of these logarithms that misses it with a chance of at most `alpha`.
fn interval(logs: &[f64], law: &MedianLaw, alpha: f64) -> Option<(f64, f64)> {
    let by_rank = signed_rank_interval(logs, 1.0 - alpha)?;
    let medians = law.medians(logs)?;
    let resampled = bootstrap::median_interval(&medians, 1.0 - alpha)?;
    Some((by_rank.low.min(resampled.low), by_rank.high.max(resampled.high)))
}

/// Which side of the baseline the whole interval is on.
fn direction(interval: &Interval, better: Better) -> Option<TrialVerdict> {
    if interval.contains(1.0) {
        return None;
    }
    let is_lower = interval.high < 1.0;
    Some(if is_lower == (better == Better::Lower) { TrialVerdict::Better } else { TrialVerdict::Worse })
}

/// What an interval comes to, whose side of the baseline is known to be this one.
pub fn verdict(interval: &Interval, direction: Option<TrialVerdict>, equivalence: f64) -> TrialVerdict {
    let (least, most) = (1.0 / (1.0 + equivalence), 1.0 + equivalence);
    match direction {
        _ if interval.low >= least && interval.high <= most => TrialVerdict::Same,
        Some(side) if interval.high < least || interval.low > most => side,
        _ => TrialVerdict::Undecided,
    }
}

/// About how many pairs would decide it: the interval narrows with the root of their number, and must get
/// clear of the equivalence's nearer end.
fn wanted(pairs: usize, low: f64, high: f64, rule: &TrialRule) -> usize {
    let (centre, half) = ((low + high) / 2.0, (high - low) / 2.0);
    let reach = (centre.abs() - rule.equivalence.ln_1p()).abs().max(f64::MIN_POSITIVE);
    let times = (half / reach).powi(2);
    (pairs as f64 * times).ceil().clamp(pairs as f64, 1e6) as usize
}

fn enough(
    look: ScheduledLook,
    rule: &TrialRule,
    compared: &[VariantComparison],
    given_up: &[usize],
) -> Option<TrialStop> {
    let waited_for = compared.iter().enumerate().filter(|(at, _)| !given_up.contains(&(at + 1)));
    let open: Vec<&VariantComparison> =
        waited_for.map(|(_, found)| found).filter(|found| found.verdict == TrialVerdict::Undecided).collect();
    if open.is_empty() {
        return Some(TrialStop::Decided);
    }
    let last = last_within(compared.len(), rule.max_blocks)?;
    if look.blocks >= last.blocks {
        return Some(TrialStop::MaxRuns);
    }
    let hopeless =
        |found: &&VariantComparison| found.pairs >= JUDGED_FROM && !can_decide(found, look, last, rule);
    open.iter().all(hopeless).then_some(TrialStop::CannotDecide)
}

/// Whether the pairs of the last look could decide it, wherever within about one standard error of the
/// present estimate the true ratio lies. The interval at the last look is taken to be narrower by the root of
/// the number of pairs, which is kind: the last look spends less.
fn can_decide(found: &VariantComparison, look: ScheduledLook, last: ScheduledLook, rule: &TrialRule) -> bool {
    let Some(interval) = found.interval else { return true };
    let (low, high) = (interval.low.ln(), interval.high.ln());
    let (centre, half) = ((low + high).abs() / 2.0, (high - low) / 2.0);
    let at_last = half * (look.blocks as f64 / last.blocks as f64).sqrt();
    let (error, end) = (half / 3.0, rule.equivalence.ln_1p());
    centre + error - at_last > end || (centre - error).max(0.0) + at_last < end
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: TrialRule = TrialRule { equivalence: 0.03, max_blocks: 40, better: Better::Lower };

    /// Blocks in which the baseline takes about 10 s, and each variant its factor of that.
    fn blocks(count: usize, spread: f64, factors: &[f64]) -> Vec<Vec<Option<f64>>> {
        let wave = |at: usize, of: usize| spread * ((at * (of + 3)) as f64 * 2.399).sin();
        let block = |at: usize| {
            let own = factors.iter().enumerate().map(|(of, factor)| 10.0 * factor * (1.0 + wave(at, of + 1)));
            std::iter::once(10.0 * (1.0 + wave(at, 0))).chain(own).map(Some).collect()
        };
        (0..count).map(block).collect()
    }

    fn verdicts(standing: &TrialStanding) -> Vec<TrialVerdict> {
        standing.compared.iter().map(|found| found.verdict).collect()
    }

    #[test]
    fn clear_differences_are_decided_at_the_first_look_each_in_its_direction() {
        let all = blocks(8, 0.005, &[0.8, 1.5, 1.0]);
        assert_eq!(standing(&all[..7], 4, &RULE, &[]).stop, None, "before the first look nothing is said");
        let found = standing(&all, 4, &RULE, &[]);
        assert_eq!(verdicts(&found), [TrialVerdict::Better, TrialVerdict::Worse, TrialVerdict::Same]);
        assert_eq!(found.stop, Some(TrialStop::Decided));
        let rates = TrialRule { better: Better::Higher, ..RULE };
        assert_eq!(
            verdicts(&standing(&all, 4, &rates, &[]))[..2],
            [TrialVerdict::Worse, TrialVerdict::Better]
        );
    }

    #[test]
    fn a_known_difference_that_is_too_small_to_matter_is_the_same() {
        let found = standing(&blocks(20, 0.001, &[1.01]), 2, &RULE, &[]);
        assert_eq!(verdicts(&found), [TrialVerdict::Same]);
        assert!(found.compared[0].interval.is_some_and(|interval| interval.low > 1.0), "{found:?}");
        let finer = TrialRule { equivalence: 0.005, ..RULE };
        assert_eq!(verdicts(&standing(&blocks(20, 0.001, &[1.01]), 2, &finer, &[])), [TrialVerdict::Worse]);
    }

    #[test]
    fn a_difference_of_which_it_is_not_known_whether_it_matters_is_undecided_and_has_its_direction() {
        // About 3 % slower, from 2 to 4 %.
        let found = standing(&blocks(40, 0.02, &[1.03]), 2, &RULE, &[]);
        let one = &found.compared[0];
        let ends = one.interval.map(|ends| (ends.low > 1.0, ends.low < 1.03, ends.high > 1.03));
        assert_eq!(ends, Some((true, true, true)), "{one:?}");
        assert_eq!((one.verdict, one.direction), (TrialVerdict::Undecided, Some(TrialVerdict::Worse)));
        let rates = TrialRule { better: Better::Higher, ..RULE };
        let one = &standing(&blocks(40, 0.02, &[1.03]), 2, &rates, &[]).compared[0];
        assert_eq!((one.verdict, one.direction), (TrialVerdict::Undecided, Some(TrialVerdict::Better)));
    }

    #[test]
    fn words_and_interval_agree_wherever_the_interval_lies() {
        let mut seen = std::collections::BTreeSet::new();
        for at in 0..400 {
            let (count, spread) = (6 + at % 38, [0.002, 0.01, 0.03, 0.1][at % 4]);
            let factor = 0.9 + 0.2 * (at as f64 * 0.618).fract();
            for one in standing(&blocks(count, spread, &[factor, 2.0 - factor]), 3, &RULE, &[]).compared {
                let Some(ends) = one.interval else { continue };
                match one.verdict {
                    TrialVerdict::Same => assert!(ends.low >= 1.0 / 1.03 && ends.high <= 1.03, "{one:?}"),
                    TrialVerdict::Better => assert!(ends.high < 1.0 / 1.03, "{one:?}"),
                    TrialVerdict::Worse => assert!(ends.low > 1.03, "{one:?}"),
                    TrialVerdict::Undecided | TrialVerdict::Newer => {}
                }
                if let Some(side) = one.direction {
                    assert_eq!(side == TrialVerdict::Worse, ends.low > 1.0, "{one:?}");
                    assert!(!ends.contains(1.0), "{one:?}");
                }
                seen.insert(format!("{:?}", one.verdict));
            }
        }
        assert_eq!(seen.len(), 4, "every verdict occurs: {seen:?}");
    }

    #[test]
    fn noise_far_wider_than_any_difference_is_given_up_before_the_last_block_and_says_how_many_it_would_take()
    {
        let noisy = blocks(40, 0.5, &[1.0]);
        let found = standing(&noisy, 2, &RULE, &[]);
        assert_eq!(
            (verdicts(&found), found.stop),
            (vec![TrialVerdict::Undecided], Some(TrialStop::CannotDecide))
        );
        assert!(found.compared[0].wanted.is_some_and(|wanted| wanted > 100), "{found:?}");
        let patient = TrialRule { max_blocks: 4000, ..RULE };
        assert_eq!(
            standing(&noisy, 2, &patient, &[]).stop,
            None,
            "with that many more blocks it could be decided"
        );
    }

    #[test]
    fn a_pair_needs_both_of_its_runs() {
        let mut all = blocks(20, 0.005, &[1.3]);
        all[3][0] = None;
        all[5][1] = None;
        let found = standing(&all, 2, &RULE, &[]);
        // At the look after 13 blocks, two of which lack a run.
        assert_eq!((found.compared[0].pairs, found.compared[0].verdict), (11, TrialVerdict::Worse));
        let nothing: Vec<Vec<Option<f64>>> = (0..40).map(|_| vec![Some(1.0), None]).collect();
        let found = standing(&nothing, 2, &RULE, &[]);
        assert_eq!(
            (found.compared[0].ratio, verdicts(&found), found.stop),
            (None, vec![TrialVerdict::Undecided], Some(TrialStop::MaxRuns))
        );
    }

    #[test]
    fn a_verdict_stands_while_later_looks_have_something_in_common_with_it() {
        let mut all = blocks(30, 0.3, &[2.5, 1.0]);
        let first = standing(&all[..7], 3, &RULE, &[]);
        assert_eq!(
            (first.compared[0].verdict, first.compared[0].decided_after),
            (TrialVerdict::Worse, Some(7))
        );
        let later = standing(&all, 3, &RULE, &[]);
        assert_eq!(
            (later.compared[0].verdict, later.compared[0].decided_after),
            (TrialVerdict::Worse, Some(7))
        );

        // From the ninth block on it is as quick as the baseline, so the ratio itself has changed: the newest
        // interval is what is shown, and what decides.
        for block in &mut all[8..] {
            block[1] = block[0];
        }

        let changed = standing(&all, 3, &RULE, &[]);
        let one = &changed.compared[0];
        assert!(
            one.verdict != TrialVerdict::Worse || one.interval.is_some_and(|ends| ends.low > 1.03),
            "{one:?}"
        );
    }

    #[test]
    fn every_block_up_to_the_most_is_wanted_while_it_may_still_be_decided() {
        let found = standing(&blocks(9, 0.04, &[1.02]), 2, &TrialRule { max_blocks: 10, ..RULE }, &[]);
        assert_eq!(found.stop, None);
        let found = standing(&blocks(10, 0.04, &[1.02]), 2, &TrialRule { max_blocks: 10, ..RULE }, &[]);
        assert_eq!(found.stop, Some(TrialStop::MaxRuns));
    }

    #[test]
    fn a_trial_without_variants_is_decided() {
        assert_eq!(standing(&blocks(10, 0.0, &[]), 1, &RULE, &[]).compared, []);
    }
}
