//! Rows against GPUs: copies from each row's memory to each GPU and back, one after the other or all GPUs of
//! a row at once; and how long a load of the row's memory takes each GPU.
//!
//! A rank of the engine is a row: one thread on one PU, whose memory is placed and pinned once and goes from
//! GPU to GPU. With all GPUs at once a rank is a row and a GPU. Copies by a kernel or TMA beside
//! those by copy engines use the same threads and memory, and have places, cases and a matrix of their own.
//! Loads are those of another rank on the row's PU (`engine::Joined`), which has a range of its own. Left
//! out: pageable memory both ways at once, which drivers stage one direction at a time; it is no case.

use std::sync::Arc;

use device::{CopyBy, Direction, MemoryKind, PlatformKind};
use engine::{Order, PlacingRules};
use pingpong::{Cells, CopyEnds, CopySuite, LoadCase, LoadSuite, RunConfig};
use placement::{Plan, RankPlan, Row, RowPlace, Target};
use report::matrix::{Compares, Matrix, engine_group};
use stats::IdSet;
use stats::units::counted;
use topo::Topology;

use super::experiment::{Beforehand, CaseMap, DocumentCase, Experiment, RequestedSettings, place};
use super::gpu_loads;
use crate::backends::FoundPlatform;
use crate::budget::{fits_on, on_node};
use crate::columns::name_of;
use crate::config;
use crate::fault::Fault;
use crate::matrix_parts::{column, no_row, row};
use crate::options::MatrixOptions;
use crate::{outline, settings};

/// What is copied where.
pub struct GpuMatrix {
    config: RunConfig,
    rows: Vec<Row>,
    targets: Vec<Target>,
    concurrent: bool,
    /// What moves the bytes, each once.
    engines: Vec<CopyBy>,
    /// The engine's ranks: a row each, or a row and a GPU each.
    ranks: Vec<RankPlan>,
    /// A row and a GPU each, all of them for each engine.
    places: Vec<RankPlan>,
    /// The copies, in the order of the engine's cases.
    copies: Vec<(pingpong::CopyCase, Cells)>,
    figures: CaseMap,
    /// The range that is loaded from, bytes, where the latency of loads is asked for.
    load_range: Option<usize>,
    /// What was asked for and has no effect here.
    notes: Vec<String>,
}

impl GpuMatrix {
    /// The copies that `args` ask for between these rows and targets.
    ///
    /// # Errors
    /// Nothing can be measured: no row with memory, sizes that this machine cannot address, or too little
    /// memory.
    pub fn new(
        args: &MatrixOptions,
        topology: &Topology,
        kind: PlatformKind,
        rows: Vec<Row>,
        targets: Vec<Target>,
    ) -> Result<Self, Fault> {
        let size = usize::try_from(args.size).map_err(Fault::usage)?;
        let mut config = RunConfig { engine: args.measuring.engine, ..RunConfig::default() };
        let mut engines: Vec<CopyBy> = args.engines.clone();
        engines.sort();
        engines.dedup();
        config.by = engines.first().copied().unwrap_or_default();
        config.sizes = vec![size];
        config.memory = config::memory_kinds(&args.memory, kind);
        config.directions = config::unique(&args.directions);
        let is_lone = args.concurrent && targets.len() == 1;
        let order = if args.concurrent && targets.len() > 1 { Order::Simultaneous } else { Order::Alone };
        config.orders = vec![order];

        let mut matrix = Self {
            config,
            rows,
            targets,
            concurrent: order == Order::Simultaneous,
            engines,
            ranks: Vec::new(),
            places: Vec::new(),
            copies: Vec::new(),
            figures: CaseMap::default(),
            load_range: args.latency.then(|| gpu_loads::range(args.range)).transpose()?,
            notes: is_lone
                .then(|| "--concurrent: there is one GPU, which copied alone".to_owned())
                .into_iter()
                .collect(),
        };
        matrix.find_places(topology);
        if matrix.places.is_empty() {
            return Err(no_row(&matrix.rows));
        }
        matrix.list();
        let figures = matrix.copies.len() + matrix.loads().len();
        matrix.config.engine.max_time = config::time_for(&args.measuring, figures);
        Ok(matrix)
    }

    /// The loads, each with its place: one by each GPU of each row.
    fn loads(&self) -> Vec<(LoadCase, usize)> {
        let Some(bytes) = self.load_range else { return Vec::new() };
        let columns = self.targets.len();
        let load = |(at, place): (usize, &RankPlan)| {
            (LoadCase { rank: at / columns, target: place.target.id, node: place.memory_node, bytes }, at)
        };
        self.places.iter().take(self.places_an_engine()).enumerate().map(load).collect()
    }

