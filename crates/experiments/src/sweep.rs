//! Sizes against each GPU, one place after the other, every size by one clock, so that one line can go
//! through the times: from the memory near the GPU, or from that of each row of the machine.
//!
//! A row is a rank of the engine, whose memory is placed once and goes from GPU to GPU. All rows have a block
//! in each pass, so that what a far row loses is judged by the blocks of the same pass.

use std::sync::Arc;

use device::{Direction, MemoryKind, PlatformKind};
use engine::{Order, PlacingRules};
use kernels::RankPlace;
use pingpong::{BudgetError, Cells, CopyEnds, CopySuite, RunConfig, device_bytes};
use placement::{Membind, Plan, RankPlan, Request, Row, RowSelection, Target, TargetId, near_and_far, rows};
use stats::IdSet;
use stats::alike::distinct;
use stats::units::{counted, parse_sizes};
use topo::{Survey, Topology};

use crate::backends::{self, FoundPlatform, Untouched};
use crate::budget::short_of;
use crate::columns::{declared_nodes, name_of};
use crate::config;
use crate::driver::{Making, Measurement, chosen};
use crate::experiment::{Beforehand, CaseMap, DocumentCase, Experiment, RequestedSettings, place};
use crate::fault::Fault;
use crate::gpu_places::GpuPlaces;
use crate::matrix_parts::no_row;
use crate::options::{Measuring, SweepOptions};
use crate::outline::{Outline, engine_and_clock};
use crate::pieces::PieceSweep;

/// The largest size when none is asked for, and the part of a place's memory that it may take.
const LARGEST: u64 = 1 << 30;
const PART: u64 = 8;
/// The title of rows and GPUs.
const BY_ROW: &str = "host memory and GPUs";

/// Where copies are made.
struct SweepPlaces {
    /// The rows that were asked for, each with every GPU; none where each GPU has its near memory.
    rows: Option<GpuPlaces>,
    /// The engine's ranks: a row each, or a GPU each.
    ranks: Plan,
    /// The document's ranks: a row and a GPU each, or the engine's.
    plan: Plan,
}

impl SweepPlaces {
    fn of_rows(rows: Vec<Row>, targets: &[Target], topology: &Topology) -> Result<Self, Fault> {
        let places = GpuPlaces::of_rows(rows, targets).unless_none()?;
        let first = targets.first().ok_or_else(|| no_row(&[]))?;
        let rank = |row: RankPlace| place(topology, row.rank, row.pu, row.node, first.clone());
        let ranks = Plan { ranks: places.ranks().into_iter().map(rank).collect(), notes: Vec::new() };
        Ok(Self { plan: places.plan(topology), ranks, rows: Some(places) })
    }

    /// What a rank's node and GPU have for one of its ranges, bytes: the smallest of all places.
    fn smallest(&self, topology: &Topology, device: impl Fn(TargetId) -> Option<u64>) -> Option<u64> {
        let of = |at: &RankPlan| {
            let beside = self.ranks.ranks.iter().filter(|rank| rank.memory_node == at.memory_node).count();
            // GPUs with their near memory are few; rows can be as many as cores.
            let share = if self.rows.is_some() { beside as u64 } else { 1 };
            [topology.usable_bytes(at.memory_node).map(|bytes| bytes / share.max(1)), device(at.target.id)]
        };
        self.plan.ranks.iter().flat_map(of).flatten().min()
    }

    /// The first place that has too little memory; none where it is there.
    fn short_of(
        &self,
        config: &RunConfig,
        topology: &Topology,
        device: impl Fn(TargetId) -> Option<u64>,
    ) -> Option<BudgetError> {
        let Some(rows) = &self.rows else { return short_of(config, &self.plan, topology, device) };
        // A row's copier stays on its last GPU until the row's next copy: all can be on one.
        let targets = distinct(rows.each().map(|(_, target)| target.clone()));
        targets.into_iter().find_map(|target| {
            let moved = |rank: &RankPlan| RankPlan { target: target.clone(), ..rank.clone() };
            let ranks = self.ranks.ranks.iter().map(moved).collect();
            short_of(config, &Plan { ranks, notes: Vec::new() }, topology, &device)
        })
    }
}

/// What is copied.
struct Sweep {
    config: RunConfig,
    places: SweepPlaces,
    copies: Vec<pingpong::CopyCase>,
    /// The largest copy for which there is memory, where larger ones are asked for, and why they do not fit.
    room: Option<(usize, String)>,
}

