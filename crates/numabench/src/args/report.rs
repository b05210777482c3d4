//! `numabench report` as typed.

use std::path::PathBuf;

use super::ColorChoice;

/// `numabench report`.
#[derive(Debug, clap::Args)]
pub struct Report {
    /// Documents of one kind, or folders of them; of several runs the report shows differences and history
    /// too, of several nodes a row each, of machines with unlike GPU or CPU models a column each
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<PathBuf>,
    /// The HTML file to write: one page of one run, of several, or of many nodes; without it nodes are shown
    /// side by side in a table, and of documents of witness the answer
    #[arg(short, long, value_name = "FILE.html")]
    pub output: Option<PathBuf>,
    /// Print the nodes side by side as JSON instead of the table, or write them to FILE beside it
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-",
          conflicts_with = "output")]
    pub json: Option<PathBuf>,
    /// Whether the table is coloured
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}
