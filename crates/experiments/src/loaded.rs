//! Loaded latency: how long a load takes one core of each row while other cores read, write or copy memory of
//! the same node, from no traffic to all that they can make, in steps; what Intel's Memory Latency Checker
//! prints with `--loaded_latency`.
//!
//! Two suites of the engine as one: loads by one core, and traffic by the others, at once. A short run, which
//! is no part of the result, first measures the full rate of the traffic: the steps between are tenths of it,
//! each made by pauses between bursts. A step says what was asked; the traffic of its point is what was
//! measured beside the loads.
//!
//! The run ahead has six blocks; with none and all there are eleven points, interleaved.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::{Amount, EngineConfig, Joined, Order, PlacingRules, RunState, Suite, Worker};
use hostmem::{Access, BURST_BYTES, LINE_BYTES, MemorySuite, Pace};
use placement::{Plan, RankPlan, Row, RowPlace};
use report::matrix::{Compares, Matrix, MatrixRow};
use report::settings::{Direction, MemoryKind};
use stats::interval::median;
use stats::{IdList, IdSet};
use topo::Topology;

use super::beside::{allowed, other_cores};
use super::experiment::{Beforehand, CaseMap, DocumentCase, Experiment, RequestedSettings, memory_of, place};
use super::memory_range;
use super::traffic_step::TrafficStep;

use crate::budget::fits_on;
use crate::config;
use crate::fault::Fault;
use crate::matrix_parts::node_column;
use crate::options::LatencyOptions;
use crate::settings;

/// Rounds of the run ahead: as many blocks.
const AHEAD: Amount = Amount::Fixed { reps: 6, warmup: 2 };

/// A place whose curve is measured.
#[derive(Clone, Debug)]
struct Curve {
    name: String,
    node: u32,
    /// The PU that loads.
    loads: u32,
    /// The PUs that make traffic.
    traffic: Vec<u32>,
    note: Option<String>,
}

/// How many of what each curve has there are on the node that has most of them.
fn most_on_a_node(curves: &[Curve], of: impl Fn(&Curve) -> usize) -> usize {
    let mut on_node: BTreeMap<u32, usize> = BTreeMap::new();
    for curve in curves {
        *on_node.entry(curve.node).or_default() += of(curve);
    }
    on_node.into_values().max().unwrap_or(0)
}

/// Curves of load latency beside traffic.
pub struct Loaded {
    traffic: Access,
    /// The rows, those that cannot be measured with the reason.
    pub rows: Vec<Row>,
    curves: Vec<Curve>,
    /// The range that is loaded from, and that of each thread of traffic.
    chased: usize,
    streamed: usize,
    engine: EngineConfig,
    rules: PlacingRules,
}

impl Loaded {
    /// The curves of these rows.
    ///
    /// # Errors
    /// No row has a core for the loads and another one for traffic, a PU that was named cannot be used, or
    /// there is too little memory.
    pub fn new(
        args: &LatencyOptions,
        traffic: Access,
        topology: &Topology,
        rows: Vec<Row>,
    ) -> Result<Self, Fault> {
        if let Some(named) = &args.beside_cpus {
            allowed(topology, named)?;
        }
        let mut rows = rows;
        let mut curves = Vec::new();

        for row in &mut rows {
            let Ok(row_place) = &row.place else { continue };
            match curve(topology, &row.name, row_place, args.beside_cpus.as_ref()) {
                Ok(found) => curves.push(found),
                Err(why) => row.place = Err(why),
            }
        }

        if curves.is_empty() {
            let why = rows.iter().find_map(|row| row.place.as_ref().err()).map_or("", String::as_str);
            let text = format!(
                "loads beside traffic need two cores of one NUMA node: {why}; this process may use PUs {}: \
                 start it where it may use more, or name PUs with --beside-cpus",
                topology.allowed.pus
            );
            return Err(Fault::usage(text));
        }

        let chased =
            args.range.unwrap_or_else(|| memory_range::chased(topology, most_on_a_node(&curves, |_| 1)));
        let streamed = args.range.unwrap_or_else(|| {
            let threads = most_on_a_node(&curves, |curve| curve.traffic.len());
            memory_range::streamed(topology, curves.iter().map(|curve| &curve.traffic[..]), threads)
        });
        let mut loaded = Self {
            traffic,
            rows,
            engine: args.measuring.engine,
            chased: memory_range::chase(chased.max(64 * LINE_BYTES as u64), LINE_BYTES)?,
            streamed: memory_range::whole(streamed.max(BURST_BYTES as u64), LINE_BYTES)?,
            curves,
            rules: PlacingRules::on(topology, args.measuring.engine.huge_pages),
        };

        loaded.engine.max_time = config::time_for(&args.measuring, loaded.figures());
        loaded.budget(topology)?;
        Ok(loaded)
    }

