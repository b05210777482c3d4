//! One run of a program: started where it is to be, looked at while it runs, timed to its end, ended at its
//! limit.
//!
//! A thread of its own binds itself and starts the program, which inherits the binding: so a bound program
//! costs no more to start than one that is not, and their times can be compared. The same thread then sleeps
//! in wait4 and takes the time. The program has a process group of its own, no standard input, and both
//! outputs in one file. Its environment has a mark by which its processes are found again, whoever started
//! them: those that it leaves behind are ended, because they would take cores from the runs that follow.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use report::trial::Used;
use rustix::process::{Pid, Signal, kill_process};

use crate::ending::{self, GRACE};
use crate::guardian::Guardian;
use crate::rank_observer::{MARK, SeenLook, SeenRank, marked};
use crate::wait4::Leader;

/// Pause between two looks whether the user wants to end.
const ATTENTION: Duration = Duration::from_millis(50);

/// How long processes that outlive the program's first one are given to end by themselves: a launcher's
/// helpers do.
const MOMENT: Duration = Duration::from_millis(200);

/// Pause between two looks whether they have.
const SHORT_PAUSE: Duration = Duration::from_millis(10);

/// Binds the calling thread.
pub type Bind = dyn Fn() -> Result<(), String> + Send + Sync;

/// What is to be run.
pub struct Task<'t> {
    /// The command.
    pub command: &'t [OsString],
    /// Variables beside those of this process.
    pub environment: &'t [(String, String)],
    /// How it is bound; `None`: as this process is.
    pub bind: Option<&'t Bind>,
    /// The file for its output.
    pub output: &'t Path,
    /// When it is ended.
    pub timeout: Option<Duration>,
    /// What its processes are found by; no two runs have the same.
    pub mark: &'t str,
    /// When its ranks are looked at, ascending.
    pub looks: &'t [Duration],
    /// Who ends it should this process be killed.
    pub guardian: &'t Guardian,
}

/// What came of it.
pub struct Ran {
    /// When it began.
    pub began: SystemTime,
    /// From its start to its end.
    pub wall: Duration,
    /// How it ended.
    pub status: ExitStatus,
    /// What it used.
    pub used: Used,
    /// Who ended it.
    pub ended_by: EndedBy,
    /// What was seen of it.
    pub seen: Vec<SeenLook>,
    /// Processes that a program which ended by itself left running, and which were ended; `None`: it was
    /// ended.
    pub left_running: Option<u32>,
}

/// Who ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// The program itself.
    Itself,
    /// The time limit.
    Timeout,
    /// The user.
    User,
}

/// A run that did not begin.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// The file for its output.
    #[error("cannot write its output to {file}: {error}")]
    Output {
        /// The file.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// Its binding.
    #[error("cannot bind it: {0}")]
    Bind(String),
    /// The program.
    #[error("cannot start {program}: {error}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        error: io::Error,
    },
}

struct Ended {
    wall: Duration,
    status: ExitStatus,
    used: Used,
}

enum Told {
    Started(u32),
    Ended(Ended),
    NotRun(NotRun),
}

