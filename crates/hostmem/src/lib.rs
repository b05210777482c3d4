//! The CPU's own memory accesses: how fast threads read, write and copy the memory of a NUMA node, and how
//! long one load from it takes.
//!
//! * `case` what is measured: an access, a range, a node, and the ranks that take part; each rank is one
//!   thread on one PU;
//! * `suite` makes the engine's cases of it; `site` places one rank's ranges;
//! * `traffic` is one block of reads, writes or copies, at the `pace` that a case has, whose `words` prove
//!   it; `chase` one block of dependent loads;
//! * `core_pairs` is another suite, of two cores that hand a flag to each other: `handover` is one block of
//!   that, over `lines` that both share.
//!
//! Several threads of a node are several ranks of the engine, which starts them together and proves that they
//! ran at once; there is no pool of threads here. Writing is safe Rust; reading is the sum of words by the
//! widest loads that the CPU has (`sys::word_sums`).
//!
//! Left out: non-temporal stores (a copy is the C library's, as a program's own would be), and everything
//! that the engine does.
//!
//! Beside STREAM: a copy is the C library's, and counts bytes read and bytes written, as STREAM's does;
//! neither counts the line that a store first fetches (write-allocate). STREAM's time ends when the last
//! thread has reached the barrier, and STREAM prints the best of ten where numabench prints the median block.
//! Writes are ordinary vector stores; copies use what the C library chooses for slices of 16 MiB, which is up
//! to half as fast again where it is non-temporal.

#![forbid(unsafe_code)]

mod case;
mod chase;
mod core_pairs;
mod handover;
mod lines;
mod pace;
mod site;
mod suite;
mod traffic;
mod words;

pub use case::{Access, TrafficCase};
pub use chase::{LINE_BYTES, LOADS_A_CALL};
pub use core_pairs::{CorePair, CorePairSuite};
pub use lines::RANGE_BYTES as PAIR_RANGE_BYTES;
pub use pace::{BURST_BYTES, Pace};
pub use suite::MemorySuite;
