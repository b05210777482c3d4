//! Each kind of change is made to a machine and comes out in words, once; a machine does not differ from
//! itself.

mod links;
mod texts;

use std::path::Path;

use super::*;
use crate::model::{Link, Rung, TopologySource};
use crate::pci_path::PciLevel;
use crate::survey_xml;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Two packages with a node, two L3s and four cores of two PUs each; three GPUs; PUs 0 and 1 are not allowed.
fn machine() -> Result<Survey, crate::TopoError> {
    let mut machine =
        survey_xml(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/two-packages-gpus.xml"))?;
    for gpu in &mut machine.topology.gpus {
        let (generation, width) = (Some(1), Some(16));
        let source = "sysfs".to_owned();
        gpu.link = Some(Link {
            generation,
            width,
            max_generation: Some(5),
            max_width: Some(16),
            slot_generation: None,
            bytes_per_s: None,
            source,
        });
    }
    Ok(machine)
}

/// What is said after `change`, and the other way round.
fn differences_both_ways(
    change: impl Fn(&mut Topology),
) -> Result<(Vec<String>, Vec<String>), crate::TopoError> {
    let (before, mut after) = (machine()?, machine()?);
    change(&mut after.topology);
    let words = |old: &Survey, new: &Survey| differences(old, new).into_iter().map(|one| one.words).collect();
    Ok((words(&before, &after), words(&after, &before)))
}

fn both(there: &[&str], back: &[&str]) -> (Vec<String>, Vec<String>) {
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    (owned(there), owned(back))
}

/// Takes PUs away as a kernel does that has them offline.
fn offline(topology: &mut Topology, gone: &IdSet) {
    for core in &mut topology.cores {
        core.pus = core.pus.minus(gone);
    }
    topology.cores.retain(|core| !core.pus.is_empty());
    topology.l3s.iter_mut().for_each(|l3| l3.pus = l3.pus.minus(gone));
    topology.nodes.iter_mut().for_each(|node| node.pus = node.pus.minus(gone));
    topology.allowed.pus = topology.allowed.pus.minus(gone);
    topology.allowed.offline_pus = topology.allowed.offline_pus.or(gone);
}

#[test]
fn a_machine_does_not_differ_from_itself_nor_by_what_always_changes() -> Outcome {
    let none = both(&[], &[]);
    assert_eq!(differences_both_ways(|_| ())?, none);
    let always = differences_both_ways(|machine| {
        machine.hwloc_version.push('x');
        machine.hostname = Some("another".to_owned());
        machine.nodes[0].free_bytes = Some(1);
        machine.nodes[0].total_bytes -= 64 << 20;
        machine
            .gpus
            .iter_mut()
            .filter_map(|gpu| gpu.link.as_mut())
            .for_each(|link| link.generation = Some(5));
    });
    assert_eq!(always?, none);
    Ok(())
}

#[test]
fn a_gpu_that_is_gone_is_named_by_its_pci_address_and_the_others_are_not() -> Outcome {
    let change = |machine: &mut Topology| {
        machine.gpus.remove(0);
        (0..).zip(&mut machine.gpus).for_each(|(index, gpu)| gpu.index = index);
    };
    let gpu = "GPU 0000:03:00.0 (NVIDIA H100 80GB HBM3)";
    assert_eq!(differences_both_ways(change)?, both(&[&format!("{gpu} gone")], &[&format!("{gpu} new")]));
    Ok(())
}

#[test]
fn a_link_with_fewer_lanes_or_a_lower_maximum_is_downgraded() -> Outcome {
    let change = |machine: &mut Topology| {
        if let Some(link) = &mut machine.gpus[0].link {
            (link.width, link.max_generation) = (Some(8), Some(4));
        }
    };
    let gpu = "GPU 0000:03:00.0 (NVIDIA H100 80GB HBM3)";
    let (there, back) = differences_both_ways(change)?;
    assert_eq!(
        there,
        [
            format!("{gpu}: PCIe link downgraded: x8, was x16"),
            format!("{gpu}: PCIe link downgraded: gen4 at most, was gen5 at most")
        ]
    );
    assert_eq!(back[0], format!("{gpu}: PCIe link upgraded: x16, was x8"));
    Ok(())
}

#[test]
fn another_gpu_in_the_same_slot_and_a_locality_that_got_lost_are_said() -> Outcome {
    let (there, _) = differences_both_ways(|machine| {
        machine.gpus[0].uuid = Some("GPU-2".to_owned());
        machine.gpus[1].locality.rung = Rung::Unknown;
        machine.gpus[1].locality.reason = "the kernel says numa_node -1".to_owned();
        machine.gpus[2].device_id = 0x2335;
    })?;
    assert_eq!(there.len(), 3, "{there:?}");
    insta::assert_snapshot!("gpus_that_are_others", there.join("\n"));
    Ok(())
}

#[test]
fn a_dimm_that_is_missing_is_less_memory_of_its_node() -> Outcome {
    let change = |machine: &mut Topology| machine.nodes[1].total_bytes -= 1 << 30;
    let wanted = both(
        &["NUMA node 1: 7 GiB of memory, was 8 GiB (1 GiB less)"],
        &["NUMA node 1: 8 GiB of memory, was 7 GiB (1 GiB more)"],
    );
    assert_eq!(differences_both_ways(change)?, wanted);
    Ok(())
}

#[test]
fn a_node_that_is_gone_or_made_of_something_else_is_said() -> Outcome {
    let wanted =
        both(&["NUMA node 1 gone (CPUs and memory, 8 GiB)"], &["NUMA node 1 new (CPUs and memory, 8 GiB)"]);
    let gone = differences_both_ways(|machine| drop(machine.nodes.remove(1)))?;
    assert_eq!(gone, wanted);
    let (there, _) = differences_both_ways(|machine| machine.nodes[1].kind = NodeKind::CpuOnly)?;
    assert_eq!(there, ["NUMA node 1: CPUs without memory, was CPUs and memory"]);
    Ok(())
}

#[test]
fn smt_that_is_off_is_one_thing_and_a_core_that_is_gone_another() -> Outcome {
    let wanted = both(
        &["SMT off: 1 PU(s) a core, were 2; PUs 1,3,5,7,9,11,13,15 gone"],
        &["SMT on: 2 PU(s) a core, were 1; PUs 1,3,5,7,9,11,13,15 new"],
    );
    let siblings = "1-15:2".parse()?;
    assert_eq!(differences_both_ways(|machine| offline(machine, &siblings))?, wanted);
    let core = "4-5".parse()?;
    let wanted = both(
        &["PUs 4-5 gone or offline, 1 whole core(s) of them"],
        &["PUs 4-5 new or online again, 1 whole core(s) of them"],
    );
    assert_eq!(differences_both_ways(|machine| offline(machine, &core))?, wanted);
    let one = "7".parse()?;
    assert_eq!(differences_both_ways(|machine| offline(machine, &one))?.0, ["PUs 7 gone or offline"]);
    Ok(())
}

#[test]
fn distances_are_said_one_by_one_up_to_a_number() -> Outcome {
    let (there, _) = differences_both_ways(|machine| {
        if let Some(distances) = &mut machine.distances {
            distances.rows[0][1] = 21;
        }
    })?;
    assert_eq!(there, ["distance from NUMA node 0 to 1: 21, was 32"]);
    let (there, back) = differences_both_ways(|machine| machine.distances = None)?;
    assert_eq!((there.len(), back.len()), (1, 1));
    let wide = |value: u64| -> Result<Survey, crate::TopoError> {
        let mut machine = machine()?;
        machine.topology.distances =
            Some(crate::model::Distances { nodes: (0..4).collect(), rows: vec![vec![value; 4]; 4] });
        Ok(machine)
    };
    let words: Vec<String> = differences(&wide(10)?, &wide(11)?).into_iter().map(|one| one.words).collect();
    assert_eq!((words.len(), words.last().map(String::as_str)), (9, Some("8 more distances")));
    Ok(())
}

#[test]
fn the_allowed_set_is_compared_over_what_both_have() -> Outcome {
    let more = "0-1".parse()?;
    let wanted = both(&["allowed PUs 0-1 new"], &["allowed PUs 0-1 gone"]);
    assert_eq!(differences_both_ways(|machine| machine.allowed.pus = machine.allowed.pus.or(&more))?, wanted);
    let (there, _) = differences_both_ways(|machine| machine.allowed.nodes = [0].into_iter().collect())?;
    assert_eq!(there, ["allowed NUMA nodes 1 gone"]);
    Ok(())
}

#[test]
fn cpus_caches_and_groupings_that_changed_are_said() -> Outcome {
    let (there, _) =
        differences_both_ways(|machine| machine.packages[1].cpu_model = Some("another".to_owned()))?;
    assert!(there.is_empty(), "what one file does not say is no change: {there:?}");
    let (mut old, mut new) = (machine()?, machine()?);
    old.topology.packages[1].cpu_model = Some("one".to_owned());
    new.topology.packages[1].cpu_model = Some("another".to_owned());
    assert_eq!(differences(&old, &new)[0].words, "package 1: CPU model another, was one");
    let (there, _) = differences_both_ways(|machine| drop(machine.packages.pop()))?;
    assert_eq!(there, ["1 packages, were 2"]);
    let (there, _) = differences_both_ways(|machine| machine.l3s[0].size_bytes = None)?;
    assert!(there.is_empty(), "a size that one file does not say is no change: {there:?}");
    let (there, _) = differences_both_ways(|machine| machine.l3s[0].size_bytes = Some(16 << 20))?;
    assert_eq!(there, ["the L3 of PUs 0-3 has 16 MiB, had 32 MiB"]);
    let (there, _) = differences_both_ways(|machine| drop(machine.l3s.pop()))?;
    assert_eq!(there, ["3 L3 caches, were 4"]);
    let (there, _) = differences_both_ways(|machine| {
        let pus = machine.nodes[0].pus.clone();
        machine.nodes[0].pus = machine.nodes[1].pus.clone();
        machine.nodes[1].pus = pus;
    })?;
    assert_eq!(there, ["NUMA node 0 has PUs 8-15, had 0-7", "NUMA node 1 has PUs 0-7, had 8-15"]);
    Ok(())
}

#[test]
fn an_adapter_that_is_gone_and_a_smaller_reserve_of_huge_pages_are_said() -> Outcome {
    let pages = |total| HugePages { node: 1, page_bytes: 2 << 20, total, free: Some(total) };
    let (mut old, mut new) = (machine()?, machine()?);
    (old.huge_pages, new.huge_pages) = (vec![pages(512)], vec![pages(256)]);
    new.nics.clear();
    let words: Vec<String> = differences(&old, &new).into_iter().map(|one| one.words).collect();
    let wanted = ["NIC 0000:83:01.0 (PCI 15b3:101b) gone", "NUMA node 1: 256 huge pages of 2 MiB, were 512"];
    assert_eq!(words, wanted);
    new.huge_pages[0].free = Some(0);
    assert_eq!(differences(&new, &old)[0].words, "NIC 0000:83:01.0 (PCI 15b3:101b) new");
    old.nics.clear();
    new.huge_pages.clear();
    assert_eq!(differences(&old, &new), [], "what one file does not list is no change");
    Ok(())
}

#[test]
fn a_guest_that_hides_where_its_gpus_are_is_named_whichever_stands_first() -> Outcome {
    let (host, guest) = (load("hgx-h100.xml")?, load("vm-one-node.xml")?);
    let said = |old: &Survey, new: &Survey| hidden(old, new).map(|found| (found.by_second, found.words()));
    let words = "the NUMA nodes of its GPUs and which devices share a PCIe switch".to_owned();
    assert_eq!(said(&host, &guest), Some((true, words.clone())));
    assert_eq!(said(&guest, &host), Some((false, words)));

    assert_eq!(said(&host, &host), None);
    assert_eq!(said(&guest, &guest), None, "neither shows it");
    assert_eq!(said(&host, &load("cpu-only.xml")?), None, "a machine without GPUs hides none");
    assert_eq!(said(&load("lumi-g.xml")?, &guest), None, "its GPUs are NVIDIA's, and those are AMD's");
    let first_line = crate::text::changes(&host, &guest, &differences(&host, &guest), 100);
    let first_line = first_line.lines().next().unwrap_or_default();
    assert!(
        first_line.contains("hides the NUMA nodes of its GPUs") && first_line.contains(" differences from ")
    );
    Ok(())
}

#[test]
fn two_machines_of_which_neither_is_virtual_hide_nothing_of_each_other() -> Outcome {
    let switched = load("hgx-h100.xml")?;
    let mut direct = switched.clone();
    direct.interconnect.pairs.iter_mut().for_each(|pair| pair.pci = pair.pci.max(Some(PciLevel::Phb)));
    assert_eq!(hidden(&switched, &direct), None, "a board without switches");
    direct.virtual_machine = Some("a proof".to_owned());
    assert!(hidden(&switched, &direct).is_some_and(|found| found.without_switch && found.without_node == 0));
    for other in ["lumi-g.xml", "leonardo.xml"] {
        assert_eq!(hidden(&load(other)?, &switched), None, "{other}");
    }
    Ok(())
}

#[test]
fn partitions_of_a_gpu_are_under_no_switch_that_the_whole_gpu_hides() -> Outcome {
    let (mut whole, divided) = (load("mi300a.xml")?, load("mi300a-cpx.xml")?);
    assert_eq!(hidden(&whole, &divided), None);
    whole.virtual_machine = Some("a proof".to_owned());
    assert_eq!(hidden(&whole, &divided), None, "the partitions share their GPU and no switch");
    Ok(())
}

#[test]
fn the_command_for_nccl_stands_where_it_can_be_run() -> Outcome {
    let (host, guest) = (load("hgx-h100.xml")?, load("vm-one-node.xml")?);
    let second_line = |host: &Survey, guest: &Survey| -> String {
        let text = crate::text::changes(host, guest, &differences(host, guest), 100);
        text.lines().nth(1).unwrap_or_default().to_owned()
    };
    assert!(second_line(&host, &guest).contains("hgx-h100.xml --emit nccl-topo"), "its file");

    let mut here = host.clone();
    here.topology.source = TopologySource::ThisSystem;
    assert!(second_line(&here, &guest).contains("numabench topo --emit nccl-topo"), "no file");
    let amd = load("lumi-g.xml")?;
    let mut hides = amd.clone();
    hides.topology.gpus.iter_mut().for_each(|gpu| gpu.locality.rung = Rung::Unknown);
    let text = crate::text::changes(&amd, &hides, &differences(&amd, &hides), 100);
    assert!(text.contains(" hides the NUMA nodes of its GPUs") && !text.contains("NCCL"), "{text}");
    Ok(())
}

/// The words of the differences of two descriptions.
fn words(old: &Survey, new: &Survey) -> Vec<String> {
    differences(old, new).into_iter().map(|one| one.words).collect()
}

fn load(name: &str) -> Result<Survey, crate::TopoError> {
    survey_xml(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
}

#[test]
fn an_adapter_near_other_nodes_and_another_memory_limit_are_said() -> Outcome {
    let (old, mut new) = (machine()?, machine()?);
    new.nics[0].locality.nodes = [0].into_iter().collect();
    new.nics[0].locality.outside_nodes = IdSet::default();
    let found = words(&old, &new);
    assert!(found.len() == 1 && found[0].contains("local NUMA nodes 0, were 1"), "{found:?}");

    let limited = |gib: Option<u64>, group: &str| -> Result<Survey, crate::TopoError> {
        let mut survey = machine()?;
        survey.process = Some(crate::process::process(&crate::fs_root::FsRoot::at("/nowhere")));
        survey.topology.allowed.memory_limits = gib
            .map(|gib| MemoryLimit { bytes: gib << 30, used_bytes: None, source: group.to_owned() })
            .into_iter()
            .collect();
        Ok(survey)
    };
    let (before, after) = (limited(Some(64), "/job_7/memory.max")?, limited(Some(32), "/job_8/memory.max")?);
    assert_eq!(
        words(&before, &after),
        ["memory limit: 32 GiB (/job_8/memory.max), was: 64 GiB (/job_7/memory.max)"]
    );
    assert!(words(&before, &limited(Some(64), "/job_9/memory.max")?).is_empty(), "another job, as much");
    assert_eq!(words(&before, &limited(None, "")?), ["memory limit: none, was: 64 GiB (/job_7/memory.max)"]);
    assert!(words(&before, &machine()?).is_empty(), "a file that says nothing of a process");
    Ok(())
}

#[test]
fn cpus_that_a_file_leaves_out_of_a_node_are_no_change() -> Outcome {
    let (there, back) = differences_both_ways(|machine| {
        machine.nodes[1].kind = NodeKind::MemoryOnly;
        (machine.nodes[1].pus, machine.nodes[1].cpus_not_shown) = (IdSet::default(), true);
    })?;
    assert!(there.is_empty() && back.is_empty(), "{there:?} {back:?}");
    let (mut old, new) = (machine()?, machine()?);
    old.topology.nodes.remove(1);
    let mut hidden = new.clone();
    hidden.topology.nodes[1].kind = NodeKind::MemoryOnly;
    hidden.topology.nodes[1].cpus_not_shown = true;
    assert_eq!(words(&old, &hidden), ["NUMA node 1 new (memory; the file shows no CPUs of it, 8 GiB)"]);
    Ok(())
}