    fn figures(&self) -> usize {
        self.curves.len() * TrafficStep::all().len()
    }

    fn budget(&self, topology: &Topology) -> Result<(), Fault> {
        let (loads, traffic) = (self.loads(), self.traffic(&[]));
        let needs = self.curves.iter().map(|curve| curve.node);
        let needs = needs.map(|node| (node, loads.bytes_on(node) + traffic.bytes_on(node)));
        fits_on(topology, needs, |bytes| {
            format!(
                "the ranges of loads and traffic there need {bytes}; ask for a smaller --range or fewer \
                 --beside-cpus"
            )
        })
    }

    /// How long measuring goes on at most.
    pub fn max_time(&self) -> Option<Duration> {
        self.engine.max_time
    }

    /// The columns of each curve.
    pub fn columns(&self) -> Vec<String> {
        vec!["load latency".to_owned(), format!("{} traffic", self.traffic.name())]
    }

    /// The figures to be taken, in words.
    pub fn figures_description(&self) -> String {
        let size = |bytes: usize| stats::units::size(bytes as u64);
        let of = |curve: &Curve| {
            let pus: IdSet = curve.traffic.iter().copied().collect();
            format!("{}: loads by PU {}, traffic by PU {pus}", curve.name, curve.loads)
        };
        let curves: Vec<String> = self.curves.iter().map(of).collect();
        format!(
            "load latency over {} beside {} traffic over {} a thread, from none to all in tenths; {}; {} \
             points",
            size(self.chased),
            self.traffic.name(),
            size(self.streamed),
            curves.join("; "),
            self.figures()
        )
    }

    /// The first thread of traffic of a curve, in the numbers of the traffic's suite.
    fn first_thread(&self, curve: usize) -> usize {
        self.curves[..curve].iter().map(|curve| curve.traffic.len()).sum()
    }

    fn loaders(&self) -> Vec<Worker> {
        self.curves.iter().enumerate().map(|(rank, curve)| Worker { rank, pu: curve.loads }).collect()
    }

    fn threads(&self) -> Vec<Worker> {
        let pus = self.curves.iter().flat_map(|curve| &curve.traffic);
        pus.enumerate().map(|(rank, pu)| Worker { rank, pu: *pu }).collect()
    }

    fn loads(&self) -> MemorySuite {
        let case = |(rank, curve): (usize, &Curve)| hostmem::TrafficCase {
            access: Access::Load,
            bytes: self.chased,
            node: curve.node,
            order: Order::Alone,
            ranks: vec![rank],
            pace: None,
        };
        self.suite(self.curves.iter().enumerate().map(case).collect(), &self.loaders())
    }

    /// The traffic of each curve at each of its paces.
    fn traffic(&self, paces: &[Vec<Pace>]) -> MemorySuite {
        let mut cases = Vec::new();
        for (number, curve) in self.curves.iter().enumerate() {
            let first = self.first_thread(number);
            let unpaused = [Pace::UNPAUSED];
            for pace in paces.get(number).map_or(&unpaused[..], Vec::as_slice) {
                cases.push(hostmem::TrafficCase {
                    access: self.traffic,
                    bytes: self.streamed,
                    node: curve.node,
                    order: Order::of(curve.traffic.len()),
                    ranks: (first..first + curve.traffic.len()).collect(),
                    pace: Some(*pace),
                });
            }
        }

        self.suite(cases, &self.threads())
    }

