//! GPUs against GPUs: the rate from each one's memory to each other's, one way and both ways at once, and the time of the smallest copy; and how
//! long a load of another one's memory takes.
//!
//! A rank of the engine is a GPU: one thread on the core that the plan gives it, which queues the copies; a place of the document is a pair.
//! Loads are those of another rank on the same core (`engine::Joined`): there the first of a pair loads, from the second.

use std::sync::Arc;
use std::time::Duration;

use device::{CopyBy, Device, DeviceId, PeerEnd, PeerPath, Platform};
use engine::{EngineConfig, Joined, Order, Suite, Worker};
use pingpong::{LOAD_LINE_BYTES, PeerCase, PeerCopy, PeerLoadCase, PeerLoadSuite, PeerSuite};
use placement::{Membind, Plan, RankPlan, Request, Target, TargetId};
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::settings::{Direction, MemoryKind};
use stats::IdSet;
use topo::Topology;

use super::document::{declared_nodes, name_of};
use super::experiment::{Asked, DocumentCase, Experiment, Shot, numbered, place};
use super::gpu_loads;
use crate::args::peer::{By, Peer as Args};
use crate::backends::Found;
use crate::config;
use crate::document::settings;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::watchdog::{NOT_OPEN, Watchdog};

/// How long opening all GPUs may take where nobody has said so.
const OPENS: Duration = Duration::from_secs(120);
/// The smallest copy, whose time is the latency.
const SMALLEST: usize = 4;
const ONE_WAY: &str = "one-way";
const BOTH_WAYS: &str = "both-ways";
const LOADS: &str = "loads";

/// What is copied from where to where.
pub struct Peers {
    engine: EngineConfig,
    end: PeerEnd,
    by: CopyBy,
    targets: Vec<Target>,
    ranks: Vec<RankPlan>,
    sizes: [usize; 2],
    /// The range that is loaded from, bytes, where the latency of loads is asked for.
    load_range: Option<usize>,
    /// Of each row, what is staged.
    notes: Vec<Option<String>>,
}

impl Peers {
    /// The copies that `args` ask for between these GPUs, of those that are there.
    ///
    /// # Errors
    /// The size is too large for this machine, or the GPUs have no place.
    pub fn new(args: &Args, topology: &Topology, targets: Vec<Target>, available: Vec<Target>) -> Result<Self, Fault> {
        let size = usize::try_from(args.size).map_err(Fault::usage)?;
        let request = Request { cpus: None, targets: Some(targets.clone()), available, membind: Membind::Local };
        let plan = placement::plan(topology, &request).map_err(Fault::usage)?;
        let end = match args.by {
            By::Source => PeerEnd::Source,
            By::Destination => PeerEnd::Destination,
        };
        let mut engine = config::measuring(&args.measuring).engine();
        let pairs = targets.len() * (targets.len() - 1);
        let loads = if args.latency { pairs } else { 0 };
        engine.max_time = config::time_for(&args.measuring, pairs * 5 / 2 + loads);
        let by = config::by(args.engine);
        Ok(Self {
            engine,
            end,
            by,
            notes: vec![None; targets.len()],
            targets,
            ranks: plan.ranks,
            sizes: [size, SMALLEST],
            load_range: args.latency.then(|| gpu_loads::range(None)).transpose()?,
        })
    }

