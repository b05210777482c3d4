//! The ways to place the ranks that were asked for.

use placement::{Ask, GpuChoice, GpuList, NodePlaces, Selection, Strategy, Target, TargetId, recommend};
use report::place::Measured;
use stats::IdSet;
use topo::model::Rung;
use topo::visibility::Runtime;
use topo::{Survey, Topology};

use crate::candidate::PlaceCandidate;
use crate::error::PlaceError;
use crate::own_map::{self, OwnMap};
use crate::request::PlaceRequest;

/// More NUMA nodes than this are not tried one by one: the time for measuring is not theirs alone.
const NODES_AT_MOST: usize = 4;

/// The ways there are, the recommended one first, and what was measured of them.
pub struct Candidates {
    /// At least one.
    ways: Vec<PlaceCandidate>,
    /// What was measured.
    pub measured: Option<Measured>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Candidates {
    /// The only way, not measured.
    pub fn only(way: PlaceCandidate) -> Self {
        Self { ways: vec![way], measured: None, notes: Vec::new() }
    }

    /// Several ways; the recommended one is at `recommended`.
    pub fn measured(
        mut ways: Vec<PlaceCandidate>,
        recommended: usize,
        measured: Measured,
        notes: Vec<String>,
    ) -> Self {
        ways[..=recommended].rotate_right(1);
        Self { ways, measured: Some(measured), notes }
    }

    /// The way to take.
    pub fn recommended(&self) -> &PlaceCandidate {
        &self.ways[0]
    }

    /// All of them.
    pub fn ways(&self) -> &[PlaceCandidate] {
        &self.ways
    }
}

/// The way asked for, without a device being touched.
///
/// # Errors
/// [`PlaceError`]: GPUs or PUs that the machine does not have, or ranks that do not fit on it.
pub fn planned(asked: &PlaceRequest, survey: &Survey) -> Result<PlaceCandidate, PlaceError> {
    survey.topology.source.require_cores()?;
    let gpus = gpus(asked, &available(asked, survey))?;
    let ask = ask(asked, &survey.topology, gpus);
    let places = recommend(&survey.topology, &ask)?;
    Ok(PlaceCandidate::new(ask.strategy.name(), what(ask.strategy), places))
}

/// The machine's GPUs; of this machine those that a program started here would see, by the visible-devices
/// variables.
fn available(asked: &PlaceRequest, survey: &Survey) -> Vec<Target> {
    let mut targets = Target::gpus_of(&survey.topology);
    let known = survey.visibility.iter().filter(|_| asked.input.is_empty());
    for (visibility, devices) in known.filter_map(|one| Some((one, one.devices.as_ref()?))) {
        let of_runtime = |target: &Target| match target.id {
            TargetId::Gpu(pci) => {
                survey.topology.gpu_at(pci).and_then(|gpu| Runtime::of_vendor(gpu.vendor_id))
            }
            TargetId::Node(_) => None,
        };
        let is_seen =
            |target: &Target| devices.iter().any(|seen| seen.pci.map(TargetId::Gpu) == Some(target.id));
        targets.retain(|target| of_runtime(target) != Some(visibility.runtime) || is_seen(target));
    }
    targets
}

/// What is asked to be placed, with these GPUs.
pub fn ask(asked: &PlaceRequest, topology: &Topology, gpus: GpuChoice) -> Ask {
    Ask { gpus, cores_per_rank: cores_per_rank(asked, topology), ..asked.ask.clone() }
}

/// The cores asked for each rank, or those that its threads need: a core each, or with `--smt` a hardware
/// thread.
pub fn cores_per_rank(asked: &PlaceRequest, topology: &Topology) -> Option<usize> {
    let usable =
        topology.cores.iter().map(|core| core.pus.and(&topology.allowed.pus).len()).filter(|pus| *pus > 0);
    let each = if asked.ask.smt { usable.min().unwrap_or(1) } else { 1 };
    asked.ask.cores_per_rank.or_else(|| Some(asked.threads?.div_ceil(each)))
}

/// The GPUs that are named, of these.
pub fn gpus(asked: &PlaceRequest, available: &[Target]) -> Result<GpuChoice, PlaceError> {
    match &asked.gpus {
        GpuList::None => Ok(GpuChoice::None),
        GpuList::Some(selection) => {
            let these = selection.resolve(available)?;
            Ok(match selection {
                _ if these.is_empty() => GpuChoice::None,
                Selection::All => GpuChoice::AnyOf(these),
                Selection::These(_) => GpuChoice::These(these),
            })
        }
    }
}

/// What a strategy does.
fn what(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Close => "each rank near its GPU, as far as the platform says where that is",
        Strategy::Spread => "ranks evenly over the NUMA nodes, wherever the GPUs are",
        Strategy::Compact => "ranks on consecutive cores, from the first",
        Strategy::Worst => "each rank far from its GPU, to show what that costs",
    }
}

