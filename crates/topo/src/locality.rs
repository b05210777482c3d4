//! Which PUs and NUMA nodes are local to a device, and how that is known: PLACEMENT's ladder, decided in one
//! place.
//!
//! hwloc hangs each device from an object of the machine: from an L3 where it knows the board, from what
//! covers the kernel's PCI local CPUs otherwise, and from the whole machine where nobody said. "The whole
//! machine" is an answer only where there is one NUMA node to be near to, and even then not in a virtual
//! machine, which often shows one node in front of several. The kernel's `numa_node` of -1 means the same:
//! not told. It is never node 0.

use stats::IdSet;

use crate::model::{Locality, NodeKind, NumaNode, Rung, Topology};

/// What hwloc hangs a device from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attachment {
    /// The object's type (`L3Cache`, `Package`, `Machine`, …).
    pub(crate) object: String,
    pub(crate) os_index: Option<u32>,
    pub(crate) pus: IdSet,
    /// The same with PUs that are offline or left out of the file.
    pub(crate) complete_pus: IdSet,
    pub(crate) nodes: IdSet,
}

/// What a device's attachment is judged by.
pub(crate) struct Surroundings<'t> {
    /// The machine; its GPUs are not looked at.
    pub(crate) topology: &'t Topology,
    /// The board's name, where the firmware gives it.
    pub(crate) board: Option<String>,
    /// Whether the machine has nodes that are not shown (offline, or left out of the file).
    pub(crate) hidden_nodes: bool,
    /// What proves a virtual machine.
    pub(crate) virtual_machine: Option<String>,
}

/// Judges one device. `kernels_node` is sysfs `numa_node` (`None` in a file), `memory_node` the node of its
/// own memory.
pub(crate) fn locality(
    attachment: &Attachment,
    kernels_node: Option<i64>,
    memory_node: Option<u32>,
    around: &Surroundings,
) -> Locality {
    let (rung, reason, pus, mut nodes) = judge(attachment, kernels_node, around);
    if rung != Rung::Unknown {
        nodes.0.extend(memory_node);
    }
    let whole = Locality {
        rung,
        reason,
        attached_to: attachment.object.clone(),
        pus,
        nodes,
        outside_pus: IdSet::default(),
        outside_nodes: IdSet::default(),
        l3_pus: None,
    };

    let mut found = whole.cut_to_cpuset(around.topology);
    if !found.outside_pus.is_empty() && found.pus.is_empty() {
        let outside = &found.outside_pus;
        found.reason = format!("{}; all of its local PUs ({outside}) are outside the cpuset", found.reason);
    }
    found
}

type Judgement = (Rung, String, IdSet, IdSet);

fn judge(at: &Attachment, kernels_node: Option<i64>, around: &Surroundings) -> Judgement {
    let machine = around.topology;
    let unknown = |reason: String| (Rung::Unknown, reason, IdSet::default(), IdSet::default());
    let every: IdSet = machine.pus.iter().map(|pu| pu.os_index).collect();
    // A package is a part of the machine also where a file or a job shows no PU of the others.
    let places: IdSet = machine.places().map(|node| node.os_index).collect();
    let narrower = !at.nodes.is_empty() && !places.is_subset(&at.nodes);
    let part = at.object != "Machine" && (!every.is_subset(&at.complete_pus) || narrower);
    let whole = every.minus(&machine.allowed.offline_pus).is_subset(&at.pus) && !part;
    let place = at
        .os_index
        .filter(|_| at.object != "Machine")
        .map_or(at.object.clone(), |id| format!("{} {id}", at.object));

    if whole {
        // A node without CPUs has no local CPUs to attach by: the kernel's number is all there is, and it is
        // enough.
        let named = kernels_node.and_then(|node| machine.node(u32::try_from(node).ok()?));
        if let Some(node) = named.filter(|_| !is_one_place(machine)) {
            return (
                Rung::PciLocalCpus,
                numbered(node),
                node.own_pus(),
                [node.os_index].into_iter().collect(),
            );
        }
        return match whole_machine(at, kernels_node, around) {
            Ok(reason) => (Rung::PciLocalCpus, reason, at.pus.clone(), at.nodes.clone()),
            Err(reason) => unknown(reason),
        };
    }
    if at.pus.is_empty() && at.nodes.is_empty() {
        return unknown(format!(
            "hwloc attaches it to {place}, which has no PU and no NUMA node that this view shows"
        ));
    }
    let narrower_than = |node: &NumaNode| at.pus.is_subset(&node.pus) && at.pus.len() < node.pus.len();
    let below_node = machine.nodes.iter().any(|node| node.kind.has_cpus() && narrower_than(node));
    if at.object == "L3Cache" && below_node {
        let board = around.board.as_ref().map_or_else(String::new, |name| format!(" (the board is {name})"));
        let reason = format!("hwloc attaches it to one L3{board}");
        return (Rung::L3, reason, at.pus.clone(), at.nodes.clone());
    }
    let kernel = match kernels_node {
        Some(-1) => "; the kernel itself says numa_node -1".to_owned(),
        Some(node) => format!("; the kernel says numa_node {node}"),
        None => String::new(),
    };
    let reason = format!("PCI local CPUs: hwloc attaches it to {place}{kernel}");
    (Rung::PciLocalCpus, reason, at.pus.clone(), at.nodes.clone())
}

