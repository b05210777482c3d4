//! A trial from its first counted block to its end: run, look, go on or stop.
//!
//! It acts through a [`Runner`], so that tests hold it against runs that are made up. A trial that is taken
//! up again begins with the runs it has: what was done is not repeated, and the block that was cut off is
//! completed. A variant that gives no figure three times in a row is given up, and the others go on; without
//! the baseline, or without any other, there is nothing to compare.

use report::trial::{TrialOutcome, TrialRun, TrialStop};

use crate::decide::{TrialRule, TrialStanding, standing};
use crate::order::order;

/// So many runs of a variant without a figure, one after the other, and it is given up.
const GIVEN_UP_AFTER: usize = 3;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialPlan {
    /// The variants' names, the baseline first.
    pub variants: Vec<String>,
    /// The metric that decides.
    pub metric: String,
    /// When it is enough.
    pub rule: TrialRule,
    /// The seed of the order within blocks.
    pub seed: u64,
    /// No run begins after so many seconds, also within a block.
    pub max_time_s: Option<f64>,
}

/// Who makes the runs.
pub trait Runner {
    /// What ends a trial without a verdict.
    type Error;

    /// Makes one run. A program that fails is a run; an error is what no further run can do without.
    ///
    /// # Errors
    /// The trial cannot go on.
    fn run(&mut self, block: u32, variant: usize) -> Result<TrialRun, Self::Error>;

    /// Keeps and shows how the trial stands after a run.
    ///
    /// # Errors
    /// The trial cannot go on.
    fn after(&mut self, runs: &[TrialRun], standing: &TrialStanding) -> Result<(), Self::Error>;

    /// Seconds since the trial began, those before it was taken up again too.
    fn elapsed_s(&self) -> f64;

    /// Whether the user wants to end.
    fn is_over(&self) -> bool;
}

/// Runs blocks until it is enough; `runs` has those that were made before, and gets the others.
///
/// # Errors
/// The runner's.
pub fn conduct<R: Runner>(
    plan: &TrialPlan,
    runs: &mut Vec<TrialRun>,
    runner: &mut R,
) -> Result<TrialStop, R::Error> {
    runs.retain(|run| run.outcome != TrialOutcome::Interrupted);
    let mut block = 0;

    loop {
        block += 1;
        let given_up = given_up(plan, runs);
        if given_up.contains(&0) || (plan.variants.len() > 1 && given_up.len() + 1 == plan.variants.len()) {
            return Ok(TrialStop::Failing);
        }
        if let Some(stop) = stands(plan, runs).stop {
            return Ok(stop);
        }
        let is_done = |variant: usize, runs: &[TrialRun]| {
            runs.iter().any(|run| run.block == block && run.variant == plan.variants[variant])
        };
        for variant in order(plan.seed, block as usize, plan.variants.len()) {
            if is_done(variant, runs) || given_up.contains(&variant) {
                continue;
            }
            if runner.is_over() {
                return Ok(TrialStop::Signal);
            }
            if plan.max_time_s.is_some_and(|limit| runner.elapsed_s() >= limit) {
                return Ok(TrialStop::MaxTime);
            }
            let run = runner.run(block, variant)?;
            let is_cut_off = run.outcome == TrialOutcome::Interrupted;
            runs.push(run);
            runner.after(runs, &stands(plan, runs))?;
            if is_cut_off {
                return Ok(TrialStop::Signal);
            }
        }
    }
}

/// How the trial stands by the metric that decides.
pub fn stands(plan: &TrialPlan, runs: &[TrialRun]) -> TrialStanding {
    let given_up = given_up(plan, runs);
    standing(&figures(plan, runs, &plan.metric), plan.variants.len(), &plan.rule, &given_up)
}

