//! A rank and the placement asked of it: one worker that drives one device from one PU with memory of one
//! NUMA node.
//!
//! What was seen of the placement is in each case's result, because it is proven before and after each
//! measurement.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;
use stats::time_spent::TimeSpent;

/// A rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// Its number, 0..ranks.
    pub rank: u32,
    /// Its node's `index`.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub node: u32,
    /// Its number among the ranks of its node, 0 first.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub node_rank: u32,
    /// The host it ran on.
    pub host: String,
    /// The process.
    pub process_id: u32,
    /// The thread; null before it was started.
    pub thread_id: Option<u32>,
    /// How many devices its process could have used: under a launcher each may see its own. Null where nobody
    /// looked.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub visible_devices: Option<u32>,
    /// The placement asked.
    pub asked: Placement,
    /// Who chose it.
    pub chosen_by: ChosenBy,
    /// How the PU lies to the device.
    pub locality: Locality,
    /// How that is known, or why it is not.
    pub locality_reason: String,
    /// What a user should know of this placement: PU outside the device's domain, shared device, …
    pub notes: Vec<String>,
    /// The L3 cache that its PU is behind, bytes; null where it has none, or none is reported.
    #[serde(default)]
    #[schemars(extend("since" = "1.5"))]
    pub l3_bytes: Option<u64>,
    /// The lowest PU (OS index) behind that cache: ranks of one host with the same one share it. Null where
    /// it has none, and before 1.6.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub l3_first_pu: Option<u32>,
    /// Where its time went; null before it has measured anything. Where one thread measures several places
    /// one after the other (a matrix), the time of all of them stands with the first.
    #[serde(default)]
    #[schemars(extend("since" = "1.2"))]
    pub time: Option<TimeSpent>,
}

/// Which L3 cache: the host, and the lowest PU behind it.
pub type L3<'r> = (&'r str, Option<u32>);

/// How many of these ranks are behind each L3.
pub fn l3_sharers<'r>(ranks: impl IntoIterator<Item = &'r Rank>) -> BTreeMap<L3<'r>, u64> {
    let mut sharers = BTreeMap::new();
    for rank in ranks {
        *sharers.entry(rank.l3()).or_insert(0) += 1;
    }
    sharers
}

impl Rank {
    /// Which L3 cache its PU is behind: its host and the lowest PU. Before 1.6 the ranks of a host are said
    /// to share one.
    pub fn l3(&self) -> L3<'_> {
        (&self.host, self.l3_first_pu)
    }
}

/// A PU, a memory node and a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// The PU (OS index).
    pub pu: u32,
    /// The NUMA node of the host memory (OS index); null when it was left to the kernel, or is spread.
    pub memory_node: Option<u32>,
    /// The NUMA nodes that the host memory is spread over; empty where it is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("since" = "1.6"))]
    pub memory_spread: Vec<NodeTurn>,
    /// The device's `id`.
    pub device: String,
}

impl Placement {
    /// The nodes of the host memory as a list; `None` when it was left to the kernel.
    pub fn memory_nodes(&self) -> Option<IdSet> {
        let spread: IdSet = self.memory_spread.iter().map(|turn| turn.node).chain(self.memory_node).collect();
        (!spread.is_empty()).then_some(spread)
    }

    /// How the host memory is spread: `interleave:0-1`, or with each node's pages in a row
    /// `weighted:0x3,1x1`; `None` where it is not.
    pub fn spread_in_words(&self) -> Option<String> {
        let turns = &self.memory_spread;
        if turns.is_empty() {
            return None;
        }

        if turns.iter().all(|turn| turn.pages == 1) {
            let nodes: IdSet = turns.iter().map(|turn| turn.node).collect();
            return Some(format!("interleave:{nodes}"));
        }
        let turns: Vec<String> = turns.iter().map(|turn| format!("{}x{}", turn.node, turn.pages)).collect();
        Some(format!("weighted:{}", turns.join(",")))
    }
}

/// A NUMA node that spread memory is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeTurn {
    /// Its OS index.
    pub node: u32,
    /// The pages in a row that it gives in its turn; 1 without weights.
    pub pages: u32,
}

/// Who chose a rank's PU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum ChosenBy {
    /// The user.
    User,
    /// numabench.
    Automatic {
        /// By which rule, e.g. `first allowed core of its locality`.
        rule: String,
    },
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// How a PU lies to a device, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Locality {
    /// The device is local to the PU's L3.
    L3Local,
    /// The device is local to the PU's NUMA node.
    NumaLocal,
    /// The device is local to another NUMA node of the PU's package.
    SamePackage,
    /// The device is local to another package.
    Remote,
    /// Nobody says where the device is.
    Unknown,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}
