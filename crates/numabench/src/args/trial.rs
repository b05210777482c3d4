//! `numabench trial` as typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use ::trial::decide::Better;
use ::trial::options::{TrialOptions, Vary};
use placement::Strategy;

use super::exec::GPUS;
use super::number::typed_percent;
use super::{ColorChoice, Word, duration, one_of, percent, whole};

/// `numabench trial`.
#[derive(Debug, clap::Args)]
pub struct Trial {
    /// Placements to try against the program as it is started without help: close, spread, compact, worst
    /// [default: close,spread,compact, unless --launch or --vary name the variants]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "What is tried")]
    pub placements: Vec<Strategy>,
    /// A line that starts the program: {app} stands for the program, {bind} for the launcher's options that
    /// leave binding to numabench; taken apart as a shell does, without variables or pipes. Several lines are
    /// several variants
    #[arg(long, value_name = "LINE", help_heading = "What is tried")]
    pub launch: Vec<String>,
    /// Values of an environment variable, or of membind (as exec takes it: local, interleave, none, a NUMA
    /// node): each is tried with each placement; Open MPI's mpirun gets variables as -x
    #[arg(long, value_name = "NAME=V1,V2", help_heading = "What is tried")]
    pub vary: Vec<Vary>,
    /// Which GPUs placed programs see: own hides all but the rank's own, near hides none and binds near it
    /// [default: own under a launcher; near for a program on its own and under torchrun]
    #[arg(long, value_parser = one_of(GPUS), value_name = "own|near", help_heading = "What is tried")]
    pub gpu: Option<bool>,
    /// Try the baseline against itself in so many trials, and say how often a difference was claimed: this
    /// machine's false alarms
    #[arg(long, value_name = "TRIALS", num_args = 0..=1, default_missing_value = "10",
          value_parser = whole::<u32>(1..=1000),
          conflicts_with_all = ["placements", "vary", "expect", "json", "resume"],
          help_heading = "What is tried")]
    pub aa: Option<u32>,

    /// A number in the program's output: the text that the ( ) of this regular expression matches, the last
    /// time. The first metric decides; the wall time is always kept beside it [default: the wall time]
    #[arg(long, value_name = "REGEX", help_heading = "What is compared")]
    pub metric: Vec<String>,
    /// The median of all matches in a run's output instead of the last one
    #[arg(long, help_heading = "What is compared")]
    pub metric_all: bool,
    /// A number in a JSON file that the program writes, at a JSON pointer: result.json:/fom/rate
    #[arg(long, value_name = "FILE:POINTER", value_parser = json_metric, help_heading = "What is compared")]
    pub metric_json: Vec<(PathBuf, String)>,
    /// The last number in a file that the program writes
    #[arg(long, value_name = "FILE", help_heading = "What is compared")]
    pub metric_file: Vec<PathBuf>,
    /// Whether less or more of the metrics is better: one word for all, or one for each
    #[arg(long, value_parser = one_of(BETTER), value_delimiter = ',', value_name = "lower|higher",
          help_heading = "What is compared")]
    pub better: Vec<Better>,

    /// Differences below this do not matter
    #[arg(long, value_name = "PERCENT", value_parser = percent,
          default_value = typed_percent(TrialOptions::default().equivalence),
          help_heading = "How much is enough")]
    pub equivalence: f64,
    /// The most counted runs of each variant
    #[arg(long, value_name = "N",
          default_value_t = TrialOptions::default().max_runs, value_parser = whole::<u32>(1..=300),
          help_heading = "How much is enough")]
    pub max_runs: u32,
    /// Begin no run after this time
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "How much is enough")]
    pub max_time: Option<Duration>,
    /// End a run after this time; it counts as failed
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "How much is enough")]
    pub run_timeout: Option<Duration>,
    /// Seed of the order in which the variants take turns
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX),
          default_value_t = TrialOptions::default().seed, help_heading = "How much is enough")]
    pub seed: u64,

    /// Make the warm-up runs for the estimate, print the plan and end
    #[arg(long, conflicts_with_all = ["json", "resume", "aa"], help_heading = "Output")]
    pub dry_run: bool,
    /// End with exit code 5 unless this variant is the best, or as good as the best as far as the runs can
    /// tell
    #[arg(long, value_name = "VARIANT", help_heading = "Output")]
    pub expect: Option<String>,
    /// Print the trial document instead of the table, or write it to FILE (rewritten after every run) beside
    /// it
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-",
          help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Continue a trial that was ended or killed, with the options in its document; finished runs are not
    /// repeated
    #[arg(long, value_name = "FILE", exclusive = true, help_heading = "Output")]
    pub resume: Option<PathBuf>,
    /// The folder for the output of runs that do not count; made when there is one
    #[arg(long, value_name = "FOLDER",
          default_value = TrialOptions::default().keep.into_os_string(), help_heading = "Output")]
    pub keep: PathBuf,
    /// Print everything. By default so where no terminal is (a log keeps all), and on a terminal what a
    /// screen holds
    #[arg(long, help_heading = "Output")]
    pub full: bool,
    /// Only the answer, without plan and table
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Whether the table is coloured
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, help_heading = "Output")]
    pub color: ColorChoice,

    /// The program, looked for in PATH, and its arguments, which are not touched. Its standard input is
    /// empty, and what it leaves running when it has ended is ended
    #[arg(trailing_var_arg = true, required_unless_present = "resume", value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

impl Trial {
    /// What is to be tried.
    pub fn options(&self) -> TrialOptions {
        TrialOptions {
            program: self.program.clone(),
            placements: self.placements.clone(),
            launch: self.launch.clone(),
            vary: self.vary.clone(),
            shows_all_gpus: self.gpu,
            against_itself: self.aa.is_some(),
            patterns: self.metric.clone(),
            all_matches: self.metric_all,
            json: self.metric_json.clone(),
            files: self.metric_file.clone(),
            better: self.better.clone(),
            equivalence: self.equivalence,
            max_runs: self.max_runs,
            max_time: self.max_time,
            run_timeout: self.run_timeout,
            seed: self.seed,
            expect: self.expect.clone(),
            keep: self.keep.clone(),
            numabench: None,
        }
    }
}

/// What is better.
const BETTER: &[Word<Better>] =
    &[("lower", Better::Lower, "Less of it"), ("higher", Better::Higher, "More of it")];

fn json_metric(text: &str) -> Result<(PathBuf, String), String> {
    let wrong = || format!("\"{text}\" is not FILE:POINTER: write for example result.json:/fom/rate");
    let (file, pointer) = text.rsplit_once(':').ok_or_else(wrong)?;
    if file.is_empty() || !pointer.starts_with('/') {
        Err(wrong())
    } else {
        Ok((file.into(), pointer.to_owned()))
    }
}
