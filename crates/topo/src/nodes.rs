//! What each NUMA node is made of.
//!
//! hwloc gives every node a cpuset, also a node without CPUs: that of the place it is attached to. So a
//! node's cpuset does not say whether it has CPUs. On Linux a CPU belongs to one node; where the kernel can
//! be asked its list is taken, and in a file each PU is given to the smallest node around it, the lowest OS
//! index among equals (firmware numbers the nodes with CPUs first). A node that gets none has none.
//!
//! Where equals lie around several packages, nodes may be cut across packages (hwloc attaches such nodes to
//! the machine): each may have CPUs, and which ones the file does not say. Their PUs then have no node of
//! their own.

use std::collections::{BTreeMap, BTreeSet};

use hwlocality::Topology as Hwloc;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::ObjectType;
use stats::IdSet;

use crate::bitmap::ids;
use crate::coherence::SUPERCHIPS;
use crate::driver_files;
use crate::found::Found;
use crate::fs_root::FsRoot;
use crate::gpu_class::NVIDIA;
use crate::hwloc_object::{os_index, pus_of, text};
use crate::model::{NodeKind, NumaNode};

/// A node as found, before it is known what it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawNode {
    pub(crate) os_index: u32,
    pub(crate) total_bytes: u64,
    pub(crate) free_bytes: Option<u64>,
    /// hwloc's cpuset: the node's own CPUs, or those around it.
    pub(crate) pus: IdSet,
    /// The same with offline and hidden PUs.
    pub(crate) complete_pus: IdSet,
    /// The CPUs that the kernel says are in the node; `None` in a file.
    pub(crate) kernel_pus: Option<IdSet>,
    pub(crate) allowed: bool,
    pub(crate) subtype: Option<String>,
}

/// What tells the memory of a GPU from other memory without CPUs.
pub(crate) struct Evidence {
    /// Nodes that the NVIDIA driver says are a GPU's.
    pub(crate) drivers_nodes: BTreeSet<u32>,
    /// Whether the machine's GPUs show their memory as nodes (POWER9 with NVLink, Grace superchips).
    pub(crate) gpus_show_memory: bool,
}

impl Evidence {
    /// From the architecture, the GPUs and, on this machine, the driver's files.
    pub(crate) fn of(architecture: Option<&str>, gpus: &[Found], root: Option<&FsRoot>) -> Self {
        let superchip = |gpu: &Found| SUPERCHIPS.contains(&gpu.device_id) || gpu.is_superchip_by_name();
        let power = architecture.is_some_and(|name| name.starts_with("ppc64"));
        let drivers_node = |gpu: &Found| driver_files::nvidia_memory_node(root?, gpu.pci);
        Self {
            drivers_nodes: gpus.iter().filter_map(drivers_node).collect(),
            gpus_show_memory: gpus.iter().any(|gpu| gpu.vendor_id == NVIDIA && (power || superchip(gpu))),
        }
    }
}

/// hwloc's nodes.
pub(crate) fn raw(hwloc: &Hwloc) -> Vec<RawNode> {
    let allowed = ids(hwloc.allowed_nodeset());
    let node = |object: &hwlocality::object::TopologyObject| {
        let os_index = os_index(object)?;
        let total_bytes = match object.attributes() {
            Some(ObjectAttributes::NUMANode(memory)) => memory.local_memory().map_or(0, u64::from),
            _ => 0,
        };
        Some(RawNode {
            os_index,
            total_bytes,
            pus: pus_of(object),
            complete_pus: object.complete_cpuset().map(ids).unwrap_or_default(),
            allowed: allowed.contains(os_index),
            subtype: object.subtype().map(text).filter(|subtype| !subtype.is_empty()),
            ..RawNode::default()
        })
    };

    hwloc.objects_with_type(ObjectType::NUMANode).filter_map(node).collect()
}

