//! Ranks that copy at once: each alone, then two, three, … and all of them, and those that share something
//! on the way to the host.
//!
//! The ranks are those of a plan, each in its own place; a row is who takes part. Where all ranks share one
//! GPU they are alike, so that one of them alone stands for all.

use std::sync::Arc;

use device::PlatformKind;
use engine::{Order, PlacingRules};
use pingpong::{Cells, CopySuite, RunConfig, TimingChoice};
use placement::{Membind, Plan, Request, Selection, Target, TargetId};
use report::matrix::{Compares, Matrix, MatrixRow};
use stats::units::counted;
use stats::{IdSet, PciAddress};
use topo::model::Core;
use topo::{Survey, Topology};

use crate::backends::{self, FoundPlatform, Untouched};
use crate::beside::Beside;
use crate::budget::{budget, budget_untouched};
use crate::columns::name_of;
use crate::config;
use crate::driver::{Making, Measurement, chosen_for_ranks};
use crate::experiment::{Beforehand, CaseMap, DocumentCase, Experiment, RequestedSettings};
use crate::fault::Fault;
use crate::matrix_parts::column;
use crate::options::{ContendOptions, Measuring};
use crate::outline::{Outline, engine_and_clock};

/// The ranks that copy in a row, alone or at once.
struct Together {
    name: String,
    ranks: Vec<usize>,
    order: Order,
    /// What they share, where the platform says so.
    shares: Option<String>,
}

/// The copies of a run, row by row.
pub struct Contend {
    /// The run.
    pub config: RunConfig,
    plan: Plan,
    rows: Vec<Together>,
    /// Whether all ranks use one device.
    one_device: bool,
}

impl Contend {
    /// The copies that `args` ask for by the ranks of `plan`.
    ///
    /// # Errors
    /// Fewer than two ranks, or sizes that this machine cannot address.
    pub fn new(
        args: &ContendOptions,
        kind: PlatformKind,
        survey: &Survey,
        plan: Plan,
    ) -> Result<Self, Fault> {
        let ranks = plan.ranks.len();
        if ranks < 2 {
            let text = "there is one device, and nothing to share it with: --ranks-per-gpu 4 measures ranks \
                that share it, and --gpus takes several";
            return Err(Fault::usage(text));
        }

        let mut config = config::contending(args, kind, config::copy_size(&survey.topology, kind, ranks))?;
        let one_device = plan.ranks.iter().all(|rank| rank.target.id == plan.ranks[0].target.id);
        let shares_device = |rank: usize| {
            plan.ranks
                .iter()
                .enumerate()
                .any(|(other, at)| other != rank && at.target.id == plan.ranks[rank].target.id)
        };
        if (0..ranks).any(shares_device) && config.timing == TimingChoice::Auto {
            // Together they can only be timed by the host, and alone is compared with that.
            config.timing = TimingChoice::Host;
        }
        let rows = match args.ranks_per_gpu {
            Some(each) if !one_device => rows_of_each_device(each, ranks / each, device_kind(&plan)),
            _ => rows(survey, &plan, one_device),
        };
        config.engine.max_time = config::time_for(&args.measuring, rows.len() * config.directions.len());
        Ok(Self { config, plan, rows, one_device })
    }

    /// The figures to be taken, in words.
    pub fn figures_description(&self) -> String {
        let ways: Vec<&str> = self.config.directions.iter().map(|way| way.name()).collect();
        let rows: Vec<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
        let size = stats::units::size(self.config.largest() as u64);
        let memory = self.config.memory.first().map_or("", |kind| kind.name());
        let how = engine_and_clock(&self.config);
        format!("{size}, {memory} memory, {}{how}; {}", ways.join(", "), rows.join("; "))
    }

    /// The ranks.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What each column is called.
    pub fn columns(&self) -> Vec<String> {
        let name = |rank: &placement::RankPlan| {
            let device = name_of(&rank.target);
            let alike = self.plan.ranks.iter().filter(|other| other.target.id == rank.target.id).count();
            if alike > 1 { format!("rank {} ({device})", rank.rank) } else { device }
        };
        self.plan.ranks.iter().map(name).collect()
    }

    /// The experiment, on this platform.
    pub fn experiment(self, topology: &Topology, found: &FoundPlatform) -> Experiment {
        let matrix = self.matrix(topology, found);
        let Self { config, plan, rows, .. } = self;
        let rules = PlacingRules::on(topology, config.engine.huge_pages);
        let (mut list, mut figures) = (Vec::new(), CaseMap::default());

        for copy in pingpong::CopyCase::all(&config) {
            for row in &rows {
                let copy = pingpong::CopyCase { order: row.order, ..copy };
                let places = row.ranks.iter().map(|rank| (*rank, *rank)).collect();
                figures.add(list.len(), DocumentCase::of_copies(&copy, Some(row.name.clone())), places);
                list.push((copy, Cells::Members(row.ranks.clone())));
            }
        }

        let suite = CopySuite::of(&config, &plan.ranks, &list, &found.platform, rules);

        Experiment {
            known: Beforehand::default(),
            command: "contend",
            suite: Arc::new(suite),
            workers: pingpong::workers(&plan.ranks),
            engine: config.engine,
            figures,
            matrices: vec![matrix],
            asked: RequestedSettings::of_copies(&config),
            places: plan,
        }
    }

