//! Nodes against nodes where no GPU takes part: how fast the cores of each read (write, copy) the memory of each, and how long a load takes; what
//! Intel's Memory Latency Checker prints.
//!
//! Each thread is a rank of the engine on a core of its own; those of a row are at it at once and their rates are added up. Loads are one
//! thread's.

use std::sync::Arc;

use engine::{Helpers, Order, Worker};
use hostmem::{LINE_BYTES, MemorySuite, TrafficCase};
use placement::{Plan, Row, RowPlace};
use report::Known;
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::settings::{CopyEngine, Direction, MemoryKind};
use stats::IdSet;
use topo::Topology;

use super::experiment::{
    Beforehand, CaseMapping, DocumentCase, Experiment, RequestedSettings, memory_of, numbered, place,
};
use super::memory_range;
use hostmem::Access;

use crate::config;
use crate::document::settings;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::options::MatrixOptions;

/// What is accessed from where.
pub struct MemoryMatrix {
    rows: Vec<Row>,
    /// The nodes of the columns.
    nodes: Vec<u32>,
    /// The engine's ranks of each row that can be measured, each with its PU.
    workers: Vec<Vec<Worker>>,
    cases: Vec<TrafficCase>,
    mappings: Vec<CaseMapping>,
    document: Vec<DocumentCase>,
    places: Vec<placement::RankPlan>,
    max_time: std::time::Duration,
    seed: u64,
    huge_pages: bool,
}

impl MemoryMatrix {
    /// The accesses that `args` ask for from these rows to the memory of these nodes.
    ///
    /// # Errors
    /// Nothing can be measured, or there is too little memory for it.
    pub fn new(args: &MatrixOptions, topology: &Topology, rows: Vec<Row>, nodes: Vec<u32>) -> Result<Self, Fault> {
        let threads = args.threads.unwrap_or(usize::MAX);
        let mut next = 0;
        let row_places = || rows.iter().filter_map(|row| row.place.as_ref().ok());
        let row = |row_place: &RowPlace| -> Vec<Worker> {
            let pus = row_place.pus.iter().take(threads);
            pus.map(|pu| {
                next += 1;
                Worker { rank: next - 1, pu: *pu }
            })
            .collect()
        };
        let workers: Vec<Vec<Worker>> = row_places().map(row).collect();
        let mut matrix = Self {
            rows,
            nodes,
            workers,
            cases: Vec::new(),
            mappings: Vec::new(),
            document: Vec::new(),
            places: Vec::new(),
            max_time: std::time::Duration::ZERO,
            seed: args.measuring.seed,
            huge_pages: args.measuring.huge_pages,
        };
        if matrix.workers.is_empty() || matrix.nodes.is_empty() {
            let why = "no row can be measured: this process may use no memory or no PU";
            return Err(Fault::new(Exit::NoResult, why));
        }
        matrix.find_places(topology);
        for access in &args.access {
            matrix.add(args, topology, *access)?;
        }
        if args.latency && !args.access.contains(&Access::Load) {
            matrix.add(args, topology, Access::Load)?;
        }
        matrix.max_time = config::time_for(&args.measuring, matrix.cases.len());
        matrix.budget(topology)?;
        Ok(matrix)
    }

    /// A place for each worker and node: those of the first worker come first.
    fn find_places(&mut self, topology: &Topology) {
        for worker in self.workers.iter().flatten() {
            for node in &self.nodes {
                self.places.push(place(topology, self.places.len(), worker.pu, *node, memory_of(*node)));
            }
        }
    }

    fn place_of(&self, rank: usize, column: usize) -> usize {
        rank * self.nodes.len() + column
    }

    fn add(&mut self, args: &MatrixOptions, topology: &Topology, access: Access) -> Result<(), Fault> {
        let latency = access == Access::Load;
        let direction = settings::direction_of(access);
        // One range for all rows, or their figures would not be of the same work.
        let fewest = self.workers.iter().map(Vec::len).min().unwrap_or(1);
        let range = match args.range {
            Some(range) => range.max(64 * LINE_BYTES as u64),
            None if latency => memory_range::chased(topology, self.workers.len()),
            None => memory_range::streamed(topology, fewest, self.workers.iter().map(Vec::len).sum()),
        };
        let bytes = match latency {
            true => memory_range::chase(range, LINE_BYTES, hostmem::MOST_LINES)?,
            false => memory_range::whole(range, LINE_BYTES)?,
        };
        let names: Vec<String> = self.rows.iter().filter(|row| row.place.is_ok()).map(|row| row.name.clone()).collect();
        for (row, name) in names.iter().enumerate() {
            let ranks: Vec<usize> = self.workers[row].iter().map(|worker| worker.rank).collect();
            let ranks = if latency { ranks[..1].to_vec() } else { ranks };
            let order = if ranks.len() > 1 { Order::Simultaneous } else { Order::Alone };
            for (column, node) in self.nodes.clone().into_iter().enumerate() {
                let document = DocumentCase {
                    order,
                    memory: MemoryKind::Pageable,
                    direction,
                    bytes: if latency { LINE_BYTES as u64 } else { bytes as u64 },
                    range_bytes: Some(bytes as u64),
                    group: (ranks.len() > 1).then(|| format!("{name}, memory of node {node}")),
                };
                let case = numbered(&mut self.document, document);
                let places = ranks.iter().map(|rank| (*rank, self.place_of(*rank, column))).collect();
                self.mappings.push(CaseMapping { at: self.cases.len(), case, places });
                self.cases.push(TrafficCase { access, bytes, node, order, ranks: ranks.clone(), pace: None });
            }
        }
        Ok(())
    }

