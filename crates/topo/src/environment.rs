//! What else of the machine a measurement depends on: kernel, limits, governor, drivers, cgroup, launcher.
//!
//! Each probe is a value with its source, or no value with the reason; nothing is left out because it was not
//! there. Everything is read from files, so the probes work before any driver is opened, and tests bring
//! their own root. Not here: what a GPU driver's library says (clocks, ECC, persistence), which the backend
//! reports.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;

use crate::cgroup;
use crate::fs_root::{FsRoot, value_of};
use crate::job_variables;

const CGROUP: &str = "/proc/self/cgroup";

/// The environment that matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// One entry per probe, always all of them, in the same order.
    pub probes: Vec<Probe>,
    /// Launcher, job and runtime variables that are set, of an allow-list.
    pub variables: BTreeMap<String, String>,
}

/// One thing that was looked up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// Its name; stable over versions, with the unit where there is one.
    pub name: String,
    /// What was read; null where it could not be.
    pub value: Option<ProbeValue>,
    /// The file that was read.
    pub source: String,
    /// Why there is no value; null where there is one.
    pub reason: Option<String>,
}

impl Environment {
    /// Whether a probe says that this is a virtual machine.
    pub fn is_virtual(&self) -> bool {
        let probe = self.probes.iter().find(|probe| probe.name == VIRTUAL_MACHINE);
        let value = probe.and_then(|probe| probe.value.as_ref());
        value.is_some_and(|said| matches!(said, ProbeValue::Text(text) if text != NO_SIGN))
    }
}

/// A probe's value: a number where it is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ProbeValue {
    /// A count or an amount, in the unit that the probe's name ends in.
    Number(u64),
    /// Words.
    Text(String),
}

/// Looks everything up, on this machine and in this process's environment.
pub fn probe() -> Environment {
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    probe_under(&FsRoot::default(), variable)
}

