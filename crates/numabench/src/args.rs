//! The command line as typed. What it means on this machine is `config`'s work; here only form is checked.

pub mod baseline;
pub mod check;
pub mod compare;
pub mod completions;
pub mod contend;
pub mod doctor;
pub mod exec;
pub mod export;
pub mod history;
pub mod import;
pub mod kernels;
pub mod laplace;
pub mod latency;
pub mod man;
pub mod matrix;
pub mod measuring;
pub mod mpi;
mod number;
mod options;
pub mod peer;
pub mod place;
pub mod reference;
pub mod report;
pub mod schema;
pub mod suite;
pub mod sweep;
pub mod topo;
pub mod trial;
pub mod witness;
mod words;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use ::pingpong::TimingChoice;
use ::report::settings::OrderAsked;
use clap::{ArgAction, Parser, Subcommand, ValueEnum};
use device::{CopyBy, Direction, MemoryKind};
use experiments::for_one_platform::ForOnePlatform;
use experiments::options::Backend;
use placement::{Membind, Selection};
use stats::units::{parse_duration, parse_sizes};
use stats::{IdList, IdSet};

use number::{percent, whole};
use words::{BACKENDS, CLOCKS, DIRECTIONS, ENGINES, MEMORY, ORDERS, SWITCH, Word, one_of};

use crate::version;

/// More ranks or cores than this no node has: Linux counts up to 8,192 PUs.
pub const MOST: u64 = placement::MOST_RANKS as u64;

/// Show which CPUs, memory and GPUs of a node belong together, measure what a wrong placement costs, and
/// start programs in the right one.
#[derive(Debug, Parser)]
#[command(name = "numabench", version = version::LINE, propagate_version = true, max_term_width = 110)]
pub struct Args {
    /// With --version: also hwloc's version, and which MPI plug-ins are here and whether they fit this launch
    #[arg(short, long, requires = "version")]
    pub verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show which CPUs, memory and GPUs belong together, and which of them this process may use
    Topo(Box<topo::Topo>),
    /// Say which settings of this node cost placement or bandwidth, why, and how to change them: exit code 0
    /// none, 5 some, 6 not all can be known
    Doctor(doctor::Doctor),
    /// Bind each rank to its PU, copy host memory to its GPU and back, and prove what was measured
    Pingpong(Box<Pingpong>),
    /// Measure bandwidth from every NUMA node (or L3, or core) to every GPU; without a GPU from every node's
    /// cores to every node's memory
    Matrix(Box<matrix::Matrix>),
    /// Measure the latency of a load of each node's memory, by each GPU or (without a GPU) by each node's
    /// core; or from core to core
    Latency(Box<latency::Latency>),
    /// Measure copies between the memory of every two GPUs and within each: one way, bidirectional, and the
    /// time of the smallest
    Peer(Box<peer::Peer>),
    /// Measure messages between ranks of a launch; say whether MPI takes device memory, and whether directly
    /// or through the host
    Mpi(Box<mpi::Mpi>),
    /// Measure bandwidth and time against size; give the latency and the peak rate that fit them
    Sweep(Box<sweep::Sweep>),
    /// Measure the bandwidth that ranks lose when they copy at once: GPUs that share a link, ranks that share
    /// a GPU
    Contend(Box<contend::Contend>),
    /// Measure kernels that compute, from every NUMA node to every GPU: with transfers and alone, and the
    /// cost of a far node for each
    Kernels(Box<kernels::Kernels>),
    /// Measure Jacobi's iteration over the ranks of a launch, its halos by cores alone, staged through the
    /// host, or by GPU-aware MPI
    Laplace(Box<laplace::Laplace>),
    /// Measure this node within a given time, as one document: its memory, its GPUs, and their loss when they
    /// copy at once
    Suite(Box<suite::Suite>),
    /// Recommend cores, memory and a GPU for each rank, with the line for srun, mpirun, numactl or others; or
    /// measure which placement is fastest
    Place(Box<place::Place>),
    /// Start a program in its rank's place: bound to its cores and its memory, with its GPU
    Exec(Box<exec::Exec>),
    /// Say whether the ranks of this launch, this process or running programs are well placed: exit code 0
    /// yes, 5 no, 6 unknown
    Check(Box<check::Check>),
    /// Run your own program under several placements in random order, until it is decided which is fastest
    /// and by how much
    Trial(Box<trial::Trial>),
    /// Run your own program once and say which of its copies between host memory and GPUs are far, how fast
    /// they were, and what near memory would gain: the exit code is the program's
    Witness(witness::Witness),
    /// Say whether runs got worse than earlier ones: exit code 0 no, 5 yes, 6 the data do not decide
    Compare(Box<compare::Compare>),
    /// Learn the normal figures of a class of hardware from result documents of your own nodes, for check
    /// --bandwidth
    Baseline(baseline::Baseline),
    /// List reference figures of GPUs and their links, published and our own, with their sources: to tell
    /// whether a measured one is normal
    Reference(reference::Reference),
    /// Find when figures changed over many runs, and what changed with them: exit code 0 no change, 5 changes
    History(history::History),
    /// Convert a result document for dashboards and pipelines: CSV, Bencher, GitHub, Prometheus, JUnit,
    /// InfluxDB
    Export(export::Export),
    /// Read the output of nvbandwidth, TransferBench or the OSU micro-benchmarks, as a document to compare,
    /// export and report
    Import(import::Import),
    /// Show nodes side by side, or write a report of one run or several as one HTML file
    Report(report::Report),
    /// Print the JSON Schema of a kind of document
    Schema(schema::Schema),
    /// Print a shell's completions of these commands
    Completions(completions::Completions),
    /// Print the manual page, or write one for each command
    Man(man::Man),
}

