//! `numabench latency` as typed.

use placement::RowsBy;

use crate::args::measuring::Measuring;

/// `numabench latency`.
#[derive(Debug, clap::Args)]
pub struct Latency {
    /// What a row is: a NUMA node's memory, from its own cores, an L3's cores, or each core
    #[arg(long, value_name = "node|l3|core", default_value_t, help_heading = "What is measured")]
    pub rows: RowsBy,
    /// The range that is loaded from, larger than the cache before the memory [default: 64 MiB for a GPU, four times the L3 for a core]
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size, help_heading = "What is measured")]
    pub range: Option<u64>,
    /// What every measurement has.
    #[command(flatten)]
    pub measuring: Measuring,
}
