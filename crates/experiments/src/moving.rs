//! Memory whose pages go to whoever touches them, managed by the driver or the system's own: what the first
//! touch costs the GPU and the core, what later ones do, and a prefetch.

use std::sync::Arc;
use std::time::Duration;

use device::{Direction, PlatformKind};
use engine::{Amount, EngineConfig};
use kernels::{Moving, MovingCase, MovingSuite, RankPlace, Side};
use pingpong::device_bytes;
use placement::{Membind, Request, Target, rows};
use report::settings::{CopyEngine, TimingAsked};
use stats::touch::Touch;
use stats::units::{counted, size};
use topo::Survey;

use crate::backends::{self, FoundPlatform, Untouched};
use crate::budget::{fits, fits_on};
use crate::columns::name_of;
use crate::config;
use crate::driver::{Making, Measurement, chosen};
use crate::experiment::{Beforehand, DocumentCase, Experiment, RequestedSettings};
use crate::fault::Fault;
use crate::gpu_places::GpuPlaces;
use crate::options::{Measuring, MovingOptions};
use crate::outline::Outline;
use crate::settings;

/// Sizes of a sweep where none are given.
const SIZES: [u64; 5] = [1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20];

/// What is touched where.
struct Planned {
    places: GpuPlaces,
    touches: Vec<Moving>,
}

impl Planned {
    fn figures(&self) -> usize {
        self.places.count() * self.touches.len()
    }
}

impl MovingOptions {
    /// Itself where memory that moves is asked for; none where other memory is.
    ///
    /// # Errors
    /// What such memory is not measured with, and what can be done.
    pub fn where_asked_for(self) -> Result<Option<Self>, Fault> {
        let (memory, with) = (&self.kinds, &self);
        if !memory.iter().any(|kind| kind.moves()) {
            return Ok(None);
        }
        let refused = |why: &str| Err(Fault::usage(why.to_owned()));

        if memory.iter().any(|kind| !kind.moves()) {
            return refused(
                "managed and system memory are touched, and other kinds copied: ask for them in runs of \
                 their own",
            );
        }

        if matches!(with.measuring.engine.amount, Amount::Fixed { .. }) {
            return refused(
                "--memory managed and system: each block is one round; leave out --reps, or limit the time \
                 with --max-time",
            );
        }

        if !with.measuring.engine.verify {
            return refused(
                "--memory managed and system: what verifies it is what makes its pages move; leave out \
                 --no-verify",
            );
        }

        let grain = kernels::MOVING_GRAIN as u64;

        if let Some(odd) = with.sizes.iter().flatten().find(|size| **size == 0 || !size.is_multiple_of(grain))
        {
            return Err(Fault::usage(format!(
                "{odd} B is no multiple of {grain} B; ask for --size 1MiB..256MiB"
            )));
        }
        Ok(Some(Self { kinds: config::unique(memory), ..self }))
    }

    fn sizes(&self) -> Vec<u64> {
        self.sizes.clone().unwrap_or_else(|| SIZES.to_vec())
    }

    fn touches(&self) -> Vec<Moving> {
        let sides = [(Direction::H2d, Side::Device), (Direction::D2h, Side::Core)];
        let sides: Vec<Side> = sides
            .into_iter()
            .filter(|(way, _)| self.directions.contains(way))
            .map(|(_, side)| side)
            .collect();
        let mut all = Vec::new();

        for kind in self.kinds.iter().copied() {
            for bytes in self.sizes().into_iter().map(|size| size as usize) {
                for (side, touch) in sides.iter().flat_map(|side| Touch::ALL.map(|touch| (*side, touch))) {
                    // Both sides take part in it: once for the two.
                    if touch != Touch::InTurns || (side == Side::Device && sides.len() > 1) {
                        all.push(Moving { kind, side, touch, bytes });
                    }
                }
            }
        }
        all
    }

