//! Lines of Open MPI's `mpirun`: its options for mapping, binding and ranking (mpirun(1) of 4.1 and 5.0),
//! their pairs, and what stands for them.

use super::machine::Machine;

/// Ways to map, tried with every way to bind.
const BY: [&str; 14] = [
    "",
    "--map-by slot",
    "--map-by node",
    "--map-by socket",
    "--map-by numa",
    "--map-by l3cache",
    "--map-by core",
    "--map-by hwthread",
    "--map-by ppr:4:node",
    "--map-by ppr:2:socket",
    "--map-by ppr:2:numa",
    "--map-by ppr:1:l3cache",
    "-N 4",
    "--use-hwthread-cpus",
];

/// Ways to map, tried alone.
const ALONE: [&str; 10] = [
    "--map-by package",
    "--map-by ppr:2:node",
    "--map-by ppr:1:package",
    "--map-by ppr:1:socket",
    "--map-by ppr:1:numa",
    "--map-by ppr:1:core",
    "--map-by ppr:1:hwthread",
    "--npersocket 2",
    "--map-by core --use-hwthread-cpus",
    "--map-by numa --use-hwthread-cpus",
];

/// Ways to bind.
const TO: [&str; 7] = [
    "",
    "--bind-to none",
    "--bind-to core",
    "--bind-to hwthread",
    "--bind-to l3cache",
    "--bind-to numa",
    "--bind-to socket",
];

/// Ways to give a rank several CPUs.
const WIDE: [&str; 22] = [
    "--map-by slot:PE=2",
    "--map-by node:PE=2",
    "--map-by socket:PE=2",
    "--map-by numa:PE=2",
    "--map-by l3cache:PE=2",
    "--map-by core:PE=2",
    "--map-by :PE=2",
    "--map-by ppr:1:node:PE=2",
    "--map-by ppr:1:node:PE=4",
    "--map-by ppr:2:node:PE=2",
    "--map-by ppr:4:node:PE=2",
    "--map-by ppr:1:socket:PE=2",
    "--map-by ppr:2:socket:PE=2",
    "--map-by ppr:1:numa:PE=2",
    "--map-by ppr:2:numa:PE=1",
    "--map-by ppr:1:l3cache:PE=2",
    "--map-by socket:PE=3",
    "--map-by numa:PE=2 --bind-to core",
    "--map-by numa:PE=2 --bind-to hwthread",
    "--map-by numa:PE=2 --bind-to numa",
    "--map-by numa:PE=2:hwtcpus",
    "--map-by slot:PE=2 --use-hwthread-cpus",
];

/// Ways to number.
const RANKS: [&str; 7] = [
    "--rank-by slot",
    "--rank-by node",
    "--rank-by fill",
    "--rank-by span",
    "--rank-by core",
    "--rank-by socket",
    "--rank-by numa",
];

/// Lists of CPUs, modifiers, older words and parameters.
const OTHERS: [&str; 42] = [
    "--cpu-list 0,1",
    "--cpu-set 0,1",
    "--cpu-list 0-3",
    "--cpu-set 2,3 --bind-to core",
    "--cpu-list 0,2 --bind-to core",
    "--cpu-list 0,1 --bind-to hwthread",
    "--cpu-set 0,1 --map-by core",
    "--cpu-list 0,1 --bind-to cpu-list",
    "--bind-to cpu-list:ordered --cpu-list 0,1",
    "--map-by pe-list=0,1",
    "--map-by pe-list=2,3",
    "--map-by pe-list=0,1:ordered",
    "--map-by pe-list=0-3:ordered",
    "--map-by pe-list=3,2:ordered",
    "--map-by pe-list=0,1 --bind-to core",
    "--map-by socket:span",
    "--map-by numa:span",
    "--map-by numa:span --rank-by span",
    "--map-by slot:oversubscribe",
    "--map-by numa:oversubscribe",
    "--oversubscribe",
    "--map-by numa:nooversubscribe",
    "--map-by core:hwtcpus",
    "--map-by numa:hwtcpus",
    "--map-by core:hwtcpus --bind-to hwthread",
    "--bind-to core:overload-allowed",
    "--bind-to numa:overload-allowed",
    "--bind-to core:if-supported",
    "--bycore",
    "--bynode",
    "--byslot",
    "--bind-to-core",
    "--bind-to-socket",
    "--cpus-per-proc 2",
    "--cpus-per-rank 2",
    "--npernode 2",
    "--pernode",
    "--nolocal",
    "--mca rmaps_base_mapping_policy numa",
    "--mca hwloc_base_binding_policy core",
    "--prtemca rmaps_default_mapping_policy numa",
    "--report-bindings --map-by numa --bind-to core",
];

