//! The default view and what it shares with others: the machine in numbers, its places with what is near
//! each, GPUs, adapters, and what may not be used. Written a second time here, from the model, and compared
//! line by line.

use stats::IdSet;
use stats::units::rounded_size;
use topo::model::{Gpu, Locality, NodeKind, NumaNode, Rung, Topology, TopologySource};
use topo::{Nic, Survey, text};

use crate::file::{Outcome, each};
use crate::page::{WIDE, cut, listed, section, table, with_noun};
use crate::words::{gpu_name, known_from, link_words, near_nodes, nic_name, other_link};

fn has_cpus(node: &NumaNode) -> bool {
    matches!(node.kind, NodeKind::Normal | NodeKind::CpuOnly)
}

#[test]
fn each_view_begins_with_the_host_and_what_it_has_in_numbers() -> Outcome {
    each(|machine| {
        let topology = &machine.survey.topology;
        let online = topology.pus.len() - topology.allowed.offline_pus.len();
        let counts = [
            with_noun(topology.packages.len(), "package"),
            with_noun(topology.nodes.len(), "NUMA node"),
            with_noun(topology.cores.len(), "core"),
            with_noun(online, "PU"),
            with_noun(topology.gpus.len(), "GPU"),
        ];
        let host = topology.hostname.as_deref().unwrap_or("(host name not known)");
        let first = format!("{host}: {}", counts.join(", "));
        let TopologySource::XmlFile { path } = &topology.source else {
            return Err("read from no file".into());
        };
        let second = format!("read from {path} with hwloc {}", topology.hwloc_version);
        for view in [text::render(machine.survey, WIDE), text::numa(machine.survey, WIDE)] {
            assert_eq!(view.lines().next(), Some(&*first), "{}", machine.name);
            assert_eq!(view.lines().nth(1), Some(&*second), "{}", machine.name);
        }
        Ok(())
    })
}

/// Packages with their nodes, the nodes' L3s and devices, and the nodes of no package.
fn places(survey: &Survey) -> Vec<String> {
    let topology = &survey.topology;
    let mut lines = Vec::new();
    let mut left: Vec<&NumaNode> = topology.nodes.iter().collect();
    for package in &topology.packages {
        let id = package.os_index.map_or("?".to_owned(), |id| id.to_string());
        lines.push(format!(
            "package {id}   {}",
            package.cpu_model.as_deref().unwrap_or("CPU model not known")
        ));
        let (inside, others): (Vec<&NumaNode>, Vec<&NumaNode>) = left
            .into_iter()
            .partition(|node| package.nodes.contains(node.os_index) && node.pus.is_subset(&package.pus));
        lines.extend(inside.into_iter().flat_map(|node| node_lines(survey, node)));
        left = others;
        lines.extend(l3_line(topology, "  ", &package.pus, false));
        if let Some(slow) = &topology.slow {
            lines.push(format!("  slower cores: PUs {} ({})", listed(&slow.pus), slow.reason));
        }
    }
    let (spare, rest): (Vec<&NumaNode>, Vec<&NumaNode>) =
        left.into_iter().partition(|node| node.kind == NodeKind::Empty);
    lines.extend((spare.len() + rest.len() > 0).then(|| "in no package".to_owned()));
    lines.extend(rest.into_iter().flat_map(|node| node_lines(survey, node)));
    let spare: IdSet = spare.iter().map(|node| node.os_index).collect();
    lines
        .extend((!spare.is_empty()).then(|| format!("  nodes {}   neither memory nor CPUs", listed(&spare))));
    lines
}

