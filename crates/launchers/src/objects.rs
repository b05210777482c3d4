//! The machine's parts in the order in which launchers count them: hwloc's logical order, packages before the
//! NUMA nodes, caches and cores in them.

use std::collections::BTreeMap;

use stats::IdSet;
use topo::Topology;
use topo::model::NodeKind;

/// A kind of part that ranks are mapped by or bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The whole node.
    Machine,
    /// A package (socket).
    Package,
    /// A NUMA node with CPUs.
    Numa,
    /// An L3 cache.
    L3,
    /// A core.
    Core,
    /// A hardware thread.
    Thread,
}

impl Part {
    /// By the names that Open MPI, Hydra and PALS have for it.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "machine" | "board" | "node" => Self::Machine,
            "socket" | "package" | "sockets" | "skt" => Self::Package,
            "numa" | "numanode" | "nm" | "ldom" | "ldoms" => Self::Numa,
            "l3cache" | "l3" | "cache3" => Self::L3,
            "core" | "cores" => Self::Core,
            "hwthread" | "thread" | "threads" | "pu" | "hwt" => Self::Thread,
            _ => return None,
        })
    }
}

/// A machine, with those of its PUs that count.
#[derive(Clone, Debug)]
pub(crate) struct JobMachine<'t> {
    pub topology: &'t Topology,
    pub pus: IdSet,
}

impl<'t> JobMachine<'t> {
    /// With the PUs that a job may use here, whatever this process is bound to.
    pub fn of(topology: &'t Topology) -> Self {
        Self { topology, pus: topology.allowed.cpuset() }
    }

    /// With all PUs that are online: Slurm counts cores that a job may not use too.
    pub fn online(topology: &'t Topology) -> Self {
        Self { topology, pus: topology.online_pus() }
    }

    /// All parts of a kind, each as its PUs.
    pub fn parts(&self, part: Part) -> Vec<IdSet> {
        self.parts_in(part, &self.pus)
    }

    /// All parts of a kind, each as its PUs among these.
    pub fn parts_in(&self, part: Part, pus: &IdSet) -> Vec<IdSet> {
        let topology = self.topology;
        let packages: Vec<&IdSet> = topology.packages.iter().map(|package| &package.pus).collect();
        let nodes: Vec<&IdSet> =
            topology.nodes.iter().filter(|node| node.kind.has_cpus()).map(|node| &node.pus).collect();
        let l3s: Vec<&IdSet> = topology.l3s.iter().map(|l3| &l3.pus).collect();
        let cores: Vec<&IdSet> = topology.cores.iter().map(|core| &core.pus).collect();
        let among = |parts: &[&IdSet]| -> Vec<IdSet> {
            parts.iter().map(|part| part.and(pus)).filter(|part| !part.is_empty()).collect()
        };
        let mut all = match part {
            Part::Machine => among(&[pus]),
            Part::Package => among(&packages),
            Part::Numa => among(&nodes),
            Part::L3 => among(&l3s),
            Part::Core => among(&cores),
            Part::Thread => among(&cores).iter().flat_map(singles).collect(),
        };

        // The smallest PU of what is around a part, looked up by the part's own: machines have hundreds of
        // parts.
        let around = [&packages, &nodes, &l3s, &cores].map(|parts| {
            let named = parts.iter().rev().flat_map(|around| around.iter().map(move |pu| (pu, *around)));
            named.collect::<BTreeMap<u32, &IdSet>>()
        });
        all.sort_by_cached_key(|part| {
            let first = part.first();
            let outer = |around: &BTreeMap<u32, &IdSet>| {
                around.get(&first?).filter(|around| part.is_subset(around)).and_then(|around| around.first())
            };
            (around.each_ref().map(outer), first)
        });
        all.dedup();
        all
    }

    /// Whether a core has more than one hardware thread.
    pub fn has_threads(&self) -> bool {
        self.topology.cores.iter().any(|core| core.pus.and(&self.pus).len() > 1)
    }

    /// Whether a NUMA node is memory alone: launchers that ask hwloc count it too. Nodes of GPU memory hwloc
    /// leaves out by itself.
    pub fn has_nodes_without_cpus(&self) -> bool {
        self.topology.nodes.iter().any(|node| node.kind == NodeKind::MemoryOnly)
    }

    /// All PUs of the parts that these touch.
    pub fn widened(&self, part: Part, pus: &IdSet) -> IdSet {
        IdSet::of_all(self.parts(part).iter().filter(|part| !part.and(pus).is_empty()))
    }

    /// The PUs of a NUMA node by its number.
    pub fn of_node(&self, node: u32) -> Option<IdSet> {
        let node = self.topology.nodes.iter().find(|one| one.os_index == node)?;
        Some(node.pus.and(&self.pus)).filter(|pus| !pus.is_empty())
    }
}

/// Each PU by itself, by number.
pub(crate) fn singles(pus: &IdSet) -> Vec<IdSet> {
    pus.iter().map(|pu| IdSet::from_iter([pu])).collect()
}

/// So many neighbours together.
pub(crate) fn grouped(parts: &[IdSet], each: usize) -> Vec<IdSet> {
    parts.chunks(each).map(IdSet::of_all).collect()
}

/// The parts divided evenly and in order among ranks, where they can be.
pub(crate) fn divided(parts: &[IdSet], ranks: usize) -> Option<Vec<IdSet>> {
    (parts.len() >= ranks && parts.len().is_multiple_of(ranks)).then(|| grouped(parts, parts.len() / ranks))
}
