//! What is to be placed.

use std::path::PathBuf;

use placement::{Ask, GpuList, Membind};

use crate::own_map::OwnMap;

/// What is to be placed, and on which machine.
#[derive(Clone, Debug)]
pub struct PlaceRequest {
    /// How many ranks, on which cores; `gpus` are found and `threads` are given cores when it is planned.
    pub ask: Ask,
    /// The ranks' GPUs, in rank order.
    pub gpus: GpuList,
    /// Threads of each rank, each with a core of its own where no number of cores is asked for.
    pub threads: Option<usize>,
    /// The user's own maps, which are measured beside the strategies.
    pub maps: Vec<OwnMap>,
    /// Where the ranks' host memory lies while candidates are measured.
    pub membind: Membind,
    /// The files that describe the machine (`topo::survey_files`); none: this machine.
    pub input: Vec<PathBuf>,
}
