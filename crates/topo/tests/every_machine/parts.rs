//! Packages, NUMA nodes, caches, cores and PUs, what of them may be used, and what is said of the process: as
//! the file says.

use stats::IdSet;
use stats::printable;
use topo::model::{Core, Distances, L3, NodeKind, NumaNode, Package, PuStatus};
use topo::{HugePages, Survey};

use crate::file::{MachineAndFile, Object, Outcome, each, field, info, number, set};

/// The nodes that are something else than memory and CPUs.
const OTHER_NODES: [(&str, &str, NodeKind); 7] = [
    ("knl", "4-7", NodeKind::MemoryOnly),
    ("gh200-quad", "4,12,20,28", NodeKind::GpuMemory),
    ("gh200-quad", "5-11,13-19,21-27,29-35", NodeKind::Empty),
    ("power9", "252-255", NodeKind::GpuMemory),
    ("superchips", "1,3", NodeKind::GpuMemory),
    ("memory-apart", "1", NodeKind::CpuOnly),
    ("memory-apart", "2-3", NodeKind::MemoryOnly),
];

fn kind(machine: &MachineAndFile<'_>, node: u32) -> Result<NodeKind, Box<dyn std::error::Error>> {
    for (name, nodes, kind) in OTHER_NODES {
        if name == machine.name && nodes.parse::<IdSet>()?.contains(node) {
            return Ok(kind);
        }
    }
    Ok(NodeKind::Normal)
}

const STATUS: &str = "/proc/self/status";

/// The nodes of the file, and those that only the kernel's files in it show.
fn nodes(machine: &MachineAndFile<'_>) -> Result<Vec<NumaNode>, Box<dyn std::error::Error>> {
    let in_xml: Vec<Object<'_>> = machine.objects("NUMANode").collect();
    let mut all: IdSet = in_xml.iter().filter_map(|node| number(*node, "os_index")).collect();
    all = all.or(&machine.kept_ids("/sys/devices/system/node/online", None).unwrap_or_default());
    let mems = machine.kept_ids(STATUS, Some("Mems_allowed_list"));
    let mut nodes = Vec::new();
    for id in all.iter() {
        let object = in_xml.iter().find(|node| number(**node, "os_index") == Some(id)).copied();
        let meminfo = machine.kept(&format!("/sys/devices/system/node/node{id}/meminfo"));
        let kept = |key: &str| -> Option<u64> {
            let kib: u64 = field(meminfo?, &format!("Node {id} {key}"))?.strip_suffix(" kB")?.parse().ok()?;
            Some(kib * 1024)
        };
        let in_cpuset = object.is_none() || set(machine.root, "allowed_nodeset").contains(id);
        let kind = kind(machine, id)?;
        let around = object.map(|node| set(node, "cpuset")).unwrap_or_default();
        nodes.push(NumaNode {
            os_index: id,
            kind,
            total_bytes: kept("MemTotal")
                .or(number(object.unwrap_or(machine.root), "local_memory"))
                .unwrap_or(0),
            free_bytes: kept("MemFree"),
            cpus_not_shown: kind == NodeKind::MemoryOnly && around.is_empty(),
            pus: around,
            allowed: in_cpuset && mems.as_ref().is_none_or(|mems| mems.contains(id)),
            subtype: object.and_then(|node| node.attribute("subtype")).map(printable::name),
        });
    }
    Ok(nodes)
}

#[test]
fn each_numa_node_has_the_memory_the_pus_and_the_kind_that_its_file_says() -> Outcome {
    each(|machine| {
        assert_eq!(machine.survey.topology.nodes, nodes(machine)?, "{}", machine.name);
        Ok(())
    })
}

#[test]
fn each_package_l3_and_core_is_listed_once_with_its_pus() -> Outcome {
    each(|machine| {
        let (topology, name) = (&machine.survey.topology, machine.name);
        let of_machine = info(machine.root, "CPUModel");
        let mut packages: Vec<Package> = machine
            .objects("Package")
            .map(|package| Package {
                os_index: number(package, "os_index"),
                cpu_model: info(package, "CPUModel").or(of_machine).map(printable::name),
                pus: set(package, "cpuset"),
                nodes: set(package, "nodeset"),
            })
            .collect();
        packages.sort_by_key(|package| package.os_index);
        assert_eq!(topology.packages, packages, "{name}");
        let mut l3s: Vec<L3> = machine
            .objects("L3Cache")
            .map(|l3| L3 {
                os_index: number(l3, "os_index"),
                size_bytes: number(l3, "cache_size"),
                pus: set(l3, "cpuset"),
            })
            .collect();
        l3s.sort_by_key(|l3| l3.pus.first());
        assert_eq!(topology.l3s, l3s, "{name}");
        let mut cores: Vec<Core> = machine
            .objects("Core")
            .map(|core| Core { os_index: number(core, "os_index"), pus: set(core, "cpuset") })
            .collect();
        cores.sort_by_key(|core| core.pus.first());
        assert_eq!(topology.cores, cores, "{name}");
        Ok(())
    })
}

