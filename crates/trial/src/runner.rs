//! Makes the runs of a trial, one after the other, and keeps what came of them.
//!
//! A run is looked at after a quarter and after three quarters of the time that its variant took in the
//! warm-up: the runs of every variant alike, or none where a look would be a noticeable part of the quickest
//! one's. A look takes a processor and, for moments, the program's own memory lock; variants that are looked
//! at more often than others would seem slower. What starting costs is measured with a program that does
//! nothing, in turns. The output of a run that does not count is kept in a file of its own. The document is
//! written after every run, so that a trial that is killed can be taken up.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use experiments::journal::DocumentFile;
use experiments::scratch::Scratch;
use experiments::{Exit, Fault};
use report::trial::{TrialOutcome, TrialRun, TrialStart, TrialStop};
use stats::units::{counted, spoken_seconds};

use crate::decide::TrialStanding;
use crate::document::{TrialFacts, TrialState, build};
use crate::guardian::Guardian;
use crate::order::order;
use crate::planned::PlannedTrial;
use crate::rank_observer;
use crate::run::{NotRun, Task, run};
use crate::run_record::record;
use crate::sequential_alpha;
use crate::session::TrialSession;
use crate::start::start_of;
use crate::trial_loop::Runner;
use crate::variants::Variant;

/// When a run is looked at whose length nobody knows yet.
const WARM_UP_LOOKS: [u64; 7] = [10, 50, 200, 1000, 5000, 20_000, 60_000];

/// The parts of its usual time after which a run is looked at.
const LOOKS: [f64; 2] = [0.25, 0.75];

/// The part of a run that the processor may be busy with looking at it.
const LOOKING: f64 = 0.05;

/// The most starts of a program that does nothing in each variant, the fewest where starting is slow, and the
/// time after which it is slow.
const STARTS: (usize, usize, Duration) = (10, 3, Duration::from_secs(3));

/// A program that does nothing and takes longer hangs.
const NOTHING_ENDS_WITHIN: Duration = Duration::from_secs(60);

/// So much of a failed run's output is shown.
const TAIL_LINES: usize = 5;

/// Who makes the runs of a trial, and what they have in common.
pub(crate) struct ProgramRunner<'t> {
    /// What is known of the trial.
    pub facts: TrialFacts<'t>,
    /// What the trial is given beside what it tries.
    pub session: TrialSession<'t>,
    // Before the folder: while it lives, it removes that if this process is killed.
    guardian: Guardian,
    folder: Scratch,
    began: Instant,
    /// What a run of each variant took in the warm-up, in seconds.
    usual_s: Vec<Option<f64>>,
    /// What a look costs, in seconds.
    look_s: f64,
    /// Where the document goes.
    pub file: DocumentFile<'t>,
}

impl<'t> ProgramRunner<'t> {
    /// One that begins now.
    ///
    /// # Errors
    /// No folder for outputs can be made.
    pub fn new(trial: &'t PlannedTrial, session: TrialSession<'t>) -> Result<Self, Fault> {
        let no_result = |what: &str, error: io::Error| Fault::new(Exit::NoResult, format!("{what}: {error}"));
        let folder = Scratch::new("numabench-trial-").map_err(|error| {
            no_result("no folder for the runs' output can be made in the temporary folder", error)
        })?;
        let guardian = Guardian::set(&mark_of(folder.path()), folder.path()).map_err(|error| {
            let what = "the process that ends the program should this one be killed cannot be started: see \
                ulimit -u and the job's limit of processes";
            no_result(what, error)
        })?;

        Ok(Self {
            facts: TrialFacts { trial, starts: Vec::new() },
            file: DocumentFile::new(session.sink, session.say),
            session,
            guardian,
            folder,
            began: Instant::now(),
            usual_s: vec![None; trial.variants.all.len()],
            look_s: rank_observer::cost_of_a_look().as_secs_f64(),
        })
    }

