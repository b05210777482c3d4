//! `flux run`: cores and GPUs a task, and the shell's options `cpu-affinity`, `gpu-affinity`.
//!
//! flux-run(1) and flux-shell(1): `cpu-affinity=on` (the default) binds all tasks to the job's cores,
//! `per-task` gives each the next of them, `map:` a set each, `off` none; `gpu-affinity` likewise, where `on`
//! shows all GPUs of the job. The scheduler is taken to give the whole node, or its first cores.

use std::collections::BTreeMap;

use placement::NodePlaces;
use ranks::Flavour;
use stats::IdSet;
use topo::Topology;

use crate::count::{Count, Dealing};
use crate::error::LineError;
use crate::facts::{LauncherFacts, MpiOption, OF_ANY, Reads, Sensed, SharedPus, Written};
use crate::grammar::{Grammar, Style};
use crate::interface::Interface;
use crate::layout::{LaunchLine, Layout, Options, Start, Tells};
use crate::objects::{Part, divided};
use crate::parse_mask;
use crate::process::Known;
use crate::value::{count, ids, number};

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "flux run",
    // flux-core, src/shell/task.c; the broker takes these away from what runs in an instance but is no job of
    // it.
    sensed: |variables| {
        let size = variables.number("FLUX_JOB_SIZE").filter(|_| variables.is_set("FLUX_TASK_RANK"))?;
        Some(Sensed::one_of(size, "FLUX_TASK_RANK"))
    },
    // It tells no number of processes for a node, which is known where the job has one node.
    local_rank: &["FLUX_TASK_LOCAL_ID"],
    number_of_nodes: Some("FLUX_JOB_NNODES"),
    tells: &[
        ("FLUX_TASK_LOCAL_ID", Tells::LocalRank),
        ("FLUX_TASK_RANK", Tells::Rank),
        ("FLUX_JOB_SIZE", Tells::Size),
        ("PMI_RANK", Tells::Rank),
        ("PMI_SIZE", Tells::Size),
    ],
    of_one_launch: &["FLUX_JOB_ID"],
    starters: &["flux-shell"],
    shared_pus: SharedPus::OfDaemons(&["flux-shell"]),
    frees_from_affinity: "start it with flux run -o cpu-affinity=off",
    widens_cpuset: "ask for the whole node (flux run --exclusive)",
    shows_devices: "show every task all GPUs (flux run -o gpu-affinity=off), or leave --gpus out",
    belongs_to_one_mpi: false,
    // flux-pmix, README.
    mpi_option: |library| {
        let start = "flux run -o pmi=pmix …".to_owned();
        (library.flavour == Flavour::OpenMpi).then_some(MpiOption { offers: Some(Interface::Pmix), start })
    },
    reads: Reads::Own(&["flux"], read),
    writes: Some(|topology, places, _| Ok(Written::line(written(topology, places)))),
    leaves_unbound: &["-o", "cpu-affinity=off"],
    through_exec: "flux run -o cpu-affinity=off … numabench exec -- PROGRAM",
    ..OF_ANY
};

const FLUX: Grammar = Grammar {
    tool: "flux run",
    style: Style::Getopt,
    letters: "n:N:c:g:o:t:q:B:xO:lvS:",
    names: "exclusive verbose dry-run unbuffered label-io coral2-chassis ntasks: nodes: nslots: \
        cores-per-task: gpus-per-task: gpus-per-node: tasks-per-node: tasks-per-core: cores: setopt: \
        setattr: time-limit: queue: bank: env: env-remove: env-file: output: error: input: job-name: \
        urgency: cwd: requires: rlimit: begin-time: signal: taskmap: add-file: conf: flags: dependency: log: \
        log-stderr:",
    is_open: true,
};

