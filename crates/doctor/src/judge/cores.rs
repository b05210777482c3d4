//! Cores: their frequency, what the scheduler keeps off them, hardware threads, and where devices' interrupts arrive.

use report::doctor::{Check, Part};
use stats::IdSet;
use stats::units::counted;

use super::HOST;
use super::probe::{Probe, listed};
use crate::facts::SystemFacts;
use crate::facts::pci::PciDeviceKind;

const GOVERNOR: Probe = Probe {
    name: "cpu.governor",
    part: Part::Cpu,
    why: "a core that is kept slow, or speeds up late, starts copies and answers flags later",
    source: "kernel, admin-guide/pm/cpufreq",
};

const ISOLATED: Probe = Probe {
    name: "cpu.isolated",
    part: Part::Cpu,
    why: "the scheduler moves nothing onto or off isolated cores: threads that are not bound one by one pile up on the first",
    source: "kernel, admin-guide/kernel-parameters (isolcpus, nohz_full)",
};

const SMT: Probe = Probe {
    name: "cpu.threads",
    part: Part::Cpu,
    why: "two ranks on one core's threads share its bandwidth, also where one is a neighbour's",
    source: "kernel, ABI/testing/sysfs-devices-system-cpu (smt); slurm.conf(5), CR_Core; Kubernetes, Control CPU Management Policies on the Node (full-pcpus-only)",
};

const INTERRUPTS: Probe = Probe {
    name: "cpu.interrupts",
    part: Part::Cpu,
    why: "an adapter whose interrupts all arrive on far cores serves its queues from far memory",
    source: "kernel, core-api/irq/irq-affinity; networking/scaling",
};

/// Governors that keep or raise a core's frequency by themselves.
const QUICK: [&str; 1] = ["performance"];
/// Drivers that choose frequencies themselves, for which "powersave" is the usual word and the preference says how.
const OWN_CHOICE: [&str; 3] = ["intel_pstate", "amd-pstate-epp", "intel_cpufreq"];

pub(super) fn governor(facts: &SystemFacts<'_>) -> Option<Check> {
    let Some(governor) = facts.probe("cpu.governor") else {
        return if facts.is_virtual() {
            GOVERNOR.open("none in this virtual machine; its host decides", HOST)
        } else {
            GOVERNOR.ok("no frequency control: the firmware decides")
        };
    };
    let drivers: Vec<&str> = facts.cpu.frequency_drivers.iter().map(String::as_str).collect();
    let preferences: Vec<&str> = facts.cpu.preferences.iter().map(String::as_str).collect();
    let by = if drivers.is_empty() { String::new() } else { format!(" ({})", drivers.join(", ")) };
    let chooses = !drivers.is_empty() && drivers.iter().all(|driver| OWN_CHOICE.contains(driver));
    let saves = preferences.iter().any(|one| one.contains("power"));
    let change = "as root: cpupower frequency-set -g performance";
    match (QUICK.contains(&governor.as_str()), chooses && governor == "powersave") {
        (true, _) => GOVERNOR.ok(format!("{governor}{by}")),
        (false, true) if !saves => GOVERNOR.ok(format!("{governor}{by}, preferring {}", preferences.join(", "))),
        (false, true) => GOVERNOR.costs(format!("{governor}{by}, preferring {}", preferences.join(", ")), change),
        (false, false) => GOVERNOR.costs(format!("{governor}{by}"), change),
    }
}

pub(super) fn isolated(facts: &SystemFacts<'_>) -> Option<Check> {
    let allowed = &facts.survey.topology.allowed.pus;
    let isolated = facts.cpu.isolated.and(allowed);
    if facts.cpu.isolated.is_empty() && facts.cpu.tickless.is_empty() {
        return ISOLATED.ok("none");
    }
    if isolated.is_empty() {
        return ISOLATED.ok(format!("PUs {}, none of them this process's", facts.cpu.isolated.or(&facts.cpu.tickless)));
    }
    if isolated.len() == 1 && allowed.len() == 1 {
        return ISOLATED.ok(format!("this process is bound to isolated PU {isolated}"));
    }
    ISOLATED.costs(
        format!("PUs {isolated} of this process are isolated"),
        "bind every thread to a core of its own (OMP_PROC_BIND=close, OMP_PLACES=cores), or boot without isolcpus=",
    )
}

