//! torchrun: the workers of one node, and `--numa-binding`.
//!
//! docs.pytorch.org, "torchrun (Elastic Launch)" and `torch.numa.binding` (2.9): workers inherit what
//! torchrun itself is bound to; `--numa-binding=node` binds each to the NUMA node of the GPU of its local
//! rank, `socket` to the package, `exclusive` to a share of the node's cores, `core-complex` to one L3 of it.
//! torchrun hides no GPU: a worker takes the one of its `LOCAL_RANK` by convention.

use stats::IdSet;
use stats::units::counted;
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
use crate::process::{Known, Process, Workers};
use crate::unknown::{SOME, UNKNOWN, is_unknown};
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
        ("TORCHELASTIC_RUN_ID", Tells::Launch),
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
    process.notes.extend(TORCHRUN.notes(&given));
    let mut workers = Workers { count: 1, nodes: None, binding: None, program: Vec::new() };
    for one in &given {
        let (option, value) = (one.spelled(), one.value());
        match one.name {
            "nproc-per-node" | "nproc_per_node" => {
                workers.count = match value {
                    "gpu" | "auto" | "cpu" => workers_by(value, process)?,
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

/// How many workers `gpu`, `auto` and `cpu` are (`determine_local_world_size` in torch/distributed/run.py).
fn workers_by(word: &str, process: &Process<'_>) -> Result<usize, LineError> {
    let of_cpus = JobMachine::online(process.topology).pus.len().max(1);
    let why = match (word, shown(process)) {
        ("cpu", _) => return Ok(of_cpus),
        (_, Ok(gpus)) if !gpus.is_empty() => return Ok(gpus.len()),
        ("auto", Ok(_)) => return Ok(of_cpus),
        (_, Ok(_)) => return Err(wrong("--nproc-per-node", word, "torchrun sees no GPU: write a number")),
        (_, Err(why)) => why,
    };
    Err(LineError::NotSaid(format!(
        "how many workers --nproc-per-node={word} starts does not follow from the line ({why}): write a \
         number"
    )))
}

/// The GPUs that workers count along by LOCAL_RANK: those that are shown where torchrun starts.
pub(crate) fn shown(process: &Process<'_>) -> Known<Vec<Visible>> {
    let usable = gpus::usable(process, None);
    usable.devices.ok_or(usable.reason)
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
            Tells::Launch => SOME.to_owned(),
            _ => UNKNOWN.to_string(),
        };
        process.give(name, value);
    }

    if let Some(binding) = &workers.binding {
        process.bind(match shown(parent) {
            Ok(shown) => bound(binding, parent, &shown, rank)?,
            Err(why) => Err(why),
        });
    }
    Ok(process)
}

/// The PUs of a worker by the GPU of its number, among those that torchrun itself may run on.
fn bound(
    binding: &str,
    parent: &Process<'_>,
    shown: &[Visible],
    rank: usize,
) -> Result<Known<IdSet>, LineError> {
    if !["node", "socket", "exclusive", "core-complex"].contains(&binding) {
        return Err(wrong("--numa-binding", binding, "write node, socket, exclusive or core-complex"));
    }
    let machine = match &parent.pus {
        Ok(pus) => JobMachine { pus: pus.clone(), ..JobMachine::of(parent.topology) },
        Err(why) => return Ok(Err(why.clone())),
    };
    let whole = JobMachine::of(parent.topology);
    // By whole nodes, as the kernel tells where a PCI device is: some GPUs hang from an L3 of theirs.
    let node_of = |gpu: &Visible| -> Option<IdSet> {
        let near = parent.topology.gpu_at(gpu.pci?)?.locality.all_pus();
        Some(whole.widened(Part::Numa, &near)).filter(|node| !node.is_empty())
    };

    let Some(gpu) = shown.get(rank) else {
        return Ok(Err(format!(
            "--numa-binding needs a GPU {rank}, and torchrun sees {}",
            counted(shown.len(), "GPU")
        )));
    };
    let Some(node) = node_of(gpu) else {
        return Ok(Err(format!(
            "where GPU {rank} is, this machine does not say: --numa-binding has nothing to go by"
        )));
    };
    let is_there = |other: &&Visible| node_of(other).as_ref() == Some(&node);
    let (at, gpus) = (shown[..rank].iter().filter(is_there).count(), shown.iter().filter(is_there).count());
    let own = node.and(&machine.pus);

    let pus = match binding {
        "socket" => whole.widened(Part::Package, &node).and(&machine.pus),
        "exclusive" => share(machine.parts_in(Part::Core, &own), at, gpus),
        "core-complex" => {
            let mut caches = machine.parts_in(Part::L3, &own);
            caches.sort_by_key(|cache| (std::cmp::Reverse(cache.len()), cache.first()));
            caches.get(at % caches.len().max(1)).cloned().unwrap_or_default()
        }
        _ => own,
    };
    Ok(match pus.is_empty() {
        true => Err(format!("--numa-binding={binding} fails: it leaves the worker of GPU {rank} no PUs")),
        false => Ok(pus),
    })
}

/// The cores of the GPU at this place among those of a node; the first have one more where they do not divide
/// evenly, and none has any where there are fewer than GPUs.
fn share(mut cores: Vec<IdSet>, at: usize, gpus: usize) -> IdSet {
    cores.sort_by_key(IdSet::first);
    let (each, more) = (cores.len() / gpus, cores.len() % gpus);
    if each == 0 {
        return IdSet::default();
    }
    let first = at * each + at.min(more);
    IdSet::of_all(&cores[first..first + each + usize::from(at < more)])
}
