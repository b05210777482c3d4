//! From what a suite's run has to the document: the same schema as pingpong's, filled from the engine's state
//! by where each figure stands.

use std::collections::BTreeSet;

use engine::{Order, RunState, TimeSpent};
use placement::{Target, TargetId};
use report::Known;
use report::case::{self, Case, CaseStatus};
use report::contention::Aggregate;
use report::device::Device;
use report::document::{Document, Platform};
use report::environment::Environment;
use report::kernels::WorkUnit;
use report::outlier_node::not_judged;
use report::rank::Rank;
use report::result::RankResult;
use report::settings::{Direction, Membind, MemoryKind, OrderAsked, Settings, TimingAsked};
use stats::IdSet;
use topo::Topology;
use topo::model::Rung;

use crate::backends::FoundPlatform;
use crate::document::cases::Moved;
use crate::document::rank_part::RankPart;
use crate::document::{Origin, blank, bounds, cases, devices, nodes, time_spent, verdict, warnings};
use crate::exit::Exit;
use crate::experiment::{CaseMapping, DocumentCase, Experiment};
use crate::options::Measuring;
use crate::settings;

/// What is known before the run.
pub struct ExperimentFacts<'a> {
    /// The arguments as typed.
    pub args: &'a Measuring,
    /// What is measured.
    pub experiment: &'a Experiment,
    /// How long reading the clock takes, and its steps.
    pub timer: stats::flag::TimerFacts,
    /// What is known of each place, by number.
    pub parts: &'a [RankPart],
    /// The platform.
    pub platform: &'a Platform,
    /// The machine and its state.
    pub environment: &'a Environment,
    /// What made the document, and when it began.
    pub origin: &'a Origin,
}

/// The document for the state a run is in. `exit` is `None` while it goes on.
pub fn build(facts: &ExperimentFacts, state: &RunState, exit: Option<Exit>) -> Document {
    let Experiment { command, matrices, engine, asked, .. } = facts.experiment;
    let ranks: Vec<Rank> = facts.parts.iter().map(|part| rank(facts, part, state)).collect();
    let mut devices = devices(facts, state);
    let mut cases = all_cases(facts, state, &devices);
    bounds::withdraw(&mut devices, &ranks, &mut cases);
    let settings = Settings {
        cpus_asked: None,
        gpus_asked: facts.args.gpus.as_ref().map(ToString::to_string),
        backend_asked: facts.args.backend.name().to_owned(),
        sizes_bytes: asked.sizes.clone(),
        floats: None,
        directions: asked.directions.clone(),
        memory: asked.memory.clone(),
        membind: Membind::Local,
        huge_pages: asked.huge_pages,
        timing: asked.timing.unwrap_or(TimingAsked::Auto),
        engine: asked.engine,
        order: order_asked(&facts.experiment.figures.cases),
        repetition: settings::repetition(engine.amount, engine.max_time),
        seed: engine.seed,
        verify: engine.verify,
    };

    let known = (facts.platform, settings, facts.environment);
    let mut document = Document {
        nodes: nodes::nodes(facts.parts),
        ranks,
        devices,
        cases,
        matrices: matrices.clone(),
        kernels: facts.experiment.known.kernels.clone(),
        pieces: facts.experiment.known.pieces.clone(),
        messages: warnings(facts.parts),
        ..blank(command, facts.origin, verdict::state(state, exit), known)
    };

    document.rows = report::rows::rows(&document);

    if exit.is_some() {
        document.slower_twins = analysis::slower_twins::slower_twins(&document);
        document.penalties = analysis::matrix_analysis::penalties(&document);
        document.fits = analysis::sweep_fits::sweep_fits(&document);
        document.kernels = analysis::kernels::kernels(&document);
        document.verdict = analysis::kernels::verdict(&document);
        document.verdict.extend(analysis::matrix_analysis::verdict(&document));
        document.verdict.extend(analysis::sweep_fits::verdict(&document));
        document.pieces = analysis::pieces::pieces(&document);
        document.verdict.extend(analysis::pieces::verdict(&document));
        document.verdict.extend(analysis::moving::verdict(&document));
        document.loaded_latency = analysis::latency_curves::loaded_latencies(&document);
        document.verdict.extend(analysis::latency_curves::verdict(&document));
        document.groups = analysis::groups::groups(&document);
        document.verdict.extend(analysis::groups::verdict(&document));
        document.verdict.extend(analysis::cached::sentence(&document));
        document.verdict.extend(analysis::throttling::sentences(&document));
        let said = analysis::headline::with_advice(std::mem::take(&mut document.verdict));
        let said = with_own_time(command, said);
        document.verdict = analysis::unfinished::with_ending(&document, said);
    }
    document
}

