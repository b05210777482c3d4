//! `numabench trial` from outside: real runs of small programs whose figures are known beforehand.
//!
//! * `decided`  what is said of programs that differ and of programs that do not, and its document;
//! * `refused`  what ends a trial before its first counted run;
//! * `trouble`  runs that fail, hang, are moved or are interrupted, and a trial that is taken up again;
//! * `examples` the programs under `examples/`, built and run;
//! * `guest`    a Linux guest with four NUMA nodes.
//!
//! Figures are printed by the programs themselves where a test asserts one: no test depends on how fast this
//! machine is. What a machine lacks is said in a line that begins with `SKIPPED`.

#[path = "../cli/lab.rs"]
mod lab;
#[path = "../cli/run.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line, which use all of it")]
mod run;

mod decided;
mod examples;
mod guest;
mod refused;
mod trouble;

use std::path::Path;

use serde_json::Value;

/// Options of a trial whose program prints its figure: `x=` and what the variable X says, 100 without one.
pub const PRINTED: [&str; 4] = ["--metric", "x=([0-9.]+)", "--better", "lower"];

/// The program for them.
pub const PROGRAM: [&str; 4] = ["--", "sh", "-c", "echo x=${X:-100}"];

/// A JSON file.
pub fn json(path: &Path) -> Result<Value, Box<dyn std::error::Error>> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// The runs of a document that are no warm-up.
pub fn runs(document: &Value) -> Vec<&Value> {
    let all = document["runs"].as_array().into_iter().flatten();
    all.filter(|run| run["block"].as_u64() > Some(0)).collect()
}
