//! `numabench laplace` as typed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use ::laplace::{HaloWay, LaplaceGrid, LaplaceOptions};
use experiments::options::Backend;
use experiments::supervised::PlaceAsked;
use kernels::jacobi::Precision;
use placement::Selection;
use stats::IdList;

use super::number::typed_seconds;
use super::words::{BACKENDS, Word, one_of};
use super::{ColorChoice, duration, one_node, whole};

/// `numabench laplace`.
#[derive(Debug, clap::Args)]
pub struct Laplace {
    /// Rows and columns inside the border; the rows are shared among the ranks of the launch
    #[arg(long, value_name = "ROWSxCOLUMNS", default_value_t = LaplaceOptions::default().grid,
          help_heading = "What is computed")]
    pub grid: LaplaceGrid,
    /// The precision of a cell
    #[arg(long, value_parser = one_of(PRECISIONS), default_value = "double",
          help_heading = "What is computed")]
    pub precision: Precision,
    /// Who computes and how halos go: cpu (each rank with its core, MPI of host memory), staged (GPUs, halos
    /// through pinned host memory), gpu-aware (MPI is given device memory, in a process that may die of it),
    /// gpu (a rank alone) [default: all that this launch can have]
    #[arg(long, value_name = "WAYS", value_delimiter = ',', help_heading = "What is computed")]
    pub ways: Vec<HaloWay>,
    /// Whether halos go while the inner rows are computed
    #[arg(long, value_parser = one_of(OVERLAPS), default_value = "both", value_name = "on|off|both",
          help_heading = "What is computed")]
    pub overlap: Overlapped,

    /// Compare numbers of ranks: by the first 1, 2, 4, … ranks of the launch each, with speed-up and
    /// efficiency over the fewest [default: all ranks]
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', value_parser = whole::<usize>(1..=MOST_RANKS),
          help_heading = "What is computed")]
    pub ranks: Vec<usize>,
    /// The rows of --grid are each rank's, so that the plane grows with the ranks (weak scaling)
    #[arg(long, requires = "ranks", help_heading = "What is computed")]
    pub weak: bool,

    /// One PU for each rank of a node, OS ids as taskset writes them [default: near each rank's GPU]
    #[arg(long, value_name = "LIST", help_heading = "Placement")]
    pub cpus: Option<IdList>,
    /// One GPU for each rank of a node, or one for all: indices in PCI order, PCI addresses, UUIDs, or all
    /// [default: all that are visible, in turn]
    #[arg(long, value_name = "LIST", help_heading = "Placement")]
    pub gpus: Option<Selection>,
    /// Where host memory lies: local (the node of the rank's PU) or a NUMA node's number
    #[arg(long, value_name = "local|NODE", default_value = "local", value_parser = one_node,
          help_heading = "Placement")]
    pub membind: placement::Membind,
    /// Which devices: auto takes CUDA, else HIP, where there is a GPU; host computes with cores alone
    #[arg(long, value_parser = one_of(BACKENDS), default_value = "auto", help_heading = "Placement")]
    pub backend: Backend,

    /// Begin no further pass over the ways of a phase after this time, once each has 10 blocks
    #[arg(long, value_name = "TIME", value_parser = duration,
          default_value = typed_seconds(LaplaceOptions::default().max_time),
          help_heading = "How it is measured")]
    pub max_time: Duration,
    /// Give up on ranks that do not start, and on a block that does not come back, after this time
    #[arg(long, value_name = "TIME", value_parser = duration,
          default_value = typed_seconds(LaplaceOptions::default().timeout),
          help_heading = "How it is measured")]
    pub timeout: Duration,
    /// The seed of the order of blocks
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX),
          default_value_t = LaplaceOptions::default().seed, help_heading = "How it is measured")]
    pub seed: u64,

    /// Print the result document instead of the table, or write it to FILE (rewritten between passes) beside
    /// it
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-",
          help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Print everything. By default so where no terminal is (a log keeps all), and on a terminal what a
    /// screen holds
    #[arg(long, help_heading = "Output")]
    pub full: bool,
    /// Only the verdict, the figures and the problems
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Whether the table is coloured
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, help_heading = "Output")]
    pub color: ColorChoice,
}

/// As many as an MPI launch may have.
const MOST_RANKS: u64 = 65_535;

/// The precision of a cell.
const PRECISIONS: &[Word<Precision>] =
    &[("single", Precision::Single, "32 bits"), ("double", Precision::Double, "64 bits")];

/// Whether halos overlap; both are measured where it is open.
type Overlapped = Option<bool>;

/// Whether halos overlap.
const OVERLAPS: &[Word<Overlapped>] = &[
    ("on", Some(true), "They do"),
    ("off", Some(false), "They do not"),
    ("both", None, "Both are measured"),
];

impl Laplace {
    /// What is to be measured.
    pub fn options(&self) -> LaplaceOptions {
        LaplaceOptions {
            grid: self.grid,
            precision: self.precision,
            ways: self.ways.clone(),
            overlap: self.overlap,
            ranks: self.ranks.iter().copied().collect::<BTreeSet<usize>>().into_iter().collect(),
            rows_are_each_ranks: self.weak,
            place: PlaceAsked {
                cpus: self.cpus.clone(),
                gpus: self.gpus.clone(),
                membind: self.membind.clone(),
                backend: self.backend,
            },
            max_time: self.max_time,
            timeout: self.timeout,
            seed: self.seed,
        }
    }
}
