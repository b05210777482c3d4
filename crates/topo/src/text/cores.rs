//! Which cores for which GPU: the table that a binding is written from, in OS ids.
//!
//! A core is written as the first of its PUs that this process may use, as `map_cpu` and `--cpus` want it.
//! Left out: how the cores of a place are shared among its GPUs, which is the placement's work.

use stats::IdSet;

use super::gpus::node_cell;
use super::layout::{columns, cut, ids, wrapped};
use crate::model::{Gpu, Rung, Topology};

/// The longest list of ids that a cell holds; what is cut there is written out below.
const IDS_COLUMNS: usize = 22;

/// The table, and the lists that a cell has no room for; nothing without a GPU.
pub(super) fn lines(topology: &Topology, width: usize) -> Vec<String> {
    if topology.gpus.is_empty() {
        return Vec::new();
    }
    let head = ["GPU", "PCI address", "node", "L3 or local PUs", "cores to use", "first"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(topology.gpus.iter().map(|gpu| row(topology, gpu)));
    let mut lines = vec!["which cores for which GPU (a core by its first allowed PU)".to_owned()];
    lines.extend(columns(&rows));
    if rows.iter().any(|row| row.last().is_some_and(|first| first == "shared")) {
        lines.push("  shared: several GPUs are near these cores; numabench place shares them out".to_owned());
    }

    for gpu in &topology.gpus {
        for (what, list) in [("local PUs", ids(&gpu.locality.pus)), ("cores", ids(&cores(topology, gpu)))] {
            if list.len() > IDS_COLUMNS {
                lines.extend(wrapped(&format!("  GPU {}: {what} ", gpu.index), &list, width));
            }
        }
    }
    lines
}

fn row(topology: &Topology, gpu: &Gpu) -> Vec<String> {
    let cell = |set: &IdSet| match (gpu.locality.rung, set.is_empty()) {
        (Rung::Unknown, _) => "?".to_owned(),
        (_, true) => "-".to_owned(),
        (_, false) => cut(&ids(set), IDS_COLUMNS),
    };
    vec![
        gpu.index.to_string(),
        gpu.pci.to_string(),
        node_cell(topology, &gpu.locality),
        cell(&gpu.locality.pus),
        cell(&cores(topology, gpu)),
        first(topology, gpu),
    ]
}

/// The first PU, where it is this GPU's alone: the same number in several rows would read as a list to pin
/// to.
fn first(topology: &Topology, gpu: &Gpu) -> String {
    let of = |gpu| topology.first_local_pu(gpu);
    let Some(pu) = of(gpu) else { return "-".to_owned() };
    let is_shared = topology.gpus.iter().any(|other| other.pci != gpu.pci && of(other) == Some(pu));
    if is_shared { "shared".to_owned() } else { pu.to_string() }
}

/// The local cores that may be used, each as its first allowed PU.
pub(crate) fn cores(topology: &Topology, gpu: &Gpu) -> IdSet {
    let usable = gpu.locality.pus.and(&topology.allowed.pus);
    topology.local_cores(gpu).into_iter().filter_map(|core| core.pus.and(&usable).first()).collect()
}
