//! Messages between two ranks over MPI: from host memory, from device memory staged through the host by us, from device memory by MPI itself; and which of direct
//! and staged MPI's way with device memory is.
//!
//! ```text
//! Case ─► Order ─► End: rounds ─► CaseFound ┐
//! Operation ─► Order ─► End: attempt ───────┼─► Found ─► verdict
//! Traffic before and after ─────────────────┘
//! ```
//!
//! * `case` what is measured: a path, a pattern, a size; `found` what came of it;
//! * `memory` one rank's memory, on the host and on its device; `end` its calls of MPI, `attempt` those that MPI may not survive (`operation`);
//! * `carried` what each network adapter counted while messages went between hosts;
//! * `gpu_thread` a thread of a rank that copies to its device beside the messages;
//! * `order` what the leader tells the ranks; `lead` and `follow` do it; `watch` who is told, and who reads the links;
//! * `verdict` what it comes to: pure.
//!
//! The engine does not run these cases: the two ranks of an exchange must do the same number of rounds, whatever a clock or a signal says, or one of them waits for
//! ever; and a call that MPI does not survive must cost nothing that was measured before. So a process that only watches (`experiments::supervised`) starts the one
//! that runs this, and is told everything as soon as it is known ([`Journal`]).
//!
//! Left out: where ranks go (placement), the document and its words (report), reading links' counters (topo).

mod attempt;
mod calls;
mod carried;
mod case;
mod end;
mod fault;
mod follow;
mod found;
mod gpu_thread;
mod lead;
mod memory;
mod operation;
mod order;
mod sync;
pub mod verdict;
mod watch;

pub use carried::{Adapters, Carried, PerByte};
pub use case::{COPY_BYTES, Case, GpuThreadAt, Path, Pattern, cases, window};
pub use end::End;
pub use fault::ExchangeFault;
pub use follow::{Here, follow};
pub use found::{CaseFound, Counted, Doing, Found, LinkBytes, PairFound, Placed};
pub use gpu_thread::GpuThread;
pub use lead::Lead;
pub use memory::Memory;
pub use operation::{Attempt, Operation, Outcome, Wrong};
pub use watch::{Journal, Traffic};