impl Sweep {
    /// The copies that `args` ask for in `places`, up to `largest` where no size is asked for, or less where
    /// `smallest`, the memory of the smallest place that takes part (bytes, where it is known), has no room
    /// for it.
    ///
    /// # Errors
    /// Sizes that this machine cannot address.
    fn new(
        args: &SweepOptions,
        kind: PlatformKind,
        places: SweepPlaces,
        smallest: Option<u64>,
        largest: u64,
    ) -> Result<Self, Fault> {
        let mut config = RunConfig { engine: args.measuring.engine, ..RunConfig::default() };
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
        config.engine.max_time = config::time_for(&args.measuring, copies.len() * places.plan.ranks.len());
        Ok(Self { config, places, copies, room: None })
    }

    /// The same without the copies for which no place has the memory. What is free of a GPU is asked when it
    /// is open, and what its driver refuses is left out then.
    ///
    /// # Errors
    /// There is too little for the smallest one.
    fn with_room(
        mut self,
        topology: &Topology,
        device: impl Fn(TargetId) -> Option<u64>,
    ) -> Result<Self, Fault> {
        let short_of = |bytes: usize| {
            let config = RunConfig { sizes: vec![bytes], ..self.config.clone() };
            self.places.short_of(&config, topology, &device)
        };
        let Some(smallest) = self.config.sizes.first().copied() else { return Ok(self) };
        if let Some(error) = short_of(smallest) {
            return Err(Fault::usage(error));
        }

        let (mut room, mut missing) = (smallest, None);
        for bytes in self.config.sizes.iter().skip(1).rev().copied() {
            match short_of(bytes) {
                Some(error) => missing = Some(error),
                None => {
                    room = bytes;
                    break;
                }
            }
        }
        self.room =
            missing.map(|BudgetError { place, has, .. }| (room, format!("does not fit: {place} has {has}")));
        Ok(self)
    }

    /// The figures to be taken, in words.
    fn figures_description(&self) -> String {
        let memory: Vec<&str> = self.config.memory.iter().map(|kind| kind.name()).collect();
        let ways: Vec<&str> = self.config.directions.iter().map(|way| way.name()).collect();
        let (first, last) = (self.config.sizes.first().copied().unwrap_or(0), self.config.largest());
        let size = |bytes: usize| stats::units::size(bytes as u64);
        let sizes = match self.config.sizes.len() {
            1 => size(first),
            several => format!("{several} sizes from {} to {}", size(first), size(last)),
        };
        let left_out = self
            .room
            .as_ref()
            .map_or(String::new(), |(room, why)| format!(" (left out beyond {}: {why})", size(*room)));

        format!(
            "{sizes}{left_out}; {} memory; {}{}; {}",
            memory.join(", "),
            ways.join(", "),
            engine_and_clock(&self.config),
            counted(self.copies.len() * self.places.plan.ranks.len(), "figure")
        )
    }

    /// The copies as the engine's cases, and where their figures stand in the document.
    fn cases(&self) -> (Vec<(pingpong::CopyCase, Cells)>, CaseMap) {
        let Some(rows) = &self.places.rows else {
            let mut figures = CaseMap::default();
            let own: Vec<(usize, usize)> =
                self.places.plan.ranks.iter().map(|rank| (rank.rank, rank.rank)).collect();
            for (at, copy) in self.copies.iter().enumerate() {
                figures.add(at, DocumentCase::of_copies(copy, None), own.clone());
            }
            return (self.copies.iter().map(|copy| (*copy, Cells::Own)).collect(), figures);
        };

        let in_place = |copy: pingpong::CopyCase| {
            rows.each().map(move |(rank, target)| {
                let cell = CopyEnds { memory_node: rank.node, target: target.id };
                (copy, Cells::One { rank: rank.rank, cell })
            })
        };
        let copies = self.copies.iter().flat_map(|copy| in_place(*copy)).collect();
        (copies, rows.figures(self.copies.iter().map(|copy| DocumentCase::of_copies(copy, None))))
    }

