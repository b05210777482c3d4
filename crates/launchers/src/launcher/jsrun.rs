//! IBM's jsrun: resource sets, and the tasks in them.
//!
//! jsrun(1) and OLCF's Summit User Guide, "Resource Sets", "Launching a Job with jsrun": resource sets are
//! laid out one after another and, while they fit, each within a package; `-b packed:N` gives each task the
//! next N cores of its set, `rs` all of them, and `packed:1` is the default. GPUs go to the sets in order,
//! those of the set's package where it has some left.

use std::collections::BTreeMap;

use stats::IdSet;
use topo::Topology;

use crate::count::{Count, Dealing};
use crate::error::LineError;
use crate::facts::{LauncherFacts, OF_ANY, Reads, Sensed, SharedPus};
use crate::grammar::{Grammar, Style};
use crate::layout::{LaunchLine, Layout, Options, Start, Tells};
use crate::objects::{JobMachine, Part};
use crate::value::{count, number, wrong};

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "jsrun",
    sensed: |variables| Some(Sensed::one_of(variables.number("JSM_NAMESPACE_SIZE")?, "JSM_NAMESPACE_RANK")),
    local_rank: &["JSM_NAMESPACE_LOCAL_RANK"],
    local_size: |variables| variables.number("JSM_NAMESPACE_LOCAL_SIZE"),
    tells: &[
        ("JSM_NAMESPACE_LOCAL_RANK", Tells::LocalRank),
        ("JSM_NAMESPACE_RANK", Tells::Rank),
        ("JSM_NAMESPACE_SIZE", Tells::Size),
        ("OMPI_COMM_WORLD_LOCAL_RANK", Tells::LocalRank),
        ("OMPI_COMM_WORLD_RANK", Tells::Rank),
        ("OMPI_COMM_WORLD_SIZE", Tells::Size),
        ("PMIX_RANK", Tells::Rank),
    ],
    starters: &["jsmd", "jsrun"],
    shared_pus: SharedPus::OfDaemons(&["jsmd", "prted", "jsrun"]),
    frees_from_affinity: "start it with jsrun --bind none",
    reads: Reads::Own(&["jsrun"], read),
    leaves_unbound: &["--bind", "none"],
    through_exec: "jsrun --bind none … numabench exec -- PROGRAM",
    ..OF_ANY
};

const JSRUN: Grammar = Grammar {
    tool: "jsrun",
    style: Style::Getopt,
    letters: "n:a:c:g:r:K:l:d:b:p:m:E:D:F:U:h:e:k:o:t:S:M:J:L:I:P:X:ivVQH",
    names: "immediate help version stdio_stderr debug nrs: tasks_per_rs: cpu_per_rs: gpu_per_rs: \
        rs_per_host: rs_per_socket: latency_priority: launch_distribution: bind: np: memory_per_rs: env: \
        env_no_propagate: env_eval: erf_input: chdir: stdio_input: stdio_mode: stdio_stdout: appfile: \
        smpiargs: use_reservation: exit_on_error: progress: pre_post_exec: hostname: allocate_only:",
    is_open: true,
};

