//! Kernels between the memory of each row and each GPU: with their transfers, on data that stays there, and the two copies by which losses are predicted.
//!
//! A rank of the engine is a row: one thread on one PU, whose memory is placed and pinned once and goes from GPU to GPU and from kernel to kernel.

use std::sync::Arc;
use std::time::Duration;

use device::{MathLibrary, Platform};
use engine::{Helpers, Order, Worker};
use kernels::{By, COPY_BYTES, GpuCase, GpuRound, GpuSuite, Kernel, Problem, RankPlace};
use placement::{Plan, RankPlan, Row, Target, TargetId};
use report::kernels::{COPIES, RESIDENT};
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::settings::{CopyEngine, Direction, MemoryKind};
use stats::IdSet;
use topo::Topology;

use crate::backends::FoundPlatform;
use crate::config;
use crate::document::of_experiment::{declared_nodes, name_of};
use crate::document::settings;
use crate::exit::Exit;
use crate::experiment::{Beforehand, CaseMapping, DocumentCase, Experiment, RequestedSettings, numbered, place};
use crate::fault::Fault;
use crate::kernel_facts::{figures, fits};
use crate::options::ComputingOptions;

/// What is computed where.
pub(crate) struct GpuKernels<'a> {
    options: &'a ComputingOptions,
    kernels: Vec<Kernel>,
    rows: Vec<Row>,
    targets: Vec<Target>,
    /// The engine's ranks, a row each.
    ranks: Vec<RankPlace>,
    /// A row and a GPU each.
    places: Vec<RankPlan>,
}

impl<'a> GpuKernels<'a> {
    /// The kernels that `options` ask for between these rows and targets.
    ///
    /// # Errors
    /// Nothing can be measured: no row with memory, or no device.
    pub(crate) fn new(
        options: &'a ComputingOptions,
        topology: &Topology,
        rows: Vec<Row>,
        targets: Vec<Target>,
    ) -> Result<Self, Fault> {
        let (mut ranks, mut places) = (Vec::new(), Vec::new());
        for row_place in rows.iter().filter_map(|row| row.place.as_ref().ok()) {
            ranks.push(RankPlace { rank: ranks.len(), pu: row_place.pu(), node: row_place.node });
            for target in &targets {
                places.push(place(topology, places.len(), row_place.pu(), row_place.node, target.clone()));
            }
        }
        if places.is_empty() {
            let why = "no row can be measured: this process may use no memory, or there is no device";
            return Err(Fault::new(Exit::NoResult, why));
        }
        Ok(Self { options, kernels: options.asked()?, rows, targets, ranks, places })
    }

    /// The cases of one place.
    fn whats(&self) -> Vec<GpuRound> {
        let iterations = self.options.iterations;
        let of = |kernel: &Kernel| {
            [GpuRound::WithTransfers { kernel: *kernel, iterations }, GpuRound::Resident { kernel: *kernel }]
        };
        [GpuRound::ToDevice, GpuRound::ToHost].into_iter().chain(self.kernels.iter().flat_map(of)).collect()
    }

    fn figures(&self) -> usize {
        self.places.len() * self.whats().len()
    }

    /// How long measuring goes on at most.
    pub(crate) fn max_time(&self) -> Duration {
        config::time_for(&self.options.measuring, self.figures())
    }

    /// The figures to be taken, in words.
    pub(crate) fn figures_description(&self) -> String {
        let names: Vec<&str> = self.kernels.iter().map(|kernel| kernel.name()).collect();
        let ComputingOptions { size, iterations, .. } = self.options;
        let s = if *iterations == 1 { "" } else { "s" };
        let (names, figures) = (names.join(", "), self.figures());
        format!("{names} of {size}: {iterations} iteration{s} with transfers, and alone; {figures} figures")
    }

