//! `numabench history` as typed.

use std::path::PathBuf;

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
    /// Print the changes as JSON instead of the table, or write them to FILE beside it
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}
