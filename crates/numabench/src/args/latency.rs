//! `numabench latency` as typed.

use experiments::options::{self, Between};
use hostmem::Access;
use placement::RowsBy;
use stats::IdList;

use super::contend::BESIDE;
use super::measuring::Measuring;
use super::{Word, one_of};

/// `numabench latency`.
#[derive(Debug, clap::Args)]
pub struct Latency {
    /// What a row is: a NUMA node's memory, from its own cores, an L3's cores, or each core
    #[arg(long, value_name = "node|l3|core", default_value_t, help_heading = "What is measured")]
    pub rows: RowsBy,
    /// The range that is loaded from, larger than the cache before the memory, and with --loaded that of each
    /// thread of traffic [default: 64 MiB for a GPU, four times the L3 for a core]
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size,
          help_heading = "What is measured")]
    pub range: Option<u64>,
    /// Measure core-to-core or CPU-GPU flag latency instead of memory loads
    #[arg(long, value_parser = one_of(BETWEEN), value_name = "WHAT", conflicts_with = "range",
          help_heading = "What is measured")]
    pub between: Option<Between>,
    /// Measure loads by one core of each row beside traffic of other cores on the same memory, from none to
    /// all they can make [default traffic: read]
    #[arg(
        long,
        value_parser = one_of(BESIDE),
        value_name = "ACCESS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "read",
        conflicts_with_all = ["between", "gpus", "backend"],
        help_heading = "What is measured"
    )]
    pub loaded: Option<Access>,
    /// The PUs that make the traffic of --loaded, a thread each [default: the other cores of the row's node]
    #[arg(long, value_name = "LIST", help_heading = "What is measured")]
    pub beside_cpus: Option<IdList>,
    /// The PUs of --between cores, OS ids as taskset writes them [default: the first of each core]
    #[arg(long, value_name = "LIST", help_heading = "What is measured")]
    pub cpus: Option<IdList>,
    /// What every measurement has.
    #[command(flatten)]
    pub measuring: Measuring,
}

/// Between what.
const BETWEEN: &[Word<Between>] = &[
    ("cores", Between::Cores, "From each core to each other one: half of a round trip"),
    (
        "gpus",
        Between::Gpus,
        "Flag round trip from the core of each row (--rows core: each core) to each GPU and back",
    ),
];

impl Latency {
    /// What is to be measured.
    pub fn options(&self) -> options::LatencyOptions {
        options::LatencyOptions {
            rows: self.rows,
            range: self.range,
            between: self.between,
            loaded: self.loaded,
            beside_cpus: self.beside_cpus.clone(),
            cpus: self.cpus.clone(),
            measuring: self.measuring.options(),
        }
    }
}
