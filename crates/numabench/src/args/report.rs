//! `numabench report` as typed.

use std::path::PathBuf;

use super::ColorChoice;

/// `numabench report`.
#[derive(Debug, clap::Args)]
pub struct Report {
    /// Documents of one kind, or folders of them; of several runs the report shows differences and history too, of several nodes a row each
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<PathBuf>,
    /// The HTML file to write: one page of one run, of several, or of many nodes; without it nodes are shown side by side in a table
    #[arg(short, long, value_name = "FILE.html")]
    pub output: Option<PathBuf>,
    /// Write the nodes side by side as JSON to FILE, or to standard output instead of the table (-)
    #[arg(long, value_name = "FILE|-", conflicts_with = "output")]
    pub json: Option<PathBuf>,
    /// Whether the table is coloured
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}
