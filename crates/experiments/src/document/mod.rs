//! From what a run has to the document that is kept: every field of the schema is filled here, and nowhere
//! else.
//!
//! * `part` what each rank's process knows beforehand, filled in by `collect` with `environment`, `devices`
//!   and `nodes`;
//! * `cases` and `penalties` what it gave; `verdict` how it ended.

pub(crate) mod bounds;
pub mod cases;
pub mod collect;
pub(crate) mod devices;
mod environment;
pub mod nodes;
pub mod of_experiment;
mod penalties;
pub mod rank_part;
pub mod verdict;

use pingpong::{Order, RunConfig, RunState, TimeSpent};
use report::SavedDocument;
use report::document::{Document, Level, Message, Platform, Status, Tool};
use report::environment::Environment;
use report::launch::{Launch, MissingRank};
use report::settings::{OrderAsked, Settings};
use topo::environment::ProbeValue;

use crate::began::Began;
use crate::config::unique;
use crate::document::rank_part::RankPart;
use crate::exit::Exit;
use crate::options::PingPongOptions;
use crate::settings;

/// What made a document: the program, the words that started it, and when it began.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The program.
    pub tool: Tool,
    /// The words that started it.
    pub argv: Vec<String>,
    /// When the measurement began.
    pub began: Began,
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentState {
    /// How.
    pub status: Status,
    /// Why, where it is not complete.
    pub reason: Option<String>,
    /// The exit code; `None` while it goes on.
    pub exit: Option<Exit>,
}

/// A document of which nothing is known but what a run has from the beginning.
pub fn blank(
    command: &str,
    origin: &Origin,
    state: DocumentState,
    (platform, settings, environment): (&Platform, Settings, &Environment),
) -> Document {
    Document {
        schema: Document::SCHEMA.to_owned(),
        schema_version: Document::VERSION.number(),
        tool: origin.tool.clone(),
        command: command.to_owned(),
        argv: origin.argv.clone(),
        started_at: origin.began.started_at(),
        elapsed_s: origin.began.elapsed().as_secs_f64(),
        status: state.status,
        status_reason: state.reason,
        exit_code: state.exit.map(Exit::code),
        verdict: Vec::new(),
        platform: platform.clone(),
        settings,
        launch: None,
        nodes: Vec::new(),
        environment: environment.clone(),
        ranks: Vec::new(),
        missing: Vec::new(),
        penalties: Vec::new(),
        devices: Vec::new(),
        cases: Vec::new(),
        rows: Vec::new(),
        matrices: Vec::new(),
        groups: Vec::new(),
        loaded_latency: Vec::new(),
        kernels: Vec::new(),
        laplace: None,
        pieces: None,
        fits: Vec::new(),
        slower_twins: Vec::new(),
        messages: Vec::new(),
    }
}

/// What is known before the run.
pub struct PingPongFacts<'a> {
    /// The arguments as typed.
    pub args: &'a PingPongOptions,
    /// The run.
    pub config: &'a RunConfig,
    /// What each rank's process knows, by rank.
    pub parts: &'a [RankPart],
    /// The platform, as rank 0's process sees it.
    pub platform: &'a Platform,
    /// The first node.
    pub environment: &'a Environment,
    /// How the ranks came to be processes, where they are.
    pub launch: Option<&'a Launch>,
    /// What made the document, and when it began.
    pub origin: &'a Origin,
}

/// The document for the state a run is in. `exit` is `None` while it goes on.
pub fn build(facts: &PingPongFacts, state: &RunState, exit: Option<Exit>) -> Document {
    let known = (facts.platform, asked(facts), facts.environment);
    let mut devices = devices::devices(facts.parts, state, facts.launch.is_some());
    let ranks: Vec<_> = facts.parts.iter().map(|part| rank(part, state)).collect();
    let mut cases = cases::cases(facts, state, &ranks, &devices);
    bounds::withdraw(&mut devices, &ranks, &mut cases);
    let mut document = Document {
        launch: facts.launch.cloned(),
        nodes: nodes::nodes(facts.parts),
        ranks,
        missing: missing(facts.parts, state),
        penalties: penalties::penalties(facts, &cases),
        devices,
        cases,
        messages: messages(facts),
        ..blank("pingpong", facts.origin, verdict::state(state, exit), known)
    };

    document.rows = report::rows::rows(&document);
    document.penalties = analysis::matrix_analysis::compared(&document, document.penalties.clone());
    document.slower_twins = analysis::slower_twins::slower_twins(&document);
    document.verdict = analysis::answer::answer(&document);
    document
}

