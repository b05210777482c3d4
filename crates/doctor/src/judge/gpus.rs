//! GPUs: what their driver is set to, and who else uses them. AMD's by its files, NVIDIA's by NVML.

use report::doctor::{Check, Part};
use stats::units::counted;
use topo::gpu_health::{FabricState, GpuHealth, OneGpu};

use super::NVML;
use super::probe::{Probe, listed};
use crate::facts::SystemFacts;
use crate::facts::gpu::AmdGpu;
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

pub(super) fn persistence(facts: &SystemFacts<'_>) -> Option<Check> {
    of_nvidia(facts, &PERSISTENCE, false, |health| {
        let off = those(facts, health, |gpu| gpu.persistent == Some(false));
        if !off.is_empty() {
            return PERSISTENCE.remark(
                format!("off on {}", listed(&off)),
                "start nvidia-persistenced, or as root: nvidia-smi -pm 1",
            );
        }
        health.gpus.iter().any(|gpu| gpu.persistent.is_some()).then(|| PERSISTENCE.ok("on")).flatten()
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
            (true, true) => health.gpus.iter().any(|gpu| gpu.mig.is_some()).then(|| MIG.ok("off")).flatten(),
        }
    })
}

pub(super) fn ecc(facts: &SystemFacts<'_>) -> Option<Check> {
    let errors = |name: &str, count: u64| {
        format!("{} of memory, not corrected, on {name}", counted(count as usize, "error"))
    };
    if !facts.amd.is_empty() {
        let known: Vec<_> = facts.amd.iter().filter_map(|gpu| Some((&gpu.name, gpu.uncorrected?))).collect();
        let met: Vec<String> =
            known.iter().filter(|(_, count)| *count > 0).map(|(name, count)| errors(name, *count)).collect();
        return match (known.is_empty(), met.is_empty()) {
            (true, _) => None,
            (false, true) => ECC.ok("no error of memory that was not corrected"),
            (false, false) => ECC.remark(listed(&met), RESET),
        };
    }

    of_nvidia(facts, &ECC, false, |health| {
        let met: Vec<String> = health
            .gpus
            .iter()
            .filter_map(|gpu| Some((gpu, gpu.uncorrected.filter(|count| *count > 0)?)))
            .map(|(gpu, count)| errors(&facts.gpu_name(gpu.pci), count))
            .collect();
        if !met.is_empty() {
            return ECC.remark(format!("{}, since the driver was loaded", listed(&met)), RESET);
        }
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
            (true, true) => health.gpus.iter().any(|gpu| gpu.ecc.is_some()).then(|| ECC.ok("on")).flatten(),
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
        let exclusive = those(facts, health, |gpu| gpu.exclusive == Some(true));
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
    let watts = |milli: f64| format!("{:.0} W", milli / 1000.0);

    // Of each GPU the limit that is set and the default one, mW.
    let judged = |limits: &[(String, f64, f64)], else_words: &str| {
        let low = limits.iter().filter(|(_, now, default)| now < default);
        let low: Vec<String> = low
            .map(|(name, now, default)| format!("{name}: {} of {}", watts(*now), watts(*default)))
            .collect();
        let (_, first, _) = limits.first()?;
        if low.is_empty() {
            POWER.ok(format!("{}, {else_words}", watts(*first)))
        } else {
            POWER.remark(listed(&low), CHANGE)
        }
    };

    if !facts.amd.is_empty() {
        let limit = |gpu: &AmdGpu| {
            let (now, default) = gpu.power_uw?;
            Some((gpu.name.clone(), now as f64 / 1e3, default as f64 / 1e3))
        };
        let limits: Vec<_> = facts.amd.iter().filter_map(limit).collect();
        return judged(&limits, "the default")
            .or_else(|| POWER.unknown("the driver shows no limit", super::ROOT));
    }

    of_nvidia(facts, &POWER, false, |health| {
        let limit = |gpu: &OneGpu| {
            let (now, default) = gpu.power_mw?;
            Some((facts.gpu_name(gpu.pci), f64::from(now), f64::from(default)))
        };
        judged(&health.gpus.iter().filter_map(limit).collect::<Vec<_>>(), "the default or more")
    })
}

pub(super) fn processes(facts: &SystemFacts<'_>) -> Option<Check> {
    of_nvidia(facts, &PROCESSES, true, |health| {
        let listed_at: Vec<(String, &Vec<u32>)> = health
            .gpus
            .iter()
            .filter_map(|gpu| Some((facts.gpu_name(gpu.pci), gpu.processes.as_ref()?)))
            .collect();
        let busy: Vec<String> = listed_at
            .iter()
            .filter(|(_, pids)| !pids.is_empty())
            .map(|(name, pids)| {
                format!("{name} ({})", pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
            })
            .collect();
        match (listed_at.is_empty(), busy.is_empty()) {
            (true, _) => PROCESSES.open("the driver lists no processes", NVML),
            (false, true) => PROCESSES.ok("nobody computes on a GPU"),
            (false, false) => PROCESSES.costs(
                format!("processes compute on {}", listed(&busy)),
                "measure when they have ended; `numabench check --all` shows where they run",
            ),
        }
    })
}