/// The model's nodes, by OS index.
pub(crate) fn classify(mut raw: Vec<RawNode>, packages: &[IdSet], evidence: &Evidence) -> Vec<NumaNode> {
    raw.sort_by_key(|node| node.os_index);
    let owners = owners(&raw, packages);
    // Some files hold no memory sizes at all: then nothing follows from a size of 0.
    let sizes_known = raw.iter().any(|node| node.total_bytes > 0);
    let kind = |node: &RawNode| {
        let has_cpus = match &node.kernel_pus {
            Some(pus) => !pus.is_empty(),
            None => owners.contains(&node.os_index),
        };
        let has_memory = node.total_bytes > 0 || !sizes_known;
        let gpus = node.subtype.as_deref() == Some("GPUMemory")
            || evidence.drivers_nodes.contains(&node.os_index)
            || (evidence.gpus_show_memory && node.subtype.is_none());
        match (has_memory, has_cpus) {
            (true, true) => NodeKind::Normal,
            (true, false) if gpus => NodeKind::GpuMemory,
            (true, false) => NodeKind::MemoryOnly,
            (false, true) => NodeKind::CpuOnly,
            (false, false) => NodeKind::Empty,
        }
    };

    let node = |node: &RawNode| NumaNode {
        os_index: node.os_index,
        kind: kind(node),
        total_bytes: node.total_bytes,
        free_bytes: node.free_bytes,
        pus: own_pus(node),
        allowed: node.allowed,
        subtype: node.subtype.clone(),
        // hwloc gives a node without CPUs those around it: where there are none either, they were left out.
        cpus_not_shown: kind(node) == NodeKind::MemoryOnly
            && node.kernel_pus.is_none()
            && node.pus.is_empty()
            && node.complete_pus.is_empty(),
    };
    raw.iter().map(node).collect()
}

/// The node's own PUs where the kernel lists some, else hwloc's: those around it. What hwloc leaves out
/// (offline, another cgroup's) stays out.
fn own_pus(node: &RawNode) -> IdSet {
    match &node.kernel_pus {
        Some(listed) if !listed.is_empty() && node.pus.is_empty() => listed.clone(),
        Some(listed) if !listed.and(&node.pus).is_empty() => listed.and(&node.pus),
        _ => node.pus.clone(),
    }
}

/// The nodes that have CPUs of their own, as far as a file says; of nodes that may be cut across packages,
/// all.
fn owners(raw: &[RawNode], packages: &[IdSet]) -> BTreeSet<u32> {
    // A node whose CPUs are all hidden or offline still has them: its complete set speaks where its set is
    // empty.
    let around =
        |node: &'_ RawNode| if node.pus.is_empty() { node.complete_pus.clone() } else { node.pus.clone() };
    let mut nearest: BTreeMap<u32, (usize, u32)> = BTreeMap::new();

    for node in raw {
        let around = around(node);
        let rank = (around.len(), node.os_index);
        for pu in around.iter() {
            let best = nearest.entry(pu).or_insert(rank);
            *best = rank.min(*best);
        }
    }

    let mut owners: BTreeSet<u32> = nearest.into_values().map(|(_, node)| node).collect();
    let may_be_cut = |pus: &IdSet| packages.iter().filter(|package| package.is_subset(pus)).count() > 1;
    let is_named = |node: &RawNode| node.subtype.is_some();

    for own in raw.iter().filter(|node| owners.contains(&node.os_index)).map(around).collect::<Vec<_>>() {
        if may_be_cut(&own) {
            owners.extend(
                raw.iter().filter(|node| around(node) == own && !is_named(node)).map(|node| node.os_index),
            );
        }
    }
    owners
}

