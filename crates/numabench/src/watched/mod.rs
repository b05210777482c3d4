//! A rank that may be lost: a supervisor without MPI and without a GPU starts the session that has both, hears everything before it is done, and has the result when the session
//! crashes or hangs. `mpi` and `laplace` are made so.
//!
//! * `channel` what the session tells, frame by frame; `watch` starts it, hears it, ends it and leaves the launch; `partners` whether the other ranks' sessions are there;
//! * `end` how it ended and why that is too early, in words; `before` what its end means where the ranks had not met.

mod before;
pub mod channel;
mod end;
mod partners;
mod watch;

pub use before::Before;
pub use end::{End, named};
pub use partners::Process;
pub use watch::{Patience, Session, Watched};