/// Variables before the line.
const VARIABLES: [&str; 8] = [
    "OMPI_MCA_rmaps_base_mapping_policy=numa",
    "OMPI_MCA_hwloc_base_binding_policy=core",
    "OMPI_MCA_rmaps_base_mapping_policy=ppr:2:numa",
    "OMPI_MCA_hwloc_base_use_hwthreads_as_cpus=1",
    "PRTE_MCA_rmaps_default_mapping_policy=numa",
    "PRTE_MCA_hwloc_default_binding_policy=core",
    "PRTE_MCA_rmaps_default_mapping_policy=numa:PE=2",
    "OMPI_MCA_rmaps_base_oversubscribe=1",
];

/// Rankfiles beside the table.
const RANKFILES: [&str; 6] = [
    "--rankfile two.rankfile",
    "--map-by rankfile:file=two.rankfile",
    "--map-by rankfile:file=two.rankfile:hwtcpus",
    "--rankfile two.rankfile --mca rmaps_rank_file_physical 1",
    "--rankfile sockets.rankfile",
    "--rankfile two.rankfile --use-hwthread-cpus",
];

/// All of them for this machine.
pub fn lines(machine: &Machine) -> Vec<String> {
    let whole = machine.cores;
    let few = whole.min(4);
    let mut lines = Vec::new();
    for by in BY {
        lines.extend(TO.iter().map(|to| format!("mpirun -np {few} {by} {to}")));
    }
    for by in BY.iter().chain(&ALONE) {
        lines.extend(
            [2, 3, whole]
                .iter()
                .filter(|ranks| **ranks <= whole)
                .map(|ranks| format!("mpirun -np {ranks} {by}")),
        );
    }
    lines.extend(["-N 2", "--map-by ppr:2:node", "--map-by ppr:1:numa", ""].map(|by| format!("mpirun {by}")));
    lines.extend(["--bind-to core", "--bind-to numa"].map(|to| format!("mpirun -np {whole} {to}")));
    lines.extend(["--bind-to core", "--bind-to numa"].map(|to| format!("mpirun -np 2 {to}")));
    for wide in WIDE {
        lines.extend([2, few].map(|ranks| format!("mpirun -np {ranks} {wide}")));
    }
    for rank_by in RANKS {
        for by in [
            "",
            "--map-by numa",
            "--map-by socket --bind-to core",
            "--map-by ppr:2:numa",
            "--map-by numa:PE=2",
        ] {
            lines.push(format!("mpirun -np {few} {by} {rank_by}"));
        }
    }
    lines.extend(OTHERS.iter().map(|other| format!("mpirun -np 2 {other}")));
    for other in
        ["--cpu-list 0,1", "--cpu-set 0-3", "--map-by pe-list=0-3:ordered", "--map-by numa:oversubscribe"]
    {
        lines.push(format!("mpirun -np {few} {other}"));
    }
    for variable in VARIABLES {
        lines.push(format!("{variable} mpirun -np {few}"));
    }
    lines.extend(RANKFILES.iter().map(|file| format!("mpirun -np 2 {file}")));
    // More ranks than cores.
    lines.push(format!("mpirun -np {}", whole + 1));
    lines.push(format!("mpirun -np {} --oversubscribe", whole + 1));
    lines.push(format!("mpirun -np {} --map-by numa --oversubscribe", whole + machine.numa_nodes.max(1)));
    lines.push(format!("mpirun -np {} --use-hwthread-cpus", machine.pus.len()));
    lines.push(format!("mpirun -np {} --map-by ppr:1:hwthread", machine.pus.len()));
    lines.push(format!("mpirun -np {} --map-by ppr:1:numa", machine.numa_nodes.max(1)));
    lines.push(format!("mpirun -np {} --map-by socket", machine.packages.max(1)));
    lines
}
