//! What the kernel lets run on which core: frequency control, isolated cores, hardware threads.

use std::collections::BTreeSet;

use stats::IdSet;
use topo::fs_root::FsRoot;

const CPUS: &str = "/sys/devices/system/cpu";

/// What is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// The drivers of frequency control.
    pub frequency_drivers: BTreeSet<String>,
    /// What cores are told to prefer by a driver that chooses frequencies itself (`performance`, `balance_power`).
    pub preferences: BTreeSet<String>,
    /// Cores that the scheduler balances nothing onto (isolcpus).
    pub isolated: IdSet,
    /// Cores without a tick (nohz_full).
    pub tickless: IdSet,
    /// Whether hardware threads are on: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub smt: Option<String>,
}

/// Reads it.
pub fn cpu(root: &FsRoot) -> Cpu {
    let list = |file: &str| root.text(&format!("{CPUS}/{file}")).ok().and_then(|text| text.parse().ok());
    let policies = root.names(&format!("{CPUS}/cpufreq"));
    let of_policies = |file: &str| {
        let text = |policy: &String| root.text(&format!("{CPUS}/cpufreq/{policy}/{file}")).ok();
        policies.iter().filter(|name| name.starts_with("policy")).filter_map(text).collect()
    };
    Cpu {
        frequency_drivers: of_policies("scaling_driver"),
        preferences: of_policies("energy_performance_preference"),
        isolated: list("isolated").unwrap_or_default(),
        tickless: list("nohz_full").unwrap_or_default(),
        smt: root.text(&format!("{CPUS}/smt/control")).ok(),
    }
}
