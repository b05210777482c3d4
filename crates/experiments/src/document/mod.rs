//! From what a run has to the document that is kept: every field of the schema that the run knows is filled
//! here, and nowhere else; what follows from them `analysis` says (`conclusion`).
//!
//! * `rank_part` what each rank's process knows beforehand, filled in by `collect` with `environment`,
//!   `devices` and `nodes`;
//! * `place_workers` who measured which place; `cases` what it gave; `bounds` withdraws a bound that was
//!   exceeded; `verdict` how the run ended.

pub(crate) mod bounds;
pub mod cases;
pub mod collect;
pub(crate) mod devices;
mod environment;
pub mod nodes;
mod place_workers;
pub mod rank_part;
pub mod verdict;

pub use ::place::document::locality;

use engine::{RunState, TimeSpent};
use place_workers::PlaceWorkers;
use report::SavedDocument;
use report::document::{Document, Level, Message, Platform, Status, Tool};
use report::environment::Environment;
use report::launch::{Launch, MissingRank};
use report::matrix::Matrix;
use report::rank::Rank;
use report::settings::Settings;
use topo::environment::ProbeValue;

use crate::began::Began;
use crate::config::unique;
use crate::document::rank_part::RankPart;
use crate::exit::Exit;
use crate::experiment::{Beforehand, CaseMap};

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
        size_losses: Vec::new(),
        pair_sample: None,
        slower_twins: Vec::new(),
        messages: Vec::new(),
    }
}

/// What is known before the run.
pub struct DocumentFacts<'a> {
    /// The command, as documents name it.
    pub command: &'a str,
    /// What was asked for, with the defaults filled in.
    pub settings: Settings,
    /// The document's cases, and where each of the engine's figures stands in them.
    pub figures: &'a CaseMap,
    /// How figures stand in rows and columns.
    pub matrices: &'a [Matrix],
    /// What else is known of what is measured.
    pub known: &'a Beforehand,
    /// What is known of each place, by number.
    pub parts: &'a [RankPart],
    /// The platform, as rank 0's process sees it.
    pub platform: &'a Platform,
    /// The first node and its state.
    pub environment: &'a Environment,
    /// How the ranks came to be processes, where they are.
    pub launch: Option<&'a Launch>,
    /// What the user should know beside the numbers.
    pub messages: Vec<Message>,
    /// What made the document, and when it began.
    pub origin: &'a Origin,
}

/// The document for the state a run is in. `exit` is `None` while it goes on.
pub fn build(facts: &DocumentFacts, state: &RunState, exit: Option<Exit>) -> Document {
    let workers = PlaceWorkers::of(facts.figures);
    let ranks: Vec<Rank> = facts.parts.iter().map(|part| rank(&workers, part, state)).collect();
    let mut devices = devices::devices(facts, &workers, state);
    let mut cases = cases::cases(facts, state, &devices);
    bounds::withdraw(&mut devices, &ranks, &mut cases);

    let known = (facts.platform, facts.settings.clone(), facts.environment);
    let mut document = Document {
        launch: facts.launch.cloned(),
        nodes: nodes::nodes(facts.parts),
        ranks,
        missing: missing(facts.parts, &workers, state),
        devices,
        cases,
        matrices: facts.matrices.to_vec(),
        kernels: facts.known.kernels.clone(),
        pieces: facts.known.pieces.clone(),
        pair_sample: facts.known.pair_sample.clone(),
        messages: facts.messages.clone(),
        ..blank(facts.command, facts.origin, verdict::state(state, facts.figures, exit), known)
    };

    document.rows = report::rows::rows(&document);
    match exit {
        Some(_) => analysis::conclusion::conclude(&mut document, |found| facts.known.declared.like(found)),
        None => analysis::conclusion::so_far(&mut document),
    }
    document
}

fn rank(workers: &PlaceWorkers, part: &RankPart, state: &RunState) -> Rank {
    let place = part.rank.rank as usize;
    let worker = workers.at(place).and_then(|rank| state.ranks.get(rank));
    let mut spent = TimeSpent::default();
    let here = workers.first_at(place).filter_map(|rank| state.ranks.get(rank));
    here.for_each(|worker| spent.add(&worker.spent));
    let thread_id = worker.and_then(|worker| worker.thread_id);
    Rank { thread_id, time: time_spent(spent), ..part.rank.clone() }
}

/// Where a rank's time went, as a document has it; `None` before it has measured anything.
pub fn time_spent(spent: TimeSpent) -> Option<TimeSpent> {
    (spent != TimeSpent::default()).then_some(spent)
}

/// The ranks that nothing is heard of any more.
fn missing(parts: &[RankPart], workers: &PlaceWorkers, state: &RunState) -> Vec<MissingRank> {
    let lost = |part: &RankPart| {
        let worker = state.ranks.get(workers.at(part.rank.rank as usize)?)?;
        let (rank, host) = (part.rank.rank, Some(part.rank.host.clone()));
        Some(MissingRank { rank, host, why: worker.lost.clone()? })
    };
    parts.iter().filter_map(lost).collect()
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
