//! Why a rank cannot be put in its place, or its program not be started.

use std::io;

use placement::{SelectionError, TargetId};
use stats::IdSet;
use sys::policy::NodeUse;

use crate::place::RankPlaceError;
use crate::rank_slot::RankSlotError;
use crate::variables::Nameless;

/// What was asked does not fit the launch, the machine or the places found before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecError {
    /// Which of its node's ranks it is, is not known.
    #[error(transparent)]
    Slot(#[from] RankSlotError),
    /// GPUs that cannot be had.
    #[error(transparent)]
    Gpus(#[from] SelectionError),
    /// No place can be given.
    #[error(transparent)]
    Place(#[from] RankPlaceError),
    /// GPUs that no variable can name.
    #[error(transparent)]
    Nameless(#[from] Nameless),
    /// Workers have no GPU to be placed by.
    #[error(
        "--workers: the PCI bus that this process sees shows no GPU by which a worker could be placed; start \
         the engine without --workers"
    )]
    NoGpuForWorkers,
    /// Several tasks of a launch on one node would each be an engine.
    #[error(
        "--workers: this node has {0} tasks of the launch, and each would be an engine that stays free; \
         leave --workers out, which binds each task by its own rank, or start one task a node"
    )]
    SeveralEngines(usize),
    /// The variable has no room for so many workers.
    #[error(
        "--workers={each}: the PUs of {each} workers of each GPU do not fit into a variable of {room} bytes; \
         ask for fewer, or name the GPUs that the engine uses (--gpus)"
    )]
    TooManyWorkers {
        /// Workers of each GPU.
        each: usize,
        /// Bytes that there are.
        room: usize,
    },
    /// The places found before are those of another number of ranks.
    #[error("--from: places in the file: {places}, ranks of this node: {ranks}; place as many as there are")]
    PlaceCount {
        /// How many places there are.
        places: usize,
        /// How many ranks the node has.
        ranks: usize,
    },
    /// A rank's place has a GPU that it does not see.
    #[error("--from: rank {rank} is to have GPU {gpu}, which is hidden from it: show it all GPUs")]
    Hidden {
        /// The rank, by its number on the node.
        rank: usize,
        /// The GPU.
        gpu: TargetId,
    },
}

/// The kernel does not bind this process as planned.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Not to these PUs.
    #[error(
        "cannot bind to PUs {pus}: {source}; the program was not started. A PU may have gone offline or out \
         of the cpuset just now: start again, or with --keep-cpus"
    )]
    Pus {
        /// The PUs.
        pus: IdSet,
        /// What the kernel says.
        source: io::Error,
    },
    /// Not to these nodes.
    #[error(
        "cannot {} {nodes}: {source}; the program was not started. {}",
        memory_verb(*memory_use), memory_remedy(*memory_use, source)
    )]
    Memory {
        /// The nodes.
        nodes: IdSet,
        /// How memory was to be taken from them.
        memory_use: NodeUse,
        /// What the kernel says.
        source: io::Error,
    },
}

fn memory_verb(memory_use: NodeUse) -> &'static str {
    match memory_use {
        NodeUse::Bind => "bind memory to node",
        NodeUse::Interleave => "interleave memory over nodes",
        NodeUse::WeightedInterleave => "interleave memory by weight over nodes",
    }
}

fn memory_remedy(memory_use: NodeUse, source: &io::Error) -> &'static str {
    let is_unknown = source.kind() == io::ErrorKind::InvalidInput;
    if is_unknown && memory_use == NodeUse::WeightedInterleave {
        return "Kernels before Linux 6.9 know no weights: use --membind interleave";
    }
    "A container's seccomp profile may forbid set_mempolicy (docker: --cap-add SYS_NICE): --membind none \
     does without"
}

/// The program cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {name}: {source}")]
pub struct ProgramStartError {
    /// As it was asked for.
    pub name: String,
    /// What the kernel says.
    pub source: io::Error,
}
