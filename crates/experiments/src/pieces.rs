//! Many small pieces between host memory and a GPU, by each way of sending them: which is worth it from which
//! size of piece on.

use std::sync::Arc;

use device::{Direction, MemoryKind, PlatformKind};
use engine::{EngineConfig, PlacingRules};
use kernels::{By, GpuRound, GpuSuite, Pieces, ProblemSize, RankPlace, Scattered, TransferMethod};
use pingpong::device_bytes;
use placement::{Plan, Row, Target};
use report::settings::TimingAsked;
use stats::units::counted;
use topo::Topology;

use crate::backends::FoundPlatform;
use crate::budget::{fits, fits_on};
use crate::columns::name_of;
use crate::config;
use crate::experiment::{Beforehand, Experiment, RequestedSettings};
use crate::fault::Fault;
use crate::gpu_kernels::{document_case, gpu_cases};
use crate::gpu_places::GpuPlaces;
use crate::options::{SmallPiecesOptions, SweepOptions};
use crate::settings;

/// What is sent where.
pub(crate) struct PieceSweep<'a> {
    asked: &'a SmallPiecesOptions,
    options: &'a SweepOptions,
    pub(crate) places: GpuPlaces,
}

impl<'a> PieceSweep<'a> {
    /// Pieces from each rank of `near` to its GPU, or from every row where rows are asked for.
    ///
    /// # Errors
    /// What pieces cannot be sent by, and what can be done.
    pub(crate) fn new(
        options: &'a SweepOptions,
        asked: &'a SmallPiecesOptions,
        (kind, rows): (PlatformKind, Option<Vec<Row>>),
        near: &Plan,
    ) -> Result<Self, Fault> {
        let refused = |why: &str| Err(Fault::usage(why.to_owned()));
        if options.directions.iter().any(|way| !matches!(way, Direction::H2d | Direction::D2h)) {
            return refused("--pieces go one way at a time; ask for --direction h2d, d2h or both of them");
        }

        if options.memory.iter().any(|memory| *memory != MemoryKind::Pinned) {
            return refused(
                "--pieces lie in pinned memory, which alone is copied asynchronously; leave out --memory",
            );
        }

        let grain = kernels::PIECE_GRAIN as u64;

        if let Some(size) = asked.sizes.iter().find(|size| **size == 0 || !size.is_multiple_of(grain)) {
            return Err(Fault::usage(format!(
                "a piece of {size} B is no multiple of 4 KiB; ask for --pieces 4KiB..1MiB"
            )));
        }

        if let Some(size) = asked.sizes.iter().find(|size| **size > asked.total) {
            let [size, total] = [*size, asked.total].map(stats::units::size);
            return Err(Fault::usage(format!(
                "a piece of {size} is more than all of them, {total}; ask for a larger --total"
            )));
        }

        if u32::try_from(asked.total / grain).is_err() {
            return refused("--total is more than pieces can be counted; ask for less than 16 TiB");
        }

        if kind == PlatformKind::Host {
            let why = options.measuring.backend.without_gpu();
            return refused(&format!(
                "--pieces needs a GPU, and {why}; leave it out to sweep sizes of single copies"
            ));
        }

        let targets: Vec<Target> = near.ranks.iter().map(|rank| rank.target.clone()).collect();
        let of_rows = |rows| GpuPlaces::of_rows(rows, &targets);
        Ok(Self { asked, options, places: rows.map_or_else(|| GpuPlaces::of_plan(near), of_rows) })
    }

    fn ways(&self) -> Vec<TransferMethod> {
        config::unique(&self.asked.ways)
    }

    fn each(&self) -> Vec<Pieces> {
        let mut all = Vec::new();
        let total = self.asked.total as usize;
        for direction in config::unique(&self.options.directions) {
            for bytes in self.asked.sizes.iter().map(|size| *size as usize) {
                all.extend(self.ways().into_iter().map(|way| Pieces {
                    way,
                    to_device: direction == Direction::H2d,
                    bytes,
                    count: total / bytes,
                    room: total.next_multiple_of(kernels::PIECE_GRAIN),
                    scattered: self.asked.scattered,
                }));
            }
        }
        all
    }

    fn figures(&self) -> usize {
        self.places.count() * self.each().len()
    }

    /// How long measuring goes on at most.
    pub(crate) fn max_time(&self) -> Option<std::time::Duration> {
        config::time_for(&self.options.measuring, self.figures())
    }

    /// The figures to be taken, in words.
    pub(crate) fn figures_description(&self) -> String {
        let ways: Vec<&str> = self.ways().into_iter().map(|way| settings::way(way).name()).collect();
        let sizes: Vec<String> = self.asked.sizes.iter().map(|size| stats::units::size(*size)).collect();
        let total = stats::units::size(self.asked.total);
        let directions: Vec<&str> =
            config::unique(&self.options.directions).iter().map(|way| way.name()).collect();
        let lie = match self.asked.scattered {
            Scattered::Both => "",
            Scattered::Host => ", scattered in host memory alone",
            Scattered::Device => ", scattered on the GPU alone",
        };

        format!(
            "{total} in pieces of {}{lie}; {}; {}; {}",
            sizes.join(", "),
            directions.join(", "),
            ways.join(", "),
            counted(self.figures(), "figure")
        )
    }

    /// The experiment, on this platform.
    ///
    /// # Errors
    /// Which place has too little memory.
    pub(crate) fn experiment(self, topology: &Topology, found: &FoundPlatform) -> Result<Experiment, Fault> {
        let whats: Vec<GpuRound> = self.each().into_iter().map(GpuRound::Pieces).collect();
        let figures = self.places.figures(whats.iter().map(|what| document_case(*what, None)));
        let cases = gpu_cases(&whats, &self.places);
        let engine = EngineConfig { max_time: self.max_time(), ..self.options.measuring.engine };
        let rules = PlacingRules::on(topology, engine.huge_pages);
        let suite = GpuSuite::new(
            cases,
            self.places.ranks(),
            (By::Gpu, ProblemSize::default()),
            &found.platform,
            rules,
        );

        let need = |bytes: &str| format!("the pieces need {bytes} there; ask for a smaller --total");
        let nodes =
            self.places.ranks().into_iter().map(|RankPlace { node, .. }| (node, suite.bytes_on(node)));
        fits_on(topology, nodes, need)?;
        for (_, target) in self.places.each() {
            let has = device_bytes(&*found.platform, target.id);
            fits(&name_of(target), has, suite.device_bytes(), need)?;
        }

        Ok(Experiment {
            known: Beforehand {
                pieces: Some(report::pieces::Pieces {
                    total_bytes: self.asked.total,
                    scattered: settings::scattered(self.asked.scattered),
                    worth: Vec::new(),
                }),
                ..Beforehand::default()
            },
            command: "sweep",
            suite: Arc::new(suite),
            workers: self.places.workers(),
            engine,
            places: self.places.plan(topology),
            asked: RequestedSettings {
                sizes: self.asked.sizes.clone(),
                timing: Some(TimingAsked::Host),
                ..RequestedSettings::of_cases(&figures.cases)
            },
            figures,
            matrices: Vec::new(),
        })
    }
}