    /// The experiment, on this platform.
    ///
    /// # Errors
    /// Which place has too little memory.
    pub(crate) fn experiment(
        self,
        topology: &Topology,
        found: &FoundPlatform,
        device_bytes: impl Fn(TargetId) -> Option<u64>,
    ) -> Result<Experiment, Fault> {
        let (mut cases, mut mappings, mut list) = (Vec::new(), Vec::new(), Vec::new());
        let columns = self.targets.len();
        let by = if self.options.vendor { By::Library } else { By::Gpu };
        let problem = |kernel: Kernel| kernel.problem(by, self.options.size);
        let figures = |kernel: &Kernel| {
            let library = kernel.library().filter(|_| self.options.vendor);
            let found = library.map(|library| vendors(&*found.platform, *kernel, library)).transpose()?;
            Ok(figures(*kernel, &*problem(*kernel), self.options.iterations, found))
        };
        let kernels: Vec<_> = self.kernels.iter().map(figures).collect::<Result<_, Fault>>()?;
        for what in self.whats() {
            let case = numbered(&mut cases, document_case(what, what.kernel().map(problem).as_deref()));
            for rank in &self.ranks {
                for (column, target) in self.targets.iter().enumerate() {
                    let places = vec![(rank.rank, rank.rank * columns + column)];
                    mappings.push(CaseMapping { at: list.len(), case, places });
                    list.push(GpuCase { what, rank: rank.rank, target: target.id });
                }
            }
        }
        let mut config = config::measuring(&self.options.measuring);
        config.max_time = self.max_time();
        let memory = (Helpers(topology.allowed.pus.clone()), topology.machine_has_one_node(), config.huge_pages);
        let suite = GpuSuite::new(list, self.ranks.clone(), (by, self.options.size), &found.platform, memory);
        let smaller = "ask for a smaller --class or --size, or fewer --kernels";
        for rank in &self.ranks {
            let (node, needs) = (rank.node, suite.bytes_on(rank.node));
            fits("the kernels", &format!("NUMA node {node}"), topology.memory_bytes(node), needs, smaller)?;
        }
        for target in &self.targets {
            fits("the kernels", &name_of(target), device_bytes(target.id), suite.device_bytes(), smaller)?;
        }
        let matrix = self.matrix(topology, found);
        Ok(Experiment {
            known: Beforehand { kernels, ..Beforehand::default() },
            command: "kernels",
            suite: Arc::new(suite),
            workers: self.ranks.iter().map(|rank| Worker { rank: rank.rank, pu: rank.pu }).collect(),
            engine: config.engine(),
            asked: asked(&cases, MemoryKind::Pinned, config.huge_pages),
            places: Plan { ranks: self.places, notes: Vec::new() },
            cases,
            mappings,
            matrices: vec![matrix],
        })
    }

    fn matrix(&self, topology: &Topology, found: &FoundPlatform) -> Matrix {
        let columns = self.targets.len() as u32;
        let mut next = 0;
        let row = |row: &Row| {
            let row_place = row.place.as_ref().ok();
            let ranks: IdSet = if row_place.is_some() { (next..next + columns).collect() } else { IdSet::default() };
            next += ranks.len() as u32;
            MatrixRow {
                name: row.name.clone(),
                pus: row_place.map(|row_place| row_place.pu()).into_iter().collect(),
                memory_node: row_place.map(|row_place| row_place.node),
                group: Some(COPIES.to_owned()),
                reason: row.place.as_ref().err().cloned(),
                note: row_place.and_then(|row_place| row_place.note.clone()),
                ranks,
            }
        };
        let rows = self.rows.iter().map(row).collect();
        let column = |(at, target): (u32, &Target)| MatrixColumn {
            name: name_of(target),
            device: target.id.to_string(),
            ranks: (0..self.places.len() as u32).filter(|place| place % columns == at).collect(),
            declared_nodes: declared_nodes(topology, found, target.id),
        };
        let columns = (0..).zip(&self.targets).map(column).collect();
        Matrix { title: "host memory and GPUs".to_owned(), compares: Compares::Rows, rows, columns }
    }
}

/// The vendor's library that computes a kernel, with its version.
fn vendors(platform: &dyn Platform, kernel: Kernel, library: MathLibrary) -> Result<String, Fault> {
    platform
        .math_library(library)
        .map_err(|error| Fault::new(Exit::NoResult, format!("{kernel} with --vendor: {error}")))
}

/// The document's case of what is done.
pub(crate) fn document_case(what: GpuRound, problem: Option<&dyn Problem>) -> DocumentCase {
    let moved = match (what, problem) {
        (GpuRound::Pieces(pieces), _) => pieces.bytes,
        (_, Some(problem)) => problem.layout().input + problem.layout().output,
        (_, None) => COPY_BYTES,
    };
    let (direction, group) = match what {
        GpuRound::Pieces(pieces) => (
            if pieces.to_device { Direction::H2d } else { Direction::D2h },
            settings::way(pieces.way).name().to_owned(),
        ),
        GpuRound::ToDevice => (Direction::H2d, COPIES.to_owned()),
        GpuRound::ToHost => (Direction::D2h, COPIES.to_owned()),
        GpuRound::WithTransfers { kernel, .. } => (Direction::Kernel, kernel.name().to_owned()),
        GpuRound::Resident { kernel } => (Direction::Kernel, format!("{}{RESIDENT}", kernel.name())),
    };
    DocumentCase {
        order: Order::Alone,
        memory: MemoryKind::Pinned,
        direction,
        bytes: moved as u64,
        range_bytes: None,
        group: Some(group),
    }
}

/// What is asked for, as documents have it.
pub(crate) fn asked(cases: &[DocumentCase], memory: MemoryKind, huge_pages: bool) -> RequestedSettings {
    let mut sizes: Vec<u64> = cases.iter().map(|case| case.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    RequestedSettings {
        sizes,
        directions: config::unique(&cases.iter().map(|case| case.direction).collect::<Vec<_>>()),
        memory: vec![memory],
        huge_pages,
        engine: CopyEngine::Ce,
        timing: None,
    }
}