    /// The variants.
    fn variants(&self) -> &'t [Variant] {
        &self.facts.trial.variants.all
    }

    /// The code for a trial that the user ended.
    fn interrupted(&self) -> Fault {
        Fault::silent(self.session.signals.exit().unwrap_or(Exit::NoResult))
    }

    /// What a variant takes, as far as runs of it are known.
    pub fn learn(&mut self, runs: &[TrialRun]) {
        for (variant, usual_s) in self.variants().iter().zip(&mut self.usual_s) {
            let own = |run: &&TrialRun| {
                run.variant == variant.described.name && run.outcome == TrialOutcome::Counted
            };
            *usual_s = runs.iter().rev().find(own).map(|run| run.wall_s);
        }
    }

    /// Seconds that one block takes, as far as the variants that were run tell; `None` before the first run.
    pub fn block_s(&self) -> Option<f64> {
        let known: Vec<f64> = self.usual_s.iter().copied().flatten().collect();
        (!known.is_empty())
            .then(|| known.iter().sum::<f64>() / known.len() as f64 * self.usual_s.len() as f64)
    }

    /// Whether `--max-time` is over before the first verdict if every variant is warmed up first: then a run
    /// that only warms up is a run lost.
    fn has_no_time_to_warm_up(&self) -> bool {
        let plan = &self.facts.trial.plan;
        let Some((limit, block_s)) = plan.max_time_s.zip(self.block_s()) else { return false };
        block_s * (1 + sequential_alpha::first_look(plan.variants.len())) as f64 > limit
    }

    /// Makes the runs of the warm-up that are not there yet. Where there is no time for them, the first run
    /// is the first of the first block.
    ///
    /// # Errors
    /// A variant that does not run, or gives no figure: better now than after the first hour.
    pub fn warm_up(&mut self, runs: &mut Vec<TrialRun>) -> Result<(), Fault> {
        for (variant, Variant { described, .. }) in self.variants().iter().enumerate() {
            let (name, line) = (&described.name, &described.line);
            // A trial that is taken up again and had no time to warm up has none now.
            if runs.iter().any(|run| run.block == 0 && run.variant == *name)
                || runs.iter().any(|run| run.block > 0)
            {
                continue;
            }

            let run = self.run(0, variant)?;
            match run.outcome {
                TrialOutcome::Counted | TrialOutcome::Misplaced => {}
                TrialOutcome::Interrupted => return Err(self.interrupted()),
                _ => {
                    let kept = run
                        .output_file
                        .as_ref()
                        .map_or(String::new(), |file| format!("\n  its output is in {file}{}", tail(file)));
                    let reason = run.reason.unwrap_or_default();
                    return Err(Fault::usage(format!(
                        "the warm-up run of {name} does not count: {reason}\n  its line: {line}{kept}"
                    )));
                }
            }

            runs.push(run);
            self.learn(runs);
            if self.has_no_time_to_warm_up() {
                runs.iter_mut().filter(|run| run.block == 0).for_each(|run| run.block = 1);
                self.keep(runs);
                break;
            }
            self.keep(runs);
        }
        Ok(())
    }

    /// What starting a program that does nothing takes in each variant, in turns drawn by lot; the first turn
    /// does not count. One turn more is enough where starting cannot matter: where it is no tenth of the
    /// equivalence in any variant. A variant in which such a program does not end well has no figure.
    ///
    /// # Errors
    /// The user wants to end.
    pub fn starts(&self) -> Result<Vec<TrialStart>, Fault> {
        let (most, least, long) = STARTS;
        let (equivalence, seed) = (self.facts.trial.plan.rule.equivalence, self.facts.trial.plan.seed);
        let quickest = self.usual_s.iter().copied().flatten().fold(f64::INFINITY, f64::min);
        let mut seconds: Vec<Option<Vec<f64>>> = vec![Some(Vec::new()); self.variants().len()];
        let clock = Instant::now();

        for turn in 0..=most {
            for variant in order(seed, turn, self.variants().len()) {
                let started = self.start(turn, variant);
                if self.is_over() {
                    return Err(self.interrupted());
                }
                match (started, &mut seconds[variant]) {
                    (None, own) => *own = None,
                    (Some(took), Some(own)) if turn > 0 => own.push(took),
                    _ => {}
                }
            }
            let longest = seconds.iter().flatten().flatten().copied().fold(0.0, f64::max);
            let cannot_matter = turn > 0 && longest < 0.1 * equivalence * quickest;
            if cannot_matter
                || seconds.iter().all(Option::is_none)
                || (turn >= least && clock.elapsed() >= long)
            {
                break;
            }
        }

        let names = self.variants().iter().map(|variant| &variant.described.name);
        Ok(names.zip(&seconds).filter_map(|(name, seconds)| start_of(name, seconds.as_ref()?)).collect())
    }

    /// Seconds from the start to the end of a program that does nothing; `None` where it did not end well.
    fn start(&self, turn: usize, variant: usize) -> Option<f64> {
        let Variant { environment, bind, start, .. } = &self.variants()[variant];
        let task = Task {
            command: start,
            environment,
            bind: bind.as_deref(),
            output: &self.folder.path().join("start"),
            timeout: Some(self.timeout().map_or(NOTHING_ENDS_WITHIN, |limit| limit.min(NOTHING_ENDS_WITHIN))),
            mark: &format!("{}-start-{turn}-{variant}", self.folder.path().display()),
            looks: &[],
            guardian: &self.guardian,
        };
        let ran = run(&task, &|| self.is_over(), &mut |_| Vec::new()).ok()?;
        ran.status.success().then_some(ran.wall.as_secs_f64())
    }

    fn timeout(&self) -> Option<Duration> {
        self.facts.trial.options.run_timeout
    }

    /// Keeps the document up to date.
    fn keep(&mut self, runs: &[TrialRun]) {
        self.keep_as(runs, None, None);
    }

    /// Keeps the runs of a trial that this fault ends: a document that was begun does not say for ever that
    /// its trial still runs.
    pub fn ended_by(&mut self, runs: &[TrialRun], fault: Fault) -> Fault {
        let stop = matches!(fault.exit, Exit::Signal(_)).then_some(TrialStop::Signal);
        if !runs.is_empty() {
            self.keep_as(runs, stop, Some(fault.exit));
        }
        fault
    }

    fn keep_as(&mut self, runs: &[TrialRun], stop: Option<TrialStop>, exit: Option<Exit>) {
        let state = TrialState { runs, elapsed_s: self.elapsed_s(), stop, exit };
        self.file.write(|| build(&self.facts, state));
    }

    fn look_times(&self, block: u32, variant: usize) -> Vec<Duration> {
        let quickest = self.usual_s.iter().copied().flatten().fold(f64::INFINITY, f64::min);
        // Without a warm-up a variant's first run counts: another one's time tells when to look.
        let usual_s = self.usual_s[variant].or(quickest.is_finite().then_some(quickest));
        match usual_s {
            Some(_) if block > 0 && self.look_s * LOOKS.len() as f64 > LOOKING * quickest => Vec::new(),
            Some(usual) if block > 0 => LOOKS.map(|part| Duration::from_secs_f64(usual * part)).to_vec(),
            _ => WARM_UP_LOOKS.map(Duration::from_millis).to_vec(),
        }
    }

    fn mark(&self, block: u32, variant: usize) -> String {
        format!("{}{block}-{variant}", mark_of(self.folder.path()))
    }
}

