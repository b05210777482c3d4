//! What devices do with host memory: copies, the first kind of work of the engine, with the suite that lists
//! its cases; `loads`, the second, and `peers`, the third: loads of host memory, copies from device to
//! device; `peer_loads`: loads of another device's memory; `answers`: a flag's way to a device and back.
//!
//! ```text
//! RunConfig -> CopySuite -> CopySite (a rank: devices, host ranges) -> CopyWork (a block) -> engine
//! ```
//!
//! * `config`, `case` what is measured, as users ask for it; `cells` where, if not each rank in its own
//!   place;
//! * `suite` makes the engine's cases of it: which share memory, which come first;
//! * `site` opens a rank's devices, places and pins its host memory, and hands both to copiers;
//! * `work` is one block of copies; `delivery` proves that its bytes arrived, on the device where that can
//!   run a kernel;
//! * `budget` says beforehand whether the memory asked for is there.
//!
//! Left out: binding, proving, timing, deciding when it is enough (engine), statistics (stats), where ranks
//! go (placement), words for users.

#![forbid(unsafe_code)]

mod answers;
mod budget;
mod case;
mod cells;
mod chain;
mod config;
mod delivery;
mod devices;
mod fault;
mod host_range;
mod loads;
mod peer_loads;
mod peers;
mod run;
mod site;
mod spread;
mod suite;
mod work;

pub use answers::{ANSWER_BYTES, AnswerCase, AnswerSuite};
pub use budget::{BudgetError, check_budget, device_bytes};
pub use case::{CopyCase, DEVICE_TIMING_FROM_BYTES};
pub use cells::{Cells, CopyEnds};
pub use chain::{LOAD_LINE_BYTES, LOADS_A_KERNEL};
pub use config::{RunConfig, TimingChoice};
pub use devices::Devices;
pub use engine::{
    Amount, DevicePages, EngineConfig, Enough, Failure, Followed, Group, Journal, Latch, Neighbours,
    ObservedPlacement, Order, PagesPerNode, PerCase, PlacingRules, RankCase, RankState, RunEnd, RunState,
    Sample, SoFar, Stage, TimeSpent, Timing, Trouble, Worker, Workers, WrongByte, clock, dismiss,
};
pub use fault::{allocating, failure, measuring, verifying};
pub use host_range::{Want, allocate};
pub use loads::{LoadCase, LoadSuite};
pub use peer_loads::{PeerLoadCase, PeerLoadSuite};
pub use peers::{PeerCase, PeerCopy, PeerSuite};
pub use run::{follow, lead};
pub use spread::{SpreadError, check_spread, read_weights};
pub use suite::{CopySuite, workers};
