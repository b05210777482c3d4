//! The commands of `cargo xtask` that hold the program's own code against something: its verdicts against
//! simulated figures and real runs, its binary against bad input and faults, its models of launchers against
//! the launchers.
//!
//! A program of its own, because it needs the crates that it proves: `cargo xtask demo` and the first steps of
//! the tests wait for none of them. One file a command, a function of the root and its arguments.

mod calibrate;
mod campaign;
mod launch_truth;
mod real_runs;
mod slurm_truth;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use xtask::{checkout, listing, need, step};

type Command = (&'static str, fn(&Path, &[String]) -> Result<()>);

const COMMANDS: [Command; 5] = [
    ("calibrate", calibrate::run),
    ("campaign", campaign::run),
    ("launch-truth", launch_truth::run),
    ("real-runs", real_runs::run),
    ("slurm-truth", slurm_truth::run),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = words.split_first() else {
        eprintln!("proving: `cargo xtask help` lists its commands");
        return ExitCode::FAILURE;
    };

    match run(name, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(name: &str, rest: &[String]) -> Result<()> {
    let Some((_, command)) = COMMANDS.iter().find(|command| command.0 == name) else {
        bail!("no such command; there are {}", COMMANDS.map(|(name, _)| name).join(", "));
    };
    command(&checkout::root(), rest)
}