fn node_lines(survey: &Survey, node: &NumaNode) -> Vec<String> {
    let topology = &survey.topology;
    let memory = match (node.total_bytes, node.free_bytes) {
        (0, _) => "no memory".to_owned(),
        (total, Some(free)) => format!("{}, {} free", rounded_size(total), rounded_size(free)),
        (total, None) => rounded_size(total),
    };
    let subtype = node.subtype.as_ref().map_or(String::new(), |subtype| format!(" ({})", cut(subtype, 20)));
    let noun = |pus: &IdSet| format!("PU{} {}", if pus.len() == 1 { "" } else { "s" }, listed(pus));
    let online = topology.pus.len() - topology.allowed.offline_pus.len();
    let near = match node.pus.len() {
        0 => None,
        all if all == online && topology.packages.len() > 1 => Some("near no PU in particular".to_owned()),
        _ => Some(format!("near {}", noun(&node.pus))),
    };
    let what = match node.kind {
        NodeKind::Normal => own_pus(topology, node, &noun(&node.pus)),
        NodeKind::CpuOnly => format!("CPUs without memory; {}", own_pus(topology, node, &noun(&node.pus))),
        NodeKind::MemoryOnly => format!("memory without CPUs; {}", near.unwrap_or_default()),
        NodeKind::GpuMemory => {
            let near_it = topology.gpus.iter().filter(|gpu| gpu.locality.nodes.contains(node.os_index));
            let owners: Vec<u32> = near_it.map(|gpu| gpu.index).collect();
            let owner = if let [only] = owners[..] { format!("GPU {only}") } else { "a GPU".to_owned() };
            let near = near.map_or(String::new(), |near| format!("; {near}"));
            format!("the memory of {owner}, not for host buffers{near}")
        }
        NodeKind::Empty => "neither memory nor CPUs".to_owned(),
    };
    let allowed = if node.allowed || node.total_bytes == 0 { "" } else { "; not allowed here" };
    let mut lines = vec![format!("  node {:<3}  {memory}{subtype}   {what}{allowed}", node.os_index)];
    lines.extend(l3_line(topology, "    ", &node.pus, true).filter(|_| has_cpus(node)));
    let reserves = survey.huge_pages.iter().filter(|pages| pages.node == node.os_index && pages.total > 0);
    let reserves: Vec<String> = reserves
        .map(|pages| {
            let free = pages.free.map_or(String::new(), |free| format!(" ({free} free)"));
            format!("{} of {}{free}", pages.total, rounded_size(pages.page_bytes))
        })
        .collect();
    lines.extend((!reserves.is_empty()).then(|| format!("    huge pages: {}", reserves.join(", "))));
    lines.extend(near_devices(survey, node));
    lines
}

/// `PUs 0-7, 4 cores x 2 PUs; allowed 2-7`.
fn own_pus(topology: &Topology, node: &NumaNode, pus: &str) -> String {
    let cores: Vec<usize> =
        topology.cores.iter().map(|core| core.pus.and(&node.pus).len()).filter(|n| *n > 0).collect();
    let alike = cores.iter().all(|pus| *pus == cores[0]);
    let threads = match cores[0] {
        1 if alike => String::new(),
        each if alike => format!(" x {each} PUs"),
        _ => format!(", {} PUs", node.pus.len()),
    };
    let usable = node.pus.and(&topology.allowed.pus);
    let usable = if usable == node.pus { String::new() } else { format!("; allowed {}", listed(&usable)) };
    format!("{pus}, {}{threads}{usable}", with_noun(cores.len(), "core"))
}

/// The L3s within these PUs that lie in one node with CPUs, or in none.
fn l3_line(topology: &Topology, indent: &str, pus: &IdSet, in_one: bool) -> Option<String> {
    let nodes_around =
        |l3: &IdSet| topology.nodes.iter().filter(|node| has_cpus(node) && l3.is_subset(&node.pus)).count();
    let wanted =
        topology.l3s.iter().filter(|l3| l3.pus.is_subset(pus) && (nodes_around(&l3.pus) == 1) == in_one);
    let all: Vec<String> = wanted.clone().map(|l3| listed(&l3.pus)).collect();
    let size =
        wanted.clone().next()?.size_bytes.map_or(String::new(), |bytes| format!(" {}", rounded_size(bytes)));
    Some(format!("{indent}L3{size}: {}", all.join(" | ")))
}