    /// Opens the GPUs in this thread and asks which reach each other: what cannot is staged by the driver, and said so.
    ///
    /// # Errors
    /// A GPU cannot be opened.
    pub fn look(&mut self, platform: &dyn Platform) -> Result<Vec<Box<dyn Device>>, Fault> {
        let open = |target: &Target| {
            let id = match target.id {
                TargetId::Gpu(pci) => DeviceId::Pci(pci),
                TargetId::Node(node) => DeviceId::Node(node),
            };
            platform.open(id).map_err(|error| Fault::new(Exit::NoResult, error))
        };
        let watchdog = Watchdog::set(self.engine.timeout.unwrap_or(OPENS), Some(NOT_OPEN));
        let opened = self.targets.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        for (from, source) in opened.iter().enumerate() {
            let is_staged = |to: &usize| {
                let copier = source.peer_copier(&*opened[*to], self.end, 1);
                *to != from && copier.is_ok_and(|copier| copier.path() == PeerPath::Staged)
            };
            let staged: Vec<String> =
                (0..opened.len()).filter(is_staged).map(|to| name_of(&self.targets[to])).collect();
            if !staged.is_empty() {
                let how = if self.by == CopyBy::Kernel {
                    "out of a kernel's reach"
                } else {
                    "staged through host memory by the driver"
                };
                self.notes[from] = Some(format!("{how} to {}", staged.join(", ")));
            }
        }
        drop(watchdog);
        Ok(opened)
    }

    /// How long measuring goes on at most.
    pub fn max_time(&self) -> Duration {
        self.engine.max_time
    }

    /// The figures to be taken, in words.
    pub fn said(&self) -> String {
        let pairs = self.pairs().len();
        let size = stats::units::size(self.sizes[0] as u64);
        let range = self.load_range.map(|range| stats::units::size(range as u64));
        let loads = range.map_or_else(String::new, |range| format!("; load latency over {range}"));
        format!("{pairs} pairs: {size} one way and both ways at once, and the time of {SMALLEST} B{loads}")
    }

