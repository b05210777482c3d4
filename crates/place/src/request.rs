//! What is to be placed.

use std::path::PathBuf;

use placement::{GpuList, Membind, Strategy};
use stats::IdSet;

use crate::own_map::OwnMap;

/// What is to be placed, and on which machine.
#[derive(Clone, Debug)]
pub struct PlaceRequest {
    /// Ranks on the node; `None`: one for each GPU, without GPUs one for each NUMA node with cores.
    pub ranks: Option<usize>,
    /// The ranks' GPUs, in rank order.
    pub gpus: GpuList,
    /// Cores for each rank; `None`: those that its threads need, else those near its GPU.
    pub cores_per_rank: Option<usize>,
    /// Threads of each rank.
    pub threads: Option<usize>,
    /// All hardware threads of a core, instead of one.
    pub smt: bool,
    /// Where ranks go.
    pub strategy: Strategy,
    /// The user's own maps, which are measured beside the strategies.
    pub maps: Vec<OwnMap>,
    /// Where the ranks' host memory lies while candidates are measured.
    pub membind: Membind,
    /// PUs whose cores no rank gets; `None`: none were named.
    pub reserve: Option<IdSet>,
    /// The files that describe the machine (`topo::survey_files`); none: this machine.
    pub input: Vec<PathBuf>,
}
