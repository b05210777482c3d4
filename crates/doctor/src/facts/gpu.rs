//! What AMD's driver says of its GPUs in files.
//!
//! Files: the kernel's Documentation/gpu/amdgpu; hwmon's `power1_cap` in microwatt.

use std::collections::BTreeSet;

use stats::PciAddress;
use topo::Survey;
use topo::fs_root::FsRoot;
use topo::gpu_class::AMD;
use topo::gpu_users::{GpuUse, amd_uses};
use topo::model::Gpu;

/// An AMD GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AmdGpu {
    /// What it is called in sentences.
    pub name: String,
    /// The power limit that is set and the default one, µW.
    pub power_uw: Option<(u64, u64)>,
    /// Its memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Errors of its memory that were not corrected.
    pub uncorrected: Option<u64>,
    /// The processes that compute on it; `None` where amdkfd gives no list.
    pub processes: Option<Vec<u32>>,
    /// How it is divided: `SPX`, `CPX`, …, and its memory: `NPS1`, `NPS4`.
    pub partition: Option<String>,
}

/// AMD's GPUs.
pub fn amd(root: &FsRoot, survey: &Survey) -> Vec<AmdGpu> {
    let whole = survey.topology.gpus.iter().filter(|gpu| gpu.vendor_id == AMD);
    let whole = whole.filter(|gpu| gpu.partition.is_none_or(|part| part.number == 0));
    let mut whole = whole.peekable();
    let uses = whole.peek().and_then(|_| amd_uses(root).ok());
    whole.map(|gpu| amd_gpu(root, gpu, uses.as_deref())).collect()
}

fn amd_gpu(root: &FsRoot, gpu: &Gpu, uses: Option<&[GpuUse]>) -> AmdGpu {
    let folder = format!("/sys/bus/pci/devices/{}", gpu.pci);
    let number = |file: &str| root.text(&format!("{folder}/{file}")).ok()?.parse::<u64>().ok();
    let sensors = root.names(&format!("{folder}/hwmon"));
    let limit = |file: &str| sensors.iter().find_map(|sensor| number(&format!("hwmon/{sensor}/{file}")));
    let modes = ["current_compute_partition", "current_memory_partition"];
    let modes: Vec<String> =
        modes.iter().filter_map(|file| root.text(&format!("{folder}/{file}")).ok()).collect();

    AmdGpu {
        name: format!("GPU {}", gpu.index),
        processes: uses.map(|uses| {
            // Its partitions are functions of it.
            let is_of_it = |one: &&GpuUse| PciAddress { function: gpu.pci.function, ..one.pci } == gpu.pci;
            let pids: BTreeSet<u32> = uses.iter().filter(is_of_it).map(|one| one.pid).collect();
            pids.into_iter().collect()
        }),
        power_uw: limit("power1_cap").zip(limit("power1_cap_default")),
        memory_bytes: number("mem_info_vram_total"),
        uncorrected: root
            .text(&format!("{folder}/ras/umc_err_count"))
            .ok()
            .and_then(|text| uncorrected(&text)),
        partition: (!modes.is_empty()).then(|| modes.join(", ")),
    }
}

/// `ue: 0` and `ce: 1`, a line each (amdgpu_ras.c, "RAS sysfs Error Count Interface").
fn uncorrected(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("ue:"))?.trim().parse().ok()
}