/// `GPUs 4-5; NIC hsn2`: those near a node with CPUs, and near another one those that are near none with
/// CPUs.
fn near_devices(survey: &Survey, node: &NumaNode) -> Option<String> {
    let topology = &survey.topology;
    let here = |locality: &Locality| {
        let near = locality.nodes.or(&locality.outside_nodes);
        let at_cpus = near.iter().any(|id| topology.node(id).is_some_and(has_cpus));
        near.contains(node.os_index) && (has_cpus(node) || !at_cpus)
    };
    let gpus: IdSet = topology.gpus.iter().filter(|gpu| here(&gpu.locality)).map(|gpu| gpu.index).collect();
    let nics = survey.nics.iter().filter(|nic| here(&nic.locality) && !nic.os_devices.is_empty());
    let nics: Vec<String> = nics.map(|nic| cut(&nic.os_devices.join("/"), 40)).collect();
    let several = |number: usize| if number == 1 { "" } else { "s" };
    let parts = [
        (gpus.len(), format!("GPU{} {}", several(gpus.len()), listed(&gpus))),
        (nics.len(), format!("NIC{} {}", several(nics.len()), nics.join(", "))),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|(number, _)| *number > 0).map(|(_, words)| words).collect();
    (!parts.is_empty()).then(|| format!("    {}", parts.join("; ")))
}

#[test]
fn each_place_is_shown_with_its_memory_its_pus_and_what_is_near() -> Outcome {
    each(|machine| {
        let view = text::render(machine.survey, WIDE);
        assert_eq!(section(&view, "package "), places(machine.survey), "{}", machine.name);
        Ok(())
    })
}

#[test]
fn each_gpu_has_a_row_with_its_name_its_node_and_its_link_and_says_how_that_is_known() -> Outcome {
    each(|machine| {
        let topology = &machine.survey.topology;
        let view = text::render(machine.survey, WIDE);
        if topology.gpus.is_empty() {
            assert_eq!(section(&view, "no GPU"), ["no GPU among the PCI devices"], "{}", machine.name);
            return Ok(());
        }
        let (lines, other) = (section(&view, "GPUs, in PCI order"), other_link(machine.name));
        let mut titles = vec!["#", "PCI address", "name", "node", "known from"];
        let some_link = topology.gpus.iter().any(|gpu| gpu.link.is_some());
        titles.extend(if other.is_some() {
            Some("link to its CPU")
        } else {
            some_link.then_some("PCIe link")
        });
        let rows = table(&lines, &titles).ok_or("no table of GPUs")?;
        let cells = |gpu: &Gpu| {
            let mut cells = vec![gpu.index.to_string(), gpu.pci.to_string(), gpu_name(gpu)];
            cells.extend([near_nodes(topology, &gpu.locality), known_from(gpu.locality.rung).to_owned()]);
            let link = other.map(str::to_owned).or(gpu.link.as_ref().map(link_words));
            cells.extend((titles.len() > 5).then(|| link.unwrap_or_else(|| "-".to_owned())));
            cells
        };
        let expected: Vec<Vec<String>> = topology.gpus.iter().map(cells).collect();
        assert_eq!(rows[..expected.len()], expected, "{}", machine.name);
        let notes: Vec<(IdSet, String)> =
            lines[2 + expected.len()..].iter().filter_map(|line| note(line)).collect();
        assert_eq!(notes.len(), lines.len() - 2 - expected.len(), "{}: {lines:#?}", machine.name);
        for gpu in &topology.gpus {
            let own: Vec<&String> =
                notes.iter().filter(|(gpus, _)| gpus.contains(gpu.index)).map(|(_, note)| note).collect();
            let unknown = if gpu.locality.rung == Rung::Unknown { "locality unknown: " } else { "" };
            let mut expected = vec![format!("{unknown}{}", gpu.locality.reason)];
            expected.extend(topology.memory_mode(gpu));
            expected.extend(topology.host_link(gpu).and_then(|link| link.figure()));
            assert_eq!(own, expected.iter().collect::<Vec<_>>(), "GPU {} of {}", gpu.index, machine.name);
        }
        Ok(())
    })
}

