//! The commands that need the crates they prove: the program `xtask/proving` has them.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::step;

const PACKAGE: &str = "numabench-proving";

/// Compiles the program, and runs its command of this name.
pub fn run(root: &Path, name: &str, args: &[String]) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.arg("run").arg("--quiet").arg("--manifest-path").arg(root.join("Cargo.toml"));
    // Where the user stands, which is what relative paths among the arguments are from.
    step::run(cargo.args(["--package", PACKAGE, "--", name]).args(args))
}

/// Runs the command of this name of the program that the tests have built.
pub fn built(root: &Path, name: &str) -> Result<()> {
    step::run(Command::new(root.join("target/debug").join(PACKAGE)).arg(name).current_dir(root))
}
