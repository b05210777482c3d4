//! What a supervisor has heard of its session, and the document that it keeps of it.

use std::time::Instant;

use report::document::Status;

use super::before::Before;
use super::channel::SessionMessage;
use super::kind::{MessageOf, Supervised, SupervisedRun};
use super::partners::RankProcess;
use crate::document::DocumentState;
use crate::exit::Exit;
use crate::journal::DocumentFile;

/// What a supervisor knows.
pub(super) struct KnownSession<'a, K: Supervised> {
    pub kind: &'a K,
    pub run: SupervisedRun<'a>,
    pub file: DocumentFile<'a>,
    /// Whether something is known that the file does not have.
    behind: bool,
    /// How the run stands, for the file.
    state: DocumentState,
    /// What the session said before all ranks met.
    pub before: Before,
    /// What all ranks know since they have met, and their sessions.
    pub met: Option<(K::Met, Vec<RankProcess>)>,
    /// What the session does.
    pub doing: K::Doing,
    /// When it said something last.
    pub since: Instant,
    /// What it found.
    pub found: K::Found,
}

impl<'a, K: Supervised> KnownSession<'a, K> {
    /// Nothing yet.
    pub fn nothing(kind: &'a K, run: SupervisedRun<'a>, file: DocumentFile<'a>) -> Self {
        Self {
            kind,
            run,
            file,
            behind: false,
            state: DocumentState { status: Status::Running, reason: None, exit: None },
            before: Before::default(),
            met: None,
            doing: K::Doing::default(),
            since: Instant::now(),
            found: K::Found::default(),
        }
    }

    /// Takes what the session tells; whether it was the last that it had to say.
    pub fn take(&mut self, message: MessageOf<K>) -> bool {
        self.since = Instant::now();
        match message {
            SessionMessage::Starting(library) => self.before.starting = Some(library),
            SessionMessage::Refusing(code, why) => self.before.refusing = Some((code, why)),
            SessionMessage::Refused(code) => self.before.refused = Some(code),
            SessionMessage::Met(met) => {
                let processes = K::processes(&met);
                self.met = Some((met, processes));
            }
            SessionMessage::Doing(doing) => self.doing = doing,
            SessionMessage::Found(found) => self.found = found,
            SessionMessage::Over => return true,
        }
        false
    }

    /// The sessions of all ranks, since they have met.
    pub fn processes(&self) -> Option<&[RankProcess]> {
        self.met.as_ref().map(|(_, processes)| &processes[..])
    }

    /// The ranks that what is done now waits for; `None` between such things.
    pub fn awaited(&self) -> Option<Vec<usize>> {
        K::awaited(&self.doing, self.processes().unwrap_or_default())
    }

    /// Something new is known: writes it, if it is time to.
    pub fn keep(&mut self) {
        self.behind = true;
        self.catch_up();
    }

    /// Writes what it was not time to write, if it is now: an operation that hangs brings nothing new.
    pub fn catch_up(&mut self) {
        if self.behind && self.file.is_due() {
            self.write();
        }
    }

    /// A signal came: writes what is known at once.
    pub fn interrupted(&mut self, exit: Exit) {
        let reason = Some("a signal came".to_owned());
        self.state = DocumentState { status: Status::Interrupted, reason, exit: Some(exit) };
        self.write();
    }

    fn write(&mut self) {
        let Some((met, _)) = &self.met else { return };
        let state = self.state.clone();
        self.file.write(|| self.kind.document(&self.run, met, &self.found, state));
        self.behind = false;
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use report::document::{Status, Tool};
    use report::sink::Sink;

    use super::super::kind::{PlaceAsked, RankSession, SessionOutcome};
    use super::*;
    use crate::began::Began;
    use crate::document::Origin;
    use crate::fault::Fault;

    /// What is found are letters, and they are the document.
    struct Letters;

    impl Supervised for Letters {
        type Met = ();
        type Doing = String;
        type Found = String;
        type Document = String;

        fn place_asked(&self) -> &PlaceAsked {
            unreachable!("nobody starts a session")
        }

        fn timeout(&self) -> Duration {
            Duration::MAX
        }

        fn operation_limit(&self) -> (Duration, &'static str) {
            (Duration::MAX, "--timeout")
        }

        fn session(&self, _: &RankSession<Self>) -> Result<Exit, Fault> {
            Ok(Exit::Ok)
        }

        fn processes((): &()) -> Vec<RankProcess> {
            Vec::new()
        }

        fn awaited(_: &String, _: &[RankProcess]) -> Option<Vec<usize>> {
            None
        }

        fn is_interrupted(_: &String) -> bool {
            false
        }

        fn settle(&self, _: &mut String, _: &SessionOutcome<String>) {}

        fn ended(&self, (): &(), _: &String, _: &SessionOutcome<String>) -> (Status, Exit, Option<String>) {
            (Status::Complete, Exit::Ok, None)
        }

        fn document(&self, _: &SupervisedRun, (): &(), found: &String, state: DocumentState) -> String {
            if state.status == Status::Interrupted { format!("{found}, interrupted") } else { found.clone() }
        }
    }

    #[test]
    fn what_it_was_not_time_to_write_is_written_when_it_is_though_nothing_new_comes()
    -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("letters.json");
        let sink = Sink::open(&path)?;
        let tool = Tool { name: String::new(), version: String::new(), git: None };
        let origin = Origin { tool, argv: Vec::new(), began: Began::now() };
        let run = SupervisedRun { launch: &launchers::Launch::ALONE, origin: &origin };
        let mut known = KnownSession::nothing(&Letters, run, DocumentFile::new(Some(&sink), |_| ()));
        let written = || std::fs::read_to_string(&path).unwrap_or_default();
        known.keep();
        assert_eq!(written(), "", "the ranks have not met");
        known.take(SessionMessage::Met(()));
        known.keep();
        assert_eq!(written(), "\"\"\n");

        // A disk that took a second for it: the next is due ten seconds later, or five.
        known.file.written = Some((Instant::now(), Duration::from_secs(1)));
        known.take(SessionMessage::Found("a".to_owned()));
        known.keep();
        assert_eq!(written(), "\"\"\n");
        let earlier = Instant::now().checked_sub(Duration::from_secs(6));
        known.file.written = earlier.map(|earlier| (earlier, Duration::from_secs(1)));
        known.catch_up();
        assert_eq!(written(), "\"a\"\n");
        let last = || -> std::io::Result<SystemTime> { std::fs::metadata(&path)?.modified() };
        let before = last()?;
        known.file.written = None;
        known.catch_up();
        assert_eq!(last()?, before);

        // The session is heard on for a moment: what it finds then is of an interrupted run.
        known.interrupted(Exit::Signal(15));
        assert_eq!(written(), "\"a, interrupted\"\n");
        known.take(SessionMessage::Found("b".to_owned()));
        known.file.written = None;
        known.keep();
        assert_eq!(written(), "\"b, interrupted\"\n");
        Ok(())
    }
}
