//! Ranks of a launch that may be lost: MPI may crash or hang when it is given device memory, and a kernel of
//! a GPU may never end. So each rank is two processes: a supervisor without MPI and without a GPU starts the
//! session that has both, hears everything before it is done, and has the result when the session crashes or
//! hangs.
//!
//! ```text
//! launcher ─► supervisor (no MPI, no GPU) ─► session: bind ─► GPU ─► MPI ─► work
//!                ▲                              │ channel: what is done, what is found
//!                └──────────────────────────────┘
//! supervisor of rank 0 ─► document ─► file, caller, exit code
//! ```
//!
//! The session is this program with the same arguments, so whoever calls [`run`] must come to the same call
//! with the same options when it is started so again.
//!
//! * `kind` what a kind of measurement says of itself: its options, its words, its document; `caller` what a
//!   run is given beside;
//! * `channel` what a session tells, frame by frame; `watch` starts a session, hears it, ends it and leaves
//!   the launch; `partners` whether the other ranks' sessions are there;
//! * `session_end` how a session ended and why that is too early, in words; `before` what its end means where
//!   the ranks had not met;
//! * `session_state` what a supervisor has heard, and the document that it keeps; `supervisor` its steps from
//!   the first to the last;
//! * `rank_session` those of a session; `place` where its rank belongs, before MPI is started.

mod before;
mod caller;
mod channel;
mod kind;
mod partners;
mod place;
mod rank_session;
mod session_end;
mod session_state;
mod supervisor;
mod watch;

pub use caller::Caller;
pub use channel::SessionMessage;
pub use kind::{PlaceAsked, RankSession, SessionJournal, SessionOutcome, Supervised, SupervisedRun};
pub use partners::RankProcess;
pub use place::{RankLocation, apart, place_on_node};
pub use session_end::{SessionEnd, signal_name};

use std::sync::atomic::{AtomicBool, Ordering};

use launchers::Launch;

use crate::exit::Exit;
use crate::fault::Fault;

/// Measures as one rank of a launch: as its supervisor, or as the session that a supervisor has started.
///
/// # Errors
/// The session cannot be started, has no result, or says here why it has none.
pub fn run<K: Supervised>(kind: &K, launch: &Launch, caller: Caller<K::Document>) -> Result<Exit, Fault> {
    if std::env::var_os(channel::SESSION).is_none() {
        return supervisor::run(kind, launch, caller);
    }
    rank_session::prepare_process()?;
    let session =
        RankSession { kind, launch, say: caller.say, with_others: AtomicBool::new(launch.is_alone()) };
    let ended = channel::refused().map_or_else(|| kind.session(&session), Err);
    match ended {
        Err(fault) if !session.with_others.load(Ordering::Relaxed) => session.refuse(fault),
        ended => ended,
    }
}
