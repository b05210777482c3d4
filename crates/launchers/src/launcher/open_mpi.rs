//! Open MPI's mpirun: its facts, and where its options put ranks.
//!
//! Versions 4 and 5 are two launchers that share their words: each reads the line (`options`) and has a model
//! of its own (`four`, `five`, over `objects`; what a model says is `placed`). Both models are held against
//! what the versions did (`tests/truth`). Where both do the same the line is judged for certain, else each
//! has a layout that says which version it assumes.

mod five;
mod four;
mod objects;
mod options;
mod placed;

use placement::NodePlaces;
use ranks::Flavour;
use stats::IdSet;
use topo::Topology;

use crate::assumption::Choice;
use crate::dialect::{Dialect, Situation, Starter, say};
use crate::error::LineError;
use crate::facts::{LauncherFacts, OF_ANY, Proof, Reads, Sensed, UsualMpi, Written};
use crate::layout::{LaunchLine, Layout, Tells};
use crate::mpi_options::Common;
use crate::objects::{JobMachine, Part};
use crate::rankfile::{self, Counting};
use objects::objects_of;
use options::{By, MappingOptions, Version};
use placed::{NoPlace, Outcome, in_order, layout_of};

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "Open MPI's mpirun",
    // docs.open-mpi.org, "Environment variables set for MPI applications".
    sensed: |variables| {
        Some(Sensed::one_of(variables.number("OMPI_COMM_WORLD_SIZE")?, "OMPI_COMM_WORLD_RANK"))
    },
    local_rank: &["OMPI_COMM_WORLD_LOCAL_RANK"],
    local_size: |variables| variables.number("OMPI_COMM_WORLD_LOCAL_SIZE"),
    tells: &[
        ("OMPI_COMM_WORLD_LOCAL_RANK", Tells::LocalRank),
        ("OMPI_COMM_WORLD_NODE_RANK", Tells::LocalRank),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", Tells::LocalSize),
        ("OMPI_COMM_WORLD_RANK", Tells::Rank),
        ("OMPI_COMM_WORLD_SIZE", Tells::Size),
    ],
    starters: &["orted", "prted", "prte", "prterun", "mpirun", "mpiexec", "orterun"],
    frees_from_affinity: "start it with mpirun --bind-to none",
    usual_mpi: Some(UsualMpi { flavour: Flavour::OpenMpi, is_only: true }),
    reads: Reads::Mpirun(&["mpirun", "orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"]),
    writes: Some(written),
    leaves_unbound: &["--bind-to", "none"],
    through_exec: "mpirun --bind-to none … numabench exec -- PROGRAM",
    starter: Some(Starter::Mpirun),
    ..OF_ANY
};

/// Options that no other `mpirun` or `mpiexec` has.
pub(crate) const ITS_OWN: &str = "mca gmca omca prtemca pmixmca x rankfile rf report-bindings npernode \
    npersocket pernode display display-map use-hwthread-cpus oversubscribe cpu-set cpu-list bind-to-core \
    bind-to-socket bynode byslot bycore cpus-per-proc cpus-per-rank rank-by allow-run-as-root \
    hostfile tag-output";

/// Where Open MPI's options put ranks: one layout where its versions do the same, else one for each that
/// takes the line.
///
/// # Errors
/// [`LineError`]: mpirun would refuse them.
pub(crate) fn layouts(common: &mut Common<'_>, line: &LaunchLine<'_>) -> Result<OpenMpiLayouts, LineError> {
    let versions: &[Version] = match line.command {
        "prterun" => &[Version::Five],
        _ => &[Version::Four, Version::Five],
    };
    let mut outcomes = Vec::new();
    for version in versions {
        let options = MappingOptions::read(*version, &common.given, line.variables)?;
        outcomes.push((*version, outcome(&options, common, line)?));
    }
    let ranks = common.count.here(1)?;
    combined(outcomes, ranks)
}

/// The layouts of a line, and what is to be known beside.
pub(crate) struct OpenMpiLayouts {
    pub layouts: Vec<Layout>,
    pub notes: Vec<String>,
}

/// What one version does with the line.
fn outcome(
    options: &MappingOptions,
    common: &mut Common<'_>,
    line: &LaunchLine<'_>,
) -> Result<Outcome, LineError> {
    let machine = line.machine;
    common.count.dealing = options.dealing();
    if let Some(word) = &options.foreign {
        return Ok(Err(NoPlace::NoOption(word.clone())));
    }
    if let (Some(each), Some(by)) = (options.per_object, options.by) {
        common.count.of_a_node = Some(each.saturating_mul(objects_of(machine, by).len().max(1)));
    }
    if let Some(path) = &options.rankfile {
        return of_rankfile(options, path, common, line);
    }
    if let Some(other) = &options.other {
        let why = format!("{other} of mpirun is not followed: mpirun --report-bindings shows where ranks go");
        return Ok(Err(NoPlace::NotFollowed(why)));
    }

    let is_counted = common.count.ranks.is_some();
    if let (Version::Four, false, Some(_), Some(By::Part(_))) =
        (options.version, is_counted, options.per_object, options.by)
    {
        let why = "Open MPI 4 may refuse ppr without -np: write -np N";
        return Ok(Err(NoPlace::NotFollowed(why.to_owned())));
    }
    let ranks = number_of_ranks(common)?;
    let objects = options.by.map_or(1, |by| objects_of(machine, by).len());
    if options.spanning && objects > 1 && ranks > objects {
        let why = "how :span numbers more ranks than there are objects is not followed: mpirun \
            --report-bindings shows where ranks go";
        return Ok(Err(NoPlace::NotFollowed(why.to_owned())));
    }
    Ok(match options.version {
        Version::Four => four::place(options, machine, ranks),
        Version::Five => five::place(options, machine, ranks),
    })
}

