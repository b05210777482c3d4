//! How close a PU is to a target: L3-local, NUMA-local, same package, remote or unknown, with the reason in
//! words.
//!
//! A verdict says what the platform states, not what is faster: locality is a hypothesis, the measurement
//! decides.

use stats::IdSet;
use topo::model::{Gpu, NumaNode, Package, Rung, Topology};

use crate::TargetId;

/// The closeness of a PU and a target, closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closeness {
    /// They share an L3 that the platform names as the target's.
    L3Local,
    /// They share a NUMA node.
    NumaLocal,
    /// They share a package, not a node.
    SamePackage,
    /// They are on different packages or nodes.
    Remote,
    /// The platform does not say where the target is.
    Unknown,
}

impl Closeness {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::L3Local => "l3-local",
            Self::NumaLocal => "numa-local",
            Self::SamePackage => "same-package",
            Self::Remote => "remote",
            Self::Unknown => "unknown",
        }
    }

    /// As tables and sentences spell it, in every command.
    pub fn text(self) -> &'static str {
        match self {
            Self::L3Local => "L3-local",
            Self::NumaLocal => "NUMA-local",
            Self::SamePackage => "same package",
            Self::Remote => "REMOTE",
            Self::Unknown => "unknown",
        }
    }
}

/// A closeness and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosenessVerdict {
    /// How close.
    pub closeness: Closeness,
    /// Why, and from which source it is known.
    pub reason: String,
}

/// How close `pu` is to `target`.
pub fn verdict(topology: &Topology, pu: u32, target: TargetId) -> ClosenessVerdict {
    match target {
        TargetId::Node(node) => node_verdict(topology, pu, node),
        TargetId::Gpu(pci) => match topology.gpu_at(pci) {
            Some(gpu) => gpu_verdict(topology, pu, gpu),
            None => ClosenessVerdict {
                closeness: Closeness::Unknown,
                reason: format!(
                    "hwloc shows no PCI device {pci} (PCI discovery may be blocked in a container)"
                ),
            },
        },
    }
}

/// The same without the words.
pub(crate) fn closeness(topology: &Topology, pu: u32, target: TargetId) -> Closeness {
    Surroundings::of(topology, target).map_or(Closeness::Unknown, |around| around.closeness(pu))
}

/// The PUs of each closeness to a target: worked out once, for whoever asks of every PU.
pub(crate) struct Surroundings {
    on_l3: IdSet,
    on_node: IdSet,
    on_package: IdSet,
}

impl Surroundings {
    /// `None` where the platform does not say where the target is.
    pub(crate) fn of(topology: &Topology, target: TargetId) -> Option<Self> {
        match target {
            TargetId::Node(node) => topology.node(node).map(|node| Self::of_node(topology, node)),
            TargetId::Gpu(pci) => Self::of_gpu(topology, topology.gpu_at(pci)?),
        }
    }

    fn of_node(topology: &Topology, node: &NumaNode) -> Self {
        let packages = topology.packages.iter().filter(|package| package.nodes.contains(node.os_index));
        Self {
            on_l3: IdSet::default(),
            on_node: node.pus.clone(),
            on_package: IdSet::of_all(packages.map(|package| &package.pus)),
        }
    }

    fn of_gpu(topology: &Topology, gpu: &Gpu) -> Option<Self> {
        if gpu.locality.rung == Rung::Unknown {
            return None;
        }
        // What the cpuset has not got is as near as what it has: a verdict is about the machine.
        let local = gpu.locality.pus.or(&gpu.locality.outside_pus);
        let nodes = gpu.locality.nodes.or(&gpu.locality.outside_nodes);
        let around = IdSet::of_all(nodes_of(topology, &nodes).map(|node| &node.pus));

        // An L3 tells more than the node only where the node has several.
        let l3s = topology.l3s.iter().filter(|l3| !l3.pus.and(&around).is_empty()).count();
        let own_l3 = gpu.locality.l3_pus.as_ref().filter(|_| l3s > 1);
        let has = |p: &&Package| !p.pus.and(&local).is_empty() || !p.nodes.and(&nodes).is_empty();
        Some(Self {
            on_l3: own_l3.cloned().unwrap_or_default(),
            on_node: local.or(&around),
            on_package: IdSet::of_all(topology.packages.iter().filter(has).map(|package| &package.pus)),
        })
    }

