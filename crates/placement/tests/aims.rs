//! What a plan aims at, in this order: one rank a core while cores are free, then equal ranks a PU; near, as
//! many as that allows; an equal share a GPU. Held on every machine of the project and every capture there
//! is, and on small random machines against a search of all plans. And `judge` calls none of these plans
//! wrong.
//!
//! `NUMABENCH_EVERY_COUNT=1` tries every number of ranks up to three times a machine's PUs, not some of them
//! (`=7`: every seventh); `NUMABENCH_SEEDS=100` tries random machines of a hundred seeds.

mod machines;
mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use placement::judge::{JobResources, Observed, PlacementVerdict, judge};
use placement::{Ask, Closeness, NodePlaces, Target, TargetId, recommend, verdict};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use random::{build, seed};
use stats::IdSet;
use topo::Topology;
use topo::process::PolicyMode;
use topo::visibility::Visible;

use machines::captures;

/// A machine, and how close each PU that can be used is to each GPU.
struct Machine {
    topology: Topology,
    cores: Vec<IdSet>,
    closeness: BTreeMap<TargetId, BTreeMap<u32, Closeness>>,
}

impl Machine {
    fn of(topology: Topology) -> Self {
        let usable = topology.allowed.pus.minus(&topology.allowed.offline_pus);
        let mut cores: BTreeMap<u32, IdSet> = BTreeMap::new();
        for pu in usable.iter() {
            let first = topology.core_of(pu).and_then(|core| core.pus.first()).unwrap_or(pu);
            cores.entry(first).or_default().0.insert(pu);
        }
        let of_gpu = |id| usable.iter().map(|pu| (pu, verdict(&topology, pu, id).closeness)).collect();
        let closeness = Target::gpus_of(&topology).iter().map(|gpu| (gpu.id, of_gpu(gpu.id))).collect();
        Self { cores: cores.into_values().collect(), closeness, topology }
    }

    fn pus(&self) -> usize {
        self.cores.iter().map(IdSet::len).sum()
    }

    /// Whether the PU is near to the GPU, where that is known.
    fn is_away(&self, gpu: TargetId, pu: u32) -> bool {
        matches!(self.closeness[&gpu].get(&pu), Some(Closeness::SamePackage | Closeness::Remote))
    }

    fn planned(&self, ranks: usize) -> Result<NodePlaces, String> {
        recommend(&self.topology, &Ask { ranks: Some(ranks), ..Ask::default() })
            .map_err(|error| error.to_string())
    }

    /// Ranks away from their GPU.
    fn away(&self, places: &NodePlaces) -> usize {
        let away = places
            .places
            .iter()
            .filter_map(|place| Some(self.is_away(place.target.as_ref()?.id, place.first)));
        away.filter(|is_away| *is_away).count()
    }
}

/// That the judge finds nothing wrong, of these PUs and GPUs.
fn judged(machine: &Machine, made: &NodePlaces) -> Result<(), String> {
    let observed = |place: &placement::Place| Observed {
        name: format!("rank {}", place.rank),
        pus: Ok(place.pus.clone()),
        policy: Ok(PolicyMode::Default),
        policy_nodes: IdSet::default(),
        memory_nodes: None,
        pages: BTreeMap::new(),
        gpus: Ok(place.target.iter().filter_map(|target| visible(target.id)).collect()),
        absent: None,
        closed: None,
        refused: None,
        denied: IdSet::default(),
    };
    let ranks: Vec<Observed> = made.places.iter().map(observed).collect();
    // Fewer ranks than GPUs are a choice: what is idle is no fault of those.
    let gpus = made.places.iter().filter_map(|place| visible(place.target.as_ref()?.id)?.pci).collect();
    let judgement =
        judge(&machine.topology, &JobResources { pus: machine.topology.allowed.pus.clone(), gpus }, &ranks);
    let wrong = judgement.findings.iter().find(|finding| finding.weight == PlacementVerdict::Misplaced);
    wrong.map_or(Ok(()), |finding| Err(format!("judged wrong: {}", finding.text)))
}

fn visible(id: TargetId) -> Option<Visible> {
    match id {
        TargetId::Gpu(pci) => Some(Visible { pci: Some(pci), part: None }),
        TargetId::Node(_) => None,
    }
}