/// A note of one or several GPUs, as one of them would have it: `  GPUs 0-3: hwloc attaches each to …`.
fn note(line: &str) -> Option<(IdSet, String)> {
    let (gpus, words) = line.trim_start().strip_prefix("GPU")?.trim_start_matches('s').split_once(": ")?;
    Some((gpus.trim().parse().ok()?, words.replace("attaches each to", "attaches it to")))
}

#[test]
fn each_network_adapter_has_a_row_with_its_names_its_node_and_its_link() -> Outcome {
    each(|machine| {
        let (topology, nics) = (&machine.survey.topology, &machine.survey.nics);
        let view = text::render(machine.survey, WIDE);
        let lines = section(&view, "NICs, in PCI order");
        let mut titles = vec!["PCI address", "OS devices", "name", "node", "known from"];
        titles.extend(nics.iter().any(|nic| nic.link.is_some()).then_some("PCIe link"));
        let cells = |nic: &Nic| {
            let names =
                if nic.os_devices.is_empty() { "-".to_owned() } else { cut(&nic.os_devices.join(","), 28) };
            let mut cells = vec![nic.pci.to_string(), names, cut(&nic_name(nic), 28)];
            cells.extend([near_nodes(topology, &nic.locality), known_from(nic.locality.rung).to_owned()]);
            cells.extend((titles.len() > 5).then(|| nic.link.as_ref().map_or("-".to_owned(), link_words)));
            cells
        };
        let expected: Vec<Vec<String>> = nics.iter().map(cells).collect();
        assert_eq!(table(&lines, &titles).unwrap_or_default(), expected, "{}", machine.name);
        Ok(())
    })
}

#[test]
fn what_may_not_be_used_is_said_with_why_and_nothing_else_is() -> Outcome {
    each(|machine| {
        let (topology, allowed) = (&machine.survey.topology, &machine.survey.topology.allowed);
        let with_memory = |id: &u32| topology.node(*id).is_none_or(|node| node.total_bytes > 0);
        let nodes: IdSet = allowed.missing_nodes.iter().filter(with_memory).collect();
        // The first core of every L3, where a site keeps it.
        let reserved =
            if machine.name == "lumi-g-low-noise" { &allowed.not_in_cgroup_pus } else { &IdSet::default() };
        let entries = [
            ("offline, or left out when the file was written: PUs", &allowed.offline_pus),
            ("outside the cpuset: PUs", &allowed.not_in_cgroup_pus),
            ("outside the affinity: PUs", &allowed.not_in_affinity_pus),
            ("among these, reserved (as many cores in every L3): PUs", reserved),
            ("not allowed, or left out when the file was written: NUMA nodes", &nodes),
        ];
        let entries = entries.into_iter().filter(|(_, ids)| !ids.is_empty());
        let mut expected: Vec<String> =
            entries.map(|(why, ids)| format!("  {why} {}", listed(ids))).collect();
        let host = topology.nodes.iter().filter(|node| node.allowed && node.kind != NodeKind::GpuMemory);
        let all: u64 = host.map(|node| node.total_bytes).sum();
        let cgroup = machine.survey.process.as_ref().map(|process| &process.cgroup);
        let limit = cgroup.and_then(|cgroup| cgroup.memory_bytes.zip(cgroup.memory_source.as_ref()));
        let limit = limit.filter(|(limit, _)| *limit < all).map(|(limit, file)| {
            format!("  memory at most {} of {} ({file})", rounded_size(limit), rounded_size(all))
        });
        expected.extend(limit);
        for view in [text::render, text::numa, text::tree].map(|view| view(machine.survey, WIDE)) {
            let lines = section(&view, "not usable from here");
            let lines: Vec<&str> = lines.into_iter().skip(1).collect();
            assert_eq!(lines, expected, "{}", machine.name);
        }
        Ok(())
    })
}
