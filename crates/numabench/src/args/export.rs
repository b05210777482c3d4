//! `numabench export` as typed.

use std::path::PathBuf;

use clap::ValueEnum;

/// `numabench export`.
#[derive(Debug, clap::Args)]
pub struct Export {
    /// The result document
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,
    /// The form
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: To,
    /// Write to FILE, whole or not at all, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum To {
    /// A row a rank and case, for spreadsheets and data frames
    Csv,
    /// Bencher Metric Format (adapter json)
    Bmf,
    /// github-action-benchmark, tool customBiggerIsBetter: rates
    Gha,
    /// github-action-benchmark, tool customSmallerIsBetter: times
    GhaSmaller,
    /// OpenMetrics text: node_exporter's textfile collector, GitLab
    Openmetrics,
    /// JUnit XML
    Junit,
    /// InfluxDB line protocol
    Influx,
}
