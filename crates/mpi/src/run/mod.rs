//! Messages between supervised ranks (`experiments::supervised`), from options to the document: MPI may crash
//! or hang when it is given device memory.
//!
//! * `options` what is asked for; `session` does the work of a rank, `pairs` says which ranks send to each
//!   other, `matrix` places ranks where places are compared, `gpu_cpus` their threads beside; `facts` what
//!   ranks tell each other;
//! * `supervision` what supervisors make of a session's end, and the exit code; `document` what is shown.

mod document;
mod facts;
mod gpu_cpus;
mod matrix;
mod options;
mod pairs;
mod session;
mod supervision;

pub use facts::{MessageRanks, RankFacts};
pub use gpu_cpus::ThreadSpot;
pub use options::{Expectation, MessageOptions, PairsAsked};
