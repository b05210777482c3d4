//! numabench: which CPUs, memory and GPUs belong together, and what it costs when they are not used together.
//!
//! This file is the table of contents: arguments in, a command run, one exit code out. What each command does
//! is in `cmd/<command>.rs`; a kind of measurement with nothing of its own to do there goes to
//! `cmd/measured.rs` as it is. What an exit code means is in `experiments::exit`.

mod args;
mod cmd;
mod command_line;
mod command_list;
mod examples;
mod fleet;
mod output_file;
mod progress;
mod result_output;
mod rules;
mod schemas;
mod short_help;
mod terminal;
mod version;

use std::process::ExitCode;

use experiments::{began, ending, exit, fault, signals};

use crate::args::Command;
use crate::exit::Exit;

fn main() -> ExitCode {
    signals::survive_file_size_limit();
    let args = match command_line::parse(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => return terminal::usage(&error).into(),
    };
    let ended = match &args.command {
        Command::Topo(topo) => cmd::topo::run(topo),
        Command::Doctor(doctor) => cmd::doctor::run(doctor),
        Command::Pingpong(pingpong) => cmd::pingpong::run(pingpong),
        Command::Matrix(matrix) => cmd::matrix::run(matrix),
        Command::Latency(latency) => cmd::measured::run(&latency.options(), &latency.measuring),
        Command::Peer(peer) => cmd::measured::run(&peer.options(), &peer.measuring),
        Command::Mpi(mpi) => cmd::mpi::run(mpi),
        Command::Sweep(sweep) => cmd::sweep::run(sweep),
        Command::Contend(contend) => cmd::measured::run(&contend.options(), &contend.measuring),
        Command::Kernels(kernels) => cmd::measured::run(&kernels.options(), &kernels.measuring),
        Command::Laplace(laplace) => cmd::laplace::run(laplace),
        Command::Suite(suite) => cmd::measured::run(&suite.options(), &suite.measuring),
        Command::Place(place) => cmd::place::run(place),
        Command::Check(check) => cmd::check::run(check),
        Command::Exec(exec) => cmd::exec::run(exec),
        Command::Trial(trial) => cmd::trial::run(trial),
        Command::Witness(witness) => cmd::witness::run(witness),
        Command::Compare(compare) => cmd::compare::run(compare),
        Command::Baseline(baseline) => cmd::baseline::run(baseline),
        Command::Reference(reference) => cmd::reference::run(reference),
        Command::History(history) => cmd::history::run(history),
        Command::Export(export) => cmd::export::run(export),
        Command::Import(import) => cmd::import::run(import),
        Command::Report(report) => cmd::report::run(report),
        Command::Schema(schema) => cmd::schema::run(schema),
        Command::Completions(completions) => cmd::completions::run(completions),
        Command::Man(man) => cmd::man::run(man),
    };

    let exit: Exit = ended.unwrap_or_else(|fault| {
        terminal::complain(&fault);
        fault.exit
    });
    ending::of_main(exit)
}
