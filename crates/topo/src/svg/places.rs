//! What is in what: packages, NUMA nodes, L3s and cores nested by their PUs, and each device in the place
//! that it is local to.
//!
//! As in the tree view, places nest by their PUs (an L3 that spans several nodes holds them), and a device
//! hangs from the largest place below the machine whose PUs are just its local ones, else from the smallest
//! that holds them. Nodes without CPUs are places too: a device that is near such a node only is in it. What
//! cannot be placed is set apart with the reason.

use stats::IdSet;

use crate::model::{Gpu, Locality, NodeKind, NumaNode, Rung, Topology};
use crate::nest::{Place, PlaceKind};
use crate::nics::Nic;
use crate::survey::Survey;

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
    let mut machine = Place::nested(topology);
    machine.sort();
    for node in topology.nodes.iter().filter(|node| node.own_pus().is_empty() && node.kind != NodeKind::Empty)
    {
        let place = Place::new(PlaceKind::Node(node), IdSet::default());
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

impl Place<'_> {
    /// Where a node without CPUs belongs: in its package, else around the PUs it is attached to. hwloc
    /// attaches what it cannot place to the whole machine, which is near nothing.
    fn of_node(&mut self, topology: &Topology, node: &NumaNode) -> &mut Self {
        let mut packages = topology.packages.iter().filter(|package| package.nodes.contains(node.os_index));
        if let (Some(package), None) = (packages.next(), packages.next()) {
            let same = |place: &Place<'_>| match place.kind {
                PlaceKind::Package(other) => std::ptr::eq(other, package),
                _ => false,
            };
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
        let local = locality.all_pus();
        if !local.is_empty() {
            return self.around(&local);
        }
        let nodes = locality.all_nodes();
        match self.path_to_node(&nodes) {
            Some(path) => path.into_iter().fold(self, |place, at| &mut place.inside[at]),
            None => self,
        }
    }

    /// The way down to the first of these nodes that is a place.
    fn path_to_node(&self, nodes: &IdSet) -> Option<Vec<usize>> {
        self.inside.iter().enumerate().find_map(|(at, place)| {
            let found = matches!(place.kind, PlaceKind::Node(node) if nodes.contains(node.os_index));
            let mut path = if found { Vec::new() } else { place.path_to_node(nodes)? };
            path.insert(0, at);
            Some(path)
        })
    }
}
