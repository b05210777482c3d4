//! What is in what: packages, NUMA nodes, L3s and cores nested by their PUs, and each device in the place that it is local to.
//!
//! As in the tree view, places nest by their PUs (an L3 that spans several nodes holds them), and a device hangs from the
//! largest place below the machine whose PUs are just its local ones, else from the smallest that holds them. Nodes without CPUs are
//! places too: a device that is near such a node only is in it. What cannot be placed is set apart with the reason.

use stats::IdSet;

use crate::model::{Core, Gpu, L3, Locality, NodeKind, NumaNode, Package, Rung, Topology};
use crate::nics::Nic;
use crate::survey::Survey;

/// What a place is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind<'t> {
    Machine,
    Package(&'t Package),
    Node(&'t NumaNode),
    L3(&'t L3),
}

/// A place and what is in it.
#[derive(Debug)]
pub(super) struct Place<'t> {
    pub(super) kind: Kind<'t>,
    pub(super) pus: IdSet,
    pub(super) cores: Vec<&'t Core>,
    pub(super) inside: Vec<Place<'t>>,
    pub(super) gpus: Vec<&'t Gpu>,
    pub(super) nics: Vec<&'t Nic>,
}

/// The machine as nested places, and what is in none of them.
#[derive(Debug)]
pub(super) struct Nest<'t> {
    pub(super) machine: Place<'t>,
    /// Devices that nobody says the place of.
    pub(super) unknown_gpus: Vec<&'t Gpu>,
    pub(super) unknown_nics: Vec<&'t Nic>,
    /// PUs that are in no core: offline, or left out of a file.
    pub(super) missing_pus: IdSet,
    /// Nodes without memory and CPUs.
    pub(super) empty_nodes: IdSet,
}

/// Nests a machine.
pub(super) fn nest(survey: &Survey) -> Nest<'_> {
    let topology = &survey.topology;
    let mut machine = cpus(topology);
    for node in topology.nodes.iter().filter(|node| !is_around_pus(node) && node.kind != NodeKind::Empty) {
        let place = Place::new(Kind::Node(node), IdSet::default());
        machine.of_node(topology, node).inside.push(place);
    }
    let (mut unknown_gpus, mut unknown_nics) = (Vec::new(), Vec::new());
    for gpu in &topology.gpus {
        match gpu.locality.rung {
            Rung::Unknown => unknown_gpus.push(gpu),
            _ => machine.of_device(&gpu.locality).gpus.push(gpu),
        }
    }
    for nic in &survey.nics {
        match nic.locality.rung {
            Rung::Unknown => unknown_nics.push(nic),
            _ => machine.of_device(&nic.locality).nics.push(nic),
        }
    }
    let all: IdSet = topology.pus.iter().map(|pu| pu.os_index).collect();
    let empty = topology.nodes.iter().filter(|node| node.kind == NodeKind::Empty);
    Nest {
        missing_pus: all.minus(&machine.pus),
        empty_nodes: empty.map(|node| node.os_index).collect(),
        machine,
        unknown_gpus,
        unknown_nics,
    }
}

/// The places that have PUs, with their cores.
fn cpus(topology: &Topology) -> Place<'_> {
    let packages = topology.packages.iter().map(|package| (Kind::Package(package), &package.pus));
    let nodes = topology.nodes.iter().filter(|node| is_around_pus(node)).map(|node| (Kind::Node(node), &node.pus));
    let l3s = topology.l3s.iter().map(|l3| (Kind::L3(l3), &l3.pus));
    let mut places: Vec<_> = packages.chain(nodes).chain(l3s).collect();
    // The largest first, so that each finds what it lies in already there; equals stay in the order above, one in the other.
    places.sort_by_key(|(_, pus)| (std::cmp::Reverse(pus.len()), pus.first()));

    let online: IdSet = topology.cores.iter().flat_map(|core| core.pus.iter()).collect();
    let mut machine = Place::new(Kind::Machine, online);
    for (kind, pus) in places {
        // What has no PU that is shown is still there, on its own.
        let around = if pus.is_empty() { &mut machine } else { machine.within(pus) };
        around.inside.push(Place::new(kind, pus.clone()));
    }
    for core in &topology.cores {
        machine.within(&core.pus).cores.push(core);
    }
    machine.sort();
    machine
}

fn is_around_pus(node: &NumaNode) -> bool {
    matches!(node.kind, NodeKind::Normal | NodeKind::CpuOnly) && !node.pus.is_empty()
}

impl<'t> Place<'t> {
    fn new(kind: Kind<'t>, pus: IdSet) -> Self {
        Self { kind, pus, cores: Vec::new(), inside: Vec::new(), gpus: Vec::new(), nics: Vec::new() }
    }

    fn sort(&mut self) {
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
    fn around(&mut self, pus: &IdSet) -> &mut Self {
        if self.pus == *pus && !matches!(self.kind, Kind::Machine) {
            return self;
        }
        match self.inside.iter().position(|place| pus.is_subset(&place.pus)) {
            Some(at) => self.inside[at].around(pus),
            None => self,
        }
    }

    /// Where a node without CPUs belongs: in its package, else around the PUs it is attached to. hwloc attaches what it cannot
    /// place to the whole machine, which is near nothing.
    fn of_node(&mut self, topology: &Topology, node: &NumaNode) -> &mut Self {
        let mut packages = topology.packages.iter().filter(|package| package.nodes.contains(node.os_index));
        if let (Some(package), None) = (packages.next(), packages.next()) {
            let same = |place: &Place<'_>| matches!(place.kind, Kind::Package(other) if std::ptr::eq(other, package));
            if let Some(at) = self.inside.iter().position(same) {
                let tighter = !node.pus.is_empty() && node.pus != package.pus;
                let package = &mut self.inside[at];
                return if tighter { package.around(&node.pus) } else { package };
            }
        }
        if node.pus.is_empty() || (node.pus == self.pus && !topology.machine_has_one_node()) {
            return self;
        }
        self.around(&node.pus)
    }

    /// Where a device belongs whose locality is known.
    fn of_device(&mut self, locality: &Locality) -> &mut Self {
        let local = locality.pus.or(&locality.outside_pus);
        if !local.is_empty() {
            return self.around(&local);
        }
        let nodes = locality.nodes.or(&locality.outside_nodes);
        match self.path_to_node(&nodes) {
            Some(path) => path.into_iter().fold(self, |place, at| &mut place.inside[at]),
            None => self,
        }
    }

    /// The way down to the first of these nodes that is a place.
    fn path_to_node(&self, nodes: &IdSet) -> Option<Vec<usize>> {
        self.inside.iter().enumerate().find_map(|(at, place)| {
            let found = matches!(place.kind, Kind::Node(node) if nodes.contains(node.os_index));
            let mut path = if found { Vec::new() } else { place.path_to_node(nodes)? };
            path.insert(0, at);
            Some(path)
        })
    }
}
