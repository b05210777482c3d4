//! The trial document: a user's program under several placements, run by run, and what that comes to.
//!
//! A document of its own beside the result document: its unit is a run of somebody else's program. Every run
//! is in it, also those that failed or were not where they were to be, with what was seen of their ranks;
//! what follows from the runs (`comparisons`, `verdict`) can be worked out from them again, which is how a
//! trial that was killed is taken up. The rules of the result document hold here too.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::interval::Interval;
use stats::{IdSet, PciAddress};

use crate::document::{Status, Tool};

/// One trial of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialDocument {
    /// Always `numabench.trial`.
    pub schema: String,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// The command line as it was given, the program's name first.
    pub argv: Vec<String>,
    /// When the trial began, RFC 3339 in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// How long it has taken so far, in seconds, all of its parts together where it was taken up again.
    pub elapsed_s: f64,
    /// How it stands.
    pub status: Status,
    /// The exit code; null while it runs.
    pub exit_code: Option<u8>,
    /// The name of the machine that it was started on.
    pub hostname: Option<String>,
    /// The answer, the first line first: which placement, by how much, how sure, and the line for the job
    /// script.
    pub verdict: Vec<String>,
    /// How the runs were to be made and judged.
    pub settings: TrialSettings,
    /// The variants, the baseline first.
    pub variants: Vec<TrialVariant>,
    /// What starting a program that does nothing takes in each variant; empty where the wall time does not
    /// decide, or it could not be measured. Since 1.1.
    #[serde(default)]
    pub starts: Vec<TrialStart>,
    /// Each variant but the baseline against it, for each metric.
    pub comparisons: Vec<TrialComparison>,
    /// Why no further block was run; null while it runs.
    pub stop: Option<TrialStop>,
    /// Whether the machine changed over the trial; null with fewer than eight blocks.
    pub drift: Option<TrialDrift>,
    /// The figures as a flat table: a row a variant and metric.
    pub rows: Vec<TrialRow>,
    /// Every run, in the order in which they were made.
    pub runs: Vec<TrialRun>,
    /// What the user should know beside.
    pub notes: Vec<String>,
}

/// How the runs were to be made and judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialSettings {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The metrics; the first decides when the trial has enough.
    pub metrics: Vec<TrialMetric>,
    /// Ratios within 1/(1 + this) and 1 + this do not matter, 0.03 is 3 %.
    pub equivalence: f64,
    /// The most counted runs of a variant.
    pub max_runs: u32,
    /// No block begins after this time, in seconds; null without such a limit.
    pub max_time_s: Option<f64>,
    /// A run is ended after this time, in seconds; null without such a limit.
    pub run_timeout_s: Option<f64>,
    /// The seed of the order within blocks.
    pub seed: u64,
    /// Whether the baseline was run against itself.
    pub is_aa: bool,
}

/// What is looked at of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialMetric {
    /// Its name: `wall`, or as it was asked for.
    pub name: String,
    /// Its unit where it is known: `s` of `wall`.
    pub unit: Option<String>,
    /// Whether more of it is better.
    pub more_is_better: bool,
}

/// One way to run the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialVariant {
    /// Its name.
    pub name: String,
    /// What it does, in words.
    pub what: String,
    /// The line that starts it, for a shell.
    pub line: String,
    /// The PUs that it was to have, where one process is bound to them; null where the launcher or each rank
    /// decides.
    pub pus: Option<IdSet>,
    /// The NUMA nodes that its memory was bound to; null where it was not.
    pub memory_nodes: Option<IdSet>,
}

/// What starting a program that does nothing takes, as a variant starts the user's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialStart {
    /// The variant.
    pub variant: String,
    /// How often it was started.
    pub starts: u32,
    /// The median, in seconds.
    pub median_s: f64,
    /// The lower end of the median's 95 % interval; with fewer than 6 starts the least.
    pub low_s: f64,
    /// The upper end; with fewer than 6 starts the most.
    pub high_s: f64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrialOutcome {
    /// Well: its figures count.
    Counted,
    /// It was not where its variant says; its figures do not count.
    Misplaced,
    /// It ended with another code than 0, or by a signal.
    Failed,
    /// It was ended at the time limit.
    TimedOut,
    /// It ended well and a metric was not found.
    NoMetric,
    /// A signal to numabench ended it.
    Interrupted,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// One run of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRun {
    /// The block, 1 first; 0 is the warm-up, which does not count.
    pub block: u32,
    /// The variant's name.
    pub variant: String,
    /// When it began, seconds after the trial did.
    pub began_s: f64,
    /// From its start to its end, in seconds.
    pub wall_s: f64,
    /// How it ended.
    pub outcome: TrialOutcome,
    /// Why it does not count; null where it does.
    pub reason: Option<String>,
    /// The exit code; null where a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it; null where none did.
    pub signal: Option<i32>,
    /// Its figures, by metric.
    pub metrics: BTreeMap<String, f64>,
    /// What the kernel counted of it and the processes that it waited for.
    pub used: Used,
    /// The file with its output; null where it was not kept.
    pub output_file: Option<String>,
    /// What was seen of its ranks while it ran.
    pub looks: Vec<TrialLook>,
    /// Processes of it that still ran a moment after it ended by itself, and were ended then; null where it
    /// was ended. Since 1.3.
    #[serde(default)]
    pub left_running: Option<u32>,
}

/// What the kernel counted of a run: of its first process and all that this one waited for. Ranks that a
/// daemon started (srun) are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    /// Time in user mode, seconds.
    pub user_s: f64,
    /// Time in the kernel, seconds.
    pub system_s: f64,
    /// The most memory that one of the processes had resident, bytes.
    pub max_resident_bytes: u64,
    /// Page faults without input or output.
    pub minor_faults: u64,
    /// Page faults with it.
    pub major_faults: u64,
}

