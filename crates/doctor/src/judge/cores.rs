//! Cores: their frequency, what the scheduler keeps off them, hardware threads, and where devices' interrupts
//! arrive.

use std::collections::BTreeMap;

use report::doctor::{Check, Part};
use stats::IdSet;
use stats::units::counted;
use topo::model::Rung;

use super::probe::{Probe, listed, of_known};
use super::{HOST, UNREADABLE};
use crate::facts::cpu::FrequencyPolicy;
use crate::facts::pci::PciDeviceKind;
use crate::facts::{MachineKind, SystemFacts};

const GOVERNOR: Probe = Probe {
    name: "cpu.governor",
    part: Part::Cpu,
    why: "a core that is kept slow, or speeds up late, starts copies and answers flags later",
    source: "kernel, admin-guide/pm/cpufreq; admin-guide/pm/intel_pstate (passive mode, energy vs \
        performance hints); admin-guide/pm/amd-pstate",
};

const ISOLATED: Probe = Probe {
    name: "cpu.isolated",
    part: Part::Cpu,
    why: "the scheduler moves nothing onto or off isolated cores: threads that are not bound one by one pile \
        up on the first",
    source: "kernel, admin-guide/kernel-parameters (isolcpus, nohz_full)",
};

const SMT: Probe = Probe {
    name: "cpu.threads",
    part: Part::Cpu,
    why: "two ranks on one core's threads share its bandwidth, also where one is a neighbour's",
    source: "kernel, ABI/testing/sysfs-devices-system-cpu (smt); slurm.conf(5), CR_Core; Kubernetes, Control \
        CPU Management Policies on the Node (full-pcpus-only)",
};

const INTERRUPTS: Probe = Probe {
    name: "cpu.interrupts",
    part: Part::Cpu,
    why: "an adapter whose interrupts all arrive on far cores serves its queues from far memory",
    source: "kernel, core-api/irq/irq-affinity; networking/scaling",
};

/// Drivers that choose frequencies themselves: for them "powersave" is the usual word, and the preference
/// says how. In its passive mode Intel's is called `intel_cpufreq` and has the governors of all others.
const OWN_CHOICE: [&str; 2] = ["intel_pstate", "amd-pstate-epp"];
/// Preferences are words, or numbers from 0 (speed) to 255 (power); from the second half on they are Intel's
/// `balance_power` and `power`.
const BALANCED: u8 = 128;

/// How fast a core is by the control of its frequency, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pace {
    /// Always, or at once when it has work.
    Fast,
    /// By the load, in the driver's own way.
    ByLoad,
    /// It is not shown.
    Unknown,
    /// Late, or never.
    Slow,
}

/// The pace, and what to say of it.
fn pace(policy: &FrequencyPolicy) -> (Pace, String) {
    let driver = policy.driver.as_deref().unwrap_or("driver not shown");
    let Some(governor) = policy.governor.as_deref() else {
        return (Pace::Unknown, format!("governor not shown ({driver})"));
    };
    let seen = format!("{governor} ({driver})");
    let reaches = |set: Option<u64>| Some(set? >= policy.most_khz?);

    match (governor, OWN_CHOICE.contains(&driver), policy.preference.as_deref()) {
        ("performance", ..) => (Pace::Fast, seen),
        ("powersave", true, Some(preference)) => {
            let saves = preference.contains("power")
                || preference.parse::<u8>().is_ok_and(|number| number > BALANCED);
            (if saves { Pace::Slow } else { Pace::Fast }, format!("{seen}, preferring {preference}"))
        }
        ("powersave", true, None) => (Pace::ByLoad, format!("{seen}: the frequency follows the load")),
        ("powersave", false, _) => (Pace::Slow, format!("{seen}: always the lowest frequency")),
        ("userspace", ..) => match (reaches(policy.set_khz), policy.set_khz) {
            (Some(true), _) => (Pace::Fast, format!("{seen}, set to the highest frequency")),
            (_, Some(set)) => (Pace::Slow, format!("{seen}, set to {}", gigahertz(set))),
            (_, None) => (Pace::Unknown, format!("{seen}, set to a frequency that is not shown")),
        },
        _ => (Pace::Slow, seen),
    }
}

