//! Kernels on the cores of each row with the memory of each node, where no GPU takes part: the CPU's own
//! table of losses.
//!
//! Each thread is a rank of the engine on a core of its own, with a problem of its own; those of a row run
//! at the same time, and their rates are added up.

use std::sync::Arc;
use std::time::Duration;

use engine::{EngineConfig, Order, PlacingRules};
use kernels::{By, Kernel, ThreadCase, ThreadSuite};
use placement::Row;
use report::kernels::COPIES;
use report::settings::{Direction, MemoryKind};
use stats::units::counted;
use topo::Topology;

use crate::budget::fits_on;
use crate::config;
use crate::experiment::{Beforehand, CaseMap, DocumentCase, Experiment, RequestedSettings};
use crate::fault::Fault;
use crate::kernel_facts::figures;
use crate::options::ComputingOptions;
use crate::row_threads::RowThreads;

/// What is computed by whom.
pub(crate) struct ThreadKernels<'a> {
    options: &'a ComputingOptions,
    kernels: Vec<Kernel>,
    threads: RowThreads,
}

impl<'a> ThreadKernels<'a> {
    /// The kernels that `options` ask for on these rows' cores with the memory of these nodes.
    ///
    /// # Errors
    /// Nothing can be measured.
    pub(crate) fn new(options: &'a ComputingOptions, rows: Vec<Row>, nodes: Vec<u32>) -> Result<Self, Fault> {
        let threads = RowThreads::new(rows, nodes, options.threads)?;
        Ok(Self { options, kernels: options.asked()?, threads })
    }

    fn figures(&self) -> usize {
        self.threads.workers.len() * self.threads.nodes.len() * self.kernels.len()
    }

    /// How long measuring goes on at most.
    pub(crate) fn max_time(&self) -> Option<Duration> {
        config::time_for(&self.options.measuring, self.figures())
    }

    /// The figures to be taken, in words.
    pub(crate) fn figures_description(&self) -> String {
        let names: Vec<&str> = self.kernels.iter().map(|kernel| kernel.name()).collect();
        let threads = self.threads.description();
        format!(
            "{} of {} by CPUs; {threads}{}",
            names.join(", "),
            self.options.size,
            counted(self.figures(), "figure")
        )
    }

    /// The experiment.
    ///
    /// # Errors
    /// Which node has too little memory.
    pub(crate) fn experiment(self, topology: &Topology) -> Result<Experiment, Fault> {
        let (mut all_figures, mut list, mut kernels) = (CaseMap::default(), Vec::new(), Vec::new());
        let threads = &self.threads;
        for kernel in &self.kernels {
            let problem = kernel.problem(By::Thread, self.options.size);
            kernels.push(figures(*kernel, &*problem, 1, None));
            for (row, ranks) in threads.measured() {
                for (column, node) in threads.nodes.iter().enumerate() {
                    let case = DocumentCase {
                        order: Order::of(ranks.len()),
                        memory: MemoryKind::Pageable,
                        direction: Direction::Kernel,
                        bytes: (problem.layout().input + problem.layout().output) as u64,
                        range_bytes: None,
                        group: Some(format!("{}, {row}, memory of node {node}", kernel.name())),
                    };
                    all_figures.add(list.len(), case, threads.places(&ranks, column));
                    list.push(ThreadCase { kernel: *kernel, node: *node, ranks: ranks.clone() });
                }
            }
        }

        let engine = EngineConfig { max_time: self.max_time(), ..self.options.measuring.engine };
        let rules = PlacingRules::on(topology, engine.huge_pages);
        let suite = ThreadSuite::new(list, self.options.size, rules);
        fits_on(topology, threads.nodes.iter().map(|node| (*node, suite.bytes_on(*node))), |bytes| {
            let smaller = "ask for a smaller --class or --size, fewer --threads or fewer --kernels";
            format!("the kernels need {bytes} there; {smaller}")
        })?;

        Ok(Experiment {
            known: Beforehand { kernels, ..Beforehand::default() },
            command: "kernels",
            suite: Arc::new(suite),
            workers: threads.all(),
            engine,
            asked: RequestedSettings::of_cases(&all_figures.cases),
            places: threads.plan(topology),
            figures: all_figures,
            matrices: vec![threads.matrix(Some(COPIES))],
        })
    }
}
