//! A GPU's copies beside the CPU's own traffic: alone, then beside one, two, four, … threads that read, write or copy memory on cores of choice.
//!
//! Two suites of the engine as one: the copies of one rank, and threads on memory of the same node. Each number of threads is measured without
//! the copies too, so that what the CPU loses is known as well.

use std::sync::Arc;

use device::PlatformKind;
use engine::{Helpers, Joined, Order, Suite, Worker};
use hostmem::MemorySuite;
use pingpong::{Cells, CopySuite, RunConfig};
use placement::{Plan, RankPlan, RowsBy, rows};
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::settings::{CopyEngine, Direction, MemoryKind};
use stats::{IdList, IdSet};
use topo::Topology;

use super::experiment::{
    Beforehand, CaseMapping, DocumentCase, Experiment, RequestedSettings, memory_of, numbered, place,
};
use super::memory_range;
use crate::document::of_experiment::{declared_nodes, name_of};
use hostmem::Access;

use crate::backends::FoundPlatform;
use crate::config;
use crate::document::settings;
use crate::fault::Fault;
use crate::options::ContendOptions;

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
    one_node: bool,
    helpers: Helpers,
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
        let mut config = config::measuring(&args.measuring);
        config.sizes = vec![usize::try_from(args.size).map_err(Fault::usage)?];
        config.memory = config::memory_kinds(args.memory.as_slice(), kind);
        config.directions = config::unique(&args.directions);
        config.orders = vec![Order::Alone];
        config.timing = args.timing;
        let pus = match &args.beside_cpus {
            Some(list) => {
                allowed(topology, list)?;
                list.0.clone()
            }
            None => near(topology, &rank),
        };
        if pus.is_empty() {
            let text = format!(
                "there is no core beside PU {} that could read memory of node {}: name some with --beside-cpus",
                rank.pu, rank.memory_node
            );
            return Err(Fault::usage(text));
        }
        let threads: Vec<Worker> = pus.iter().enumerate().map(|(rank, pu)| Worker { rank, pu: *pu }).collect();
        let mut counts: Vec<usize> =
            std::iter::successors(Some(1), |count| Some(count * 2)).take_while(|count| *count < pus.len()).collect();
        counts.push(pus.len());
        let range = memory_range::streamed(topology, pus.len(), pus.len());
        let range = memory_range::whole(args.range.unwrap_or(range), hostmem::LINE_BYTES)?;
        fits(topology, &rank, traffic, range, pus.len())?;
        config.max_time = config::time_for(&args.measuring, counts.len() * (1 + 2 * config.directions.len()));
        let (one_node, helpers) = (topology.machine_has_one_node(), Helpers(topology.allowed.pus.clone()));
        Ok(Self { config, rank: RankPlan { rank: 0, ..rank }, traffic, threads, counts, range, one_node, helpers })
    }

    /// The figures to be taken, in words.
    pub fn figures_description(&self) -> String {
        let counts: Vec<String> = self.counts.iter().map(ToString::to_string).collect();
        let ways: Vec<&str> = self.config.directions.iter().map(|way| way.name()).collect();
        let pus: IdSet = self.threads.iter().map(|thread| thread.pu).collect();
        format!(
            "{}, {}, alone and beside {} threads that {} {} each on PUs {pus}",
            stats::units::size(self.config.largest() as u64),
            ways.join(", "),
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
            self.helpers.clone(),
            self.one_node,
        );
        let traffic = |count: &usize| hostmem::TrafficCase {
            access: self.traffic,
            bytes: self.range,
            node,
            order: if *count > 1 { Order::Simultaneous } else { Order::Alone },
            ranks: (0..*count).collect(),
            pace: None,
        };
        let accesses: Vec<hostmem::TrafficCase> = self.counts.iter().map(traffic).collect();
        let (seed, huge_pages) = (self.config.seed, self.config.huge_pages);
        let reading =
            MemorySuite::new(accesses.clone(), &self.threads, seed, huge_pages, self.one_node, self.helpers.clone());
        let mut joined = Joined::new(vec![
            (Arc::new(copying) as Arc<dyn Suite>, 1),
            (Arc::new(reading) as Arc<dyn Suite>, self.threads.len()),
        ]);

        let copy_case = |copy: &pingpong::CopyCase, order, group: &str| DocumentCase {
            order,
            memory: settings::memory(copy.memory),
            direction: settings::direction(copy.direction),
            bytes: copy.bytes as u64,
            range_bytes: None,
            group: Some(group.to_owned()),
        };
        let traffic_case = |order, group: &str| DocumentCase {
            order,
            memory: MemoryKind::Pageable,
            direction: settings::direction_of(self.traffic),
            bytes: self.range as u64,
            range_bytes: Some(self.range as u64),
            group: Some(group.to_owned()),
        };
        let (mut cases, mut mappings) = (Vec::new(), Vec::new());
        let threads = |count: usize| (0..count).map(|thread| (thread + 1, thread + 1)).collect::<Vec<_>>();
        for (at, copy) in copies.iter().enumerate() {
            mappings.push(CaseMapping {
                at,
                case: numbered(&mut cases, copy_case(copy, Order::Alone, ALONE)),
                places: vec![(0, 0)],
            });
        }
        for (k, count) in self.counts.iter().enumerate() {
            let at = copies.len() + k;
            let case = numbered(&mut cases, traffic_case(accesses[k].order, &without(*count)));
            mappings.push(CaseMapping { at, case, places: threads(*count) });
            for (c, copy) in copies.iter().enumerate() {
                let at = joined.at_once(&[(0, c), (1, k)]);
                let group = traffic_group(*count, copy, &copies);
                let case = numbered(&mut cases, copy_case(copy, Order::Simultaneous, &beside(*count)));
                mappings.push(CaseMapping { at, case, places: vec![(0, 0)] });
                let case = numbered(&mut cases, traffic_case(Order::Simultaneous, &group));
                mappings.push(CaseMapping { at, case, places: threads(*count) });
            }
        }
        let mut places = vec![self.rank.clone()];
        for thread in &self.threads {
            places.push(place(topology, places.len(), thread.pu, node, memory_of(node)));
        }
        let mut workers = vec![Worker { rank: 0, pu: self.rank.pu }];
        workers.extend(self.threads.iter().map(|thread| Worker { rank: thread.rank + 1, pu: thread.pu }));
        let matrix = self.matrix(topology, found, &copies);
        let mut directions: Vec<Direction> =
            self.config.directions.iter().map(|way| settings::direction(*way)).collect();
        directions.push(settings::direction_of(self.traffic));
        Experiment {
            known: Beforehand::default(),
            command: "contend",
            suite: Arc::new(joined),
            workers,
            engine: self.config.engine(),
            places: Plan { ranks: places, notes: Vec::new() },
            cases,
            mappings,
            matrices: vec![matrix],
            asked: RequestedSettings {
                sizes: self.config.sizes.iter().map(|size| *size as u64).collect(),
                directions,
                memory: self.config.memory.iter().map(|kind| settings::memory(*kind)).collect(),
                huge_pages,
                engine: CopyEngine::Ce,
                timing: Some(settings::timing(self.config.timing)),
            },
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
        let mut rows = vec![row(ALONE.to_owned(), ALONE.to_owned(), first.clone(), IdSet::from_iter([self.rank.pu]))];
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
        let device = MatrixColumn {
            name: name_of(&self.rank.target),
            device: self.rank.target.id.to_string(),
            ranks: first,
            declared_nodes: declared_nodes(topology, found, self.rank.target.id),
        };
        let node = self.rank.memory_node;
        let cpu = MatrixColumn {
            name: "all threads".to_owned(),
            device: format!("node {node}"),
            ranks: all(self.threads.len()),
            declared_nodes: report::Known::value(IdSet::from_iter([node]), "the node itself"),
        };
        Matrix { title: "copies beside traffic".to_owned(), compares: Compares::Load, rows, columns: vec![device, cpu] }
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

/// The cores of the node of a rank's memory, less the one that the rank is on.
fn near(topology: &Topology, rank: &RankPlan) -> Vec<u32> {
    let own = topology.core_of(rank.pu).map(|core| core.pus.clone()).unwrap_or_default();
    let cores = cores_of(topology, rank.memory_node).into_iter();
    cores.filter(|pu| *pu != rank.pu && !own.contains(*pu)).collect()
}

/// The PUs that use a node's memory as their own, one of each core.
pub(super) fn cores_of(topology: &Topology, node: u32) -> Vec<u32> {
    let of_node = rows(topology, RowsBy::Node)
        .into_iter()
        .find_map(|row| row.place.ok().filter(|row_place| row_place.node == node));
    of_node.map_or_else(Vec::new, |row_place| row_place.pus)
}

/// Whether this process may use all the PUs that `--beside-cpus` names.
///
/// # Errors
/// Those that it may not use, and those that it may.
pub(super) fn allowed(topology: &Topology, named: &IdList) -> Result<(), Fault> {
    let outside: IdSet = named.0.iter().copied().filter(|pu| !topology.allowed.pus.contains(*pu)).collect();
    if outside.is_empty() {
        return Ok(());
    }
    let pus = &topology.allowed.pus;
    let text = format!("--beside-cpus names PUs {outside}, which this process may not use; allowed are {pus}");
    Err(Fault::usage(text))
}

/// Whether the ranges of so many threads are there on the rank's node: memory that is bound and cannot be had ends the process.
fn fits(topology: &Topology, rank: &RankPlan, traffic: Access, range: usize, threads: usize) -> Result<(), Fault> {
    let ranges = if traffic == Access::Copy { 2 } else { 1 };
    let needs = (range as u64).saturating_mul(ranges).saturating_mul(threads as u64);
    let Some(has) = topology.memory_bytes(rank.memory_node).filter(|has| needs > *has) else { return Ok(()) };
    let size = stats::units::rounded_size;
    Err(Fault::usage(format!(
        "NUMA node {} has {}, and the ranges of the traffic on it need {}; ask for a smaller --range or fewer --beside-cpus",
        rank.memory_node,
        size(has),
        size(needs)
    )))
}
