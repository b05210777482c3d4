//! `numabench place` as typed.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ::place::{OwnMap, PlaceRequest};
use clap::ArgAction;
use device::MemoryKind;
use engine::EngineConfig;
use experiments::fastest_placement::FastestPlacement;
use experiments::options::Backend;
use launchers::{Dialect, DialectError, Starter};
use placement::{Ask, GpuList, Membind, Strategy};
use stats::IdSet;

use super::exec::NICS;
use super::words::{BACKENDS, COPIED};
use super::{ColorChoice, MOST, duration, ids, one_of, whole};

/// `numabench place`.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// Ranks on the node [default: one for each GPU; without GPUs one for each NUMA node with cores]
    #[arg(short = 'n', long, value_name = "N", value_parser = whole::<usize>(1..=MOST),
          help_heading = "What is placed")]
    pub ranks: Option<usize>,
    /// The ranks' GPUs, in rank order: indices in PCI order, PCI addresses, UUIDs, all, or none for ranks
    /// without a GPU
    #[arg(long, value_name = "LIST|all|none", default_value = "all", help_heading = "What is placed")]
    pub gpus: GpuList,
    /// Cores for each rank [default: the cores near its GPU, shared out among all GPUs there]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=MOST), help_heading = "What is placed")]
    pub cores_per_rank: Option<usize>,
    /// Threads of each rank, each on a core of its own (with --smt on a hardware thread of its own); sets
    /// OMP_NUM_THREADS in the line to paste
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=65_536),
          conflicts_with = "cores_per_rank", help_heading = "What is placed")]
    pub threads: Option<usize>,
    /// All hardware threads of a core, instead of one
    #[arg(long, help_heading = "What is placed")]
    pub smt: bool,
    /// Where ranks go: near their GPUs; evenly over the NUMA nodes, wherever the GPUs are; on consecutive
    /// cores from the first; far from their GPUs, to show what it costs
    #[arg(
        long,
        value_name = "close|spread|compact|worst",
        default_value = "close",
        help_heading = "What is placed"
    )]
    pub strategy: Strategy,
    /// PUs whose cores no rank gets, as taskset writes them
    #[arg(long, value_name = "LIST", value_parser = ids, help_heading = "What is placed")]
    pub reserve: Option<IdSet>,
    /// Plan for a saved machine (an hwloc XML file of `topo --save`, or `lstopo FILE.xml`; or texts, as `topo
    /// --input` takes them) instead of this one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["measure", "from"],
          help_heading = "What is placed")]
    pub input: Vec<PathBuf>,
    /// Take the places that an earlier `place --json FILE` found best
    #[arg(long, value_name = "FILE",
          conflicts_with_all =
              ["measure", "ranks", "gpus", "cores_per_rank", "threads", "smt", "strategy", "reserve"],
          help_heading = "What is placed")]
    pub from: Option<PathBuf>,

    /// Measure which placement is fastest here, with every rank copying at once: close, spread,
    /// compact, and those that the topology cannot rank
    #[arg(long, conflicts_with = "strategy", help_heading = "Measuring")]
    pub measure: bool,
    /// Measure this map too, a PU for each rank in rank order, e.g. right=49,57,17,25; may be given several
    /// times
    #[arg(long, value_name = "NAME=LIST", conflicts_with_all = ["cores_per_rank", "threads", "smt"],
          help_heading = "Measuring")]
    pub map: Vec<OwnMap>,
    /// Which devices: auto takes CUDA, else HIP, where there is a GPU, and host memory otherwise
    #[arg(long, value_parser = one_of(BACKENDS), default_value = "auto", help_heading = "Measuring")]
    pub backend: Backend,
    /// The size of one copy [default: 128MiB; without a GPU twice the L3 if that is more]
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size, help_heading = "Measuring")]
    pub size: Option<u64>,
    /// The kind of host memory [default: pinned; pageable with the host backend]
    #[arg(long, value_parser = one_of(COPIED), value_name = "KIND", help_heading = "Measuring")]
    pub memory: Option<MemoryKind>,
    /// Where the ranks' host memory lies while it is measured, as pingpong takes it: local to each PU, on a
    /// NUMA node, or interleave[:NODES], weighted[:NODES]
    #[arg(long, value_name = "WHERE", default_value = "local", help_heading = "Measuring")]
    pub membind: Membind,
    /// Begin no further round of turns after this time
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "90s",
          help_heading = "Measuring")]
    pub max_time: Duration,
    /// Give up after this time, whatever a device does [default: the time of --max-time and a minute]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Measuring")]
    pub timeout: Option<Duration>,
    /// Seed of the order of turns, of the payload and of the intervals
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX),
          default_value_t = EngineConfig::default().seed, help_heading = "Measuring")]
    pub seed: u64,

    /// The launcher of the line to paste: srun, mpirun (Open MPI), mpiexec (MPICH), torchrun, flux or pals
    /// (HPE's mpiexec) [default: the launcher of this process or job]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub launcher: Option<Starter>,
    /// Print only the lines of one launcher or tool, to be pasted; or gres-conf, the lines that Slurm's
    /// gres.conf should have for this node
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub emit: Option<Emit>,
    /// With --emit wrapper: tell each rank's UCX, NCCL (RCCL), libfabric and Cray MPICH by their variables to
    /// use the network adapter near its GPU (near); a variable that is set stays
    #[arg(long, value_parser = one_of(NICS), action = ArgAction::Set, value_name = "near|none",
          default_value = "none", help_heading = "Output")]
    pub nic: bool,
    /// Print the placement document instead of the table, or write it to FILE beside it
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-",
          help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Print everything. By default so where no terminal is (a log keeps all), and on a terminal what a
    /// screen holds
    #[arg(long, help_heading = "Output")]
    pub full: bool,
    /// Leave out the line to paste; with --emit, leave out the notes on the lines
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Whether the table is coloured
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, help_heading = "Output")]
    pub color: ColorChoice,
}

impl Place {
    /// What is asked for.
    pub fn asked(&self) -> PlaceRequest {
        PlaceRequest {
            ask: Ask {
                ranks: self.ranks,
                cores_per_rank: self.cores_per_rank,
                smt: self.smt,
                strategy: self.strategy,
                reserve: self.reserve.clone().unwrap_or_default(),
                ..Ask::default()
            },
            gpus: self.gpus.clone(),
            threads: self.threads,
            maps: self.map.clone(),
            membind: self.membind.clone(),
            input: self.input.clone(),
        }
    }

    /// How placements are measured.
    pub fn measuring(&self) -> FastestPlacement {
        FastestPlacement {
            backend: self.backend,
            size: self.size,
            memory: self.memory,
            engine: EngineConfig {
                seed: self.seed,
                max_time: Some(self.max_time),
                timeout: self.timeout,
                ..EngineConfig::default()
            },
        }
    }
}

/// What `--emit` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// The ranks' places in one launcher's or tool's words.
    Places(Dialect),
    /// The node's GPUs in Slurm's gres.conf.
    GresConf,
}

/// As users write it.
const GRES_CONF: &str = "gres-conf";

impl FromStr for Emit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            GRES_CONF => Ok(Self::GresConf),
            _ => {
                text.parse().map(Self::Places).map_err(|error: DialectError| format!("{error}, {GRES_CONF}"))
            }
        }
    }
}
