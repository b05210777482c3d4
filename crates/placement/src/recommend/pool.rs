//! The cores that ranks can be given: those of the pool, less the reserved ones, each with its usable PUs and
//! where it is.

use stats::IdSet;
use topo::model::Topology;

use super::ask::Ask;

/// A core as ranks can be given it. Named by its place in the pool, because a firmware need not number cores.
#[derive(Clone, Debug)]
pub(super) struct PoolCore {
    /// Its PUs that can be given; at least one.
    pub(super) pus: IdSet,
    /// All its PUs, also those that cannot be given.
    pub(super) whole: IdSet,
    /// The NUMA node it is on, where it is on one.
    pub(super) node: Option<u32>,
    /// The smallest PU of its L3, where it has one: enough to tell L3s apart.
    pub(super) l3: Option<u32>,
}

/// The cores that can be given, by smallest PU; those of small cores after the others.
pub(super) struct Pool<'t> {
    pub(super) topology: &'t Topology,
    pub(super) cores: Vec<PoolCore>,
    /// PUs that were asked for and that the machine does not have or that are offline.
    pub(super) missing: IdSet,
    /// PUs of the cores that the site keeps from jobs.
    pub(super) kept_by_site: IdSet,
    /// PUs of the cores that no rank gets because that was asked.
    pub(super) kept_as_asked: IdSet,
    /// PUs of the small cores of a hybrid CPU that no rank gets, since there are enough others.
    pub(super) left_slow: IdSet,
}

impl<'t> Pool<'t> {
    pub(super) fn of(topology: &'t Topology, ask: &Ask) -> Self {
        let asked = ask.pus.as_ref().unwrap_or(&topology.allowed.pus);
        let online: IdSet = topology.pus.iter().map(|pu| pu.os_index).collect();
        let online = online.minus(&topology.allowed.offline_pus);

        // A core belongs to all of its hardware threads: what one of them does, the others feel.
        let cores = topology.cores.iter().filter(|core| !core.pus.and(&ask.reserve).is_empty());
        let kept_as_asked = cores.fold(ask.reserve.clone(), |kept, core| kept.or(&core.pus));
        let kept_by_site = IdSet::of_all(topology.reserved_cores().iter().map(|core| &core.pus));
        let usable = asked.and(&online).minus(&kept_as_asked);
        let (cores, left_slow) = fast_first(topology, usable_cores(topology, &usable), ask);

        Self {
            topology,
            cores,
            left_slow,
            missing: asked.minus(&online),
            kept_by_site: kept_by_site.minus(&usable),
            kept_as_asked,
        }
    }

    /// The NUMA nodes that have a core to give, by OS index; one `None` for cores that are on no node.
    pub(super) fn nodes(&self) -> Vec<Option<u32>> {
        let mut nodes: Vec<Option<u32>> = self.cores.iter().map(|core| core.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The cores of a node.
    pub(super) fn on(&self, node: Option<u32>) -> Vec<usize> {
        (0..self.cores.len()).filter(|core| self.cores[*core].node == node).collect()
    }

    /// The cores that have one of these PUs.
    pub(super) fn with(&self, pus: &IdSet) -> Vec<usize> {
        (0..self.cores.len()).filter(|core| self.core(*core).iter().any(|pu| pus.contains(pu))).collect()
    }

    /// All PUs of a core, also those that cannot be given.
    pub(super) fn core(&self, core: usize) -> &IdSet {
        &self.cores[core].whole
    }

    /// The place of a core's package in the topology, where it is on one.
    pub(super) fn package(&self, core: usize) -> Option<usize> {
        self.topology.packages.iter().position(|package| package.pus.contains(self.first(core)))
    }

    /// The first PU of a core.
    pub(super) fn first(&self, core: usize) -> u32 {
        self.cores[core].pus.first().unwrap_or_default()
    }
}

/// The cores without the small ones of a hybrid CPU, and the PUs of these, as long as the others are enough
/// for what is asked and are on the same nodes; else all, the small ones last. A rank with cores of both
/// kinds waits for the small ones at each barrier.
fn fast_first(topology: &Topology, cores: Vec<PoolCore>, ask: &Ask) -> (Vec<PoolCore>, IdSet) {
    let is_slow = |core: &PoolCore| core.pus.iter().any(|pu| topology.is_slow(pu));
    let (slow, fast): (Vec<PoolCore>, Vec<PoolCore>) = cores.into_iter().partition(is_slow);
    let ranks = ask.ranks.unwrap_or(topology.gpus.len()).max(1);
    let is_enough = fast.len() >= ranks.saturating_mul(ask.cores_per_rank.unwrap_or(1));
    let has_others = |core: &PoolCore| fast.iter().any(|other| other.node == core.node);
    if is_enough && slow.iter().all(has_others) {
        return (fast, IdSet::of_all(slow.into_iter().map(|core| core.pus)));
    }
    (fast.into_iter().chain(slow).collect(), IdSet::default())
}

/// The usable PUs core by core; a PU of which the firmware names no core is one of its own.
fn usable_cores(topology: &Topology, usable: &IdSet) -> Vec<PoolCore> {
    let in_cores: Vec<IdSet> =
        topology.cores.iter().map(|core| core.pus.and(usable)).filter(|pus| !pus.is_empty()).collect();
    let alone = usable.minus(&IdSet::of_all(&in_cores));
    let mut all: Vec<IdSet> =
        in_cores.into_iter().chain(alone.iter().map(|pu| IdSet::from_iter([pu]))).collect();
    all.sort_by_key(IdSet::first);
    all.into_iter()
        .map(|pus| {
            let first = pus.first().unwrap_or_default();
            let node = topology.pu(first).and_then(|pu| pu.nodes.first().copied());
            let whole = topology.core_of(first).map_or_else(|| pus.clone(), |core| core.pus.clone());
            PoolCore { node, l3: topology.l3_of(first).and_then(|l3| l3.pus.first()), whole, pus }
        })
        .collect()
}