#[test]
fn each_pu_is_listed_once_with_its_nodes_and_whether_it_may_be_used() -> Outcome {
    each(|machine| {
        let (topology, name) = (&machine.survey.topology, machine.name);
        let (online, complete) = (set(machine.root, "cpuset"), set(machine.root, "complete_cpuset"));
        let in_xml: IdSet = machine.objects("PU").filter_map(|pu| number(pu, "os_index")).collect();
        assert_eq!(in_xml, online, "{name}: the file agrees with itself");
        let in_cgroup = set(machine.root, "allowed_cpuset").and(&online);
        let affinity =
            machine.kept_ids(STATUS, Some("Cpus_allowed_list")).unwrap_or_else(|| in_cgroup.clone());
        let status = |pu: u32| match (online.contains(pu), in_cgroup.contains(pu), affinity.contains(pu)) {
            (false, ..) => PuStatus::Offline,
            (_, false, _) => PuStatus::NotInCgroup,
            (.., false) => PuStatus::NotInAffinity,
            _ => PuStatus::Allowed,
        };
        let listed: Vec<(u32, PuStatus)> = topology.pus.iter().map(|pu| (pu.os_index, pu.status)).collect();
        assert_eq!(listed, complete.iter().map(|pu| (pu, status(pu))).collect::<Vec<_>>(), "{name}");
        let nodes = nodes(machine)?;
        for pu in &topology.pus {
            let mut around: Vec<&NumaNode> =
                nodes.iter().filter(|node| node.pus.contains(pu.os_index)).collect();
            around.sort_by_key(|node| {
                let own = matches!(node.kind, NodeKind::Normal | NodeKind::CpuOnly);
                (!own, node.pus.len(), node.os_index)
            });
            let around: Vec<u32> = around.iter().map(|node| node.os_index).collect();
            assert_eq!(pu.nodes, around, "PU {} of {name}", pu.os_index);
        }
        let with = |wanted: PuStatus| complete.iter().filter(|pu| status(*pu) == wanted).collect::<IdSet>();
        let allowed = &topology.allowed;
        assert_eq!(allowed.pus, with(PuStatus::Allowed), "{name}");
        assert_eq!(allowed.offline_pus, with(PuStatus::Offline), "{name}");
        assert_eq!(allowed.not_in_cgroup_pus, with(PuStatus::NotInCgroup), "{name}");
        assert_eq!(allowed.not_in_affinity_pus, with(PuStatus::NotInAffinity), "{name}");
        let usable: IdSet = nodes.iter().filter(|node| node.allowed).map(|node| node.os_index).collect();
        let there: IdSet = nodes.iter().map(|node| node.os_index).collect();
        assert_eq!(allowed.nodes, usable, "{name}");
        assert_eq!(
            allowed.missing_nodes,
            there.or(&set(machine.root, "complete_nodeset")).minus(&usable),
            "{name}"
        );
        Ok(())
    })
}

/// The latencies of the file, else those of the kernel's files in it.
fn distances(machine: &MachineAndFile<'_>) -> Option<Distances> {
    let words =
        |text: &str| text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
    let nodes: Vec<u32> = machine.survey.topology.nodes.iter().map(|node| node.os_index).collect();
    let file = |node: &u32| machine.kept(&format!("/sys/devices/system/node/node{node}/distance")).map(words);
    if let Some(rows) = nodes.iter().map(file).collect() {
        return Some(Distances { nodes, rows });
    }
    let matrices = machine.root.parent()?.children().filter(|node| node.has_tag_name("distances2"));
    let matrix = matrices.into_iter().find(|matrix| matrix.attribute("name") == Some("NUMALatency"))?;
    let of = |tag: &str| -> Vec<u64> {
        matrix
            .children()
            .filter(|part| part.has_tag_name(tag))
            .filter_map(|part| part.text())
            .flat_map(words)
            .collect()
    };
    let nodes: Vec<u32> = of("indexes").into_iter().filter_map(|node| u32::try_from(node).ok()).collect();
    let rows = of("u64values").chunks(nodes.len()).map(<[u64]>::to_vec).collect();
    Some(Distances { nodes, rows })
}

