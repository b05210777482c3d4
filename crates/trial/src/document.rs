//! The trial document: what is known before the runs, and what follows from them.

use experiments::Exit;
use report::document::Status;
use report::trial::{
    TrialComparison, TrialMetric, TrialOutcome, TrialRow, TrialRun, TrialSettings, TrialStart, TrialStop,
    TrialVariant, TrialVerdict,
};
use report::{SavedDocument, TrialDocument};
use stats::interval::{median, median_interval};

use crate::answer::{self, TrialAnswer};
use crate::decide::{Better, TrialRule, VariantComparison, standing};
use crate::drift::drift;
use crate::metric::WALL;
use crate::planned::PlannedTrial;
use crate::start::{too_short, without_starting};
use crate::trial_loop::{TrialPlan, figures, given_up};

/// What is known before the blocks.
pub(crate) struct TrialFacts<'t> {
    /// The trial.
    pub trial: &'t PlannedTrial,
    /// What starting costs; empty until it was measured, and where the wall time does not decide.
    pub starts: Vec<TrialStart>,
}

impl TrialFacts<'_> {
    /// Each variant but the baseline against it, by one metric, as the document states it.
    pub fn compared(&self, runs: &[TrialRun], metric: &TrialMetric) -> Vec<TrialComparison> {
        let plan = &self.trial.plan;
        let found = compared(plan, runs, metric);
        let baseline = &plan.variants[0];
        let seconds = counted_figures(runs, baseline, &metric.name);
        let Some(usual) = median(&seconds).filter(|_| metric.name == WALL) else { return found };
        let rest = |found| without_starting(found, &self.starts, baseline, usual, plan.rule.equivalence);
        found.into_iter().map(rest).collect()
    }

    /// The seconds of a run and of the longest start, where starting is too large a part of the baseline's
    /// usual run and the wall time decides.
    pub fn too_short(&self, runs: &[TrialRun]) -> Option<(f64, f64)> {
        let plan = &self.trial.plan;
        let of_baseline =
            |run: &&TrialRun| run.variant == plan.variants[0] && run.outcome == TrialOutcome::Counted;
        let all: Vec<&TrialRun> = runs.iter().filter(of_baseline).collect();
        let is_warm = |run: &&&TrialRun| run.block > 0 || all.len() == 1;
        let usual = median(&all.iter().filter(is_warm).map(|run| run.wall_s).collect::<Vec<_>>())?;
        let start = too_short(&self.starts, usual).filter(|_| plan.metric == WALL)?;
        Some((usual, start))
    }

    /// What the runs come to by the metric that decides.
    pub fn answer(
        &self,
        runs: &[TrialRun],
        comparisons: &[TrialComparison],
        stop: Option<TrialStop>,
    ) -> TrialAnswer {
        if let Some((run_s, start_s)) = self.too_short(runs) {
            return answer::too_short(run_s, start_s);
        }
        let all = &self.trial.variants.all;
        let differ_by_place: Vec<bool> = all.iter().map(|variant| variant.differs_by_place).collect();
        answer::answer(
            &self.trial.variants(),
            &differ_by_place,
            &self.trial.metrics[0].described,
            comparisons,
            self.trial.plan.rule.equivalence,
            stop,
        )
    }
}

/// How far the trial is.
#[derive(Clone, Copy)]
pub(crate) struct TrialState<'s> {
    /// The runs so far.
    pub runs: &'s [TrialRun],
    /// Seconds so far.
    pub elapsed_s: f64,
    /// Why it ended; `None` while it goes on.
    pub stop: Option<TrialStop>,
    /// The exit; `None` while it goes on.
    pub exit: Option<Exit>,
}

/// The document of a trial in this state.
pub(crate) fn build(facts: &TrialFacts<'_>, state: TrialState<'_>) -> TrialDocument {
    let PlannedTrial { options, variants, metrics, plan, .. } = facts.trial;
    let described = facts.trial.variants();
    let comparisons: Vec<TrialComparison> =
        metrics.iter().flat_map(|metric| facts.compared(state.runs, &metric.described)).collect();
    let first: Vec<TrialComparison> =
        comparisons.iter().filter(|found| found.metric == plan.metric).cloned().collect();
    let answer = facts.answer(state.runs, &first, state.stop);
    let mut notes = variants.notes.clone();
    notes.extend(remarks(plan, state.runs));

    TrialDocument {
        schema: TrialDocument::SCHEMA.to_owned(),
        schema_version: TrialDocument::VERSION.number(),
        tool: facts.trial.tool.clone(),
        argv: facts.trial.argv.clone(),
        started_at: facts.trial.started_at.clone(),
        elapsed_s: state.elapsed_s,
        status: status(state.exit),
        exit_code: state.exit.map(Exit::code),
        hostname: facts.trial.topology.hostname.clone(),
        verdict: answer.lines,
        settings: TrialSettings {
            program: options.program.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            metrics: metrics.iter().map(|metric| metric.described.clone()).collect(),
            equivalence: plan.rule.equivalence,
            max_runs: options.max_runs,
            max_time_s: plan.max_time_s,
            run_timeout_s: options.run_timeout.map(|limit| limit.as_secs_f64()),
            seed: plan.seed,
            is_aa: options.against_itself,
        },
        rows: rows(&described, metrics.iter().map(|metric| &metric.described), &comparisons, state.runs),
        variants: described,
        starts: facts.starts.clone(),
        comparisons,
        stop: state.stop,
        drift: drift(&figures(plan, state.runs, &plan.metric)),
        runs: state.runs.to_vec(),
        notes,
    }
}

