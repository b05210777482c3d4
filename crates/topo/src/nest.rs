//! What is in what: packages, NUMA nodes, L3s and cores nested by their PUs, as the tree and the picture show
//! them.
//!
//! An L3 that spans several nodes holds them. Devices, and nodes without CPUs, are hung into the places by
//! who shows them: each view has its own rule for what is near several places or none.

use stats::IdSet;

use crate::model::{Core, Gpu, L3, NumaNode, Package, Topology};
use crate::nics::Nic;

/// What a place is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PlaceKind<'t> {
    Machine,
    Package(&'t Package),
    Node(&'t NumaNode),
    L3(&'t L3),
}

/// A place and what is in it.
#[derive(Debug)]
pub(crate) struct Place<'t> {
    pub(crate) kind: PlaceKind<'t>,
    pub(crate) pus: IdSet,
    pub(crate) cores: Vec<&'t Core>,
    pub(crate) inside: Vec<Place<'t>>,
    pub(crate) gpus: Vec<&'t Gpu>,
    pub(crate) nics: Vec<&'t Nic>,
}

impl<'t> Place<'t> {
    /// The machine, with its places and their cores, the largest first.
    pub(crate) fn nested(topology: &'t Topology) -> Self {
        let packages = topology.packages.iter().map(|package| (PlaceKind::Package(package), &package.pus));
        let nodes = topology
            .nodes
            .iter()
            .filter(|node| !node.own_pus().is_empty())
            .map(|node| (PlaceKind::Node(node), &node.pus));
        let l3s = topology.l3s.iter().map(|l3| (PlaceKind::L3(l3), &l3.pus));
        let mut places: Vec<_> = packages.chain(nodes).chain(l3s).collect();
        // The largest first, so that each finds what it lies in already there; equals stay in the order
        // above, one in the other.
        places.sort_by_key(|(_, pus)| (std::cmp::Reverse(pus.len()), pus.first()));

        let mut machine = Self::new(PlaceKind::Machine, topology.online_pus());
        for (kind, pus) in places {
            // What has no PU that is shown is still there, on its own.
            let around = if pus.is_empty() { &mut machine } else { machine.within(pus) };
            around.inside.push(Self::new(kind, pus.clone()));
        }
        for core in &topology.cores {
            machine.within(&core.pus).cores.push(core);
        }
        machine
    }

    pub(crate) fn new(kind: PlaceKind<'t>, pus: IdSet) -> Self {
        Self { kind, pus, cores: Vec::new(), inside: Vec::new(), gpus: Vec::new(), nics: Vec::new() }
    }

    /// Puts places in the order of their PUs.
    pub(crate) fn sort(&mut self) {
        // Without PUs behind those that have some.
        self.inside.sort_by_key(|place| (place.pus.is_empty(), place.pus.first()));
        self.inside.iter_mut().for_each(Self::sort);
    }

    /// The smallest place that holds these PUs, of which there is at least one.
    fn within(&mut self, pus: &IdSet) -> &mut Self {
        match self.inside.iter().position(|place| pus.is_subset(&place.pus)) {
            Some(at) => self.inside[at].within(pus),
            None => self,
        }
    }

    /// The largest place below the machine that has just these PUs, else the smallest that holds them.
    pub(crate) fn around(&mut self, pus: &IdSet) -> &mut Self {
        if self.pus == *pus && !matches!(self.kind, PlaceKind::Machine) {
            return self;
        }
        match self.inside.iter().position(|place| pus.is_subset(&place.pus)) {
            Some(at) => self.inside[at].around(pus),
            None => self,
        }
    }
}