/// The aims that can be counted.
fn counted(machine: &Machine, ranks: usize, made: &NodePlaces) -> Result<(), String> {
    let places = &made.places;
    let mut on_pu: BTreeMap<u32, usize> =
        machine.cores.iter().flat_map(IdSet::iter).map(|pu| (pu, 0)).collect();
    for pu in places.iter().flat_map(|place| place.pus.iter()) {
        *on_pu.get_mut(&pu).ok_or_else(|| format!("PU {pu} cannot be used"))? += 1;
    }
    let of_core = |core: &IdSet| core.iter().map(|pu| on_pu[&pu]).sum::<usize>();
    let (slow, fast): (Vec<&IdSet>, Vec<&IdSet>) =
        machine.cores.iter().partition(|core| core.iter().any(|pu| machine.topology.is_slow(pu)));
    if ranks <= machine.cores.len() && machine.cores.iter().any(|core| of_core(core) > 1) {
        return Err("two ranks on a core while another is free".to_owned());
    }
    let all_used = ranks <= fast.len() || slow.iter().chain(&fast).all(|core| of_core(core) > 0);
    if ranks >= machine.cores.len() && !all_used {
        return Err("a core is free".to_owned());
    }
    let (fewest, most) = (on_pu.values().min().unwrap_or(&0), on_pu.values().max().unwrap_or(&0));
    if most - fewest > 1 {
        return Err(format!("{fewest} to {most} ranks a PU"));
    }
    let mut of_gpu: BTreeMap<TargetId, (usize, usize)> =
        machine.closeness.keys().map(|gpu| (*gpu, (0, 0))).collect();
    for place in places {
        let Some(target) = &place.target else { continue };
        let (near, away) = of_gpu.entry(target.id).or_default();
        *(if machine.is_away(target.id, place.first) { away } else { near }) += 1;
    }
    let spread = |counts: &mut dyn Iterator<Item = usize>| {
        let counts: Vec<usize> = counts.collect();
        counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0)
    };
    if spread(&mut of_gpu.values().map(|(near, away)| near + away)) > 1 {
        return Err(format!("unequal ranks a GPU: {of_gpu:?}"));
    }
    let mut equals: BTreeMap<Vec<Closeness>, Vec<(usize, usize)>> = BTreeMap::new();
    for (gpu, counts) in &of_gpu {
        // Ranks on a GPU that gets none are not compared: fewer than GPUs are a choice.
        if ranks >= of_gpu.len() {
            equals.entry(machine.closeness[gpu].values().copied().collect()).or_default().push(*counts);
        }
    }
    for equal in equals.values() {
        let (near, away) = (
            spread(&mut equal.iter().map(|counts| counts.0)),
            spread(&mut equal.iter().map(|counts| counts.1)),
        );
        if near > 1 || away > 1 {
            return Err(format!("equal GPUs treated unlike (near, away): {equal:?}"));
        }
    }
    Ok(())
}

/// The numbers of ranks that are tried.
fn numbers(machine: &Machine) -> Vec<usize> {
    let (cores, pus, gpus) = (machine.cores.len(), machine.pus(), machine.closeness.len());
    let step = std::env::var("NUMABENCH_EVERY_COUNT").ok().and_then(|step| step.parse().ok());
    if let Some(step) = step.filter(|step| *step > 0) {
        return (1..=3 * pus).step_by(step).collect();
    }
    // A few, and those around where GPUs, cores and PUs run out.
    let edges = [gpus + 1, cores, cores + 1, pus, pus + pus / 3, 2 * pus, 3 * pus - 1];
    [1, 3, 4]
        .into_iter()
        .chain(edges)
        .filter(|ranks| (1..=3 * pus).contains(ranks))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

fn own(name: &str) -> Result<Machine, topo::TopoError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../topo/tests/fixtures/{name}.xml"));
    Ok(Machine::of(topo::from_xml(&path)?))
}

#[test]
fn fewer_ranks_than_gpus_drive_those_near_to_the_cores_that_there_are() -> Result<(), Box<dyn Error>> {
    for (name, ranks, gpus) in [
        ("hgx-h100", 4, vec![4, 5, 6, 7]),
        ("hgx-h100", 2, vec![4, 6]),
        ("job-share", 1, vec![1]),
        ("lumi-g", 4, vec![0, 2, 4, 6]),
    ] {
        let made = own(name)?.planned(ranks)?;
        let driven: Vec<u32> =
            made.places.iter().filter_map(|place| Some(place.target.as_ref()?.index)).collect();
        assert_eq!(driven, gpus, "{name} -n {ranks}");
    }
    Ok(())
}