/// How many ranks the node gets: without a number one for each slot that the line names.
fn number_of_ranks(common: &mut Common<'_>) -> Result<usize, LineError> {
    let count = &mut common.count;
    if count.ranks.is_none() && count.of_a_node.is_none() {
        if count.slots.is_empty() {
            let what = "without -np mpirun starts a rank for each slot of the job, and how many there are \
                does not follow from the line: write -np N";
            return Err(LineError::NotSaid(what.to_owned()));
        }
        count.ranks = Some(count.slots.iter().sum());
    }
    count.here(1)
}

/// The ranks of a rankfile.
fn of_rankfile(
    options: &MappingOptions,
    path: &str,
    common: &mut Common<'_>,
    line: &LaunchLine<'_>,
) -> Result<Outcome, LineError> {
    let by_threads = options.by_threads || options.bind_to == Some(Some(Part::Thread));
    let counting = match (options.version, options.physical) {
        (Version::Four, true) if by_threads => Counting::Pus,
        (Version::Four, true) => Counting::CoresOfPus,
        _ if options.by_threads => Counting::Threads,
        _ => Counting::Cores,
    };
    let file = rankfile::read(path, counting, line.machine)?;

    if file.hosts > 1 {
        common.count.nodes = Some(file.hosts);
        common.count.ranks = common.count.ranks.or(Some(file.ranks));
        common.count.of_a_node = Some(file.pus.len());
    }

    let ranks = common.count.here(file.pus.len())?;

    if ranks > file.pus.len() {
        return Ok(Err(NoPlace::Refused(format!(
            "the rankfile {path} has no line for some of {ranks} ranks"
        ))));
    }

    let pus = file.pus.into_iter().take(ranks).collect::<Result<Vec<IdSet>, String>>();
    Ok(pus.map(in_order).map_err(NoPlace::NotFollowed))
}

/// One layout where all versions do the same; else one for each version that has the line's options.
fn combined(outcomes: Vec<(Version, Outcome)>, ranks: usize) -> Result<OpenMpiLayouts, LineError> {
    if let [(_, first), rest @ ..] = outcomes.as_slice()
        && rest.iter().all(|(_, other)| other == first)
    {
        let layouts = vec![match first {
            Ok(placed) => layout_of(placed),
            Err(NoPlace::NotFollowed(why)) => Layout::unknown(ranks, why),
            Err(NoPlace::NoOption(why) | NoPlace::Refused(why)) => return Err(LineError::Wrong(why.clone())),
        }];
        return Ok(OpenMpiLayouts { layouts, notes: Vec::new() });
    }

    let (mut layouts, mut notes) = (Vec::new(), Vec::new());
    for (version, outcome) in &outcomes {
        let layout = match outcome {
            Ok(placed) => layout_of(placed),
            Err(NoPlace::NoOption(word)) => {
                notes.push(format!("{} has no {word}: it refuses the line", version.name()));
                continue;
            }
            Err(NoPlace::Refused(why) | NoPlace::NotFollowed(why)) => Layout::unknown(ranks, why),
        };
        layouts.push(layout.assuming(Choice::MpiVersion, version.name()));
    }
    let places_some =
        outcomes.iter().any(|(_, outcome)| matches!(outcome, Ok(_) | Err(NoPlace::NotFollowed(_))));
    if !places_some {
        let whys = outcomes.into_iter().filter_map(|(version, outcome)| match outcome {
            Err(NoPlace::NoOption(word)) => Some(format!("{} has no {word}", version.name())),
            Err(NoPlace::Refused(why)) => Some(why),
            _ => None,
        });
        return Err(LineError::Wrong(whys.collect::<Vec<_>>().join("; ")));
    }
    Ok(OpenMpiLayouts { layouts, notes })
}

/// The rankfile that puts each rank in its place.
fn written(topology: &Topology, places: &NodePlaces, situation: &Situation) -> Result<Written, String> {
    let text = say(topology, places, Dialect::OpenMpi, situation).usable()?;
    let machine = JobMachine { topology, pus: topology.allowed.pus.clone() };
    let counting = if text.contains("--use-hwthread-cpus") { Counting::Pus } else { Counting::CoresOfPus };
    let file = rankfile::parse(&text, "the rankfile", counting, &machine);
    Ok(Written { proof: Proof::Pus(file.map(|file| file.pus).unwrap_or_default()), text })
}
