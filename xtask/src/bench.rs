//! `cargo xtask bench`: the performance targets, measured on this machine beside the programs they are set
//! against.
//!
//! The measuring is `bench/run.sh`'s: a shell script shows best what is run and how. This only builds what it
//! measures.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::step;

/// Builds the release binary and hands `args` to `bench/run.sh`.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    step::run(Command::new("cargo").args(["build", "--release"]).current_dir(root))?;
    step::run(Command::new("bench/run.sh").args(args).current_dir(root))
}
