//! What threads and processes meet in, tried in many orders of their steps by shuttle: the very files of the
//! crates, with shuttle's locks, atomics and channels in the place of the standard library's (their
//! `crate::sync`), and plain stand-ins for what else they name.
//!
//! * `threads`, `round` a node's ranks as threads and as processes: rounds, arrivals, and one that gives up;
//! * `gpu_thread` a rank's second thread: its tasks, the stop, a device that fails;
//! * `tickets` the latch of a GPU's stream: the host, and a device that waits and may give up;
//! * `watchdog` a limit that passes while what it limits ends.
//!
//! Shuttle's memory is sequentially consistent: orders of steps are tried, weak orderings are not. What never
//! ends is found as a deadlock.
#![cfg(test)]
#![allow(dead_code, reason = "models use a part of what the files have")]

// What `gpu_thread` names of other crates.
extern crate self as device;
extern crate self as engine;

mod around;
mod sync;

#[path = "../../../crates/mpi/src/gpu_thread.rs"]
mod gpu_thread;
#[path = "../../../crates/ranks/src/round.rs"]
mod round;
#[path = "../../../crates/ranks/src/threads.rs"]
mod threads;
#[path = "../../../crates/backend-gpu/src/tickets.rs"]
mod tickets;
#[path = "../../../crates/experiments/src/watchdog.rs"]
mod watchdog;

mod models;

pub use around::{
    Bound, DeviceId, Failure, PageCheck, Platform, Stage, case, clock, ending, exit, fault, memory, results,
};
pub use ranks::{Aborted, Ranks, VALUES};