/// One look at a run's ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialLook {
    /// Seconds after the run began.
    pub after_s: f64,
    /// The ranks that were seen on this node.
    pub ranks: Vec<TrialRank>,
}

/// One rank as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRank {
    /// Its number in its launch; null for a process on its own.
    pub rank: Option<u32>,
    /// How many its launch has, by its own variables, on all nodes; null where they do not say it. Since 1.3.
    #[serde(default)]
    pub of_ranks: Option<u32>,
    /// Its process.
    pub pid: u32,
    /// Its program's name.
    pub program: Option<String>,
    /// How many threads it has.
    pub threads: u32,
    /// The PUs that its threads may run on; null where that cannot be read.
    pub pus: Option<IdSet>,
    /// The PUs that its first thread may run on; null where that cannot be read. Since 1.2.
    #[serde(default)]
    pub first_thread_pus: Option<IdSet>,
    /// The PUs that its variant gives it; null where the launcher decides.
    pub asked_pus: Option<IdSet>,
    /// The NUMA nodes that its variant binds its memory to; null where it does not.
    pub asked_memory_nodes: Option<IdSet>,
    /// Bytes of its memory by NUMA node; empty where that cannot be read.
    pub pages_bytes: BTreeMap<u32, u64>,
    /// Bytes of its memory on nodes that are not local to its PUs; null where that cannot be known.
    pub remote_bytes: Option<u64>,
    /// The GPUs that it can use; null where that is not known.
    pub gpus: Option<Vec<PciAddress>>,
}

/// What is known of a variant against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrialVerdict {
    /// Better than the baseline: the whole interval lies beyond the equivalence (before 1.1: it leaves out
    /// 1).
    Better,
    /// Worse, likewise.
    Worse,
    /// The whole interval lies within the equivalence.
    Same,
    /// Not known.
    Undecided,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// A variant against the baseline, by one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialComparison {
    /// The variant.
    pub variant: String,
    /// The metric.
    pub metric: String,
    /// Pairs of runs at the last look.
    pub pairs: u32,
    /// The median of the paired ratios variant / baseline; null before the first look.
    pub ratio: Option<f64>,
    /// Its 95 % interval, valid over all looks; null before the first look.
    pub ratio_interval: Option<Interval>,
    /// The p-value of the signed-rank test at the last look, Holm's over the variants.
    pub p_value: Option<f64>,
    /// What it comes to.
    pub verdict: TrialVerdict,
    /// `better` or `worse` where it is known on which side of the baseline it is, whether that matters or
    /// not; null where it is not known. Since 1.1.
    #[serde(default)]
    pub direction: Option<TrialVerdict>,
    /// Whether a difference is not claimed because it would not stand without what starting costs. Since 1.1.
    #[serde(default)]
    pub starting_decides: bool,
    /// After how many blocks the verdict was made.
    pub decided_after: Option<u32>,
    /// About how many pairs would decide it; null where it is decided, or nobody can say.
    pub pairs_wanted: Option<u32>,
}

/// Why no further block was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrialStop {
    /// Every comparison is decided.
    Decided,
    /// What is not decided would not be within `--max-runs`.
    CannotDecide,
    /// `--max-runs` was reached.
    MaxRuns,
    /// `--max-time` was reached.
    MaxTime,
    /// A signal came.
    Signal,
    /// A variant gave no figure in several runs one after the other.
    Failing,
    /// More than a quarter of a run is starting it: no run was counted. Since 1.1.
    TooShort,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// Whether the machine changed over the trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialDrift {
    /// The last block's figures over the first's, by the trend of all variants together.
    pub ratio: f64,
    /// The two-sided p-value of the trend (Mann-Kendall).
    pub p_value: f64,
    /// Whether it is more than chance (1 %).
    pub is_found: bool,
}

/// One variant's figures by one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRow {
    /// The variant.
    pub variant: String,
    /// The metric.
    pub metric: String,
    /// Its unit, where it is known.
    pub unit: Option<String>,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Ranks of its launch, by the variables of those that were seen; null where they do not say it, or
    /// differ. Since 1.3.
    #[serde(default)]
    pub ranks: Option<u32>,
    /// The gain over the baseline by its ranks over the baseline's: 1 where each rank does as much as there.
    /// Null where both have as many, or that is not known. Since 1.3.
    #[serde(default)]
    pub efficiency: Option<f64>,
    /// Runs that count.
    pub counted: u32,
    /// Runs that were not where they were to be.
    pub misplaced: u32,
    /// Runs that failed, were ended, or gave no figure.
    pub failed: u32,
    /// The median of the counted runs; null without any.
    pub median: Option<f64>,
    /// The lower end of the median's 95 % interval; null with fewer than 6 runs.
    pub median_low: Option<f64>,
    /// The upper end.
    pub median_high: Option<f64>,
    /// The smallest.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

impl TrialRank {
    /// A process of which nothing else is known.
    pub fn of(pid: u32) -> Self {
        Self {
            rank: None,
            of_ranks: None,
            pid,
            program: None,
            threads: 1,
            pus: None,
            first_thread_pus: None,
            asked_pus: None,
            asked_memory_nodes: None,
            pages_bytes: BTreeMap::new(),
            remote_bytes: None,
            gpus: None,
        }
    }

    /// What sentences call it.
    pub fn name(&self) -> String {
        match (self.rank, &self.program) {
            (Some(rank), _) => format!("rank {rank}"),
            (None, Some(program)) => program.clone(),
            (None, None) => format!("process {}", self.pid),
        }
    }
}
