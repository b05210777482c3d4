//! PALS, the mpiexec of HPE Cray systems under PBS: `--ppn`, `--depth`, `--cpu-bind`, `--gpu-bind`, `--mem-bind`.
//!
//! mpiexec(1) of PALS 1.2 to 1.6, and what ALCF documents of Polaris and Aurora ("Running Jobs on Polaris", "Controlling process placement and binding"). `depth`
//! gives each rank the next so many CPUs, counted by their numbers; a list has a set for each rank.

use placement::NodePlaces;
use ranks::{Flavour, Library};
use stats::IdSet;
use topo::Topology;
use topo::process::PolicyMode;

use crate::dialect::Starter;
use crate::error::LineError;
use crate::facts::{LauncherFacts, MpiOption, OF_ANY, Reads, Sensed, SharedPus, UsualMpi, Written};
use crate::interface::Interface;
use crate::launch_size::LaunchSize;
use crate::layout::{LaunchLine, Layout, Options, Tells};
use crate::mpi_options::Common;
use crate::objects::Part;
use crate::value::{count, ids, number, wrong};
use crate::variables::LauncherVariables;

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "PALS' mpiexec",
    sensed,
    local_rank: &["PALS_LOCAL_RANKID"],
    local_size: |variables| variables.number("PALS_LOCAL_SIZE"),
    interface: |variables| match Interface::sensed(variables) {
        Interface::Pmix => Interface::Pmix,
        _ => Interface::Cray,
    },
    tells: &[
        ("PALS_LOCAL_RANKID", Tells::LocalRank),
        ("PALS_LOCAL_SIZE", Tells::LocalSize),
        ("PALS_RANKID", Tells::Rank),
        ("PALS_NODEID", Tells::Node),
        ("PMI_LOCAL_RANK", Tells::LocalRank),
        ("PMI_LOCAL_SIZE", Tells::LocalSize),
        ("PMI_RANK", Tells::Rank),
        ("PMI_SIZE", Tells::Size),
    ],
    of_one_launch: &["PALS_APID"],
    starters: &["palsd", "pals_exec"],
    shared_pus: SharedPus::OfDaemons(&["palsd", "pals_exec", "mpiexec"]),
    frees_from_affinity: "start it with mpiexec --cpu-bind none",
    belongs_to_one_mpi: false,
    // Aurora's starts Open MPI too.
    usual_mpi: Some(UsualMpi { flavour: Flavour::Mpich, is_only: false }),
    mpi_option,
    // What it is called is Hydra's too.
    reads: Reads::Mpirun(&[]),
    writes: Some(|_, places, _| Ok(Written::line(written(places)))),
    through_exec: "mpiexec --cpu-bind none … numabench exec -- PROGRAM",
    starter: Some(Starter::Mpiexec),
    ..OF_ANY
};

/// Options that no other `mpirun` or `mpiexec` has.
pub(crate) const ITS_OWN: &str = "cpu-bind depth d gpu-bind mem-bind membind cpus-per-rank hostlist";

fn sensed(variables: &LauncherVariables<'_>) -> Option<Sensed> {
    if !variables.is_set("PALS_RANKID") || variables.is_set("SLURM_STEP_ID") {
        return None;
    }
    // It sets PMI_SIZE or leaves it empty, by version and by --pmi=.
    let told = variables.number("PMI_SIZE").map(LaunchSize::Known);
    let size = told.unwrap_or(LaunchSize::AtLeast(variables.number("PALS_LOCAL_SIZE").unwrap_or(1)));
    Some(Sensed::OneOf(size, "PALS_RANKID"))
}

fn mpi_option(library: &Library) -> Option<MpiOption> {
    let (offers, start) = match library.flavour {
        // Aurora's documents: its MPICH is built with PMIx.
        Flavour::OpenMpi | Flavour::Mpich => (Interface::Pmix, "mpiexec --pmi=pmix …"),
        Flavour::CrayMpich => (Interface::Cray, "mpiexec … without --pmi="),
        Flavour::Other => return None,
    };
    Some(MpiOption { offers: Some(offers), start: start.to_owned() })
}