pub(super) fn threads(facts: &SystemFacts<'_>) -> Option<Check> {
    let topology = &facts.survey.topology;
    let most = topology.cores.iter().map(|core| core.pus.len()).max()?;
    // The kernel's words run together: see sysfs-devices-system-cpu.
    let state = match facts.cpu.smt.as_deref() {
        Some("notsupported") => "not supported by the CPU",
        Some("notimplemented") => "not implemented",
        Some("forceoff") => "forced off",
        Some(told) => told,
        None => "not told",
    };
    const WHOLE: &str = "let the scheduler give whole cores: SelectTypeParameters=CR_Core in slurm.conf (srun --exclusive for a step), full-pcpus-only for the kubelet's CPU manager";
    // Of a core that is this job's in part the other threads may be another job's. A process that bound itself to one thread is not meant.
    let allowed = &topology.allowed;
    let own = topology.cores.iter().filter(|core| !core.pus.and(&allowed.pus).is_empty());
    let (split, whole): (Vec<_>, Vec<_>) = own.partition(|core| !core.pus.and(&allowed.not_in_cgroup_pus).is_empty());
    let of_others = split.iter().fold(IdSet::default(), |all, core| all.or(&core.pus.and(&allowed.not_in_cgroup_pus)));
    match (split.is_empty(), whole.is_empty()) {
        (true, _) => {}
        // One thread of every core, as --hint=nomultithread gives: the others may be nobody's.
        (false, true) => {
            return SMT.remark(
                format!("every core of this job has threads outside of it: PUs {of_others} may be another job's"),
                WHOLE,
            );
        }
        (false, false) => {
            return SMT.costs(
                format!(
                    "{} of {} cores of this job have threads outside of it: PUs {of_others} may be another job's",
                    split.len(),
                    split.len() + whole.len()
                ),
                WHOLE,
            );
        }
    }
    match most {
        1 => SMT.ok(format!("1 PU a core (SMT {state})")),
        // What is given out by PU and not by core lets two ranks meet on one core.
        _ => SMT.ok(format!("{most} PUs a core: ask for cores, not for CPUs (srun --hint=nomultithread)")),
    }
}

pub(super) fn interrupts(facts: &SystemFacts<'_>) -> Option<Check> {
    let local = |pci| {
        let of = facts.devices.iter().find(|device| device.pci == pci)?;
        Some(of.locality.all_pus()).filter(|pus: &IdSet| !pus.is_empty())
    };
    let known: Vec<_> = facts.interrupts.iter().filter_map(|one| Some((one, local(one.pci)?))).collect();
    if known.is_empty() {
        return None;
    }
    if known.iter().all(|(one, _)| one.is_hidden) {
        return INTERRUPTS.open("/proc/irq does not say where interrupts go", super::ROOT);
    }
    let is_far = |pus: &[IdSet], local: &IdSet| !pus.is_empty() && pus.iter().all(|set| set.and(local).is_empty());
    let far = |kind| -> Vec<&str> {
        let of_kind = known.iter().filter(|(one, local)| one.kind == kind && is_far(&one.pus, local));
        of_kind.map(|(one, _)| one.name.as_str()).collect()
    };
    let (adapters, gpus) = (far(PciDeviceKind::Adapter), far(PciDeviceKind::Gpu));
    let change = "let irqbalance place them by node, or write local PUs to /proc/irq/N/smp_affinity_list (Mellanox: set_irq_affinity_bynode.sh)";
    match (adapters.is_empty(), gpus.is_empty()) {
        (false, _) => INTERRUPTS.costs(format!("all interrupts of {} arrive on far cores", listed(&adapters)), change),
        // A GPU interrupts only those who sleep until it is done.
        (true, false) => INTERRUPTS.remark(format!("all interrupts of {} arrive on far cores", listed(&gpus)), change),
        (true, true) => INTERRUPTS.ok(format!("those of {} arrive on near cores too", counted(known.len(), "device"))),
    }
}
