//! Where MPICH's mpiexec puts ranks: `-bind-to` and `-map-by` (`mpiexec -bind-to -help`), as 3.4.3, 4.0.2 and
//! 5.0.2 do it (`tests/truth/mpich.txt`).
//!
//! `core:4` is four cores a rank; a rank's cores go on where those of the rank before end, and begin again
//! behind the last one. Ranks go round the objects of `-map-by`. `user:` lists PUs by OS id: a rank beyond
//! the list is not bound.

use stats::IdSet;

use crate::assumption::Choice;
use crate::error::LineError;
use crate::layout::{LaunchLine, Layout, Start};
use crate::mpi_options::Common;
use crate::objects::{JobMachine, Part, grouped, singles};
use crate::value::{count, ids, wrong};

/// The condition of every layout here.
const MPICH: &str = "the mpiexec is MPICH's";
/// That of a list that version 3 reads in another way.
const FOUR: &str = "MPICH 4 or later";

/// The ranks of a line with `-bind-to`.
///
/// # Errors
/// [`LineError`]: mpiexec would refuse the line.
pub(super) fn layout(
    bind_to: &str,
    map_by: Option<&str>,
    common: &Common<'_>,
    line: &LaunchLine<'_>,
) -> Result<Layout, LineError> {
    if let Some(list) = bind_to.strip_prefix("user:") {
        return of_list(list, common, line.machine);
    }
    let ranks = common.count.here(1)?;
    if bind_to == "none" {
        return Ok(Layout::free(ranks).assuming(Choice::MpiVersion, MPICH));
    }
    bound(bind_to, map_by, line.machine, ranks).map(|layout| layout.assuming(Choice::MpiVersion, MPICH))
}

/// `0,2x2,2-4+8x3`: PUs of one rank behind another, `+` joins them, `x2` gives them to two ranks.
fn of_list(list: &str, common: &Common<'_>, machine: &JobMachine<'_>) -> Result<Layout, LineError> {
    let mut lists: Vec<IdSet> = Vec::new();
    for entry in list.split(',') {
        let (pus, times) = entry.split_once('x').unwrap_or((entry, "1"));
        let own = ids("--bind-to", &pus.replace('+', ","))?;
        lists.extend(std::iter::repeat_n(own, count("--bind-to", times)?.min(placement::MOST_RANKS)));
    }
    let ranks = common.count.here(1)?;
    if let Some(beyond) = lists.iter().take(ranks).find(|pus| !pus.is_subset(&machine.pus)) {
        let why =
            format!("-bind-to user names PUs that this machine does not have, or not for this job: {beyond}");
        return Ok(Layout::unknown(ranks, &why));
    }
    let start = |rank: usize| lists.get(rank).cloned().map_or(Start::FREE, Start::on);
    let layout = Layout::certain((0..ranks).map(start).collect());
    Ok(layout.assuming(Choice::MpiVersion, if list.contains(['x', '-']) { FOUR } else { MPICH }))
}

/// An object with a width, `core:4`; `None` for an object that is not known here.
fn object(option: &str, value: &str) -> Result<(Option<Part>, usize), LineError> {
    let (name, width) = value.split_once(':').unwrap_or((value, "1"));
    Ok((Part::named(name), count(option, width)?))
}

