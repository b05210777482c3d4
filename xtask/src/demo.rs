//! `cargo xtask demo`: from a fresh clone to this machine's own figures, every step shown as it would be
//! typed.
//!
//! It asks for nothing special: with GPUs the copies go to them, without one the host backend runs and says
//! so.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::{setup, step};

/// Runs the command; it takes no argument.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    step::no_arguments(args)?;
    setup::build()?;
    step::run(Command::new("cargo").args(["build", "--release"]).current_dir(root))?;
    for command in ["topo", "pingpong"] {
        println!();
        step::run(Command::new("target/release/numabench").arg(command).current_dir(root))?;
    }
    Ok(())
}
