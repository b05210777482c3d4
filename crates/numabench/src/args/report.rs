//! `numabench report` as typed.

use std::path::PathBuf;

/// `numabench report`.
#[derive(Debug, clap::Args)]
pub struct Report {
    /// Result documents, or folders of them; of several the report shows differences and history too
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<PathBuf>,
    /// The HTML file to write
    #[arg(short, long, value_name = "FILE.html")]
    pub output: PathBuf,
}