/// Reads jsrun's options.
///
/// # Errors
/// [`LineError`]: jsrun would refuse them.
fn read<'l>(line: &LaunchLine<'l>) -> Result<Options<'l>, LineError> {
    let LaunchLine { words, machine, .. } = *line;
    let topology = machine.topology;
    let (given, program) = JSRUN.read(words)?;
    let (mut sets, mut tasks, mut cores, mut gpus, mut per_host, mut all_tasks) =
        (None, None, None, 0, None, None);
    let (mut bind, mut distribution) = ("packed:1", "packed");
    let mut environment = BTreeMap::new();

    for one in &given {
        let (option, value) = (one.spelled(), one.value());
        let is_all = value.eq_ignore_ascii_case("all_hosts") || value == "ALL_CPUS" || value == "ALL_GPUS";
        match one.name {
            "n" | "nrs" if !is_all => sets = Some(one.count()?),
            "a" | "tasks_per_rs" => tasks = Some(one.count()?),
            "c" | "cpu_per_rs" => cores = if is_all { None } else { Some(one.count()?) },
            "g" | "gpu_per_rs" => gpus = if is_all { topology.gpus.len() } else { number(&option, value)? },
            "r" | "rs_per_host" => per_host = Some(one.count()?),
            "p" | "np" => all_tasks = Some(one.count()?),
            "b" | "bind" => bind = value,
            "d" | "launch_distribution" => distribution = value,
            "E" | "env" => environment.extend(one.assignment()),
            "U" | "erf_input" => {
                return Err(LineError::NotSaid(
                    "an explicit resource file (--erf_input) is not read: write -n, -a, -c and -g".to_owned(),
                ));
            }
            _ => {}
        }
    }

    let places = sets_of_node(machine, cores, gpus);

    // Without -r a host takes as many as fit.
    let fitting = places.len();
    let here = per_host.unwrap_or(fitting).min(sets.unwrap_or(usize::MAX)).max(1);
    let tasks = tasks.or(all_tasks.map(|all: usize| all.div_ceil(sets.unwrap_or(1)))).unwrap_or(1);
    let count = Count {
        ranks: sets.map(|sets| sets.saturating_mul(tasks)),
        of_a_node: Some(here.saturating_mul(tasks)),
        dealing: if distribution.starts_with("cyclic") && tasks > 1 {
            Dealing::Unknown
        } else {
            Dealing::Filled
        },
        ..Count::default()
    };
    let ranks = count.here(1)?;
    let layout = match places.get(..here) {
        _ if distribution.starts_with("cyclic") && tasks > 1 && here > 1 => Layout::unknown(
            ranks,
            "-d cyclic numbers the tasks across the resource sets: write -d packed for the check",
        ),
        None => Layout::unknown(
            ranks,
            &format!(
                "{here} resource sets do not fit into this machine's cores for the job, or cross its \
                 packages: jsrun decides"
            ),
        ),
        Some(places) => {
            Layout::certain(starts(places, bind, tasks, topology)?.into_iter().take(ranks).collect())
        }
    };
    Ok(Options {
        count,
        layouts: vec![layout],
        program,
        environment,
        withheld: Vec::new(),
        notes: JSRUN.notes(&given),
    })
}

/// A resource set: its cores, and its GPUs.
type Set = (Vec<IdSet>, Vec<usize>);

/// As many as the node has, each within a package.
fn sets_of_node(machine: &JobMachine<'_>, cores: Option<usize>, gpus: usize) -> Vec<Set> {
    let topology = machine.topology;
    let Some(each) = cores else {
        return vec![(machine.parts(Part::Core), (0..gpus.min(topology.gpus.len())).collect())];
    };
    let mut free_gpus: Vec<usize> = (0..topology.gpus.len()).collect();
    let mut sets = Vec::new();

    for package in &machine.parts(Part::Package) {
        let own = machine.parts_in(Part::Core, package);
        for cores in own.chunks_exact(each) {
            let near = |index: &usize| !topology.gpus[*index].locality.pus.and(package).is_empty();
            let taken: Vec<usize> = free_gpus.iter().copied().filter(near).take(gpus).collect();
            if taken.len() < gpus {
                break;
            }
            free_gpus.retain(|index| !taken.contains(index));
            sets.push((cores.to_vec(), taken));
        }
    }
    sets
}

fn starts(sets: &[Set], bind: &str, tasks: usize, topology: &Topology) -> Result<Vec<Start>, LineError> {
    let (kind, width) = bind.split_once(':').unwrap_or((bind, "1"));
    let mut starts = Vec::new();
    let asked_gpus: Vec<usize> = sets.iter().flat_map(|(_, gpus)| gpus).copied().collect();
    for (cores, gpus) in sets {
        for task in 0..tasks {
            let pus = match kind {
                "none" => None,
                "rs" => Some(Ok(IdSet::of_all(cores))),
                "packed" | "proportional-packed" => {
                    let width =
                        if kind == "packed" { count("--bind", width)? } else { (cores.len() / tasks).max(1) };
                    let own = cores.get(task * width..(task + 1) * width);
                    Some(own.map(IdSet::of_all).ok_or_else(|| {
                        format!(
                            "a resource set of {} cores has too few for {tasks} tasks of {width}",
                            cores.len()
                        )
                    }))
                }
                _ => return Err(wrong("--bind", bind, "write packed:N, rs or none")),
            };
            let gpus = if topology.gpus.is_empty() { None } else { Some(Ok(gpus.clone())) };
            starts.push(Start { pus, gpus, asked_gpus: Some(asked_gpus.clone()), ..Start::FREE });
        }
    }

    Ok(starts)
}
