//! hwloc's objects as the model, in the ids of the operating system.
//!
//! The same way for a machine and a file; a machine brings its file-system root too, and with it what the
//! kernel says beyond hwloc: affinity, free memory, nodes that hwloc leaves out, each device's `numa_node`.
//! hwloc's logical indices stay here.

use std::collections::BTreeSet;

use hwlocality::Topology as Hwloc;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::distance::DistancesKind;
use hwlocality::object::types::ObjectType;
use stats::IdSet;

use crate::TopoError;
use crate::bitmap::ids;
use crate::cgroup;
use crate::check::check_ids;
use crate::devices;
use crate::fs_root::{FsRoot, value_of};
use crate::gpu_class::NVIDIA;
use crate::huge_pages;
use crate::hwloc_object::{info, nodes_of, os_index, pus_of};
use crate::identity;
use crate::interconnect;
use crate::kernel_nodes;
use crate::kfd;
use crate::load;
use crate::locality::Surroundings;
use crate::memory_limits::{STATUS_LINES, memory_limits};
use crate::model::{Allowed, Core, Distances, L3, NumaNode, Package, Pu, PuStatus, Topology, TopologySource};
use crate::nics;
use crate::nodes;
use crate::nvml::{self, Nvml};
use crate::nvml_locality;
use crate::process::process;
use crate::settings;
use crate::slow_cores;
use crate::step;
use crate::survey::Survey;
use crate::visibility;
use stats::printable;

/// Whether NVIDIA's management library may be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NvmlUse {
    /// No: what is shown does not need it.
    Untouched,
    /// Yes, if there is a GPU of its vendor.
    Asked,
}

/// All that is shown of what hwloc loaded; `root` as in [`model`].
///
/// # Errors
/// [`TopoError::Inconsistent`].
pub(crate) fn survey(
    hwloc: &Hwloc,
    source: TopologySource,
    root: Option<&FsRoot>,
    drivers: NvmlUse,
) -> Result<Survey, TopoError> {
    check_ids(hwloc)?;
    let topology = model(hwloc, source, load::hwloc_version(), root);
    topology.check()?;
    let around = surroundings(hwloc, &topology, root);
    let nics = nics::nics(hwloc, &around, root);
    let huge_pages = huge_pages::reserved(hwloc, &topology, root);

    let has_nvidia = topology.gpus.iter().any(|gpu| gpu.vendor_id == NVIDIA);
    let nvml = match root {
        Some(root) if has_nvidia && drivers == NvmlUse::Asked => nvml::asked(root),
        Some(root) => nvml::kept(root),
        None => Nvml::NotAsked,
    };
    let kfd = root.map(kfd::gpus).unwrap_or_default();
    let said = interconnect::Drivers { nvml: &nvml, kfd: &kfd };
    let interconnect = interconnect::interconnect(hwloc, &topology, &around, &said, root);
    let is_here = topology.source == TopologySource::ThisSystem;
    let visible = |root| {
        let kfd = if is_here { step::open_agents(root) } else { kfd.clone() };
        visibility::visibility(&topology, &nvml, &kfd, &visibility::variables(root))
    };
    let visibility = root.map(visible).unwrap_or_default();
    let identities = identity::identities(hwloc, &topology, &nvml, &visibility, root);
    let process = root.map(process);
    let settings = root.map(settings::kept).unwrap_or_default();
    let virtual_machine = around.virtual_machine.clone();
    Ok(Survey {
        topology,
        virtual_machine,
        huge_pages,
        nics,
        process,
        step: None,
        interconnect,
        identities,
        visibility,
        settings,
    })
}

