//! Lines of Intel MPI's `mpiexec`: the variables of "Process Pinning" in the Developer Reference, and its
//! default.
//!
//! Its releases since 2021.16 ask hwloc for the machine; older ones ask each CPU itself, so that no saved
//! machine can be shown to them.

use super::machine::Machine;

const DOMAINS: [&str; 36] = [
    "core",
    "socket",
    "sock",
    "numa",
    "node",
    "cache",
    "cache1",
    "cache2",
    "cache3",
    "auto",
    "omp",
    "1",
    "2",
    "3",
    "4",
    "auto:compact",
    "auto:scatter",
    "auto:platform",
    "2:compact",
    "2:scatter",
    "2:platform",
    "omp:compact",
    "[1,2]",
    "[2,1]",
    "[3,c]",
    "[0x1,0x2]",
    "[0x2,0x1]",
    "[0x3,0xc]",
    "[0x3,0x3]",
    "[0x1,0x2,0x4,0x8]",
    "0,1",
    "[0,1]",
    "mcore",
    "core:compact",
    "numa:scatter",
    "unknown",
];

const LISTS: [&str; 20] = [
    "0,1",
    "1,0",
    "0-1",
    "0-3",
    "0,2-3",
    "all",
    "allcores",
    "allsocks",
    "all:bunch",
    "allcores:bunch",
    "allcores:scatter",
    "allcores:spread",
    "allcores:map=bunch",
    "allcores:map=scatter",
    "allcores:map=spread",
    "allcores:grain=core",
    "0,0",
    "[0,1]",
    "9999",
    "none",
];

const ORDERS: [&str; 5] = ["range", "scatter", "compact", "spread", "bunch"];

/// All of them for this machine.
pub fn lines(machine: &Machine) -> Vec<String> {
    let few = machine.cores.min(4);
    let mut lines = Vec::new();
    lines.extend(
        [1, 2, 3, 4, 5, 6, machine.cores, machine.cores + 1].map(|ranks| format!("mpiexec -n {ranks}")),
    );
    lines.extend([2, 3, 4].map(|ranks| format!("I_MPI_PIN=1 mpiexec -n {ranks}")));
    lines.extend(["0", "off", "no", "disable"].map(|off| format!("I_MPI_PIN={off} mpiexec -n 2")));
    for domain in DOMAINS {
        lines.extend([2, few].map(|ranks| format!("I_MPI_PIN_DOMAIN={domain} mpiexec -n {ranks}")));
    }
    for domain in ["core", "numa", "auto", "2", "omp"] {
        lines.push(format!("OMP_NUM_THREADS=2 I_MPI_PIN_DOMAIN={domain} mpiexec -n {few}"));
        lines.extend(
            ORDERS.map(|order| format!("I_MPI_PIN_ORDER={order} I_MPI_PIN_DOMAIN={domain} mpiexec -n {few}")),
        );
        lines.extend(
            ["core", "unit"]
                .map(|cell| format!("I_MPI_PIN_CELL={cell} I_MPI_PIN_DOMAIN={domain} mpiexec -n {few}")),
        );
    }
    lines.extend(ORDERS.map(|order| format!("I_MPI_PIN_ORDER={order} mpiexec -n {few}")));
    lines.extend(["core", "unit"].map(|cell| format!("I_MPI_PIN_CELL={cell} mpiexec -n {few}")));
    lines.extend(["yes", "no"].map(|respect| format!("I_MPI_PIN_RESPECT_CPUSET={respect} mpiexec -n {few}")));
    for list in LISTS {
        lines.extend([2, few].map(|ranks| format!("I_MPI_PIN_PROCESSOR_LIST={list} mpiexec -n {ranks}")));
    }
    lines.push("I_MPI_PIN_PROCESSOR_LIST=0,1 I_MPI_PIN_DOMAIN=core mpiexec -n 2".to_owned());
    for given in ["-genv", "-env"] {
        lines.push(format!("mpiexec {given} I_MPI_PIN_DOMAIN core -n {few}"));
        lines.push(format!("mpiexec -n {few} {given} I_MPI_PIN_DOMAIN=numa"));
        lines.push(format!("mpiexec -n {few} {given} I_MPI_PIN 0"));
    }
    for to in ["core", "core:2", "numa", "socket", "none", "hwthread"] {
        lines.push(format!("mpiexec -n {few} -bind-to {to}"));
    }
    lines.push(format!("mpiexec -n {few} -bind-to core -map-by numa"));
    lines
}