/// [`probe`] under another root and environment.
pub fn probe_under(root: &FsRoot, variable: impl Fn(&str) -> Option<String>) -> Environment {
    let probes = vec![
        file_text(root, "kernel.release", "/proc/sys/kernel/osrelease"),
        os_name(root),
        file_text(root, "host.name", "/proc/sys/kernel/hostname"),
        cpu_model(root),
        governor(root),
        file_text(
            root,
            "kernel.clocksource",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        huge_pages(root),
        number(root, "kernel.numa_balancing", "/proc/sys/kernel/numa_balancing"),
        memlock(root, "limits.memlock_soft_bytes", 0),
        memlock(root, "limits.memlock_hard_bytes", 1),
        probed("cgroup.path", CGROUP, cgroup::path(root).map(ProbeValue::Text)),
        cpuset("cgroup.cpus_effective", cgroup::cpus(root)),
        cpuset("cgroup.mems_effective", cgroup::mems(root)),
        virtual_machine(root),
        nvidia(root),
        amdgpu(root),
    ];

    Environment { probes, variables: job_variables::set(variable) }
}

fn probed(name: &str, source: &str, read: Result<ProbeValue, String>) -> Probe {
    let (value, reason) = match read {
        Ok(value) => (Some(value), None),
        Err(reason) => (None, Some(reason)),
    };
    Probe { name: name.to_owned(), value, source: source.to_owned(), reason }
}

/// A probe of one file, whose text `pick` takes the value from.
fn file(root: &FsRoot, name: &str, path: &str, pick: impl Fn(&str) -> Option<ProbeValue>) -> Probe {
    let value = root.text(path).and_then(|text| {
        let begins = || text.chars().take(60).collect::<String>();
        pick(&text).ok_or_else(|| format!("the file does not say it; it holds \"{}\"", begins()))
    });
    probed(name, path, value)
}

/// The same, where the value is some of the file's words.
fn words(root: &FsRoot, name: &str, path: &str, pick: impl Fn(&str) -> Option<&str>) -> Probe {
    file(root, name, path, |text| Some(ProbeValue::Text(pick(text)?.to_owned())))
}

fn file_text(root: &FsRoot, name: &str, path: &str) -> Probe {
    words(root, name, path, |text| (!text.is_empty()).then_some(text))
}

fn number(root: &FsRoot, name: &str, path: &str) -> Probe {
    file(root, name, path, |text| text.parse().ok().map(ProbeValue::Number))
}

fn os_name(root: &FsRoot) -> Probe {
    words(root, "os.name", "/etc/os-release", |text| {
        Some(value_of(text, "PRETTY_NAME")?.trim_matches(['"', '\'']))
    })
}

fn cpu_model(root: &FsRoot) -> Probe {
    words(root, "cpu.model", "/proc/cpuinfo", |text| {
        // x86 writes `model name`, POWER `cpu`; Arm writes numbers only, and a number is not a name.
        value_of(text, "model name").or_else(|| value_of(text, "cpu\t"))
    })
}

/// Each governor with the number of policies that have it: a single odd core is what one wants to see.
fn governor(root: &FsRoot) -> Probe {
    const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for policy in root.names(POLICIES).into_iter().filter(|name| name.starts_with("policy")) {
        if let Ok(governor) = root.text(&format!("{POLICIES}/{policy}/scaling_governor")) {
            *counts.entry(governor).or_default() += 1;
        }
    }

    let several = counts.len() > 1;
    let one =
        |(governor, count): (String, usize)| if several { format!("{governor} ({count})") } else { governor };
    let text: Vec<String> = counts.into_iter().map(one).collect();
    let value = match &text[..] {
        [] => Err("the kernel shows no frequency control (usual in a virtual machine)".to_owned()),
        all => Ok(ProbeValue::Text(all.join(", "))),
    };
    probed("cpu.governor", &format!("{POLICIES}/policy*/scaling_governor"), value)
}

/// The choice in brackets: `always [madvise] never`.
fn huge_pages(root: &FsRoot) -> Probe {
    words(root, "memory.transparent_huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled", |text| {
        Some(text.split_once('[')?.1.split_once(']')?.0)
    })
}

/// `Max locked memory         8388608              unlimited            bytes`
fn memlock(root: &FsRoot, name: &str, column: usize) -> Probe {
    file(root, name, "/proc/self/limits", |text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Max locked memory"))?;
        let limit = line.split_whitespace().nth(column)?;
        if limit == "unlimited" {
            return Some(ProbeValue::Text(limit.to_owned()));
        }
        limit.parse().ok().map(ProbeValue::Number)
    })
}

/// A set of the cpuset that this process's cgroup gives it.
fn cpuset(name: &str, set: Result<(IdSet, String), String>) -> Probe {
    match set {
        Ok((set, source)) => probed(name, &source, Ok(ProbeValue::Text(set.to_string()))),
        Err(reason) => probed(name, CGROUP, Err(reason)),
    }
}

/// The probe for the hypervisor.
pub const VIRTUAL_MACHINE: &str = "platform.virtual_machine";

fn virtual_machine(root: &FsRoot) -> Probe {
    if let Ok(hypervisor) = root.text("/sys/hypervisor/type") {
        return probed(VIRTUAL_MACHINE, "/sys/hypervisor/type", Ok(ProbeValue::Text(hypervisor)));
    }
    let flag = words(root, VIRTUAL_MACHINE, "/proc/cpuinfo", |text| {
        // The `hypervisor` flag exists on x86 only: elsewhere its absence says nothing.
        let flagged = value_of(text, "flags")?.split_whitespace().any(|flag| flag == "hypervisor");
        Some(if flagged { "yes, by the CPU's hypervisor flag" } else { NO_SIGN })
    });
    if flag.value.is_some() { flag } else { by_firmware(root, VIRTUAL_MACHINE).unwrap_or(flag) }
}

/// Where no sign of a virtual machine was found.
pub const NO_SIGN: &str = "no sign of one";