    fn matrix(&self, topology: &Topology, found: &FoundPlatform) -> Matrix {
        let one_device =
            |row: &Together| (self.one_device && row.ranks.len() > 1).then(|| "they share one device".into());
        let core = |row: &Together| {
            let pus: Vec<u32> = row.ranks.iter().map(|rank| self.plan.ranks[*rank].pu).collect();
            (row.order == Order::Simultaneous).then(|| shared_core(topology, &pus)).flatten()
        };
        let row = |row: &Together| MatrixRow {
            name: row.name.clone(),
            pus: row.ranks.iter().map(|rank| self.plan.ranks[*rank].pu).collect(),
            memory_node: None,
            ranks: row.ranks.iter().map(|rank| *rank as u32).collect(),
            group: Some(row.name.clone()),
            reason: None,
            // Who waits for a core says nothing of what else is shared.
            note: core(row).or_else(|| row.shares.clone()).or_else(|| one_device(row)),
        };

        let column = |(rank, name): (&placement::RankPlan, String)| {
            column(name, &rank.target, IdSet::from_iter([rank.rank as u32]), (topology, found))
        };

        Matrix {
            title: "at once".to_owned(),
            compares: Compares::Load,
            rows: self.rows.iter().map(row).collect(),
            columns: self.plan.ranks.iter().zip(self.columns()).map(column).collect(),
        }
    }
}

/// The core that ranks on these PUs share, in words.
fn shared_core(topology: &Topology, pus: &[u32]) -> Option<String> {
    let twice = |at: usize| pus[..at].contains(&pus[at]);
    if let Some(at) = (0..pus.len()).find(|at| twice(*at)) {
        return Some(format!("ranks share PU {}", pus[at]));
    }

    let of_core = |core: &Core| core.pus.iter().filter(|pu| pus.contains(pu)).count();
    let core = topology.cores.iter().find(|core| of_core(core) > 1)?;
    Some(format!("ranks share a core (PUs {})", core.pus))
}

/// What the ranks copy to, in words.
fn device_kind(plan: &Plan) -> &'static str {
    if plan.ranks.iter().all(|rank| matches!(rank.target.id, TargetId::Gpu(_))) { "GPUs" } else { "nodes" }
}

/// Each rank alone; then all devices at once, with one, two, … and `each` ranks on every one. The ranks of
/// the first round over the devices come first.
fn rows_of_each_device(each: usize, devices: usize, kind: &str) -> Vec<Together> {
    let all = (0..each * devices).collect();
    let mut rows = vec![Together { name: "alone".to_owned(), ranks: all, order: Order::Alone, shares: None }];
    rows.extend((1..=each).map(|count| Together {
        name: format!("{} on each of {devices} {kind}", counted(count, "rank")),
        ranks: (0..count * devices).collect(),
        order: Order::Simultaneous,
        shares: (count > 1).then(|| format!("{count} ranks share each of the {kind}")),
    }));
    rows
}

/// Whether each rank alone would have the same figure, so that one stands for all: they share device and
/// memory, and their PUs an L3.
fn are_alike(plan: &Plan, topology: &Topology) -> bool {
    let l3 = |rank: &placement::RankPlan| topology.l3_of(rank.pu).and_then(|l3| l3.pus.first());
    let node = |rank: &placement::RankPlan| topology.nodes.iter().position(|node| node.pus.contains(rank.pu));
    let place = |rank: &placement::RankPlan| (rank.target.id, rank.memory_node, node(rank), l3(rank));
    plan.ranks.iter().all(|rank| place(rank) == place(&plan.ranks[0]))
}

/// Alone; the first two, three, … and all; then groups that share something.
fn rows(survey: &Survey, plan: &Plan, one_device: bool) -> Vec<Together> {
    let ranks = plan.ranks.len();
    let alone = if are_alike(plan, &survey.topology) { vec![0] } else { (0..ranks).collect() };
    let mut rows =
        vec![Together { name: "alone".to_owned(), ranks: alone, order: Order::Alone, shares: None }];
    let pci = |rank: &placement::RankPlan| match rank.target.id {
        TargetId::Gpu(pci) => Some(pci),
        TargetId::Node(_) => None,
    };
    let gpus: Option<Vec<PciAddress>> = plan.ranks.iter().map(pci).collect();
    let groups =
        gpus.filter(|_| !one_device).map_or_else(Vec::new, |gpus| survey.interconnect.shared_by(&gpus));
    let mut sets: Vec<IdSet> = (2..=ranks as u32).map(|count| (0..count).collect()).collect();

    for group in &groups {
        if !sets.contains(&group.gpus) {
            sets.push(group.gpus.clone());
        }
    }

    for set in sets {
        // Some of those that share something share it too; the nearest thing comes first.
        let shares = groups.iter().find(|group| set.is_subset(&group.gpus));
        let shares = shares.map(|group| format!("they share {}", group.what));
        let name = if one_device {
            format!("{} ranks", set.len())
        } else {
            let of = |at: u32| plan.ranks.get(at as usize).map(|rank| rank.target.index);
            let indices: IdSet = set.iter().filter_map(of).collect();
            let kind = device_kind(plan);
            if indices.len() == set.len() { format!("{kind} {indices}") } else { format!("ranks {set}") }
        };
        let ranks = set.iter().map(|at| at as usize).collect();
        rows.push(Together { name, ranks, order: Order::Simultaneous, shares });
    }
    rows
}

