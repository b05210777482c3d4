//! Sizes against each GPU: each rank in its own place, one after the other, every size by one clock, so that
//! one line can go through the times.

use std::sync::Arc;

use device::{Direction, MemoryKind, PlatformKind};
use engine::{Order, PlacingRules};
use pingpong::{Cells, CopySuite, RunConfig, device_bytes};
use placement::{Membind, Plan, RankPlan, Request, Target, TargetId};
use stats::units::{counted, parse_sizes};
use topo::{Survey, Topology};

use crate::backends::{self, FoundPlatform, Untouched};
use crate::budget::{budget, budget_untouched};
use crate::config;
use crate::document::of_experiment::name_of;
use crate::driver::{Making, Measurement, chosen};
use crate::experiment::{Beforehand, CaseMap, DocumentCase, Experiment, RequestedSettings};
use crate::fault::Fault;
use crate::options::{Measuring, SweepOptions};
use crate::outline::{Outline, engine_and_clock};
use crate::pieces::PieceSweep;

/// The largest size when none is asked for, and the part of a place's memory that it may take.
const LARGEST: u64 = 1 << 30;
const PART: u64 = 8;

/// What is copied.
pub struct Sweep {
    /// The run.
    pub config: RunConfig,
    plan: Plan,
    copies: Vec<pingpong::CopyCase>,
}

impl Sweep {
    /// The copies that `args` ask for by the ranks of `plan`, up to `largest` where no size is asked for, or
    /// less where `smallest`, the memory of the smallest
    /// place that takes part (bytes, where it is known), has no room for it.
    ///
    /// # Errors
    /// Sizes that this machine cannot address.
    pub fn new(
        args: &SweepOptions,
        kind: PlatformKind,
        plan: Plan,
        smallest: Option<u64>,
        largest: u64,
    ) -> Result<Self, Fault> {
        let mut config = config::measuring(&args.measuring);
        config.by = args.engine;
        let sizes = match &args.sizes {
            Some(sizes) => sizes.clone(),
            None => {
                // Every size is twice the one before it.
                let fits = smallest.map_or(LARGEST, |bytes| 1 << (bytes / PART).max(4).ilog2());
                parse_sizes(&format!("4B..{}B", largest.min(fits))).map_err(Fault::usage)?
            }
        };
        config.sizes =
            sizes.into_iter().map(usize::try_from).collect::<Result<_, _>>().map_err(Fault::usage)?;
        config.memory = config::memory_kinds(&args.memory, kind);
        config.directions = config::unique(&args.directions);
        config.orders = vec![Order::Alone];
        config.timing = args.timing;
        let staged = |case: &pingpong::CopyCase| {
            case.memory == MemoryKind::Pageable && case.direction == Direction::Bidirectional
        };
        let copies: Vec<pingpong::CopyCase> =
            pingpong::CopyCase::all(&config).into_iter().filter(|case| !staged(case)).collect();
        config.max_time = config::time_for(&args.measuring, copies.len() * plan.ranks.len());
        Ok(Self { config, plan, copies })
    }

    /// The figures to be taken, in words.
    pub fn figures_description(&self) -> String {
        let memory: Vec<&str> = self.config.memory.iter().map(|kind| kind.name()).collect();
        let ways: Vec<&str> = self.config.directions.iter().map(|way| way.name()).collect();
        let (first, last) = (self.config.sizes.first().copied().unwrap_or(0), self.config.largest());
        let size = |bytes: usize| stats::units::size(bytes as u64);
        let sizes = match self.config.sizes.len() {
            1 => size(first),
            several => format!("{several} sizes from {} to {}", size(first), size(last)),
        };
        format!(
            "{sizes}; {} memory; {}{}; {}",
            memory.join(", "),
            ways.join(", "),
            engine_and_clock(&self.config),
            counted(self.copies.len() * self.plan.ranks.len(), "figure")
        )
    }

