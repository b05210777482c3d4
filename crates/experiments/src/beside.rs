//! A GPU's copies beside the CPU's own traffic: alone, then beside one, two, four, … threads that read, write
//! or copy memory on cores of choice.
//!
//! Two suites of the engine as one: the copies of one rank, and threads on memory of the same node. Each
//! number of threads is measured without the copies too, so that what the CPU loses is known as well.

use std::sync::Arc;

use device::PlatformKind;
use engine::{Joined, Order, PlacingRules, Suite, Worker};
use hostmem::MemorySuite;
use pingpong::{Cells, CopySuite, RunConfig};
use placement::{Plan, RankPlan, RowsBy, rows};
use report::matrix::{Compares, Matrix, MatrixRow};
use report::settings::MemoryKind;
use stats::{IdList, IdSet};
use topo::Topology;

use super::experiment::{Beforehand, CaseMap, DocumentCase, Experiment, RequestedSettings, memory_of, place};
use super::memory_range;
use crate::columns::name_of;
use hostmem::Access;

use crate::backends::FoundPlatform;
use crate::budget::fits_on;
use crate::config;
use crate::fault::Fault;
use crate::matrix_parts::{column, node_column};
use crate::options::ContendOptions;
use crate::outline::engine_and_clock;
use crate::settings;

/// Copies of one rank, and threads beside them.
pub struct Beside {
    /// The run.
    pub config: RunConfig,
    rank: RankPlan,
    traffic: Access,
    threads: Vec<Worker>,
    /// How many threads each row has.
    counts: Vec<usize>,
    range: usize,
    rules: PlacingRules,
}

impl Beside {
    /// The first rank of `plan` beside the traffic that `args` ask for.
    ///
    /// # Errors
    /// There is no other core, or sizes that this machine cannot address.
    pub fn new(
        args: &ContendOptions,
        traffic: Access,
        kind: PlatformKind,
        topology: &Topology,
        plan: &Plan,
    ) -> Result<Self, Fault> {
        let rank = plan.ranks.first().cloned().ok_or_else(|| Fault::usage("there is no device"))?;
        let mut config = config::contending(args, kind, config::copy_size(topology, kind, 1))?;
        let pus = match &args.beside_cpus {
            Some(list) => {
                allowed(topology, list)?;
                if list.0.contains(&rank.pu) {
                    let text = format!(
                        "--beside-cpus names PU {0}, which copies: leave it out there, or let another one \
                         copy (--cpus)",
                        rank.pu
                    );
                    return Err(Fault::usage(text));
                }
                list.0.clone()
            }
            None => other_cores(topology, rank.memory_node, rank.pu),
        };

        if pus.is_empty() {
            let text = format!(
                "there is no core beside PU {} that could read memory of node {}: name some with \
                 --beside-cpus",
                rank.pu, rank.memory_node
            );
            return Err(Fault::usage(text));
        }

        let threads: Vec<Worker> =
            pus.iter().enumerate().map(|(rank, pu)| Worker { rank, pu: *pu }).collect();
        let mut counts: Vec<usize> = std::iter::successors(Some(1), |count| Some(count * 2))
            .take_while(|count| *count < pus.len())
            .collect();
        counts.push(pus.len());
        let range = memory_range::streamed(topology, [&pus[..]], pus.len());
        let range = memory_range::whole(args.range.unwrap_or(range), hostmem::LINE_BYTES)?;
        let ranges = if traffic == Access::Copy { 2 } else { 1 };
        let needs = (range as u64).saturating_mul(ranges).saturating_mul(pus.len() as u64);
        fits_on(topology, [(rank.memory_node, needs)], |bytes| {
            format!(
                "the ranges of the traffic there need {bytes}; ask for a smaller --range or fewer \
                 --beside-cpus"
            )
        })?;
        config.engine.max_time =
            config::time_for(&args.measuring, counts.len() * (1 + 2 * config.directions.len()));
        let rules = PlacingRules::on(topology, config.engine.huge_pages);
        Ok(Self { config, rank: RankPlan { rank: 0, ..rank }, traffic, threads, counts, range, rules })
    }

