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
    /// Trials that ended.
    pub trials: u32,
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
        let Self { trials, wrong, same, equivalence, .. } = *self;
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

        for trial in 0..trials {
            let seed = stats::random::mix(self.plan.seed ^ u64::from(trial));
            let plan = TrialPlan { seed, ..self.plan.clone() };
            let mut runs = Vec::new();
            if conduct(&plan, &mut runs, &mut Twice { runner: &mut runner, plan: &plan })?
                == TrialStop::Signal
            {
                break;
            }
            done += 1;
            match stands(&plan, &runs).compared.first().map(|found| found.verdict) {
                Some(TrialVerdict::Better | TrialVerdict::Worse) => wrong += 1,
                Some(TrialVerdict::Same) => same += 1,
                _ => {}
            }
        }

        // What was finished before a signal is a result too.
        let exit = if done < trials { signals.exit().unwrap_or(Exit::NoResult) } else { Exit::Ok };
        Ok(FalseAlarms { trials: done, wrong, same, equivalence: self.plan.rule.equivalence, exit })
    }
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