/// What follows where every PU is as near as any other: an answer, or why there is none.
fn whole_machine(
    at: &Attachment,
    kernels_node: Option<i64>,
    around: &Surroundings,
) -> Result<String, String> {
    let machine = around.topology;
    if !is_one_place(machine) {
        let (nodes, packages) = (machine.places().count(), machine.packages.len());
        let said = match kernels_node {
            Some(-1) => "the kernel says numa_node -1",
            _ if at.object == "Machine" => "hwloc attaches it to the whole machine",
            _ => "its local CPUs are those of the whole machine",
        };
        return Err(format!("{said}, and this machine has {}", places(nodes, packages)));
    }

    let told =
        matches!(kernels_node, Some(node) if node >= 0) || (kernels_node.is_none() && at.object != "Machine");
    if around.hidden_nodes && !told {
        return Err("it is attached to the whole machine, of which this view shows one NUMA node of several"
            .to_owned());
    }

    match &around.virtual_machine {
        Some(proof) if !told => Err(format!(
            "virtual machine ({proof}) with one NUMA node; {}",
            if kernels_node == Some(-1) {
                "the kernel says numa_node -1"
            } else {
                "its devices are attached to the whole of it"
            }
        )),
        _ => Ok("the machine has one NUMA node with CPUs, so all of it is local".to_owned()),
    }
}

/// Whether there is one place to be near to.
fn is_one_place(machine: &Topology) -> bool {
    machine.places().count() == 1 && machine.packages.len() <= 1
}

fn places(nodes: usize, packages: usize) -> String {
    if nodes > 1 { format!("{nodes} NUMA nodes") } else { format!("{packages} packages") }
}

