//! `numabench doctor` as typed.

use std::path::PathBuf;

use super::ColorChoice;

/// `numabench doctor`.
#[derive(Debug, clap::Args)]
pub struct Doctor {
    /// Judge this machine's settings by a saved machine (an hwloc XML file of `topo --save`, or `lstopo
    /// FILE.xml`; or texts, as `topo --input` takes them): its cores, NUMA nodes and GPUs instead of those
    /// here
    #[arg(long, value_name = "FILE")]
    pub input: Vec<PathBuf>,
    /// Print the document instead of the table, or write it to FILE beside it, or into a folder (DIR/) under
    /// this node's name: of a launch with one task a node the first one then shows all nodes
    #[arg(long, value_name = "FILE|-|DIR/", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Print everything. By default so where no terminal is (a log keeps all), and on a terminal what a
    /// screen holds
    #[arg(long)]
    pub full: bool,
    /// Only the findings and the unknown settings, without the reasons
    #[arg(short, long)]
    pub quiet: bool,
    /// Whether the table is coloured
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}