/// The ways worth measuring: close, spread and compact, where the platform does not say where a device is all
/// ranks on each NUMA node, and the user's own maps. Those that come to the same places are one; the notes
/// say which.
pub fn worth_measuring(
    topology: &Topology,
    ask: &Ask,
    maps: &[OwnMap],
) -> Result<(Vec<PlaceCandidate>, Vec<String>), PlaceError> {
    own_map::names_differ(maps)?;
    let mut ways: Vec<PlaceCandidate> = Vec::new();
    let mut notes = Vec::new();
    let mut add = |way: PlaceCandidate| match ways
        .iter()
        .find(|other| pus_and_nodes(&other.places) == pus_and_nodes(&way.places))
    {
        Some(same) => {
            let is_same = same.places.places.iter().zip(&way.places.places).all(|(a, b)| a.pus == b.pus);
            let how = if is_same { "gives the same placement as" } else { "begins on the same PUs as" };
            notes.push(format!("{} {how} {} here: it is measured once", way.name, same.name));
        }
        None => ways.push(way),
    };
    for strategy in [Strategy::Close, Strategy::Spread, Strategy::Compact] {
        let ask = Ask { strategy, ..ask.clone() };
        add(PlaceCandidate::new(strategy.name(), what(strategy), recommend(topology, &ask)?));
    }
    let close = recommend(topology, &Ask { strategy: Strategy::Close, ..ask.clone() })?;
    if close.places.iter().any(|place| place.rung == Some(Rung::Unknown)) {
        let pool = ask.pus.as_ref().unwrap_or(&topology.allowed.pus);
        let nodes = topology.nodes.iter().filter(|node| !node.pus.and(pool).is_empty());
        let nodes: Vec<(u32, IdSet)> = nodes.map(|node| (node.os_index, node.pus.and(pool))).collect();
        if nodes.len() > 1 && nodes.len() <= NODES_AT_MOST {
            for (node, pus) in nodes {
                let ask = Ask { strategy: Strategy::Compact, pus: Some(pus), ..ask.clone() };
                // A node with too few cores is no way to place them.
                let Ok(places) = recommend(topology, &ask) else { continue };
                add(PlaceCandidate::new(
                    format!("node-{node}"),
                    format!("all ranks on NUMA node {node}"),
                    places,
                ));
            }
        }
    }

    let targets: Vec<Option<Target>> = close.places.iter().map(|place| place.target.clone()).collect();
    let allowed = topology.allowed.pus.minus(&close.reserved);
    for map in maps {
        add(map.way(topology, &allowed, &targets)?);
    }
    Ok((ways, notes))
}

/// What a measurement of it depends on.
fn pus_and_nodes(places: &NodePlaces) -> Vec<(u32, Option<u32>)> {
    places.places.iter().map(|place| (place.first, place.memory_node)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn strategies_that_begin_on_the_same_pus_are_not_said_to_be_the_same_where_they_have_others()
    -> Result<(), Box<dyn std::error::Error>> {
        let notes = |machine: &str, ask: &Ask| -> Result<Vec<String>, Box<dyn std::error::Error>> {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures").join(machine);
            Ok(worth_measuring(&topo::from_xml(&file)?, ask, &[])?.1)
        };
        let one = Ask { ranks: Some(1), ..Ask::default() };
        let said = notes("vm-one-node.xml", &one)?.concat();
        assert!(said.contains("compact begins on the same PUs as close here"), "{said}");
        let alike = notes("vm-one-node.xml", &Ask { cores_per_rank: Some(1), ..one })?.concat();
        assert!(alike.contains("compact gives the same placement as close here"), "{alike}");
        Ok(())
    }
}