/// The variants that gave no figure several times in a row.
pub fn given_up(plan: &TrialPlan, runs: &[TrialRun]) -> Vec<usize> {
    let is_given_up = |variant: &usize| {
        let own = runs.iter().filter(|run| run.block > 0 && run.variant == plan.variants[*variant]);
        let bad = |outcome| !matches!(outcome, TrialOutcome::Counted | TrialOutcome::Interrupted);
        let outcomes: Vec<bool> = own.map(|run| bad(run.outcome)).collect();
        outcomes.windows(GIVEN_UP_AFTER).any(|row| row.iter().all(|is_bad| *is_bad))
    };
    (0..plan.variants.len()).filter(is_given_up).collect()
}

/// The figures of the complete blocks by this metric, a row a block in the order of the variants; `None`
/// where a run does not count.
pub fn figures(plan: &TrialPlan, runs: &[TrialRun], metric: &str) -> Vec<Vec<Option<f64>>> {
    let given_up = given_up(plan, runs);
    let last = runs.iter().map(|run| run.block).max().unwrap_or(0);
    let of =
        |block: u32, variant: &String| runs.iter().find(|run| run.block == block && run.variant == *variant);
    let row = |block: u32| {
        let runs: Vec<Option<&TrialRun>> = plan.variants.iter().map(|variant| of(block, variant)).collect();
        let is_complete = runs.iter().enumerate().all(|(at, run)| run.is_some() || given_up.contains(&at));
        let figure = |run: &TrialRun| {
            let counts = run.outcome == TrialOutcome::Counted;
            run.metrics.get(metric).copied().filter(|_| counts)
        };
        is_complete.then(|| runs.into_iter().map(|run| run.and_then(figure)).collect())
    };
    (1..=last).map_while(row).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use report::trial::TrialVerdict;

    use super::*;
    use crate::decide::Better;

    /// Runs whose figures are made up.
    struct Made<'m> {
        figure: &'m dyn Fn(u32, usize) -> Result<f64, TrialOutcome>,
        made: Vec<(u32, usize)>,
        clock: f64,
        ends_after: usize,
    }

    impl Runner for Made<'_> {
        type Error = String;

        fn run(&mut self, block: u32, variant: usize) -> Result<TrialRun, String> {
            self.made.push((block, variant));
            self.clock += 1.0;
            let (outcome, figure) = match (self.figure)(block, variant) {
                Ok(figure) => (TrialOutcome::Counted, Some(figure)),
                Err(outcome) => (outcome, None),
            };

            Ok(TrialRun {
                block,
                variant: names()[variant].clone(),
                began_s: self.clock,
                wall_s: 1.0,
                outcome,
                reason: None,
                exit_code: Some(0),
                signal: None,
                metrics: figure
                    .map(|figure| ("wall".to_owned(), figure))
                    .into_iter()
                    .collect::<BTreeMap<_, _>>(),
                used: report::trial::Used::default(),
                output_file: None,
                looks: Vec::new(),
                left_running: None,
            })
        }

        fn after(&mut self, _: &[TrialRun], _: &TrialStanding) -> Result<(), String> {
            Ok(())
        }

        fn elapsed_s(&self) -> f64 {
            self.clock
        }

        fn is_over(&self) -> bool {
            self.made.len() >= self.ends_after
        }
    }

    fn names() -> Vec<String> {
        ["baseline", "close", "worst"].map(str::to_owned).to_vec()
    }

    fn plan() -> TrialPlan {
        let rule = TrialRule { equivalence: 0.03, max_blocks: 40, better: Better::Lower };
        TrialPlan { variants: names(), metric: "wall".to_owned(), rule, seed: 1, max_time_s: None }
    }

    fn well(block: u32, variant: usize) -> Result<f64, TrialOutcome> {
        Ok([10.0, 10.0, 15.0][variant] * (1.0 + 0.002 * f64::from(block * 7 % 5)))
    }

    fn made<'m>(figure: &'m dyn Fn(u32, usize) -> Result<f64, TrialOutcome>, ends_after: usize) -> Made<'m> {
        Made { figure, made: Vec::new(), clock: 0.0, ends_after }
    }

    #[test]
    fn blocks_are_complete_and_end_when_all_is_decided() -> Result<(), String> {
        let (mut runs, mut runner) = (Vec::new(), made(&well, 1000));
        assert_eq!(conduct(&plan(), &mut runs, &mut runner)?, TrialStop::Decided);
        let verdicts: Vec<TrialVerdict> =
            stands(&plan(), &runs).compared.iter().map(|found| found.verdict).collect();
        assert_eq!(verdicts, [TrialVerdict::Same, TrialVerdict::Worse]);
        assert_eq!(runs.len(), 7 * 3, "the first look of two comparisons is after seven blocks");
        for block in runs.chunks(3) {
            assert!(block.iter().all(|run| run.block == block[0].block));
        }
        Ok(())
    }

    #[test]
    fn a_trial_that_was_cut_off_goes_on_without_repeating_a_run() -> Result<(), String> {
        let (mut whole, mut runner) = (Vec::new(), made(&well, 1000));
        conduct(&plan(), &mut whole, &mut runner)?;
        for cut in [1, 4, 11, 20] {
            let (mut runs, mut first) = (Vec::new(), made(&well, cut));
            assert_eq!(conduct(&plan(), &mut runs, &mut first)?, TrialStop::Signal);
            let mut second = made(&well, 1000);
            assert_eq!(conduct(&plan(), &mut runs, &mut second)?, TrialStop::Decided);
            assert_eq!([first.made, second.made].concat(), runner.made, "cut after {cut}");
            assert_eq!(stands(&plan(), &runs), stands(&plan(), &whole));
        }
        Ok(())
    }

    #[test]
    fn a_variant_that_always_fails_is_given_up_and_the_others_are_decided() -> Result<(), String> {
        let failing =
            |block, variant| if variant == 1 { Err(TrialOutcome::Failed) } else { well(block, variant) };
        let (mut runs, mut runner) = (Vec::new(), made(&failing, 1000));
        assert_eq!(conduct(&plan(), &mut runs, &mut runner)?, TrialStop::Decided);
        assert_eq!(runs.iter().filter(|run| run.variant == "close").count(), 3);
        assert_eq!(stands(&plan(), &runs).compared[1].verdict, TrialVerdict::Worse);
        assert_eq!(stands(&plan(), &runs).compared[0].verdict, TrialVerdict::Undecided);
        Ok(())
    }

    #[test]
    fn without_the_baseline_there_is_nothing_to_compare() -> Result<(), String> {
        let failing =
            |block, variant| if variant == 0 { Err(TrialOutcome::TimedOut) } else { well(block, variant) };
        let (mut runs, mut runner) = (Vec::new(), made(&failing, 1000));
        assert_eq!(conduct(&plan(), &mut runs, &mut runner)?, TrialStop::Failing);
        assert_eq!(runs.len(), 9);
        Ok(())
    }

    #[test]
    fn a_run_that_fails_or_is_misplaced_now_and_then_costs_its_pair_and_no_more() -> Result<(), String> {
        let now_and_then = |block, variant| match (block, variant) {
            (2, 1) => Err(TrialOutcome::Misplaced),
            (4, 2) => Err(TrialOutcome::Failed),
            _ => well(block, variant),
        };
        let (mut runs, mut runner) = (Vec::new(), made(&now_and_then, 1000));
        assert_eq!(conduct(&plan(), &mut runs, &mut runner)?, TrialStop::Decided);
        assert!(figures(&plan(), &runs, "wall")[1][1].is_none());
        Ok(())
    }

    #[test]
    fn no_run_begins_after_the_time_is_up() -> Result<(), String> {
        let (mut runs, mut runner) = (Vec::new(), made(&well, 1000));
        let plan = TrialPlan { max_time_s: Some(5.0), ..plan() };
        assert_eq!(conduct(&plan, &mut runs, &mut runner)?, TrialStop::MaxTime);
        assert_eq!((runs.len(), figures(&plan, &runs, "wall").len()), (5, 1));
        Ok(())
    }
}
