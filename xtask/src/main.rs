//! `cargo xtask COMMAND`: everything this repository does to itself, in Rust and without a build tool to install.
//!
//! It builds without hwloc, MPI or a driver: `setup` installs the rest. One file a command, a function of the root and its arguments.

mod bench;
mod bindings;
mod calibrate;
mod campaign;
mod checkout;
mod demo;
mod dist;
mod kernels;
mod mpi_plugin;
mod need;
mod package_manager;
mod recipes;
mod schema;
mod scripts;
mod setup;
mod skips;
mod step;
mod test;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

/// A command: its name, its line in the help, what it does.
type Command = (&'static str, &'static str, fn(&Path, &[String]) -> Result<()>);

const COMMANDS: &[Command] = &[
    ("setup", "install what building and testing need, where it is missing [--build-only]", setup::run),
    ("demo", "setup, a release build, then `topo` and `pingpong` on this machine", demo::run),
    ("test", "setup, then format, lints, tidy and every test: what CI runs", test::run),
    (
        "tidy",
        "check what no compiler checks: dependency directions, module docs, unsafe, the schema [--figures: sizes and counts]",
        tidy::run,
    ),
    ("schema", "write the documents' schemas, crates/report/schema, from the types", schema::run),
    ("bindings", "write HIP's declarations from ROCm's header, by bindgen [--include FOLDER]", bindings::run),
    (
        "kernels",
        "assemble and compile the GPU kernels for every architecture; needs no GPU [--nvrtc LIBRARY: make their PTX]",
        kernels::run,
    ),
    ("bench", "the performance targets, measured beside other programs [options of bench/run.sh]", bench::run),
    ("mpi-plugin", "the MPI plug-in, with the site's mpicc, by the binary [--out FILE | --each]", mpi_plugin::run),
    ("recipes", "write the list of crates in EasyBuild's recipe, from Cargo.lock", recipes::run),
    ("calibrate", "how often each verdict is wrong, by simulation [VERDICT]… [--short]", calibrate::run),
    ("campaign", "bad input, kills and faults, counted [--long] [--seed N] [--binary FILE]", campaign::run),
    ("dist", "release archives in target/dist [--arch A, --hwloc SOURCE, --no-plugins, --prove]", dist::run),
];

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
            checkout::build_here(&root)?;
            command(&root, rest)
        }
        None => bail!("no such command; `cargo xtask help` lists them"),
    }
}