    /// The experiment, on this platform.
    pub fn experiment(self, topology: &Topology, found: &FoundPlatform) -> Experiment {
        let Self { config, plan, copies } = self;
        let rules = PlacingRules::on(topology, config.huge_pages);
        let list: Vec<(pingpong::CopyCase, Cells)> = copies.iter().map(|copy| (*copy, Cells::Own)).collect();
        let suite = CopySuite::of(&config, &plan.ranks, &list, &found.platform, rules);
        let mut figures = CaseMap::default();
        let places: Vec<(usize, usize)> = plan.ranks.iter().map(|rank| (rank.rank, rank.rank)).collect();
        for (at, copy) in copies.iter().enumerate() {
            figures.add(at, DocumentCase::of_copies(copy, None), places.clone());
        }
        Experiment {
            known: Beforehand::default(),
            command: "sweep",
            suite: Arc::new(suite),
            workers: pingpong::workers(&plan.ranks),
            engine: config.engine(),
            figures,
            matrices: Vec::new(),
            asked: RequestedSettings::of_copies(&config),
            places: plan,
        }
    }
}

impl Measurement for SweepOptions {
    fn command(&self) -> &'static str {
        "sweep"
    }

    fn measuring(&self) -> &Measuring {
        &self.measuring
    }

    fn outline(&self, survey: &Survey, untouched: Untouched) -> Result<Outline, Fault> {
        let Untouched { kind, targets, source } = untouched;
        let planned = self.planned(survey, targets)?;
        let columns = planned.ranks.iter().map(|rank| name_of(&rank.target)).collect();
        if let Some(pieces) = &self.pieces {
            let sending = PieceSweep::new(self, pieces, (survey, kind), &planned)?;
            let (figures, max_time) = (sending.figures_description(), sending.max_time());
            return Ok(Outline {
                source,
                rows: sending.places.rows,
                columns,
                figures,
                max_time,
                how: Vec::new(),
            });
        }
        let sweep = self.listed(survey, kind, planned.clone(), |_| None)?;
        budget_untouched(&sweep.config, &planned, &survey.topology)?;
        Ok(Outline {
            source,
            rows: Vec::new(),
            columns,
            figures: sweep.figures_description(),
            max_time: sweep.config.max_time,
            how: Vec::new(),
        })
    }

    fn experiment(&self, survey: &Survey, found: &FoundPlatform, _: Making) -> Result<Experiment, Fault> {
        let planned = self.planned(survey, backends::targets(&*found.platform))?;
        if let Some(pieces) = &self.pieces {
            let kind = found.platform.facts().kind;
            return PieceSweep::new(self, pieces, (survey, kind), &planned)?
                .experiment(&survey.topology, found);
        }
        let of_device = |target| device_bytes(&*found.platform, target);
        let sweep = self.listed(survey, found.platform.facts().kind, planned.clone(), of_device)?;
        budget(&sweep.config, &planned, &survey.topology, found)?;
        Ok(sweep.experiment(&survey.topology, found))
    }
}

impl SweepOptions {
    /// A rank for each GPU that was named, or for the first.
    fn planned(&self, survey: &Survey, available: Vec<Target>) -> Result<Plan, Fault> {
        let mut targets = chosen(self.measuring.gpus.as_ref(), available.clone())?;
        if self.measuring.gpus.is_none() {
            targets.truncate(1);
        }
        let request = Request { cpus: None, targets: Some(targets), available, membind: Membind::Local };
        placement::plan(&survey.topology, &request).map_err(Fault::usage)
    }

    fn listed(
        &self,
        survey: &Survey,
        kind: PlatformKind,
        plan: Plan,
        device: impl Fn(TargetId) -> Option<u64>,
    ) -> Result<Sweep, Fault> {
        let topology = &survey.topology;
        let of = |rank: &RankPlan| [topology.usable_bytes(rank.memory_node), device(rank.target.id)];
        let smallest = plan.ranks.iter().flat_map(of).flatten().min();
        // The end of a sweep without a GPU is beyond the cache too.
        let beyond = config::copy_size(topology, kind, plan.ranks.len()).next_power_of_two();
        Sweep::new(self, kind, plan, smallest, LARGEST.max(beyond))
    }
}