    /// The figures to be taken, in words.
    pub fn figures_description(&self) -> String {
        let counts: Vec<String> = self.counts.iter().map(ToString::to_string).collect();
        let ways: Vec<&str> = self.config.directions.iter().map(|way| way.name()).collect();
        let pus: IdSet = self.threads.iter().map(|thread| thread.pu).collect();
        format!(
            "{}, {} memory, {}{}, PU {}, alone and beside {} threads that {} {} each on PUs {pus}",
            stats::units::size(self.config.largest() as u64),
            self.config.memory.first().map_or("", |kind| kind.name()),
            ways.join(", "),
            engine_and_clock(&self.config),
            self.rank.pu,
            counts.join(", "),
            self.traffic.name(),
            stats::units::size(self.range as u64)
        )
    }

    /// The experiment, on this platform.
    pub fn experiment(self, topology: &Topology, found: &FoundPlatform) -> Experiment {
        let node = self.rank.memory_node;
        let copies = pingpong::CopyCase::all(&self.config);
        let list: Vec<(pingpong::CopyCase, Cells)> = copies.iter().map(|copy| (*copy, Cells::Own)).collect();
        let copying = CopySuite::of(
            &self.config,
            std::slice::from_ref(&self.rank),
            &list,
            &found.platform,
            self.rules.clone(),
        );
        let traffic = |count: &usize| hostmem::TrafficCase {
            access: self.traffic,
            bytes: self.range,
            node,
            order: Order::of(*count),
            ranks: (0..*count).collect(),
            pace: None,
        };
        let accesses: Vec<hostmem::TrafficCase> = self.counts.iter().map(traffic).collect();
        let reading =
            MemorySuite::new(accesses.clone(), &self.threads, self.config.engine.seed, self.rules.clone());
        let mut joined = Joined::new(vec![
            (Arc::new(copying) as Arc<dyn Suite>, 1),
            (Arc::new(reading) as Arc<dyn Suite>, self.threads.len()),
        ]);

        let copy_case = |copy: &pingpong::CopyCase, order, group: String| {
            DocumentCase::of_copies(&pingpong::CopyCase { order, ..*copy }, Some(group))
        };
        let traffic_case = |order, group: String| DocumentCase {
            order,
            memory: MemoryKind::Pageable,
            direction: settings::direction_of(self.traffic),
            bytes: self.range as u64,
            range_bytes: Some(self.range as u64),
            group: Some(group),
        };
        let mut figures = CaseMap::default();
        let threads = |count: usize| (0..count).map(|thread| (thread + 1, thread + 1)).collect::<Vec<_>>();
        for (at, copy) in copies.iter().enumerate() {
            figures.add(at, copy_case(copy, Order::Alone, ALONE.to_owned()), vec![(0, 0)]);
        }
        for (k, count) in self.counts.iter().enumerate() {
            figures.add(copies.len() + k, traffic_case(accesses[k].order, without(*count)), threads(*count));
            for (c, copy) in copies.iter().enumerate() {
                let at = joined.at_once(&[(0, c), (1, k)]);
                let group = traffic_group(*count, copy, &copies);
                figures.add(at, copy_case(copy, Order::Simultaneous, beside(*count)), vec![(0, 0)]);
                figures.add(at, traffic_case(Order::Simultaneous, group), threads(*count));
            }
        }
        let mut places = vec![self.rank.clone()];
        for thread in &self.threads {
            places.push(place(topology, places.len(), thread.pu, node, memory_of(node)));
        }
        let mut workers = vec![Worker { rank: 0, pu: self.rank.pu }];
        workers.extend(self.threads.iter().map(|thread| Worker { rank: thread.rank + 1, pu: thread.pu }));
        let matrix = self.matrix(topology, found, &copies);
        let mut asked = RequestedSettings::of_copies(&self.config);
        asked.directions.push(settings::direction_of(self.traffic));
        Experiment {
            known: Beforehand::default(),
            command: "contend",
            suite: Arc::new(joined),
            workers,
            engine: self.config.engine,
            places: Plan { ranks: places, notes: Vec::new() },
            figures,
            matrices: vec![matrix],
            asked,
        }
    }

