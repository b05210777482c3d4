//! What starting a program costs in each variant, and whether that decides instead of the program.
//!
//! It is measured with a program that does nothing, started as the variant starts the user's. Every variant
//! is started in the same way, so these times differ by little; but a program may be so short that little
//! decides. Taken away is nothing: a verdict that would not stand without the difference in starting is no
//! verdict on placement, and a program of which starting is a quarter has none at all. Of other metrics than
//! the wall time starting is no part.

use report::trial::{TrialComparison, TrialStart, TrialVerdict};
use stats::interval::{Interval, median, median_interval};

use crate::decide::verdict;

/// The part of a run that starting it may be. Not derived from anything: a run that is starting to a quarter
/// is no run of the program.
const MOST: f64 = 0.25;

/// What these seconds of starts, which ended well, say of a variant; `None` without one. Six give an
/// interval; of fewer the ends are the least and the most.
pub fn start_of(variant: &str, seconds: &[f64]) -> Option<TrialStart> {
    let ends = |pick: fn(f64, f64) -> f64| seconds.iter().copied().reduce(pick);
    let (low, high) = match median_interval(seconds, 0.95) {
        Some(Interval { low, high, .. }) => (low, high),
        None => (ends(f64::min)?, ends(f64::max)?),
    };
    Some(TrialStart {
        variant: variant.to_owned(),
        starts: seconds.len() as u32,
        median_s: median(seconds)?,
        low_s: low,
        high_s: high,
    })
}

/// The longest start, where a run of so many seconds is starting to more than a quarter.
pub fn too_short(starts: &[TrialStart], run_s: f64) -> Option<f64> {
    let longest = starts.iter().map(|start| start.median_s).reduce(f64::max)?;
    (longest > MOST * run_s).then_some(longest)
}

/// A difference by the wall time is no longer claimed where it would not stand without the difference in
/// starting. `baseline_s` is the baseline's median run.
pub fn without_starting(
    found: TrialComparison,
    starts: &[TrialStart],
    baseline: &str,
    baseline_s: f64,
    equivalence: f64,
) -> TrialComparison {
    let of = |name: &str| starts.iter().find(|start| start.variant == name);
    let claims =
        matches!(found.verdict, TrialVerdict::Better | TrialVerdict::Worse) || found.direction.is_some();
    let (true, Some(ends), Some(own), Some(other)) =
        (claims, found.ratio_interval, of(&found.variant), of(baseline))
    else {
        return found;
    };

    // What the variant's starts take longer than the baseline's, at least and at most, as parts of the
    // baseline's run.
    let (least, most) = ((own.low_s - other.high_s) / baseline_s, (own.high_s - other.low_s) / baseline_s);
    let rest = Interval { low: ends.low - most, high: ends.high - least, ..ends };
    let side = |interval: &Interval| (!interval.contains(1.0)).then_some(interval.low > 1.0);
    let keeps_side = side(&rest) == side(&ends);
    let is_beyond = verdict(&rest, Some(TrialVerdict::Worse), equivalence) == TrialVerdict::Worse;
    if keeps_side && (is_beyond || found.verdict == TrialVerdict::Undecided) {
        return found;
    }
    let direction = found.direction.filter(|_| keeps_side);

    TrialComparison {
        verdict: TrialVerdict::Undecided,
        direction,
        decided_after: None,
        starting_decides: true,
        ..found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(variant: &str, low_s: f64, high_s: f64) -> TrialStart {
        TrialStart {
            variant: variant.to_owned(),
            starts: 10,
            median_s: (low_s + high_s) / 2.0,
            low_s,
            high_s,
        }
    }

    fn slower(low: f64, high: f64) -> TrialComparison {
        TrialComparison {
            variant: "close".to_owned(),
            metric: "wall".to_owned(),
            pairs: 10,
            ratio: Some((low + high) / 2.0),
            ratio_interval: Some(Interval { low, high, confidence: 0.95 }),
            p_value: Some(0.002),
            verdict: TrialVerdict::Worse,
            direction: Some(TrialVerdict::Worse),
            decided_after: Some(6),
            pairs_wanted: None,
            starting_decides: false,
        }
    }

    #[test]
    fn starts_have_an_interval_or_their_ends() {
        assert_eq!(start_of("close", &[]), None);
        let few = start_of("close", &[0.003, 0.001, 0.002]);
        assert!(
            few.is_some_and(
                |few| (few.starts, few.median_s, few.low_s, few.high_s) == (3, 0.002, 0.001, 0.003)
            )
        );
        let many = start_of("close", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 100.0]);
        assert!(many.is_some_and(|many| (many.low_s, many.high_s) == (2.0, 9.0)));
    }

    #[test]
    fn a_program_of_which_a_quarter_is_starting_is_too_short() {
        let starts = [start("baseline", 0.001, 0.001), start("close", 0.002, 0.002)];
        assert_eq!(too_short(&starts, 0.004), Some(0.002));
        assert_eq!(too_short(&starts, 0.03), None);
        assert_eq!(too_short(&[], 0.0001), None, "what was not measured says nothing");
    }

    #[test]
    fn a_difference_that_is_the_wrappers_is_not_claimed() {
        let starts = [start("baseline", 0.0010, 0.0012), start("close", 0.0030, 0.0034)];
        // 2 ms of 30 ms are 6.7 %.
        let found = without_starting(slower(1.04, 1.09), &starts, "baseline", 0.030, 0.03);
        assert_eq!(
            (found.verdict, found.direction, found.starting_decides),
            (TrialVerdict::Undecided, None, true)
        );
        // Of 3 s they are nothing.
        let found = without_starting(slower(1.04, 1.09), &starts, "baseline", 3.0, 0.03);
        assert_eq!((found.verdict, found.starting_decides), (TrialVerdict::Worse, false));
        // And what is slower by half is slower without them too.
        let found = without_starting(slower(1.4, 1.6), &starts, "baseline", 0.030, 0.03);
        assert_eq!(found.verdict, TrialVerdict::Worse);
    }

    #[test]
    fn a_gain_that_is_the_wrappers_is_not_claimed_and_its_side_is_kept_where_it_stands() {
        let starts = [start("baseline", 0.0030, 0.0034), start("close", 0.0010, 0.0012)];
        let faster = |low, high| TrialComparison {
            verdict: TrialVerdict::Better,
            direction: Some(TrialVerdict::Better),
            ..slower(low, high)
        };
        let found = without_starting(faster(0.92, 0.95), &starts, "baseline", 0.030, 0.03);
        assert_eq!((found.verdict, found.direction), (TrialVerdict::Undecided, None));
        let found = without_starting(faster(0.85, 0.90), &starts, "baseline", 0.030, 0.03);
        assert_eq!((found.verdict, found.direction), (TrialVerdict::Undecided, Some(TrialVerdict::Better)));
        let found = without_starting(faster(0.5, 0.6), &starts, "baseline", 0.030, 0.03);
        assert_eq!(found.verdict, TrialVerdict::Better);
    }
}
