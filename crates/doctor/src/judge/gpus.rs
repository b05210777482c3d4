//! GPUs: what their driver is set to, and who else uses them. AMD's by its files, NVIDIA's by NVML.

use report::doctor::{Check, Part};
use stats::units::counted;
use topo::gpu_health::{ComputeMode, FabricState, GpuHealth, OneGpu};

use super::NVML;
use super::probe::{Probe, listed, of_known};
use crate::facts::SystemFacts;
use crate::facts::mps::Mps;

const PERSISTENCE: Probe = Probe {
    name: "gpu.persistence",
    part: Part::Gpu,
    why: "without it the driver starts a GPU for each program anew, and forgets limits and clocks that were \
        set",
    source: "NVIDIA, Driver Persistence",
};

const MIG: Probe = Probe {
    name: "gpu.mig",
    part: Part::Gpu,
    why: "an instance has a part of the GPU's memory bandwidth, and copies of all instances share one link",
    source: "NVIDIA, MIG user guide; AMD, Instinct partition modes",
};

const ECC: Probe = Probe {
    name: "gpu.ecc",
    part: Part::Gpu,
    why: "errors that were not corrected end the programs that met them; without error correction they go \
        unseen",
    source: "NVIDIA, nvidia-smi(1), ECC Errors; NVIDIA GPU Memory Error Management; kernel, gpu/amdgpu/ras",
};

const CONFIDENTIAL: Probe = Probe {
    name: "gpu.confidential",
    part: Part::Gpu,
    why: "each copy between host and GPU is encrypted and goes through a bounce buffer",
    source: "NVIDIA Trusted Computing Solutions, release notes (Single GPU Passthrough with a Bounce Buffer)",
};

const SHARED: Probe = Probe {
    name: "gpu.sharing",
    part: Part::Gpu,
    why: "ranks that share a GPU take turns without MPS; in exclusive mode without MPS all but the first \
        fail",
    source: "NVIDIA, Multi-Process Service",
};

const FABRIC: Probe = Probe {
    name: "gpu.fabric",
    part: Part::Gpu,
    why: "until fabric manager has let a GPU in, it has no NVLink, and CUDA may refuse to start (error 802)",
    source: "NVIDIA, Fabric Manager user guide",
};

const POWER: Probe = Probe {
    name: "gpu.power",
    part: Part::Gpu,
    why: "a lower limit holds clocks down under load: kernels take longer; copies over the link do not",
    source: "NVIDIA, nvidia-smi(1), Power Readings; kernel, hwmon (power1_cap)",
};

const PROCESSES: Probe = Probe {
    name: "gpu.processes",
    part: Part::Gpu,
    why: "what others compute or copy on a GPU is missing from what is measured on it",
    source: "NVML, nvmlDeviceGetComputeRunningProcesses; kernel, amdkfd",
};

/// What to do about errors that were not corrected.
const RESET: &str = "see gpu.repairs; reset the GPU while nobody uses it, and have it looked at by its maker \
    where errors come again";

/// NVIDIA's GPUs by their driver's word.
fn nvidia_gpus<'f>(facts: &'f SystemFacts<'_>) -> &'f [OneGpu] {
    match &facts.nvidia {
        Some(Ok(health)) => &health.gpus,
        Some(Err(_)) | None => &[],
    }
}

/// What is judged of the driver's word, or the check that says why there is none; `None` without an NVIDIA
/// GPU.
pub(super) fn of_nvidia(
    facts: &SystemFacts<'_>,
    probe: &Probe,
    costs: bool,
    judged: impl FnOnce(&GpuHealth) -> Option<Check>,
) -> Option<Check> {
    match facts.nvidia.as_ref()? {
        Ok(health) => judged(health),
        Err(why) if costs => probe.open(why.clone(), NVML),
        Err(why) => probe.unknown(why.clone(), NVML),
    }
}

/// The GPUs of which this holds.
pub(super) fn those(
    facts: &SystemFacts<'_>,
    health: &GpuHealth,
    holds: impl Fn(&OneGpu) -> bool,
) -> Vec<String> {
    health.gpus.iter().filter(|gpu| holds(gpu)).map(|gpu| facts.gpu_name(gpu.pci)).collect()
}

/// That this holds of the GPUs that it is known of; `None` where that is none.
fn of_some(
    probe: &Probe,
    health: &GpuHealth,
    words: &str,
    is_known: impl Fn(&&OneGpu) -> bool,
) -> Option<Check> {
    let known = health.gpus.iter().filter(is_known).count();
    (known > 0).then(|| probe.ok(of_known(words, known, health.gpus.len(), "GPU"))).flatten()
}

pub(super) fn persistence(facts: &SystemFacts<'_>) -> Option<Check> {
    of_nvidia(facts, &PERSISTENCE, false, |health| {
        let off = those(facts, health, |gpu| gpu.persistent == Some(false));
        if !off.is_empty() {
            return PERSISTENCE.remark(
                format!("off on {}", listed(&off)),
                "start nvidia-persistenced, or as root: nvidia-smi -pm 1",
            );
        }
        of_some(&PERSISTENCE, health, "on", |gpu| gpu.persistent.is_some())
    })
}

