//! Ends processes: asks them to, gives them a while, and kills those that are left.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

/// How long processes that were asked to end are given: less than the time after which a second Ctrl-C ends
/// numabench at once.
pub(crate) const GRACE: Duration = Duration::from_millis(1500);

/// Pause between two looks whether all have ended.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// Ends processes by `send`, which were first asked at this time, until there is none of them; those that
/// cannot be killed are left.
pub(crate) fn end(send: &dyn Fn(Signal), is_any: &dyn Fn() -> bool, asked: Instant) {
    send(Signal::TERM);
    while is_any() && asked.elapsed() < GRACE {
        thread::sleep(PAUSE);
    }

    let killing = Instant::now();
    // One that is killed may have started another a moment before.
    while is_any() && killing.elapsed() < GRACE {
        send(Signal::KILL);
        thread::sleep(PAUSE);
    }
}
