//! Where Open MPI 5 puts ranks: PRRTE's "Placement" pages and what 5.0.8 and 5.0.11 do
//! (`tests/truth/open-mpi.txt`).
//!
//! Ranks go round the objects of `--map-by` as long as an object has free CPUs; `ppr:N:OBJECT` fills an
//! object first. A rank is bound to the first object of `--bind-to` in its own that has a free CPU, and takes
//! one; `PE=N` takes N free ones of one package. Without `--bind-to` that is the object that ranks go round,
//! and by slot and node a NUMA node: the first one, until its CPUs are used up, and a core where they are one
//! or two. Without `--map-by` ranks go by the object of `--bind-to`, else by core, whatever their count.
//! Numbers in the launch fill one object after the other (`--rank-by fill`), while local numbers go round:
//! they differ.

use stats::IdSet;

use super::objects::objects_of;
use super::options::{By, MappingOptions, Numbering, PeList};
use super::placed::{NoPlace, Outcome, Placed, in_order};
use crate::objects::{JobMachine, Part};

/// The ranks as Open MPI 5 starts them.
pub(crate) fn place(options: &MappingOptions, machine: &JobMachine<'_>, ranks: usize) -> Outcome {
    if let Some(list) = options.cpu_list.as_ref().or(options.pe_list.as_ref()) {
        return with_list(options, machine, list, ranks);
    }

    let mapped = map(options, machine, ranks)?;
    let objects = objects_of(machine, mapped_by(options));
    let bound = match options.bind_to {
        Some(None) => vec![None; ranks],
        _ if options.oversubscribe => vec![None; ranks],
        _ => bind(options, machine, &objects, &mapped)?.into_iter().map(Some).collect(),
    };
    let worlds = worlds(options, &mapped)?;
    let one = |((pus, object), world)| Placed { pus, object, world };
    Ok(bound.into_iter().zip(mapped).zip(worlds).map(one).collect())
}

fn cpu(options: &MappingOptions) -> Part {
    let by_thread = options.by == Some(By::Part(Part::Thread));
    if options.by_threads || by_thread { Part::Thread } else { Part::Core }
}

/// What ranks are mapped by: where the line does not say it, by what they are bound to.
fn mapped_by(options: &MappingOptions) -> By {
    match (options.by, options.cpus, options.bind_to) {
        (Some(by), ..) => by,
        (None, Some(_), _) => By::Node,
        (None, None, Some(Some(part))) => By::Part(part),
        (None, None, _) => By::Part(cpu(options)),
    }
}

/// All CPUs of a list for every rank, or one after the other.
fn with_list(options: &MappingOptions, machine: &JobMachine<'_>, list: &PeList, ranks: usize) -> Outcome {
    if options.by.is_some() || options.cpus.is_some() {
        return Err(NoPlace::mapping_beside_list());
    }
    if !matches!(options.bind_to, None | Some(Some(Part::Core | Part::Thread))) {
        let why = "another --bind-to than core or hwthread beside a list of CPUs is refused by Open MPI 5";
        return Err(NoPlace::Refused(why.into()));
    }

    if list.has_ranges {
        return Err(NoPlace::NotFollowed(
            "a range in a list of CPUs is not followed for Open MPI 5: write single numbers".into(),
        ));
    }

    if list.cpus.len() < ranks {
        return Err(NoPlace::Refused(format!(
            "Open MPI 5 refuses {ranks} ranks on a list of {} CPUs (\"not enough CPUs in the specified \
             PE-LIST\")",
            list.cpus.len()
        )));
    }

    let units = machine.parts(cpu(options));
    let chosen: Option<Vec<IdSet>> = list.cpus.iter().map(|cpu| units.get(*cpu as usize).cloned()).collect();
    let Some(chosen) = chosen else {
        return Err(NoPlace::NotFollowed(format!(
            "the list names CPUs beyond the {} of this machine",
            units.len()
        )));
    };
    if list.is_ordered {
        return Ok(in_order(chosen.into_iter().take(ranks)));
    }
    let all = IdSet::of_all(&chosen);
    if !machine.parts(Part::Package).iter().any(|package| all.is_subset(package)) {
        return Err(NoPlace::Refused("Open MPI 5 refuses CPUs of several packages for one rank".into()));
    }
    Ok(in_order(std::iter::repeat_n(all, ranks)))
}

/// The object of each rank.
fn map(options: &MappingOptions, machine: &JobMachine<'_>, ranks: usize) -> Result<Vec<usize>, NoPlace> {
    let objects = objects_of(machine, mapped_by(options));
    if objects.is_empty() {
        return Err(NoPlace::Refused("this machine has no such object for mpirun to map by".into()));
    }
    let each = options.cpus.unwrap_or(1);
    let capacity = |object: &IdSet| machine.parts_in(cpu(options), object).len() / each;
    let mut left: Vec<usize> = objects.iter().map(capacity).collect();

    if let Some(per_object) = options.per_object {
        if objects.iter().any(|object| capacity(object) < per_object) && options.cpus.is_some() {
            let why =
                "ppr with PE beyond the CPUs of an object is refused by Open MPI 5.0.11, and not by 5.0.8";
            return Err(NoPlace::NotFollowed(why.into()));
        }
        if options.by == Some(By::Part(Part::Thread)) && machine.has_threads() {
            return Err(NoPlace::NotFollowed("ppr:N:hwthread of Open MPI 5 is not followed".into()));
        }
        if ranks > per_object * objects.len() {
            return Err(NoPlace::Refused(format!(
                "the machine has places for {} ranks of this kind",
                per_object * objects.len()
            )));
        }
        if !ranks.is_multiple_of(per_object) && objects.len() > 1 {
            // "PMIX_ERR_UNPACK_INADEQUATE_SPACE", and nothing is started.
            return Err(NoPlace::Refused(
                "Open MPI 5 fails where the last object of ppr is not filled".into(),
            ));
        }
        return Ok((0..ranks).map(|rank| rank / per_object).collect());
    }

    if left.iter().sum::<usize>() < ranks && !options.oversubscribe {
        let why = "the machine has fewer CPUs than the ranks need: Open MPI 5 refuses the line, unless the \
            job has more slots";
        return Err(NoPlace::Refused(why.into()));
    }

    if left.iter().sum::<usize>() < ranks && objects.len() > 1 {
        return Err(NoPlace::NotFollowed(
            "which object gets more ranks than it has CPUs is not followed".into(),
        ));
    }

    let mut mapped = Vec::with_capacity(ranks);
    let mut at = 0;

    while mapped.len() < ranks {
        let has_room = left.iter().any(|room| *room > 0);
        if !has_room || left[at] > 0 {
            left[at] = left[at].saturating_sub(1);
            mapped.push(at);
        }
        at = (at + 1) % objects.len();
    }
    Ok(mapped)
}

