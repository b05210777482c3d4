//! Documents of `numabench mpi` for the commands that read result documents: as a run to compare.
//!
//! A figure's case is its path, pattern and size (`gpu-aware/ping-pong/8388608`), its place the two ranks'
//! PUs and nodes, with their GPUs where the path has them: the launcher numbers ranks and the scheduler names
//! hosts, so neither belongs to it; hosts of one run are told apart by their order. What MPI does with device
//! memory is no figure: an operation that worked and does not is a condition that differs.

use std::collections::BTreeMap;

use report::MpiDocument;
use report::awareness::DeviceOperation;
use report::message::{MpiPath, MpiThreadLevel};
use report::mpi::{MpiCase, MpiPair, MpiRank};
use report::settings::CopyEngine;
use stats::alike::distinct;

use crate::conditions::{Condition, NOT_KNOWN};
use crate::figure::{Figure, Key, Unit};
use crate::run::{NoRun, Run, ended};

/// A document as comparisons see it.
///
/// # Errors
/// [`NoRun`]: it is under way, or has no case.
pub fn run(name: &str, document: &MpiDocument) -> Result<Run, NoRun> {
    ended(document.status)?;
    let cases = || document.pairs.iter().flat_map(|pair| pair.cases.iter().map(move |case| (pair, case)));
    if cases().next().is_none() {
        return Err(NoRun::Empty);
    }
    let ranks = MpiRanks::of(document);
    let mut figures = BTreeMap::new();

    for (pair, case) in cases() {
        let place = ranks.place(pair, case);
        figures.insert(Key::in_words(&id(case), place.clone()), figure(case));
        let counts = case.reason.is_none() && case.is_known();
        if let Some(value) = case.gpu_bytes_per_s.filter(|value| *value > 0.0 && counts) {
            let beside = Figure::measured(Unit::BytesPerS, value, case.gpu_block_bytes_per_s.clone());
            figures.insert(Key::in_words(&format!("{}/gpu copies beside", id(case)), place), Ok(beside));
        }
    }

    Ok(Run {
        name: name.to_owned(),
        host: ranks.hosts.first().map_or(String::new(), |host| (*host).to_owned()),
        started_at: document.started_at.clone(),
        asked: None,
        conditions: conditions(document, &ranks),
        engine: CopyEngine::default(),
        figures,
    })
}

/// `gpu-aware/ping-pong/8388608`.
pub fn id(case: &MpiCase) -> String {
    format!("{}/{}/{}", case.path.name(), case.pattern.name(), case.bytes)
}

/// Why a case has no figure.
pub fn why(case: &MpiCase) -> String {
    case.reason.clone().unwrap_or("no block was measured".to_owned())
}

fn figure(case: &MpiCase) -> Result<Figure, String> {
    if !case.is_known() {
        return Err("its path or pattern is known to a newer numabench".to_owned());
    }
    let ns = case.counted_ns().ok_or_else(|| why(case))?;
    // Messages without bytes have no rate.
    let rate = case.counted_bytes_per_s();
    let is_figure = |value: &f64| value.is_finite() && *value > 0.0;
    if ![ns].iter().chain(&rate).chain(&case.block_ns).all(is_figure) {
        return Err("its figures are not all positive, finite numbers".to_owned());
    }

    Ok(match (Unit::of(case.bytes), rate) {
        (Unit::Ns, _) | (_, None) => Figure::measured(Unit::Ns, ns, case.block_ns.clone()),
        (unit, Some(rate)) => {
            let blocks = case.block_ns.iter().map(|block| rate * ns / block).collect();
            Figure::measured(unit, rate, blocks)
        }
    })
}

fn conditions(document: &MpiDocument, ranks: &MpiRanks<'_>) -> Vec<Condition> {
    let mpi = &document.mpi;
    let simulated = if document.simulated.is_some() { "yes" } else { "no" };
    let mut gpus: Vec<&str> = document.ranks.iter().filter_map(|rank| rank.gpu_name.as_deref()).collect();
    gpus.sort_unstable();
    gpus.dedup();
    let mut all = vec![
        Condition::new("kind of document", "numabench mpi", true),
        Condition::new("simulated devices", simulated, true),
        Condition::new("GPU model", if gpus.is_empty() { "none".to_owned() } else { gpus.join(", ") }, true),
        Condition::new("hosts of the ranks", ranks.hosts.len().to_string(), true),
        Condition::new("MPI library", mpi.library.as_deref().unwrap_or(NOT_KNOWN), false),
        Condition::new("launcher", &mpi.launcher, false),
        Condition::new("thread level", mpi.thread_level.map_or(NOT_KNOWN, MpiThreadLevel::name), false),
        Condition::new("host", ranks.hosts.join(", "), false),
        Condition::new("numabench", &document.tool.version, false),
    ];

    let variables = mpi.variables.iter();
    all.extend(variables.map(|(name, value)| Condition::new(format!("variable {name}"), value, false)));

    for pair in &document.pairs {
        let place = ranks.both(pair, true);
        all.extend(pair.device_memory.iter().map(|memory| {
            let value = format!("{}, {}", memory.awareness.name(), memory.transport.name());
            Condition::new(format!("device memory {place}"), value, false)
        }));
        let known = pair.operations.iter().filter(|tried| tried.operation != DeviceOperation::Newer);
        all.extend(known.map(|tried| {
            let fact = format!("{} of {} B on device memory {place}", tried.operation.name(), tried.bytes);
            Condition::new(fact, tried.outcome.name(), false)
        }));
    }
    all
}

/// The ranks by number, and their hosts in order.
#[derive(Clone, Debug)]
pub struct MpiRanks<'d> {
    ranks: BTreeMap<u32, &'d MpiRank>,
    /// The hosts, in the order of the first rank on each.
    pub hosts: Vec<&'d str>,
}

impl<'d> MpiRanks<'d> {
    /// Those of a document.
    pub fn of(document: &'d MpiDocument) -> Self {
        Self {
            ranks: document.ranks.iter().map(|rank| (rank.rank, rank)).collect(),
            hosts: distinct(document.ranks.iter().map(|rank| &rank.host[..])),
        }
    }

    /// The host of a pair's first rank; empty where the document does not name it.
    pub fn first_host(&self, pair: &MpiPair) -> &'d str {
        self.ranks.get(&pair.ranks[0]).map_or("", |rank| &rank.host)
    }

    /// Where a case of a pair was measured.
    pub fn place(&self, pair: &MpiPair, case: &MpiCase) -> String {
        self.both(pair, case.path != MpiPath::Host)
    }

    /// `from PU 49, node 3, GPU 0000:c1:00.0 to PU 57, node 3, GPU 0000:c6:00.0`; with `host 1` and `host 2`
    /// where they are several.
    fn both(&self, pair: &MpiPair, with_gpus: bool) -> String {
        let [from, to] = pair.ranks.map(|rank| self.rank_place(rank, with_gpus));
        format!("from {from} to {to}")
    }

    fn rank_place(&self, number: u32, with_gpu: bool) -> String {
        let Some(rank) = self.ranks.get(&number) else { return format!("rank {number}") };
        let host = self.hosts.iter().position(|host| *host == rank.host).filter(|_| self.hosts.len() > 1);
        let host = host.map_or(String::new(), |at| format!("host {} ", at + 1));
        let gpu = rank.gpu.as_ref().filter(|_| with_gpu).map_or(String::new(), |gpu| format!(", GPU {gpu}"));
        format!("{host}PU {}, node {}{gpu}", rank.pu, rank.memory_node)
    }
}