    fn suite(&self, topology: &Topology) -> MemorySuite {
        let workers: Vec<Worker> = self.workers.iter().flatten().copied().collect();
        let (helpers, one_node) = (Helpers(topology.allowed.pus.clone()), topology.machine_has_one_node());
        MemorySuite::new(self.cases.clone(), &workers, self.seed, self.huge_pages, one_node, helpers)
    }

    fn budget(&self, topology: &Topology) -> Result<(), Fault> {
        let suite = self.suite(topology);
        for node in &self.nodes {
            let needs = suite.bytes_on(*node);
            if let Some(has) = topology.memory_bytes(*node).filter(|has| needs > *has) {
                let size = stats::units::rounded_size;
                return Err(Fault::usage(format!(
                    "NUMA node {} has {}, and the ranges that are measured on it need {}; ask for a smaller --range or fewer --threads",
                    node,
                    size(has),
                    size(needs)
                )));
            }
        }
        Ok(())
    }

    /// How long measuring goes on at most.
    pub fn max_time(&self) -> std::time::Duration {
        self.max_time
    }

    /// The figures to be taken, in words.
    pub fn figures_description(&self) -> String {
        let mut ways: Vec<String> = Vec::new();
        for case in &self.document {
            let range = stats::units::size(case.range_bytes.unwrap_or(0));
            let way = match case.direction {
                Direction::Load => format!("load latency over {range}"),
                Direction::Read => format!("read, {range} a thread"),
                Direction::Write => format!("write, {range} a thread"),
                _ => format!("copy, {range} a thread"),
            };
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        format!("{}; {} figures", ways.join("; "), self.cases.len())
    }

    /// The experiment.
    pub fn experiment(self, args: &MatrixOptions, topology: &Topology) -> Experiment {
        let suite = self.suite(topology);
        let matrix = self.matrix();
        let mut directions: Vec<Direction> = Vec::new();
        let mut sizes: Vec<u64> = Vec::new();
        for case in &self.document {
            if !directions.contains(&case.direction) {
                directions.push(case.direction);
            }
            sizes.push(case.bytes);
        }
        sizes.sort_unstable();
        sizes.dedup();
        let mut engine = config::measuring(&args.measuring).engine();
        engine.max_time = self.max_time;
        Experiment {
            known: Beforehand::default(),
            command: "matrix",
            suite: Arc::new(suite),
            workers: self.workers.into_iter().flatten().collect(),
            engine,
            places: Plan { ranks: self.places, notes: Vec::new() },
            cases: self.document,
            mappings: self.mappings,
            matrices: vec![matrix],
            asked: RequestedSettings {
                sizes,
                directions,
                memory: vec![MemoryKind::Pageable],
                huge_pages: self.huge_pages,
                engine: CopyEngine::Ce,
                timing: None,
            },
        }
    }

    fn matrix(&self) -> Matrix {
        let columns = self.nodes.len();
        let mut workers = self.workers.iter();
        let row = |row: &Row| {
            let row_place = row.place.as_ref().ok();
            let mine = if row_place.is_some() { workers.next() } else { None };
            let mine = || mine.into_iter().flatten();
            let ranks: IdSet = mine()
                .flat_map(|worker| {
                    (0..columns).map(|column| (worker.rank * columns + column) as u32).collect::<Vec<_>>()
                })
                .collect();
            MatrixRow {
                name: row.name.clone(),
                pus: mine().map(|worker| worker.pu).collect(),
                memory_node: row_place.map(|row_place| row_place.node),
                ranks,
                group: None,
                reason: row.place.as_ref().err().cloned(),
                note: row_place.and_then(|row_place| row_place.note.clone()),
            }
        };
        let rows = self.rows.iter().map(row).collect();
        let column = |(at, node): (usize, &u32)| MatrixColumn {
            name: format!("node {node}"),
            device: format!("node {node}"),
            ranks: (0..self.places.len()).filter(|place| place % columns == at).map(|place| place as u32).collect(),
            declared_nodes: Known::value(IdSet::from_iter([*node]), "the node itself"),
        };
        Matrix {
            title: "cores and memory".to_owned(),
            compares: Compares::Columns,
            rows,
            columns: self.nodes.iter().enumerate().map(column).collect(),
        }
    }
}
