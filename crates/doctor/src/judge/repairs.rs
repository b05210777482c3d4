//! Errors of GPU memory that wait for a restart.

use report::doctor::{Check, Part};
use topo::gpu_health::GpuHealth;

use super::gpus::{of_nvidia, those};
use super::probe::{Probe, listed};
use crate::facts::SystemFacts;

const REPAIRS: Probe = Probe {
    name: "gpu.repairs",
    part: Part::Gpu,
    why: "rows with errors get a spare one at the next reset, and until then the driver keeps programs off \
        them; where that failed, errors come again and end jobs",
    source: "NVIDIA, GPU Memory Error Management (row remapping); Dynamic Page Retirement",
};

pub(super) fn repairs(facts: &SystemFacts<'_>) -> Option<Check> {
    of_nvidia(facts, &REPAIRS, false, |health| judged(facts, health))
}

fn judged(facts: &SystemFacts<'_>, health: &GpuHealth) -> Option<Check> {
    let failed = those(facts, health, |gpu| gpu.repair_failed == Some(true));
    let pending = those(facts, health, |gpu| gpu.repair_pending == Some(true));

    match (failed.is_empty(), pending.is_empty()) {
        (false, _) => REPAIRS.remark(
            format!("a row of {} could not be replaced", listed(&failed)),
            "take the node out of service and have the GPU replaced (nvidia-smi -q -d ROW_REMAPPER)",
        ),
        (true, false) => REPAIRS.remark(
            format!("pages or rows of {} are replaced at the next reset", listed(&pending)),
            "as root, while nobody uses the GPU: nvidia-smi --gpu-reset",
        ),
        (true, true) => {
            let known = health.gpus.iter().any(|gpu| gpu.repair_pending.is_some());
            known.then(|| REPAIRS.ok("no page or row waits for a reset")).flatten()
        }
    }
}
