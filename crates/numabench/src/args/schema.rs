//! `numabench schema` as typed.

use super::{Word, one_of};

/// `numabench schema`.
#[derive(Debug, clap::Args)]
pub struct Schema {
    /// The kind of document
    #[arg(value_parser = one_of(KINDS), value_name = "KIND")]
    pub kind: &'static str,
}

/// Kinds of documents, each with the file of its schema.
const KINDS: &[Word<&str>] = &[
    ("result", "result-v1.json", "What pingpong measured"),
    ("place", "place-v1.json", "What place recommends or measured"),
    ("trial", "trial-v1.json", "What trial found"),
    ("mpi", "mpi-v1.json", "What mpi found"),
    ("imported", "imported-v1.json", "What import read of another program"),
    ("comparison", "comparison-v1.json", "What compare found"),
    ("baseline", "baseline-v1.json", "What baseline learned"),
    ("gate", "gate-v1.json", "What check --bandwidth found"),
    ("history", "history-v1.json", "What history found"),
    ("nodes", "nodes-v1.json", "What report found of several nodes"),
    ("doctor", "doctor-v1.json", "What doctor found"),
    ("witness", "witness-v1.json", "What witness saw"),
    ("topology", "topology-v1.json", "What topo --json shows"),
    ("topology-diff", "topology-diff-v1.json", "What topo diff --json found"),
    ("check", "check-v1.json", "What check --json found"),
];
