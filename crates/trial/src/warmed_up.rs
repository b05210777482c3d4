//! A trial after its warm-up: what it will take, its blocks until it is decided, and the document and exit
//! code that they come to.

use experiments::journal::FinishedRun;
use experiments::{Exit, Fault};
use report::TrialDocument;
use report::trial::{TrialOutcome, TrialRun, TrialStop};
use stats::units::{counted, spoken_seconds};

use crate::answer::holds;
use crate::document::{TrialState, build};
use crate::metric::WALL;
use crate::planned::PlannedTrial;
use crate::runner::ProgramRunner;
use crate::sequential_alpha;
use crate::session::TrialSession;
use crate::trial_loop::{Runner, conduct};

/// A trial whose variants all run.
pub struct WarmedUpTrial<'t> {
    runner: ProgramRunner<'t>,
    runs: Vec<TrialRun>,
}

impl PlannedTrial {
    /// Makes the runs of the warm-up that are not there yet, and measures what starting costs where the wall
    /// time decides.
    ///
    /// # Errors
    /// A variant that does not run, or gives no figure.
    pub fn warm_up<'t>(&'t self, session: TrialSession<'t>) -> Result<WarmedUpTrial<'t>, Fault> {
        let mut runner = ProgramRunner::new(self, session)?;
        let mut runs = self.runs.clone();
        runner.learn(&runs);
        match prepared(&mut runner, &mut runs) {
            Ok(()) => Ok(WarmedUpTrial { runner, runs }),
            Err(fault) => Err(runner.ended_by(&runs, fault)),
        }
    }
}

fn prepared(runner: &mut ProgramRunner<'_>, runs: &mut Vec<TrialRun>) -> Result<(), Fault> {
    runner.warm_up(runs)?;
    if runner.facts.trial.plan.metric == WALL {
        runner.facts.starts = runner.starts()?;
    }
    Ok(())
}

impl WarmedUpTrial<'_> {
    /// What the trial will take, in a sentence.
    pub fn estimate(&self) -> String {
        let Some(block_s) = self.runner.block_s() else {
            return "The time is not known: no warm-up run counts".to_owned();
        };
        let plan = &self.runner.facts.trial.plan;
        let first = sequential_alpha::first_look(plan.variants.len());
        let most = plan.rule.max_blocks;
        let time = |blocks: usize| spoken_seconds(blocks as f64 * block_s);
        let run_s = block_s / plan.variants.len() as f64;
        let takes = format!(
            "A run takes {}, a block of {} {}",
            spoken_seconds(run_s),
            counted(plan.variants.len(), "variant"),
            spoken_seconds(block_s)
        );
        let left_s = plan.max_time_s.map(|limit| (limit - self.runner.elapsed_s()).max(0.0));
        let looks = sequential_alpha::looks(plan.variants.len() - 1).take_while(|look| look.blocks <= most);
        let within = |blocks: usize| left_s.is_none_or(|left_s| blocks as f64 * block_s <= left_s);

        match looks.filter(|look| within(look.blocks)).map(|look| look.blocks).last() {
            None => {
                let limit = spoken_seconds(plan.max_time_s.unwrap_or(0.0));
                format!(
                    "{takes}. The first verdict takes {} ({}), and --max-time {limit} has no time for it: \
                     the runs that it has time for are made and reported, and nothing is decided",
                    counted(first, "block"),
                    time(first)
                )
            }
            Some(last) => {
                let last = if left_s.is_some() { last } else { most };
                format!(
                    "{takes}; the first verdict can come after {} ({}), the last after {last} ({})",
                    counted(first, "block"),
                    time(first),
                    time(last)
                )
            }
        }
    }

    /// The answer in lines, where it is known without a block: the program is too short to be tried.
    pub fn answer(&self) -> Option<Vec<String>> {
        self.runner.facts.too_short(&self.runs)?;
        Some(self.runner.facts.answer(&self.runs, &[], None).lines)
    }

    /// Runs blocks until it is decided; the document is kept where the session says, and given back.
    ///
    /// # Errors
    /// A run that cannot be made.
    pub fn run(mut self) -> Result<FinishedRun<TrialDocument>, Fault> {
        let is_too_short = self.runner.facts.too_short(&self.runs).is_some();
        let trial = self.runner.facts.trial;
        let stop = match is_too_short {
            true => TrialStop::TooShort,
            false => conduct(&trial.plan, &mut self.runs, &mut self.runner)
                .map_err(|fault| self.runner.ended_by(&self.runs, fault))?,
        };
        self.runner.session.observer.ended();
        let elapsed_s = self.runner.elapsed_s();
        let exit = self.exit(stop);
        let state = TrialState { runs: &self.runs, elapsed_s, stop: Some(stop), exit: Some(exit) };
        Ok(self.runner.file.conclude(build(&self.runner.facts, state), exit))
    }

    fn exit(&self, stop: TrialStop) -> Exit {
        use TrialOutcome::{Counted, Misplaced};
        let (facts, runs) = (&self.runner.facts, &self.runs);
        if let (TrialStop::Signal, Some(exit)) = (stop, self.runner.session.signals.exit()) {
            return exit;
        }
        if stop == TrialStop::TooShort {
            return Exit::Undecided;
        }
        let comparisons = facts.compared(runs, &facts.trial.metrics[0].described);

        // A run that counts is a figure, also where it has no pair.
        let has_figure = runs.iter().any(|run| run.block > 0 && run.outcome == Counted);
        if comparisons.iter().all(|found| found.pairs == 0) && !has_figure {
            return Exit::NoResult;
        }
        let answer = facts.answer(runs, &comparisons, Some(stop));
        let is_any = |outcome| runs.iter().any(|run| run.outcome == outcome);
        let has_failed = runs.iter().any(|run| run.block > 0 && !matches!(run.outcome, Counted | Misplaced));

        match facts.trial.expected.map(|expected| holds(&answer, &comparisons, expected)) {
            Some(Some(false)) => Exit::Finding,
            _ if is_any(Misplaced) => Exit::Finding,
            Some(None) => Exit::Undecided,
            None if !answer.is_decided => Exit::Undecided,
            _ if has_failed => Exit::Partial,
            _ => Exit::Ok,
        }
    }
}