fn status(exit: Option<Exit>) -> Status {
    match exit {
        None => Status::Running,
        Some(Exit::Signal(_)) => Status::Interrupted,
        Some(Exit::NoResult | Exit::Usage) => Status::Failed,
        Some(Exit::Partial) => Status::Partial,
        Some(_) => Status::Complete,
    }
}

/// Each variant but the baseline against it, by one metric, whatever starting costs.
fn compared(plan: &TrialPlan, runs: &[TrialRun], metric: &TrialMetric) -> Vec<TrialComparison> {
    let better = if metric.more_is_better { Better::Higher } else { Better::Lower };
    let rule = TrialRule { better, ..plan.rule };
    let found =
        standing(&figures(plan, runs, &metric.name), plan.variants.len(), &rule, &given_up(plan, runs));
    let one = |(variant, found): (&String, VariantComparison)| TrialComparison {
        variant: variant.clone(),
        metric: metric.name.clone(),
        pairs: found.pairs as u32,
        ratio: found.ratio,
        ratio_interval: found.interval,
        p_value: found.p_value,
        verdict: found.verdict,
        direction: found.direction,
        starting_decides: false,
        decided_after: found.decided_after.map(|blocks| blocks as u32),
        pairs_wanted: found
            .wanted
            .filter(|_| found.verdict == TrialVerdict::Undecided)
            .map(|wanted| wanted as u32),
    };

    plan.variants.iter().skip(1).zip(found.compared).map(one).collect()
}

/// A variant's figures of the runs that count.
fn counted_figures(runs: &[TrialRun], variant: &str, metric: &str) -> Vec<f64> {
    let counts =
        |run: &&TrialRun| run.block > 0 && run.variant == variant && run.outcome == TrialOutcome::Counted;
    runs.iter().filter(counts).filter_map(|run| run.metrics.get(metric).copied()).collect()
}

/// A row for each variant and metric, with what each rank does beside one of the baseline's.
fn rows<'m>(
    variants: &[TrialVariant],
    metrics: impl Iterator<Item = &'m TrialMetric> + Clone,
    comparisons: &[TrialComparison],
    runs: &[TrialRun],
) -> Vec<TrialRow> {
    let of_variant = |variant: &TrialVariant| {
        metrics.clone().map(|metric| row(&variant.name, metric, runs)).collect::<Vec<_>>()
    };
    let mut rows: Vec<TrialRow> = variants.iter().flat_map(of_variant).collect();
    let base = rows.first().and_then(|row| row.ranks);
    for row in &mut rows {
        let found =
            comparisons.iter().find(|found| found.variant == row.variant && found.metric == row.metric);
        let ratio = found.and_then(|found| found.ratio);
        let gain = ratio.map(|ratio| if row.more_is_better { ratio } else { 1.0 / ratio });
        let ranks = row.ranks.zip(base).filter(|(ranks, base)| ranks != base);
        row.efficiency =
            gain.zip(ranks).map(|(gain, (ranks, base))| gain * f64::from(base) / f64::from(ranks));
    }
    rows
}

/// How many ranks the launch of a variant's runs has, by what its ranks say.
fn ranks_of(runs: &[TrialRun], variant: &str) -> Option<u32> {
    // Short runs are looked at in the warm-up alone.
    let own = runs.iter().filter(|run| run.variant == variant);
    let seen = own.flat_map(|run| &run.looks).flat_map(|look| &look.ranks);
    let mut said = seen.filter_map(|rank| rank.of_ranks);
    let first = said.next()?;
    said.all(|other| other == first).then_some(first)
}

