//! From what a run has to the document that is kept: every field of the schema is filled here, and nowhere else.
//!
//! * `part` what each rank's process knows beforehand, filled in by `collect` with `environment`, `devices` and `nodes`; `settings` what was asked;
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
pub(crate) mod settings;
pub mod verdict;

use pingpong::{RunConfig, RunState, TimeSpent};
use report::SavedDocument;
use report::document::{Document, Level, Message, Platform, Status, Tool};
use report::environment::Environment;
use report::launch::{Launch, MissingRank};
use report::settings::OrderAsked;
use topo::environment::ProbeValue;

use crate::began::Began;
use crate::document::rank_part::RankPart;
use crate::exit::Exit;
use crate::options::PingPongOptions;

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
    let elapsed = facts.origin.began.elapsed();
    let (status, status_reason) = verdict::status(state, exit);
    let mut devices = devices::devices(facts.parts, state, facts.launch.is_some());
    let ranks: Vec<_> = facts.parts.iter().map(|part| rank(part, state)).collect();
    let mut cases = cases::cases(facts, state, &ranks, &devices);
    bounds::withdraw(&mut devices, &ranks, &mut cases);
    let mut document = Document {
        schema: Document::SCHEMA.to_owned(),
        schema_version: Document::VERSION.number(),
        tool: facts.origin.tool.clone(),
        command: "pingpong".to_owned(),
        argv: facts.origin.argv.clone(),
        started_at: facts.origin.began.started_at(),
        elapsed_s: elapsed.as_secs_f64(),
        status,
        status_reason,
        exit_code: exit.map(Exit::code),
        platform: facts.platform.clone(),
        settings: settings::settings(facts),
        launch: facts.launch.cloned(),
        nodes: nodes::nodes(facts.parts),
        environment: facts.environment.clone(),
        ranks,
        missing: missing(facts.parts, state),
        penalties: penalties::penalties(facts, state, &cases),
        devices,
        cases,
        rows: Vec::new(),
        slower_twins: Vec::new(),
        verdict: Vec::new(),
        matrices: Vec::new(),
        groups: Vec::new(),
        loaded_latency: Vec::new(),
        kernels: Vec::new(),
        laplace: None,
        pieces: None,
        fits: Vec::new(),
        messages: messages(facts),
    };
    document.rows = report::rows::rows(&document);
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
pub fn time_spent(spent: TimeSpent) -> Option<report::rank::TimeSpent> {
    let TimeSpent { init_ns, allocate_ns, pin_ns, prove_ns, warm_up_ns, lay_out_ns, measure_ns, verify_ns } = spent;
    let told = report::rank::TimeSpent {
        init_ns,
        allocate_ns,
        pin_ns,
        prove_ns,
        warm_up_ns,
        lay_out_ns,
        measure_ns,
        verify_ns,
    };
    (spent != TimeSpent::default()).then_some(told)
}

/// The ranks that nothing is heard of any more.
fn missing(parts: &[RankPart], state: &RunState) -> Vec<MissingRank> {
    let lost = parts.iter().zip(&state.ranks).filter_map(|(part, rank)| Some((part, rank.lost.clone()?)));
    lost.map(|(part, why)| MissingRank { rank: part.rank.rank, host: Some(part.rank.host.clone()), why }).collect()
}

fn probe_text(value: &ProbeValue) -> String {
    match value {
        ProbeValue::Text(text) => text.clone(),
        ProbeValue::Number(number) => number.to_string(),
    }
}

/// What the user should know beside the numbers.
fn messages(facts: &PingPongFacts) -> Vec<Message> {
    let mut notes: Vec<&String> = Vec::new();
    for note in facts.parts.iter().flat_map(|part| &part.notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let mut messages: Vec<Message> =
        notes.into_iter().map(|note| Message { level: Level::Warning, text: note.clone() }).collect();
    if facts.args.cpus.is_none() {
        let text = "PUs were chosen automatically, each the first free allowed core of its device's locality domain where \
                    that is known; give --cpus to choose them";
        messages.push(Message { level: Level::Info, text: text.to_owned() });
    }
    if facts.parts.len() == 1 && facts.args.order == OrderAsked::Both {
        let text = "there is one rank only: alone and at once are the same, and there is no contention penalty";
        messages.push(Message { level: Level::Info, text: text.to_owned() });
    }
    messages
}