/// The nodes local to a PU, most specific first: its own, then those attached around it; none where it may
/// belong to one of several.
pub(crate) fn of_pu(nodes: &[NumaNode], pu: u32) -> Vec<u32> {
    let mut local: Vec<&NumaNode> = nodes.iter().filter(|node| node.pus.contains(pu)).collect();
    local.sort_by_key(|node| (!node.kind.has_cpus(), node.pus.len(), node.os_index));
    if let [first, second, ..] = local.as_slice()
        && second.kind.has_cpus()
        && first.pus == second.pus
    {
        return Vec::new();
    }
    local.into_iter().map(|node| node.os_index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(os_index: u32, gib: u64, pus: &str, subtype: Option<&str>) -> RawNode {
        let pus: IdSet = pus.parse().unwrap_or_default();
        RawNode {
            os_index,
            total_bytes: gib << 30,
            free_bytes: None,
            complete_pus: pus.clone(),
            pus,
            kernel_pus: None,
            allowed: true,
            subtype: subtype.map(str::to_owned),
        }
    }

    fn kinds(raw: Vec<RawNode>, gpus_show_memory: bool) -> Vec<(u32, NodeKind)> {
        let evidence = Evidence { drivers_nodes: BTreeSet::new(), gpus_show_memory };
        classify(raw, &[], &evidence).iter().map(|node| (node.os_index, node.kind)).collect()
    }

    #[test]
    fn of_two_nodes_around_the_same_pus_the_lower_has_them() {
        let knl = vec![node(1, 16, "0-63", Some("MCDRAM")), node(0, 96, "0-63", None)];
        assert_eq!(kinds(knl, false), [(0, NodeKind::Normal), (1, NodeKind::MemoryOnly)]);
    }

    #[test]
    fn a_gpus_memory_is_named_by_subtype_or_by_the_kind_of_machine() {
        let named = vec![node(0, 120, "0-71", None), node(4, 96, "0-71", Some("GPUMemory"))];
        assert_eq!(kinds(named, false), [(0, NodeKind::Normal), (4, NodeKind::GpuMemory)]);
        let unnamed = || vec![node(0, 256, "8-87", None), node(255, 16, "", None)];
        assert_eq!(kinds(unnamed(), true), [(0, NodeKind::Normal), (255, NodeKind::GpuMemory)]);
        assert_eq!(kinds(unnamed(), false), [(0, NodeKind::Normal), (255, NodeKind::MemoryOnly)]);
    }

    #[test]
    fn a_node_with_nothing_is_empty_and_one_without_memory_is_cpu_only() {
        let nodes = vec![node(0, 1, "0-1", None), node(3, 0, "6-7", None), node(5, 0, "", None)];
        assert_eq!(
            kinds(nodes, false),
            [(0, NodeKind::Normal), (3, NodeKind::CpuOnly), (5, NodeKind::Empty)]
        );
    }

    #[test]
    fn where_a_file_has_no_sizes_no_node_is_said_to_lack_memory() {
        assert_eq!(kinds(vec![node(0, 0, "0-3", None)], false), [(0, NodeKind::Normal)]);
    }

    #[test]
    fn a_node_with_no_cpus_even_around_it_may_have_some_that_a_file_leaves_out() {
        let shown = |nodes: Vec<RawNode>| -> Vec<bool> {
            classify(nodes, &[], &NONE).iter().map(|node| node.cpus_not_shown).collect()
        };
        assert_eq!(shown(vec![node(0, 1, "0-3", None), node(1, 1, "", None)]), [false, true]);
        assert_eq!(shown(vec![node(0, 1, "0-3", None), node(1, 1, "0-3", None)]), [false, false], "HBM");
        let mut told = node(1, 1, "", None);
        told.kernel_pus = Some(IdSet::default());
        assert_eq!(shown(vec![node(0, 1, "0-3", None), told]), [false, false], "the kernel says none");
    }

    #[test]
    fn hidden_cpus_are_still_cpus() {
        let mut hidden = node(1, 16, "", None);
        hidden.complete_pus = [4, 5].into_iter().collect();
        assert_eq!(
            kinds(vec![node(0, 16, "0-3", None), hidden], false),
            [(0, NodeKind::Normal), (1, NodeKind::Normal)]
        );
    }

    #[test]
    fn a_pus_own_node_comes_before_the_memory_around_it() {
        let nodes = classify(
            vec![node(0, 1, "0-3", None), node(1, 1, "4-7", None), node(2, 1, "0-7", None)],
            &[],
            &Evidence { drivers_nodes: BTreeSet::new(), gpus_show_memory: false },
        );
        assert_eq!(of_pu(&nodes, 5), [1, 2]);
        assert_eq!(of_pu(&nodes, 9), Vec::<u32>::new());
    }

    const NONE: Evidence = Evidence { drivers_nodes: BTreeSet::new(), gpus_show_memory: false };

    fn set(text: &str) -> IdSet {
        text.parse().unwrap_or_default()
    }

    #[test]
    fn nodes_that_are_cut_across_packages_have_the_cpus_that_the_kernel_lists() {
        let mut both = vec![node(0, 8, "0-7", None), node(1, 8, "0-7", None)];
        both[0].kernel_pus = Some(set("0-1,4-5"));
        both[1].kernel_pus = Some(set("2-3,6-7,9"));
        let nodes = classify(both, &[set("0-3"), set("4-7")], &NONE);
        assert_eq!(
            (nodes[0].pus.to_string(), nodes[1].pus.to_string()),
            ("0-1,4-5".to_owned(), "2-3,6-7".to_owned())
        );
        assert_eq!((of_pu(&nodes, 6), of_pu(&nodes, 4)), (vec![1], vec![0]));
    }

    #[test]
    fn where_a_file_does_not_say_how_nodes_are_cut_all_have_cpus_and_no_pu_has_a_node() {
        let both = || vec![node(0, 8, "0-7", None), node(1, 8, "0-7", None)];
        let nodes = classify(both(), &[set("0-3"), set("4-7")], &NONE);
        assert!(nodes.iter().all(|node| node.kind == NodeKind::Normal));
        assert_eq!(of_pu(&nodes, 6), Vec::<u32>::new());
        let one_package = classify(both(), &[set("0-7")], &NONE);
        assert_eq!(of_pu(&one_package, 6), [0, 1]);
    }
}
