//! A process that ranks run in: what it may use, what it sees, and what messages call it.
//!
//! Its own word for that, not the topology's: the processes of a node may each have a cpuset, an affinity and
//! devices of their own, and each reads a topology that tells of itself.

use serde::{Deserialize, Serialize};
use stats::IdSet;
use topo::model::{Allowed, PuStatus, Topology};

use crate::Target;

/// A launched process of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// What messages call it: `rank 5`.
    pub name: String,
    /// What it may use, as it found it itself (`Topology::allowed` in that process).
    pub allowed: Allowed,
    /// The devices it sees. How it numbers them does not matter.
    pub visible: Vec<Target>,
}

impl Member {
    /// What a refusal says of the process.
    pub(crate) fn owner(&self) -> Owner<'_> {
        Owner { name: &self.name, allowed: &self.allowed }
    }

    /// Whether it sees the device.
    pub(crate) fn sees(&self, device: &Target) -> bool {
        self.visible.iter().any(|seen| seen.is_same_as(device))
    }
}

/// Whose rank is planned, and what that process may use.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'m> {
    pub(crate) name: &'m str,
    pub(crate) allowed: &'m Allowed,
}

impl<'m> Owner<'m> {
    /// The process that read the topology.
    pub(crate) fn this_process(topology: &'m Topology) -> Self {
        Self { name: "this process", allowed: &topology.allowed }
    }

    /// Whether the process may use the PU, and why not; `None` where the machine has none of that number.
    pub(crate) fn status(&self, topology: &Topology, pu: u32) -> Option<PuStatus> {
        let has = |set: &IdSet| set.contains(pu);
        let Allowed { pus, offline_pus, not_in_affinity_pus, .. } = self.allowed;
        match topology.pu(pu) {
            _ if has(pus) => Some(PuStatus::Allowed),
            Some(_) if has(offline_pus) => Some(PuStatus::Offline),
            Some(_) if has(not_in_affinity_pus) => Some(PuStatus::NotInAffinity),
            Some(_) => Some(PuStatus::NotInCgroup),
            None => None,
        }
    }
}