/// Reads PALS' options.
///
/// # Errors
/// [`LineError`]: mpiexec would refuse them.
pub(crate) fn read<'l>(
    common: Common<'_>,
    program: &'l [&'l str],
    line: &LaunchLine<'_>,
) -> Result<Options<'l>, LineError> {
    let topology = line.topology;
    let pool = topology.allowed.pus.or(&topology.allowed.not_in_affinity_pus);
    let depth = common.last(&["depth", "d"]).map(|one| count(&one.spelled(), one.value())).transpose()?;
    let mut lists = 1;
    let mut binding = None;
    if let Some(one) = common.last(&["cpu-bind"]) {
        let (option, value) = (one.spelled(), one.value());
        if let Some((_, list)) = value.split_once("list:") {
            let all: Vec<IdSet> = list.split(':').map(|rank| ids(&option, rank)).collect::<Result<_, _>>()?;
            lists = all.len();
            binding = Some(Ok(all));
        } else {
            let kind =
                value.split(',').find(|word| !matches!(*word, "verbose" | "v" | "quiet" | "q")).unwrap_or_default();
            binding = Some(Err(kind.to_owned()));
        }
    }
    let ranks = common.count.here(lists)?;
    let mut layout = match &binding {
        Some(Ok(lists)) => Layout::lists(lists, ranks),
        Some(Err(kind)) => match bound(kind, depth.unwrap_or(1), topology, &pool, ranks) {
            Some(layout) => layout,
            None => return Err(wrong("--cpu-bind", kind, "write none, depth, core, thread, numa, socket or list:…")),
        },
        // mpiexec(1): ranks are bound to their depth of CPUs where one is given.
        None => match depth {
            Some(depth) => in_order(depth, &pool, ranks),
            None => Layout::unknown(
                ranks,
                "where PALS binds ranks without --cpu-bind depends on the site: write --cpu-bind depth, or list:…",
            ),
        },
    };
    if let Some(one) = common.last(&["gpu-bind"])
        && let Some((_, list)) = one.value().split_once("list:")
    {
        let gpus = |rank: &str| rank.split(',').map(|gpu| number(&one.spelled(), gpu)).collect::<Result<Vec<_>, _>>();
        let all = list.split(':').map(gpus).collect::<Result<Vec<_>, _>>()?;
        layout.starts.iter_mut().zip(all.iter().cycle()).for_each(|(start, gpus)| start.gpus = Some(Ok(gpus.clone())));
    }
    if let Some(one) = common.last(&["mem-bind", "membind"])
        && let Some((_, list)) = one.value().split_once("list:")
    {
        let nodes = list.split(':').map(|rank| ids(&one.spelled(), rank)).collect::<Result<Vec<_>, _>>()?;
        let policies = nodes.iter().cycle().map(|nodes| (PolicyMode::Bind, nodes.clone()));
        layout.starts.iter_mut().zip(policies).for_each(|(start, policy)| start.policy = policy);
    }
    let (count, environment) = (common.count, common.environment);
    Ok(Options { count, layouts: vec![layout], program, environment, notes: Vec::new() })
}

/// The ranks of a kind of binding; `None` where it is none.
fn bound(kind: &str, depth: usize, topology: &Topology, pool: &IdSet, ranks: usize) -> Option<Layout> {
    Some(match kind {
        "none" => Layout::free(ranks),
        "depth" => in_order(depth, pool, ranks),
        "core" | "cores" | "thread" | "threads" => {
            let part = if kind.starts_with("core") { Part::Core } else { Part::Thread };
            let all = part.all(topology, pool);
            match all.len() >= ranks * depth {
                true => Layout::lists(&all.chunks(depth).map(IdSet::of_all).collect::<Vec<_>>(), ranks),
                false => too_many(ranks, depth),
            }
        }
        "numa" | "socket" => {
            let all = Part::named(kind)?.all(topology, pool);
            match all.len() == ranks {
                true => Layout::lists(&all, ranks),
                false => Layout::unknown(
                    ranks,
                    &format!(
                        "--cpu-bind {kind} with {ranks} ranks on {} of them: which rank is where, PALS decides; --cpu-bind verbose,{kind} shows it",
                        all.len()
                    ),
                ),
            }
        }
        _ => return None,
    })
}

/// Each rank the next CPUs by their numbers: the second threads of cores come last.
fn in_order(depth: usize, pool: &IdSet, ranks: usize) -> Layout {
    let all: Vec<u32> = pool.iter().collect();
    match all.len() >= ranks * depth {
        true => Layout::lists(&all.chunks(depth).map(|own| own.iter().copied().collect()).collect::<Vec<_>>(), ranks),
        false => too_many(ranks, depth),
    }
}

fn too_many(ranks: usize, depth: usize) -> Layout {
    Layout::unknown(
        ranks,
        &format!("{ranks} ranks with a depth of {depth} need more CPUs than this machine has for the job"),
    )
}

/// The line that puts each rank in its place.
fn written(places: &NodePlaces) -> String {
    let lists: Vec<String> = places.places.iter().map(|place| place.pus.to_string()).collect();
    format!("mpiexec -n {0} --ppn {0} --cpu-bind list:{1} PROGRAM", lists.len(), lists.join(":"))
}
