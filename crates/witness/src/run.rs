//! The run of the program with the hook: its input, output and exit are its own.
//!
//! The records lie in a folder of this run's own, below `TMPDIR`. A signal that comes to numabench alone (a
//! batch system's SIGTERM) is passed on; one from the terminal reaches the program by itself.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::layout::{ALL, FOLDER, LOADED};

/// The longest time between two looks at the program.
const PAUSE: Duration = Duration::from_millis(10);

/// What is run, and how much is looked at.
#[derive(Clone, Debug)]
pub struct HookedProgram<'r> {
    /// The program and its arguments.
    pub program: &'r [OsString],
    /// The hook.
    pub hook: &'r Path,
    /// Whether every copy is timed.
    pub times_all: bool,
    /// Whether every page is looked at.
    pub looks_at_all: bool,
}

/// How it went.
#[derive(Debug)]
pub struct EndedProgram {
    /// When it began.
    pub began: SystemTime,
    /// How long it took.
    pub elapsed: Duration,
    /// How it ended.
    pub status: ExitStatus,
    /// The records.
    pub records: TempDir,
}

/// The program did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No folder for the records.
    #[error("cannot make a folder for the records in {folder}: {source}; name another one in TMPDIR")]
    Folder {
        /// Where.
        folder: String,
        /// Why.
        source: io::Error,
    },
    /// The program.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The kernel does not say how it ended.
    #[error("cannot wait for the program: {0}")]
    Wait(io::Error),
}

impl HookedProgram<'_> {
    /// The variables that the program gets, beside its own; `before` is what LD_PRELOAD holds.
    pub fn variables(&self, records: &Path, before: Option<OsString>) -> Vec<(&'static str, OsString)> {
        let mut preload = self.hook.as_os_str().to_owned();
        if let Some(before) = before.filter(|before| !before.is_empty()) {
            preload.push(":");
            preload.push(before);
        }
        let mut all = String::new();
        all.extend(self.times_all.then_some('t'));
        all.extend(self.looks_at_all.then_some('p'));
        vec![("LD_PRELOAD", preload), (FOLDER, records.into()), (ALL, all.into())]
    }

    /// Runs it to its end. `signal` says which signal came to this process, if one did.
    ///
    /// # Errors
    /// [`RunError`]: it did not run.
    pub fn to_end(&self, signal: &dyn Fn() -> Option<i32>) -> Result<EndedProgram, RunError> {
        let folder = std::env::temp_dir();
        let in_folder = |source| RunError::Folder { folder: folder.display().to_string(), source };
        let records = tempfile::Builder::new().prefix("numabench-witness-").tempdir().map_err(in_folder)?;
        std::fs::write(records.path().join(LOADED), "").map_err(in_folder)?;

        let (program, arguments) =
            self.program.split_first().map_or((None, self.program), |(first, rest)| (Some(first), rest));
        let name = program.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut command = Command::new(program.cloned().unwrap_or_default());
        command.args(arguments).envs(self.variables(records.path(), std::env::var_os("LD_PRELOAD")));
        let (began, clock) = (SystemTime::now(), Instant::now());
        let mut child = command.spawn().map_err(|source| RunError::Start { program: name, source })?;

        let (mut passed_on, mut pause) = (false, Duration::from_micros(200));
        let status = loop {
            if let Some(status) = child.try_wait().map_err(RunError::Wait)? {
                break status;
            }
            if let Some(signal) = signal().filter(|_| !passed_on) {
                passed_on = true;
                pass_on(child.id(), signal);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSE);
        };
        Ok(EndedProgram { began, elapsed: clock.elapsed(), status, records })
    }
}

/// Sends a signal to the program; it may have ended meanwhile.
fn pass_on(pid: u32, signal: i32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // A terminal's Ctrl-C has reached it already; twice would be a second one.
    if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal).filter(|it| *it != Signal::INT)) {
        let _ = kill_process(pid, signal);
    }
}
