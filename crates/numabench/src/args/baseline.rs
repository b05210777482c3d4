//! `numabench baseline` as typed.

use std::path::PathBuf;

/// `numabench baseline`.
#[derive(Debug, clap::Args)]
pub struct Baseline {
    /// Result documents of your nodes, or folders of them: at least 8 GPUs of a kind, of 3 nodes; several
    /// runs a node tell more
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<PathBuf>,
    /// Write the baseline to FILE, for `check --bandwidth --against FILE`
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Write the learned figures as reference figures to FILE, for --reference and to be handed in
    /// (`numabench reference --lines`)
    #[arg(long, value_name = "FILE")]
    pub lines: Option<PathBuf>,
}