/// The model of what hwloc loaded. `root` is this machine's, or what a saved file holds of one; `None` for a
/// file of lstopo's.
pub(crate) fn model(
    hwloc: &Hwloc,
    source: TopologySource,
    hwloc_version: String,
    root: Option<&FsRoot>,
) -> Topology {
    let found = devices::gpus(hwloc, root);
    let mut raw_nodes = nodes::raw(hwloc);
    let mut distances = distances(hwloc);
    if let Some(root) = root {
        kernel_nodes::complete(root, &mut raw_nodes, &mut distances);
    }
    let architecture = info(hwloc.root_object(), "Architecture");
    let packages = packages(hwloc);
    let of_packages: Vec<IdSet> = packages.iter().map(|package| package.pus.clone()).collect();
    let evidence = nodes::Evidence::of(architecture.as_deref(), &found, root);
    let mut nodes = nodes::classify(raw_nodes, &of_packages, &evidence);

    let pus = ids(hwloc.cpuset());
    let status =
        root.and_then(|root| root.lines("/proc/self/status", &STATUS_LINES).ok()).unwrap_or_default();
    let mut allowed = allowed(
        hwloc,
        &pus,
        &nodes,
        &status,
        root.and_then(|root| cgroup::cpus(root).ok()).map(|(set, _)| set),
    );
    allowed.memory_limits = root.map(|root| memory_limits(root, &status)).unwrap_or_default();
    for node in &mut nodes {
        node.allowed = allowed.nodes.contains(node.os_index);
    }
    let mut topology = Topology {
        source,
        hostname: hostname(hwloc, root),
        hwloc_version,
        packages,
        pus: pu_list(&pus, &allowed, &nodes),
        nodes,
        distances,
        l3s: l3s(hwloc),
        cores: cores(hwloc),
        allowed,
        gpus: Vec::new(),
        slow: slow_cores::slow_cores(hwloc),
    };
    topology.gpus = devices::listed(found, &surroundings(hwloc, &topology, root), root);
    if let Some(root) = root.filter(|_| nvml_locality::is_needed(&topology)) {
        nvml_locality::complete(&mut topology, &nvml::asked(root));
    }
    topology
}

/// What the locality of its devices is judged by.
fn surroundings<'t>(hwloc: &Hwloc, topology: &'t Topology, root: Option<&FsRoot>) -> Surroundings<'t> {
    Surroundings {
        topology,
        board: info(hwloc.root_object(), "DMIBoardName"),
        hidden_nodes: topology.allowed.missing_nodes.iter().any(|node| topology.node(node).is_none()),
        virtual_machine: devices::virtual_machine(hwloc, root),
    }
}

fn hostname(hwloc: &Hwloc, root: Option<&FsRoot>) -> Option<String> {
    root.and_then(kernels_hostname)
        .or_else(|| info(hwloc.root_object(), "HostName"))
        .filter(|name| is_set(name))
}

/// The name of this machine, whatever machine is looked at.
pub fn this_hostname() -> Option<String> {
    kernels_hostname(&FsRoot::default()).filter(|name| is_set(name))
}

fn kernels_hostname(root: &FsRoot) -> Option<String> {
    root.text("/proc/sys/kernel/hostname").ok().map(|name| printable::name(&name))
}

/// Not the kernel's word where nobody set one.
fn is_set(name: &str) -> bool {
    name != "(none)"
}

fn packages(hwloc: &Hwloc) -> Vec<Package> {
    let mut packages: Vec<Package> = hwloc
        .objects_with_type(ObjectType::Package)
        .map(|package| Package {
            os_index: os_index(package),
            cpu_model: info(package, "CPUModel").or_else(|| info(hwloc.root_object(), "CPUModel")),
            pus: pus_of(package),
            nodes: nodes_of(package),
        })
        .collect();
    packages.sort_by_key(|package| (package.os_index, package.pus.first()));
    packages
}

fn l3s(hwloc: &Hwloc) -> Vec<L3> {
    let mut l3s: Vec<L3> = hwloc
        .objects_with_type(ObjectType::L3Cache)
        .map(|l3| L3 {
            os_index: os_index(l3),
            size_bytes: match l3.attributes() {
                Some(ObjectAttributes::Cache(cache)) => cache.size().map(u64::from),
                _ => None,
            },
            pus: pus_of(l3),
        })
        .filter(|l3| !l3.pus.is_empty())
        .collect();
    l3s.sort_by_key(|l3| l3.pus.first());
    l3s
}

fn cores(hwloc: &Hwloc) -> Vec<Core> {
    let mut cores: Vec<Core> = hwloc
        .objects_with_type(ObjectType::Core)
        .map(|core| Core { os_index: os_index(core), pus: pus_of(core) })
        .filter(|core| !core.pus.is_empty())
        .collect();
    if cores.is_empty() {
        // No cores described: each PU stands for itself, or no default placement could be had.
        let pus = hwloc.objects_with_type(ObjectType::PU);
        cores = pus.map(|pu| Core { os_index: None, pus: pus_of(pu) }).collect();
    }
    cores.sort_by_key(|core| core.pus.first());
    cores
}

