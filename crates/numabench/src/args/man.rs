//! `numabench man` as typed.

use std::path::PathBuf;

/// `numabench man`.
#[derive(Debug, clap::Args)]
pub struct Man {
    /// Write numabench.1 and a page for each command into FOLDER, which is made, instead of printing the
    /// first
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
}