    fn matrix(&self, topology: &Topology, found: &FoundPlatform, copies: &[pingpong::CopyCase]) -> Matrix {
        let all = |count: usize| (1..=count as u32).collect::<IdSet>();
        let pus = |count: usize| self.threads[..count].iter().map(|thread| thread.pu).collect::<IdSet>();
        let row = |name: String, group: String, ranks: IdSet, pus: IdSet| MatrixRow {
            name,
            pus,
            memory_node: Some(self.rank.memory_node),
            ranks,
            group: Some(group),
            reason: None,
            note: None,
        };

        let first = IdSet::from_iter([0]);
        let mut rows =
            vec![row(ALONE.to_owned(), ALONE.to_owned(), first.clone(), IdSet::from_iter([self.rank.pu]))];
        for count in &self.counts {
            rows.push(row(beside(*count), beside(*count), first.clone(), pus(*count)));
        }

        // Threads without copies come first: what the same threads do beside copies is compared with that.
        for count in &self.counts {
            let by = threads(*count);
            rows.push(row(format!("without copies ({by})"), without(*count), all(*count), pus(*count)));
            for copy in copies {
                let name = format!("beside {} copies ({by})", copy.direction);
                rows.push(row(name, traffic_group(*count, copy, copies), all(*count), pus(*count)));
            }
        }

        let target = &self.rank.target;
        let device = column(name_of(target), target, first, (topology, found));
        let cpu = node_column("all threads".to_owned(), self.rank.memory_node, all(self.threads.len()));

        Matrix {
            title: "copies beside traffic".to_owned(),
            compares: Compares::Load,
            rows,
            columns: vec![device, cpu],
        }
    }
}

const ALONE: &str = "alone";

fn threads(count: usize) -> String {
    stats::units::counted(count, "thread")
}

fn beside(count: usize) -> String {
    format!("beside {}", threads(count))
}

fn without(count: usize) -> String {
    format!("{} without copies", threads(count))
}

/// The group of so many threads beside one of the copies: that of the copies where there is one kind of them.
fn traffic_group(count: usize, copy: &pingpong::CopyCase, copies: &[pingpong::CopyCase]) -> String {
    if copies.len() > 1 { format!("{}, {}", beside(count), copy.direction) } else { beside(count) }
}

/// The PUs that use a node's memory as their own, one of each core, less the core that this PU is of.
pub(super) fn other_cores(topology: &Topology, node: u32, pu: u32) -> Vec<u32> {
    let own = topology.core_of(pu).map(|core| core.pus.clone()).unwrap_or_default();
    let mut places = rows(topology, RowsBy::Node).into_iter().filter_map(|row| row.place.ok());
    let cores =
        places.find(|row_place| row_place.node == node).map(|row_place| row_place.pus).unwrap_or_default();
    cores.into_iter().filter(|other| *other != pu && !own.contains(*other)).collect()
}

/// Whether this process may use all the PUs that `--beside-cpus` names.
///
/// # Errors
/// Those that it may not use, and those that it may.
pub(super) fn allowed(topology: &Topology, named: &IdList) -> Result<(), Fault> {
    let twice = |at: &usize| named.0[..*at].contains(&named.0[*at]);
    if let Some(at) = (0..named.0.len()).find(twice) {
        let pu = named.0[at];
        return Err(Fault::usage(format!("--beside-cpus names PU {pu} twice: each thread needs its own")));
    }

    let outside: IdSet = named.0.iter().copied().filter(|pu| !topology.allowed.pus.contains(*pu)).collect();
    if outside.is_empty() {
        return Ok(());
    }
    let pus = &topology.allowed.pus;
    let text =
        format!("--beside-cpus names PUs {outside}, which this process may not use; allowed are {pus}");
    Err(Fault::usage(text))
}
