//! Questions a consumer asks a topology: by OS id, by address, by what is near.

use stats::{IdSet, PciAddress};

use crate::gpu_class::AMD;
use crate::model::{
    Core, Gpu, L3, Locality, NodeKind, NumaNode, Package, Pu, PuStatus, Rung, Topology, TopologySource,
};

impl Locality {
    /// Its local PUs, those too that the cpuset has not got.
    pub fn all_pus(&self) -> IdSet {
        self.pus.or(&self.outside_pus)
    }

    /// The same, with what of it the cgroup's cpuset has not got told apart, and the only L3 of its PUs.
    pub(crate) fn cut_to_cpuset(self, machine: &Topology) -> Self {
        // No cpuset lists a node without memory: that it is missing there says nothing.
        let has_memory = |node: &u32| machine.node(*node).is_none_or(|node| node.total_bytes > 0);
        let missing = self.nodes.and(&machine.allowed.missing_nodes);
        let outside_nodes: IdSet = missing.iter().filter(has_memory).collect();
        let outside_pus = self.pus.and(&machine.allowed.not_in_cgroup_pus);
        Self {
            l3_pus: machine.only_l3(&self.pus).map(|l3| l3.pus.clone()),
            pus: self.pus.minus(&outside_pus),
            nodes: self.nodes.minus(&outside_nodes),
            outside_pus,
            outside_nodes,
            ..self
        }
    }

    /// Its local NUMA nodes, those too that the cpuset has not got.
    pub fn all_nodes(&self) -> IdSet {
        self.nodes.or(&self.outside_nodes)
    }
}

impl NumaNode {
    /// The PUs in the node; the model gives a node without CPUs those around it.
    pub(crate) fn own_pus(&self) -> IdSet {
        if self.kind.has_cpus() { self.pus.clone() } else { IdSet::default() }
    }
}

impl Topology {
    /// The machine's name as documents and messages have it, also where it has none.
    pub fn host(&self) -> String {
        self.hostname.clone().unwrap_or_else(|| "a host without a name".to_owned())
    }

    /// The PUs of its cores; all that are not offline where its cores are not known.
    pub fn online_pus(&self) -> IdSet {
        if self.cores.is_empty() {
            let all: IdSet = self.pus.iter().map(|pu| pu.os_index).collect();
            return all.minus(&self.allowed.offline_pus);
        }
        self.cores.iter().flat_map(|core| core.pus.iter()).collect()
    }

    /// PUs that a file does not show, by gaps in their numbers: they were offline when it was written, or its
    /// writer was in a job and left out what the job had not got. None on this machine, which shows all.
    pub fn not_shown_pus(&self) -> IdSet {
        let shown = self.online_pus();
        let numbers = shown.iter().max().map_or(0..0, |last| 0..last + 1);
        match self.source {
            TopologySource::ThisSystem => IdSet::default(),
            TopologySource::XmlFile { .. } | TopologySource::Texts { .. } => {
                numbers.collect::<IdSet>().or(&self.allowed.offline_pus).minus(&shown)
            }
        }
    }

    /// The PUs that a file leaves out, in words; `None` where it shows all, as far as it tells. Where the
    /// highest are missing no gap tells it, but a package without PUs does, or a node without any around it.
    pub fn left_out_pus(&self) -> Option<String> {
        let gaps = self.not_shown_pus();
        if !gaps.is_empty() {
            return Some(format!("PUs {gaps}"));
        }
        let lacks_some = self.packages.iter().any(|package| package.pus.is_empty())
            || self.nodes.iter().any(|node| node.cpus_not_shown);
        let last = self.online_pus().iter().max().filter(|_| self.source != TopologySource::ThisSystem)?;
        lacks_some.then(|| format!("PUs above {last}"))
    }

    /// Whether a node that shows no CPUs may have some that the file leaves out.
    pub fn hides_cpus_of(&self, node: &NumaNode) -> bool {
        node.kind == NodeKind::MemoryOnly && (node.cpus_not_shown || !self.not_shown_pus().is_empty())
    }

