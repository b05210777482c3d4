//! What of a machine no text says.

use super::cpus::Cpus;
use super::gpus::may_hide_gpus;
use super::said::Printed;
use crate::gpu_class::NVIDIA;
use crate::model::Gpu;
use crate::survey::Survey;
use crate::unsaid::Unsaid;

/// What is left open of this machine.
pub(super) fn open_facts(printed: &Printed, cpus: &Cpus, survey: &Survey) -> Vec<Unsaid> {
    let topology = &survey.topology;
    let is_smi = |gpu: &Gpu| !gpu.pci.is_known();
    let unplaced = printed.matrix.is_some()
        && topology.gpus.iter().any(|gpu| gpu.vendor_id == NVIDIA || gpu.vendor_id == 0)
        && survey.identities.iter().all(|identity| identity.smi_index.is_none());
    let says_no_gpus = topology.gpus.is_empty() && !printed.says_gpus();
    if topology.pus.is_empty() {
        let addresses = topology.gpus.iter().any(is_smi).then_some(Unsaid::GpuAddresses);
        return [Some(Unsaid::Cpus), says_no_gpus.then_some(Unsaid::Gpus), addresses]
            .into_iter()
            .flatten()
            .collect();
    }
    // lstopo shows the part that it may use itself.
    let lists_all = printed.tree.as_ref().is_none_or(|tree| tree.pus().is_empty());
    let is_sized = topology.nodes.iter().any(|node| node.total_bytes > 0);
    let open = [
        (Unsaid::Cores, cpus.cores.is_none()),
        (Unsaid::Packages, cpus.packages.is_none()),
        (Unsaid::L3s, cpus.l3s.is_none()),
        (Unsaid::Nodes, topology.nodes.is_empty()),
        (Unsaid::MemorySizes, !topology.nodes.is_empty() && !is_sized),
        (Unsaid::Distances, topology.nodes.len() > 1 && topology.distances.is_none()),
        (Unsaid::Allowed, lists_all),
        (Unsaid::Gpus, says_no_gpus),
        (
            Unsaid::Displays,
            printed.tree.as_ref().is_some_and(|tree| may_hide_gpus(tree, !topology.gpus.is_empty())),
        ),
        (Unsaid::GpuAddresses, topology.gpus.iter().any(is_smi)),
        (Unsaid::MatrixRows, unplaced),
    ];

    open.into_iter().filter(|(_, is_open)| *is_open).map(|(unsaid, _)| unsaid).collect()
}
