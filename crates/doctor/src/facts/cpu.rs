//! What the kernel lets run on which core: frequency control, isolated cores, hardware threads.

use std::collections::BTreeMap;

use stats::IdSet;
use topo::fs_root::FsRoot;

const CPUS: &str = "/sys/devices/system/cpu";

/// What is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Whether sysfs shows CPUs at all.
    pub is_shown: bool,
    /// How frequencies are controlled, and on how many policies (one or several PUs each) so.
    pub policies: BTreeMap<FrequencyPolicy, usize>,
    /// Cores that the scheduler balances nothing onto (isolcpus); `None` where the kernel does not say.
    pub isolated: Option<IdSet>,
    /// Cores without a tick (nohz_full).
    pub tickless: IdSet,
    /// Whether hardware threads are on: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub smt: Option<String>,
}

/// How the frequency of some PUs is controlled (admin-guide/pm/cpufreq, "Policy Interface in sysfs").
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrequencyPolicy {
    /// `performance`, `powersave`, …
    pub governor: Option<String>,
    /// The driver (`intel_pstate`, `acpi-cpufreq`).
    pub driver: Option<String>,
    /// What a driver that chooses frequencies itself is told to prefer (`performance`, `balance_power`, or a
    /// number up to 255).
    pub preference: Option<String>,
    /// The highest frequency that is allowed, kHz.
    pub limit_khz: Option<u64>,
    /// The highest frequency of the hardware, kHz.
    pub most_khz: Option<u64>,
    /// The frequency that the governor `userspace` was given, kHz.
    pub set_khz: Option<u64>,
}

/// Reads it.
pub fn cpu(root: &FsRoot) -> Cpu {
    let list =
        |file: &str| root.text(&format!("{CPUS}/{file}")).ok().map(|text| text.parse().unwrap_or_default());
    let mut policies = BTreeMap::new();
    for name in root.names(&format!("{CPUS}/cpufreq")).iter().filter(|name| name.starts_with("policy")) {
        *policies.entry(policy(root, &format!("{CPUS}/cpufreq/{name}"))).or_default() += 1;
    }

    Cpu {
        is_shown: !root.names(CPUS).is_empty(),
        policies,
        isolated: list("isolated"),
        tickless: list("nohz_full").unwrap_or_default(),
        smt: root.text(&format!("{CPUS}/smt/control")).ok(),
    }
}

fn policy(root: &FsRoot, folder: &str) -> FrequencyPolicy {
    let text = |file: &str| root.text(&format!("{folder}/{file}")).ok();
    let number = |file: &str| text(file)?.parse().ok();
    let governor = text("scaling_governor");

    FrequencyPolicy {
        driver: text("scaling_driver"),
        preference: text("energy_performance_preference"),
        limit_khz: number("scaling_max_freq"),
        most_khz: number("cpuinfo_max_freq"),
        set_khz: number("scaling_setspeed").filter(|_| governor.as_deref() == Some("userspace")),
        governor,
    }
}