    fn suite(&self, cases: Vec<hostmem::TrafficCase>, workers: &[Worker]) -> MemorySuite {
        MemorySuite::new(cases, workers, self.engine.seed, self.rules.clone())
    }

    /// The run ahead: all traffic of each curve, without loads.
    pub fn ahead(&self) -> (EngineConfig, Arc<dyn Suite>, Vec<Worker>) {
        let engine = EngineConfig { amount: AHEAD, max_time: None, ..self.engine };
        (engine, Arc::new(self.traffic(&[])), self.threads())
    }

    /// What all traffic of each curve came to in the run ahead, bytes/s; `None` where it was not measured.
    pub fn full(&self, state: &RunState) -> Vec<Option<f64>> {
        let of = |(case, curve): (usize, &Curve)| {
            let results = state.results.get(case)?;
            let rate = |thread: usize| {
                let blocks = results.get(self.first_thread(case) + thread)?.samples.iter();
                let rates: Vec<f64> =
                    blocks.map(|sample| sample.block.bytes as f64 / sample.block.elapsed_ns * 1e9).collect();
                median(&rates)
            };
            (0..curve.traffic.len()).map(rate).sum()
        };
        self.curves.iter().enumerate().map(of).collect()
    }

    /// The experiment; `full`: what all traffic of each curve comes to, bytes/s. Where that is not known
    /// there are no steps between.
    pub fn experiment(self, topology: &Topology, full: &[Option<f64>]) -> Experiment {
        let burst = BURST_BYTES as f64 * if self.traffic == Access::Copy { 2.0 } else { 1.0 };
        let paced = |(number, curve): (usize, &Curve)| -> Vec<(TrafficStep, Pace)> {
            let full = full.get(number).copied().flatten();
            let with = |step: TrafficStep| Some((step, step.pace(full, curve.traffic.len(), burst)?));
            TrafficStep::all().into_iter().filter_map(with).collect()
        };
        let steps: Vec<Vec<(TrafficStep, Pace)>> = self.curves.iter().enumerate().map(paced).collect();
        let paces: Vec<Vec<Pace>> =
            steps.iter().map(|steps| steps.iter().map(|(_, pace)| *pace).collect()).collect();
        let loaders = self.curves.len();
        let mut joined = Joined::without_cases(vec![
            (Arc::new(self.loads()) as Arc<dyn Suite>, loaders),
            (Arc::new(self.traffic(&paces)) as Arc<dyn Suite>, self.threads().len()),
        ]);
        let (mut figures, mut matrices, mut next) = (CaseMap::default(), Vec::new(), 0);

        for (number, (curve, steps)) in self.curves.iter().zip(&steps).enumerate() {
            let first = loaders + self.first_thread(number);
            let threads = first..first + curve.traffic.len();
            let mut named = Vec::new();
            for step in std::iter::once(TrafficStep::Idle).chain(steps.iter().map(|(step, _)| *step)) {
                let group = format!("{}, {}", curve.name, step.name(self.traffic));
                let order = if step == TrafficStep::Idle { Order::Alone } else { Order::Simultaneous };
                let case = |direction, bytes: usize, range: usize| DocumentCase {
                    order,
                    memory: MemoryKind::Pageable,
                    direction,
                    bytes: bytes as u64,
                    range_bytes: Some(range as u64),
                    group: Some(group.clone()),
                };
                let at = if step == TrafficStep::Idle {
                    joined.at_once(&[(0, number)])
                } else {
                    next += 1;
                    joined.at_once(&[(0, number), (1, next - 1)])
                };
                figures.add(at, case(Direction::Load, LINE_BYTES, self.chased), vec![(number, number)]);
                if step != TrafficStep::Idle {
                    let way = settings::direction_of(self.traffic);
                    let places = threads.clone().map(|at| (at, at)).collect();
                    figures.add(at, case(way, self.streamed, self.streamed), places);
                }
                named.push((step, group));
            }
            matrices.push(self.matrix(number, first, &named));
        }

        let mut workers = self.loaders();
        workers.extend(
            self.threads().iter().map(|thread| Worker { rank: thread.rank + loaders, pu: thread.pu }),
        );

        Experiment {
            known: Beforehand::default(),
            command: "latency",
            suite: Arc::new(joined),
            places: Plan { ranks: self.places(topology), notes: Vec::new() },
            workers,
            engine: self.engine,
            asked: RequestedSettings::of_cases(&figures.cases),
            figures,
            matrices,
        }
    }