fn gigahertz(khz: u64) -> String {
    format!("{:.1} GHz", khz as f64 / 1e6)
}

pub(super) fn governor(facts: &SystemFacts<'_>) -> Option<Check> {
    let policies = &facts.cpu.policies;
    if policies.is_empty() {
        return match facts.platform() {
            MachineKind::Virtual => GOVERNOR.open("none in this virtual machine; its host decides", HOST),
            _ if !facts.cpu.is_shown => {
                GOVERNOR.open("frequency control is not shown here (/sys)", UNREADABLE)
            }
            MachineKind::Unknown => GOVERNOR.open(
                "no frequency control, and whether this is a virtual machine or not is not shown",
                HOST,
            ),
            MachineKind::Physical => GOVERNOR.ok("no frequency control: the firmware decides"),
        };
    }

    let paces: Vec<((Pace, String), usize)> =
        policies.iter().map(|(policy, count)| (pace(policy), *count)).collect();
    let worst = paces.iter().map(|((pace, _), _)| *pace).max().unwrap_or(Pace::Unknown);
    let all: usize = policies.values().sum();
    let of_worst = paces.iter().filter(|((pace, _), _)| *pace == worst);
    let seen: BTreeMap<&str, usize> = of_worst.fold(BTreeMap::new(), |mut seen, ((_, words), count)| {
        *seen.entry(words.as_str()).or_default() += count;
        seen
    });
    let some = |(words, count): (&&str, &usize)| match *count == all {
        true => (*words).to_owned(),
        false => format!("{words} on {count} of {all} policies"),
    };
    let seen = listed(&seen.iter().map(some).collect::<Vec<_>>());

    let change = "as root: cpupower frequency-set -g performance";
    let limited = policies.keys().find(
        |policy| matches!((policy.limit_khz, policy.most_khz), (Some(limit), Some(most)) if limit < most),
    );
    match (worst, limited.and_then(|policy| policy.limit_khz.zip(policy.most_khz))) {
        (Pace::Slow, _) => GOVERNOR.costs(seen, change),
        (Pace::Unknown, _) => GOVERNOR.open(seen, super::ROOT),
        (Pace::ByLoad, _) => GOVERNOR.remark(seen, change),
        (Pace::Fast, Some((limit, most))) => GOVERNOR.remark(
            format!("{seen}, held to {:.1} of {}", limit as f64 / 1e6, gigahertz(most)),
            "as root, unless the site limits frequencies on purpose: cpupower frequency-set -u MAXIMUM",
        ),
        (Pace::Fast, None) => GOVERNOR.ok(seen),
    }
}

pub(super) fn isolated(facts: &SystemFacts<'_>) -> Option<Check> {
    let allowed = &facts.survey.topology.allowed.pus;
    let Some(all) = &facts.cpu.isolated else {
        return ISOLATED.open("isolated cores are not shown (/sys/devices/system/cpu/isolated)", UNREADABLE);
    };
    let own = all.and(allowed);

    match (all.is_empty(), facts.cpu.tickless.is_empty()) {
        (true, true) => return ISOLATED.ok("none"),
        // Without a tick alone a core is one of the scheduler's still.
        (true, false) => {
            return ISOLATED
                .ok(format!("none isolated; PUs {} run without a tick (nohz_full)", facts.cpu.tickless));
        }
        (false, _) => {}
    }
    if own.is_empty() {
        return ISOLATED.ok(format!("PUs {all} are isolated, none of them this process's"));
    }
    if own.len() == 1 && allowed.len() == 1 {
        return ISOLATED.ok(format!("this process is bound to isolated PU {own}"));
    }
    ISOLATED.costs(
        format!("PUs {own} of this process are isolated"),
        "bind every thread to a core of its own (OMP_PROC_BIND=close, OMP_PLACES=cores), or boot without \
         isolcpus=",
    )
}

