//! Copies under a chosen placement, of a process on its own, whose ranks are its threads; `launched` does the
//! same with processes as ranks.

use std::fmt::Write;

use ::pingpong::{CopyCase, Order, RunConfig, RunState, read_weights};
use placement::{Plan, Request, Target, TargetId};
use ranks::{Communicator, Single};
use report::document::{Level, Message, Platform};
use report::environment::Environment;
use report::settings::{OrderAsked, Settings};
use stats::memory_nodes::{MemoryNodes, NodeUse};
use stats::units::counted;
use topo::Topology;

use crate::backends::{self, Untouched};
use crate::budget::{budget, budget_untouched};
use crate::config;
use crate::declared_groups::DeclaredGroups;
use crate::document::rank_part::{Local, RankPart};
use crate::document::{self, DocumentFacts, Origin, verdict, warnings};
use crate::driver::{RunContext, chosen_for_ranks};
use crate::exit::Exit;
use crate::experiment::{Beforehand, CaseMap};
use crate::fault::Fault;
use crate::finding::{drivers, found};
use crate::journal::{DocumentJournal, FinishedRun};
use crate::options::PingPongOptions;
use crate::outline::{engine_and_clock, how, lines_of, time_line};
use crate::settings;

impl PingPongOptions {
    /// Measures with the ranks as threads of this process. `expected`: the exit of a complete run, by what
    /// was expected of its document.
    ///
    /// # Errors
    /// What was asked for cannot be measured here. Once a run has begun, faults go into its document.
    pub fn measure(
        &self,
        session: RunContext,
        expected: impl FnOnce(&mut report::Document) -> Exit,
    ) -> Result<FinishedRun, Fault> {
        let topology = read()?;
        let (found, session) =
            match found("pingpong", &self.measuring, &topology, drivers(&self.measuring), session)? {
                Ok(found) => found,
                Err(ended) => return Ok(ended),
            };
        let RunContext { origin, sink, signals, observer, say } = session;
        let plan = self.planned(&topology, backends::targets(&*found.platform))?;
        let (kind, ranks) = (found.platform.facts().kind, plan.ranks.len());
        let config = config::checked(self, kind, ranks, config::copy_size(&topology, kind, ranks))?;
        budget(&config, &plan, &topology, &found)?;

        let machine = topo::environment::probe();
        let timer = ::pingpong::clock::measure();
        let hosts = [topology.host()];
        let local = Local {
            topology: &topology,
            found: &found,
            machine: &machine,
            timer,
            plan: &plan,
            node: 0,
            hosts: &hosts,
        };
        let ranks: Vec<usize> = plan.ranks.iter().map(|rank| rank.rank).collect();
        let (parts, platform, environment) = (local.parts(&ranks), local.platform(), local.environment());
        let figures = CaseMap::of_ranks(&config, parts.len());
        let facts = self.facts(&config, &figures, &parts, &platform, &environment, &origin);
        let build = |state: &RunState, exit| document::build(&facts, state, exit);
        let mut journal = DocumentJournal::new(&build, sink, observer, say);
        let world = Single::default();
        let mut comm = Communicator::new(&world);
        let interrupted = &signals.interrupted;
        let state = ::pingpong::lead(
            &config,
            local.workers(),
            &local.suite(&config),
            &mut comm,
            interrupted,
            &mut journal,
        );
        let exit = verdict::exit(&state, signals.exit());
        let ended = journal.conclude(&state, exit, expected);
        // As in `driver::measure`.
        std::mem::forget(found);
        Ok(ended)
    }

    /// The plan as it would be carried out, without touching a GPU; and whether the memory that it needs is
    /// there.
    ///
    /// # Errors
    /// What was asked for cannot be measured here.
    pub fn outline(&self) -> Result<(String, Result<(), Fault>), Fault> {
        self.outline_on(&read()?)
    }

    /// The same on this machine, which may be a saved one.
    ///
    /// # Errors
    /// As [`Self::outline`].
    pub fn outline_on(&self, topology: &Topology) -> Result<(String, Result<(), Fault>), Fault> {
        let measuring = &self.measuring;
        let Untouched { kind, targets, source } =
            backends::untouched(measuring.backend, measuring.gpus.is_some(), topology)?;
        let plan = self.planned(topology, targets)?;
        let ranks = plan.ranks.len();
        let config = config::checked(self, kind, ranks, config::copy_size(topology, kind, ranks))?;
        let fits = budget_untouched(&config, &plan, topology);
        Ok((outline(&source, &plan, &config) + &lines_of(&how(measuring)), fits))
    }

