//! Kernels that compute, between the memory of a NUMA node and a GPU, or on the node's own cores: what a
//! wrong core costs work that computes.
//!
//! ```text
//! Kernel -> Problem (input, launches, check) -> GpuSuite or ThreadSuite -> engine
//! ```
//!
//! * `kernel` names them, `size` says how large a problem is to be and `shape` what that makes of each;
//!   `problem` is what a problem is, `problems` each one, `numbers` what their inputs are made of;
//! * `made` keeps a problem's input for the run; `proven` knows a result again that was found to be right;
//! * `program` has the GPU's sources and PTX (`gpu/`);
//! * `jacobi` is a step of an iteration over a field that several ranks have a part of, for `laplace`: no
//!   problem of a suite;
//! * `pieces` are many small pieces sent by copies, a batch, a kernel or packed, and `sending` one block of
//!   them: no problem either, but steps of the same device;
//! * `moving` is memory whose pages go to whoever touches them, `touching` one block of touches and
//!   `moving_suite` all of them;
//! * `rank_place` is where a rank of a suite is;
//! * `case` is what is measured; `gpu_suite`, with `compute` for one block, and `thread_suite` do it for the
//!   engine.
//!
//! Left out: the clock but for small pieces and memory that moves, where threads and pages are, when it is
//! enough (engine), the document (report), what it says (analysis).

mod case;
mod compute;
mod gpu_suite;
pub mod jacobi;
mod kernel;
mod made;
mod moving;
mod moving_suite;
mod numbers;
mod pieces;
mod problem;
mod problems;
mod program;
mod proven;
mod rank_place;
mod sending;
mod shape;
mod size;
mod thread_suite;
mod touching;

pub use case::{GpuCase, GpuRound, ThreadCase};
pub use compute::COPY_BYTES;
pub use gpu_suite::GpuSuite;
pub use kernel::{By, Kernel};
pub use moving::{MOVING_GRAIN, Moving, Side};
pub use moving_suite::{MovingCase, MovingSuite};
pub use pieces::{PIECE_GRAIN, Pieces, Scattered, TransferMethod};
pub use problem::{Layout, Problem, ProblemPart, ProblemUnit, WrongNumber};
pub use rank_place::RankPlace;
pub use shape::ShapeError;
pub use size::{LARGEST_CLASS, ProblemSize};
pub use thread_suite::ThreadSuite;