pub(super) fn mig(facts: &SystemFacts<'_>) -> Option<Check> {
    let divided: Vec<String> = facts
        .amd
        .iter()
        .filter_map(|gpu| Some(format!("{} {}", gpu.name, gpu.partition.as_ref()?)))
        .collect();
    if !divided.is_empty() {
        return MIG.ok(listed(&divided));
    }

    of_nvidia(facts, &MIG, false, |health| {
        let waiting = those(facts, health, |gpu| gpu.mig.is_some_and(|(now, then)| now != then));
        let on = those(facts, health, |gpu| gpu.mig.is_some_and(|(now, _)| now));
        match (waiting.is_empty(), on.is_empty()) {
            (false, _) => MIG.remark(
                format!("the mode of {} changes at its next reset", listed(&waiting)),
                "as root: nvidia-smi --gpu-reset, while nobody uses the GPU",
            ),
            (true, false) => MIG.ok(format!("on: {}", listed(&on))),
            (true, true) => of_some(&MIG, health, "off", |gpu| gpu.mig.is_some()),
        }
    })
}

pub(super) fn ecc(facts: &SystemFacts<'_>) -> Option<Check> {
    let of_amd = facts.amd.iter().map(|gpu| (gpu.name.clone(), gpu.uncorrected));
    let nvidia = nvidia_gpus(facts);
    let of_nvidia_gpus = nvidia.iter().map(|gpu| (facts.gpu_name(gpu.pci), gpu.uncorrected));
    let met: Vec<String> = of_amd
        .chain(of_nvidia_gpus)
        .filter_map(|(name, count)| Some((name, count.filter(|count| *count > 0)?)))
        .map(|(name, count)| {
            format!("{} of memory, not corrected, on {name}", counted(count as usize, "error"))
        })
        .collect();
    if !met.is_empty() {
        return ECC.remark(format!("{}, since the driver was loaded", listed(&met)), RESET);
    }

    if facts.nvidia.is_none() {
        let known = facts.amd.iter().filter(|gpu| gpu.uncorrected.is_some()).count();
        let words = "no error of memory that was not corrected";
        return (known > 0).then(|| ECC.ok(of_known(words, known, facts.amd.len(), "GPU"))).flatten();
    }
    of_nvidia(facts, &ECC, false, |health| {
        let waiting = those(facts, health, |gpu| gpu.ecc.is_some_and(|(now, then)| now != then));
        let off = those(facts, health, |gpu| gpu.ecc.is_some_and(|(now, _)| !now));
        match (waiting.is_empty(), off.is_empty()) {
            (false, _) => ECC.remark(
                format!("the mode of {} changes at its next reset", listed(&waiting)),
                "reboot, or as root: nvidia-smi --gpu-reset",
            ),
            (true, false) => {
                ECC.remark(format!("off on {}", listed(&off)), "as root: nvidia-smi -e 1, then reset the GPU")
            }
            (true, true) => of_some(&ECC, health, "on", |gpu| gpu.ecc.is_some()),
        }
    })
}

pub(super) fn confidential(facts: &SystemFacts<'_>) -> Option<Check> {
    of_nvidia(facts, &CONFIDENTIAL, true, |health| match health.confidential? {
        true => CONFIDENTIAL.costs(
            "on",
            "switch confidential computing off for this node (firmware of the host, NVIDIA's \
             gpu-admin-tools), unless it must be",
        ),
        false => CONFIDENTIAL.ok("off"),
    })
}

pub(super) fn shared_use(facts: &SystemFacts<'_>) -> Option<Check> {
    of_nvidia(facts, &SHARED, false, |health| {
        let prohibited = those(facts, health, |gpu| gpu.compute_mode == Some(ComputeMode::Prohibited));
        if !prohibited.is_empty() {
            return SHARED.remark(
                format!("no process may use {} (compute mode)", listed(&prohibited)),
                "as root: nvidia-smi -c DEFAULT",
            );
        }
        let exclusive = those(facts, health, |gpu| gpu.compute_mode == Some(ComputeMode::One));
        match (&facts.mps, exclusive.is_empty()) {
            (Mps::Runs, _) => SHARED.ok("an MPS daemon runs here: ranks that share a GPU run at once"),
            (Mps::Unknown(folder), _) => SHARED.unknown(
                format!("an MPS pipe is in {folder}; whether its daemon runs is not shown here"),
                "the user who started it (`echo get_server_list | nvidia-cuda-mps-control`)",
            ),
            (Mps::LeftOver(folder), true) => SHARED.remark(
                format!(
                    "files of an MPS daemon that has ended are left over in {folder}; ranks that share a GPU \
                     take turns"
                ),
                format!("start nvidia-cuda-mps-control -d, or remove {folder}"),
            ),
            (Mps::Absent, true) => SHARED.ok("no MPS; ranks that share a GPU take turns"),
            (Mps::Absent | Mps::LeftOver(_), false) => SHARED.remark(
                format!(
                    "only one process at a time may use {} (compute mode), and no MPS daemon runs",
                    listed(&exclusive)
                ),
                "start nvidia-cuda-mps-control -d, or as root: nvidia-smi -c DEFAULT",
            ),
        }
    })
}

