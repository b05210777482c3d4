//! `cargo xtask schema`: the JSON Schemas of the documents, from the types that write them.
//!
//! The tests that hold the committed ones against the types write them, each in its crate. They are committed,
//! so that a reader needs no build.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::step;

/// The crates that have documents.
const CRATES: [&str; 3] = ["numabench-report", "numabench-analysis", "numabench"];

/// Runs the command; it takes no argument.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    step::no_arguments(args)?;
    let mut test = Command::new("cargo");
    test.args(["test", "--quiet", "--lib", "--bins"]);
    test.args(CRATES.iter().flat_map(|name| ["--package", name]));
    test.arg("the_committed_schemas_are_the_generated_ones");
    step::run(test.current_dir(root).env("NUMABENCH_WRITE_SCHEMAS", "1"))
}