impl Command {
    /// Where a command that measures keeps the options that say something on one platform only.
    pub fn for_one_platform_mut(&mut self) -> Option<&mut ForOnePlatform> {
        match self {
            Self::Topo(command) => Some(&mut command.for_one_platform),
            Self::Matrix(command) => Some(&mut command.measuring.for_one_platform),
            Self::Latency(command) => Some(&mut command.measuring.for_one_platform),
            Self::Peer(command) => Some(&mut command.measuring.for_one_platform),
            Self::Sweep(command) => Some(&mut command.measuring.for_one_platform),
            Self::Contend(command) => Some(&mut command.measuring.for_one_platform),
            Self::Kernels(command) => Some(&mut command.measuring.for_one_platform),
            Self::Suite(command) => Some(&mut command.measuring.for_one_platform),
            _ => None,
        }
    }
}

/// `numabench pingpong`.
#[derive(Debug, clap::Args)]
pub struct Pingpong {
    /// One PU for each rank, OS ids as taskset writes them: 49,57 or 0-3 or 0-31:2 [default: the first
    /// allowed core of each device's locality domain]
    #[arg(long, value_name = "LIST", help_heading = "Placement")]
    pub cpus: Option<IdList>,
    /// One device for each rank: indices in PCI order, PCI addresses, UUIDs, or all; one may appear more than
    /// once. With the host backend: NUMA nodes [default: all]
    #[arg(long, value_name = "LIST", help_heading = "Placement")]
    pub gpus: Option<Selection>,
    /// Where host memory lies: local (the node of the rank's PU), a NUMA node's number, or page by page over
    /// several nodes: interleave or interleave:0-1, weighted:0-1 by the kernel's weights (as exec takes it)
    #[arg(long, value_name = "WHERE", default_value = "local", help_heading = "Placement")]
    pub membind: Membind,
    /// Which devices: auto takes CUDA, else HIP, where there is a GPU, and host memory otherwise
    #[arg(long, value_parser = one_of(BACKENDS), default_value = "auto", help_heading = "Placement")]
    pub backend: Backend,
    /// This process's number among the ranks of its node, from 0, for a launcher that numabench does not
    /// know; MPI then brings them together
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0..=MOST - 1), help_heading = "Placement")]
    pub rank: Option<usize>,
    /// How many ranks this node has, where the launcher does not say it
    #[arg(long, value_name = "M", value_parser = whole::<NonZeroUsize>(1..=MOST), help_heading = "Placement")]
    pub ranks: Option<NonZeroUsize>,

    /// Sizes of one copy: 128MiB, a list, or a geometric range 4B..1GiB (×2) or 4B..8GiB:4 [default: 128MiB;
    /// without a GPU twice the L3 if that is more]
    #[arg(long, value_name = "SIZES", value_parser = sizes, conflicts_with = "floats",
          help_heading = "What is copied")]
    pub size: Option<Sizes>,
    /// The size as a number of 4-byte floats
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=stats::units::MOST_BYTES / 4),
          help_heading = "What is copied")]
    pub floats: Option<u64>,
    /// Kinds of host memory [default: pinned; pageable with the host backend]
    #[arg(long, value_parser = one_of(MEMORY), value_delimiter = ',', value_name = "KINDS",
          help_heading = "What is copied")]
    pub memory: Vec<MemoryKind>,
    /// Directions; roundtrip is H2D then D2H, bidir both at once
    #[arg(long, value_parser = one_of(DIRECTIONS), value_delimiter = ',',
          default_values = ["h2d", "d2h", "roundtrip"],
          hide_default_value = true, value_name = "DIRECTIONS", help_heading = "What is copied")]
    pub direction: Vec<Direction>,
    /// What moves the bytes: the GPU's copy engines, or (pinned memory only) a kernel of loads and stores, or
    /// its tensor memory accelerator (TMA): they differ on coherent links
    #[arg(long, value_parser = one_of(ENGINES), default_value = "ce", value_name = "ENGINE",
          help_heading = "What is copied")]
    pub engine: CopyBy,
    /// Whether host memory may use huge pages
    #[arg(long, value_parser = one_of(SWITCH), action = ArgAction::Set, default_value = "on",
          help_heading = "What is copied")]
    pub huge_pages: bool,

    /// Measure this number of rounds a case; without it, blocks are measured until the interval is narrow.
    /// Several ranks at once go on until all have theirs, and only rounds of their common time count, so that
    /// the number differs a little
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=10_000_000),
          help_heading = "How it is measured")]
    pub reps: Option<u64>,
    /// Rounds before those of --reps, which do not count [default: 10]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=1_000_000),
          help_heading = "How it is measured")]
    pub warmup: Option<u64>,
    /// Measure until the 95 % interval is within ± this part of the figure, however long that takes, up to
    /// 1000 blocks a case and --max-time [default: 1 %, or what ten blocks and a second or a quarter of the
    /// run more give]
    #[arg(long, value_name = "PERCENT", value_parser = percent, conflicts_with = "reps",
          help_heading = "How it is measured")]
    pub precision: Option<f64>,
    /// Begin no further pass after this time of measuring [default: 3 s a case, at least 30 s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "How it is measured")]
    pub max_time: Option<Duration>,
    /// Give up after this time, whatever a device does
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "How it is measured")]
    pub timeout: Option<Duration>,
    /// The clock: auto times pinned copies of 1 MiB and more on the device, everything else on the host
    #[arg(long, value_parser = one_of(CLOCKS), default_value = "auto", help_heading = "How it is measured")]
    pub timing: TimingChoice,
    /// All ranks at once, one after the other, or both and the contention penalty [default: at once, and with
    /// GPUs each of several ranks alone for six blocks]
    #[arg(long, value_parser = one_of(ORDERS), help_heading = "How it is measured")]
    pub order: Option<OrderAsked>,
    /// Seed of the payload and of the order of blocks
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX), default_value_t = 1,
          help_heading = "How it is measured")]
    pub seed: u64,
    /// Do not compare the received bytes with the sent ones
    #[arg(long, help_heading = "How it is measured")]
    pub no_verify: bool,

    /// Findings that end an otherwise complete run with exit code 5: slower-twin, a GPU that copies much
    /// slower than those of its node that are like it
    #[arg(long, value_enum, value_delimiter = ',', value_name = "FINDINGS", help_heading = "Output")]
    pub fail_on: Vec<FailingFinding>,
    /// Print the plan and touch no GPU
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub dry_run: bool,
    /// Print the result document instead of the table, or write it to FILE (rewritten after every pass)
    /// beside it
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-",
          help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Also hold the figures against those of this file (`numabench reference --lines` shows its form): your
    /// site's own
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub reference: Option<PathBuf>,
    /// Print everything: each rank, the placement, the devices and the settings. By default so where no
    /// terminal is (a log keeps all), and on a terminal what a screen holds
    #[arg(long, help_heading = "Output")]
    pub full: bool,
    /// Print what a screen holds, also where no terminal is
    #[arg(long, conflicts_with = "full", help_heading = "Output")]
    pub brief: bool,
    /// Only the figures and the problems
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Whether the table is coloured
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, help_heading = "Output")]
    pub color: ColorChoice,
}

