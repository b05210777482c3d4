//! How close each PU is to each GPU of a node: worked out once, asked by thousands of ranks.

use std::collections::BTreeMap;

use stats::{IdSet, PciAddress};
use topo::Topology;

use super::Observed;
use crate::verdict::Surroundings;
use crate::{Closeness, TargetId};

/// How close each PU of the machine is to each GPU that a rank has: thousands of ranks ask the same.
pub(super) struct ByGpu(BTreeMap<PciAddress, BTreeMap<u32, Closeness>>);

impl ByGpu {
    pub(super) fn of(topology: &Topology, ranks: &[Observed]) -> Self {
        let mut by_gpu = BTreeMap::new();
        for pci in ranks.iter().flat_map(|rank| rank.gpus.iter().flatten()).filter_map(|gpu| gpu.pci) {
            by_gpu.entry(pci).or_insert_with(|| {
                let around = Surroundings::of(topology, TargetId::Gpu(pci));
                let closeness =
                    |pu| around.as_ref().map_or(Closeness::Unknown, |around| around.closeness(pu));
                topology.pus.iter().map(|pu| (pu.os_index, closeness(pu.os_index))).collect()
            });
        }
        Self(by_gpu)
    }

    /// The farthest of these PUs, the last of several, and how close that is.
    pub(super) fn farthest(&self, pci: PciAddress, pus: &IdSet) -> Option<(Closeness, u32)> {
        let of_gpu = self.0.get(&pci)?;
        pus.iter().filter_map(|pu| Some((*of_gpu.get(&pu)?, pu))).max()
    }

    /// The PUs of the machine that are as close as this, or closer.
    pub(super) fn within(&self, pci: PciAddress, farthest: Closeness) -> IdSet {
        let all = self.0.get(&pci).into_iter().flatten();
        all.filter(|(_, closeness)| **closeness <= farthest).map(|(pu, _)| *pu).collect()
    }
}
