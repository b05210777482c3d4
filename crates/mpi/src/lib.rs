//! Messages between two ranks over MPI: from host memory, from device memory staged through the host by us,
//! from device memory by MPI itself; and which of direct and staged MPI's way with device memory is.
//!
//! ```text
//! MessageCase ─► MessageOrder ─► MessageEnd: rounds ──────► CaseFound ┐
//! DeviceOperation ─► MessageOrder ─► MessageEnd: attempt ─► Attempt ──┼─► MessageResults ─► verdict
//! links before and after ─────────────────────────► CountedBytes ─┘
//! MessageOptions ─► session of each rank (all of the above) ─► supervisor of rank 0 ─► MpiDocument
//! ```
//!
//! * `run` from [`MessageOptions`] to the document: give them to `experiments::supervised::run` as one rank
//!   of a launch;
//! * `case` what is measured: a path, a pattern, a size; `results` what came of it;
//! * `memory` one rank's memory, on the host and on its device; `endpoint` its calls of MPI,
//!   `device_memory_probe` those that MPI may not survive (`operation`);
//! * `carried` what each network adapter (`host_adapters`) counted while messages went between hosts;
//!   `link_counters` what GPUs' links did;
//! * `gpu_thread` a thread of a rank that copies to its device beside the messages;
//! * `command` what the leader tells the ranks; `lead` and `follow` do it;
//! * `verdict` what it comes to: pure.
//!
//! The engine does not run these cases: the two ranks of an exchange must do the same number of rounds,
//! whatever a clock or a signal says, or one of them waits for ever; and a call that MPI does not survive
//! must cost nothing that was measured before. So a process that only watches (`experiments::supervised`)
//! starts the one that runs this, and is told everything as soon as it is known.
//!
//! Left out: where ranks go (placement), the document's words (analysis), how counters are read (topo).

mod background;
mod calls;
mod carried;
mod case;
mod command;
mod device_memory_probe;
mod endpoint;
mod fault;
mod follow;
mod gpu_thread;
mod host_adapters;
mod lead;
mod link_counters;
mod memory;
mod operation;
mod results;
mod run;
mod sync;
pub mod verdict;

pub use carried::{Carried, PerByte};
pub use case::{GpuThreadAt, MessageCase, MessagePath, MessagePattern};
pub use operation::{Attempt, AttemptOutcome, DeviceOperation, WrongBytes};
pub use results::{CaseFound, CountedBytes, GpuLinkBytes, MessageResults, MessageStep, PairFound, RankSeen};
pub use run::{Expectation, MessageOptions, MessageRanks, PairsAsked, RankFacts, ThreadSpot};