pub(super) fn fabric(facts: &SystemFacts<'_>) -> Option<Check> {
    of_nvidia(facts, &FABRIC, true, |health| {
        let in_fabric = health.gpus.iter().filter(|gpu| gpu.fabric.is_some()).count();
        let out = those(facts, health, |gpu| gpu.fabric.is_some_and(|state| state != FabricState::Ended(0)));
        match (in_fabric, out.is_empty()) {
            (0, _) => None,
            (_, true) => FABRIC.ok(format!("{} joined", counted(in_fabric, "GPU"))),
            (_, false) => FABRIC.costs(
                format!("{} not in the NVLink fabric", listed(&out)),
                "as root: systemctl restart nvidia-fabricmanager, and read its log; in a guest the host runs \
                 it",
            ),
        }
    })
}

pub(super) fn power(facts: &SystemFacts<'_>) -> Option<Check> {
    const CHANGE: &str = "as root: nvidia-smi -pl DEFAULT (rocm-smi --resetpoweroverdrive), unless the site \
        limits power on purpose";
    // Of each GPU the limit that is set and the default one, W.
    let of_amd = facts.amd.iter().filter_map(|gpu| {
        let (now, default) = gpu.power_uw?;
        Some((gpu.name.clone(), now as f64 / 1e6, default as f64 / 1e6))
    });
    let nvidia = nvidia_gpus(facts);
    let of_nvidia_gpus = nvidia.iter().filter_map(|gpu| {
        let (now, default) = gpu.power_mw?;
        Some((facts.gpu_name(gpu.pci), f64::from(now) / 1e3, f64::from(default) / 1e3))
    });
    let limits: Vec<(String, f64, f64)> = of_amd.chain(of_nvidia_gpus).collect();

    let low: Vec<String> = limits
        .iter()
        .filter(|(_, now, default)| now < default)
        .map(|(name, now, default)| format!("{name}: {now:.0} W of {default:.0} W"))
        .collect();
    if !low.is_empty() {
        return POWER.remark(listed(&low), CHANGE);
    }

    let set = || limits.iter().map(|(_, now, _)| *now);
    let (least, most) = (set().fold(f64::INFINITY, f64::min), set().fold(0.0, f64::max));
    let watts = match format!("{least:.0}") == format!("{most:.0}") {
        true => format!("{most:.0} W"),
        false => format!("{least:.0}-{most:.0} W"),
    };
    if let Some(Err(why)) = &facts.nvidia {
        return POWER.unknown(why.clone(), NVML);
    }
    match (limits.len(), facts.nvidia.is_some()) {
        (0, true) => None,
        (0, false) if facts.amd.is_empty() => None,
        (0, false) => POWER.unknown("the driver shows no limit", super::ROOT),
        (known, _) => POWER.ok(of_known(
            &format!("{watts}, the default or more"),
            known,
            facts.amd.len() + nvidia.len(),
            "GPU",
        )),
    }
}

pub(super) fn processes(facts: &SystemFacts<'_>) -> Option<Check> {
    let of_amd = facts.amd.iter().map(|gpu| (gpu.name.clone(), gpu.processes.as_ref()));
    let nvidia = nvidia_gpus(facts);
    let of_nvidia_gpus = nvidia.iter().map(|gpu| (facts.gpu_name(gpu.pci), gpu.processes.as_ref()));
    let lists: Vec<(String, Option<&Vec<u32>>)> = of_amd.chain(of_nvidia_gpus).collect();

    let busy: Vec<String> = lists
        .iter()
        .filter_map(|(name, pids)| Some((name, pids.filter(|pids| !pids.is_empty())?)))
        .map(|(name, pids)| {
            format!("{name} ({})", pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
        })
        .collect();
    if !busy.is_empty() {
        return PROCESSES.costs(
            format!("processes compute on {}", listed(&busy)),
            "measure when they have ended; `numabench check --all` shows where they run",
        );
    }

    let known = lists.iter().filter(|(_, pids)| pids.is_some()).count();
    match (known, &facts.nvidia) {
        (_, Some(Err(why))) => PROCESSES.open(why.clone(), NVML),
        (0, Some(Ok(_))) => PROCESSES.open("the driver lists no processes", NVML),
        (0, None) if lists.is_empty() => None,
        (0, None) => PROCESSES.open("amdkfd lists no processes (/sys/class/kfd)", super::ROOT),
        (known, _) => PROCESSES.ok(of_known("nobody computes on a GPU", known, lists.len(), "GPU")),
    }
}