    /// How close a PU is.
    pub(crate) fn closeness(&self, pu: u32) -> Closeness {
        match () {
            () if self.on_l3.contains(pu) => Closeness::L3Local,
            () if self.on_node.contains(pu) => Closeness::NumaLocal,
            () if self.on_package.contains(pu) => Closeness::SamePackage,
            () => Closeness::Remote,
        }
    }
}

fn gpu_verdict(topology: &Topology, pu: u32, gpu: &Gpu) -> ClosenessVerdict {
    let source = &gpu.locality.reason;
    let local = gpu.locality.pus.or(&gpu.locality.outside_pus);
    let nodes = gpu.locality.nodes.or(&gpu.locality.outside_nodes);
    let near =
        if local.is_empty() { "no PU is local to it".to_owned() } else { format!("{local} are local to it") };
    let closeness = closeness(topology, pu, TargetId::Gpu(gpu.pci));
    let reason = match closeness {
        Closeness::Unknown => source.clone(),
        Closeness::L3Local => format!("PU {pu} shares the GPU's L3 ({source})"),
        Closeness::NumaLocal => match nodes_of(topology, &nodes).find(|node| node.pus.contains(pu)) {
            Some(node) if !local.contains(pu) => {
                format!("PU {pu} and the GPU share NUMA node {}, and {near} ({source})", node.os_index)
            }
            _ => format!("PU {pu} is among the CPUs local to the GPU, {local} ({source})"),
        },
        Closeness::SamePackage => format!("PU {pu} is on the GPU's package, and {near} ({source})"),
        Closeness::Remote => format!("PU {pu} is not on the GPU's package: {near} ({source})"),
    };

    ClosenessVerdict { closeness, reason }
}

fn nodes_of<'t>(topology: &'t Topology, ids: &'t IdSet) -> impl Iterator<Item = &'t NumaNode> {
    topology.nodes.iter().filter(|node| ids.contains(node.os_index))
}

fn node_verdict(topology: &Topology, pu: u32, node: u32) -> ClosenessVerdict {
    let closeness = closeness(topology, pu, TargetId::Node(node));
    let reason = match closeness {
        Closeness::Unknown => format!("this machine shows no NUMA node {node}"),
        Closeness::NumaLocal => format!("PU {pu} is local to NUMA node {node}"),
        Closeness::SamePackage => format!("PU {pu} and NUMA node {node} are on one package"),
        _ => format!("PU {pu} is not local to NUMA node {node}, nor on its package"),
    };
    ClosenessVerdict { closeness, reason }
}

#[cfg(test)]
mod tests {
    use topo::model::PuStatus;

    use super::*;
    use crate::machine::{gpu, machine, set, without};

    fn closeness_and_reason(topology: &Topology, pu: u32, target: TargetId) -> (Closeness, String) {
        let verdict = verdict(topology, pu, target);
        (verdict.closeness, verdict.reason)
    }

    #[test]
    fn each_rung_from_l3_to_remote_is_told_apart() {
        let topology = machine();
        for (pu, closeness) in [
            (0, Closeness::L3Local),
            (9, Closeness::L3Local),
            (2, Closeness::NumaLocal),
            (4, Closeness::Remote),
            (16, Closeness::Remote),
        ] {
            let (found, reason) = closeness_and_reason(&topology, pu, gpu(0));
            assert_eq!(found, closeness, "PU {pu}: {reason}");
            assert!(reason.contains(&format!("PU {pu} ")) && reason.contains("hand"), "{reason}");
        }
    }

    #[test]
    fn a_reason_names_what_is_shared_or_what_is_not_known() {
        let mut apart = machine();
        apart.nodes[2].pus = set("");
        let reasons = [
            closeness_and_reason(&machine(), 0, gpu(0)),
            closeness_and_reason(&machine(), 2, gpu(0)),
            closeness_and_reason(&machine(), 4, gpu(0)),
            closeness_and_reason(&machine(), 0, gpu(99)),
            closeness_and_reason(&apart, 4, gpu(4)),
        ];
        insta::assert_snapshot!("reasons_of_verdicts", reasons.map(|(_, reason)| reason).join("\n"));
    }

