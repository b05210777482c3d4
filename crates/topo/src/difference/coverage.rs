//! What a description says at all, so that what it does not say is no change.
//!
//! Texts of other tools say parts of a machine ([`Unsaid`]), and of CPUs, GPUs and adapters each tool its
//! own: `nvidia-smi` knows no GPU of AMD's, and the rows of its matrix only the CPUs near to GPUs. A file of
//! hwloc's says all but the memory sizes, which some leave out.

use crate::gpu_class::{AMD, NVIDIA};
use crate::model::{Gpu, NumaNode, TopologySource, Unsaid};
use crate::printed::tool;
use crate::survey::Survey;

/// Tools that say all CPUs of a machine.
const CPU_TOOLS: [&str; 4] = [tool::LSCPU, tool::LSCPU_LIST, tool::NUMACTL, tool::LSTOPO];

/// Whether a description was read from texts of other tools.
pub(super) fn is_text(survey: &Survey) -> bool {
    matches!(survey.topology.source, TopologySource::Texts { .. })
}

/// Whether a description says this part.
pub(super) fn says(survey: &Survey, part: Unsaid) -> bool {
    let (topology, unsaid) = (&survey.topology, survey.topology.source.unsaid());
    if part == Unsaid::MemorySizes && topology.nodes.iter().all(|node| node.total_bytes == 0) {
        return false;
    }
    if !is_text(survey) {
        return true;
    }
    let has_none = match part {
        Unsaid::Distances => topology.distances.is_none(),
        Unsaid::Cpus | Unsaid::Nodes => CPU_TOOLS.iter().all(|tool| !has_tool(survey, tool)),
        _ => false,
    };
    !has_none && !unsaid.contains(&Unsaid::Cpus) && !unsaid.contains(&part)
}

/// Whether a description would list this node if it were there: a list of CPUs has no node without any.
pub(super) fn lists_node(survey: &Survey, node: &NumaNode) -> bool {
    let lists_all = has_tool(survey, tool::LSCPU) || has_tool(survey, tool::NUMACTL);
    !is_text(survey) || node.kind.has_cpus() || lists_all
}

/// Whether a description would list this GPU if it were there.
pub(super) fn lists_gpu(survey: &Survey, gpu: &Gpu) -> bool {
    let shows_devices =
        has_tool(survey, tool::LSTOPO) && !survey.topology.source.unsaid().contains(&Unsaid::Displays);
    let lists_vendor = match gpu.vendor_id {
        NVIDIA => has_tool(survey, tool::NVIDIA_SMI) || has_tool(survey, tool::NVIDIA_MATRIX),
        AMD => has_tool(survey, tool::ROCM_SMI),
        _ => false,
    };
    !is_text(survey) || shows_devices || lists_vendor
}

/// Whether a description lists network adapters.
pub(super) fn lists_nics(survey: &Survey) -> bool {
    !is_text(survey) || has_tool(survey, tool::LSTOPO)
}

/// Whether both name GPUs alike: by address, or both by their tool's numbers.
pub(super) fn name_gpus_alike(old: &Survey, new: &Survey) -> bool {
    let has_numbers = |survey: &Survey| survey.topology.source.unsaid().contains(&Unsaid::GpuAddresses);
    has_numbers(old) == has_numbers(new)
}

fn has_tool(survey: &Survey, name: &str) -> bool {
    match &survey.topology.source {
        TopologySource::Texts { tools, .. } => tools.iter().any(|tool| tool == name),
        TopologySource::ThisSystem | TopologySource::XmlFile { .. } => false,
    }
}

/// What is not compared because a description does not say it, a sentence for each of the two.
pub fn not_compared(before: &Survey, after: &Survey) -> Vec<String> {
    [before, after].into_iter().filter_map(left_open).collect()
}

fn left_open(survey: &Survey) -> Option<String> {
    let source = &survey.topology.source;
    let sizes = (!is_text(survey) && !says(survey, Unsaid::MemorySizes)).then(|| "memory sizes".to_owned());
    let l3s = survey.topology.l3s.iter().any(|l3| l3.size_bytes.is_none());
    let l3s = l3s.then(|| "the size of each L3 (lstopo)".to_owned());
    let others = match source {
        TopologySource::Texts { tools, .. } => {
            let cpus = (!says(survey, Unsaid::Nodes) && !source.unsaid().contains(&Unsaid::Cpus))
                .then(|| "CPUs and nodes that no GPU is near to".to_owned());
            let nics = (!lists_nics(survey)).then(|| "network adapters (lstopo)".to_owned());
            // Lists of all CPUs leave it open, and lstopo's tree is not held against another machine's.
            let allowed = (!source.unsaid().contains(&Unsaid::Allowed))
                .then(|| format!("what a process may use (no text of {})", tools.join(", ")));
            [cpus, nics, allowed]
        }
        TopologySource::ThisSystem | TopologySource::XmlFile { .. } => [None, None, None],
    };
    let parts: Vec<String> = source
        .unsaid_words()
        .into_iter()
        .chain(sizes)
        .chain(l3s)
        .chain(others.into_iter().flatten())
        .collect();
    let file = source.files().unwrap_or_else(|| "this machine".to_owned());

    (!parts.is_empty()).then(|| format!("{file} does not say: {}", parts.join("; ")))
}
