//! Kernels between the memory of each row and each GPU: with their transfers, on data that stays there, and
//! the two copies by which losses are predicted.
//!
//! A rank of the engine is a row: one thread on one PU, whose memory is placed and pinned once and goes from
//! GPU to GPU and from kernel to kernel.

use std::sync::Arc;
use std::time::Duration;

use device::{MathLibrary, Platform};
use engine::{EngineConfig, Order, PlacingRules};
use kernels::{By, COPY_BYTES, GpuCase, GpuRound, GpuSuite, Kernel, Problem, RankPlace};
use placement::{Row, Target, TargetId};
use report::kernels::{COPIES, RESIDENT};
use report::settings::{Direction, MemoryKind};
use stats::units::counted;
use topo::Topology;

use crate::backends::FoundPlatform;
use crate::budget::{fits, fits_on};
use crate::columns::name_of;
use crate::config;
use crate::exit::Exit;
use crate::experiment::{Beforehand, DocumentCase, Experiment, RequestedSettings};
use crate::fault::Fault;
use crate::gpu_places::GpuPlaces;
use crate::kernel_facts::figures;
use crate::options::ComputingOptions;
use crate::settings;

/// What is computed where.
pub(crate) struct GpuKernels<'a> {
    options: &'a ComputingOptions,
    kernels: Vec<Kernel>,
    places: GpuPlaces,
    targets: Vec<Target>,
}

impl<'a> GpuKernels<'a> {
    /// The kernels that `options` ask for between these rows and targets.
    ///
    /// # Errors
    /// Nothing can be measured: no row with memory, or no device.
    pub(crate) fn new(
        options: &'a ComputingOptions,
        rows: Vec<Row>,
        targets: Vec<Target>,
    ) -> Result<Self, Fault> {
        let places = GpuPlaces::of_rows(rows, &targets).unless_none()?;
        Ok(Self { options, kernels: options.asked()?, places, targets })
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
        self.places.count() * self.whats().len()
    }

    /// How long measuring goes on at most.
    pub(crate) fn max_time(&self) -> Option<Duration> {
        config::time_for(&self.options.measuring, self.figures())
    }

    /// The figures to be taken, in words.
    pub(crate) fn figures_description(&self) -> String {
        let names: Vec<&str> = self.kernels.iter().map(|kernel| kernel.name()).collect();
        let ComputingOptions { size, iterations, .. } = self.options;
        let (names, figures) = (names.join(", "), counted(self.figures(), "figure"));
        let iterations = counted(*iterations as usize, "iteration");
        let by = if self.options.vendor { ", by the vendor's libraries where they have it" } else { "" };
        format!("{names} of {size}{by}: {iterations} with transfers, and alone; {figures}")
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
        let by = if self.options.vendor { By::Library } else { By::Gpu };
        let problem = |kernel: Kernel| kernel.problem(by, self.options.size);
        let kernel_figures = |kernel: &Kernel| {
            let library = kernel.library().filter(|_| self.options.vendor);
            let found = library.map(|library| vendors(&*found.platform, *kernel, library)).transpose()?;
            Ok(figures(*kernel, &*problem(*kernel), self.options.iterations, found))
        };
        let kernels: Vec<_> = self.kernels.iter().map(kernel_figures).collect::<Result<_, Fault>>()?;
        let whats = self.whats();
        let case = |what: &GpuRound| document_case(*what, what.kernel().map(problem).as_deref());
        let figures = self.places.figures(whats.iter().map(case));
        let engine = EngineConfig { max_time: self.max_time(), ..self.options.measuring.engine };
        let rules = PlacingRules::on(topology, engine.huge_pages);
        let cases = gpu_cases(&whats, &self.places);
        let suite =
            GpuSuite::new(cases, self.places.ranks(), (by, self.options.size), &found.platform, rules);
        let need = |bytes: &str| {
            format!("the kernels need {bytes} there; ask for a smaller --class or --size, or fewer --kernels")
        };
        let nodes =
            self.places.ranks().into_iter().map(|RankPlace { node, .. }| (node, suite.bytes_on(node)));
        fits_on(topology, nodes, need)?;
        for target in &self.targets {
            fits(&name_of(target), device_bytes(target.id), suite.device_bytes(), need)?;
        }

        Ok(Experiment {
            known: Beforehand { kernels, ..Beforehand::default() },
            command: "kernels",
            suite: Arc::new(suite),
            workers: self.places.workers(),
            engine,
            asked: RequestedSettings::of_cases(&figures.cases),
            places: self.places.plan(topology),
            figures,
            matrices: vec![self.places.matrix("host memory and GPUs", Some(COPIES), topology, found)],
        })
    }
}

/// Each of these rounds at every place, one place after the other.
pub(crate) fn gpu_cases(whats: &[GpuRound], places: &GpuPlaces) -> Vec<GpuCase> {
    let at_all = |what: &GpuRound| {
        let what = *what;
        places.each().map(move |(rank, target)| GpuCase { what, rank: rank.rank, target: target.id })
    };
    whats.iter().flat_map(at_all).collect()
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