    /// From which to which, by number: a pair's number is its place.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let all = 0..self.targets.len();
        all.clone().flat_map(|from| all.clone().map(move |to| (from, to))).filter(|(from, to)| from != to).collect()
    }

    /// The experiment, on this platform.
    pub fn experiment(self, args: &Args, topology: &Topology, found: &Found) -> Experiment {
        let pairs = self.pairs();
        let [size, smallest] = self.sizes;
        let copy =
            |(from, to): (usize, usize)| PeerCopy { rank: from, from: self.targets[from].id, to: self.targets[to].id };
        let (mut cases, mut asked, mut shots) = (Vec::new(), Vec::new(), Vec::new());
        let mut add = |order: Order, group: &str, bytes: usize, members: &[usize]| {
            let case = numbered(
                &mut asked,
                DocumentCase {
                    order,
                    memory: MemoryKind::Device,
                    direction: Direction::Peer,
                    bytes: bytes as u64,
                    range_bytes: None,
                    group: Some(group.to_owned()),
                },
            );
            let places = members.iter().map(|place| (pairs[*place].0, *place)).collect();
            shots.push(Shot { at: cases.len(), case, places });
            cases.push(PeerCase { copies: members.iter().map(|place| copy(pairs[*place])).collect(), bytes });
        };
        for number in 0..pairs.len() {
            add(Order::Alone, ONE_WAY, size, &[number]);
        }
        for (number, (from, to)) in pairs.iter().enumerate().filter(|(_, (from, to))| from < to) {
            let back = pairs.iter().position(|pair| *pair == (*to, *from)).unwrap_or(number);
            add(Order::Simultaneous, BOTH_WAYS, size, &[number, back]);
        }
        for number in 0..pairs.len() {
            add(Order::Alone, ONE_WAY, smallest, &[number]);
        }
        let worker = |(rank, plan): (usize, &RankPlan)| Worker { rank, pu: plan.pu };
        let mut workers: Vec<Worker> = self.ranks.iter().enumerate().map(worker).collect();
        let place = |(number, (from, _)): (usize, &(usize, usize))| {
            let rank = &self.ranks[*from];
            place(topology, number, rank.pu, rank.memory_node, rank.target.clone())
        };
        let places = pairs.iter().enumerate().map(place).collect();
        let by = if self.by == CopyBy::Kernel { " by a kernel" } else { "" };
        let matrices = [(ONE_WAY, "one way"), (BOTH_WAYS, "both ways at once: each way's own rate")];
        let matrix = |(group, how)| {
            self.matrix(topology, found, &pairs, (group, ["from", "to"]), &format!("GPU to GPU{by}, {how}"))
        };
        let mut matrices = matrices.map(matrix).to_vec();
        let copying = PeerSuite::new(cases, workers.clone(), &found.platform, (self.end, self.by), args.measuring.seed);
        let mut suite: Arc<dyn Suite> = Arc::new(copying);
        let mut told = Asked {
            sizes: vec![size as u64, smallest as u64],
            directions: vec![Direction::Peer],
            memory: vec![MemoryKind::Device],
            huge_pages: false,
            engine: settings::engine(self.by),
            timing: None,
        };
        if let Some(range) = self.load_range {
            let load = |(from, to): &(usize, usize)| {
                let (by, owner) = (self.targets[*from].id, self.targets[*to].id);
                PeerLoadCase { rank: *from, by, owner }
            };
            let list = pairs.iter().map(load).collect();
            let loading = PeerLoadSuite::new(list, workers.clone(), &found.platform, range, args.measuring.seed);
            let joined = Joined::new(vec![(suite, workers.len()), (Arc::new(loading), workers.len())]);
            let first = joined.first_rank(1);
            let case = DocumentCase {
                memory: MemoryKind::Device,
                group: Some(LOADS.to_owned()),
                ..gpu_loads::document_case(range)
            };
            let case = numbered(&mut asked, case);
            for (number, (from, _)) in pairs.iter().enumerate() {
                let Some(at) = joined.number((1, number)) else { continue };
                shots.push(Shot { at, case, places: vec![(first + from, number)] });
            }
            let loaders: Vec<Worker> = workers.iter().map(|one| Worker { rank: first + one.rank, ..*one }).collect();
            workers.extend(loaders);
            let title = "GPU to GPU, loads by a kernel";
            matrices.push(self.matrix(topology, found, &pairs, (LOADS, ["by", "from"]), title));
            told.sizes.push(LOAD_LINE_BYTES as u64);
            told.sizes.sort_unstable();
            told.directions.push(Direction::Load);
            suite = Arc::new(joined);
        }
        Experiment {
            command: "peer",
            suite,
            workers,
            engine: self.engine,
            places: Plan { ranks: places, notes: Vec::new() },
            cases: asked,
            shots,
            matrices,
            asked: told,
        }
    }

    /// The matrix of the cases of a group, whose rows and columns are the GPUs, each after its word.
    fn matrix(
        &self,
        topology: &Topology,
        found: &Found,
        pairs: &[(usize, usize)],
        (group, [of_row, of_column]): (&str, [&str; 2]),
        title: &str,
    ) -> Matrix {
        let places = |wanted: &dyn Fn(&(usize, usize)) -> bool| -> IdSet {
            pairs.iter().zip(0..).filter(|(pair, _)| wanted(pair)).map(|(_, number)| number).collect()
        };
        let row = |(at, target): (usize, &Target)| MatrixRow {
            name: format!("{of_row} {}", name_of(target)),
            pus: IdSet::from_iter([self.ranks[at].pu]),
            memory_node: None,
            ranks: places(&|(from, _)| *from == at),
            group: Some(group.to_owned()),
            reason: None,
            // Of copies; what cannot be loaded from is a figure's own reason.
            note: self.notes[at].clone().filter(|_| group != LOADS),
        };
        let column = |(at, target): (usize, &Target)| MatrixColumn {
            name: format!("{of_column} {}", name_of(target)),
            device: target.id.to_string(),
            ranks: places(&|(_, to)| *to == at),
            declared_nodes: declared_nodes(topology, found, target.id),
        };
        Matrix {
            title: title.to_owned(),
            compares: Compares::Pairs,
            rows: self.targets.iter().enumerate().map(row).collect(),
            columns: self.targets.iter().enumerate().map(column).collect(),
        }
    }
}