/// The firmware's latency matrix, by ascending OS index. Other matrices (bandwidths, NVLink) are not
/// distances.
fn distances(hwloc: &Hwloc) -> Option<Distances> {
    let named = hwloc.distances_with_name("NUMALatency").unwrap_or_default();
    let latencies = || hwloc.distances_with_type(Some(DistancesKind::MEANS_LATENCY), ObjectType::NUMANode);
    let matrices = if named.is_empty() { latencies().unwrap_or_default() } else { named };
    let matrix = matrices.first()?;
    let mut order: Vec<(u32, usize)> = Vec::new();
    for (at, object) in matrix.objects().enumerate() {
        let node = object.filter(|object| object.object_type() == ObjectType::NUMANode)?;
        order.push((os_index(node)?, at));
    }
    order.sort_unstable();
    let values = matrix.distances();
    let row =
        |from: usize| order.iter().map(|(_, to)| values.get(from * order.len() + to).copied()).collect();
    let rows: Option<Vec<Vec<u64>>> = order.iter().map(|(_, from)| row(*from)).collect();
    Some(Distances { nodes: order.iter().map(|(node, _)| *node).collect(), rows: rows? })
}

/// Affinity ∩ cgroup cpuset ∩ online. hwloc knows the cgroup's cpuset where its path can be followed as it
/// is; taskset's mask it does not know, nor the memory nodes of a cgroup whose files are not mounted: both
/// are in `status`, the text of `/proc/self/status` (empty for a file). `cpuset` is what our own look at the
/// cgroup found.
fn allowed(
    hwloc: &Hwloc,
    online: &IdSet,
    nodes: &[NumaNode],
    status: &str,
    cpuset: Option<IdSet>,
) -> Allowed {
    let list = |key| value_of(status, key).and_then(|list| list.parse::<IdSet>().ok());
    let affinity = list("Cpus_allowed_list");
    let mut in_cgroup = ids(hwloc.allowed_cpuset()).and(online);
    if let Some(cpuset) = cpuset {
        // The kernel's word counts more: a PU that it lets this process run on is in the cpuset, whatever was
        // found.
        in_cgroup =
            in_cgroup.and(&affinity.as_ref().map_or_else(|| cpuset.clone(), |affinity| cpuset.or(affinity)));
    }

    let pus = match affinity {
        Some(affinity) => in_cgroup.and(&affinity),
        None => in_cgroup.clone(),
    };
    let there: IdSet = nodes.iter().map(|node| node.os_index).collect();
    let may_allocate: IdSet = nodes.iter().filter(|node| node.allowed).map(|node| node.os_index).collect();
    let allowed_nodes = match list("Mems_allowed_list") {
        Some(mems) => may_allocate.and(&mems),
        None => may_allocate,
    };

    Allowed {
        offline_pus: ids(hwloc.complete_cpuset()).minus(online),
        not_in_cgroup_pus: online.minus(&in_cgroup),
        not_in_affinity_pus: in_cgroup.minus(&pus),
        missing_nodes: there.or(&ids(hwloc.complete_nodeset())).minus(&allowed_nodes),
        nodes: allowed_nodes,
        pus,
        memory_limits: Vec::new(),
    }
}

/// The PUs with whether they may be used, by OS index.
pub(crate) fn pu_list(online: &IdSet, allowed: &Allowed, nodes: &[NumaNode]) -> Vec<Pu> {
    let every: BTreeSet<u32> = online.or(&allowed.offline_pus).0;
    let pu = |os_index: u32| {
        let status = if allowed.pus.contains(os_index) {
            PuStatus::Allowed
        } else if allowed.offline_pus.contains(os_index) {
            PuStatus::Offline
        } else if allowed.not_in_cgroup_pus.contains(os_index) {
            PuStatus::NotInCgroup
        } else {
            PuStatus::NotInAffinity
        };
        Pu { os_index, status, nodes: nodes::of_pu(nodes, os_index) }
    };
    every.into_iter().map(pu).collect()
}
