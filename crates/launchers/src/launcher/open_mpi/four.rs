//! Where Open MPI 4 puts ranks: mpirun(1) of 4.1 and what 4.1.4 and 4.1.8 do (`tests/truth/open-mpi.txt`).
//!
//! Ranks go round the objects of `--map-by` one after another; `ppr:N:OBJECT` fills an object first; `PE=N`
//! gives each rank the next N CPUs of its object. A rank is bound to the object of `--bind-to` around its
//! own, or to the next one inside. Without `--bind-to` that is the object that ranks go round, and a NUMA
//! node under `ppr` and by slot. Without options two ranks go by core, more by NUMA node. Local numbers and
//! those of the launch are the same.
//!
//! Not modelled: more ranks on an object than it has cores. Whether mpirun refuses, leaves ranks unbound or
//! goes on depends on more than the line.

use stats::IdSet;

use super::objects::{objects_of, order};
use super::options::{By, MappingOptions, Numbering, PeList};
use super::placed::{NoPlace, Outcome, Placed, in_order};
use crate::objects::{JobMachine, Part};

/// The ranks as Open MPI 4 starts them.
pub(crate) fn place(options: &MappingOptions, machine: &JobMachine<'_>, ranks: usize) -> Outcome {
    if let Some(list) = &options.cpu_list {
        return with_cpu_list(options, machine, list, ranks);
    }
    if options.bind_to == Some(None) {
        return Ok((0..ranks).map(|at| Placed { pus: None, object: at, world: at }).collect());
    }
    let placed = match options.cpus {
        Some(cpus) => wide(options, machine, ranks, cpus)?,
        None => by_objects(options, machine, ranks)?,
    };
    numbered(options, machine, placed)
}

/// Every rank has all CPUs of the list, which counts cores.
fn with_cpu_list(options: &MappingOptions, machine: &JobMachine<'_>, list: &PeList, ranks: usize) -> Outcome {
    if options.by.is_some() || options.cpus.is_some() {
        return Err(NoPlace::mapping_beside_list());
    }
    let cores = machine.parts(cpu(options));
    let chosen: Option<Vec<&IdSet>> = list.cpus.iter().map(|core| cores.get(*core as usize)).collect();
    match chosen {
        Some(chosen) => Ok(in_order(std::iter::repeat_n(IdSet::of_all(chosen), ranks))),
        None => Err(NoPlace::NotFollowed(format!(
            "--cpu-list names cores beyond the {} of this machine",
            cores.len()
        ))),
    }
}

fn cpu(options: &MappingOptions) -> Part {
    if options.by_threads { Part::Thread } else { Part::Core }
}

fn default_by(options: &MappingOptions, ranks: usize) -> By {
    By::Part(if ranks <= 2 { cpu(options) } else { Part::Numa })
}

/// Each rank bound to a part of the object that it is mapped to.
fn by_objects(options: &MappingOptions, machine: &JobMachine<'_>, ranks: usize) -> Outcome {
    let by = options.by.unwrap_or_else(|| default_by(options, ranks));
    let to = match (options.by, options.bind_to) {
        (_, Some(Some(part))) => part,
        (Some(By::Part(part)), _) if options.per_object.is_none() => part,
        _ if ranks <= 2 => cpu(options),
        _ => Part::Numa,
    };

    let objects = objects_of(machine, by);
    let inside: Vec<Vec<IdSet>> = objects.iter().map(|object| machine.parts_in(to, object)).collect();
    let mut used = vec![0; objects.len()];
    let one = |(at, object): (usize, usize)| {
        let parts = &inside[object];
        let pus = match parts.len() {
            0 => {
                return Err(NoPlace::Refused("this machine has no such object for mpirun to bind to".into()));
            }
            // The part may be larger than the object.
            1 => machine.widened(to, &parts[0]),
            count => {
                used[object] += 1;
                parts[(used[object] - 1) % count].clone()
            }
        };
        Ok(Placed { pus: Some(pus), object, world: at })
    };
    let order = order(objects.len(), options.per_object, ranks)
        .ok_or_else(|| NoPlace::Refused("this machine has no such object for mpirun to map by".into()))?;
    let placed = order.into_iter().enumerate().map(one).collect::<Result<Vec<Placed>, NoPlace>>()?;
    not_overloaded(machine, cpu(options), &placed)?;
    Ok(placed)
}

/// Whether no CPU has to serve two ranks.
fn not_overloaded(machine: &JobMachine<'_>, cpu: Part, placed: &[Placed]) -> Result<(), NoPlace> {
    for rank in placed {
        let Some(pus) = &rank.pus else { continue };
        let sharers = placed.iter().filter(|other| other.pus.as_ref() == Some(pus)).count();
        if sharers > machine.parts_in(cpu, pus).len() {
            let why = "an object gets more ranks than it has cores: whether Open MPI 4 refuses, spreads or \
                leaves them unbound does not follow from the line";
            return Err(NoPlace::NotFollowed(why.to_owned()));
        }
    }
    Ok(())
}

/// Each rank the next CPUs of its object.
fn wide(options: &MappingOptions, machine: &JobMachine<'_>, ranks: usize, cpus: usize) -> Outcome {
    if let Some(Some(part)) = options.bind_to
        && !matches!(part, Part::Core | Part::Thread)
    {
        return Err(NoPlace::binding_beside_pe());
    }

    let default = if options.is_of_no_object { Part::Package } else { Part::Numa };
    let objects = objects_of(machine, options.by.unwrap_or(By::Part(default)));
    let unit = match options.bind_to {
        Some(Some(Part::Thread)) => Part::Thread,
        _ => cpu(options),
    };
    let mut left: Vec<Vec<IdSet>> = objects.iter().map(|object| machine.parts_in(unit, object)).collect();
    let order = order(objects.len(), options.per_object, ranks)
        .ok_or_else(|| NoPlace::Refused("this machine has no such object for mpirun to map by".into()))?;
    let mut placed = Vec::with_capacity(ranks);

    for (at, object) in order.into_iter().enumerate() {
        let own = &mut left[object];
        if own.len() < cpus {
            return Err(NoPlace::Refused(format!(
                "an object of this machine has fewer CPUs than its ranks are to have (PE={cpus}): mpirun \
                 refuses the line"
            )));
        }
        placed.push(Placed { pus: Some(IdSet::of_all(own.drain(..cpus))), object, world: at });
    }
    Ok(placed)
}

/// The ranks in the order of `--rank-by`: round the objects of a kind, each time the first rank that is
/// mapped to one of them.
fn numbered(options: &MappingOptions, machine: &JobMachine<'_>, placed: Vec<Placed>) -> Outcome {
    let part = match &options.numbering {
        Numbering::Default | Numbering::Slot => return Ok(placed),
        Numbering::Part(part) => *part,
        other => return Err(NoPlace::NotFollowed(format!("how {other:?} numbers ranks is not followed"))),
    };
    let objects = objects_of(machine, options.by.unwrap_or_else(|| default_by(options, placed.len())));
    let parts = machine.parts(part);
    let mut left = placed;
    let mut ordered: Vec<Placed> = Vec::with_capacity(left.len());

    while !left.is_empty() {
        let before = left.len();
        for part in &parts {
            let is_on =
                |rank: &Placed| objects.get(rank.object).is_some_and(|object| !object.and(part).is_empty());
            if let Some(at) = left.iter().position(is_on) {
                let world = ordered.len();
                ordered.push(Placed { world, ..left.remove(at) });
            }
        }
        if left.len() == before {
            return Err(NoPlace::NotFollowed("how the line numbers its ranks is not followed".into()));
        }
    }
    Ok(ordered)
}