    /// The experiment, on this platform.
    fn experiment(self, topology: &Topology, found: &FoundPlatform) -> Experiment {
        let (list, figures) = self.cases();
        let Self { config, places: SweepPlaces { rows, ranks, plan }, room, .. } = self;
        let rules = PlacingRules::on(topology, config.engine.huge_pages);
        let suite = CopySuite::of(&config, &ranks.ranks, &list, &found.platform, rules).with_room(room);
        Experiment {
            known: Beforehand::default(),
            command: "sweep",
            suite: Arc::new(suite),
            workers: pingpong::workers(&ranks.ranks),
            engine: config.engine,
            figures,
            matrices: rows.iter().map(|rows| rows.matrix(BY_ROW, None, topology, found)).collect(),
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
        let (near, rows) =
            self.planned(survey, targets, |target| topology_nodes(&survey.topology, target))?;
        let columns = near.ranks.iter().map(|rank| name_of(&rank.target)).collect();
        let (figures, max_time) = match &self.pieces {
            Some(pieces) => {
                let sending = PieceSweep::new(self, pieces, (kind, rows.clone()), &near)?;
                (sending.figures_description(), sending.max_time())
            }
            None => {
                let sweep = self.listed(survey, kind, (near, rows.clone()), |_| None)?;
                (sweep.figures_description(), sweep.config.engine.max_time)
            }
        };
        Ok(Outline { source, rows: rows.unwrap_or_default(), columns, figures, max_time, how: Vec::new() })
    }

    fn experiment(&self, survey: &Survey, found: &FoundPlatform, _: Making) -> Result<Experiment, Fault> {
        let (topology, kind) = (&survey.topology, found.platform.facts().kind);
        let nodes = |target: &Target| declared_nodes(topology, found, target.id).value;
        let (near, rows) = self.planned(survey, backends::targets(&*found.platform), nodes)?;
        if let Some(pieces) = &self.pieces {
            return PieceSweep::new(self, pieces, (kind, rows), &near)?.experiment(topology, found);
        }
        let of_device = |target| device_bytes(&*found.platform, target);
        Ok(self.listed(survey, kind, (near, rows), of_device)?.experiment(topology, found))
    }
}

/// The host's NUMA nodes near a target, as far as they are known without a driver.
fn topology_nodes(topology: &Topology, target: &Target) -> Option<IdSet> {
    match target.id {
        TargetId::Node(node) => Some(IdSet::from_iter([node])),
        TargetId::Gpu(pci) => Some(topology.host_nodes(topology.gpu_at(pci)?)),
    }
}

impl SweepOptions {
    /// A rank for each GPU that was named, or for the first; and the rows where rows are asked for, chosen by
    /// the `nodes` near each GPU.
    fn planned(
        &self,
        survey: &Survey,
        available: Vec<Target>,
        nodes: impl Fn(&Target) -> Option<IdSet>,
    ) -> Result<(Plan, Option<Vec<Row>>), Fault> {
        let topology = &survey.topology;
        let mut targets = chosen(self.measuring.gpus.as_ref(), available.clone())?;
        if self.measuring.gpus.is_none() {
            targets.truncate(1);
        }
        let rows = match self.rows {
            None => None,
            Some(RowSelection::All(by)) => Some(rows(topology, by)),
            Some(RowSelection::NearAndFar) => {
                let devices = targets.iter().map(|target| (name_of(target), nodes(target)));
                Some(near_and_far(topology, devices).map_err(Fault::usage)?)
            }
        };
        let request = Request { cpus: None, targets: Some(targets), available, membind: Membind::Local };
        Ok((placement::plan(topology, &request).map_err(Fault::usage)?, rows))
    }

    /// The copies, those left out for which there is no memory.
    fn listed(
        &self,
        survey: &Survey,
        kind: PlatformKind,
        (near, rows): (Plan, Option<Vec<Row>>),
        device: impl Fn(TargetId) -> Option<u64>,
    ) -> Result<Sweep, Fault> {
        let topology = &survey.topology;
        let targets: Vec<Target> = near.ranks.iter().map(|rank| rank.target.clone()).collect();
        let places = match rows {
            Some(rows) => SweepPlaces::of_rows(rows, &targets, topology)?,
            None => SweepPlaces { rows: None, ranks: near.clone(), plan: near },
        };
        // The end of a sweep without a GPU is beyond the cache too.
        let beyond = config::copy_size(topology, kind, places.plan.ranks.len()).next_power_of_two();
        let smallest = places.smallest(topology, &device);
        Sweep::new(self, kind, places, smallest, LARGEST.max(beyond))?.with_room(topology, device)
    }
}