fn rank(part: &RankPart, state: &RunState) -> report::rank::Rank {
    let thread_id = state.ranks.get(part.rank.rank as usize).and_then(|rank| rank.thread_id);
    let time = state.ranks.get(part.rank.rank as usize).and_then(|rank| time_spent(rank.spent));
    report::rank::Rank { thread_id, time, ..part.rank.clone() }
}

/// Where a rank's time went, as a document has it; `None` before it has measured anything.
pub fn time_spent(spent: TimeSpent) -> Option<TimeSpent> {
    (spent != TimeSpent::default()).then_some(spent)
}

/// The ranks that nothing is heard of any more.
fn missing(parts: &[RankPart], state: &RunState) -> Vec<MissingRank> {
    let lost = parts.iter().zip(&state.ranks).filter_map(|(part, rank)| Some((part, rank.lost.clone()?)));
    lost.map(|(part, why)| MissingRank { rank: part.rank.rank, host: Some(part.rank.host.clone()), why })
        .collect()
}

fn probe_text(value: &ProbeValue) -> String {
    match value {
        ProbeValue::Text(text) => text.clone(),
        ProbeValue::Number(number) => number.to_string(),
    }
}

/// What the plans of ranks say, each thing once.
pub fn warnings(parts: &[RankPart]) -> Vec<Message> {
    let notes: Vec<String> = parts.iter().flat_map(|part| part.notes.iter().cloned()).collect();
    unique(&notes).into_iter().map(|text| Message { level: Level::Warning, text }).collect()
}

/// What the user should know beside the numbers.
fn messages(facts: &PingPongFacts) -> Vec<Message> {
    let mut messages = warnings(facts.parts);
    if facts.args.cpus.is_none() {
        let text = "PUs were chosen automatically, each the first free allowed core of its device's locality \
            domain where that is known; give --cpus to choose them";
        messages.push(Message { level: Level::Info, text: text.to_owned() });
    }
    if facts.parts.len() == 1 && facts.args.order == Some(OrderAsked::Both) {
        let text =
            "there is one rank only: alone and at once are the same, and there is no contention penalty";
        messages.push(Message { level: Level::Info, text: text.to_owned() });
    }
    messages
}

/// How ranks share the machine in these orders.
fn order_measured(orders: &[Order]) -> OrderAsked {
    match orders {
        [Order::Alone] => OrderAsked::Alone,
        [Order::Simultaneous] => OrderAsked::Simultaneous,
        _ => OrderAsked::Both,
    }
}

/// What was asked for, with the defaults filled in.
fn asked(facts: &PingPongFacts) -> Settings {
    let (args, config) = (facts.args, facts.config);
    Settings {
        cpus_asked: args.cpus.as_ref().map(ToString::to_string),
        gpus_asked: args.measuring.gpus.as_ref().map(ToString::to_string),
        backend_asked: args.measuring.backend.name().to_owned(),
        sizes_bytes: config.sizes.iter().map(|size| *size as u64).collect(),
        floats: args.floats,
        directions: config.directions.iter().map(|d| settings::direction(*d)).collect(),
        memory: config.memory.iter().map(|m| settings::memory(*m)).collect(),
        membind: settings::membind(args.membind),
        huge_pages: config.huge_pages,
        timing: settings::timing(config.timing),
        engine: settings::engine(config.by),
        order: order_measured(&config.orders),
        repetition: settings::repetition(config.amount, config.max_time),
        seed: config.seed,
        verify: config.verify,
    }
}
