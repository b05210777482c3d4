//! How one run is made of the processes that srun, mpirun or another launcher started.
//!
//! ```text
//! plugins ─► start: MPI ─► agreement: step by step, all or none ─► handshake: what each hears of the others
//!             └─ slow_start_notice, start_watchdog: what is said where MPI_Init does not come back
//! ```
//!
//! * `plugins` which MPI plug-in a launch is given, `installed_plugins` which there are;
//! * `start` MPI, unless that is certain to make N runs of one;
//! * `slow_start_notice` what is said of a start that takes long, `start_watchdog` of one that ends the
//!   process;
//! * `agreement` the steps that all processes take together or not at all;
//! * `handshake` what each says of itself first, and what it is told of its node's ranks.
//!
//! What cannot become one run is refused before it begins: never N runs that look like one. Who takes part
//! and how messages travel is `ranks`' to know. Left out: what is run, arguments, the terminal; exit codes
//! are numbers that the caller gives a meaning.

mod agreement;
mod handshake;
pub mod installed_plugins;
pub mod plugins;
pub mod slow_start_notice;
mod start;
pub mod start_watchdog;

pub use agreement::{Agreement, Codes, ProcessRefusal, Stopped, host};
pub use handshake::{Handshake, Introduced, LaunchLayout, Otherwise, layouts};
pub use slow_start_notice::SlowStartNotice;
pub use start::{Departure, StartError, leave, start};
pub use start_watchdog::StartWatchdog;