/// What the marks of all runs of a session begin with: no other session has its folder.
fn mark_of(folder: &Path) -> String {
    format!("{}-", folder.display())
}

impl Runner for ProgramRunner<'_> {
    type Error = Fault;

    fn run(&mut self, block: u32, variant: usize) -> Result<TrialRun, Fault> {
        let Variant { described, command, environment, bind, .. } = &self.variants()[variant];
        let output = self.folder.path().join("output");
        let (mark, looks) = (self.mark(block, variant), self.look_times(block, variant));
        let task = Task {
            command,
            environment,
            bind: bind.as_deref(),
            output: &output,
            timeout: self.timeout(),
            mark: &mark,
            looks: &looks,
            guardian: &self.guardian,
        };

        let began_s = self.elapsed_s();
        let trial = self.facts.trial;
        let ran = run(&task, &|| self.is_over(), &mut |mark| rank_observer::look(&trial.topology, mark));
        let ran = ran.map_err(|why| Fault::new(exit_of(&why), format!("{}: {why}", described.name)))?;
        let text = fs::read(&output).unwrap_or_default();
        let mut made = record(&ran, block, &described.name, began_s, &trial.topology, &trial.metrics, &text);
        if !matches!(made.outcome, TrialOutcome::Counted | TrialOutcome::Interrupted) {
            made.output_file = Some(kept(&trial.options.keep, &made, &text)?);
        }
        Ok(made)
    }

    fn after(&mut self, runs: &[TrialRun], standing: &TrialStanding) -> Result<(), Fault> {
        self.keep(runs);
        let line = progress(runs, standing, self.variants(), self.block_s());
        self.session.observer.progress(&line);
        Ok(())
    }

    fn elapsed_s(&self) -> f64 {
        self.facts.trial.before_s + self.began.elapsed().as_secs_f64()
    }

    fn is_over(&self) -> bool {
        self.session.signals.exit().is_some()
    }
}

fn exit_of(why: &NotRun) -> Exit {
    match why {
        NotRun::Start { error, .. } if error.kind() == io::ErrorKind::NotFound => Exit::NotFound,
        NotRun::Start { .. } => Exit::NotExecutable,
        NotRun::Bind(_) | NotRun::Output { .. } => Exit::NoResult,
    }
}

/// Keeps a run's output in a file of its own and says in which.
fn kept(folder: &Path, run: &TrialRun, output: &[u8]) -> Result<String, Fault> {
    let plain: String =
        run.variant.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let file: PathBuf = folder.join(format!("block-{}-{plain}.out", run.block));
    let write = || fs::create_dir_all(folder).and_then(|()| fs::write(&file, output));
    let refused = |error: io::Error| {
        let text =
            format!("cannot keep a run's output in {}: name another folder with --keep", file.display());
        Fault::new(Exit::NoResult, format!("{text}: {error}"))
    };
    write().map_err(refused)?;
    Ok(file.display().to_string())
}

fn tail(file: &str) -> String {
    let text = fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    last.iter().map(|line| format!("\n  | {line}")).collect()
}

/// How far it is, in one line.
fn progress(
    runs: &[TrialRun],
    standing: &TrialStanding,
    variants: &[Variant],
    block_s: Option<f64>,
) -> String {
    let made = runs.iter().filter(|run| run.block > 0).count();
    let best = standing
        .compared
        .iter()
        .zip(&variants[1..])
        .filter_map(|(found, variant)| Some((found.ratio?, &variant.described.name)))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map_or("no look yet".to_owned(), |(ratio, name)| format!("{name} at {:.3} of the baseline", ratio));
    let next =
        sequential_alpha::looks(standing.compared.len()).find(|look| look.blocks * variants.len() > made);
    let left = next.zip(block_s).map_or(String::new(), |(look, block_s)| {
        let blocks = look.blocks as f64 - made as f64 / variants.len() as f64;
        format!(", next look in {}", spoken_seconds(blocks * block_s))
    });
    format!("{}, {best}{left}", counted(made, "run"))
}
