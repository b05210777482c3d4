//! A shell script that puts each rank of a node in its place: `select_gpu` done right, for where there is no
//! numabench.
//!
//! POSIX sh. Arguments are passed on as `"$@"`, so that spaces, quotes and newlines in them arrive; the
//! program takes the script's place (`exec`), so that signals and the exit code are its own; a rank that has
//! no place is an error and not rank 0's neighbour.

use topo::model::Topology;

use super::mpirun::is_host_name;
use super::{Dialect, Saying, Situation, VisibilityVariables, visible};
use placement::{NodePlaces, Place};

/// Variables that tell a rank's number on its node.
pub const LOCAL_RANK_VARIABLES: [&str; 7] = [
    "JSM_NAMESPACE_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "FLUX_TASK_LOCAL_ID",
    "SLURM_LOCALID",
    "PALS_LOCAL_RANKID",
    "LOCAL_RANK",
];

/// Takes the rank's number from the innermost launcher. torchrun's `LOCAL_RANK` is no name of its own, and
/// scripts set it by hand, so that it comes first only beside torchrun's mark. `mpirun` and Flux start their
/// daemons with `srun` where there is Slurm, so theirs come before Slurm's. Outside a step `SLURM_LOCALID` is
/// the batch script's own, 0 for all that it starts.
const RANK: &str = "\
rank=${TORCHELASTIC_RUN_ID:+${LOCAL_RANK:-}}
rank=${rank:-${JSM_NAMESPACE_LOCAL_RANK:-${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-}}}}
rank=${rank:-${FLUX_TASK_LOCAL_ID:-${SLURM_STEP_ID:+${SLURM_LOCALID:-}}}}
rank=${rank:-${PALS_LOCAL_RANKID:-${LOCAL_RANK:-${SLURM_LOCALID:-}}}}
";

/// The script. `nics`: what the program of each rank is told of the network adapter near its GPU,
/// `NAME=value`; empty where the choice is its libraries'.
pub fn wrapper(
    topology: &Topology,
    places: &NodePlaces,
    situation: &Situation,
    nics: &[Vec<String>],
) -> Saying {
    let shown: Vec<Option<VisibilityVariables>> =
        places.places.iter().map(|place| Some(visible(topology, place.target.as_ref()?))).collect();
    let mut remarks: Vec<String> = Vec::new();
    for remark in shown.iter().flatten().filter_map(|visible| visible.remark.clone()) {
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }

    let host = topology.hostname.as_deref().filter(|host| is_host_name(host));
    let only_here = shown.iter().flatten().any(|visible| visible.host_only);
    let mut saying =
        Saying::new(Dialect::Wrapper, script(places, (&shown, nics), host.filter(|_| only_here)));
    saying.remarks = remarks;

    saying
        .cannot(only_here && host.is_none(), || {
            "its MIG instances have UUIDs of one host, whose name is not known: name the GPUs with --gpus, \
             or use numabench exec"
                .to_owned()
        })
        .always(
            "start it under --cpu-bind=none and --gpu-bind=none (srun) or --bind-to none (mpirun), so that \
             it may bind",
        )
        .remark(situation.gpus_are_confined == Some(true), || {
            "each task is kept from the GPUs of the others, and the script chooses among all: start it with \
             --gpu-bind=none, or with --gres-flags=allow-task-sharing"
                .to_owned()
        })
}

/// The script; `host` is the only one that it is right for, where that matters.
fn script(
    places: &NodePlaces,
    (shown, nics): (&[Option<VisibilityVariables>], &[Vec<String>]),
    host: Option<&str>,
) -> String {
    let count = places.places.len();
    let last = count.saturating_sub(1);
    let nics = nics.iter().map(Vec::as_slice).chain(std::iter::repeat(&[][..]));
    let each = places.places.iter().zip(shown).zip(nics);
    let cases: String = each.map(|((place, shown), nic)| case(place, shown.as_ref(), nic)).collect();
    let named = LOCAL_RANK_VARIABLES.join(", ");
    let guard = host.map_or_else(String::new, |host| {
        format!(
            "if [ \"$(uname -n)\" != {host} ]; then\n    echo \"$0: made for {host}: the UUIDs of its MIG \
             instances are no other host's\" >&2\n    exit 1\nfi\n"
        )
    });

    format!(
        "#!/bin/sh\n\
         # Puts each rank of a node on its CPUs, memory and GPU (strategy {strategy}, {count} ranks), then \
         becomes the program:\n\
         #   srun --cpu-bind=none --gpu-bind=none ./place.sh PROGRAM ARGUMENTS\n\
         #   mpirun --bind-to none ./place.sh PROGRAM ARGUMENTS\n\
         if [ \"$#\" -eq 0 ]; then\n    echo \"usage: $0 PROGRAM [ARGUMENTS]\" >&2\n    exit 2\nfi\n\
         {guard}{RANK}\
         memory=\n\
         case $rank in\n{cases}'')\n    echo \"$0: no launcher tells this rank's number on its node: none of \
         {named} is set\" >&2\n    exit 1\n    ;;\n\
         *)\n    echo \"$0: no place for rank $rank of this node: places were made for ranks 0 to {last}\" \
         >&2\n    exit 1\n    ;;\n\
         esac\n\
         if command -v numactl >/dev/null 2>&1; then\n    exec numactl --physcpubind=\"$pus\" \
         ${{memory:+--membind=\"$memory\"}} -- \"$@\"\n\
         elif command -v taskset >/dev/null 2>&1; then\n    exec taskset -c \"$pus\" \"$@\"\n\
         fi\n\
         echo \"$0: neither numactl nor taskset is here: rank $rank is not bound\" >&2\n\
         exec \"$@\"",
        strategy = places.strategy,
    )
}

fn case(place: &Place, shown: Option<&VisibilityVariables>, nic: &[String]) -> String {
    let mut lines = vec![format!("pus={}", place.pus)];
    lines.extend(place.memory_node.map(|node| format!("memory={node}")));
    let cleared = shown.map(|shown| shown.cleared).unwrap_or_default();
    lines.extend((!cleared.is_empty()).then(|| format!("unset {}", cleared.join(" "))));
    let variables = shown.map(|shown| shown.variables.as_slice()).unwrap_or_default();
    lines.extend(variables.iter().map(|(name, value)| format!("export {name}={value}")));
    // What is set is the user's word.
    let told = nic.iter().filter_map(|told| told.split_once('='));
    lines.extend(told.map(|(name, value)| format!("export {name}=\"${{{name}-{value}}}\"")));
    format!("{})\n    {}\n    ;;\n", place.rank, lines.join("\n    "))
}
