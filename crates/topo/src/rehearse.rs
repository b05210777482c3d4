//! Does something in a forked process first, to learn whether it would take this one down.
//!
//! hwloc 2.9's XML reader trusts its file: of tiny files with a few random bytes changed or lines lost, 1 to 4 % end it with
//! SIGSEGV or a failed assertion. Checking every rule of the format beforehand would be a second reader; instead the child does
//! exactly what the parent would do next, with the same bytes from the same state, and the parent goes on only if it lived.
//!
//! The child runs with its own small limits and without output. Fork in a process with threads copies the locks that they hold:
//! glibc takes care of its allocator's, and of hwloc's the caller, who must be alone in it (`load::alone`).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::load::Alone;

/// CPU seconds for the child; the largest capture takes well under one.
const CPU_SECONDS: libc::rlim_t = 20;
/// Seconds on the wall for the child.
const WALL_SECONDS: libc::c_uint = 60;
/// Memory the child may add, bytes: a damaged bitmap can name two thousand million PUs.
const DATA_BYTES: libc::rlim_t = 4 << 30;

const SUCCEEDED: libc::c_int = 0;
const FAILED: libc::c_int = 1;
const PANICKED: libc::c_int = 2;

/// How a rehearsal ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The act returned true.
    Succeeded,
    /// The act returned false.
    Failed,
    /// The act did not return; in words, how it ended.
    Crashed(String),
}

/// Runs `act` in a child process; true is success.
///
/// # Errors
/// The child could not be started or waited for.
pub(crate) fn rehearse(_: &Alone, act: impl FnOnce() -> bool) -> io::Result<Ending> {
    // SAFETY: fork has no preconditions. The child calls `act`, which allocates and calls hwloc: glibc makes its allocator
    // usable after a fork, `Alone` keeps this process's other threads out of hwloc, and the child leaves by `_exit`
    // without running the parent's exit handlers or destructors.
    let child = unsafe { libc::fork() };
    match child {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            confine();
            let code = match catch_unwind(AssertUnwindSafe(act)) {
                Ok(true) => SUCCEEDED,
                Ok(false) => FAILED,
                Err(_) => PANICKED,
            };
            // SAFETY: _exit ends the child and has no preconditions.
            unsafe { libc::_exit(code) }
        }
        child => wait(child),
    }
}

/// Limits the child and silences it.
fn confine() {
    let limit = |resource, most| {
        let limits = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: `limits` outlives the call. A refusal leaves the parent's limit, which is no worse than before.
        unsafe { libc::setrlimit(resource, &raw const limits) };
    };
    limit(libc::RLIMIT_CORE, 0);
    limit(libc::RLIMIT_CPU, CPU_SECONDS);
    limit(libc::RLIMIT_DATA, DATA_BYTES);
    // SAFETY: both calls take plain values. A handler of the parent's must not swallow the alarm.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(WALL_SECONDS);
    }
    // SAFETY: the path is a NUL-terminated literal; descriptors 1 and 2 are the child's own copies.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
        if null >= 0 {
            libc::dup2(null, libc::STDOUT_FILENO);
            libc::dup2(null, libc::STDERR_FILENO);
        }
    }
}

fn wait(child: libc::pid_t) -> io::Result<Ending> {
    let mut status: libc::c_int = 0;
    loop {
        // SAFETY: `child` is a child of this process that nobody else waits for, and `status` outlives the call.
        if unsafe { libc::waitpid(child, &raw mut status, 0) } == child {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    if libc::WIFSIGNALED(status) {
        return Ok(Ending::Crashed(signal(libc::WTERMSIG(status))));
    }
    Ok(match libc::WEXITSTATUS(status) {
        SUCCEEDED => Ending::Succeeded,
        FAILED => Ending::Failed,
        PANICKED => Ending::Crashed("a panic".to_owned()),
        code => Ending::Crashed(format!("exit code {code}")),
    })
}

fn signal(number: libc::c_int) -> String {
    match number {
        libc::SIGSEGV => "SIGSEGV (a segmentation fault)".to_owned(),
        libc::SIGABRT => "SIGABRT (a failed assertion, or no memory left)".to_owned(),
        libc::SIGXCPU => format!("SIGXCPU (more than {CPU_SECONDS} s of CPU time)"),
        libc::SIGALRM => format!("SIGALRM (more than {WALL_SECONDS} s)"),
        number => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::alone;

    #[test]
    fn success_and_failure_are_told_apart() -> io::Result<()> {
        assert_eq!(rehearse(&alone(), || true)?, Ending::Succeeded);
        assert_eq!(rehearse(&alone(), || false)?, Ending::Failed);
        Ok(())
    }

    #[test]
    fn an_abort_and_a_panic_stay_in_the_child() -> io::Result<()> {
        assert!(
            matches!(rehearse(&alone(), || std::process::abort())?, Ending::Crashed(how) if how.contains("SIGABRT"))
        );
        assert!(
            matches!(rehearse(&alone(), || panic!("in the child"))?, Ending::Crashed(how) if how.contains("panic"))
        );
        Ok(())
    }

    #[test]
    fn what_the_child_changes_stays_with_it() -> io::Result<()> {
        let mut value = 1;
        rehearse(&alone(), || {
            value = 2;
            value == 2
        })?;
        assert_eq!(value, 1);
        Ok(())
    }
}
