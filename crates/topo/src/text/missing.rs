//! What the machine has and this process may not use, each with why.

use stats::IdSet;

use super::layout::{ids, wrapped};
use crate::model::{Source, Topology};

/// One entry per cause; nothing where all of the machine may be used.
pub(super) fn lines(topology: &Topology, width: usize) -> Vec<String> {
    let allowed = &topology.allowed;
    let (offline, nodes) = match topology.source {
        Source::ThisSystem => ("offline", "not allowed"),
        // A file written inside a job leaves out what the job had not got, without saying which it was.
        Source::XmlFile { .. } => {
            ("offline, or left out when the file was written", "not allowed, or left out when the file was written")
        }
    };
    let reserved = topology.reserved_cores().iter().fold(IdSet::default(), |all, core| all.or(&core.pus));
    // A node without memory is in no cpuset: its own line says why nothing can be had there.
    let has_memory = |id: &u32| topology.node(*id).is_none_or(|node| node.total_bytes > 0);
    let missing_nodes: IdSet = allowed.missing_nodes.iter().filter(has_memory).collect();
    let entries = [
        (offline, "PUs", &allowed.offline_pus),
        ("outside the cpuset", "PUs", &allowed.not_in_cgroup_pus),
        ("outside the affinity", "PUs", &allowed.not_in_affinity_pus),
        ("among these, reserved (as many cores in every L3)", "PUs", &reserved),
        (nodes, "NUMA nodes", &missing_nodes),
    ];
    let mut lines: Vec<String> = entries
        .into_iter()
        .filter(|(_, _, set)| !set.is_empty())
        .flat_map(|(why, what, set)| wrapped(&format!("  {why}: {what} "), &ids(set), width))
        .collect();
    if !lines.is_empty() {
        lines.insert(0, "not usable from here".to_owned());
    }
    lines
}