#[test]
fn ranks_of_gpus_with_the_same_cores_near_have_as_many_cores_each() -> Result<(), Box<dyn Error>> {
    let hgx = own("hgx-h100")?;
    let every = hgx.topology.pus.iter().map(|pu| pu.os_index).collect();
    let ask = Ask { ranks: Some(9), pus: Some(every), ..Ask::default() };
    let sizes: Vec<usize> =
        recommend(&hgx.topology, &ask)?.places.iter().map(|place| place.pus.len()).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 96);
    assert!(
        sizes.iter().all(|size| (9..=12).contains(size)),
        "five ranks and four on 48 cores each: {sizes:?}"
    );
    Ok(())
}

/// Ranks near each GPU and away from it, and the fewest and the most on a PU.
fn sums(machine: &Machine, made: &NodePlaces) -> (Vec<(usize, usize)>, usize, usize) {
    let on_pu = |pu: u32| made.places.iter().filter(|place| place.pus.contains(pu)).count();
    let on_pus: Vec<usize> = machine.cores.iter().flat_map(IdSet::iter).map(on_pu).collect();
    let of_gpu = |gpu: Target| {
        let its_own =
            |place: &&placement::Place| place.target.as_ref().is_some_and(|target| target.id == gpu.id);
        let away = |place: &&placement::Place| machine.is_away(gpu.id, place.first);
        let (away, near): (Vec<_>, Vec<_>) = made.places.iter().filter(its_own).partition(away);
        (near.len(), away.len())
    };
    let of_gpus = Target::gpus_of(&machine.topology).into_iter().map(of_gpu).collect();
    (of_gpus, on_pus.iter().min().copied().unwrap_or(0), on_pus.iter().max().copied().unwrap_or(0))
}

#[test]
fn equal_gpus_have_as_many_ranks_near_and_away_and_every_pu_as_many_ranks() -> Result<(), Box<dyn Error>> {
    for (name, ranks, of_gpu, gpus, on_pu) in [
        ("leonardo", 64, (8, 8), 4, (2, 2)),
        ("leonardo", 128, (16, 16), 4, (4, 4)),
        ("dgx-a100", 256, (16, 16), 8, (1, 1)),
        ("pascal", 36, (9, 9), 2, (0, 1)),
        ("pascal", 72, (18, 18), 2, (1, 1)),
        ("pascal", 144, (36, 36), 2, (2, 2)),
        ("ring-of-24", 192, (8, 88), 2, (2, 2)),
    ] {
        let machine = own(name)?;
        let made = machine.planned(ranks)?;
        assert_eq!(sums(&machine, &made), (vec![of_gpu; gpus], on_pu.0, on_pu.1), "{name} -n {ranks}");
    }
    Ok(())
}

fn machines_of_all() -> Result<Vec<(String, Topology)>, Box<dyn Error>> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures")];
    if let Some(folder) = captures("every capture's aims") {
        folders.extend([folder.with_file_name("xml-more"), folder]);
    }
    let mut found = Vec::new();
    for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "xml")
                && let Ok(topology) = topo::from_xml(&path)
            {
                found.push((path.display().to_string(), topology));
            }
        }
    }
    Ok(found)
}

#[test]
fn every_machines_plans_keep_the_aims_and_are_not_judged_wrong_for_up_to_three_ranks_a_pu()
-> Result<(), Box<dyn Error>> {
    let machines: Vec<(String, Machine)> =
        machines_of_all()?.into_iter().map(|(name, topology)| (name, Machine::of(topology))).collect();
    let jobs: Vec<(&(String, Machine), usize)> =
        machines.iter().flat_map(|of| numbers(&of.1).into_iter().map(move |ranks| (of, ranks))).collect();
    let (plans, next) = (jobs.len(), AtomicUsize::new(0));
    let work = || {
        let mut failed = Vec::new();
        while let Some(((name, machine), ranks)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let held = machine.planned(*ranks).and_then(|made| {
                counted(machine, *ranks, &made)?;
                judged(machine, &made)
            });
            failed.extend(held.err().map(|error| format!("{name} -n {ranks}: {error}")));
        }
        failed
    };
    let threads = std::thread::available_parallelism()?.get();
    let ended: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        started.into_iter().map(|thread| thread.join()).collect()
    });
    let mut failed = Vec::new();
    for of in ended {
        failed.extend(of.map_err(|_| "a panic in a thread")?);
    }
    assert!(failed.is_empty(), "{} of {plans}\n{}", failed.len(), failed[..failed.len().min(60)].join("\n"));
    assert!(plans > 200, "{plans}");
    Ok(())
}