/// Reads `flux run`'s options.
///
/// # Errors
/// [`LineError`]: flux would refuse them.
fn read<'l>(line: &LaunchLine<'l>) -> Result<Options<'l>, LineError> {
    let LaunchLine { words, machine, .. } = *line;
    let words = match words.split_first() {
        Some((&("run" | "submit" | "mini"), rest)) => rest.strip_prefix(&["run"]).unwrap_or(rest),
        _ => return Err(LineError::NotSaid("of flux, the line of flux run is read".to_owned())),
    };
    let (given, program) = FLUX.read(words)?;
    let mut said = Count::default();
    let (mut cores, mut gpus, mut exclusive) = (1, 0, false);
    let (mut cpu, mut gpu) = ("on", "on");
    let mut environment = BTreeMap::new();

    for one in &given {
        let (option, value) = (one.spelled(), one.value());
        match one.name {
            "n" | "ntasks" => said.ranks = Some(one.count()?),
            "N" | "nodes" => said.nodes = Some(count(&option, value.split('-').next().unwrap_or(value))?),
            "tasks-per-node" => said.of_a_node = Some(one.count()?),
            "c" | "cores-per-task" => cores = one.count()?,
            "g" | "gpus-per-task" => gpus = number(&option, value)?,
            "x" | "exclusive" => exclusive = true,
            "taskmap" => said.dealing = dealing(value),
            "env" => environment.extend(one.assignment()),
            "o" | "setopt" => match value.split_once('=') {
                Some(("cpu-affinity", how)) => cpu = affinity(how),
                Some(("gpu-affinity", how)) => gpu = how,
                // mpibind binds instead of the shell.
                Some(("mpibind", how)) if how != "off" => cpu = "mpibind",
                None if value == "mpibind" => cpu = "mpibind",
                _ => {}
            },
            _ => {}
        }
    }

    // Nodes without tasks: one task a node, and the whole of it.
    if said.nodes.is_some() && said.ranks.is_none() && said.of_a_node.is_none() {
        said.of_a_node = Some(1);
        exclusive = true;
    }

    let ranks = said.here(1)?;
    let all = machine.parts(Part::Core);
    let own: &[IdSet] = if exclusive { &all } else { all.get(..cores.saturating_mul(ranks)).unwrap_or(&all) };

    // flux-core's affinity plug-in distributes the cores of the job over its tasks (hwloc_distrib).
    let shares = divided(own, ranks);
    let uneven = || format!("the {} cores of the job do not divide evenly among {ranks} tasks", own.len());
    let pus = |rank: usize| -> Result<Option<Known<IdSet>>, LineError> {
        Ok(match cpu {
            "off" => None,
            "on" => Some(Ok(IdSet::of_all(own))),
            "per-task" => Some(shares.as_ref().map(|shares| shares[rank].clone()).ok_or_else(uneven)),
            how => match how.strip_prefix("map:") {
                Some(map) => {
                    let text = of_rank(map, rank);
                    let set = if text.starts_with("0x") { parse_mask(text) } else { None };
                    Some(Ok(set.map_or_else(|| ids("cpu-affinity=map", text), Ok)?))
                }
                None => Some(Err(format!(
                    "-o {} binds by itself: run numabench check inside of the launch",
                    if how == "mpibind" { "mpibind" } else { "cpu-affinity" }
                ))),
            },
        })
    };

    let total = machine.topology.gpus.len();
    let shown = |rank: usize| -> Result<Option<Known<Vec<usize>>>, LineError> {
        if total == 0 || gpu == "off" || (gpus == 0 && exclusive && gpu == "on") {
            return Ok(None);
        }
        let each = if exclusive && gpu == "per-task" { total / ranks } else { gpus };
        Ok(match gpu {
            "on" if each * ranks == total || exclusive => None,
            "on" if each == 0 => None,
            "on" => Some(Err(format!(
                "Flux gives the job {} of the node's {total} GPUs, and chooses which",
                each * ranks
            ))),
            "per-task" => Some(Ok((rank * each..(rank + 1) * each).collect())),
            how => match how.strip_prefix("map:") {
                Some(map) => {
                    let gpus = ids("gpu-affinity=map", of_rank(map, rank))?;
                    Some(Ok(gpus.iter().map(|gpu| gpu as usize).collect()))
                }
                None => Some(Err(format!("-o gpu-affinity={how} is not followed"))),
            },
        })
    };

    let one = |rank| Ok(Start { pus: pus(rank)?, gpus: shown(rank)?, ..Start::FREE });
    let starts = (0..ranks).map(one).collect::<Result<Vec<_>, LineError>>()?;

    Ok(Options {
        count: said,
        layouts: vec![Layout::certain(starts)],
        program,
        environment,
        withheld: Vec::new(),
        notes: FLUX.notes(&given),
    })
}

/// `--taskmap` (flux-run(1)): which node gets which tasks.
fn dealing(taskmap: &str) -> Dealing {
    match taskmap.split_once(':').unwrap_or((taskmap, "1")) {
        ("block", _) => Dealing::Filled,
        ("cyclic", each) => each.parse().map_or(Dealing::Unknown, Dealing::Turns),
        _ => Dealing::Unknown,
    }
}

/// A task's entry of a map, which begins again where there are more tasks.
fn of_rank(map: &str, rank: usize) -> &str {
    map.split(';').cycle().nth(rank).unwrap_or_default()
}

/// What binds tasks, of what flux-shell-options(7) lets one write before it.
fn affinity(how: &str) -> &str {
    match how.split_once(',').unwrap_or((how, "on")) {
        ("verbose", how) => how,
        // What would be bound is shown, and nothing is.
        ("dry-run", _) => "off",
        _ => how,
    }
}

/// The line that puts each rank in its place, with its GPU.
fn written(topology: &Topology, places: &NodePlaces) -> String {
    let lists: Vec<String> = places.places.iter().map(|place| place.pus.to_string()).collect();
    let gpus: Option<Vec<u32>> =
        places.places.iter().map(|place| Some(place.target.as_ref()?.index)).collect();
    let gpus = match gpus {
        None => String::new(),
        // The shell gives each task the next of the job's GPUs.
        Some(gpus) if gpus.len() == topology.gpus.len() && gpus.is_sorted() => {
            " -g1 -o gpu-affinity=per-task".to_owned()
        }
        Some(gpus) => {
            let map: Vec<String> = gpus.iter().map(u32::to_string).collect();
            format!(" -o gpu-affinity=\"map:{}\"", map.join(";"))
        }
    };

    // CUDA counts unlike GPUs from the fastest, and the shell by their places.
    let are_alike = topology.gpus.windows(2).all(|two| two[0].device_id == two[1].device_id);
    let order = if are_alike || gpus.is_empty() { "" } else { "env CUDA_DEVICE_ORDER=PCI_BUS_ID " };
    let (ranks, map) = (lists.len(), lists.join(";"));
    format!("flux run -N1 -n{ranks} --exclusive{gpus} -o cpu-affinity=\"map:{map}\" {order}PROGRAM")
}