    /// The PU with this OS index, also one that is offline or not allowed.
    pub fn pu(&self, os_index: u32) -> Option<&Pu> {
        self.pus.iter().find(|pu| pu.os_index == os_index)
    }

    /// The NUMA node with this OS index.
    pub fn node(&self, os_index: u32) -> Option<&NumaNode> {
        self.nodes.iter().find(|node| node.os_index == os_index)
    }

    /// How much memory the node has, bytes; `None` where there is no such node, and where neither hwloc nor
    /// the kernel says (a container without /sys).
    pub fn memory_bytes(&self, node: u32) -> Option<u64> {
        let node = self.node(node)?;
        (node.total_bytes > 0 || node.kind != NodeKind::Normal).then_some(node.total_bytes)
    }

    /// The memory that this process may have on the node at most, bytes: the node's, or less where a limit of
    /// the process is smaller. It depends on
    /// what the machine and the job are, and not on what is free.
    pub fn usable_bytes(&self, node: u32) -> Option<u64> {
        let limit = self.allowed.memory_limit().map(|limit| limit.bytes);
        [self.memory_bytes(node), limit].into_iter().flatten().min()
    }

    /// The core that the PU belongs to; `None` for a PU that is offline or does not exist.
    pub fn core_of(&self, pu: u32) -> Option<&Core> {
        self.cores.iter().find(|core| core.pus.contains(pu))
    }

    /// The L3 that the PU shares; `None` also where the machine has none.
    pub fn l3_of(&self, pu: u32) -> Option<&L3> {
        self.l3s.iter().find(|l3| l3.pus.contains(pu))
    }

    /// The L3 of these PUs, where they share one and no other.
    pub(crate) fn only_l3(&self, pus: &IdSet) -> Option<&L3> {
        let mut l3s = self.l3s.iter().filter(|l3| !l3.pus.and(pus).is_empty());
        l3s.next().filter(|_| l3s.next().is_none())
    }

    /// The package that the PU is on.
    pub fn package_of(&self, pu: u32) -> Option<&Package> {
        self.packages.iter().find(|package| package.pus.contains(pu))
    }

    /// The GPU at a PCI address. An AMD GPU's partitions have its address with functions of their own, which
    /// the bus does not show.
    pub fn gpu_at(&self, pci: PciAddress) -> Option<&Gpu> {
        let whole =
            || self.gpu_exactly_at(PciAddress { function: 0, ..pci }).filter(|gpu| gpu.vendor_id == AMD);
        self.gpu_exactly_at(pci).or_else(whole)
    }

    /// The GPU at a PCI address and no other.
    pub(crate) fn gpu_exactly_at(&self, pci: PciAddress) -> Option<&Gpu> {
        self.gpus.iter().find(|gpu| gpu.pci == pci)
    }

