//! What the members of a group meet in. `tests/models` compiles the files that use it with another `sync`,
//! which tries their steps in many orders.

pub(crate) use std::sync::{Arc, atomic};

use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};

use self::atomic::AtomicU32;

/// How the threads of one process sleep until a word changes. Whoever wakes needs no lock that the others
/// wake to as well.
#[derive(Debug, Default)]
pub(crate) struct Futex;

impl Futex {
    /// Sleeps while the word has this value, or for a while.
    pub fn sleep_while(&self, word: &AtomicU32, value: u32) {
        match futex::wait(word, Flags::PRIVATE, value, None) {
            // AGAIN: the word has another value already.
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            // A sandbox without futexes: slower, and never a busy loop.
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }

    /// Wakes all that sleep.
    pub fn wake_all(&self, word: &AtomicU32) {
        // It cannot fail for an address that is mapped.
        let _ = futex::wake(word, Flags::PRIVATE, i32::MAX.cast_unsigned());
    }
}
