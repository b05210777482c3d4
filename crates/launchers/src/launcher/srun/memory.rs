//! `--mem-bind`: the memory policy of each task.
//!
//! srun(1): `local` is the memory of the task's own CPUs, `map_mem` and `mask_mem` a list for the tasks of a
//! node, `rank` the task's number, `prefer` makes a preference of a binding. Lists are of NUMA nodes as the
//! kernel numbers them.

use stats::IdSet;
use topo::model::NodeKind;
use topo::process::PolicyMode;

use crate::error::LineError;
use crate::layout::Start;
use crate::objects::JobMachine;
use crate::parse_mask;
use crate::value::{decimal_or_hex, repeated, wrong};

const OPTION: &str = "--mem-bind";

/// A NUMA node's number.
pub(super) fn node(option: &str, value: &str, text: &str) -> Result<u32, LineError> {
    let read = decimal_or_hex(text).and_then(|node| u32::try_from(node).ok());
    read.ok_or_else(|| wrong(option, value, "write numbers of NUMA nodes: 0,1*2"))
}

/// Gives each task its policy.
///
/// # Errors
/// [`LineError`]: the value is none.
pub(super) fn bind(
    value: Option<&str>,
    machine: &JobMachine<'_>,
    starts: &mut [Start],
) -> Result<(), LineError> {
    let Some(value) = value else { return Ok(()) };
    let topology = machine.topology;
    let nodes: Vec<u32> =
        topology.nodes.iter().filter(|node| node.kind.has_host_memory()).map(|node| node.os_index).collect();
    let is_here = |nodes_of: &IdSet| match nodes_of.iter().find(|node| !nodes.contains(node)) {
        Some(node) => Err(wrong(OPTION, value, format!("this machine has no NUMA node {node} with memory"))),
        None => Ok(()),
    };
    let mode = match value.split(',').any(|word| matches!(word, "prefer" | "p")) {
        true => PolicyMode::Preferred,
        false => PolicyMode::Bind,
    };
    let one = |text: &str| Ok([node(OPTION, value, text)?].into_iter().collect::<IdSet>());
    let mask = |text: &str| {
        parse_mask(text)
            .ok_or_else(|| wrong(OPTION, value, "write hexadecimal masks of NUMA nodes: mask_mem:0x1,0x2"))
    };
    let behind = |kind: &str| value.split_once(kind).map(|(_, list)| list);
    let lists = match (behind("map_mem:"), behind("mask_mem:")) {
        (Some(list), _) => repeated(OPTION, list, one)?,
        (_, Some(list)) => repeated(OPTION, list, mask)?,
        _ if value.split(',').any(|word| word == "rank") => {
            nodes.iter().map(|node| [*node].into_iter().collect()).collect()
        }
        _ if value.split(',').any(|word| word == "local") => {
            for start in starts {
                let pus = match &start.pus {
                    Some(Ok(pus)) => pus.clone(),
                    Some(Err(_)) => continue,
                    None => machine.pus.clone(),
                };
                let local = topology
                    .nodes
                    .iter()
                    .filter(|node| node.kind == NodeKind::Normal && !node.pus.and(&pus).is_empty());
                let local: IdSet = local.map(|node| node.os_index).collect();
                if !local.is_empty() {
                    start.policy = (mode, local);
                }
            }
            return Ok(());
        }
        // none, quiet, verbose, sort.
        _ => return Ok(()),
    };

    lists.iter().try_for_each(is_here)?;
    for (start, nodes) in starts.iter_mut().zip(lists.iter().cycle()) {
        start.policy = (mode, nodes.clone());
    }
    Ok(())
}
