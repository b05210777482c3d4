//! Jacobi's iteration of Laplace's equation on a plane whose rows are shared among the ranks of a launch:
//! what an iteration takes by each way of its halos.
//!
//! ```text
//! LaplaceGrid ─► RowShare ─► fields (host, GPU) ─► iterations with halos ─► LaplaceResults
//!                   └─ Solution: what every cell is after any number of iterations
//! ```
//!
//! * `grid` the plane, a rank's share of it, and the solution that the field is held against; `way` the ways
//!   of halos;
//! * `host_fields` and `gpu_fields` a rank's two fields and their iterations, `memory` both, `plane` those
//!   of each number of ranks; `halos` the
//!   messages between neighbours; `rows` what fills and checks rows of either;
//! * `run` what all ranks do together, `results` what comes of it, `fault` why it did not;
//! * `options` what is asked for: give it to `experiments::supervised::run` as one rank of a launch, or as a
//!   rank alone; `session` does the work of a rank, `meeting` what ranks tell each other before;
//!   `supervision` what supervisors make of a session's end, and the exit code; `document` what is shown.
//!
//! The engine does not run this: neighbours must do the same number of iterations, whatever a clock or a
//! signal says. So rank 0 says before each block how many there are. A way whose messages MPI may not survive
//! comes last, in a process that can be lost (`experiments::supervised`).
//!
//! Left out: where ranks go (placement), the document's words (analysis).
//!
//! A block lasts 30 ms, with an iteration before it that does not count; blocks of all ways are interleaved,
//! and `gpu-aware` follows when all others are done. The time of an iteration is the slowest rank's, by the
//! host's clock. Each way is proven after 16 iterations, cell by cell and by its residual, and again when its
//! blocks are done. Allowed is what rounding may have added: four halves of a unit in the last place of 1,
//! and six more an iteration. Before that is more than a thousandth (2,795 iterations in single precision)
//! the field is checked and filled anew. After a failure it is filled anew too, and the rank that failed goes
//! on with messages that mean nothing, for which its neighbours wait. All ways add in one order, a product
//! with 0.25 is exact and a largest change does not depend on an order: so residuals are equal to the last
//! bit, and one that differs is a wrong result.
//!
//! Halos after the computation are timed by themselves: from the end of the kernel to the end of the messages
//! and of the copies back, which the next kernel may be queued behind. With overlap the first and the last
//! row are computed first, and what an iteration takes beyond the computing time of the same way without
//! overlap counts as halos. Rates count each cell as read and written once. A rank alone queues 32 iterations
//! at a time and waits at the end of a block. `cpu` is one core a rank.

mod document;
mod fault;
mod gpu_fields;
mod grid;
mod halos;
mod host_fields;
mod meeting;
mod memory;
mod options;
mod plane;
mod results;
mod rows;
mod run;
mod session;
mod supervision;
mod way;

pub use grid::LaplaceGrid;
pub use meeting::LaplaceRanks;
pub use options::LaplaceOptions;
pub use results::{BlockFound, LaplaceResults, LaplaceStep, RankFound, WayFound, WayProof, WayTrouble};
pub use way::{HaloWay, WayVariant};