pub(super) fn threads(facts: &SystemFacts<'_>) -> Option<Check> {
    let topology = &facts.survey.topology;
    if !facts.cpu.is_shown {
        return SMT.open("which threads share a core is not shown here (/sys)", UNREADABLE);
    }
    let most = topology.cores.iter().map(|core| core.pus.len()).max()?;

    // The kernel's words run together: see sysfs-devices-system-cpu.
    let state = match facts.cpu.smt.as_deref() {
        Some("notsupported") => "not supported by the CPU",
        Some("notimplemented") => "not implemented",
        Some("forceoff") => "forced off",
        Some(told) => told,
        None => "not told",
    };

    const WHOLE: &str = "let the scheduler give whole cores: SelectTypeParameters=CR_Core in slurm.conf \
        (srun --exclusive for a step), full-pcpus-only for the kubelet's CPU manager";

    // Of a core that is this job's in part the other threads may be another job's. A process that bound
    // itself to one thread is not meant.
    let allowed = &topology.allowed;
    let own = topology.cores.iter().filter(|core| !core.pus.and(&allowed.pus).is_empty());
    let (split, whole): (Vec<_>, Vec<_>) =
        own.partition(|core| !core.pus.and(&allowed.not_in_cgroup_pus).is_empty());
    let of_others =
        split.iter().fold(IdSet::default(), |all, core| all.or(&core.pus.and(&allowed.not_in_cgroup_pus)));

    match (split.is_empty(), whole.is_empty()) {
        (true, _) => {}
        // One thread of every core, as --hint=nomultithread gives: the others may be nobody's.
        (false, true) => {
            return SMT.remark(
                format!(
                    "every core of this job has threads outside of it: PUs {of_others} may be another job's"
                ),
                WHOLE,
            );
        }
        (false, false) => {
            return SMT.costs(
                format!(
                    "{} of {} cores of this job have threads outside of it: PUs {of_others} may be another \
                     job's",
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
    if !facts.cpu.is_shown && facts.devices.iter().any(|device| device.locality.rung != Rung::Unknown) {
        return INTERRUPTS.open("the interrupts of devices are not shown here (/sys)", super::ROOT);
    }
    let known: Vec<_> = facts.interrupts.iter().filter_map(|one| Some((one, local(one.pci)?))).collect();
    if known.is_empty() {
        return None;
    }
    if known.iter().all(|(one, _)| one.is_hidden) {
        return INTERRUPTS.open("/proc/irq does not say where interrupts go", super::ROOT);
    }
    let is_far =
        |pus: &[IdSet], local: &IdSet| !pus.is_empty() && pus.iter().all(|set| set.and(local).is_empty());
    let far = |kind| -> Vec<&str> {
        let of_kind = known.iter().filter(|(one, local)| one.kind == kind && is_far(&one.pus, local));
        of_kind.map(|(one, _)| one.name.as_str()).collect()
    };
    let (adapters, gpus) = (far(PciDeviceKind::Adapter), far(PciDeviceKind::Gpu));
    let change = "let irqbalance place them by node, or write local PUs to /proc/irq/N/smp_affinity_list \
        (Mellanox: set_irq_affinity_bynode.sh)";

    match (adapters.is_empty(), gpus.is_empty()) {
        (false, _) => {
            INTERRUPTS.costs(format!("all interrupts of {} arrive on far cores", listed(&adapters)), change)
        }
        // A GPU interrupts only those who sleep until it is done.
        (true, false) => {
            INTERRUPTS.remark(format!("all interrupts of {} arrive on far cores", listed(&gpus)), change)
        }
        (true, true) => {
            let shown = known.iter().filter(|(one, _)| !one.is_hidden).count();
            let seen = format!("those of {} arrive on near cores too", counted(shown, "device"));
            INTERRUPTS.ok(of_known(&seen, shown, known.len(), "device"))
        }
    }
}