fn numbered(node: &NumaNode) -> String {
    let without = match node.kind {
        NodeKind::Normal => "",
        NodeKind::CpuOnly => ", a node without memory",
        NodeKind::MemoryOnly | NodeKind::GpuMemory => ", a node without CPUs",
        NodeKind::Empty => ", a node without memory and CPUs",
    };
    format!("the kernel says numa_node {}{without}", node.os_index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::model;
    use crate::load;
    use crate::model::TopologySource;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn machine(description: &str) -> Result<Topology, Box<dyn std::error::Error>> {
        let hwloc = load::synthetic(description)?;
        Ok(model(&hwloc, TopologySource::ThisSystem, String::new(), None))
    }

    fn at(object: &str, pus: &str, nodes: &str) -> Attachment {
        let set = |text: &str| -> IdSet { text.parse().unwrap_or_default() };
        let pus = set(pus);
        Attachment {
            object: object.to_owned(),
            os_index: Some(0),
            complete_pus: pus.clone(),
            pus,
            nodes: set(nodes),
        }
    }

    fn around(topology: &Topology) -> Surroundings<'_> {
        Surroundings { topology, board: None, hidden_nodes: false, virtual_machine: None }
    }

    /// Two packages with a node each, of two L3s of two PUs.
    const TWO_NODES: &str = "pack:2 [numa] l3:2 core:2 pu:1";

    #[test]
    fn an_l3_narrower_than_its_node_is_the_best_rung() -> Outcome {
        let machine = machine(TWO_NODES)?;
        let found = locality(&at("L3Cache", "2-3", "0"), Some(0), None, &around(&machine));
        assert_eq!((found.rung, found.pus.to_string().as_str()), (Rung::L3, "2-3"));
        assert_eq!(found.l3_pus, Some([2, 3].into_iter().collect()));
        let package = locality(&at("Package", "0-3", "0"), Some(0), None, &around(&machine));
        assert_eq!((package.rung, package.l3_pus), (Rung::PciLocalCpus, None));
        Ok(())
    }

    #[test]
    fn the_whole_of_a_machine_with_several_nodes_is_unknown() -> Outcome {
        let machine = machine(TWO_NODES)?;
        for kernels_node in [None, Some(-1)] {
            let found = locality(&at("Machine", "0-7", "0-1"), kernels_node, None, &around(&machine));
            assert_eq!(found.rung, Rung::Unknown, "{kernels_node:?}");
            assert!(found.pus.is_empty() && found.nodes.is_empty());
        }
        Ok(())
    }

    #[test]
    fn a_number_from_the_kernel_is_taken_where_there_are_no_local_cpus_to_attach_by() -> Outcome {
        let machine = machine(TWO_NODES)?;
        let found = locality(&at("Machine", "0-7", "0-1"), Some(1), None, &around(&machine));
        assert_eq!((found.rung, found.pus.to_string().as_str()), (Rung::PciLocalCpus, "4-7"));
        assert_eq!(found.nodes.to_string(), "1");
        Ok(())
    }

    #[test]
    fn one_node_is_local_unless_a_virtual_machine_does_not_tell() -> Outcome {
        let machine = machine("pack:1 [numa] l3:1 core:4 pu:1")?;
        let device = at("Machine", "0-3", "0");
        for kernels_node in [None, Some(-1), Some(0)] {
            let found = locality(&device, kernels_node, None, &around(&machine));
            assert_eq!(
                (found.rung, found.nodes.to_string().as_str()),
                (Rung::PciLocalCpus, "0"),
                "{kernels_node:?}"
            );
        }

        let guest = Surroundings { virtual_machine: Some("a proof".to_owned()), ..around(&machine) };

        for (kernels_node, rung) in
            [(None, Rung::Unknown), (Some(-1), Rung::Unknown), (Some(0), Rung::PciLocalCpus)]
        {
            assert_eq!(locality(&device, kernels_node, None, &guest).rung, rung, "{kernels_node:?}");
        }

        let part = Surroundings { hidden_nodes: true, ..around(&machine) };
        assert_eq!(locality(&device, None, None, &part).rung, Rung::Unknown);
        Ok(())
    }

    #[test]
    fn a_node_stays_a_place_where_the_cpus_of_the_others_are_not_shown() -> Outcome {
        let mut machine = machine("pack:1 [numa] l3:1 core:4 pu:1")?;
        let mut hidden = machine.nodes[0].clone();
        (hidden.os_index, hidden.kind, hidden.pus) = (1, NodeKind::MemoryOnly, IdSet::default());
        machine.nodes.push(hidden);
        let found = locality(&at("Group", "0-3", "0"), None, None, &around(&machine));
        assert_eq!(
            (found.rung, found.nodes.to_string().as_str()),
            (Rung::PciLocalCpus, "0"),
            "{}",
            found.reason
        );
        let other = locality(&at("Group", "", "1"), None, None, &around(&machine));
        assert_eq!(
            (other.rung, other.nodes.to_string().as_str()),
            (Rung::PciLocalCpus, "1"),
            "{}",
            other.reason
        );
        assert_eq!(locality(&at("Machine", "0-3", "0-1"), None, None, &around(&machine)).rung, Rung::Unknown);

        Ok(())
    }

    #[test]
    fn memory_without_cpus_around_the_only_cpus_is_no_other_place() -> Outcome {
        let mut machine = machine("pack:1 [numa] l3:1 core:4 pu:1")?;
        let mut fast = machine.nodes[0].clone();
        (fast.os_index, fast.kind) = (1, NodeKind::MemoryOnly);
        machine.nodes.push(fast);
        for object in ["Machine", "Package"] {
            let found = locality(&at(object, "0-3", "0-1"), None, None, &around(&machine));
            assert_eq!(
                (found.rung, found.pus.to_string().as_str()),
                (Rung::PciLocalCpus, "0-3"),
                "{}",
                found.reason
            );
        }
        Ok(())
    }

    #[test]
    fn one_node_over_two_packages_tells_nothing() -> Outcome {
        let machine = machine("numa:1 pack:2 core:2 pu:1")?;
        let found = locality(&at("Machine", "0-3", "0"), Some(-1), None, &around(&machine));
        assert_eq!(found.rung, Rung::Unknown);
        Ok(())
    }

    #[test]
    fn what_the_cpuset_has_not_got_is_set_apart() -> Outcome {
        let mut machine = machine(TWO_NODES)?;
        machine.allowed.not_in_cgroup_pus = "4-5".parse()?;
        let found = locality(&at("Package", "4-7", "1"), None, None, &around(&machine));
        assert_eq!((found.pus.to_string().as_str(), found.outside_pus.to_string().as_str()), ("6-7", "4-5"));
        machine.allowed.not_in_cgroup_pus = "4-7".parse()?;
        let found = locality(&at("Package", "4-7", "1"), None, None, &around(&machine));
        assert!(found.pus.is_empty() && found.rung == Rung::PciLocalCpus);
        Ok(())
    }

    #[test]
    fn a_reason_says_what_of_the_machine_it_rests_on() -> Outcome {
        let (nodes, packages) = (machine(TWO_NODES)?, machine("numa:1 pack:2 core:2 pu:1")?);
        let mut outside = machine(TWO_NODES)?;
        outside.allowed.not_in_cgroup_pus = "4-7".parse()?;
        let reasons = [
            locality(&at("Machine", "0-7", "0-1"), None, None, &around(&nodes)),
            locality(&at("Machine", "0-7", "0-1"), Some(-1), None, &around(&nodes)),
            locality(&at("Machine", "0-3", "0"), Some(-1), None, &around(&packages)),
            locality(&at("Package", "4-7", "1"), None, None, &around(&outside)),
            locality(&at("Package", "", ""), None, None, &around(&nodes)),
        ];
        insta::assert_snapshot!("reasons_of_localities", reasons.map(|found| found.reason).join("\n"));
        Ok(())
    }

    #[test]
    fn a_package_is_a_place_also_where_a_file_shows_no_pu_of_the_others() -> Outcome {
        let mut machine = machine("pack:2 [numa] core:2 pu:1")?;
        machine.allowed.offline_pus = "0-1".parse()?;
        let found = locality(&at("Package", "2-3", "1"), None, None, &around(&machine));
        assert_eq!(
            (found.rung, found.pus.to_string().as_str()),
            (Rung::PciLocalCpus, "2-3"),
            "{}",
            found.reason
        );
        let found = locality(&at("Machine", "2-3", "1"), None, None, &around(&machine));
        assert_eq!(found.rung, Rung::Unknown);
        Ok(())
    }

    #[test]
    fn the_node_of_a_gpus_own_memory_is_local_to_it() -> Outcome {
        let machine = machine(TWO_NODES)?;
        let found = locality(&at("Package", "0-3", "0"), Some(0), Some(4), &around(&machine));
        assert_eq!(found.nodes.to_string(), "0,4");
        Ok(())
    }

    #[test]
    fn a_place_with_nothing_to_see_is_unknown() -> Outcome {
        let machine = machine(TWO_NODES)?;
        let found = locality(&at("Package", "", ""), None, None, &around(&machine));
        assert_eq!(found.rung, Rung::Unknown);
        Ok(())
    }
}
