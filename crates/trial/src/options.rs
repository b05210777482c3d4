//! What a trial is asked for, as values with the defaults of the command line: how it was typed is the
//! caller's to know.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use placement::Strategy;

use crate::decide::Better;

/// What is tried, what is compared, and how much is enough.
#[derive(Clone, Debug)]
pub struct TrialOptions {
    /// The program, looked for in PATH, and its arguments.
    pub program: Vec<OsString>,
    /// Placements to try; where neither these nor launch lines or values name a variant: close, spread and
    /// compact.
    pub placements: Vec<Strategy>,
    /// Lines that start the program, each with `{app}` in its place and `{bind}` in that of the launcher's
    /// options for binding.
    pub launch: Vec<String>,
    /// Values of variables, or of `membind`: each is tried with each placement.
    pub vary: Vec<Vary>,
    /// Whether placed programs see all GPUs that they would see without help, or only their rank's own; by
    /// the launcher where nothing is said.
    pub shows_all_gpus: Option<bool>,
    /// The baseline alone, to be tried against itself.
    pub against_itself: bool,
    /// Patterns whose group matches a number in the program's output; the first metric decides.
    pub patterns: Vec<String>,
    /// The median of all matches in place of the last one.
    pub all_matches: bool,
    /// JSON files that the program writes, each with the pointer to a number.
    pub json: Vec<(PathBuf, String)>,
    /// Files that the program writes, whose last number counts.
    pub files: Vec<PathBuf>,
    /// What is better: one word for all metrics, or one for each.
    pub better: Vec<Better>,
    /// Differences below this part do not matter.
    pub equivalence: f64,
    /// The most counted runs of each variant.
    pub max_runs: u32,
    /// No run begins after this time.
    pub max_time: Option<Duration>,
    /// A run is ended after this time and counts as failed.
    pub run_timeout: Option<Duration>,
    /// The seed of the order in which variants take turns.
    pub seed: u64,
    /// The variant that is to be the best, or as good as the best.
    pub expect: Option<String>,
    /// The folder for the output of runs that do not count; made when there is one.
    pub keep: PathBuf,
    /// The `numabench` whose `exec` places the ranks of a launcher; this program itself where none is named.
    pub numabench: Option<PathBuf>,
}

impl Default for TrialOptions {
    fn default() -> Self {
        Self {
            program: Vec::new(),
            placements: Vec::new(),
            launch: Vec::new(),
            vary: Vec::new(),
            shows_all_gpus: None,
            against_itself: false,
            patterns: Vec::new(),
            all_matches: false,
            json: Vec::new(),
            files: Vec::new(),
            better: Vec::new(),
            equivalence: 0.03,
            max_runs: 44,
            max_time: None,
            run_timeout: None,
            seed: 1,
            expect: None,
            keep: "numabench-trial".into(),
            numabench: None,
        }
    }
}

/// Values of a variable, or of `membind`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// The variable's name, or `membind`.
    pub name: String,
    /// The values.
    pub values: Vec<String>,
}

impl FromStr for Vary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" is not a list of values: write NAME=V1,V2, e.g. OMP_NUM_THREADS=7,14 or \
                 membind=local,interleave"
            )
        };
        let (name, values) = text.split_once('=').ok_or_else(wrong)?;
        let values: Vec<String> = values.split(',').map(str::to_owned).collect();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || values.iter().any(String::is_empty) {
            return Err(wrong());
        }
        Ok(Self { name: name.to_owned(), values })
    }
}