/// What the tables of a guest's firmware begin with, as systemd-detect-virt(1) knows them.
const GUEST_FIRMWARE: [&str; 17] = [
    "KVM",
    "OpenStack",
    "KubeVirt",
    "Amazon EC2",
    "QEMU",
    "VMware",
    "VMW",
    "innotek GmbH",
    "VirtualBox",
    "Xen",
    "Bochs",
    "Parallels",
    "BHYVE",
    "Hyper-V",
    "Virtual Machine",
    "Apple Virtualization",
    "Google Compute Engine",
];

/// The same by the firmware's names for the machine (DMI); `None` where it has none. Clouds name their
/// bare-metal machines so too.
fn by_firmware(root: &FsRoot, name: &str) -> Option<Probe> {
    const DMI: &str = "/sys/class/dmi/id";
    let [vendor, product] =
        ["sys_vendor", "product_name"].map(|file| root.text(&format!("{DMI}/{file}")).ok());
    let is_metal = product.as_deref().is_some_and(|product| product.contains("metal"));
    let texts: Vec<String> = vendor.into_iter().chain(product).collect();
    let is_guests = |text: &&String| GUEST_FIRMWARE.iter().any(|known| text.starts_with(known));
    let found = texts.iter().find(is_guests).filter(|_| !is_metal);

    let value = match (found, texts.is_empty()) {
        (_, true) => return None,
        (Some(text), _) => format!("yes, by its firmware ({text})"),
        (None, false) => NO_SIGN.to_owned(),
    };
    Some(probed(name, DMI, Ok(ProbeValue::Text(value))))
}

/// `NVRM version: NVIDIA UNIX x86_64 Kernel Module 580.65.06 Sun …`: the first word made of numbers and
/// points.
fn nvidia(root: &FsRoot) -> Probe {
    let version = |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    words(root, "driver.nvidia", "/proc/driver/nvidia/version", |text| {
        value_of(text, "NVRM version")?.split_whitespace().find(version)
    })
}

