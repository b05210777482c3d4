//! The tree that `lstopo` prints, as objects with what they contain.

use stats::{IdSet, PciAddress};

use crate::locality::Attachment;
use crate::model::{Core, L3, Package};
use crate::nodes::RawNode;
use crate::pci_path::PciPath;

/// The objects in the order of the lines; the first is the machine, and each comes after the one that it is
/// in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) objects: Vec<Object>,
    /// How many lines between are none of its.
    pub(super) unread: usize,
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) kind: Kind,
    /// The number that the operating system has for it.
    pub(super) os_index: Option<u32>,
    pub(super) bytes: Option<u64>,
    /// `HBM` of `NUMANode(HBM)`, `RSMI` of `GPU(RSMI)`.
    pub(super) subtype: Option<String>,
    /// A device's name, between quotes in the text.
    pub(super) name: Option<String>,
    pub(super) parent: Option<usize>,
    /// Its own PUs, for a PU; those of all objects below, once the tree is whole.
    pub(super) pus: IdSet,
}

/// What an object is, as far as the model asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Machine,
    Package,
    NumaNode,
    L3,
    Core,
    Pu,
    /// A group, a die, another cache: something that contains PUs and devices.
    Other(&'static str),
    HostBridge,
    PciBridge,
    Pci(PciDevice),
    /// A device of the operating system.
    OsDevice(OsDevice),
}

/// A PCI device as lstopo prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PciDevice {
    /// hwloc 1 prints ids in place of the address.
    pub(super) address: Option<PciAddress>,
    pub(super) ids: Option<(u16, u16)>,
    pub(super) class: Option<&'static str>,
}

/// What a device of the operating system is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OsDevice {
    Gpu,
    CoProcessor,
    Network,
    OpenFabrics,
    Other,
}

impl Kind {
    /// Whether objects of this kind are devices or bridges.
    pub(super) fn is_io(self) -> bool {
        matches!(self, Self::HostBridge | Self::PciBridge | Self::Pci(_) | Self::OsDevice(_))
    }

    /// hwloc's name of the type.
    fn name(self) -> &'static str {
        match self {
            Self::Machine => "Machine",
            Self::Package => "Package",
            Self::NumaNode => "NUMANode",
            Self::L3 => "L3Cache",
            Self::Core => "Core",
            Self::Pu => "PU",
            Self::Other(name) => name,
            Self::HostBridge | Self::PciBridge => "Bridge",
            Self::Pci(_) => "PCIDev",
            Self::OsDevice(_) => "OSDev",
        }
    }
}

impl Tree {
    /// Gives every object the PUs of the objects below it.
    pub(super) fn complete(mut self) -> Self {
        for at in (0..self.objects.len()).rev() {
            if let Some(parent) = self.objects[at].parent {
                let below = self.objects[at].pus.clone();
                self.objects[parent].pus.extend(below.iter());
            }
        }
        self
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (usize, &Object)> {
        self.objects.iter().enumerate().filter(move |(_, object)| object.kind == kind)
    }

    /// The objects right below one.
    pub(super) fn children(&self, parent: usize) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(move |object| object.parent == Some(parent))
    }

    /// The objects around one, the nearest first.
    fn around(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.objects[at].parent, |above| self.objects[*above].parent)
    }

    /// All PUs.
    pub(super) fn pus(&self) -> IdSet {
        self.objects.first().map(|machine| machine.pus.clone()).unwrap_or_default()
    }

    /// The NUMA nodes: hwloc 1 prints CPUs below their node, hwloc 2 the node beside the CPUs that are local
    /// to it.
    pub(super) fn nodes(&self) -> Vec<RawNode> {
        let node = |(at, object): (usize, &Object)| {
            let cache = |above: &usize| self.objects[*above].kind == Kind::Other("MemCache");
            let beside =
                self.around(at).find(|above| !cache(above)).map(|above| self.objects[above].pus.clone());
            let pus = if object.pus.is_empty() { beside.unwrap_or_default() } else { object.pus.clone() };
            Some(RawNode {
                os_index: object.os_index?,
                total_bytes: object.bytes.unwrap_or(0),
                complete_pus: pus.clone(),
                pus,
                allowed: true,
                subtype: object.subtype.clone(),
                ..RawNode::default()
            })
        };

        self.of_kind(Kind::NumaNode).filter_map(node).collect()
    }

    pub(super) fn packages(&self, cpu_model: Option<&str>) -> Vec<Package> {
        let package = |(at, object): (usize, &Object)| Package {
            os_index: object.os_index,
            cpu_model: cpu_model.map(str::to_owned),
            pus: object.pus.clone(),
            nodes: self.nodes_of(at),
        };
        let mut packages: Vec<Package> = self.of_kind(Kind::Package).map(package).collect();
        packages.sort_by_key(|package| (package.os_index, package.pus.first()));
        packages
    }

    pub(super) fn l3s(&self) -> Vec<L3> {
        let l3 = |(_, object): (usize, &Object)| L3 {
            os_index: object.os_index,
            size_bytes: object.bytes,
            pus: object.pus.clone(),
        };
        let mut l3s: Vec<L3> = self.of_kind(Kind::L3).map(l3).filter(|l3| !l3.pus.is_empty()).collect();
        l3s.sort_by_key(|l3| l3.pus.first());
        l3s
    }

    /// The cores; each PU where there is none, as in a file.
    pub(super) fn cores(&self) -> Vec<Core> {
        let cores = |kind| self.of_kind(kind).map(|(_, object)| object);
        let core = |object: &Object| Core { os_index: object.os_index, pus: object.pus.clone() };
        let mut found: Vec<Core> = cores(Kind::Core).map(core).filter(|core| !core.pus.is_empty()).collect();
        if found.is_empty() {
            found = cores(Kind::Pu).map(|pu| Core { os_index: None, pus: pu.pus.clone() }).collect();
        }
        found.sort_by_key(|core| core.pus.first());
        found
    }

    /// The NUMA nodes in an object, else those around it.
    fn nodes_of(&self, at: usize) -> IdSet {
        let inside = |node: &usize| *node == at || self.around(*node).any(|above| above == at);
        let own: IdSet = self
            .of_kind(Kind::NumaNode)
            .filter(|(node, _)| inside(node))
            .filter_map(|(_, node)| node.os_index)
            .collect();
        if !own.is_empty() {
            return own;
        }
        let pus = &self.objects[at].pus;
        self.nodes()
            .into_iter()
            .filter(|node| !node.pus.and(pus).is_empty())
            .map(|node| node.os_index)
            .collect()
    }

    /// What the device at this place hangs from.
    pub(super) fn attachment(&self, device: usize) -> Attachment {
        let place = self.around(device).find(|above| !self.objects[*above].kind.is_io()).unwrap_or(0);
        let object = &self.objects[place];
        Attachment {
            object: object.kind.name().to_owned(),
            os_index: object.os_index,
            pus: object.pus.clone(),
            complete_pus: object.pus.clone(),
            nodes: self.nodes_of(place),
        }
    }

    /// The bridges above a device.
    pub(super) fn pci_path(&self, device: usize) -> PciPath {
        let mut path = PciPath::default();
        for above in self.around(device) {
            match self.objects[above].kind {
                Kind::PciBridge => path.bridges.push(above as u64),
                Kind::HostBridge => path.host_bridge = Some(above as u64),
                _ => break,
            }
        }
        path.bridges.reverse();
        path
    }
}
