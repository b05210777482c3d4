//! Ends a trial's program when the trial itself is gone without having ended it: killed by SIGKILL, by the
//! kernel for want of memory, or by a second signal.
//!
//! A process of its own waits at the end of a pipe that closes with the trial, whatever ends that. The
//! kernel's parent-death signal (prctl(2)) would reach the program's first process alone, and neither what a
//! launcher or a shell started nor a program that changes its user. The guardian ends the process groups that
//! it was told of and all processes with the trial's mark, as the trial does at a time limit, and removes the
//! trial's folder. It is forked, so that no second program has to be found; it has a session of its own, and
//! a signal for the trial's group is none for it. Left out: what a launcher runs on other nodes, which is the
//! launcher's to end.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, setsid, waitpid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::ending;
use crate::rank_observer::marked_from;

/// The words of the pipe, each a line; a process group stands behind the first two.
const STARTED: &str = "started";
const ENDED: &str = "ended";
const DONE: &str = "done";

/// The trial's end of it.
pub struct Guardian {
    words: Option<PipeWriter>,
    process: Pid,
}

/// What there is to end, and to remove.
struct Guarded {
    mark: String,
    folder: PathBuf,
    groups: BTreeSet<i32>,
}

impl Guardian {
    /// Starts one for the runs whose marks begin so, and whose output lies in this folder.
    ///
    /// # Errors
    /// There can be no pipe or no process more.
    pub fn set(mark: &str, folder: &Path) -> io::Result<Self> {
        let (reader, words) = io::pipe()?;
        let guarded =
            Guarded { mark: mark.to_owned(), folder: folder.to_path_buf(), groups: BTreeSet::new() };
        // The child allocates and reads files, and takes no lock that another thread of the trial could have
        // held.
        let (words, process) = sys::child::start(words, || {
            // Its own signals are of no use to anybody: it ends with the trial.
            sys::signals::ignore(&[Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::XCPU]);
            guarded.watch(reader);
            0
        })?;
        Ok(Self { words: Some(words), process })
    }

    /// A program runs, which leads this process group.
    pub fn started(&self, group: u32) {
        self.say(STARTED, group);
    }

    /// It has ended.
    pub fn ended(&self, group: u32) {
        self.say(ENDED, group);
    }

    fn say(&self, word: &str, group: u32) {
        // A guardian that somebody killed is missed by nobody who is alive.
        let _ = self.words.as_ref().map(|mut words| words.write_all(format!("{word} {group}\n").as_bytes()));
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        if let Some(mut words) = self.words.take() {
            // Where that cannot be said, the pipe's end says it: no run is left for the guardian to end.
            let _ = words.write_all(format!("{DONE}\n").as_bytes());
        }
        let _ = waitpid(Some(self.process), WaitOptions::empty());
    }
}

impl Guarded {
    /// Waits for the end of the trial, and ends what that has left.
    fn watch(mut self, reader: PipeReader) {
        let _ = setsid();
        silence();
        for line in BufReader::new(reader).lines().map_while(Result::ok) {
            match line.split_once(' ') {
                Some((STARTED, group)) => drop(group.parse().map(|group| self.groups.insert(group))),
                Some((ENDED, group)) => drop(group.parse().map(|group: i32| self.groups.remove(&group))),
                _ if line == DONE => return,
                _ => {}
            }
        }

        ending::end(&|signal| self.send(signal), &|| self.is_any(), Instant::now());
        drop(fs::remove_dir_all(&self.folder));
    }

    fn groups(&self) -> impl Iterator<Item = Pid> {
        self.groups.iter().filter_map(|group| Pid::from_raw(*group))
    }

    fn send(&self, signal: Signal) {
        for group in self.groups() {
            // It may have ended meanwhile, and so may those that follow.
            let _ended = kill_process_group(group, signal);
        }
        let pids =
            marked_from(&self.mark).into_iter().filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        for pid in pids {
            let _ended = kill_process(pid, signal);
        }
    }

