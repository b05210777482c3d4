//! What the machine has and this process may not use, each with why.

use stats::IdSet;
use stats::units::rounded_size;

use super::layout::{ids, wrapped};
use crate::model::{MemoryLimit, NodeKind, TopologySource};
use crate::survey::Survey;

/// One entry per cause; nothing where all of the machine may be used.
pub(super) fn lines(survey: &Survey, width: usize) -> Vec<String> {
    let (topology, allowed) = (&survey.topology, &survey.topology.allowed);
    let (offline, nodes) = match topology.source {
        TopologySource::ThisSystem => ("offline", "not allowed"),
        // A file written inside a job leaves out what the job had not got, without saying which it was.
        TopologySource::XmlFile { .. } => (
            "offline, or left out when the file was written",
            "not allowed, or left out when the file was written",
        ),
        TopologySource::Texts { .. } => {
            ("offline, or left out of one of the texts", "not allowed, or left out of one of the texts")
        }
    };

    let reserved = topology.reserved_cores().iter().fold(IdSet::default(), |all, core| all.or(&core.pus));

    // A node without memory is in no cpuset: its own line says why nothing can be had there.
    let has_memory = |id: &u32| topology.node(*id).is_none_or(|node| node.total_bytes > 0);
    let missing_nodes: IdSet = allowed.missing_nodes.iter().filter(has_memory).collect();

    // The kernel's list of PUs that a process may run on does not say which of the two it was.
    let affinity = match survey.process.as_ref().map(|process| &process.cgroup.reason) {
        Some(Some(_)) => "outside the affinity, or outside a cpuset that cannot be seen from here",
        _ => "outside the affinity",
    };
    let entries = [
        (offline, "PUs", &allowed.offline_pus),
        ("outside the cpuset", "PUs", &allowed.not_in_cgroup_pus),
        (affinity, "PUs", &allowed.not_in_affinity_pus),
        ("among these, reserved (as many cores in every L3)", "PUs", &reserved),
        (nodes, "NUMA nodes", &missing_nodes),
    ];

    let mut lines: Vec<String> = entries
        .into_iter()
        .filter(|(_, _, set)| !set.is_empty())
        .flat_map(|(why, what, set)| wrapped(&format!("  {why}: {what} "), &ids(set), width))
        .collect();
    lines.extend(memory(survey, width));
    if !lines.is_empty() {
        lines.insert(0, "not usable from here".to_owned());
    }
    lines
}

/// A limit on memory that is less than the nodes have which may be used.
fn memory(survey: &Survey, width: usize) -> Option<String> {
    let MemoryLimit { bytes: limit, source, .. } = survey.topology.allowed.memory_limit()?;
    let host = survey.topology.nodes.iter().filter(|node| node.allowed && node.kind != NodeKind::GpuMemory);
    let all = host.fold(0, |sum: u64, node| sum.saturating_add(node.total_bytes));
    (*limit < all).then(|| {
        let words = format!("{} of {} ({source})", rounded_size(*limit), rounded_size(all));
        wrapped("  memory at most ", &words, width).join("\n")
    })
}
