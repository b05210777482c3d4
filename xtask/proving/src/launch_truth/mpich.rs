//! Lines of MPICH's `mpiexec`: `-bind-to` with each object that Hydra knows (`mpiexec -bind-to -help`), alone
//! and with `-map-by`.

use super::machine::Machine;

const TO: [&str; 22] = [
    "",
    "-bind-to none",
    "-bind-to rr",
    "-bind-to core",
    "-bind-to core:2",
    "-bind-to core:3",
    "-bind-to hwthread",
    "-bind-to hwthread:2",
    "-bind-to numa",
    "-bind-to numa:2",
    "-bind-to socket",
    "-bind-to l3cache",
    "-bind-to l2cache",
    "-bind-to l1cache",
    "-bind-to machine",
    "-bind-to board",
    "-bind-to user:0,1",
    "-bind-to user:0+1,2+3",
    "-bind-to user:0-1",
    "-bind-to user:0,1-3x2",
    "-bind-to user:0,2x2,2-4+8x3",
    "-bind-to user:1x2",
];

const BY: [&str; 9] = [
    "",
    "-map-by core",
    "-map-by core:2",
    "-map-by hwthread",
    "-map-by numa",
    "-map-by numa:2",
    "-map-by socket",
    "-map-by l3cache",
    "-map-by rr",
];

/// All of them for this machine.
pub fn lines(machine: &Machine) -> Vec<String> {
    let mut lines = Vec::new();
    for to in TO {
        let plain = [1, 2, 3, 5, machine.cores].map(|ranks| format!("mpiexec -n {ranks} {to}"));
        lines.extend(plain);
        let own = BY.iter().filter(|_| !to.is_empty() && !to.contains("user") && !to.ends_with("none"));
        lines.extend(own.map(|by| format!("mpiexec -n 4 {to} {by}")));
    }
    lines.push(format!("mpiexec -n {} -bind-to core", machine.cores + 1));
    lines.push(format!("mpiexec -n {} -bind-to hwthread -map-by core", machine.cores + 2));
    lines.push(format!("mpiexec -n {} -bind-to numa", machine.numa_nodes + 1));
    lines.push("mpiexec -n 4 -map-by numa".to_owned());
    lines.push("HYDRA_BINDING=core mpiexec -n 3".to_owned());
    lines
}
