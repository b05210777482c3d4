//! What ranks tell each other of themselves before they exchange messages.

use std::time::Duration;

use experiments::supervised::RankLocation;
use report::message::MpiThreadLevel;
use report::mpi::MpiAdapter;
use report::pair_sample::PairSample;
use report::rank::Locality;
use serde::{Deserialize, Serialize};
use stats::PciAddress;

use super::gpu_cpus::ThreadSpot;

/// A rank, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFacts {
    /// Where it is.
    pub location: RankLocation,
    /// Its GPU's name.
    pub gpu_name: Option<String>,
    /// How close PU and GPU are.
    pub locality: Option<Locality>,
    /// What its driver says of itself where its devices are not real.
    pub simulated: Option<String>,
    /// Its threads that copy to the GPU, under `--gpu-cpus`.
    pub gpu_threads: Vec<ThreadSpot>,
    /// What its place is called, under `--matrix`.
    pub place: Option<String>,
    /// Adapters near its place, likewise.
    pub nics: Vec<String>,
    /// The network adapters of its host, where the launch has several hosts.
    pub adapters: Vec<MpiAdapter>,
    /// How old what their counters say may be.
    pub adapter_refresh: Duration,
    /// What lies between its GPU and each other one of its host, under `--sample`.
    pub gpu_links: Vec<(PciAddress, String)>,
    /// Places of its host that no rank can have, and why, likewise.
    pub missing_places: Vec<(String, String)>,
}

impl RankFacts {
    /// Its number.
    pub fn rank(&self) -> usize {
        self.location.session.rank
    }

    /// Its host.
    pub fn host(&self) -> &str {
        &self.location.session.host
    }
}

/// What all ranks know when they have met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRanks {
    /// The library, as it names itself.
    pub library: String,
    /// What it says of its support of GPUs.
    pub says: Vec<String>,
    /// The thread level that it gave.
    pub thread_level: MpiThreadLevel,
    /// The ranks, by number.
    pub ranks: Vec<RankFacts>,
    /// The pairs to be measured.
    pub pairs: Vec<[usize; 2]>,
    /// What a sample of them has.
    pub pair_sample: Option<PairSample>,
}
