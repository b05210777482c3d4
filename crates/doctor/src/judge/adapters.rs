//! Whether network adapters reach GPU memory without the host.

use report::doctor::{Check, Part};
use topo::gpu_class::{AMD, NVIDIA};

use super::probe::{Probe, listed};
use crate::facts::SystemFacts;
use crate::facts::adapters::{RdmaAdapter, RdmaAdapters};

const GPU_MEMORY: Probe = Probe {
    name: "gpu.adapter-access",
    part: Part::Gpu,
    why: "an adapter that does not reach GPU memory makes each message a copy to the host and back",
    source: "NCCL user guide, GPU troubleshooting (GPU-to-NIC communication); NVIDIA, GPUDirect RDMA; HPE \
        Slingshot Host Software, CXI core driver; amzn-drivers, efa",
};

/// Linux has had DMA-BUF for RDMA, and for Mellanox's adapters, since this version; for EFA since the other
/// one.
const DMA_BUF: (u32, u32) = (5, 12);
const EFA_DMA_BUF: (u32, u32) = (5, 16);

/// How an adapter reaches the memory of NVIDIA's GPUs.
enum Reach {
    /// By this.
    By(String),
    /// Not at all.
    Not,
    /// It is not known, for this reason.
    Unknown(String),
}

pub(super) fn gpu_memory(facts: &SystemFacts<'_>) -> Option<Check> {
    let found = &facts.adapters;
    let gpus = &facts.survey.topology.gpus;
    if gpus.is_empty() {
        return None;
    }
    let Some(adapters) = &found.rdma else {
        return GPU_MEMORY.open("adapters that reach memory are not shown here (/sys/class)", super::ROOT);
    };
    if adapters.is_empty() {
        return None;
    }
    let names = listed(&found.names());
    let has_nvidia = gpus.iter().any(|gpu| gpu.vendor_id == NVIDIA);
    let others = gpus.iter().filter(|gpu| ![AMD, NVIDIA].contains(&gpu.vendor_id));
    let others: Vec<String> = others.map(|gpu| format!("GPU {}", gpu.index)).collect();
    if !has_nvidia && !others.is_empty() {
        return GPU_MEMORY.open(
            format!("whether {names} reach the memory of {} is not known for their vendor", listed(&others)),
            "the GPU's maker",
        );
    }
    if !has_nvidia {
        return GPU_MEMORY.ok(format!("{names}; AMD's driver hands GPU memory to adapters by itself"));
    }

    let (mut by, mut without, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for adapter in adapters {
        match reach(found, adapter) {
            Reach::By(means) => by.push(format!("{}, by {means}", adapter.name)),
            Reach::Not => without.push(adapter.name.as_str()),
            Reach::Unknown(why) => unknown.push(format!("{}: {why}", adapter.name)),
        }
    }
    if !without.is_empty() {
        return GPU_MEMORY.costs(
            format!(
                "{}, and neither nvidia_peermem nor DMA-BUF for the driver that is loaded",
                listed(&without)
            ),
            "as root: modprobe nvidia-peermem; or install NVIDIA's open kernel modules, on Linux 5.12 or \
             newer",
        );
    }
    if !unknown.is_empty() {
        return GPU_MEMORY.open(listed(&unknown), super::ROOT);
    }
    GPU_MEMORY.ok(listed(&by))
}

fn reach(found: &RdmaAdapters, adapter: &RdmaAdapter) -> Reach {
    if adapter.takes_gpu_memory {
        return Reach::By("its own driver".to_owned());
    }
    // The module registers with the RDMA core, so that it serves every adapter of it.
    if let Some(module) = found.peer_module {
        return Reach::By(module.to_owned());
    }

    let exports = |since: (u32, u32)| Some(found.is_open_driver? && found.kernel? >= since);
    let dma_buf = || Reach::By("DMA-BUF (open kernel modules)".to_owned());
    match adapter.driver.as_deref() {
        Some("mlx5_core") => match exports(DMA_BUF) {
            Some(true) => dma_buf(),
            Some(false) => Reach::Not,
            None => Reach::Unknown("/proc/driver/nvidia is not shown here".to_owned()),
        },
        Some("mlx4_core") => Reach::Not,
        Some("efa") if exports(EFA_DMA_BUF) == Some(true) => dma_buf(),
        Some(driver) => Reach::Unknown(format!("whether its driver {driver} takes GPU memory is not shown")),
        None => Reach::Unknown("its driver is not shown here".to_owned()),
    }
}
