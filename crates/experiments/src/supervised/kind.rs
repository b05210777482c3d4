//! What a kind of measurement by supervised ranks says of itself; its options are the value that implements
//! it.

use std::fmt::Display;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use launchers::Launch;
use placement::{Membind, Selection};
use report::document::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use stats::IdList;

use super::channel::SessionMessage;
use super::partners::RankProcess;
use super::session_end::SessionEnd;
use crate::document::{DocumentState, Origin};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::options::Backend;

/// A kind of measurement by ranks that may be lost.
pub trait Supervised: Sync + Sized {
    /// What all ranks know since they have met.
    type Met: Serialize + DeserializeOwned + Send + 'static;
    /// The step that a session is at, in words too; by default what lies between the measurements.
    type Doing: Clone + Default + Display + Serialize + DeserializeOwned + Send + 'static;
    /// What is found so far.
    type Found: Clone + Default + Serialize + DeserializeOwned + Send + 'static;
    /// The document that is written.
    type Document: Serialize;

    /// What is asked of the places of ranks.
    fn place_asked(&self) -> &PlaceAsked;

    /// How long ranks wait for each other before the run, and for a driver.
    fn timeout(&self) -> Duration;

    /// How long a session may say nothing while it measures, and the option that changes that.
    fn operation_limit(&self) -> (Duration, &'static str);

    /// The session of this rank: binds, opens the GPU, starts MPI, measures. MPI may end it at any call.
    ///
    /// # Errors
    /// It cannot measure. Why is said by whoever called [`run`](super::run), where this returns.
    fn session(&self, session: &RankSession<Self>) -> Result<Exit, Fault>;

    /// The sessions, by rank.
    fn processes(met: &Self::Met) -> Vec<RankProcess>;

    /// Of all ranks, those that the step under way waits for; `None` between steps.
    fn awaited(doing: &Self::Doing, all: &[RankProcess]) -> Option<Vec<usize>>;

    /// Whether a signal ended the work.
    fn is_interrupted(found: &Self::Found) -> bool;

    /// Notes what the end of the session means for what was under way, and for what was not begun.
    fn settle(&self, found: &mut Self::Found, ending: &SessionOutcome<Self::Doing>);

    /// How the run stands at its end, its exit, and the reason where it is not complete.
    fn ended(
        &self,
        met: &Self::Met,
        found: &Self::Found,
        ending: &SessionOutcome<Self::Doing>,
    ) -> (Status, Exit, Option<String>);

    /// The document of what is known.
    fn document(
        &self,
        run: &SupervisedRun,
        met: &Self::Met,
        found: &Self::Found,
        state: DocumentState,
    ) -> Self::Document;

    /// Holds the document of a run that ended well against what was expected of it, and says the exit that
    /// follows.
    fn expected(&self, _document: &mut Self::Document) -> Exit {
        Exit::Ok
    }
}

/// What a session of this kind tells its supervisor.
pub(super) type MessageOf<K> =
    SessionMessage<<K as Supervised>::Met, <K as Supervised>::Doing, <K as Supervised>::Found>;

/// What is asked of the places of a node's ranks.
#[derive(Clone, Debug)]
pub struct PlaceAsked {
    /// A PU for each rank of a node; near its GPU where none is named.
    pub cpus: Option<IdList>,
    /// A GPU for each rank of a node, or one for all; all that are visible, in turn, where none is named.
    pub gpus: Option<Selection>,
    /// Where host memory lies.
    pub membind: Membind,
    /// Which devices.
    pub backend: Backend,
}

impl Default for PlaceAsked {
    fn default() -> Self {
        Self { cpus: None, gpus: None, membind: Membind::Local, backend: Backend::Auto }
    }
}

/// A run that has begun.
pub struct SupervisedRun<'a> {
    /// How its ranks came to be processes.
    pub launch: &'a Launch,
    /// What makes the document, and when it began.
    pub origin: &'a Origin,
}

/// How a session ended, and during which step.
#[derive(Clone, Debug)]
pub struct SessionOutcome<D> {
    /// The kind of end.
    pub end: SessionEnd,
    /// The step that was under way.
    pub doing: D,
    /// Why that is too early, in words; `None` where all was done.
    pub why: Option<String>,
    /// The exit for the signal that came, if one did.
    pub signal: Option<Exit>,
}

/// A session, as a kind of measurement has it.
pub struct RankSession<'a, K> {
    /// What is measured.
    pub kind: &'a K,
    /// The launch that this rank is one of.
    pub launch: &'a Launch,
    /// Says something on standard error, at once.
    pub say: fn(&str),
    /// Whether MPI was started, or is not needed: a rank that does not begin has told the others.
    pub(super) with_others: AtomicBool,
}

/// Told of everything as it happens: whoever is told outlives a process that MPI ends.
pub trait SessionJournal<D, F> {
    /// This is done next.
    fn doing(&mut self, what: &D);

    /// This is known now. Rank 0 alone knows anything.
    fn found(&mut self, found: &F);
}
