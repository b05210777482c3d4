//! The placement document: which ranks belong where on a node, and, where it was measured, which of several
//! ways is the fastest.
//!
//! A document of its own beside the result document: it is read back (`place --from`, `exec --from`) to apply
//! what was found, so it holds every place in full, by OS ids and PCI addresses. The rules of the result
//! document hold here too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::best::RankingVerdict;
use stats::compare::TwoSampleComparison;
use stats::{IdSet, PciAddress};

use crate::document::{Platform, Tool};
use crate::rank::Locality;
use crate::settings::Membind;

/// What `numabench place` says of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceDocument {
    /// Always `numabench.place`.
    pub schema: String,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// The command line as it was given, the program's name first.
    pub argv: Vec<String>,
    /// When the command began, RFC 3339 in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// The machine that the places are on.
    pub machine: Machine,
    /// The ways to place the ranks, the recommended one first; one where nothing was measured.
    pub candidates: Vec<Candidate>,
    /// What was measured of them; null where nothing was.
    pub measured: Option<Measured>,
    /// The one line that starts a program's ranks in the recommended way, as its launcher has it; absent
    /// before schema 1.1.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub command: Option<Line>,
    /// The recommended way in the words of launchers and tools.
    pub lines: Vec<Line>,
    /// What the user should know beside the places.
    pub notes: Vec<String>,
}

/// The machine that the places are on: what a reader compares with its own before it applies them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Its name, where it is known.
    pub hostname: Option<String>,
    /// The file it was read from; null for the machine itself.
    pub file: Option<String>,
    /// The PUs that could be used.
    pub allowed_pus: IdSet,
    /// Whether nobody says which PUs a job may use, so that `allowed_pus` has all that are online: texts of
    /// other tools list reserved cores too. Absent where not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("since" = "1.2"))]
    pub allowed_not_said: bool,
    /// PUs that no rank gets: reserved by the system, or by `--reserve`.
    pub reserved_pus: IdSet,
    /// The addresses of its GPUs, in PCI order.
    pub gpus: Vec<PciAddress>,
}

/// One way to place the ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// Its name: a strategy (`close`, `spread`, `compact`, `worst`), or `node-N` where all ranks are on one
    /// NUMA node.
    pub name: String,
    /// What it does, in words.
    pub what: String,
    /// Every rank's place, by rank.
    pub places: Vec<Place>,
    /// What each turn gave: a turn is a run of its own, with threads, contexts and memory made anew.
    pub turns: Vec<Turn>,
    /// How many turns gave no figure, and why the last of them did not; null where all went well.
    pub trouble: Option<String>,
    /// Its turns' rates over those of the one with the highest median; null for that one itself, and with
    /// fewer than 6 turns.
    pub against_leader: Option<TwoSampleComparison>,
}

/// One rank's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The rank's number on its node.
    pub rank: u32,
    /// The PUs it is bound to, OS indices.
    pub pus: IdSet,
    /// The one of them to bind it to where a launcher takes only one.
    pub first_pu: u32,
    /// How many cores they are on.
    pub cores: u32,
    /// The NUMA nodes that its PUs are local to, OS indices.
    pub nodes: IdSet,
    /// The L3 caches that its PUs are behind, each by all of its PUs.
    pub l3_pus: Vec<IdSet>,
    /// The NUMA node of its host memory, OS index; null where none can be named.
    pub memory_node: Option<u32>,
    /// Its GPU; null for a rank without one.
    pub gpu: Option<PlacedGpu>,
    /// The NUMA node whose memory takes the place of a GPU's, where no GPU takes part.
    pub target_node: Option<u32>,
    /// The network adapter near its GPU; null without one, or where nobody says which is near. Absent before
    /// schema 1.1.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub nic: Option<PlacedNic>,
    /// How close its PUs and its GPU are; null without one.
    pub locality: Option<Locality>,
    /// The rung of the ladder that the locality is known from: `l3`, `pci-local-cpus`, `driver`, `unknown`;
    /// null without a GPU.
    pub rung: Option<String>,
    /// Why it is there.
    pub why: String,
}

/// A rank's GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedGpu {
    /// Its position in PCI order.
    pub index: u32,
    /// Its PCI address.
    pub pci_address: PciAddress,
    /// Its UUID, where it is known.
    pub uuid: Option<String>,
}

