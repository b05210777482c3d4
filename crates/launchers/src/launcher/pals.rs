//! PALS, the mpiexec of HPE Cray systems under PBS: `--ppn`, `--depth`, `--cpu-bind`, `--gpu-bind`,
//! `--mem-bind`.
//!
//! mpiexec(1) of PALS 1.2 to 1.6, and what ALCF documents of Polaris and Aurora ("Running Jobs on Polaris",
//! "Controlling process placement and binding"). `depth` gives each rank the next so many CPUs, counted by
//! their numbers; a list has a set for each rank.

use placement::NodePlaces;
use ranks::{Flavour, Library};
use stats::IdSet;
use topo::process::PolicyMode;

use crate::dialect::{Situation, Starter, gpu_indices};
use crate::error::LineError;
use crate::facts::{LauncherFacts, MpiOption, OF_ANY, Reads, Sensed, SharedPus, UsualMpi, Written};
use crate::grammar::Given;
use crate::interface::Interface;
use crate::launch_size::LaunchSize;
use crate::layout::{LaunchLine, Layout, Tells};
use crate::mpi_options::Common;
use crate::objects::{JobMachine, Part, grouped, singles};
use crate::value::{ids, number, wrong};
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
    writes: Some(|_, places, situation| Ok(Written::line(written(places, situation)))),
    leaves_unbound: &["--cpu-bind", "none"],
    through_exec: "mpiexec --cpu-bind none … numabench exec -- PROGRAM",
    starter: Some(Starter::Pals),
    ..OF_ANY
};

/// Options that no other `mpirun` or `mpiexec` has.
pub(crate) const ITS_OWN: &str = "cpu-bind depth d gpu-bind mem-bind membind hostlist";

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

/// Where PALS' options put ranks.
///
/// # Errors
/// [`LineError`]: mpiexec would refuse them.
pub(crate) fn layout(common: &Common<'_>, line: &LaunchLine<'_>) -> Result<Layout, LineError> {
    let machine = line.machine;
    let depth = common.last(&["depth", "d"]).map(Given::count).transpose()?;
    let lists = common.list(&["cpu-bind"], ids)?;
    let ranks = common.count.here(lists.as_ref().map_or(1, Vec::len))?;
    let mut layout = match (&lists, common.last(&["cpu-bind"]), depth) {
        (Some(lists), ..) => Layout::lists(lists, ranks),
        (None, Some(one), _) => {
            let mut words = one.value().split(',');
            let kind =
                words.find(|word| !matches!(*word, "verbose" | "v" | "quiet" | "q")).unwrap_or_default();
            bound(kind, depth.unwrap_or(1), machine, ranks).ok_or_else(|| {
                wrong("--cpu-bind", kind, "write none, depth, core, thread, numa, socket or list:…")
            })?
        }
        // mpiexec(1): ranks are bound to their depth of CPUs where one is given.
        (None, None, Some(depth)) => in_order(&singles(&machine.pus), depth, ranks),
        (None, None, None) => Layout::unknown(
            ranks,
            "where PALS binds ranks without --cpu-bind depends on the site: write --cpu-bind depth, or \
             list:…",
        ),
    };

    let gpus = |option: &str, rank: &str| {
        rank.split(',').map(|gpu| number(option, gpu)).collect::<Result<Vec<_>, _>>()
    };
    if let Some(all) = common.list(&["gpu-bind"], gpus)? {
        layout = layout.with_gpus(all.into_iter().cycle().map(Ok));
    }
    if let Some(nodes) = common.list(&["mem-bind", "membind"], ids)? {
        let policies = nodes.iter().cycle().map(|nodes| (PolicyMode::Bind, nodes.clone()));
        layout.starts.iter_mut().zip(policies).for_each(|(start, policy)| start.policy = policy);
    }
    Ok(layout)
}

/// The ranks of a kind of binding; `None` where it is none.
fn bound(kind: &str, depth: usize, machine: &JobMachine<'_>, ranks: usize) -> Option<Layout> {
    Some(match kind {
        "none" => Layout::free(ranks),
        // By their numbers: the second threads of cores come last.
        "depth" => in_order(&singles(&machine.pus), depth, ranks),
        "core" | "cores" | "thread" | "threads" => in_order(&machine.parts(Part::named(kind)?), depth, ranks),
        "numa" | "socket" => {
            let all = machine.parts(Part::named(kind)?);
            match all.len() == ranks {
                true => Layout::lists(&all, ranks),
                false => Layout::unknown(
                    ranks,
                    &format!(
                        "--cpu-bind {kind} with {ranks} ranks on {} of them: which rank is where, PALS \
                         decides; --cpu-bind verbose,{kind} shows it",
                        all.len()
                    ),
                ),
            }
        }
        _ => return None,
    })
}

/// Each rank the next CPUs.
fn in_order(cpus: &[IdSet], depth: usize, ranks: usize) -> Layout {
    match cpus.len() >= ranks * depth {
        true => Layout::lists(&grouped(cpus, depth), ranks),
        false => Layout::unknown(
            ranks,
            &format!(
                "{ranks} ranks with a depth of {depth} need more CPUs than this machine has for the job"
            ),
        ),
    }
}

/// The line that puts each rank in its place, with its GPU.
fn written(places: &NodePlaces, situation: &Situation) -> String {
    let lists: Vec<String> = places.places.iter().map(|place| place.pus.to_string()).collect();
    let gpus = gpu_indices(places).map_or_else(String::new, |gpus| {
        let list: Vec<String> = gpus.iter().map(u32::to_string).collect();
        format!(" --gpu-bind list:{}", list.join(":"))
    });

    let (here, list) = (lists.len(), lists.join(":"));
    let all = situation.ranks_of_launch(here);
    format!("mpiexec -n {all} --ppn {here} --cpu-bind list:{list}{gpus} PROGRAM")
}