#[test]
fn the_distances_are_the_matrix_of_the_file() -> Outcome {
    each(|machine| {
        assert_eq!(machine.survey.topology.distances, distances(machine), "{}", machine.name);
        Ok(())
    })
}

#[test]
fn huge_pages_slow_cores_and_the_host_are_those_of_the_file() -> Outcome {
    each(|machine| {
        let (topology, name) = (&machine.survey.topology, machine.name);
        assert_eq!(machine.survey.huge_pages, huge_pages(machine), "{name}");
        let kinds = machine.root.parent().into_iter().flat_map(|top| top.children());
        let kinds = kinds.filter(|node| node.has_tag_name("cpukind"));
        let small = kinds.filter(|kind| info(*kind, "CoreType").is_some_and(|kind| kind != "IntelCore"));
        let small = small.fold(IdSet::default(), |all, kind| all.or(&set(kind, "cpuset")));
        let slow = topology.slow.as_ref().map(|slow| slow.pus.clone()).unwrap_or_default();
        assert_eq!(slow, small, "{name}");
        assert!(
            topology.slow.as_ref().is_none_or(|slow| slow.reason == "IntelAtom beside IntelCore"),
            "{name}"
        );
        let host = machine.kept("/proc/sys/kernel/hostname").or_else(|| info(machine.root, "HostName"));
        assert_eq!(topology.hostname, host.map(printable::name), "{name}");
        Ok(())
    })
}

/// The pages that are not of the node's smallest size; in a saved file the kernel's own counts.
fn huge_pages(machine: &MachineAndFile<'_>) -> Vec<HugePages> {
    let mut all = Vec::new();
    for path in machine.kept_paths().filter_map(|path| path.strip_suffix("/nr_hugepages")) {
        let parts = || {
            let (node, size) =
                path.strip_prefix("/sys/devices/system/node/node")?.split_once("/hugepages/hugepages-")?;
            let count = |file: &str| machine.kept(&format!("{path}/{file}"))?.parse().ok();
            let kib: u64 = size.strip_suffix("kB")?.parse().ok()?;
            let (page_bytes, total) = (kib * 1024, count("nr_hugepages")?);
            Some(HugePages { node: node.parse().ok()?, page_bytes, total, free: count("free_hugepages") })
        };
        all.extend(parts());
    }
    for object in machine.objects("NUMANode").filter(|_| !machine.is_saved()) {
        let pages = object.children().filter(|node| node.has_tag_name("page_type"));
        let mut pages: Vec<(u64, u64)> =
            pages.filter_map(|pages| Some((number(pages, "size")?, number(pages, "count")?))).collect();
        pages.sort_unstable();
        let Some(node) = number(object, "os_index") else { continue };
        all.extend(pages.into_iter().skip(1).map(|(page_bytes, total)| HugePages {
            node,
            page_bytes,
            total,
            free: None,
        }));
    }
    all.sort();
    all
}

#[test]
fn what_the_process_is_bound_to_is_said_where_the_file_keeps_it() -> Outcome {
    each(|machine| {
        let (survey, name) = (machine.survey, machine.name);
        assert_eq!(survey.process.is_some(), machine.is_saved(), "{name}");
        assert!(survey.step.is_none() && survey.settings.is_empty(), "{name}");
        let Some(process) = &survey.process else { return Ok(()) };
        assert_eq!(process.affinity, machine.kept_ids(STATUS, Some("Cpus_allowed_list")), "{name}");
        assert_eq!(process.memory_nodes, machine.kept_ids(STATUS, Some("Mems_allowed_list")), "{name}");
        let policy = machine.kept("/proc/self/numa_maps").and_then(|maps| maps.split_whitespace().nth(1));
        let (mode, nodes) = policy.map_or((None, ""), |policy| {
            let (mode, nodes) = policy.split_once(':').unwrap_or((policy, ""));
            (Some(mode), nodes)
        });
        assert_eq!(process.policy.mode.map(topo::process::PolicyMode::word), mode, "{name}");
        assert_eq!(process.policy.nodes, nodes.parse()?, "{name}");
        Ok(())
    })
}

#[test]
fn json_read_back_is_what_was_written() -> Outcome {
    each(|machine| {
        let written = serde_json::to_string(machine.survey)?;
        assert_eq!(&serde_json::from_str::<Survey>(&written)?, machine.survey, "{}", machine.name);
        Ok(())
    })
}
