//! What GPUs lose together, as experiments: each alone, each two, all, all but one; and, once groups are
//! found, each group at once.
//!
//! Two questions, because one alone misses what the other sees. Two GPUs find a limit that two can fill, such
//! as a switch. A limit that takes more to fill shows when all are at it and one leaves: those that shared it
//! with that one get more. The first takes n (n - 1) / 2 cases and is left out on nodes of many GPUs; the
//! second takes n.
//!
//! Host to device only: what is shared on the way is the same both ways, and twice the time would buy few
//! answers more.

use std::sync::Arc;

use device::PlatformKind;
use engine::{Order, PlacingRules};
use pingpong::{Cells, CopySuite, RunConfig};
use placement::{Membind, Plan, RankPlan, Request, Target};
use report::matrix::{Compares, Matrix, MatrixRow};
use stats::IdSet;
use topo::Topology;

use super::experiment::{Beforehand, CaseMap, DocumentCase, Experiment, RequestedSettings};
use crate::backends::FoundPlatform;
use crate::columns::name_of;
use crate::config;
use crate::fault::Fault;
use crate::matrix_parts::column;
use crate::options::Measuring;

/// On nodes of more GPUs pairs are left out: 28 cases are measured in seconds, 120 are not.
const MOST_IN_PAIRS: usize = 8;
/// So many GPUs at least: of fewer, all but one is a pair or a GPU alone.
const LEAVE_ONE_OUT_FROM: usize = 4;

/// The GPUs.
pub struct GpuGroups {
    /// The run.
    pub config: RunConfig,
    plan: Plan,
}

/// GPUs at once: which, what the case is called, and at which place of the document each one's figure stands.
struct AtOnce {
    gpus: Vec<usize>,
    name: String,
    places: Vec<usize>,
    order: Order,
}

impl GpuGroups {
    /// These GPUs, with copies of this size.
    ///
    /// # Errors
    /// They have no place here.
    pub fn new(
        args: &Measuring,
        size: u64,
        kind: PlatformKind,
        topology: &Topology,
        targets: Vec<Target>,
        available: Vec<Target>,
    ) -> Result<Self, Fault> {
        let request = Request { cpus: None, targets: Some(targets), available, membind: Membind::Local };
        let plan = placement::plan(topology, &request).map_err(Fault::usage)?;
        let mut config = RunConfig { engine: args.engine, ..RunConfig::default() };
        config.sizes = vec![usize::try_from(size).map_err(Fault::usage)?];
        config.memory = config::memory_kinds(&[], kind);
        config.directions = vec![device::Direction::H2d];
        config.orders = vec![Order::Alone];
        Ok(Self { config, plan })
    }

