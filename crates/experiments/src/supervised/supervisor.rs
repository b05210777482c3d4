//! The supervisor of a rank's session, from the first step to the last: it knows what the session was doing
//! when MPI ended it, and rank 0's has the result.

use launchers::Launch;

use super::caller::Caller;
use super::kind::{SessionOutcome, Supervised, SupervisedRun};
use super::session_end::SessionEnd;
use super::session_state::KnownSession;
use super::watch::{SessionProcess, SilenceLimits};
use crate::document::DocumentState;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::journal::DocumentFile;
use crate::signals::Signals;

/// Runs the supervisor: the session is this program with the same arguments.
///
/// # Errors
/// The session cannot be started, or has no result.
pub(super) fn run<K: Supervised>(
    kind: &K,
    launch: &Launch,
    caller: Caller<K::Document>,
) -> Result<Exit, Fault> {
    let Caller { origin, say, open, show } = caller;
    let leads = launch.speaks();
    // The file is opened first: a run whose result cannot be kept must not begin.
    let opened = if leads { open() } else { Ok(None) };
    let (sink, refused) = match opened {
        Err(fault) if launch.is_alone() => return Err(fault),
        Err(fault) => (None, Some(fault)),
        Ok(sink) => (sink, None),
    };
    let signals = Signals::catch()?;
    let mut session = SessionProcess::start(refused.as_ref())?;
    let (limit, option) = kind.operation_limit();
    let run = SupervisedRun { launch, origin: &origin };
    let mut known = KnownSession::nothing(kind, run, DocumentFile::new(sink.as_ref(), say));
    let end = session.watch(&SilenceLimits::new(limit, leads), &mut known, &signals)?;

    // One that comes from here on changes nothing: what it would end has ended.
    let signal = signals.exit().filter(|_| end != SessionEnd::Over || K::is_interrupted(&known.found));
    let is_working = known.awaited().is_some();
    let KnownSession { run, file, before, met, doing, mut found, .. } = known;
    let Some((met, processes)) = met else {
        return Err(session.leave_unmet(launch, &before, &end, &signals));
    };
    let why = (end != SessionEnd::Over).then(|| end.why(&doing.to_string(), option));
    let ending = SessionOutcome { end, doing, why, signal };
    kind.settle(&mut found, &ending);

    // At once: a launcher that ends this process too will do so soon.
    let concluded = if leads {
        let (status, mut exit, reason) = kind.ended(&met, &found, &ending);
        let mut document =
            kind.document(&run, &met, &found, DocumentState { status, reason, exit: Some(exit) });
        if exit == Exit::Ok {
            exit = kind.expected(&mut document);
        }
        show(file.conclude(document, exit))
    } else {
        if is_working && ending.end.is_by_signal() {
            say(&format!("note: on this rank: {}", ending.why.as_deref().unwrap_or_default()));
        }
        // Rank 0's supervisor has the result and its code.
        Ok(Exit::Ok)
    };

    let code = leads.then(|| concluded.as_ref().map_or_else(|fault| fault.exit.code(), |exit| exit.code()));
    session.leave(launch, &ending.end, (&processes, limit), code, &signals);
    concluded
}
