//! What the places of a node's ranks must keep, whatever the machine and the strategy: said once, held
//! against real captures and against random machines. Derived from the topology anew, so that a mistake in
//! the crate shows here.

use std::collections::BTreeMap;

use placement::{Ask, NodePlaces, Place, RecommendError, Strategy, TargetId, recommend};
use stats::IdSet;
use topo::model::{NodeKind, Rung, Topology};

/// Recommends and holds the places against every rule; the places, if there were any to give.
pub fn check(topology: &Topology, ask: &Ask) -> Result<Option<NodePlaces>, String> {
    let made = recommend(topology, ask);
    if made != recommend(topology, ask) {
        return Err("the same request gave two plans".to_owned());
    }
    let pool = pool(topology, ask);
    let cores = by_core(topology, &pool).len();
    let each = ask.cores_per_rank.unwrap_or(1);
    let not_there = ask.reserve.minus(&topology.pus.iter().map(|pu| pu.os_index).collect());
    match made {
        Err(RecommendError::Reserved { absent, .. }) if !not_there.is_empty() && absent == not_there => {
            Ok(None)
        }
        made if !not_there.is_empty() => Err(format!("PUs {not_there} are not there and reserved: {made:?}")),
        Ok(places) => {
            rules(topology, ask, &pool, &places).map_err(|error| format!("{error}\n{places:#?}"))?;
            Ok(Some(places))
        }
        Err(RecommendError::NoPu { .. }) if pool.is_empty() => Ok(None),
        Err(RecommendError::NoRanks) if ask.ranks == Some(0) => Ok(None),
        Err(RecommendError::NoCores) if ask.cores_per_rank == Some(0) => Ok(None),
        Err(RecommendError::TooManyCores { ranks, each: refused, there, .. })
            if there == cores && refused == each && ranks * each > cores =>
        {
            Ok(None)
        }
        Err(error) => Err(format!("refused without need: {error}")),
    }
}

/// The PUs that may be given.
fn pool(topology: &Topology, ask: &Ask) -> IdSet {
    let asked = ask.pus.clone().unwrap_or_else(|| topology.allowed.pus.clone());
    let online: IdSet = topology.pus.iter().map(|pu| pu.os_index).collect();
    let kept: Vec<u32> = topology
        .cores
        .iter()
        .filter(|core| core.pus.iter().any(|pu| ask.reserve.contains(pu)))
        .flat_map(|core| core.pus.iter())
        .chain(ask.reserve.iter())
        .collect();
    asked.and(&online).minus(&topology.allowed.offline_pus).minus(&kept.into_iter().collect())
}

/// The PUs of a set core by core; a PU without a core is one.
fn by_core(topology: &Topology, pus: &IdSet) -> Vec<IdSet> {
    let mut cores: BTreeMap<u32, IdSet> = BTreeMap::new();
    for pu in pus.iter() {
        let core = topology.cores.iter().find(|core| core.pus.contains(pu)).and_then(|core| core.pus.first());
        cores.entry(core.unwrap_or(pu)).or_default().0.insert(pu);
    }
    cores.into_values().collect()
}

/// The PUs that the platform says are local to a target; `None` where it does not say.
fn local(topology: &Topology, id: TargetId) -> Option<IdSet> {
    match id {
        TargetId::Node(node) => topology.nodes.iter().find(|n| n.os_index == node).map(|n| n.pus.clone()),
        TargetId::Gpu(pci) => {
            let locality = &topology.gpus.iter().find(|gpu| gpu.pci == pci)?.locality;
            (locality.rung != Rung::Unknown).then(|| locality.pus.or(&locality.outside_pus))
        }
    }
}

fn rules(topology: &Topology, ask: &Ask, pool: &IdSet, made: &NodePlaces) -> Result<(), String> {
    let places = &made.places;
    let mut given: BTreeMap<u32, usize> = BTreeMap::new();
    places.iter().flat_map(|place| place.pus.iter()).for_each(|pu| *given.entry(pu).or_default() += 1);
    let taken: IdSet = given.keys().copied().collect();
    let free = pool.minus(&taken);
    let cores = by_core(topology, pool);
    let free_cores: Vec<&IdSet> = cores.iter().filter(|core| core.and(&taken).is_empty()).collect();
    if let Some((pu, _)) = given.iter().find(|(_, ranks)| **ranks > 1).filter(|_| !free.is_empty()) {
        return Err(format!("PU {pu} is given twice while {free} are free"));
    }
    if !made.reserved.and(&taken).is_empty() {
        return Err(format!("reserved PUs {} are given", made.reserved.and(&taken)));
    }
    if ask.ranks.is_some_and(|ranks| ranks != places.len()) {
        return Err(format!("{} places", places.len()));
    }
    for (at, place) in places.iter().enumerate() {
        let say = |what: &str| Err(format!("rank {at}: {what} ({} of {pool} free)", free));
        if place.rank != at || place.why.is_empty() || !place.pus.contains(place.first) {
            return say("the row does not hold together");
        }
        if place.pus.is_empty() || !place.pus.is_subset(pool) {
            return say("a PU outside the pool");
        }
        let own = by_core(topology, &place.pus);
        if ask.cores_per_rank.is_some_and(|each| each != own.len()) {
            return say("not as many cores as asked for");
        }
        if !ask.smt && own.iter().any(|core| core.len() > 1) {
            return say("two hardware threads of a core without being asked");
        }
        if ask.smt && places.len() <= cores.len() {
            let whole = own.iter().all(|core| cores.contains(core));
            if !whole {
                return say("not all threads of a core though there is one for each rank");
            }
        }
        if let Some(node) = place.memory_node {
            let kind = topology.nodes.iter().find(|n| n.os_index == node).map(|n| (n.kind, n.allowed));
            if !matches!(kind, Some((NodeKind::Normal | NodeKind::MemoryOnly, true))) {
                return say("the memory node cannot hold host memory");
            }
        }
        near(topology, ask, place, &free_cores).or_else(|what| say(&what))?;
    }
    Ok(())
}

/// With `close`, nobody is away from a GPU while a core near it is free, and nobody calls unknown near.
fn near(topology: &Topology, ask: &Ask, place: &Place, free_cores: &[&IdSet]) -> Result<(), String> {
    let Some(target) = &place.target else { return Ok(()) };
    let Some(verdict) = &place.verdict else { return Err("no verdict for its target".to_owned()) };
    let Some(local) = local(topology, target.id) else {
        return if verdict.closeness.name() == "unknown" {
            Ok(())
        } else {
            Err(format!("{verdict:?} of an unknown place"))
        };
    };
    let away = place.pus.iter().any(|pu| {
        let core =
            topology.core_of(pu).map(|core| core.pus.clone()).unwrap_or_else(|| [pu].into_iter().collect());
        core.and(&local).is_empty()
    });
    match free_cores.iter().find(|core| !core.and(&local).is_empty()) {
        Some(core) if away && ask.strategy == Strategy::Close => Err(format!("is away while {core} is free")),
        _ => Ok(()),
    }
}