    /// The ranks, one a GPU.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    fn count(&self) -> usize {
        self.plan.ranks.len()
    }

    fn name(&self, rank: usize) -> String {
        name_of(&self.plan.ranks[rank].target)
    }

    /// The name of a set: `GPUs 0-3`.
    fn set(&self, ranks: &[usize]) -> String {
        let indices: IdSet = ranks.iter().map(|rank| self.plan.ranks[*rank].target.index).collect();
        format!("{} {indices}", if ranks.len() == 1 { "GPU" } else { "GPUs" })
    }

    /// How many cases the first experiment has.
    pub fn cases(&self) -> usize {
        self.sets().len()
    }

    /// The figures to be taken, in words.
    pub fn figures_description(&self) -> String {
        let n = self.count();
        let pairs = match n * (n - 1) / 2 {
            1 => ", 1 pair".to_owned(),
            pairs if n <= MOST_IN_PAIRS => format!(", {pairs} pairs"),
            _ => String::new(),
        };
        let leave_one_out =
            if n >= LEAVE_ONE_OUT_FROM { format!(", all {n}, all but one {n} times") } else { String::new() };
        let size = stats::units::size(self.config.largest() as u64);
        format!("{n} GPUs, H2D, {size}: each alone{pairs}{leave_one_out}; then each group that is found")
    }

    /// Place of a GPU beside another; beside itself, alone.
    fn beside(&self, gpu: usize, other: usize) -> usize {
        gpu * self.count() + other
    }

    /// Place of a GPU with all others but one; without itself, with all others.
    fn leave_one_out(&self, gpu: usize, other: usize) -> usize {
        self.count() * self.count() + self.beside(gpu, other)
    }

    /// Who is at once.
    fn sets(&self) -> Vec<AtOnce> {
        let all: Vec<usize> = (0..self.count()).collect();
        let alone = all.iter().map(|gpu| self.beside(*gpu, *gpu)).collect();
        let mut sets =
            vec![AtOnce { gpus: all.clone(), name: "alone".to_owned(), places: alone, order: Order::Alone }];
        let mut add = |gpus: Vec<usize>, name: String, places: Vec<usize>| {
            sets.push(AtOnce { gpus, name, places, order: Order::Simultaneous });
        };

        if all.len() <= MOST_IN_PAIRS {
            for (i, j) in all.iter().flat_map(|i| (0..*i).map(move |j| (j, *i))) {
                add(vec![i, j], self.set(&[i, j]), vec![self.beside(i, j), self.beside(j, i)]);
            }
        }

        if all.len() >= LEAVE_ONE_OUT_FROM {
            add(
                all.clone(),
                "all GPUs".to_owned(),
                all.iter().map(|gpu| self.leave_one_out(*gpu, *gpu)).collect(),
            );
            for left in &all {
                let others: Vec<usize> = all.iter().copied().filter(|gpu| gpu != left).collect();
                let places = others.iter().map(|gpu| self.leave_one_out(*gpu, *left)).collect();
                add(others, format!("all but {}", self.name(*left)), places);
            }
        }
        sets
    }

    /// Who is beside whom, and who loses what when one leaves.
    pub fn experiment(&self, topology: &Topology, found: &FoundPlatform) -> Experiment {
        let n = self.count();
        let mut matrices = vec![self.square(
            topology,
            found,
            Compares::Beside,
            "each GPU beside one other; with itself: alone",
            |i, j| self.beside(i, j),
            |gpu| gpu,
        )];

        let mut places = n * n;

        if n >= LEAVE_ONE_OUT_FROM {
            places *= 2;
            let title = "each GPU while all others but one copy; but itself: all";
            matrices.push(self.square(
                topology,
                found,
                Compares::LeaveOneOut,
                title,
                |i, j| self.leave_one_out(i, j),
                |gpu| gpu.replace("GPU", "but"),
            ));
        }

        let places = (0..places).map(|number| self.place(number, number % (n * n) / n)).collect();
        self.measures(self.sets(), places, matrices, topology, found)
    }

    /// Each of these groups (GPUs by index) at once, its figures at places counted from 0.
    pub fn together(&self, groups: &[IdSet], topology: &Topology, found: &FoundPlatform) -> Experiment {
        let of = |group: &IdSet| -> Vec<usize> {
            (0..self.count()).filter(|rank| group.contains(self.plan.ranks[*rank].target.index)).collect()
        };
        let at_once = |group: &IdSet| {
            let gpus = of(group);
            AtOnce { name: self.set(&gpus), places: gpus.clone(), gpus, order: Order::Simultaneous }
        };
        let sets: Vec<AtOnce> = groups.iter().map(at_once).filter(|set| set.gpus.len() > 1).collect();
        let row = |set: &AtOnce| MatrixRow {
            pus: set.gpus.iter().map(|rank| self.plan.ranks[*rank].pu).collect(),
            ranks: set.gpus.iter().map(|rank| *rank as u32).collect(),
            name: set.name.clone(),
            memory_node: None,
            group: Some(set.name.clone()),
            reason: None,
            note: None,
        };

        let column = |rank: usize| {
            let target = &self.plan.ranks[rank].target;
            column(self.name(rank), target, IdSet::from_iter([rank as u32]), (topology, found))
        };
        let matrix = Matrix {
            title: "each group at once".to_owned(),
            compares: Compares::Together,
            rows: sets.iter().map(row).collect(),
            columns: (0..self.count()).map(column).collect(),
        };
        let places = (0..self.count()).map(|rank| self.place(rank, rank)).collect();
        self.measures(sets, places, vec![matrix], topology, found)
    }

    fn place(&self, number: usize, rank: usize) -> RankPlan {
        RankPlan { rank: number, ..self.plan.ranks[rank].clone() }
    }

    fn measures(
        &self,
        sets: Vec<AtOnce>,
        places: Vec<RankPlan>,
        matrices: Vec<Matrix>,
        topology: &Topology,
        found: &FoundPlatform,
    ) -> Experiment {
        let rules = PlacingRules::on(topology, self.config.engine.huge_pages);
        let (mut list, mut figures) = (Vec::new(), CaseMap::default());
        for copy in pingpong::CopyCase::all(&self.config) {
            for set in &sets {
                let copy = pingpong::CopyCase { order: set.order, ..copy };
                let places = set.gpus.iter().copied().zip(set.places.iter().copied()).collect();
                figures.add(list.len(), DocumentCase::of_copies(&copy, Some(set.name.clone())), places);
                list.push((copy, Cells::Members(set.gpus.clone())));
            }
        }

        let suite = CopySuite::of(&self.config, &self.plan.ranks, &list, &found.platform, rules);

        Experiment {
            known: Beforehand::default(),
            command: "topo",
            suite: Arc::new(suite),
            workers: pingpong::workers(&self.plan.ranks),
            engine: self.config.engine,
            places: Plan { ranks: places, notes: self.plan.notes.clone() },
            figures,
            matrices,
            asked: RequestedSettings::of_copies(&self.config),
        }
    }

    /// GPUs against GPUs, whose figures stand at `place`.
    fn square(
        &self,
        topology: &Topology,
        found: &FoundPlatform,
        compares: Compares,
        title: &str,
        place: impl Fn(usize, usize) -> usize,
        called: impl Fn(String) -> String,
    ) -> Matrix {
        let all = || 0..self.count();
        let row = |gpu: usize| MatrixRow {
            name: self.name(gpu),
            pus: IdSet::from_iter([self.plan.ranks[gpu].pu]),
            memory_node: Some(self.plan.ranks[gpu].memory_node),
            ranks: all().map(|other| place(gpu, other) as u32).collect(),
            group: None,
            reason: None,
            note: None,
        };

        let column = |other: usize| {
            let ranks = all().map(|gpu| place(gpu, other) as u32).collect();
            column(called(self.name(other)), &self.plan.ranks[other].target, ranks, (topology, found))
        };

        Matrix {
            title: title.to_owned(),
            compares,
            rows: all().map(row).collect(),
            columns: all().map(column).collect(),
        }
    }
}
