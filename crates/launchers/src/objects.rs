//! The machine's parts in the order in which launchers count them: hwloc's logical order, packages before the NUMA nodes, caches and cores in them.

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

    /// All parts of this kind, each as its PUs among these.
    pub fn all(self, topology: &Topology, pus: &IdSet) -> Vec<IdSet> {
        let home = |kind| matches!(kind, NodeKind::Normal | NodeKind::CpuOnly);
        let packages = || topology.packages.iter().map(|package| &package.pus);
        let nodes = || topology.nodes.iter().filter(|node| home(node.kind)).map(|node| &node.pus);
        let l3s = || topology.l3s.iter().map(|l3| &l3.pus);
        let all: Vec<IdSet> = match self {
            Self::Machine => vec![pus.clone()],
            Self::Package => packages().cloned().collect(),
            Self::Numa => nodes().cloned().collect(),
            Self::L3 => l3s().cloned().collect(),
            Self::Core => topology.cores.iter().map(|core| core.pus.clone()).collect(),
            Self::Thread => {
                let threads = topology.cores.iter().flat_map(|core| core.pus.iter());
                threads.map(|pu| [pu].into_iter().collect()).collect()
            }
        };
        let first = |part: &IdSet, mut around: Box<dyn Iterator<Item = &IdSet> + '_>| {
            let inside = |other: &&IdSet| part.is_subset(other);
            around.find(inside).and_then(IdSet::first)
        };
        let core = |part: &IdSet| first(part, Box::new(topology.cores.iter().map(|core| &core.pus)));
        let mut all: Vec<IdSet> = all.into_iter().map(|part| part.and(pus)).filter(|part| !part.is_empty()).collect();
        all.sort_by_cached_key(|part| {
            let (package, node) = (first(part, Box::new(packages())), first(part, Box::new(nodes())));
            (package, node, first(part, Box::new(l3s())), core(part), part.first())
        });
        all.dedup();
        all
    }
}

/// All PUs that are online: Slurm counts cores that a job may not use too.
pub(crate) fn online(topology: &Topology) -> IdSet {
    IdSet::of_all(topology.cores.iter().map(|core| &core.pus))
}

/// Whether a core has more than one hardware thread among these PUs.
pub(crate) fn has_threads(topology: &Topology, pus: &IdSet) -> bool {
    topology.cores.iter().any(|core| core.pus.and(pus).len() > 1)
}

/// All PUs, among these, of the parts that these touch.
pub(crate) fn widened(part: Part, topology: &Topology, pool: &IdSet, pus: &IdSet) -> IdSet {
    IdSet::of_all(part.all(topology, pool).iter().filter(|part| !part.and(pus).is_empty()))
}

/// The PUs of a NUMA node by its number.
pub(crate) fn of_node(topology: &Topology, pool: &IdSet, node: u32) -> Option<IdSet> {
    let node = topology.nodes.iter().find(|one| one.os_index == node)?;
    Some(node.pus.and(pool)).filter(|pus| !pus.is_empty())
}