fn row(variant: &str, metric: &TrialMetric, runs: &[TrialRun]) -> TrialRow {
    let own: Vec<&TrialRun> = runs.iter().filter(|run| run.block > 0 && run.variant == variant).collect();
    let count =
        |is_it: &dyn Fn(TrialOutcome) -> bool| own.iter().filter(|run| is_it(run.outcome)).count() as u32;
    let values = counted_figures(runs, variant, &metric.name);
    let interval = median_interval(&values, 0.95);

    TrialRow {
        variant: variant.to_owned(),
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        more_is_better: metric.more_is_better,
        ranks: ranks_of(runs, variant),
        efficiency: None,
        counted: count(&|outcome| outcome == TrialOutcome::Counted),
        misplaced: count(&|outcome| outcome == TrialOutcome::Misplaced),
        failed: count(&|outcome| {
            matches!(outcome, TrialOutcome::Failed | TrialOutcome::TimedOut | TrialOutcome::NoMetric)
        }),
        median: median(&values),
        median_low: interval.map(|ends| ends.low),
        median_high: interval.map(|ends| ends.high),
        min: values.iter().copied().reduce(f64::min),
        max: values.iter().copied().reduce(f64::max),
    }
}

/// What the runs themselves have to say.
fn remarks(plan: &TrialPlan, runs: &[TrialRun]) -> Vec<String> {
    let mut remarks = Vec::new();
    let counted: Vec<&TrialRun> = runs.iter().filter(|run| run.block > 0).collect();
    for run in runs.iter().filter(|run| run.outcome == TrialOutcome::Misplaced) {
        let reason = run.reason.as_deref().unwrap_or_default();
        let when = if run.block == 0 { "the warm-up".to_owned() } else { format!("block {}", run.block) };
        remarks.push(format!("MISPLACED, not counted: {when}, {}: {reason}", run.variant));
    }

    for at in given_up(plan, runs) {
        remarks.push(format!("{} gave no figure three times in a row and was given up", plan.variants[at]));
    }
    let failed: Vec<&&TrialRun> = counted
        .iter()
        .filter(|run| {
            matches!(run.outcome, TrialOutcome::Failed | TrialOutcome::TimedOut | TrialOutcome::NoMetric)
        })
        .collect();

    if let Some(last) = failed.last() {
        let (reason, file) =
            (last.reason.as_deref().unwrap_or_default(), last.output_file.as_deref().unwrap_or("no file"));
        remarks.push(format!(
            "{} of {} {} not count; the last of them: {}: {reason} (output in {file})",
            failed.len(),
            stats::units::counted(counted.len(), "run"),
            if failed.len() == 1 { "does" } else { "do" },
            last.variant
        ));
    }

    let good: Vec<&&TrialRun> = counted.iter().filter(|run| run.outcome == TrialOutcome::Counted).collect();
    let looked_at = |least: usize| {
        good.iter()
            .filter(|run| run.looks.iter().filter(|look| !look.ranks.is_empty()).count() >= least)
            .count()
    };

    if looked_at(1) < good.len() {
        let without_a_look = good.iter().filter(|run| run.looks.is_empty()).count();
        let others = [
            (without_a_look, "too short for a look, which would slow them down"),
            (
                good.len() - looked_at(1) - without_a_look,
                "looked at without a rank to be seen: on other nodes, or ended meanwhile",
            ),
        ];
        let others = others.iter().filter(|(count, _)| *count > 0);
        let others: Vec<String> = others.map(|(count, why)| format!("{count} were {why}")).collect();
        remarks.push(format!(
            "of {} runs that count, {} were seen while they ran, {} of them twice; {}",
            good.len(),
            looked_at(1),
            looked_at(2),
            others.join("; ")
        ));
    }
    remarks.extend(never_seen(plan, runs));
    remarks.extend(left_running(runs));
    remarks
}

/// The variants of which no run was seen, so that nothing proves where they ran.
fn never_seen(plan: &TrialPlan, runs: &[TrialRun]) -> Option<String> {
    let is_seen = |run: &&TrialRun| run.looks.iter().any(|look| !look.ranks.is_empty());
    let is_unseen = |name: &&String| {
        let mut own = runs.iter().filter(|run| run.variant == **name);
        own.clone().any(|run| run.outcome == TrialOutcome::Counted) && !own.any(|run| is_seen(&run))
    };
    let unseen: Vec<&str> = plan.variants.iter().filter(is_unseen).map(String::as_str).collect();
    let names = unseen.join(", ");
    (!unseen.is_empty())
        .then(|| format!("never seen while they ran, so where they ran is not proven: {names}"))
}

/// The processes that runs left behind.
fn left_running(runs: &[TrialRun]) -> Option<String> {
    let left: Vec<u32> = runs.iter().filter_map(|run| run.left_running).filter(|left| *left > 0).collect();
    let processes = stats::units::counted(left.iter().sum::<u32>() as usize, "process");
    (!left.is_empty()).then(|| {
        format!(
            "{} of {} left {processes} running, which were ended: they would have taken cores from later \
             runs. Their work is not in the time of a run: let the program wait for them",
            left.len(),
            stats::units::counted(runs.len(), "run")
        )
    })
}