    /// The facts of the document that are known before the run; each rank is a place.
    pub(crate) fn facts<'a>(
        &self,
        config: &RunConfig,
        figures: &'a CaseMap,
        parts: &'a [RankPart],
        platform: &'a Platform,
        environment: &'a Environment,
        origin: &'a Origin,
    ) -> DocumentFacts<'a> {
        const NONE: &Beforehand = &Beforehand {
            kernels: Vec::new(),
            pieces: None,
            pair_sample: None,
            declared: DeclaredGroups::NONE,
        };

        DocumentFacts {
            command: "pingpong",
            settings: self.settings(config),
            figures,
            matrices: &[],
            known: NONE,
            parts,
            platform,
            environment,
            launch: None,
            messages: self.messages(parts),
            origin,
        }
    }

    /// What was asked for, with the defaults filled in.
    fn settings(&self, config: &RunConfig) -> Settings {
        Settings {
            cpus_asked: self.cpus.as_ref().map(ToString::to_string),
            gpus_asked: self.measuring.gpus.as_ref().map(ToString::to_string),
            backend_asked: self.measuring.backend.name().to_owned(),
            sizes_bytes: config.sizes.iter().map(|size| *size as u64).collect(),
            floats: self.floats,
            directions: config.directions.iter().map(|d| settings::direction(*d)).collect(),
            memory: config.memory.iter().map(|m| settings::memory(*m)).collect(),
            membind: settings::membind(&self.membind),
            huge_pages: config.engine.huge_pages,
            timing: settings::timing(config.timing),
            engine: settings::engine(config.by),
            order: match config.orders[..] {
                [Order::Alone] => OrderAsked::Alone,
                [Order::Simultaneous] => OrderAsked::Simultaneous,
                _ => OrderAsked::Both,
            },
            repetition: settings::repetition(config.engine.amount, config.engine.max_time),
            seed: config.engine.seed,
            verify: config.engine.verify,
        }
    }

    /// What the user should know beside the numbers.
    fn messages(&self, parts: &[RankPart]) -> Vec<Message> {
        let mut messages = warnings(parts);
        let mut inform = |text: &str| messages.push(Message { level: Level::Info, text: text.to_owned() });
        if self.cpus.is_none() {
            inform(
                "PUs were chosen automatically, each the first free allowed core of its device's locality \
                 domain where that is known; give --cpus to choose them",
            );
        }

        match self.order.filter(|_| parts.len() == 1) {
            Some(OrderAsked::Both) => inform(
                "there is one rank only: alone and at once are the same, and there is no contention penalty",
            ),
            Some(OrderAsked::Simultaneous) => inform("there is one rank only: it copied alone"),
            Some(OrderAsked::Alone | OrderAsked::Newer) | None => {}
        }
        messages
    }

    /// The placement of the ranks, on these targets.
    fn planned(&self, topology: &Topology, available: Vec<Target>) -> Result<Plan, Fault> {
        let selection = self.measuring.gpus.as_ref();
        let targets = selection.map(|gpus| chosen_for_ranks(Some(gpus), available.clone())).transpose()?;
        let request = Request { cpus: self.cpus.clone(), targets, available, membind: self.membind.clone() };
        let mut plan = placement::plan(topology, &request).map_err(Fault::usage)?;
        read_weights(&mut plan).map_err(Fault::usage)?;
        Ok(plan)
    }
}

/// Reads the machine.
///
/// # Errors
/// It cannot be read.
pub fn read() -> Result<Topology, Fault> {
    topo::read().map_err(|error| Fault::new(Exit::NoResult, error))
}

/// `0-1 (interleaved)`, `0-1 (by weight: 3 and 1 pages in turn)`.
fn spread_words(nodes: &MemoryNodes) -> String {
    let in_turn: Vec<String> = nodes.in_turn.values().map(u32::to_string).collect();
    let how = match nodes.node_use {
        NodeUse::WeightedInterleave => format!("by weight: {} pages in turn", in_turn.join(" and ")),
        NodeUse::Interleave | NodeUse::Bind => "interleaved".to_owned(),
    };
    format!("{} ({how})", nodes.nodes())
}

fn outline(source: &str, plan: &Plan, config: &RunConfig) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "Plan (dry run: no GPU was touched, nothing was measured)");
    let _ = writeln!(text, "platform  {source}");

    for rank in &plan.ranks {
        let device = match rank.target.id {
            TargetId::Gpu(pci) => format!("GPU {} = {pci}", rank.target.index),
            TargetId::Node(node) => format!("memory of node {node}"),
        };
        let closeness = rank.verdict.closeness.text();
        let _ = writeln!(
            text,
            "rank {:<3} PU {:<4} memory on node {:<3} {device}  {closeness}",
            rank.rank,
            rank.pu,
            rank.spread.as_ref().map_or_else(|| rank.memory_node.to_string(), spread_words)
        );
        let _ = writeln!(text, "         PU: {}", rank.chosen_by.text());
        let _ = writeln!(text, "         {}", rank.verdict.reason);
    }

    plan.notes.iter().for_each(|note| {
        let _ = writeln!(text, "note      {note}");
    });
    let cases = CopyCase::all(config);
    let sizes: Vec<String> = config.sizes.iter().map(|size| stats::units::size(*size as u64)).collect();
    let memory: Vec<&str> = config.memory.iter().map(|kind| kind.name()).collect();
    let directions: Vec<&str> = config.directions.iter().map(|direction| direction.name()).collect();
    let turns = match (config.orders.as_slice(), config.alone_blocks) {
        ([Order::Alone], _) if plan.ranks.len() > 1 => ", one after the other".to_owned(),
        (_, Some(blocks)) => format!(", all at once, and each alone for {blocks} blocks"),
        _ => String::new(),
    };
    let _ = writeln!(text, "cases     {} on {}{turns}", cases.len(), counted(plan.ranks.len(), "rank"));
    let _ = writeln!(text, "sizes     {}", sizes.join(", "));
    let _ = writeln!(text, "memory    {}, directions {}", memory.join(", "), directions.join(", "));
    let how = engine_and_clock(config);
    if let Some(words) = how.strip_prefix(", ") {
        let _ = writeln!(text, "copied    {words}");
    }

    text + &time_line(config.engine.max_time)
}
