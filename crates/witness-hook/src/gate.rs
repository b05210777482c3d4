//! The gate between this library's thread and the driver: closed for good when the program ends, and for a
//! moment when a context ends.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

/// Longest wait for the thread to be out, nanoseconds.
const PATIENCE_NS: u64 = 300_000_000;

static INSIDE: AtomicU32 = AtomicU32::new(0);
static CLOSED: AtomicU32 = AtomicU32::new(0);

/// Keeps the thread out of the driver, and waits until it is out.
pub fn close() {
    CLOSED.fetch_add(1, Ordering::SeqCst);
    let until = sys::now_ns().saturating_add(PATIENCE_NS);
    while INSIDE.load(Ordering::SeqCst) != 0 && sys::now_ns() < until {
        sys::pause();
    }
}

/// Lets it in again.
pub fn open() {
    CLOSED.fetch_sub(1, Ordering::SeqCst);
}

/// Calls the driver from the thread, if the gate is open.
pub fn enter<T>(act: impl FnOnce() -> T) -> Option<T> {
    INSIDE.store(1, Ordering::SeqCst);
    let done = if CLOSED.load(Ordering::SeqCst) == 0 { Some(act()) } else { None };
    INSIDE.store(0, Ordering::SeqCst);
    done
}

/// In a fork's child it is open.
pub fn reset() {
    INSIDE.store(0, Ordering::SeqCst);
    CLOSED.store(0, Ordering::SeqCst);
}