impl Measurement for ContendOptions {
    fn command(&self) -> &'static str {
        "contend"
    }

    fn measuring(&self) -> &Measuring {
        &self.measuring
    }

    fn outline(&self, survey: &Survey, untouched: Untouched) -> Result<Outline, Fault> {
        let Untouched { kind, targets, source } = untouched;
        let planned = self.planned(survey, targets)?;
        let (columns, figures, max_time) = match self.beside {
            Some(traffic) => {
                let beside = Beside::new(self, traffic, kind, &survey.topology, &planned)?;
                budget_untouched(&beside.config, &first_of(&planned), &survey.topology)?;
                let columns = vec![name_of(&planned.ranks[0].target), "all threads".to_owned()];
                (columns, beside.figures_description(), beside.config.engine.max_time)
            }
            None => {
                let contend = Contend::new(self, kind, survey, planned.clone())?;
                budget_untouched(&contend.config, &planned, &survey.topology)?;
                (self.columns(&contend), contend.figures_description(), contend.config.engine.max_time)
            }
        };

        Ok(Outline { source, rows: Vec::new(), columns, figures, max_time, how: Vec::new() })
    }

    fn experiment(&self, survey: &Survey, found: &FoundPlatform, _: Making) -> Result<Experiment, Fault> {
        let (topology, kind) = (&survey.topology, found.platform.facts().kind);
        let planned = self.planned(survey, backends::targets(&*found.platform))?;
        if let Some(traffic) = self.beside {
            let beside = Beside::new(self, traffic, kind, topology, &planned)?;
            budget(&beside.config, &first_of(&planned), topology, found)?;
            return Ok(beside.experiment(topology, found));
        }
        let contend = Contend::new(self, kind, survey, planned.clone())?;
        budget(&contend.config, &planned, topology, found)?;
        Ok(contend.experiment(topology, found))
    }
}

/// The plan of the rank that traffic is beside.
fn first_of(planned: &Plan) -> Plan {
    Plan { ranks: planned.ranks.iter().take(1).cloned().collect(), notes: Vec::new() }
}

impl ContendOptions {
    /// What each column is called, with its PU where PUs were asked for.
    fn columns(&self, contend: &Contend) -> Vec<String> {
        let names = contend.columns();
        let pus = contend.plan.ranks.iter().map(|rank| rank.pu);
        match self.cpus {
            Some(_) => names.iter().zip(pus).map(|(name, pu)| format!("{name} from PU {pu}")).collect(),
            None => names,
        }
    }

    /// Beside traffic one rank copies: a list of several would be cut to its first.
    fn one_beside_traffic(&self) -> Result<(), Fault> {
        let pus = self.cpus.as_ref().map_or(0, |list| list.0.len());
        let gpus = match &self.measuring.gpus {
            Some(Selection::These(list)) => list.len(),
            _ => 0,
        };
        let named = match (pus > 1, gpus > 1) {
            (false, false) => return Ok(()),
            (true, true) => format!("--cpus names {pus} PUs and --gpus {gpus} GPUs"),
            (true, false) => format!("--cpus names {pus} PUs"),
            (false, true) => format!("--gpus names {gpus} GPUs"),
        };
        Err(Fault::usage(format!(
            "{named}, and beside traffic (--beside) one rank copies: name one, or leave --beside out"
        )))
    }

    /// A rank for each GPU, or so many for each: a first one for every GPU, then a second one, ….
    fn planned(&self, survey: &Survey, available: Vec<Target>) -> Result<Plan, Fault> {
        if self.beside.is_some() {
            self.one_beside_traffic()?;
        }
        let targets = chosen_for_ranks(self.measuring.gpus.as_ref(), available.clone())?;
        let targets = match self.ranks_per_gpu {
            Some(_) if (1..targets.len()).any(|at| targets[..at].contains(&targets[at])) => {
                let text = "--gpus names a GPU twice, and --ranks-per-gpu says how many ranks each has: name \
                    it once";
                return Err(Fault::usage(text));
            }
            Some(ranks) => vec![targets; ranks].concat(),
            None => targets,
        };

        let request =
            Request { cpus: self.cpus.clone(), targets: Some(targets), available, membind: Membind::Local };
        placement::plan(&survey.topology, &request).map_err(Fault::usage)
    }
}
