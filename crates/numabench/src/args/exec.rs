//! The command line of `numabench exec`.

use std::ffi::OsString;
use std::path::PathBuf;

use ::exec::{Asked, AskedWorkers, MemoryWish, Wish};
use clap::ArgAction;
use placement::{Ask, GpuList, Strategy};
use stats::IdSet;

use super::{MOST, Word, ids, one_of, whole};

/// `numabench exec`.
#[derive(Debug, clap::Args)]
pub struct Exec {
    /// The GPUs of this node's ranks: indices in PCI order, PCI addresses, UUIDs or all, shared out to the
    /// ranks in blocks; none places ranks without regard to GPUs [default: one for each rank, of those that
    /// the launcher shows; alone, the first]
    #[arg(long, value_name = "LIST|all|none", help_heading = "Placement")]
    pub gpus: Option<GpuList>,
    /// Which GPUs the program sees: own hides all but the rank's own, so that every program takes the right
    /// one; near hides none and binds near the rank's GPU, for frameworks that want to see all of them and
    /// choose by the local rank (torch.cuda.set_device(LOCAL_RANK))
    #[arg(long, value_parser = one_of(GPUS), action = ArgAction::Set, value_name = "own|near",
          default_value = "own", help_heading = "Placement")]
    pub gpu: bool,
    /// Cores for each rank [default: the cores near the GPU, shared out evenly among all GPUs and ranks
    /// there]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=MOST), help_heading = "Placement")]
    pub cores_per_rank: Option<usize>,
    /// All hardware threads of a core instead of one
    #[arg(long, help_heading = "Placement")]
    pub smt: bool,
    /// Where ranks go: close to their GPUs, spread evenly over NUMA nodes, compact from the first core on, or
    /// worst, the farthest from their GPUs
    #[arg(
        long,
        value_name = "close|spread|compact|worst",
        default_value = "close",
        help_heading = "Placement"
    )]
    pub strategy: Strategy,
    /// PUs whose cores no rank gets, OS ids as taskset writes them
    #[arg(long, value_name = "LIST", value_parser = ids, help_heading = "Placement")]
    pub reserve: Option<IdSet>,
    /// Where the program's memory lies: near its cores (local: on the node that `place` names, with
    /// --keep-cpus on those of all its cores) or on NODE and nowhere else, as with numactl --membind: a
    /// program that needs more than is free there is killed; page by page over NODES (interleave:0-1) or all
    /// nodes (interleave), or as many pages of a node as the kernel's weights say (weighted, weighted:0-1;
    /// Linux 6.9); none leaves it to the kernel
    #[arg(long, value_name = "PLACE", default_value = "local", help_heading = "Placement")]
    pub membind: MemoryWish,
    /// Tell the program's UCX, NCCL (RCCL) and libfabric by their variables to use the network adapter near
    /// the rank's GPU (near); a variable that is set stays. none leaves the choice to them
    #[arg(long, value_parser = one_of(NICS), action = ArgAction::Set, value_name = "near|none",
          default_value = "none", help_heading = "Placement")]
    pub nic: bool,
    /// Take the places that `place --json FILE` found best, one for each rank of the node, instead of working
    /// them out
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["gpus", "cores_per_rank", "smt", "strategy", "reserve", "keep_cpus"],
          help_heading = "Placement")]
    pub from: Option<PathBuf>,
    /// Keep the cores that the launcher bound this rank to: choose the nearest GPU and bind memory there
    #[arg(long, conflicts_with_all = ["cores_per_rank", "smt", "strategy", "reserve"],
          help_heading = "Placement")]
    pub keep_cpus: bool,

    /// The program is an engine that starts its workers itself: it stays as it is, and each process below it
    /// is bound by the GPU that it opens first, to the cores near it, and prefers the memory there. With
    /// =N, N workers of a GPU have cores of their own. By CUDA's driver or HIP
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=MOST_WORKERS), num_args = 0..=1,
          require_equals = true, default_missing_value = "1", help_heading = "Placement")]
    pub workers: Option<usize>,

    /// This process's number among the ranks of its node, from 0, for a launcher that numabench does not know
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0..=MOST - 1), help_heading = "Rank")]
    pub rank: Option<usize>,
    /// How many ranks this node has, where the launcher does not say it; without a launcher --rank says which
    /// one this is
    #[arg(long, value_name = "M", value_parser = whole::<usize>(1..=MOST), help_heading = "Rank")]
    pub ranks: Option<usize>,

    /// Report the placement on standard error, in one line a rank (and a worker)
    #[arg(long, help_heading = "Output")]
    pub report: bool,
    /// Start nothing: print the settings, as shell assignments
    #[arg(long, conflicts_with_all = ["report", "program"], help_heading = "Output")]
    pub print: bool,
    /// The program, looked for in PATH, and its arguments, which are not touched; a -- before it is not
    /// needed
    #[arg(trailing_var_arg = true, required_unless_present = "print", value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// The most workers of a GPU that have cores of their own.
const MOST_WORKERS: u64 = 64;

impl Exec {
    /// What is asked for so many workers of each GPU.
    pub fn asked_workers(&self, of_each_gpu: usize) -> AskedWorkers {
        AskedWorkers {
            of_each_gpu,
            gpus: self.gpus.clone(),
            smt: self.smt,
            reserve: self.reserve.clone().unwrap_or_default(),
            keeps_memory: self.membind == MemoryWish::Untouched,
        }
    }

    /// What is asked for.
    pub fn asked(&self) -> Asked {
        let ask = Ask {
            cores_per_rank: self.cores_per_rank,
            smt: self.smt,
            strategy: self.strategy,
            reserve: self.reserve.clone().unwrap_or_default(),
            ..Ask::default()
        };
        let wish = Wish { ask, memory: self.membind.clone() };
        let (gpus, shows_all, keep_cpus) = (self.gpus.clone(), self.gpu, self.keep_cpus);
        Asked { rank: self.rank, ranks: self.ranks, gpus, shows_all, keep_cpus, from: None, wish }
    }
}

/// Which GPUs a program sees: whether all that the launcher shows.
pub(crate) const GPUS: &[Word<bool>] = &[
    ("own", false, "The rank's own"),
    ("near", true, "What the launcher shows; the rank is bound near its own"),
];

/// Which network adapter a program's libraries are told of: whether of any.
pub(crate) const NICS: &[Word<bool>] =
    &[("near", true, "The one near the rank's GPU"), ("none", false, "None")];
