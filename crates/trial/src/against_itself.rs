//! The baseline against itself, in several trials: how often a difference is claimed where there is none.

use std::fmt;

use experiments::{Exit, Fault};
use report::trial::{TrialRun, TrialStop, TrialVerdict};
use stats::units::counted;

use crate::decide::TrialStanding;
use crate::planned::PlannedTrial;
use crate::runner::ProgramRunner;
use crate::session::TrialSession;
use crate::trial_loop::{Runner, TrialPlan, conduct, stands};

/// What came of such trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FalseAlarms {
    /// Trials that were asked for.
    pub asked: u32,
    /// Trials that came to an answer.
    pub trials: u32,
    /// Why the next one did not, and no further one was begun.
    pub ended_by: Option<TrialStop>,
    /// Those that claimed a difference.
    pub wrong: u32,
    /// Those that found none.
    pub same: u32,
    /// Differences below this part did not matter.
    pub equivalence: f64,
    /// The code to end with.
    pub exit: Exit,
}

impl fmt::Display for FalseAlarms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, trials, wrong, same, equivalence, ended_by, .. } = *self;
        if let Some(stop) = ended_by {
            let why = match stop {
                TrialStop::MaxTime => "--max-time was reached",
                TrialStop::Signal => "a signal came",
                TrialStop::TooShort => "most of a run is starting the program",
                _ => "too many runs gave no figure",
            };
            writeln!(
                f,
                "PARTIAL: {trials} of {} came to an answer: {why}.",
                counted(asked as usize, "trial")
            )?;
        }
        if trials == 0 {
            return Ok(());
        }

        let most = stats::tolerance::largest_share(wrong, trials, stats::alpha::CONFIDENCE);
        writeln!(
            f,
            "The baseline against itself: {wrong} of {} claimed a difference that is none (at most {:.0} % \
             of such trials, 95 % sure).\n\
             {same} found no difference beyond ± {:.1} %, {} could not decide.",
            counted(trials as usize, "trial"),
            most * 100.0,
            equivalence * 100.0,
            trials - same - wrong
        )
    }
}

impl PlannedTrial {
    /// Tries the baseline against itself, so many times.
    ///
    /// # Errors
    /// A run that cannot be made.
    pub fn against_itself<'t>(
        &'t self,
        trials: u32,
        session: TrialSession<'t>,
    ) -> Result<FalseAlarms, Fault> {
        let signals = session.signals;
        let mut runner = ProgramRunner::new(self, session)?;
        runner.warm_up(&mut Vec::new())?;
        let (mut done, mut same, mut wrong) = (0, 0, 0);
        let mut ended_by = None;

        for trial in 0..trials {
            let seed = stats::random::mix(self.plan.seed ^ u64::from(trial));
            let plan = TrialPlan { seed, ..self.plan.clone() };
            let mut runs = Vec::new();
            let stop = conduct(&plan, &mut runs, &mut Twice { runner: &mut runner, plan: &plan })?;
            if !is_an_answer(stop) {
                ended_by = Some(stop);
                break;
            }
            done += 1;
            match stands(&plan, &runs).compared.first().map(|found| found.verdict) {
                Some(TrialVerdict::Better | TrialVerdict::Worse) => wrong += 1,
                Some(TrialVerdict::Same) => same += 1,
                _ => {}
            }
        }

        // What was finished before the end is a result too.
        let of_partial = if done > 0 { Exit::Partial } else { Exit::NoResult };
        let exit = if done < trials { signals.exit().unwrap_or(of_partial) } else { Exit::Ok };
        let equivalence = self.plan.rule.equivalence;
        Ok(FalseAlarms { asked: trials, trials: done, ended_by, wrong, same, equivalence, exit })
    }
}

/// Whether a trial that stopped so says how often a difference is claimed: one that was cut off had no chance
/// to claim any.
fn is_an_answer(stop: TrialStop) -> bool {
    matches!(stop, TrialStop::Decided | TrialStop::CannotDecide | TrialStop::MaxRuns)
}

/// A runner whose only variant is run under two names.
struct Twice<'t, 's> {
    runner: &'t mut ProgramRunner<'s>,
    plan: &'t TrialPlan,
}

impl Runner for Twice<'_, '_> {
    type Error = Fault;

    fn run(&mut self, block: u32, variant: usize) -> Result<TrialRun, Fault> {
        let run = self.runner.run(block, 0)?;
        Ok(TrialRun { variant: self.plan.variants[variant].clone(), ..run })
    }

    fn after(&mut self, _: &[TrialRun], _: &TrialStanding) -> Result<(), Fault> {
        Ok(())
    }

    fn elapsed_s(&self) -> f64 {
        self.runner.elapsed_s()
    }

    fn is_over(&self) -> bool {
        self.runner.is_over()
    }
}