    /// The GPU with this UUID, in any case; `None` also where no driver's files gave UUIDs.
    pub fn gpu_with_uuid(&self, uuid: &str) -> Option<&Gpu> {
        self.gpus.iter().find(|gpu| gpu.uuid.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(uuid)))
    }

    /// The GPU whose memory is this node; `None` where several GPUs are as near to it, or where it is no
    /// GPU's.
    pub fn gpu_of_memory(&self, node: u32) -> Option<&Gpu> {
        self.node(node).filter(|node| node.kind == NodeKind::GpuMemory)?;
        let mut near = self.gpus.iter().filter(|gpu| gpu.locality.nodes.contains(node));
        near.next().filter(|_| near.next().is_none())
    }

    /// Whether there is one node to be near to: one package at most, and one NUMA node besides those of GPUs'
    /// memory.
    pub fn machine_has_one_node(&self) -> bool {
        let nodes =
            self.nodes.iter().filter(|node| !matches!(node.kind, NodeKind::GpuMemory | NodeKind::Empty));
        nodes.count() == 1 && self.packages.len() <= 1
    }

    /// The NUMA nodes that are places of their own to be near to: those with CPUs. Memory without CPUs (HBM,
    /// CXL) that lies around the CPUs of others is no other place, but a node none of whose CPUs this view
    /// shows is one.
    pub fn places(&self) -> impl Iterator<Item = &NumaNode> {
        let apart = |node: &&NumaNode| match node.kind {
            NodeKind::Normal | NodeKind::CpuOnly => true,
            NodeKind::MemoryOnly => node.pus.is_empty(),
            NodeKind::GpuMemory | NodeKind::Empty => false,
        };
        self.nodes.iter().filter(apart)
    }

    /// The cores local to the GPU of which this process may use a PU, by smallest PU; a core with one sibling
    /// allowed counts. Empty where the locality is unknown, or where nothing local is allowed.
    pub fn local_cores(&self, gpu: &Gpu) -> Vec<&Core> {
        let usable = gpu.locality.pus.and(&self.allowed.pus);
        self.cores.iter().filter(|core| !core.pus.and(&usable).is_empty()).collect()
    }

    /// The first allowed PU of the GPU's first local core: where its rank goes when nobody says otherwise.
    pub fn first_local_pu(&self, gpu: &Gpu) -> Option<u32> {
        let cores = self.local_cores(gpu);
        let core = cores.iter().find(|core| !core.pus.iter().any(|pu| self.is_slow(pu))).or(cores.first())?;
        core.pus.and(&self.allowed.pus).first()
    }

    /// Whether this is a PU of a small core, of a machine that has larger ones.
    pub fn is_slow(&self, pu: u32) -> bool {
        self.slow.as_ref().is_some_and(|slow| slow.pus.contains(pu))
    }

    /// The GPU's local nodes that host memory belongs on: with memory, and not a GPU's.
    pub fn host_nodes(&self, gpu: &Gpu) -> IdSet {
        let local = self.nodes.iter().filter(|node| gpu.locality.nodes.contains(node.os_index));
        local.filter(|node| node.kind.has_host_memory()).map(|node| node.os_index).collect()
    }

    /// Cores that a site keeps from jobs: every L3 has the same number of cores without one allowed PU,
    /// beside others that can be used. Empty for anything less regular, which is a job's share rather than a
    /// rule of the machine.
    pub fn reserved_cores(&self) -> Vec<&Core> {
        let in_l3 = |l3: &L3| -> (Vec<&Core>, usize) {
            let cores: Vec<&Core> = self.cores.iter().filter(|core| core.pus.is_subset(&l3.pus)).collect();
            let all = cores.len();
            (cores.into_iter().filter(|core| core.pus.and(&self.allowed.pus).is_empty()).collect(), all)
        };
        let per_l3: Vec<(Vec<&Core>, usize)> = self.l3s.iter().map(in_l3).collect();
        let missing = per_l3.first().map_or(0, |(cores, _)| cores.len());
        let regular = per_l3.len() > 1
            && missing > 0
            && per_l3.iter().all(|(cores, all)| cores.len() == missing && missing < *all);
        if regular { per_l3.into_iter().flat_map(|(cores, _)| cores).collect() } else { Vec::new() }
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

    /// What is local to a GPU if its driver says that `node` is its host node: the ladder's third rung, for a
    /// caller that has opened the driver. `None` where PCI or the board already told, or where there is no
    /// such node.
    pub fn locality_by_driver(&self, gpu: &Gpu, node: u32, driver: &str) -> Option<Locality> {
        let node = self.node(node).filter(|_| gpu.locality.rung == Rung::Unknown)?;
        Some(Locality {
            rung: Rung::Driver,
            reason: format!("{driver} says host node {} ({})", node.os_index, gpu.locality.reason),
            attached_to: gpu.locality.attached_to.clone(),
            pus: node.pus.minus(&self.allowed.not_in_cgroup_pus),
            nodes: [node.os_index].into_iter().collect(),
            outside_pus: node.pus.and(&self.allowed.not_in_cgroup_pus),
            outside_nodes: IdSet::default(),
            l3_pus: self.only_l3(&node.pus).map(|l3| l3.pus.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::model;
    use crate::load;
    use crate::model::TopologySource;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// Two packages with a node each, of two L3s of four cores of two PUs; a core has PUs 2n and 2n+1.
    fn machine() -> Result<Topology, Box<dyn std::error::Error>> {
        let hwloc = load::synthetic("pack:2 [numa] l3:2 core:4 pu:2")?;
        Ok(model(&hwloc, TopologySource::ThisSystem, String::new(), None))
    }

    #[test]
    fn places_are_found_by_pu() -> Outcome {
        let machine = machine()?;
        assert_eq!(machine.core_of(9).map(|core| core.pus.to_string()), Some("8-9".to_owned()));
        assert_eq!(machine.l3_of(9).map(|l3| l3.pus.to_string()), Some("8-15".to_owned()));
        assert_eq!(machine.package_of(17).and_then(|package| package.os_index), Some(1));
        assert_eq!(machine.pu(17).map(|pu| pu.nodes.clone()), Some(vec![1]));
        assert_eq!(machine.pu(32), None);
        assert!(machine.node(1).is_some() && machine.node(2).is_none());
        assert!(!machine.machine_has_one_node());
        Ok(())
    }

    #[test]
    fn a_restriction_takes_pus_away_and_says_that_affinity_did() -> Outcome {
        let restricted = machine()?.restricted_to(&"0,2-5,99".parse()?);
        assert_eq!(restricted.allowed.pus.to_string(), "0,2-5");
        assert_eq!(restricted.pu(1).map(|pu| pu.status), Some(PuStatus::NotInAffinity));
        assert_eq!(restricted.allowed.not_in_affinity_pus.len(), 27);
        Ok(())
    }

    #[test]
    fn cores_missing_alike_from_every_l3_are_reserved_and_a_jobs_share_is_not() -> Outcome {
        let machine = machine()?;
        let reserved = |topology: &Topology| -> Vec<Option<u32>> {
            topology.reserved_cores().iter().map(|core| core.pus.first()).collect()
        };
        let low_noise = machine.restricted_to(&machine.allowed.pus.minus(&"0-1,8-9,16-17,24-25".parse()?));
        assert_eq!(reserved(&low_noise), [Some(0), Some(8), Some(16), Some(24)]);
        assert!(reserved(&machine.restricted_to(&"0-11".parse()?)).is_empty());
        assert!(reserved(&machine).is_empty());
        Ok(())
    }

    #[test]
    fn a_core_with_one_sibling_allowed_still_counts() -> Outcome {
        let mut machine = machine()?.restricted_to(&"1,2-3".parse()?);
        machine.gpus.push(Gpu {
            index: 0,
            pci: "03:00.0".parse()?,
            vendor_id: 0x10de,
            device_id: 0x2330,
            class_id: 0x0302,
            name: crate::model::GpuName { value: None, source: "none".to_owned() },
            uuid: Some("GPU-aBc".to_owned()),
            os_devices: Vec::new(),
            locality: Locality {
                rung: Rung::Unknown,
                reason: "numa_node -1".to_owned(),
                attached_to: "Machine".to_owned(),
                pus: IdSet::default(),
                nodes: IdSet::default(),
                outside_pus: IdSet::default(),
                outside_nodes: IdSet::default(),
                l3_pus: None,
            },
            link: None,
            partition: None,
        });

        let gpu = machine.gpu_with_uuid("gpu-abc").ok_or("no GPU by UUID")?.clone();
        assert_eq!(machine.gpu_at("0000:03:00.0".parse()?), Some(&gpu));
        let partition = "0000:03:00.2".parse()?;
        assert_eq!(machine.gpu_at(partition), None);
        machine.gpus[0].vendor_id = AMD;
        assert_eq!(machine.gpu_at(partition), Some(&machine.gpus[0]), "a partition is where its GPU is");
        assert_eq!(machine.first_local_pu(&gpu), None, "unknown is not node 0");
        let told = machine.locality_by_driver(&gpu, 0, "NVML").ok_or("the driver's word was not taken")?;
        assert_eq!(told.rung, Rung::Driver);
        let gpu = Gpu { locality: told, ..gpu };
        assert_eq!(machine.local_cores(&gpu).len(), 2);
        assert_eq!(machine.first_local_pu(&gpu), Some(1));
        assert!(machine.locality_by_driver(&gpu, 1, "NVML").is_none(), "already known");
        Ok(())
    }
}