    /// The loads' places, and then those of the threads that make traffic.
    fn places(&self, topology: &Topology) -> Vec<RankPlan> {
        let loads = self.curves.iter().map(|curve| (curve.loads, curve.node));
        let traffic = self.curves.iter().flat_map(|curve| curve.traffic.iter().map(|pu| (*pu, curve.node)));
        let at = |(number, (pu, node))| place(topology, number, pu, node, memory_of(node));
        loads.chain(traffic).enumerate().map(at).collect()
    }

    fn matrix(&self, number: usize, first: usize, named: &[(TrafficStep, String)]) -> Matrix {
        let curve = &self.curves[number];
        let loader = IdSet::from_iter([number as u32]);
        let threads: IdSet = (first..first + curve.traffic.len()).map(|rank| rank as u32).collect();
        let traffic: IdSet = curve.traffic.iter().copied().collect();
        let row = |(step, group): &(TrafficStep, String)| {
            let idle = *step == TrafficStep::Idle;
            let own = IdSet::from_iter([curve.loads]);
            MatrixRow {
                name: step.name(self.traffic),
                pus: if idle { own } else { own.or(&traffic) },
                memory_node: Some(curve.node),
                ranks: if idle { loader.clone() } else { loader.or(&threads) },
                group: Some(group.clone()),
                reason: None,
                note: curve.note.clone().filter(|_| idle),
            }
        };

        let column = |(name, ranks): (String, &IdSet)| node_column(name, curve.node, ranks.clone());

        Matrix {
            title: curve.name.clone(),
            compares: Compares::Loaded,
            rows: named.iter().map(row).collect(),
            columns: self.columns().into_iter().zip([&loader, &threads]).map(column).collect(),
        }
    }
}

/// The PU that loads and those that make traffic, for a row.
fn curve(topology: &Topology, name: &str, row: &RowPlace, named: Option<&IdList>) -> Result<Curve, String> {
    let core = |pu: u32| topology.core_of(pu).map(|core| core.pus.clone()).unwrap_or_default();
    let curve = |loads, traffic: Vec<u32>| Curve {
        name: name.to_owned(),
        node: row.node,
        loads,
        traffic,
        note: row.note.clone(),
    };

    let Some(named) = named else {
        let loads = row.pu();
        let traffic = other_cores(topology, row.node, loads);
        return match traffic.is_empty() {
            true => Err(format!("{name} has one core (PU {loads}) that this process may use")),
            false => Ok(curve(loads, traffic)),
        };
    };

    let traffic = &named.0;

    // A core that makes no traffic, or at least a PU that makes none.
    let free = |pu: &&u32| !traffic.contains(pu);
    let quiet = |pu: &&u32| free(pu) && !traffic.iter().any(|other| core(**pu).contains(*other));
    let loads = row.pus.iter().find(quiet).or_else(|| row.pus.iter().find(free));

    match loads {
        Some(loads) => Ok(curve(*loads, traffic.clone())),
        None => Err(format!("--beside-cpus names every core of {name}, and one must be left for the loads")),
    }
}
