//! `cargo xtask COMMAND`: everything this repository does to itself, in Rust and without a build tool to
//! install.
//!
//! It builds without hwloc, MPI or a driver: `setup` installs the rest. One file a command, a function of the
//! root and its arguments.

mod bench;
mod bindings;
mod commands;
mod demo;
mod dist;
mod forges;
mod junit;
mod kernels;
mod lints;
mod mpi_plugin;
mod package_manager;
mod proving;
mod python_tools;
mod recipes;
mod sanitize;
mod schema;
mod scripts;
mod second_tries;
mod setup;
mod site;
mod skips;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};

use commands::COMMANDS;
use xtask::{checkout, listing, need, step};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_else(|| "help".into());
    let rest: Vec<String> = words.collect();
    match run(&name, &rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(name: &str, rest: &[String]) -> Result<()> {
    if matches!(name, "help" | "-h" | "--help") {
        println!("cargo xtask COMMAND\n");
        for (name, what, _) in COMMANDS {
            println!("  {name:<10} {what}");
        }
        return Ok(());
    }

    match COMMANDS.iter().find(|command| command.0 == name) {
        Some((_, _, command)) => {
            let root = checkout::root();
            // The plug-in goes beside the binary, wherever cargo builds that.
            if name != "mpi-plugin" {
                checkout::build_here(&root)?;
            }
            command(&root, rest)
        }
        None => bail!("no such command; `cargo xtask help` lists them"),
    }
}