fn order_asked(cases: &[DocumentCase]) -> OrderAsked {
    let has = |order| cases.iter().any(|case| case.order == order);
    match (has(Order::Simultaneous), has(Order::Alone)) {
        (true, true) => OrderAsked::Both,
        (true, false) => OrderAsked::Simultaneous,
        _ => OrderAsked::Alone,
    }
}

/// The engine's rank that measures a place.
fn worker_of(facts: &ExperimentFacts, place: usize) -> Option<usize> {
    let at = |mapping: &CaseMapping| {
        mapping.places.iter().find(|(_, other)| *other == place).map(|(rank, _)| *rank)
    };
    facts.experiment.figures.mappings.iter().find_map(at)
}

/// The places that the engine's rank measures. Its time stands at the first, once for all of them.
fn places_of(facts: &ExperimentFacts, rank: usize) -> BTreeSet<usize> {
    let all = facts.experiment.figures.mappings.iter().flat_map(|mapping| &mapping.places);
    all.filter(|(other, _)| *other == rank).map(|(_, place)| *place).collect()
}

fn rank(facts: &ExperimentFacts, part: &RankPart, state: &RunState) -> Rank {
    let place = part.rank.rank as usize;
    let worker = worker_of(facts, place).and_then(|rank| state.ranks.get(rank));
    let mut spent = TimeSpent::default();
    let here =
        state.ranks.iter().enumerate().filter(|(rank, _)| places_of(facts, *rank).first() == Some(&place));
    here.for_each(|(_, worker)| spent.add(&worker.spent));
    let thread_id = worker.and_then(|worker| worker.thread_id);
    Rank { thread_id, time: time_spent(spent), ..part.rank.clone() }
}

/// The devices, each once, with the link and latch that the run has shown.
fn devices(facts: &ExperimentFacts, state: &RunState) -> Vec<Device> {
    let mut known = BTreeSet::new();
    let device = |part: &RankPart| {
        // A thread that copies to several devices says the link and latch of its first.
        let worker =
            worker_of(facts, part.rank.rank as usize).filter(|rank| places_of(facts, *rank).len() == 1);
        let own = worker.and_then(|rank| state.ranks.get(rank));
        let known = devices::with_latch_of_another(devices::with_run(&part.device, own), &state.ranks);
        devices::with_conditions(known, state.ranks.iter(), 1)
    };
    facts.parts.iter().filter(|part| known.insert(&part.device.id)).map(device).collect()
}

fn all_cases(facts: &ExperimentFacts, state: &RunState, devices: &[Device]) -> Vec<Case> {
    facts
        .experiment
        .figures
        .cases
        .iter()
        .enumerate()
        .map(|(at, asked)| one_case(facts, at, asked, state, devices))
        .collect()
}