    fn places_an_engine(&self) -> usize {
        self.places.len() / self.engines.len().max(1)
    }

    /// The cases' group of an engine that is measured beside the first one.
    fn engine_group(&self, by: CopyBy) -> Option<&'static str> {
        engine_group(settings::engine(by)).filter(|_| by != self.config.by)
    }

    fn row_places(&self) -> impl Iterator<Item = (&Row, &RowPlace)> {
        self.rows.iter().filter_map(|row| Some((row, row.place.as_ref().ok()?)))
    }

    fn find_places(&mut self, topology: &Topology) {
        let (mut ranks, mut places) = (Vec::new(), Vec::new());
        for (_, row_place) in self.row_places() {
            for (column, target) in self.targets.iter().enumerate() {
                // At once each GPU has a core of its own as long as there are some.
                let pu = if self.concurrent {
                    row_place.pus[column % row_place.pus.len()]
                } else {
                    row_place.pu()
                };
                places.push(place(topology, places.len(), pu, row_place.node, target.clone()));
                if self.concurrent || column == 0 {
                    ranks.push(place(topology, ranks.len(), pu, row_place.node, target.clone()));
                }
            }
        }

        let of_one = places.clone();

        for engine in 1..self.engines.len() {
            let first = engine * of_one.len();
            places.extend(of_one.iter().map(|place| RankPlan { rank: first + place.rank, ..place.clone() }));
        }
        (self.ranks, self.places) = (ranks, places);
    }

    fn list(&mut self) {
        for (at, by) in self.engines.clone().into_iter().enumerate() {
            self.list_of(by, at * self.places_an_engine());
        }
    }

    /// The copies of one engine, whose places begin with the given one.
    fn list_of(&mut self, by: CopyBy, first_place: usize) {
        let columns = self.targets.len();
        let names: Vec<String> = self.row_places().map(|(row, _)| row.name.clone()).collect();
        let engine = self.engine_group(by);

        for copy in pingpong::CopyCase::all(&self.config) {
            if copy.memory == MemoryKind::Pageable && copy.direction == Direction::Bidirectional {
                continue;
            }
            let copy = pingpong::CopyCase { by, ..copy };
            for (row, name) in names.iter().enumerate() {
                let first = row * columns;
                if self.concurrent {
                    let case = DocumentCase::of_copies(&copy, Some(group_of_row(name, engine)));
                    let members: Vec<usize> = (first..first + columns).collect();
                    let places = members.iter().map(|rank| (*rank, first_place + *rank)).collect();
                    self.figures.add(self.copies.len(), case, places);
                    self.copies.push((copy, Cells::Members(members)));
                    continue;
                }
                let case = DocumentCase::of_copies(&copy, engine.map(str::to_owned));
                for place in first_place + first..first_place + first + columns {
                    let cell = CopyEnds::of(&self.places[place]);
                    self.figures.add(self.copies.len(), case.clone(), vec![(row, place)]);
                    self.copies.push((copy, Cells::One { rank: row, cell }));
                }
            }
        }
    }

    /// Whether the memory is there, on nodes and on devices whose sizes are given.
    ///
    /// # Errors
    /// Which place has too little.
    pub fn budget(
        &self,
        topology: &Topology,
        device_bytes: impl Fn(placement::TargetId) -> Option<u64>,
    ) -> Result<(), Fault> {
        self.loads_fit(topology)?;
        let fits = |ranks: Vec<RankPlan>| {
            on_node(&self.config, &Plan { ranks, notes: Vec::new() }, topology, &device_bytes)
        };
        if self.concurrent {
            return fits(self.places[..self.places_an_engine()].to_vec());
        }
        // A row's copier stays on its last GPU until the row's next copy: all can be on one.
        self.targets.iter().try_for_each(|target| {
            fits(self.ranks.iter().map(|rank| RankPlan { target: target.clone(), ..rank.clone() }).collect())
        })
    }

    /// Whether the ranges that are loaded from are there beside those of the copies.
    fn loads_fit(&self, topology: &Topology) -> Result<(), Fault> {
        let Some(range) = self.load_range.map(|range| range as u64) else { return Ok(()) };
        let ranges = u64::from(self.config.needs_source()) + u64::from(self.config.needs_destination());
        let of_row = range.saturating_add((self.config.largest() as u64).saturating_mul(ranges));
        let needs = self.ranks.iter().map(|rank| {
            let node = rank.memory_node;
            let rows = self.ranks.iter().filter(|other| other.memory_node == node).count() as u64;
            (node, of_row.saturating_mul(rows))
        });
        fits_on(topology, needs, |bytes| {
            format!(
                "the ranges that are copied and loaded from need {bytes} there; ask for a smaller --size or \
                 --range"
            )
        })
    }

    /// How many GPUs take part.
    pub fn gpus(&self) -> usize {
        self.targets.len()
    }

    /// How long measuring goes on at most.
    pub fn max_time(&self) -> Option<std::time::Duration> {
        self.config.engine.max_time
    }

    /// The figures to be taken, in words: kinds, directions and how many.
    pub fn figures_description(&self) -> String {
        let memory: Vec<&str> = self.config.memory.iter().map(|kind| kind.name()).collect();
        let ways: Vec<&str> = self.config.directions.iter().map(|way| way.name()).collect();
        let size = stats::units::size(self.config.largest() as u64);
        let how = if self.concurrent { "all of a row at once" } else { "one after the other" };
        let (memory, ways) = (memory.join(", "), ways.join(", "));
        let range = self.load_range.map(|range| stats::units::size(range as u64));
        let loads = range.map_or_else(String::new, |range| format!("; load latency over {range}"));
        let figures = self.places.len() * self.cases_of_a_place() + self.loads().len();
        let by = outline::engines(&self.engines);
        format!("{size}, {memory} memory, {ways}{by}{loads}; {}, {how}", counted(figures, "figure"))
    }

    fn cases_of_a_place(&self) -> usize {
        let mappings = self.figures.mappings.iter();
        mappings.filter(|mapping| mapping.places.iter().any(|(_, place)| *place == 0)).count()
    }

    /// The experiment, on this platform.
    pub fn experiment(self, topology: &Topology, found: &FoundPlatform) -> Experiment {
        let rules = PlacingRules::on(topology, self.config.engine.huge_pages);
        let loads = self.loads();
        let matrices =
            self.engines.iter().enumerate().map(|(at, by)| self.matrix(*by, at, topology, found)).collect();
        let Self { config, ranks, places, copies, figures, load_range, notes, .. } = self;
        let copying = CopySuite::of(&config, &ranks, &copies, &found.platform, rules.clone());
        let workers = pingpong::workers(&ranks);
        let experiment = Experiment {
            known: Beforehand::default(),
            command: "matrix",
            suite: Arc::new(copying),
            workers: workers.clone(),
            engine: config.engine,
            places: Plan { ranks: places, notes },
            figures,
            matrices,
            asked: RequestedSettings::of_copies(&config),
        };

        let Some(range) = load_range else { return experiment };
        let list = loads.iter().map(|(load, _)| *load).collect();
        let loading = LoadSuite::new(list, workers, &found.platform, rules, config.engine.seed);
        let at: Vec<(usize, usize)> = loads.iter().map(|(load, place)| (load.rank, *place)).collect();
        let mut experiment = experiment.with_loads(Arc::new(loading), &gpu_loads::document_case(range), &at);
        experiment.asked.sizes.dedup();
        experiment
    }

    /// The matrix of an engine, which is the so-many-th.
    fn matrix(&self, by: CopyBy, at: usize, topology: &Topology, found: &FoundPlatform) -> Matrix {
        let columns = self.targets.len();
        let mine = at * self.places_an_engine()..(at + 1) * self.places_an_engine();
        let engine = self.engine_group(by);
        let mut next = mine.start as u32;
        let row = |of: &Row| {
            let ranks: IdSet =
                if of.place.is_ok() { (next..next + columns as u32).collect() } else { IdSet::default() };
            next += ranks.len() as u32;
            let pus =
                self.places.iter().filter(|at| ranks.contains(at.rank as u32)).map(|at| at.pu).collect();
            let group = match self.concurrent {
                true => Some(group_of_row(&of.name, engine)),
                false => engine.map(str::to_owned),
            };
            row(of, pus, ranks, group)
        };

        let rows = self.rows.iter().map(row).collect();
        let column = |(at, target): (usize, &Target)| {
            let ranks =
                mine.clone().filter(|place| place % columns == at).map(|place| place as u32).collect();
            column(name_of(target), target, ranks, (topology, found))
        };

        Matrix {
            title: format!(
                "host memory and GPUs{}",
                engine.map_or_else(String::new, |_| outline::engines(&[by]))
            ),
            compares: Compares::Rows,
            rows,
            columns: self.targets.iter().enumerate().map(column).collect(),
        }
    }
}

/// The group of a row whose GPUs are at it at once.
fn group_of_row(row: &str, engine: Option<&str>) -> String {
    engine.map_or_else(|| row.to_owned(), |engine| format!("{row}/{engine}"))
}