/// `core:4`, `numa`, with the objects of `-map-by`.
fn bound(
    bind_to: &str,
    map_by: Option<&str>,
    machine: &JobMachine<'_>,
    ranks: usize,
) -> Result<Layout, LineError> {
    let not_followed = |option: String| {
        let why = format!("{option} of mpiexec is not followed: HYDRA_TOPO_DEBUG=1 shows where ranks go");
        Ok(Layout::unknown(ranks, &why))
    };
    let name = bind_to.split(':').next().unwrap_or_default();

    if name == "rr" {
        return match map_by {
            // By the numbers of the PUs from 0 on, also of those that are not there.
            None if (0..).zip(machine.pus.iter()).all(|(number, pu)| number == pu) => {
                Ok(Layout::lists(&singles(&machine.pus), ranks))
            }
            None => not_followed("-bind-to rr on a machine whose PUs have gaps".to_owned()),
            Some(map_by) => not_followed(format!("-bind-to rr -map-by {map_by}")),
        };
    }

    let (part, width) = object("--bind-to", bind_to)?;
    let (Some(part), false) = (part, name == "board") else {
        return match name {
            "l1cache" | "l2cache" | "l4cache" | "l5cache" | "l1dcache" | "l1icache" | "hca" | "ib" => {
                not_followed(format!("-bind-to {bind_to}"))
            }
            _ => Err(wrong(
                "--bind-to",
                bind_to,
                "write core, hwthread, l3cache, numa, socket, user:LIST or none, with :N for N of them",
            )),
        };
    };

    let around = map_by.and_then(|map_by| Part::named(map_by.split(':').next().unwrap_or_default()));
    if (part == Part::Numa || around == Some(Part::Numa)) && machine.has_nodes_without_cpus() {
        return not_followed(format!("-bind-to {bind_to} where NUMA nodes have no CPUs"));
    }
    let units = machine.parts(part);
    if map_by.is_some() && units.iter().any(|unit| unit.len() != units[0].len()) && part == Part::Core {
        return not_followed(format!("-bind-to {bind_to} with -map-by where cores are unlike"));
    }
    let lists = match map_by {
        None => (0..ranks).map(|rank| next(&units, rank * width, width)).collect::<Option<Vec<_>>>(),
        Some(map_by) => {
            let (around, every) = object("--map-by", map_by)?;
            let (Some(around), 1) = (around, every) else { return not_followed(format!("-map-by {map_by}")) };
            match mapped(machine, part, width, around, ranks) {
                Some(lists) if lists.is_empty() => {
                    return not_followed(format!("-bind-to {bind_to} -map-by {map_by}"));
                }
                lists => lists,
            }
        }
    };

    Ok(match lists {
        Some(lists) => Layout::lists(&lists, ranks),
        None => Layout::unknown(ranks, "this machine has no such objects for mpiexec to bind to"),
    })
}

/// So many parts from this one on; behind the last one comes the first.
fn next(parts: &[IdSet], from: usize, width: usize) -> Option<IdSet> {
    if width > parts.len() {
        return None;
    }
    let one = |at: usize| parts.get((from + at) % parts.len().max(1));
    Some(IdSet::of_all((0..width).map(one).collect::<Option<Vec<_>>>()?))
}

/// Ranks round the objects of `-map-by`, each on the next parts of its object; empty where that is not
/// followed.
fn mapped(
    machine: &JobMachine<'_>,
    part: Part,
    width: usize,
    around: Part,
    ranks: usize,
) -> Option<Vec<IdSet>> {
    let objects = machine.parts(around);
    let inside: Vec<Vec<IdSet>> = objects.iter().map(|object| machine.parts_in(part, object)).collect();
    if inside.is_empty() || inside.iter().any(Vec::is_empty) {
        return None;
    }

    // Of several caches in an object not always the next one is taken, and where objects are of unlike sizes
    // not always the next part.
    let has_caches = part == Part::L3 && inside.iter().any(|own| own.len() > 1);
    let are_alike = inside.iter().all(|own| own.len() == inside[0].len());

    if has_caches
        || (!are_alike && ranks > inside.len())
        || (width > 1 && !inside.iter().all(|own| own.len().is_multiple_of(width)))
    {
        return Some(Vec::new());
    }

    let inside: Vec<Vec<IdSet>> = inside.iter().map(|own| grouped(own, width)).collect();
    let of = |rank: usize| {
        let own = &inside[rank % inside.len()];
        let pus = &own[rank / inside.len() % own.len()];
        // Binding to what is wider than the objects of the map: all of it.
        if width == 1 { machine.widened(part, pus) } else { pus.clone() }
    };
    Some((0..ranks).map(of).collect())
}