fn one_case(
    facts: &ExperimentFacts,
    at: usize,
    asked: &DocumentCase,
    state: &RunState,
    devices: &[Device],
) -> Case {
    let order = match asked.order {
        Order::Simultaneous => case::Order::Simultaneous,
        Order::Alone => case::Order::Alone,
    };
    let mut ranks: Vec<RankResult> = Vec::new();
    let mut timing = None;
    let mut reason = None;
    let (mut overlap, mut skew): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    let mappings: Vec<&CaseMapping> =
        facts.experiment.figures.mappings.iter().filter(|mapping| mapping.case == at).collect();
    let moved = Moved {
        direction: asked.direction,
        order,
        bytes: asked.bytes,
        range_bytes: asked.range_bytes.or_else(|| bytes_of_kernel(facts, asked)),
        ranks: mappings.iter().map(|mapping| mapping.places.len()).max().unwrap_or(0),
    };

    for mapping in &mappings {
        let results = &state.results[mapping.at];
        reason = reason.or_else(|| cases::not_simultaneous(results, &state.nodes));
        for (rank, place) in &mapping.places {
            let (result, part) = (&results[*rank], &facts.parts[*place]);
            let device = devices.iter().find(|device| device.id == part.device.id);
            // What goes between GPUs may take another way than the PCIe link that bounds the others, and of
            // touches only some take one.
            let has_own =
                matches!(asked.memory, MemoryKind::Device | MemoryKind::Managed | MemoryKind::System);
            let device = device.filter(|_| !has_own);
            let place = Rank { rank: *place as u32, ..part.rank.clone() };
            ranks.push(cases::rank_result(facts.experiment.engine.verify, &place, moved, result, device));
            timing = timing.or_else(|| result.samples.first().map(|sample| sample.timing));
            overlap.extend(result.samples.iter().filter_map(|sample| sample.overlap));
            skew.extend(result.samples.iter().filter_map(|sample| sample.start_skew_ns));
        }
    }

    ranks.sort_by_key(|result| result.rank);
    let rates: Vec<(u32, f64)> =
        ranks.iter().filter_map(|rank| Some((rank.rank, rank.summary()?.median_bytes_per_s))).collect();
    let mut status = CaseStatus::of_ranks(&ranks);
    let reason = reason.filter(|_| status == CaseStatus::Measured);
    if reason.is_some() {
        status = CaseStatus::Invalid;
    }

    // Ranks of several engine cases were not at once with each other: of them there is no sum.
    let together =
        order == case::Order::Simultaneous && status == CaseStatus::Measured && mappings.len() == 1;
    let together = together && ranks.len() > 1;
    let mut id = Case::id_for(order, asked.memory, asked.direction, asked.bytes);
    if let Some(group) = &asked.group {
        id = format!("{id}/{group}");
    }

    Case {
        id,
        order,
        direction: asked.direction,
        bytes: asked.bytes,
        memory: asked.memory,
        group: asked.group.clone(),
        range_bytes: asked.range_bytes,
        timing: match timing {
            Some(engine::Timing::Device) => case::Timing::Device,
            _ => case::Timing::Host,
        },
        status,
        reason,
        overlap: stats::interval::median(&overlap),
        start_skew_ns: stats::interval::median(&skew),
        aggregate: if together { Aggregate::of_rates(&rates) } else { None },
        nodes: Vec::new(),
        outlier_nodes: not_judged(),
        ranks,
    }
}

/// What a kernel works through, bytes, where its rate is one of bytes and so can be the cache's.
fn bytes_of_kernel(facts: &ExperimentFacts, asked: &DocumentCase) -> Option<u64> {
    let name = asked.group.as_deref().filter(|_| asked.direction == Direction::Kernel)?.split(',').next()?;
    let kernels = &facts.experiment.known.kernels;
    kernels.iter().any(|kernel| kernel.name == name && kernel.unit == WorkUnit::Byte).then_some(asked.bytes)
}

/// What a column is called.
pub fn name_of(target: &Target) -> String {
    match target.id {
        TargetId::Gpu(_) => format!("GPU {}", target.index),
        TargetId::Node(node) => format!("node {node}"),
    }
}

/// The NUMA nodes of host memory that the platform says are local to a target.
pub fn declared_nodes(topology: &Topology, found: &FoundPlatform, target: TargetId) -> Known<IdSet> {
    let pci = match target {
        TargetId::Node(node) => return Known::value(IdSet::from_iter([node]), "the node itself"),
        TargetId::Gpu(pci) => pci,
    };
    let driver = found.platform.devices().iter().find(|device| device.id == device::DeviceId::Pci(pci));
    let driver = driver.and_then(|device| device.host_node);

    match topology.gpu_at(pci) {
        Some(gpu) if gpu.locality.rung != Rung::Unknown && !topology.host_nodes(gpu).is_empty() => {
            Known::value(topology.host_nodes(gpu), gpu.locality.reason.clone())
        }
        Some(gpu) => match driver {
            Some(node) => Known::value(IdSet::from_iter([node]), "the driver"),
            None => Known::unknown("hwloc, the kernel's PCI files, the driver", gpu.locality.reason.clone()),
        },
        None => match driver {
            Some(node) => Known::value(IdSet::from_iter([node]), "the driver"),
            None => Known::unknown("hwloc", "not on the PCI bus that this process sees"),
        },
    }
}

/// Sentences advise a longer `--max-time`; the time of a suite and of `topo --measure` is all of their
/// `--within`.
fn with_own_time(command: &str, said: Vec<String>) -> Vec<String> {
    match command {
        "suite" | "topo" => {
            said.into_iter().map(|sentence| sentence.replace("--max-time", "--within")).collect()
        }
        _ => said,
    }
}
