//! `numabench compare` as typed.

use std::path::PathBuf;

use analysis::comparison_finding::ComparisonFinding;

use super::words::{Word, one_of};
use super::{ColorChoice, percent};

/// `numabench compare`.
#[derive(Debug, clap::Args)]
pub struct Compare {
    /// The runs to compare with: a result document, or a folder of them
    #[arg(value_name = "BASE")]
    pub base: PathBuf,
    /// The runs in question: a result document, or a folder of them
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// More runs of the base: documents or folders, separated by commas
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub more_base: Vec<PathBuf>,
    /// More new runs
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub more_new: Vec<PathBuf>,
    /// The change that matters: of rates, or RATES,TIMES with that of times of copies up to 64 KiB [default:
    /// 3%,5%]
    #[arg(long, value_name = "PERCENT[,PERCENT]", value_parser = thresholds)]
    pub threshold: Option<analysis::compare::Thresholds>,
    /// What ends with exit code 5. Otherwise the code is 6 where cases or nodes are suspect or inconclusive,
    /// else 0; with none it is always 0
    #[arg(long, value_parser = one_of(FINDINGS), value_delimiter = ',',
          default_values = ["regressed", "missing"], hide_default_value = true,
          value_name = "FINDINGS")]
    pub fail_on: Vec<Option<ComparisonFinding>>,
    /// Compare runs that did not measure the same thing (another GPU model, another number of ranks) all the
    /// same
    #[arg(long)]
    pub force: bool,
    /// What is compared with its like: a place (GPU, PU and NUMA node), or a GPU wherever its rank ran, which
    /// tells what a queue or a launcher costs each GPU
    #[arg(long, value_parser = one_of(BY), default_value = "place", value_name = "WHAT")]
    pub by: ComparedBy,
    /// Print the comparison as Markdown, for a merge request
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Print the comparison document instead of the table, or write it to FILE beside it
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Only cases that changed, are missing or undecided
    #[arg(short, long)]
    pub quiet: bool,
    /// Whether the table is coloured
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}

/// What is compared with its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedBy {
    /// A place.
    Place,
    /// A GPU.
    Gpu,
}

/// The same by name.
pub(super) const BY: &[Word<ComparedBy>] = &[
    ("place", ComparedBy::Place, "The same GPU, PU and NUMA node"),
    ("gpu", ComparedBy::Gpu, "The same GPU; where its rank ran is named where it differs"),
];

/// What a comparison can find, and nothing.
const FINDINGS: &[Word<Option<ComparisonFinding>>] = &[
    (
        "regressed",
        Some(ComparisonFinding::Regressed),
        "A case got worse by the threshold or more, or a node unlike the others (default)",
    ),
    (
        "suspect",
        Some(ComparisonFinding::Suspect),
        "A case may have got worse by the threshold or more, or a node; too few runs to tell",
    ),
    (
        "missing",
        Some(ComparisonFinding::Missing),
        "A case of the base has no new figure, or a node of it lacks figures or is gone (default)",
    ),
    ("improved", Some(ComparisonFinding::Improved), "A case got better by the threshold or more"),
    ("added", Some(ComparisonFinding::Added), "A case is new"),
    ("differing", Some(ComparisonFinding::Differing), "Conditions differ: driver, kernel, link, …"),
    ("none", None, "Nothing: always 0"),
];

/// `3`, `3%` or `3%,5%`.
pub fn thresholds(text: &str) -> Result<analysis::compare::Thresholds, String> {
    let default = analysis::compare::Thresholds::default();
    match text.split_once(',') {
        Some((rates, times)) => {
            Ok(analysis::compare::Thresholds { bandwidth: percent(rates)?, latency: percent(times)? })
        }
        None => Ok(analysis::compare::Thresholds { bandwidth: percent(text)?, ..default }),
    }
}