/// A network adapter near a rank's GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedNic {
    /// What the kernel calls it (`mlx5_0`, `hsn0`).
    pub name: String,
    /// Its PCI address.
    pub pci_address: PciAddress,
    /// What lies between it and the GPU, in the words of `nvidia-smi topo -m`: `PIX`, `PXB`, `PHB`, `NODE`.
    pub level: String,
    /// Who says so.
    pub source: String,
    /// Variables by which communication libraries are told to take it (UCX, NCCL and RCCL, libfabric's CXI
    /// provider); none is set here.
    pub variables: Vec<String>,
}

/// How the candidates were measured, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// The driver whose devices took part.
    pub platform: Platform,
    /// The size of one copy.
    pub size_bytes: u64,
    /// The kind of host memory: `pinned` or `pageable`.
    pub memory: String,
    /// Where host memory was asked to lie; on the node of each rank's PU before schema 1.2.
    #[serde(default)]
    #[schemars(extend("since" = "1.2"))]
    pub membind: Membind,
    /// The seed of the order of turns.
    pub seed: u64,
    /// What the values say.
    pub finding: MeasuredFinding,
    /// The candidate with the highest median rate; null where none gave a figure.
    pub leader: Option<String>,
    /// Why measuring ended, where it ended before every candidate had its turns.
    pub ended_early: Option<String>,
}

/// What the values say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredFinding {
    /// The leader is faster than every other.
    Best,
    /// No measurable difference between the leader and those of the others that are not slower: the interval
    /// lies within 1 %, or holds 1 and ends within 5 %.
    NoMeasurableDifference,
    /// Some of the others may be as fast or faster: the values do not decide.
    Undecided,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl From<RankingVerdict> for MeasuredFinding {
    fn from(finding: RankingVerdict) -> Self {
        match finding {
            RankingVerdict::Best => Self::Best,
            RankingVerdict::Equal => Self::NoMeasurableDifference,
            RankingVerdict::Undecided => Self::Undecided,
        }
    }
}

/// What one turn gave, all ranks copying at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// Host to device, bytes per second, by rank.
    pub h2d_bytes_per_s: Vec<f64>,
    /// Device to host, bytes per second, by rank.
    pub d2h_bytes_per_s: Vec<f64>,
}

impl Turn {
    /// The node's rate, bytes per second: bytes over the time it takes to move as many bytes to the devices,
    /// all ranks at once, as back again; what candidates are compared by. `None` where a direction gave
    /// nothing.
    pub fn bytes_per_s(&self) -> Option<f64> {
        let sum = |rates: &[f64]| Some(rates.iter().sum::<f64>()).filter(|sum| *sum > 0.0);
        let (h2d, d2h) = (sum(&self.h2d_bytes_per_s)?, sum(&self.d2h_bytes_per_s)?);
        Some(2.0 / (1.0 / h2d + 1.0 / d2h))
    }

    /// The same for the rank that is slowest at it. `None` as for the node.
    pub fn slowest_bytes_per_s(&self) -> Option<f64> {
        let both = self.h2d_bytes_per_s.iter().zip(&self.d2h_bytes_per_s);
        let rates = both
            .filter(|(h2d, d2h)| **h2d > 0.0 && **d2h > 0.0)
            .map(|(h2d, d2h)| 2.0 / (1.0 / h2d + 1.0 / d2h));
        rates.reduce(f64::min)
    }
}

/// The recommended way in the words of one launcher or tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// Whose words: `srun`, `taskset`, …
    pub dialect: String,
    /// What to paste; several lines where each rank has its own.
    pub text: String,
    /// Why it cannot work here, and what to do; null where it can.
    pub cannot: Option<String>,
    /// What else is to be known of it.
    pub remarks: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turns_rate_is_the_bytes_of_both_ways_over_the_time_of_both() {
        let turn = Turn { h2d_bytes_per_s: vec![10e9, 10e9], d2h_bytes_per_s: vec![5e9, 5e9] };
        // 20 GB down in 1 s, 20 GB up in 2 s.
        assert_eq!(turn.bytes_per_s().map(|rate| (rate / 1e6).round()), Some(13_333.0));
        let without = Turn { h2d_bytes_per_s: vec![10e9], d2h_bytes_per_s: Vec::new() };
        assert_eq!(without.bytes_per_s(), None);
    }
}