/// The fewest ranks away from their GPU of all plans in which PUs have equal ranks and cores one while they
/// are free, and GPUs an equal share.
fn fewest_away(machine: &Machine, ranks: usize) -> usize {
    let gpus: Vec<TargetId> = machine.closeness.keys().copied().collect();
    // Seats in rows: each core's first PU, each core's second, and round again.
    let widest = machine.cores.iter().map(IdSet::len).max().unwrap_or(1);
    let mut rows = Vec::new();
    while rows.iter().map(Vec::len).sum::<usize>() < ranks {
        for thread in 0..widest {
            rows.push(machine.cores.iter().filter_map(|core| core.iter().nth(thread)).collect::<Vec<u32>>());
        }
    }
    let (mut full, mut last) = (Vec::new(), Vec::new());
    for row in rows {
        if full.len() + row.len() > ranks {
            last = row;
            break;
        }
        full.extend(row);
    }
    let of_last = ranks - full.len();
    let mut fewest = usize::MAX;
    for chosen in subsets(gpus.len(), ranks % gpus.len()) {
        let drives: Vec<TargetId> = (0..gpus.len())
            .flat_map(|gpu| {
                std::iter::repeat_n(gpus[gpu], ranks / gpus.len() + usize::from(chosen.contains(&gpu)))
            })
            .collect();
        for used in subsets(last.len(), of_last) {
            let seats: Vec<u32> = full.iter().copied().chain(used.iter().map(|at| last[*at])).collect();
            // The best of all ways to seat them: by which seats the first ranks have.
            let mut best = vec![usize::MAX; 1 << ranks];
            best[0] = 0;
            for taken in 0..best.len() {
                let rank = taken.count_ones() as usize;
                for seat in (0..ranks).filter(|seat| rank < ranks && taken >> seat & 1 == 0) {
                    let away = best[taken] + usize::from(machine.is_away(drives[rank], seats[seat]));
                    let with = taken | 1 << seat;
                    best[with] = best[with].min(away);
                }
            }
            fewest = fewest.min(best[best.len() - 1]);
        }
    }
    fewest
}

/// All ways to choose so many of so many.
fn subsets(of: usize, some: usize) -> Vec<Vec<usize>> {
    let all = (0..1_u32 << of).filter(|bits| bits.count_ones() as usize == some);
    all.map(|bits| (0..of).filter(|at| bits >> at & 1 == 1).collect()).collect()
}

/// The seeds of the random machines: four, or as many as `NUMABENCH_SEEDS` says.
fn seeds() -> Result<u64, Box<dyn Error>> {
    Ok(std::env::var("NUMABENCH_SEEDS").map_or(Ok(4), |count| count.parse())?)
}

#[test]
fn no_plan_of_all_has_fewer_ranks_away_on_small_random_machines_of_several_seeds()
-> Result<(), Box<dyn Error>> {
    for rng_seed in 1..=seeds()? {
        let config = ProptestConfig {
            cases: 100,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(rng_seed),
            ..ProptestConfig::default()
        };
        let tried = TestRunner::new(config).run(&(seed(), 1..9_usize), |(seed, ranks)| {
            let topology = build(&seed);
            let pus: IdSet =
                topology.allowed.pus.minus(&topology.allowed.offline_pus).iter().take(6).collect();
            let machine = Machine::of(topology.restricted_to(&pus));
            let is_small = !machine.cores.is_empty() && (1..=5).contains(&machine.closeness.len());
            prop_assume!(is_small && machine.topology.slow.is_none());
            let made = machine.planned(ranks).map_err(TestCaseError::fail)?;
            prop_assert_eq!(counted(&machine, ranks, &made), Ok(()));
            prop_assert_eq!(judged(&machine, &made), Ok(()));
            prop_assert_eq!(machine.away(&made), fewest_away(&machine, ranks), "{:#?}", made);
            Ok(())
        });
        tried.map_err(|error| format!("seed {rng_seed}: {error}"))?;
    }
    Ok(())
}