    fn is_any(&self) -> bool {
        let is_there = |group| rustix::process::test_kill_process_group(group).is_ok();
        self.groups().any(is_there) || !marked_from(&self.mark).is_empty()
    }
}

/// Lets go of the trial's input and output: a pipe behind it is to end with the trial.
fn silence() {
    let Ok(null) = File::options().read(true).write(true).open("/dev/null") else { return };
    let _ = (dup2_stdin(&null), dup2_stdout(&null), dup2_stderr(&null));
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use super::*;
    use crate::rank_observer::{MARK, marked};

    type Done = Result<(), Box<dyn std::error::Error>>;

    fn program(mark: &str, script: &str) -> io::Result<Child> {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0)
            .env(MARK, mark);
        command.spawn()
    }

    /// What a killed trial leaves of its guardian: no word, and no end of the pipe.
    fn killed(guardian: Guardian) {
        let process = guardian.process;
        let mut guardian = std::mem::ManuallyDrop::new(guardian);
        drop(guardian.words.take());
        let _ = waitpid(Some(process), WaitOptions::empty());
    }

    #[test]
    fn a_guardian_that_cannot_be_told_that_all_is_over_is_not_waited_for_without_end() -> Done {
        let folder = tempfile::tempdir()?;
        let mark = format!("{}-", folder.path().display());
        let guardian = Guardian::set(&mark, folder.path())?;
        let process = guardian.process;

        // It reads nothing, and its pipe is full.
        kill_process(process, Signal::STOP)?;
        let mut words = guardian.words.as_ref().ok_or("words")?;
        rustix::fs::fcntl_setfl(words, rustix::fs::OFlags::NONBLOCK)?;
        while words.write(&[b'\n'; 512]).is_ok() {}
        while words.write(b"\n").is_ok() {}
        let (over, seen) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            drop(guardian);
            over.send(())
        });
        std::thread::sleep(Duration::from_millis(200));
        kill_process(process, Signal::CONT)?;
        seen.recv_timeout(Duration::from_secs(20))?;
        Ok(())
    }

    #[test]
    fn a_program_its_children_and_its_folder_do_not_outlive_a_trial_that_was_killed() -> Done {
        let folder = tempfile::tempdir()?;
        let mark = format!("{}-", folder.path().display());
        let guardian = Guardian::set(&mark, folder.path())?;

        // One deaf to SIGTERM, one in a session of its own, and one that has lost its mark and is known by
        // its group.
        let script = "trap '' TERM; setsid sleep 60 & env -i sleep 60 & wait; sleep 60";
        let mut child = program(&format!("{mark}1-0"), script)?;
        guardian.started(child.id());
        std::thread::sleep(Duration::from_millis(200));
        killed(guardian);
        assert!(!child.wait()?.success());
        assert_eq!((marked(&format!("{mark}1-0")).len(), folder.path().exists()), (0, false));
        let group = Pid::from_child(&child);

        // Whoever adopts the orphans has to hear of their end first.
        let is_gone = |_| {
            std::thread::sleep(ending::PAUSE);
            rustix::process::test_kill_process_group(group).is_err()
        };
        assert!((0..100).any(is_gone), "a process of its group");
        Ok(())
    }

    #[test]
    fn after_a_trial_that_ended_by_itself_nothing_is_touched() -> Done {
        let folder = tempfile::tempdir()?;
        let mark = format!("{}-", folder.path().display());
        let mut daemon = program(&format!("{mark}1-0"), "sleep 60")?;
        let guardian = Guardian::set(&mark, folder.path())?;
        guardian.started(daemon.id());
        drop(guardian);
        assert!(daemon.try_wait()?.is_none() && folder.path().exists());
        kill_process_group(Pid::from_child(&daemon), Signal::KILL)?;
        daemon.wait()?;
        Ok(())
    }
}
