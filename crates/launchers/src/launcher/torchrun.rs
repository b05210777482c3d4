//! torchrun: the workers of one node, and `--numa-binding`.
//!
//! docs.pytorch.org, "torchrun (Elastic Launch)" and `torch.numa.binding` (2.9): workers inherit what
//! torchrun itself is bound to; `--numa-binding=node` binds each to the NUMA node of the GPU of its local
//! rank, `socket` to the package, `exclusive` to a share of the node's cores, `core-complex` to one L3 of it.
//! torchrun hides no GPU: a worker takes the one of its `LOCAL_RANK` by convention.

use stats::IdSet;
use topo::model::Gpu;
use topo::visibility::Visible;

use crate::dialect::Starter;
use crate::error::LineError;
use crate::facts::{LauncherFacts, OF_ANY, Sensed, SharedPus};
use crate::gpus;
use crate::grammar::{Grammar, Style};
use crate::interface::Interface;
use crate::launch_size::LaunchSize;
use crate::layout::Tells;
use crate::objects::{JobMachine, Part};
use crate::process::{Process, Workers};
use crate::unknown::{UNKNOWN, is_unknown};
use crate::value::wrong;
use crate::variables::LauncherVariables;

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "torchrun or its like",
    sensed,
    counts_inside: Some(counts_inside),
    local_rank: &["LOCAL_RANK"],
    // The second name is DeepSpeed's.
    local_size: |variables| variables.first(&["LOCAL_WORLD_SIZE", "LOCAL_SIZE"]),
    // Its agents, one a node.
    number_of_nodes: Some("GROUP_WORLD_SIZE"),
    interface: |_| Interface::None,
    tells: &[
        ("LOCAL_RANK", Tells::LocalRank),
        ("LOCAL_WORLD_SIZE", Tells::LocalSize),
        ("RANK", Tells::Rank),
        ("WORLD_SIZE", Tells::Size),
        ("GROUP_RANK", Tells::Node),
    ],
    // Its run id is "none" where nobody names one: the port tells launches apart, the group the nodes.
    of_one_launch: &["TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "GROUP_RANK"],
    shared_pus: SharedPus::OfRank("what torchrun was started with"),
    frees_from_affinity: "start the launcher itself without a binding (taskset, numactl)",
    through_exec: "torchrun … --no-python numabench exec -- python3 PROGRAM",
    starter: Some(Starter::Torchrun),
    ..OF_ANY
};

/// A worker of torchrun, DeepSpeed, Ray Train or another that sets their names.
fn sensed(variables: &LauncherVariables<'_>) -> Option<Sensed> {
    /// What Hugging Face's and other trainers set where nothing is distributed.
    const NOT_DISTRIBUTED: &str = "-1";
    variables.get("LOCAL_RANK").filter(|word| *word != NOT_DISTRIBUTED)?;
    if let Some(size) = variables.number("WORLD_SIZE") {
        return Some(Sensed::one_of(size, "RANK"));
    }
    let of_node = variables.number("LOCAL_WORLD_SIZE").unwrap_or(1);
    let least = match variables.number("LOCAL_RANK") {
        // The sixth worker of an engine that says no size is not alone; a first one may be.
        Some(rank) => of_node.max(rank.saturating_add(1)),
        // One that is no number is a slip in a script, whose processes are several all the same.
        None => return Some(Sensed::OneOf(LaunchSize::AtLeast(of_node), "RANK")),
    };
    (least > 1).then_some(Sensed::OneOf(LaunchSize::AtLeast(least), "RANK"))
}

/// Scripts under `srun` and `mpirun` set the same names by hand, from the launcher's own: without torchrun's
/// mark they count only where they tell of more processes than the launcher.
fn counts_inside(variables: &LauncherVariables<'_>, own: LaunchSize, around: Option<LaunchSize>) -> bool {
    match own {
        // docs.pytorch.org, "torchrun (Elastic Launch)", "Environment Variables".
        LaunchSize::Known(size) => {
            variables.is_set("TORCHELASTIC_RUN_ID") || size > around.map_or(1, LaunchSize::least)
        }
        LaunchSize::AtLeast(_) => around.is_none(),
    }
}

const TORCHRUN: Grammar = Grammar {
    tool: "torchrun",
    style: Style::Getopt,
    letters: "mr:t:h",
    names: "standalone module no-python no_python run-path run_path use-env use_env help \
        duplicate-stdout-filters nnodes: nproc-per-node: nproc_per_node: rdzv-backend: rdzv_backend: \
        rdzv-endpoint: rdzv_endpoint: rdzv-id: rdzv_id: rdzv-conf: rdzv_conf: max-restarts: max_restarts: \
        monitor-interval: monitor_interval: start-method: start_method: role: log-dir: log_dir: redirects: \
        tee: local-ranks-filter: local_ranks_filter: node-rank: node_rank: master-addr: master_addr: \
        master-port: master_port: local-addr: local_addr: logs-specs: logs_specs: numa-binding: \
        numa_binding: event-log-handler: event_log_handler:",
    is_open: true,
};