/// Runs it to its end. `look` is called at the times asked; `is_over` says whether the user wants to end.
///
/// # Errors
/// [`NotRun`]: it did not begin.
pub fn run(
    task: &Task<'_>,
    is_over: &dyn Fn() -> bool,
    look: &mut dyn FnMut(&str) -> Vec<SeenRank>,
) -> Result<Ran, NotRun> {
    let began = SystemTime::now();
    let clock = Instant::now();
    let (tell, told) = mpsc::channel();
    let (mut seen, mut ended_by, mut pid, mut pending) =
        (Vec::new(), EndedBy::Itself, None, task.looks.iter().copied());
    let mut next_look = pending.next();
    let mut asked_to_end_at: Option<Instant> = None;
    let leader = &Leader::none();

    thread::scope(|scope| {
        let started = thread::Builder::new().spawn_scoped(scope, move || start_and_wait(task, leader, &tell));
        started.map_err(|error| NotRun::Start { program: program(task), error })?;
        loop {
            let wait =
                next_look.map(|at| at.saturating_sub(clock.elapsed())).unwrap_or(ATTENTION).min(ATTENTION);
            match told.recv_timeout(wait) {
                Ok(Told::Started(started)) => {
                    task.guardian.started(started);
                    pid = Some(started);
                }
                Ok(Told::Ended(Ended { wall, status, used })) => {
                    pid.into_iter().for_each(|pid| task.guardian.ended(pid));
                    let left_running = match asked_to_end_at {
                        Some(asked) => {
                            end_rest(task.mark, asked);
                            None
                        }
                        None => Some(end_left(task.mark)),
                    };
                    return Ok(Ran { began, wall, status, used, ended_by, seen, left_running });
                }
                Ok(Told::NotRun(why)) => return Err(why),
                // The thread tells one of both ends before it is gone.
                Err(RecvTimeoutError::Disconnected) => {
                    let error = io::Error::other("the thread that started it is gone");
                    return Err(NotRun::Start { program: program(task), error });
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if next_look.is_some_and(|at| clock.elapsed() >= at) && asked_to_end_at.is_none() {
                seen.push(SeenLook { after_s: clock.elapsed().as_secs_f64(), ranks: look(task.mark) });
                next_look = pending.next();
            }
            let wants_end = is_over() || task.timeout.is_some_and(|limit| clock.elapsed() >= limit);
            match asked_to_end_at {
                None if wants_end && pid.is_some() => {
                    ended_by = if is_over() { EndedBy::User } else { EndedBy::Timeout };
                    end(leader, task.mark, Signal::TERM);
                    asked_to_end_at = Some(Instant::now());
                }
                Some(at) if at.elapsed() >= GRACE => end(leader, task.mark, Signal::KILL),
                _ => {}
            }
        }
    })
}

fn program(task: &Task<'_>) -> String {
    task.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn start_and_wait(task: &Task<'_>, leader: &Leader, tell: &mpsc::Sender<Told>) {
    let told = match start(task) {
        Err(why) => Told::NotRun(why),
        Ok((pid, clock)) => {
            leader.started(pid);
            // A receiver that is gone has no further question.
            drop(tell.send(Told::Started(pid)));
            match leader.reap(pid) {
                Ok((status, used)) => Told::Ended(Ended { wall: clock.elapsed(), status, used }),
                Err(error) => Told::NotRun(NotRun::Start { program: program(task), error }),
            }
        }
    };
    drop(tell.send(told));
}

fn start(task: &Task<'_>) -> Result<(u32, Instant), NotRun> {
    let output = || -> io::Result<(File, File)> {
        let file = File::create(task.output)?;
        Ok((file.try_clone()?, file))
    };
    let (out, err) =
        output().map_err(|error| NotRun::Output { file: task.output.display().to_string(), error })?;
    if let Some(bind) = task.bind {
        bind().map_err(NotRun::Bind)?;
    }
    let mut command = Command::new(task.command.first().unwrap_or(&OsString::new()));
    command
        .args(task.command.iter().skip(1))
        .envs(task.environment.iter().map(|(name, value)| (name, value)));
    command.env(MARK, task.mark).stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
    let clock = Instant::now();
    let child = command.spawn().map_err(|error| NotRun::Start { program: program(task), error })?;

    Ok((child.id(), clock))
}

/// Ends the program's group, and at the last all that bear its mark: a launcher's ranks may have groups of
/// their own.
fn end(leader: &Leader, mark: &str, signal: Signal) {
    leader.signal(signal);
    if signal == Signal::KILL {
        end_marked(mark, signal);
    }
}

fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Ends what a program that was asked to end left behind: a launcher may be gone at once, its ranks in
/// sessions of their own may not be. They have what is left of the same grace.
fn end_rest(mark: &str, asked: Instant) {
    ending::end(&|signal| end_marked(mark, signal), &|| !marked(mark).is_empty(), asked);
}

/// Ends what a program that ended by itself left behind; how many processes these were.
fn end_left(mark: &str) -> u32 {
    let ended = Instant::now();
    while !marked(mark).is_empty() && ended.elapsed() < MOMENT {
        thread::sleep(SHORT_PAUSE);
    }

    let left = marked(mark).len();
    if left > 0 {
        end_rest(mark, Instant::now());
    }
    left as u32
}

/// Sends all that bear the mark a signal.
fn end_marked(mark: &str, signal: Signal) {
    for pid in marked(mark).iter().filter_map(|one| as_pid(one.pid)) {
        // It may have ended meanwhile.
        let _ended = kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use report::trial::TrialRank;

    use super::*;

    type Done = Result<(), Box<dyn std::error::Error>>;

    fn mark() -> String {
        format!("test-{}-{:?}", std::process::id(), thread::current().id())
    }

    fn ran(
        command: &[&str],
        timeout: Option<Duration>,
        looks: &[Duration],
    ) -> Result<(Ran, String), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let output = folder.path().join("out");
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        let mark = mark();
        let environment = [("GIVEN".to_owned(), "a value".to_owned())];
        let task = Task {
            command: &command,
            environment: &environment,
            bind: None,
            output: &output,
            timeout,
            mark: &mark,
            looks,
            guardian: &Guardian::set(&mark, folder.path())?,
        };

        let mut look = |mark: &str| {
            let ranks = marked(mark);
            let pid = ranks.first().map_or(0, |one| one.pid);
            let rank = TrialRank { threads: ranks.len() as u32, ..TrialRank::of(pid) };
            vec![SeenRank { rank, is_bound_as_its_parent: false }]
        };
        let ran = run(&task, &|| false, &mut look)?;
        Ok((ran, std::fs::read_to_string(&output)?))
    }

    #[test]
    fn a_run_has_its_output_its_code_its_time_and_what_it_used() -> Done {
        let (ran, output) =
            ran(&["sh", "-c", "echo out; echo err >&2; echo $GIVEN; sleep 0.2; exit 7"], None, &[])?;
        assert_eq!(
            (ran.status.code(), output.as_str(), ran.ended_by),
            (Some(7), "out\nerr\na value\n", EndedBy::Itself)
        );
        assert!(
            ran.wall >= Duration::from_millis(200) && ran.used.max_resident_bytes > 100_000,
            "{:?}",
            ran.used
        );
        assert!(ran.used.minor_faults > 0);
        Ok(())
    }

    #[test]
    fn a_run_beyond_its_time_is_ended_with_all_that_it_started() -> Done {
        let began = Instant::now();
        let script = "trap '' TERM; sh -c 'trap \"\" TERM; while :; do sleep 0.05; done' & wait; sleep 60";
        let (ran, _) = ran(&["setsid", "--wait", "sh", "-c", script], Some(Duration::from_millis(300)), &[])?;
        assert_eq!((ran.ended_by, ran.status.code(), ran.left_running), (EndedBy::Timeout, None, None));
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        assert_eq!(marked(&mark()).len(), 0);
        Ok(())
    }

    #[test]
    fn processes_that_a_program_leaves_behind_are_ended_before_the_next_run_and_counted() -> Done {
        let (ran, _) =
            ran(&["sh", "-c", "setsid sleep 100 & (trap '' TERM; exec sleep 100) & exit 3"], None, &[])?;
        assert_eq!((ran.status.code(), ran.ended_by, marked(&mark()).len()), (Some(3), EndedBy::Itself, 0));
        // One is deaf, the other in a session of its own.
        assert_eq!(ran.left_running, Some(2));
        assert!(ran.wall < Duration::from_secs(30), "they are no part of its time: {:?}", ran.wall);
        Ok(())
    }

    #[test]
    fn a_helper_that_ends_a_moment_after_its_program_is_not_left_behind() -> Done {
        let (ran, _) = ran(&["sh", "-c", "sleep 0.05 & exit 0"], None, &[])?;
        assert_eq!(ran.left_running, Some(0));
        Ok(())
    }

    #[test]
    fn its_processes_are_looked_at_when_asked() -> Done {
        let looks = [Duration::from_millis(150), Duration::from_millis(300)];
        let (ran, _) = ran(&["sleep", "0.6"], None, &looks)?;
        assert_eq!(ran.seen.len(), 2);
        assert!(ran.seen.iter().all(|look| look.ranks[0].rank.threads == 1), "{:?}", ran.seen);
        Ok(())
    }

    #[test]
    fn a_program_that_is_not_there_is_no_run() {
        let Some(refused) = ran(&["/no/such/program"], None, &[]).err() else { panic!("it starts") };
        let named = matches!(refused.downcast_ref(), Some(NotRun::Start { program, .. }) if program == "/no/such/program");
        assert!(named, "{refused}");
        let not_here = NotRun::Start { program: "/x".to_owned(), error: io::ErrorKind::NotFound.into() };
        assert_eq!(not_here.to_string(), "cannot start /x: entity not found");
    }
}
