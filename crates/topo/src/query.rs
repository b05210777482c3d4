//! Questions a consumer asks a topology: by OS id, by address, by what is near.

use stats::{IdSet, PciAddress};

use crate::model::{Core, Gpu, L3, Locality, NodeKind, NumaNode, Package, Pu, PuStatus, Rung, Topology};

impl Topology {
    /// The PU with this OS index, also one that is offline or not allowed.
    pub fn pu(&self, os_index: u32) -> Option<&Pu> {
        self.pus.iter().find(|pu| pu.os_index == os_index)
    }

    /// The NUMA node with this OS index.
    pub fn node(&self, os_index: u32) -> Option<&NumaNode> {
        self.nodes.iter().find(|node| node.os_index == os_index)
    }

    /// The core that the PU belongs to; `None` for a PU that is offline or does not exist.
    pub fn core_of(&self, pu: u32) -> Option<&Core> {
        self.cores.iter().find(|core| core.pus.contains(pu))
    }

    /// The L3 that the PU shares; `None` also where the machine has none.
    pub fn l3_of(&self, pu: u32) -> Option<&L3> {
        self.l3s.iter().find(|l3| l3.pus.contains(pu))
    }

    /// The package that the PU is on.
    pub fn package_of(&self, pu: u32) -> Option<&Package> {
        self.packages.iter().find(|package| package.pus.contains(pu))
    }

    /// The GPU at a PCI address.
    pub fn gpu_at(&self, pci: PciAddress) -> Option<&Gpu> {
        self.gpus.iter().find(|gpu| gpu.pci == pci)
    }

    /// The GPU with this UUID, in any case; `None` also where no driver's files gave UUIDs.
    pub fn gpu_with_uuid(&self, uuid: &str) -> Option<&Gpu> {
        self.gpus.iter().find(|gpu| gpu.uuid.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(uuid)))
    }

    /// Whether there is one node to be near to: one package at most, and one NUMA node besides those of GPUs' memory.
    pub fn machine_has_one_node(&self) -> bool {
        let nodes = self.nodes.iter().filter(|node| !matches!(node.kind, NodeKind::GpuMemory | NodeKind::Empty));
        nodes.count() == 1 && self.packages.len() <= 1
    }

    /// The cores local to the GPU of which this process may use a PU, by smallest PU; a core with one sibling allowed
    /// counts. Empty where the locality is unknown, or where nothing local is allowed.
    pub fn local_cores(&self, gpu: &Gpu) -> Vec<&Core> {
        let usable = gpu.locality.pus.and(&self.allowed.pus);
        self.cores.iter().filter(|core| !core.pus.and(&usable).is_empty()).collect()
    }

    /// The first allowed PU of the GPU's first local core: where its rank goes when nobody says otherwise.
    pub fn first_local_pu(&self, gpu: &Gpu) -> Option<u32> {
        let core = self.local_cores(gpu).into_iter().next()?;
        core.pus.and(&self.allowed.pus).first()
    }

    /// The GPU's local nodes that host memory belongs on: with memory, and not a GPU's.
    pub fn host_nodes(&self, gpu: &Gpu) -> IdSet {
        let host = |node: &NumaNode| matches!(node.kind, NodeKind::Normal | NodeKind::MemoryOnly);
        let local = self.nodes.iter().filter(|node| gpu.locality.nodes.contains(node.os_index));
        local.filter(|node| host(node)).map(|node| node.os_index).collect()
    }

    /// PUs that no allowed core has: cores of which not one PU is allowed, as where a site reserves cores for the system.
    pub fn unusable_cores(&self) -> Vec<&Core> {
        self.cores.iter().filter(|core| core.pus.and(&self.allowed.pus).is_empty()).collect()
    }

    /// This machine as a process with the affinity `pus` would find it.
    #[must_use]
    pub fn restricted_to(&self, pus: &IdSet) -> Self {
        let mut restricted = self.clone();
        let allowed = self.allowed.pus.and(pus);
        let lost = self.allowed.pus.minus(&allowed);
        for pu in restricted.pus.iter_mut().filter(|pu| lost.contains(pu.os_index)) {
            pu.status = PuStatus::NotInAffinity;
        }
        restricted.allowed.not_in_affinity_pus = self.allowed.not_in_affinity_pus.or(&lost);
        restricted.allowed.pus = allowed;
        restricted
    }

    /// What is local to a GPU if its driver says that `node` is its host node: the ladder's third rung, for a caller that has
    /// opened the driver. `None` where PCI or the board already told, or where there is no such node.
    pub fn locality_by_driver(&self, gpu: &Gpu, node: u32, driver: &str) -> Option<Locality> {
        let node = self.node(node).filter(|_| gpu.locality.rung == Rung::Unknown)?;
        let mut l3s = self.l3s.iter().filter(|l3| !l3.pus.and(&node.pus).is_empty());
        let only_l3 = l3s.next().filter(|_| l3s.next().is_none());
        Some(Locality {
            rung: Rung::Driver,
            reason: format!("{driver} says host node {} ({})", node.os_index, gpu.locality.reason),
            attached_to: gpu.locality.attached_to.clone(),
            pus: node.pus.minus(&self.allowed.not_in_cgroup_pus),
            nodes: [node.os_index].into_iter().collect(),
            outside_pus: node.pus.and(&self.allowed.not_in_cgroup_pus),
            outside_nodes: IdSet::default(),
            l3_pus: only_l3.map(|l3| l3.pus.clone()),
        })
    }
}