    #[test]
    fn a_pu_on_the_gpus_node_but_another_l3_is_not_said_to_be_among_its_cpus() {
        let (closeness, reason) = closeness_and_reason(&machine(), 2, gpu(0));
        assert!(closeness == Closeness::NumaLocal && reason.contains("0-1,8-9"), "{reason}");
    }

    #[test]
    fn the_only_l3_of_a_node_says_no_more_than_the_node() {
        let mut topology = machine();
        topology.l3s.retain(|l3| !l3.pus.contains(2));
        assert_eq!(closeness_and_reason(&topology, 0, gpu(0)).0, Closeness::NumaLocal);
    }

    #[test]
    fn another_node_of_the_package_is_the_same_package() {
        let mut topology = machine();
        topology.packages.truncate(1);
        topology.packages[0].pus = set("0-17");
        topology.packages[0].nodes = set("0-1,3");
        let (closeness, reason) = closeness_and_reason(&topology, 4, gpu(0));
        assert_eq!(closeness, Closeness::SamePackage, "{reason}");
        assert_eq!(closeness_and_reason(&topology, 4, TargetId::Node(0)).0, Closeness::SamePackage);
        // By its CPUs where the package names no nodes, by its node where no CPU is local.
        topology.packages[0].nodes = set("");
        assert_eq!(closeness_and_reason(&topology, 4, gpu(0)).0, Closeness::SamePackage);
        topology.packages[0].nodes = set("0-2");
        topology.nodes[2].pus = set("");
        assert_eq!(closeness_and_reason(&topology, 4, gpu(4)).0, Closeness::SamePackage);
    }

    #[test]
    fn what_the_cpuset_took_away_does_not_move_the_gpu() {
        let mut topology = without(machine(), "0-1,8-9", PuStatus::NotInCgroup);
        assert_eq!(closeness_and_reason(&topology, 2, gpu(0)).0, Closeness::NumaLocal);
        let locality = &mut topology.gpus[0].locality;
        locality.outside_nodes = std::mem::take(&mut locality.nodes);
        assert_eq!(closeness_and_reason(&topology, 2, gpu(0)).0, Closeness::NumaLocal);
        topology.nodes[0].pus = set("0-1,8-9");
        assert_eq!(closeness_and_reason(&topology, 2, gpu(0)).0, Closeness::SamePackage);
    }

    #[test]
    fn what_nobody_knows_is_unknown_with_the_reason() {
        assert_eq!(
            closeness_and_reason(&machine(), 0, gpu(3)),
            (Closeness::Unknown, machine().gpus[3].locality.reason.clone())
        );
        let (closeness, reason) = closeness_and_reason(&machine(), 0, gpu(99));
        assert!(closeness == Closeness::Unknown && reason.contains("0000:64:00.0"), "{reason}");
        assert_eq!(closeness_and_reason(&machine(), 0, TargetId::Node(9)).0, Closeness::Unknown);
    }

    #[test]
    fn a_gpu_without_local_cpus_is_remote_or_where_its_node_is() {
        // Node 2 lies around every PU, so the GPU on it does.
        assert_eq!(closeness_and_reason(&machine(), 4, gpu(4)).0, Closeness::NumaLocal);
        let mut topology = machine();
        topology.nodes[2].pus = set("");
        assert_eq!(closeness_and_reason(&topology, 4, gpu(4)).0, Closeness::Remote);
    }

    #[test]
    fn a_node_is_local_to_its_own_pus_only() {
        let of_node = |pu, node| closeness_and_reason(&machine(), pu, TargetId::Node(node)).0;
        assert_eq!(of_node(0, 0), Closeness::NumaLocal);
        assert_eq!(of_node(0, 1), Closeness::Remote);
        assert_eq!(of_node(17, 2), Closeness::NumaLocal, "memory around every PU");
    }
}
