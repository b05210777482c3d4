//! The engine of every measurement: it binds, proves, warms up, schedules, times, cuts to the common time,
//! decides when it is enough, and keeps what came of it. It knows work, cells and time; it names no copy, no
//! GPU vendor and no MPI.
//!
//! ```text
//! Suite -> cases, one Site a rank -> bound -> set up -> proven -> warm -> Timeline -> Block -> verified
//! work     case     site             bound    site      seen              measure     window   work
//! ```
//!
//! * `work` is what a kind of measurement implements: a `Suite` lists cases and makes each rank's `Site`; a
//!   `Site` holds what its cases need and lends the `Work` of one block; `case` is what the engine must know
//!   of a case;
//! * `combined_suite` makes one suite of several;
//! * `config` how long it goes on; `schedule` in which order; `stop_policy` when a case has enough blocks;
//! * `lead` decides after each pass and `follow` does a process's part of it, with `message`s between them,
//!   and each knows by a `heartbeat` whether the other is there; `workers` starts the ranks of a process, one
//!   thread (`worker`) each; `rank` is one rank from bind to end, `block` what it does between two barriers,
//!   `measured` what it keeps; `state` is what there is so far;
//! * `bound`, `placed_memory`, `observed_placement` put a rank where it belongs and look whether it is there;
//! * `measure` is the timed region; `timing` how it is timed; `common_window` what of it counts;
//! * `host_share` how many of its virtual CPUs the host runs at a time;
//! * `placing_calls` whether a container lets the kernel's calls (crate `sys`); `clock` the node's clock;
//!   `abandoned` whether a thread was left in a call that does not return.
//!
//! Left out: what is timed (pingpong and the other kinds), statistics (stats), where ranks go (placement),
//! words for users.

#![forbid(unsafe_code)]

mod abandoned;
mod block;
mod bound;
mod case;
pub mod clock;
mod combined_suite;
mod common_window;
mod config;
mod failure;
mod follow;
mod heartbeat;
mod host_share;
mod lead;
mod line_cycle;
mod measure;
mod measured;
mod message;
mod observed_placement;
mod patience;
mod placed_memory;
mod placing_calls;
mod rank;
mod sample;
mod schedule;
#[cfg(test)]
mod simulation;
mod state;
mod stop_policy;
mod timing;
mod work;
mod worker;
mod workers;

pub use abandoned::{abandon, is_abandoned};
pub use block::{LEAST_OVERLAP, too_little_overlap};
pub use bound::Bound;
pub use case::{Case, Order};
pub use combined_suite::{Joined, PartCase};
pub use config::{Amount, EngineConfig, MAX_ROUNDS, WARMUP, fixed_blocks};
pub use failure::Failure;
pub use follow::{Followed, follow};
pub use host_share::{CpuTime, HostShare, host_share};
pub use lead::{Journal, dismiss, lead};
pub use line_cycle::{MOST_LINES, line_count, write_cycle};
pub use observed_placement::{DevicePages, ObservedPlacement, PageCheck, PagesPerNode, SpreadMemory};
pub use placed_memory::{Helpers, PlacedMemory, PlacingRules, no_memory, with_memory_policy};
pub use placing_calls::{CallFailure, PlacingCalls, placing_calls};
pub use sample::{BlockDetail, Sample, SoFar, Trouble};
pub use schedule::allocation;
pub use state::{RankCase, RankState, RunEnd, RunState};
pub use stats::latch::Latch;
pub use stats::stage::Stage;
pub use stats::time_spent::TimeSpent;
pub use stats::wrong_byte::WrongByte;
pub use stop_policy::{Enough, PerCase};
pub use sys::policy::{MemoryNodes, NodeUse, with_weights};
pub use timing::{Lanes, Timing};
pub use work::{Site, Suite, Work};
pub use worker::{Group, Worker};
pub use workers::{Neighbours, Workers};