    fn planned(&self, survey: &Survey, kind: PlatformKind, available: Vec<Target>) -> Result<Planned, Fault> {
        let refused = |why: &str| Err(Fault::usage(why.to_owned()));
        if kind == PlatformKind::Host {
            let why = self.measuring.backend.without_gpu();
            return refused(&format!("--memory managed and system need a GPU, and {why}"));
        }
        let touches = self.touches();

        if touches.is_empty() {
            return refused(
                "--memory managed and system: touched by the GPU (--direction h2d) and by the core (d2h); \
                 ask for one or both",
            );
        }

        let mut targets = chosen(self.measuring.gpus.as_ref(), available.clone())?;
        if let Some(by) = self.rows {
            return Ok(Planned { places: GpuPlaces::of_rows(rows(&survey.topology, by), &targets), touches });
        }

        // A sweep is of the first GPU unless others are named.
        if self.measuring.gpus.is_none() && self.command == "sweep" {
            targets.truncate(1);
        }
        let request =
            Request { cpus: self.cpus.clone(), targets: Some(targets), available, membind: Membind::Local };
        let plan = placement::plan(&survey.topology, &request).map_err(Fault::usage)?;
        Ok(Planned { places: GpuPlaces::of_plan(&plan), touches })
    }

    fn max_time(&self, planned: &Planned) -> Option<Duration> {
        config::time_for(&self.measuring, planned.figures())
    }
}

impl Measurement for MovingOptions {
    fn command(&self) -> &'static str {
        self.command
    }

    fn measuring(&self) -> &Measuring {
        &self.measuring
    }

    fn outline(&self, survey: &Survey, untouched: Untouched) -> Result<Outline, Fault> {
        let Untouched { kind, targets, source } = untouched;
        let planned = self.planned(survey, kind, targets)?;
        let sizes: Vec<String> = self.sizes().into_iter().map(size).collect();
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.name()).collect();

        Ok(Outline {
            source,
            columns: planned
                .places
                .each()
                .map(|(rank, target)| place_name(rank, target, self.cpus.is_some()))
                .collect(),
            figures: format!(
                "{} memory touched; {}; {}",
                kinds.join(", "),
                sizes.join(", "),
                counted(planned.figures(), "figure")
            ),
            max_time: self.max_time(&planned),
            how: Vec::new(),
            rows: planned.places.rows,
        })
    }

    fn experiment(&self, survey: &Survey, found: &FoundPlatform, _: Making) -> Result<Experiment, Fault> {
        let topology = &survey.topology;
        let planned =
            self.planned(survey, found.platform.facts().kind, backends::targets(&*found.platform))?;
        let Planned { places, touches } = &planned;
        let figures = places.figures(touches.iter().map(|moving| document_case(*moving)));
        let at_all = |moving: &Moving| {
            let moving = *moving;
            places.each().map(move |(rank, target)| MovingCase { moving, rank: rank.rank, target: target.id })
        };
        let cases = touches.iter().flat_map(at_all).collect();
        let engine = EngineConfig { max_time: self.max_time(&planned), ..self.measuring.engine };
        let suite = MovingSuite::new(cases, places.ranks(), &found.platform, engine.huge_pages);
        let need = |bytes: &str| format!("touches need {bytes} there; ask for a smaller --size");
        fits_on(topology, places.each().map(|(rank, _)| (rank.node, suite.bytes())), need)?;
        for (_, target) in places.each() {
            fits(&name_of(target), device_bytes(&*found.platform, target.id), suite.bytes(), need)?;
        }

        Ok(Experiment {
            known: Beforehand::default(),
            command: self.command,
            workers: places.workers(),
            suite: Arc::new(suite),
            engine,
            places: places.plan(topology),
            asked: RequestedSettings {
                sizes: self.sizes(),
                engine: CopyEngine::Sm,
                timing: Some(TimingAsked::Host),
                ..RequestedSettings::of_cases(&figures.cases)
            },
            figures,
            matrices: Vec::new(),
        })
    }
}

/// A GPU, with its PU where that was asked for.
fn place_name(rank: RankPlace, target: &Target, is_asked: bool) -> String {
    let pu = if is_asked { format!(" from PU {}", rank.pu) } else { String::new() };
    name_of(target) + &pu
}

/// The document's case of a touch.
fn document_case(moving: Moving) -> DocumentCase {
    let direction = match (moving.touch, moving.side) {
        (Touch::InTurns, _) => Direction::RoundTrip,
        (_, Side::Device) => Direction::H2d,
        (_, Side::Core) => Direction::D2h,
    };
    DocumentCase {
        order: engine::Order::Alone,
        memory: settings::memory(moving.kind),
        direction: settings::direction(direction),
        bytes: moving.bytes as u64,
        range_bytes: None,
        group: Some(moving.touch.name().to_owned()),
    }
}
