//! `numabench completions` as typed.

use clap_complete::Shell;

/// `numabench completions`.
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}
