//! `numabench schema` as typed.

use clap::ValueEnum;

/// `numabench schema`.
#[derive(Debug, clap::Args)]
pub struct Schema {
    /// The kind of document
    #[arg(value_enum, value_name = "KIND")]
    pub kind: Kind,
}

/// Kinds of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// What pingpong measured
    Result,
    /// What place recommends or measured
    Place,
    /// What trial found
    Trial,
    /// What mpi found
    Mpi,
    /// What import read of another program
    Imported,
    /// What compare found
    Comparison,
    /// What baseline learned
    Baseline,
    /// What check --bandwidth found
    Gate,
    /// What history found
    History,
    /// What report found of several nodes
    Nodes,
    /// What doctor found
    Doctor,
    /// What topo --json shows
    Topology,
    /// What topo diff --json found
    TopologyDiff,
    /// What check --json found
    Check,
}