/// Whether python runs torchrun's module.
pub(crate) fn is_module(words: &[&str]) -> bool {
    matches!(words, ["-m", "torch.distributed.run" | "torch.distributed.launch", ..])
}

/// Reads torchrun's options: the process that starts workers.
///
/// # Errors
/// [`LineError`]: torchrun would refuse them.
pub(crate) fn apply(process: &mut Process<'_>, words: &[&str]) -> Result<(), LineError> {
    let (given, program) = TORCHRUN.read(words)?;
    let mut workers = Workers { count: 1, nodes: None, binding: None, program: Vec::new() };
    for one in &given {
        let (option, value) = (one.spelled(), one.value());
        match one.name {
            "nproc-per-node" | "nproc_per_node" => {
                workers.count = match value {
                    "gpu" | "auto" => shown(process).len().max(1),
                    value if is_unknown(value) || value.starts_with('$') => {
                        return Err(LineError::NotSaid(format!(
                            "how many workers {option} {value} starts does not follow from the line: write a \
                             number"
                        )));
                    }
                    _ => one.count()?,
                };
            }
            "nnodes" => workers.nodes = value.split(':').next().and_then(|nodes| nodes.parse().ok()),
            "numa-binding" | "numa_binding" => workers.binding = Some(value.to_owned()),
            "no-python" | "no_python" => {
                workers.program = program.iter().map(|word| (*word).to_owned()).collect()
            }
            _ => {}
        }
    }

    process.workers = Some(workers);
    Ok(())
}

/// The GPUs that workers count along by LOCAL_RANK: those that are shown where torchrun starts; none where
/// they are not known.
pub(crate) fn shown(process: &Process<'_>) -> Vec<Visible> {
    gpus::usable(process, None).devices.unwrap_or_default()
}

/// The process of one worker, before its program is followed.
pub(crate) fn worker<'t>(
    workers: &Workers,
    parent: &Process<'t>,
    rank: usize,
) -> Result<Process<'t>, LineError> {
    let mut process = Process { workers: None, shares_own_pus: true, ..parent.clone() };
    for (name, tells) in FACTS.tells {
        let value = match tells {
            Tells::LocalRank => rank.to_string(),
            Tells::LocalSize => workers.count.to_string(),
            Tells::Rank if workers.nodes.is_none_or(|nodes| nodes == 1) => rank.to_string(),
            Tells::Size if workers.nodes.is_none_or(|nodes| nodes == 1) => workers.count.to_string(),
            _ => UNKNOWN.to_string(),
        };
        process.give(name, value);
    }

    if let Some(binding) = &workers.binding {
        let gpu = shown(parent).get(rank).and_then(|gpu| process.topology.gpu_at(gpu.pci?));
        match gpu.map(|gpu| bound(binding, &JobMachine::of(process.topology), gpu, rank)) {
            Some(pus) => process.bind(pus?),
            None => {
                process.pus =
                    Err(format!("--numa-binding needs a GPU {rank}, which this machine does not have"))
            }
        }
    }
    Ok(process)
}

/// The PUs of a worker by the GPU of its number.
fn bound(
    binding: &str,
    machine: &JobMachine<'_>,
    gpu: &Gpu,
    rank: usize,
) -> Result<Result<IdSet, String>, LineError> {
    let near = gpu.locality.pus.and(&machine.pus);
    if near.is_empty() {
        return Ok(Err(format!(
            "where GPU {rank} is, this machine does not say: --numa-binding has nothing to go by"
        )));
    }

    let node = machine.widened(Part::Numa, &near);

    Ok(match binding {
        "node" => Ok(node),
        "socket" => Ok(machine.widened(Part::Package, &near)),
        // Among the workers whose GPUs share the node: part of it in any case.
        "exclusive" | "core-complex" => {
            let part = if binding == "exclusive" { Part::Core } else { Part::L3 };
            let same: Vec<usize> = machine
                .topology
                .gpus
                .iter()
                .filter(|other| other.locality.pus == gpu.locality.pus)
                .map(|other| other.index as usize)
                .collect();
            let parts = machine.parts_in(part, &node);
            let at = same.iter().position(|index| *index == rank).unwrap_or(0);
            let each = if binding == "exclusive" { (parts.len() / same.len().max(1)).max(1) } else { 1 };
            let own = parts.get(at * each..(at + 1) * each).unwrap_or(&parts);
            Ok(IdSet::of_all(own))
        }
        _ => return Err(wrong("--numa-binding", binding, "write node, socket, exclusive or core-complex")),
    })
}
