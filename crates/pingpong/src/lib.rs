//! The part that acts: binds, places, warms up, measures and verifies. The only crate that changes the state of the machine.
//!
//! ```text
//! Plan -> Bound -> Buffers -> proven -> warm -> Timeline -> Block -> verified
//!         bound    buffers    seen      block   measure     window   delivery
//! ```
//!
//! * `config`, `case` what is measured; `schedule` in which order;
//! * `lead` decides after each pass and `follow` does a process's part of it, with `letter`s between them, and each knows by a `heartbeat` whether the other is there; `crew` are the ranks of a process, one
//!   thread each; `rank` is one rank's life, `block` what it does between two barriers, `measured` what it keeps; `state` is what there is so far;
//! * `bound`, `host_memory`, `buffers`, `seen` put a rank where it belongs and look whether it is there;
//! * `measure` is the timed region; `window` what of it counts; `delivery` proves with a `payload` that bytes moved;
//! * `budget` says beforehand whether the memory asked for is there;
//! * `sys` the kernel's calls; `clock` the node's clock.
//!
//! Left out: statistics (stats), where ranks go (placement), words for users (the binary and report).

mod block;
mod bound;
mod budget;
mod buffers;
mod case;
pub mod clock;
mod config;
mod crew;
mod delivery;
mod failure;
mod follow;
mod heartbeat;
mod host_memory;
mod lead;
mod letter;
mod measure;
mod measured;
mod payload;
mod rank;
mod sample;
mod schedule;
mod seen;
#[cfg(test)]
mod simulation;
mod state;
mod sys;
mod window;

pub use budget::{BudgetError, check_budget};
pub use case::{Case, DEVICE_TIMING_FROM_BYTES, Timing};
pub use config::{Amount, Order, RunConfig, TimingChoice};
pub use crew::{Crew, Group, Neighbours};
pub use failure::{Failure, Stage};
pub use follow::{Followed, follow};
pub use lead::{Journal, dismiss, lead};
pub use payload::Mismatch;
pub use sample::{Sample, SoFar, Trouble};
pub use seen::{Pages, Seen};
pub use state::{RankCase, RankState, RunEnd, RunState};
