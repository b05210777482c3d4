//! `numabench schema`: print the JSON Schema of a kind of document, as this version writes it.

use crate::args::schema::{Kind, Schema};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Schema) -> Result<Exit, Fault> {
    let file = match args.kind {
        Kind::Result => "result-v1.json",
        Kind::Place => "place-v1.json",
        Kind::Trial => "trial-v1.json",
        Kind::Mpi => "mpi-v1.json",
        Kind::Imported => "imported-v1.json",
        Kind::Comparison => "comparison-v1.json",
        Kind::Baseline => "baseline-v1.json",
        Kind::Gate => "gate-v1.json",
        Kind::History => "history-v1.json",
        Kind::Nodes => "nodes-v1.json",
        Kind::Doctor => "doctor-v1.json",
        Kind::Topology => "topology-v1.json",
        Kind::TopologyDiff => "topology-diff-v1.json",
        Kind::Check => "check-v1.json",
    };
    // The committed texts, which tests hold against the types: the code that makes them is three times as large.
    let all = [&report::schema::COMMITTED[..], &analysis::schema::COMMITTED, &crate::schemas::COMMITTED].concat();
    for (_, text) in all.into_iter().filter(|(name, _)| *name == file) {
        terminal::print(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}