fn amdgpu(root: &FsRoot) -> Probe {
    const VERSION: &str = "/sys/module/amdgpu/version";
    let none = |_| match root.exists("/sys/module/amdgpu") {
        true => "loaded, and the kernel's own: it has no version but the kernel's".to_owned(),
        false => "not loaded".to_owned(),
    };
    probed("driver.amdgpu", VERSION, root.text(VERSION).map(ProbeValue::Text).map_err(none))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_virtual_only_where_a_probe_says_so() {
        let machine = |said: Option<&str>| Environment {
            probes: vec![Probe {
                name: VIRTUAL_MACHINE.to_owned(),
                value: said.map(|said| ProbeValue::Text(said.to_owned())),
                source: String::new(),
                reason: None,
            }],
            variables: BTreeMap::new(),
        };
        assert!(machine(Some("yes, by the CPU's hypervisor flag")).is_virtual());
        assert!(!machine(Some(NO_SIGN)).is_virtual());
        assert!(!machine(None).is_virtual());
    }

    fn node() -> std::io::Result<tempfile::TempDir> {
        let root = tempfile::tempdir()?;
        for (path, text) in [
            ("proc/sys/kernel/osrelease", "6.1.0\n"),
            ("etc/os-release", "NAME=x\nPRETTY_NAME=\"SUSE Linux Enterprise Server 15 SP5\"\n"),
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 7A53\nflags\t\t: fpu vme\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "performance\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("proc/sys/kernel/numa_balancing", "0\n"),
            (
                "proc/self/limits",
                "Limit   Soft Limit  Hard Limit  Units\nMax locked memory   8388608   unlimited   bytes\n",
            ),
            ("proc/self/cgroup", "0::/slurm/job_1/step_0\n"),
            ("sys/fs/cgroup/slurm/job_1/step_0/cgroup.procs", "1\n"),
            ("sys/fs/cgroup/slurm/job_1/cpuset.cpus.effective", "1-7,9-15\n"),
            (
                "proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n\
                 GCC version: gcc 12.2.0\n",
            ),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(root.path()))?;
            std::fs::write(path, text)?;
        }

        Ok(root)
    }

    fn text(environment: &Environment, name: &str) -> String {
        let probe = environment.probes.iter().find(|probe| probe.name == name);
        match probe.map(|probe| (&probe.value, &probe.reason)) {
            Some((Some(ProbeValue::Text(text)), None)) => text.clone(),
            Some((Some(ProbeValue::Number(number)), None)) => format!("#{number}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn each_probe_reads_its_file() -> std::io::Result<()> {
        let root = node()?;
        let environment = probe_under(&FsRoot::at(root.path()), |_| None);
        for (name, value) in [
            ("kernel.release", "6.1.0"),
            ("os.name", "SUSE Linux Enterprise Server 15 SP5"),
            ("cpu.model", "AMD EPYC 7A53"),
            ("cpu.governor", "performance (2), powersave (1)"),
            ("memory.transparent_huge_pages", "madvise"),
            ("kernel.numa_balancing", "#0"),
            ("limits.memlock_soft_bytes", "#8388608"),
            ("limits.memlock_hard_bytes", "unlimited"),
            ("cgroup.path", "/slurm/job_1/step_0"),
            ("cgroup.cpus_effective", "1-7,9-15"),
            ("driver.nvidia", "580.65.06"),
        ] {
            assert_eq!(text(&environment, name), value, "{name}");
        }

        insta::assert_snapshot!(text(&environment, "platform.virtual_machine"), @"no sign of one");
        Ok(())
    }

    #[test]
    fn the_cpuset_comes_from_the_nearest_cgroup_that_has_one() -> std::io::Result<()> {
        let root = node()?;
        let environment = probe_under(&FsRoot::at(root.path()), |_| None);
        let probe = environment.probes.iter().find(|probe| probe.name == "cgroup.cpus_effective");
        let source = probe.map(|probe| probe.source.as_str());
        assert_eq!(source, Some("/sys/fs/cgroup/slurm/job_1/cpuset.cpus.effective"));
        Ok(())
    }

    #[test]
    fn a_virtual_machine_whose_cpu_does_not_say_so_is_known_by_its_firmware() -> std::io::Result<()> {
        for (vendor, product, said) in [
            ("QEMU", "KVM Virtual Machine", "yes, by its firmware (QEMU)"),
            ("Microsoft Corporation", "Virtual Machine", "yes, by its firmware (Virtual Machine)"),
            ("Amazon EC2", "c7g.16xlarge", "yes, by its firmware (Amazon EC2)"),
            ("Amazon EC2", "c7g.metal", "no sign of one"),
            ("Supermicro", "ARS-111GL-NHR", "no sign of one"),
        ] {
            let root = node()?;
            std::fs::write(root.path().join("proc/cpuinfo"), "processor\t: 0\nFeatures\t: fp asimd\n")?;
            let dmi = root.path().join("sys/class/dmi/id");
            std::fs::create_dir_all(&dmi)?;
            std::fs::write(dmi.join("sys_vendor"), vendor)?;
            std::fs::write(dmi.join("product_name"), product)?;
            let environment = probe_under(&FsRoot::at(root.path()), |_| None);
            assert_eq!(text(&environment, "platform.virtual_machine"), said, "{vendor} {product}");
        }
        Ok(())
    }

    #[test]
    fn a_machine_without_any_of_it_still_has_every_probe_with_a_reason() -> std::io::Result<()> {
        let empty = tempfile::tempdir()?;
        let environment = probe_under(&FsRoot::at(empty.path()), |_| None);
        assert_eq!(environment.probes.len(), 16);
        for probe in &environment.probes {
            assert!(probe.value.is_none() && probe.reason.is_some(), "{probe:?}");
        }
        Ok(())
    }

    #[test]
    fn this_machine_says_its_kernel() {
        let environment = probe();
        assert!(
            environment.probes.iter().any(|probe| probe.name == "kernel.release" && probe.value.is_some())
        );
    }
}
