//! Nodes against nodes where no GPU takes part: how fast the cores of each read (write, copy) the memory of
//! each, and how long a load takes; what Intel's Memory Latency Checker prints.
//!
//! Each thread is a rank of the engine on a core of its own; those of a row are at it at once and their rates
//! are added up. Loads are one thread's.

use std::sync::Arc;
use std::time::Duration;

use engine::{EngineConfig, Order, PlacingRules};
use hostmem::{Access, LINE_BYTES, MemorySuite, TrafficCase};
use placement::Row;
use report::settings::{Direction, MemoryKind};
use stats::units::counted;
use topo::Topology;

use super::experiment::{Beforehand, CaseMap, DocumentCase, Experiment, RequestedSettings};
use super::memory_range;
use crate::budget::fits_on;
use crate::config;
use crate::fault::Fault;
use crate::options::MatrixOptions;
use crate::row_threads::RowThreads;
use crate::settings;

/// What is accessed from where.
pub struct MemoryMatrix {
    threads: RowThreads,
    cases: Vec<TrafficCase>,
    figures: CaseMap,
    engine: EngineConfig,
}

impl MemoryMatrix {
    /// The accesses that `args` ask for from these rows to the memory of these nodes.
    ///
    /// # Errors
    /// Nothing can be measured, or there is too little memory for it.
    pub fn new(
        args: &MatrixOptions,
        topology: &Topology,
        rows: Vec<Row>,
        nodes: Vec<u32>,
    ) -> Result<Self, Fault> {
        let mut matrix = Self {
            threads: RowThreads::new(rows, nodes, args.threads)?,
            cases: Vec::new(),
            figures: CaseMap::default(),
            engine: args.measuring.engine,
        };

        for access in &args.access {
            matrix.add(args, topology, *access)?;
        }
        if args.latency && !args.access.contains(&Access::Load) {
            matrix.add(args, topology, Access::Load)?;
        }
        matrix.engine.max_time = config::time_for(&args.measuring, matrix.cases.len());
        matrix.budget(topology)?;
        Ok(matrix)
    }

    fn add(&mut self, args: &MatrixOptions, topology: &Topology, access: Access) -> Result<(), Fault> {
        let latency = access == Access::Load;
        let direction = settings::direction_of(access);
        let rows = self.threads.pus();
        let all = rows.iter().map(Vec::len).sum();

        // One range for all rows, or their figures would not be of the same work.
        let range = match args.range {
            Some(range) => range.max(64 * LINE_BYTES as u64),
            None if latency => memory_range::chased(topology, rows.len()),
            None => memory_range::streamed(topology, rows.iter().map(Vec::as_slice), all),
        };
        let bytes = match latency {
            true => memory_range::chase(range, LINE_BYTES)?,
            false => memory_range::whole(range, LINE_BYTES)?,
        };

        for (name, mut ranks) in self.threads.measured() {
            if latency {
                ranks.truncate(1);
            }
            let order = Order::of(ranks.len());
            for (column, node) in self.threads.nodes.iter().copied().enumerate() {
                let case = DocumentCase {
                    order,
                    memory: MemoryKind::Pageable,
                    direction,
                    bytes: if latency { LINE_BYTES as u64 } else { bytes as u64 },
                    range_bytes: Some(bytes as u64),
                    group: (ranks.len() > 1).then(|| format!("{name}, memory of node {node}")),
                };
                self.figures.add(self.cases.len(), case, self.threads.places(&ranks, column));
                self.cases.push(TrafficCase { access, bytes, node, order, ranks: ranks.clone(), pace: None });
            }
        }
        Ok(())
    }

    fn suite(&self, topology: &Topology) -> MemorySuite {
        let rules = PlacingRules::on(topology, self.engine.huge_pages);
        MemorySuite::new(self.cases.clone(), &self.threads.all(), self.engine.seed, rules)
    }

    fn budget(&self, topology: &Topology) -> Result<(), Fault> {
        let suite = self.suite(topology);
        let needs = self.threads.nodes.iter().map(|node| (*node, suite.bytes_on(*node)));
        fits_on(topology, needs, |bytes| {
            format!(
                "the ranges that are measured there need {bytes}; ask for a smaller --range or fewer \
                 --threads"
            )
        })
    }

    /// The bytes that a thread lays out at most: its ranges, and its chain.
    pub fn bytes_a_thread(&self) -> u64 {
        let largest = |is_chain: bool| {
            let cases = self.cases.iter().filter(|case| (case.access == Access::Load) == is_chain);
            cases
                .map(|case| case.bytes as u64 * if case.access == Access::Copy { 2 } else { 1 })
                .max()
                .unwrap_or(0)
        };
        largest(true) + largest(false)
    }

    /// How long measuring goes on at most.
    pub fn max_time(&self) -> Option<Duration> {
        self.engine.max_time
    }

    /// The figures to be taken, in words.
    pub fn figures_description(&self) -> String {
        let way = |case: &DocumentCase| {
            let range = stats::units::size(case.range_bytes.unwrap_or(0));
            match case.direction {
                Direction::Load => format!("load latency over {range}"),
                Direction::Read => format!("read, {range} a thread"),
                Direction::Write => format!("write, {range} a thread"),
                _ => format!("copy, {range} a thread"),
            }
        };
        let ways = config::unique(&self.figures.cases.iter().map(way).collect::<Vec<_>>());
        // Loads are one thread's.
        let has_threads = self.cases.iter().any(|case| case.access != Access::Load);
        let threads = if has_threads { self.threads.description() } else { String::new() };
        format!("{}; {threads}{}", ways.join("; "), counted(self.cases.len(), "figure"))
    }

    /// The experiment.
    pub fn experiment(self, topology: &Topology) -> Experiment {
        Experiment {
            known: Beforehand::default(),
            command: "matrix",
            suite: Arc::new(self.suite(topology)),
            workers: self.threads.all(),
            engine: self.engine,
            places: self.threads.plan(topology),
            asked: RequestedSettings::of_cases(&self.figures.cases),
            figures: self.figures,
            matrices: vec![self.threads.matrix(None)],
        }
    }
}
