//! What the session tells its supervisor.

use exchange::{Doing, Found};
use report::mpi::MpiAdapter;
use serde::{Deserialize, Serialize};
use stats::PciAddress;

use super::gpu_cpus::ThreadSpot;
use crate::watched::Process;

/// A rank, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFacts {
    /// Its number.
    pub rank: usize,
    /// Its host.
    pub host: String,
    /// Its session's process: id, start and namespace, as [`ranks::Identity`] has them.
    pub process: (u32, u64, u64),
    /// The PU that it is bound to.
    pub pu: u32,
    /// The node of its host memory.
    pub memory_node: u32,
    /// Its GPU.
    pub gpu: Option<PciAddress>,
    /// The GPU's name.
    pub gpu_name: Option<String>,
    /// How close PU and GPU are.
    pub locality: Option<String>,
    /// What its driver says of itself where its devices are not real.
    pub simulated: Option<String>,
    /// Why no GPU takes part.
    pub why_host: Option<String>,
    /// Its threads that copy to the GPU, under `--gpu-cpus`.
    pub gpu_threads: Vec<ThreadSpot>,
    /// What its place is called, under `--matrix`.
    pub place: Option<String>,
    /// Adapters near its place, likewise.
    pub nics: Vec<String>,
    /// The network adapters of its host, where the launch has several hosts.
    pub adapters: Vec<MpiAdapter>,
    /// Places of its host that no rank can have, and why, likewise.
    pub missing_places: Vec<(String, String)>,
}

/// What all ranks know when they have met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Met {
    /// The library, as it names itself.
    pub library: String,
    /// What it says of its support of GPUs.
    pub says: Vec<String>,
    /// The thread level that it gave.
    pub thread_level: String,
    /// The ranks, by number.
    pub ranks: Vec<RankFacts>,
    /// The pairs to be measured.
    pub pairs: Vec<[usize; 2]>,
}

/// What is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Told {
    /// MPI is started now.
    Starting(String),
    /// It cannot go on and leaves with this code; why was said, here or by rank 0.
    Refused(u8),
    /// All ranks have met.
    Met(Met),
    /// This is done next.
    Doing(Doing),
    /// This is known.
    Found(Found),
    /// All was done; it leaves now.
    Over,
}

impl Met {
    /// The sessions, by rank.
    pub fn processes(&self) -> Vec<Process> {
        let process = |rank: &RankFacts| Process { rank: rank.rank, host: rank.host.clone(), process: rank.process };
        self.ranks.iter().map(process).collect()
    }
}
