//! Does something in a forked process and brings back what it found, so that a crash there ends nothing here.
//!
//! hwloc 2.9's XML reader trusts its file: of tiny files with a few random bytes changed or lines lost, 1 to
//! 4 % end it with SIGSEGV or a failed assertion. Checking every rule of the format beforehand would be a
//! second reader. So the child reads and converts, and only plain values come back, through a pipe: what a
//! damaged file did to the child's memory stays there, and the file is read once. JSON carries them: the
//! model's shape (flattened, tagged) needs a format that describes itself, and a reader of JSON is in the
//! binary already, where one of another format would be 300 KB more.
//!
//! The child runs with its own small limits and without output. Fork in a process with threads copies the
//! locks that they hold: glibc takes care of its allocator's, and of hwloc's the caller, who must be alone in
//! it (`load::alone`).

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, setrlimit, waitpid};
use rustix::stdio::{dup2_stderr, dup2_stdout};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sys::child::PANICKED;

use crate::load::Alone;

/// CPU seconds for the child; the largest capture takes well under one.
const CPU_SECONDS: u64 = 20;
/// Seconds on the wall for the child.
const WALL_SECONDS: u32 = 60;
/// Memory that the child may have, bytes: a damaged number of one PU makes a bitmap of half a GiB. The
/// largest capture takes 12 MiB.
const DATA_BYTES: u64 = 1 << 30;
/// The most that is taken from the child, bytes; a machine of 300 PUs is told in some 30 KiB.
const ANSWER_BYTES: u64 = 256 << 20;

const TOLD: i32 = 0;
const UNTOLD: i32 = 1;

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending<T> {
    /// The act returned this.
    Returned(T),
    /// The act did not return; in words, how it ended.
    Crashed(String),
}

/// Runs `act` in a child process.
///
/// # Errors
/// The child could not be started or waited for.
pub(crate) fn run<T: Serialize + DeserializeOwned>(
    _: &Alone,
    act: impl FnOnce() -> T,
) -> io::Result<Ending<T>> {
    let (reader, writer) = io::pipe()?;
    // The child allocates and calls hwloc: `Alone` keeps this process's other threads out of that.
    let (reader, child) = sys::child::start(reader, || {
        confine();
        tell(&act(), writer)
    })?;
    let answer = hear(reader);
    let how = wait(child)?;
    Ok(match how {
        None => {
            answer?.map_or_else(|| Ending::Crashed("an answer without sense".to_owned()), Ending::Returned)
        }
        Some(how) => Ending::Crashed(how),
    })
}

/// Writes what the act returned into the pipe; the code to exit with.
fn tell<T: Serialize>(value: &T, mut writer: PipeWriter) -> i32 {
    let told = serde_json::to_vec(value).is_ok_and(|bytes| writer.write_all(&bytes).is_ok());
    if told { TOLD } else { UNTOLD }
}

/// What the child wrote; `None` where that is not a whole value.
fn hear<T: DeserializeOwned>(reader: PipeReader) -> io::Result<Option<T>> {
    let mut text = String::new();
    reader.take(ANSWER_BYTES).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text).ok())
}

/// Limits the child and silences it.
fn confine() {
    let limit = |resource, most| {
        // A refusal leaves the parent's limit, which is no worse than before.
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    };
    limit(Resource::Core, 0);
    limit(Resource::Cpu, CPU_SECONDS);
    limit(Resource::Data, DATA_BYTES);

    // A handler of the parent's (a crash reporter's, a fuzzer's) must neither swallow the end nor take it for
    // the parent's.
    sys::signals::default(&[
        Signal::ALARM,
        Signal::SEGV,
        Signal::BUS,
        Signal::ABORT,
        Signal::FPE,
        Signal::ILL,
        Signal::XCPU,
    ]);

    sys::signals::alarm(WALL_SECONDS);

    if let Ok(null) = File::options().write(true).open("/dev/null") {
        let _ = (dup2_stdout(&null), dup2_stderr(&null));
    }
}

/// How the child ended, in words, unless it told all and ended well.
fn wait(child: Pid) -> io::Result<Option<String>> {
    let status = loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Err(Errno::INTR) | Ok(None) => {}
            Ok(Some((_, status))) => break status,
            Err(error) => return Err(error.into()),
        }
    };

    if let Some(number) = status.terminating_signal() {
        return Ok(Some(signal(number)));
    }

    Ok(match status.exit_status() {
        Some(TOLD) => None,
        Some(UNTOLD) => return Err(io::Error::other("what it found could not be written to its pipe")),
        Some(PANICKED) => Some("a panic".to_owned()),
        code => Some(format!("exit code {}", code.unwrap_or_default())),
    })
}

fn signal(number: i32) -> String {
    match Signal::from_named_raw(number) {
        Some(Signal::SEGV) => "SIGSEGV (a segmentation fault)".to_owned(),
        Some(Signal::ABORT) => "SIGABRT (a failed assertion, or no memory left)".to_owned(),
        Some(Signal::XCPU) => format!("SIGXCPU (more than {CPU_SECONDS} s of CPU time)"),
        Some(Signal::ALARM) => format!("SIGALRM (more than {WALL_SECONDS} s)"),
        _ => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::alone;

    #[test]
    fn what_the_child_found_comes_back_also_when_it_is_more_than_a_pipe_holds() -> io::Result<()> {
        assert_eq!(
            run(&alone(), || Ok::<_, u8>("found".to_owned()))?,
            Ending::Returned(Ok("found".to_owned()))
        );
        assert_eq!(run(&alone(), || Err::<u8, _>(3_u64))?, Ending::Returned(Err(3)));
        let much: Vec<u32> = (0..500_000).collect();
        assert_eq!(run(&alone(), || much.clone())?, Ending::Returned(much));
        Ok(())
    }

    #[test]
    fn an_abort_and_a_panic_stay_in_the_child() -> io::Result<()> {
        let ending = run(&alone(), || -> u8 { std::process::abort() })?;
        assert!(matches!(&ending, Ending::Crashed(how) if how.contains("SIGABRT")), "{ending:?}");
        let ending = run(&alone(), || -> u8 { panic!("on purpose") })?;
        assert!(matches!(&ending, Ending::Crashed(how) if how.contains("panic")), "{ending:?}");
        Ok(())
    }

    #[test]
    fn a_child_that_ends_before_it_has_told_all_has_told_nothing() -> io::Result<()> {
        let ending = run(&alone(), || -> u8 { sys::child::leave(TOLD) })?;
        assert!(matches!(&ending, Ending::Crashed(how) if how.contains("without sense")), "{ending:?}");
        Ok(())
    }

    #[test]
    fn what_a_child_cannot_tell_is_an_error_of_the_system_and_no_crash_of_what_it_read() {
        // JSON has no such keys, as a pipe may have no room: the child has found something, and not a byte of
        // it comes.
        let untold = run(&alone(), || std::collections::BTreeMap::from([(vec![1_u8], 2_u8)]));
        insta::assert_snapshot!(untold.unwrap_err(), @"what it found could not be written to its pipe");
    }

    #[test]
    fn what_the_child_changes_stays_with_it() -> io::Result<()> {
        let mut value = 1;
        let ending = run(&alone(), || {
            value = 2;
            value
        })?;
        assert_eq!((ending, value), (Ending::Returned(2), 1));
        Ok(())
    }
}