/// Findings of a run that may end it with a code of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailingFinding {
    /// A GPU that copies much slower than equal GPUs of its node
    SlowerTwin,
}

/// Sizes in bytes, ascending.
#[derive(Clone, Debug)]
pub struct Sizes(pub Vec<u64>);

pub(crate) fn sizes(text: &str) -> Result<Sizes, stats::units::SizesError> {
    parse_sizes(text).map(Sizes)
}

pub(crate) fn duration(text: &str) -> Result<Duration, stats::units::DurationError> {
    parse_duration(text)
}

/// Ids that are meant: none is what a variable that is not set leaves of an option's value.
pub(crate) fn ids(text: &str) -> Result<IdSet, stats::id_list::IdListError> {
    text.parse::<IdList>().map(|list| list.0.into_iter().collect())
}

/// Memory on one node: what MPI is given is bound before MPI sees it, and a rank has one place.
fn one_node(text: &str) -> Result<Membind, String> {
    match text.parse() {
        Ok(membind @ (Membind::Local | Membind::Node(_))) => Ok(membind),
        Ok(Membind::Spread(..)) => Err(format!(
            "\"{text}\": memory lies on one node here; pingpong, place --measure and exec spread it"
        )),
        Err(_) => Err(format!("\"{text}\" is neither local nor a NUMA node's number")),
    }
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
