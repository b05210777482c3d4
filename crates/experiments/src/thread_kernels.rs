//! Kernels on the cores of each row with the memory of each node, where no GPU takes part: the CPU's own table of losses.
//!
//! Each thread is a rank of the engine on a core of its own, with a problem of its own; those of a row are at it at once, and their rates are added up.

use std::sync::Arc;
use std::time::Duration;

use engine::{Helpers, Order, Worker};
use kernels::{By, Kernel, ThreadCase, ThreadSuite};
use placement::{Plan, RankPlan, Row};
use report::Known;
use report::kernels::COPIES;
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::settings::{Direction, MemoryKind};
use stats::IdSet;
use topo::Topology;

use crate::config;
use crate::exit::Exit;
use crate::experiment::{Beforehand, CaseMapping, DocumentCase, Experiment, memory_of, numbered, place};
use crate::fault::Fault;
use crate::gpu_kernels::asked;
use crate::kernel_facts::{figures, fits};
use crate::options::ComputingOptions;

/// What is computed by whom.
pub(crate) struct ThreadKernels<'a> {
    options: &'a ComputingOptions,
    kernels: Vec<Kernel>,
    rows: Vec<Row>,
    /// The nodes of the columns.
    nodes: Vec<u32>,
    /// The engine's ranks of each row that can be measured.
    workers: Vec<Vec<Worker>>,
    /// A place for each worker and node.
    places: Vec<RankPlan>,
}

impl<'a> ThreadKernels<'a> {
    /// The kernels that `options` ask for on these rows' cores with the memory of these nodes.
    ///
    /// # Errors
    /// Nothing can be measured.
    pub(crate) fn new(
        options: &'a ComputingOptions,
        topology: &Topology,
        rows: Vec<Row>,
        nodes: Vec<u32>,
    ) -> Result<Self, Fault> {
        let (mut workers, mut next) = (Vec::new(), 0);
        for row_place in rows.iter().filter_map(|row| row.place.as_ref().ok()) {
            let pus = row_place.pus.iter().take(options.threads.unwrap_or(usize::MAX));
            let row: Vec<Worker> = (next..).zip(pus).map(|(rank, pu)| Worker { rank, pu: *pu }).collect();
            next += row.len();
            workers.push(row);
        }
        if next == 0 || nodes.is_empty() {
            let why = "no row can be measured: this process may use no memory or no PU";
            return Err(Fault::new(Exit::NoResult, why));
        }
        let mut places = Vec::new();
        for worker in workers.iter().flatten() {
            for node in &nodes {
                places.push(place(topology, places.len(), worker.pu, *node, memory_of(*node)));
            }
        }
        Ok(Self { options, kernels: options.asked()?, rows, nodes, workers, places })
    }

    fn figures(&self) -> usize {
        self.workers.len() * self.nodes.len() * self.kernels.len()
    }

    /// How long measuring goes on at most.
    pub(crate) fn max_time(&self) -> Duration {
        config::time_for(&self.options.measuring, self.figures())
    }

    /// The figures to be taken, in words.
    pub(crate) fn figures_description(&self) -> String {
        let names: Vec<&str> = self.kernels.iter().map(|kernel| kernel.name()).collect();
        format!("{} of {} by CPUs; {} figures", names.join(", "), self.options.size, self.figures())
    }

    /// The experiment.
    ///
    /// # Errors
    /// Which node has too little memory.
    pub(crate) fn experiment(self, topology: &Topology) -> Result<Experiment, Fault> {
        let (mut cases, mut mappings, mut list) = (Vec::new(), Vec::new(), Vec::new());
        let mut kernels = Vec::new();
        let measured = self.rows.iter().filter(|row| row.place.is_ok());
        let rows: Vec<(&str, Vec<usize>)> = measured
            .zip(&self.workers)
            .map(|(row, workers)| (&row.name[..], workers.iter().map(|worker| worker.rank).collect()))
            .collect();
        for kernel in &self.kernels {
            let problem = kernel.problem(By::Thread, self.options.size);
            kernels.push(figures(*kernel, &*problem, 1, None));
            for (row, ranks) in &rows {
                for (column, node) in self.nodes.iter().enumerate() {
                    let case = DocumentCase {
                        order: if ranks.len() > 1 { Order::Simultaneous } else { Order::Alone },
                        memory: MemoryKind::Pageable,
                        direction: Direction::Kernel,
                        bytes: (problem.layout().input + problem.layout().output) as u64,
                        range_bytes: None,
                        group: Some(format!("{}, {row}, memory of node {node}", kernel.name())),
                    };
                    let case = numbered(&mut cases, case);
                    let places = ranks.iter().map(|rank| (*rank, rank * self.nodes.len() + column)).collect();
                    mappings.push(CaseMapping { at: list.len(), case, places });
                    list.push(ThreadCase { kernel: *kernel, node: *node, ranks: ranks.clone() });
                }
            }
        }
        let mut config = config::measuring(&self.options.measuring);
        config.max_time = self.max_time();
        let memory = (Helpers(topology.allowed.pus.clone()), topology.machine_has_one_node(), config.huge_pages);
        let suite = ThreadSuite::new(list, self.options.size, memory);
        for node in &self.nodes {
            let smaller = "ask for a smaller --class or --size, fewer --threads or fewer --kernels";
            fits(
                "the kernels",
                &format!("NUMA node {node}"),
                topology.memory_bytes(*node),
                suite.bytes_on(*node),
                smaller,
            )?;
        }
        let matrix = self.matrix();
        Ok(Experiment {
            known: Beforehand { kernels, ..Beforehand::default() },
            command: "kernels",
            suite: Arc::new(suite),
            workers: self.workers.into_iter().flatten().collect(),
            engine: config.engine(),
            asked: asked(&cases, MemoryKind::Pageable, config.huge_pages),
            places: Plan { ranks: self.places, notes: Vec::new() },
            cases,
            mappings,
            matrices: vec![matrix],
        })
    }

    fn matrix(&self) -> Matrix {
        let columns = self.nodes.len();
        let mut workers = self.workers.iter();
        let row = |row: &Row| {
            let row_place = row.place.as_ref().ok();
            let mine = if row_place.is_some() { workers.next().cloned() } else { None }.unwrap_or_default();
            let places = |rank: usize| (0..columns).map(move |column| (rank * columns + column) as u32);
            MatrixRow {
                name: row.name.clone(),
                pus: mine.iter().map(|worker| worker.pu).collect(),
                memory_node: row_place.map(|row_place| row_place.node),
                ranks: mine.iter().flat_map(|worker| places(worker.rank)).collect(),
                group: Some(COPIES.to_owned()),
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
        let columns = self.nodes.iter().enumerate().map(column).collect();
        Matrix { title: "cores and memory".to_owned(), compares: Compares::Columns, rows, columns }
    }
}
