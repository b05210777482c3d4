//! `flux run`: cores and GPUs a task, and the shell's options `cpu-affinity`, `gpu-affinity`.
//!
//! flux-run(1) and flux-shell(1): `cpu-affinity=on` (the default) binds all tasks to the job's cores, `per-task` gives each the next of them, `map:` a
//! set each, `off` none; `gpu-affinity` likewise, where `on` shows all GPUs of the job. The scheduler is taken to give the whole node, or its first cores.

use std::collections::BTreeMap;

use crate::launch::Launcher;
use placement::NodePlaces;
use stats::IdSet;
use topo::Topology;

use crate::count::Count;
use crate::error::LineError;
use crate::grammar::{Grammar, Style};
use crate::layout::{Layout, Options, Start};
use crate::objects::Part;
use crate::parse_mask;
use crate::process::Known;
use crate::value::{count, ids, number};

const FLUX: Grammar = Grammar {
    tool: "flux run",
    style: Style::Getopt,
    letters: "n:N:c:g:o:t:q:B:x:O:l:vS:",
    nothing: &["exclusive", "verbose", "dry-run", "unbuffered", "label-io", "coral2-chassis"],
    value: &[
        "ntasks",
        "nodes",
        "nslots",
        "cores-per-task",
        "gpus-per-task",
        "gpus-per-node",
        "tasks-per-node",
        "tasks-per-core",
        "cores",
        "setopt",
        "setattr",
        "time-limit",
        "queue",
        "bank",
        "env",
        "env-remove",
        "env-file",
        "output",
        "error",
        "input",
        "job-name",
        "urgency",
        "cwd",
        "requires",
        "rlimit",
        "begin-time",
        "signal",
        "taskmap",
        "add-file",
        "conf",
        "flags",
        "dependency",
        "log",
        "log-stderr",
    ],
    maybe: &[],
    two: &[],
    is_open: true,
};

/// Reads `flux run`'s options.
///
/// # Errors
/// [`LineError`]: flux would refuse them.
pub(crate) fn read<'l>(words: &'l [&'l str], topology: &Topology) -> Result<Options<'l>, LineError> {
    // -x is --exclusive, -l --label-io: neither takes a value.
    let flux = Grammar { letters: "n:N:c:g:o:t:q:B:xO:lvS:", ..FLUX };
    let (given, program) = flux.read(words)?;
    let mut said = Count::default();
    let (mut cores, mut gpus, mut exclusive) = (1, 0, false);
    let (mut cpu, mut gpu) = ("on".to_owned(), "on".to_owned());
    let mut environment = BTreeMap::new();
    for one in &given {
        let (option, value) = (one.spelled(), one.value());
        match one.name {
            "n" | "ntasks" => said.ranks = Some(count(&option, value)?),
            "N" | "nodes" => said.nodes = Some(count(&option, value.split('-').next().unwrap_or(value))?),
            "tasks-per-node" => said.of_a_node = Some(count(&option, value)?),
            "c" | "cores-per-task" => cores = count(&option, value)?,
            "g" | "gpus-per-task" => gpus = number(&option, value)?,
            "x" | "exclusive" => exclusive = true,
            "env" => {
                if let Some((name, value)) = value.split_once('=') {
                    environment.insert(name.to_owned(), value.to_owned());
                }
            }
            "o" | "setopt" => match value.split_once('=') {
                Some(("cpu-affinity", how)) => cpu = affinity(how).to_owned(),
                Some(("gpu-affinity", how)) => gpu = how.to_owned(),
                // mpibind binds instead of the shell.
                Some(("mpibind", how)) if how != "off" => cpu = "mpibind".to_owned(),
                None if value == "mpibind" => cpu = "mpibind".to_owned(),
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
    let pool = topology.allowed.pus.or(&topology.allowed.not_in_affinity_pus);
    let all = Part::Core.all(topology, &pool);
    let own: &[IdSet] = if exclusive { &all } else { all.get(..cores.saturating_mul(ranks)).unwrap_or(&all) };
    let union = |cores: &[IdSet]| cores.iter().fold(IdSet::default(), |all, core| all.or(core));
    let pus = |rank: usize| -> Result<Option<Known<IdSet>>, LineError> {
        Ok(match cpu.as_str() {
            "off" => None,
            "on" => Some(Ok(union(own))),
            "per-task" => {
                // flux-core's affinity plug-in distributes the cores of the job over its tasks (hwloc_distrib).
                let each = own.len() / ranks;
                Some(match each > 0 && own.len().is_multiple_of(ranks) {
                    true => Ok(union(&own[rank * each..(rank + 1) * each])),
                    false => {
                        Err(format!("the {} cores of the job do not divide evenly among {ranks} tasks", own.len()))
                    }
                })
            }
            how => match how.strip_prefix("map:") {
                Some(map) => {
                    let sets: Vec<&str> = map.split(';').collect();
                    let text = sets[rank % sets.len()];
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
    let total = topology.gpus.len();
    let shown = |rank: usize| -> Result<Option<Known<Vec<usize>>>, LineError> {
        if total == 0 || gpu == "off" || (gpus == 0 && exclusive && gpu == "on") {
            return Ok(None);
        }
        let each = if exclusive && gpu == "per-task" { total / ranks } else { gpus };
        Ok(match gpu.as_str() {
            "on" if each * ranks == total || exclusive => None,
            "on" if each == 0 => None,
            "on" => {
                Some(Err(format!("Flux gives the job {} of the node's {total} GPUs, and chooses which", each * ranks)))
            }
            "per-task" => Some(Ok((rank * each..(rank + 1) * each).collect())),
            how => match how.strip_prefix("map:") {
                Some(map) => {
                    let sets: Vec<&str> = map.split(';').collect();
                    Some(Ok(ids("gpu-affinity=map", sets[rank % sets.len()])?.iter().map(|gpu| gpu as usize).collect()))
                }
                None => Some(Err(format!("-o gpu-affinity={how} is not followed"))),
            },
        })
    };
    let one = |rank| Ok(Start { pus: pus(rank)?, gpus: shown(rank)?, ..Start::FREE });
    let starts = (0..ranks).map(one).collect::<Result<Vec<_>, LineError>>()?;
    Ok(Options {
        launcher: Launcher::Flux,
        count: said,
        layouts: vec![Layout::certain(starts)],
        program,
        environment,
        notes: Vec::new(),
    })
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

/// The line that puts each rank in its place.
pub(crate) fn written(places: &NodePlaces) -> String {
    let lists: Vec<String> = places.places.iter().map(|place| place.pus.to_string()).collect();
    format!("flux run -N1 -n{} --exclusive -o cpu-affinity=\"map:{}\" PROGRAM", lists.len(), lists.join(";"))
}
