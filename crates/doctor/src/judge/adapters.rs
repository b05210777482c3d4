//! Whether network adapters reach GPU memory without the host.

use report::doctor::{Check, Part};
use topo::gpu_class::NVIDIA;

use super::probe::{Probe, listed};
use crate::facts::SystemFacts;

const GPU_MEMORY: Probe = Probe {
    name: "gpu.adapter-access",
    part: Part::Gpu,
    why: "an adapter that does not reach GPU memory makes each message a copy to the host and back",
    source: "NCCL user guide, GPU troubleshooting (GPU-to-NIC communication); NVIDIA, GPUDirect RDMA",
};

/// Linux has had DMA-BUF for RDMA since this version.
const DMA_BUF: (u32, u32) = (5, 12);

pub(super) fn gpu_memory(facts: &SystemFacts<'_>) -> Option<Check> {
    let found = &facts.adapters;
    if found.rdma.is_empty() || facts.survey.topology.gpus.is_empty() {
        return None;
    }
    let names = listed(&found.rdma);
    let has_nvidia = facts.survey.topology.gpus.iter().any(|gpu| gpu.vendor_id == NVIDIA);
    let is_new = found.kernel.is_some_and(|version| version >= DMA_BUF);
    if !has_nvidia {
        return GPU_MEMORY.ok(format!("{names}; AMD's driver hands GPU memory to adapters by itself"));
    }
    match (found.peer_module, found.is_open_driver) {
        (Some(module), _) => GPU_MEMORY.ok(format!("{names}, by {module}")),
        (None, Some(true)) if is_new => GPU_MEMORY.ok(format!("{names}, by DMA-BUF (open kernel modules)")),
        (None, Some(_)) => GPU_MEMORY.costs(
            format!("{names}, and neither nvidia_peermem nor DMA-BUF for the driver that is loaded"),
            "as root: modprobe nvidia-peermem; or install NVIDIA's open kernel modules, on Linux 5.12 or newer",
        ),
        (None, None) => GPU_MEMORY.open(format!("{names}; /proc/driver/nvidia is not shown here"), super::ROOT),
    }
}
