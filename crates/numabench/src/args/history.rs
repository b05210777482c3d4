//! `numabench history` as typed.

use std::path::PathBuf;

use super::compare::{BY, ComparedBy};
use super::words::one_of;

/// `numabench history`.
#[derive(Debug, clap::Args)]
pub struct History {
    /// Result documents, or folders of them, of one host or several; steps are looked
    /// for from 10 runs on
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<PathBuf>,
    /// The change that matters: of rates, or RATES,TIMES with that of times of copies up to 64 KiB [default:
    /// 3%,5%]
    #[arg(long, value_name = "PERCENT[,PERCENT]", value_parser = super::compare::thresholds)]
    pub threshold: Option<analysis::compare::Thresholds>,
    /// What makes a series: a place (GPU, PU and NUMA node), or a GPU wherever its rank ran, for runs whose
    /// scheduler gives other cores each time
    #[arg(long, value_parser = one_of(BY), default_value = "place", value_name = "WHAT")]
    pub by: ComparedBy,
    /// Print the changes as JSON instead of the table, or write them to FILE beside it
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}