/// Each rank's PUs.
fn bind(
    options: &MappingOptions,
    machine: &JobMachine<'_>,
    objects: &[IdSet],
    mapped: &[usize],
) -> Result<Vec<IdSet>, NoPlace> {
    let cpu = cpu(options);
    let mut free = machine.parts(cpu);
    if let Some(each) = options.cpus {
        let unit = match options.bind_to {
            Some(Some(Part::Thread)) => Part::Thread,
            None | Some(Some(Part::Core)) => cpu,
            _ => return Err(NoPlace::binding_beside_pe()),
        };
        let mut free = machine.parts(unit);
        return mapped
            .iter()
            .map(|object| take_within_a_package(machine, &mut free, &objects[*object], each))
            .collect();
    }

    let to = match (options.bind_to, mapped_by(options)) {
        (Some(Some(part)), _) => part,
        (_, By::Part(part)) => part,
        (_, By::Node) if mapped.len() <= 2 => cpu,
        (_, By::Node) => Part::Numa,
    };
    if let By::Part(around) = mapped_by(options)
        && level(to) < level(around)
    {
        let why = "Open MPI 5 binds inside of the object that a rank is mapped to and refuses a larger one";
        return Err(NoPlace::Refused(why.into()));
    }
    if to == Part::Thread && cpu == Part::Core && machine.has_threads() {
        let why = "--bind-to hwthread without hardware threads as CPUs (--use-hwthread-cpus) is refused by \
            Open MPI 5 on this machine";
        return Err(NoPlace::Refused(why.into()));
    }
    let mut all = Vec::with_capacity(mapped.len());
    for object in mapped {
        let inside: Vec<IdSet> =
            machine.parts(to).into_iter().filter(|part| part.is_subset(&objects[*object])).collect();
        if inside.is_empty() {
            let why =
                "Open MPI 5 binds inside of the object that a rank is mapped to and refuses a larger one";
            return Err(NoPlace::Refused(why.into()));
        }
        let taken = inside.into_iter().find_map(|part| {
            let at = free.iter().position(|cpu| cpu.is_subset(&part))?;
            free.remove(at);
            Some(part)
        });
        all.push(taken.ok_or_else(|| {
            NoPlace::Refused("Open MPI 5 refuses more ranks on an object than it has CPUs".into())
        })?);
    }
    Ok(all)
}

/// How far inside of a machine a part is.
fn level(part: Part) -> usize {
    match part {
        Part::Machine => 0,
        Part::Package => 1,
        Part::Numa => 2,
        Part::L3 => 3,
        Part::Core => 4,
        Part::Thread => 5,
    }
}

/// The next free CPUs of an object that are in one package.
fn take_within_a_package(
    machine: &JobMachine<'_>,
    free: &mut Vec<IdSet>,
    object: &IdSet,
    each: usize,
) -> Result<IdSet, NoPlace> {
    for package in machine.parts_in(Part::Package, object) {
        let own: Vec<IdSet> = free.iter().filter(|cpu| cpu.is_subset(&package)).take(each).cloned().collect();
        if own.len() == each {
            free.retain(|cpu| !own.contains(cpu));
            return Ok(IdSet::of_all(&own));
        }
    }
    Err(NoPlace::Refused(format!(
        "Open MPI 5 refuses PE={each} where no package has as many free CPUs for a rank"
    )))
}

/// Each rank's number in the launch.
fn worlds(options: &MappingOptions, mapped: &[usize]) -> Result<Vec<usize>, NoPlace> {
    let identity = || Ok((0..mapped.len()).collect());
    let is_spanning = match &options.numbering {
        Numbering::Slot => return identity(),
        Numbering::Default => options.spanning,
        Numbering::Fill => false,
        Numbering::Span => true,
        Numbering::Part(_) | Numbering::Other(_) => {
            return Err(NoPlace::NotFollowed("how the line numbers its ranks is not followed".into()));
        }
    };

    let turn = |local: usize| mapped[..local].iter().filter(|object| **object == mapped[local]).count();
    let mut order: Vec<usize> = (0..mapped.len()).collect();
    match is_spanning {
        true => order.sort_by_key(|local| (turn(*local), mapped[*local])),
        false => order.sort_by_key(|local| (mapped[*local], turn(*local))),
    }

    let mut worlds = vec![0; mapped.len()];
    order.into_iter().enumerate().for_each(|(world, local)| worlds[local] = world);
    Ok(worlds)
}
