//! What `numabench mpi` does: each rank is two processes, because MPI may crash or hang when it is given device memory.
//!
//! ```text
//! launcher ─► supervisor (no MPI, no GPU) ─► session: bind ─► GPU ─► MPI ─► exchange
//!                ▲                              │ channel: what is done, what is found
//!                └──────────────────────────────┘
//! supervisor of rank 0 ─► document ─► table, file, exit code
//! ```
//!
//! * `supervisor` watches the session (`watched`); `known` what it has heard, and what it says of the session's end;
//! * `channel` what the session tells; `session` does the work; `place` where its rank belongs, `matrix` where under `--matrix`, `gpu_cpus` its threads beside; `traffic` the links' counters, `adapters` those of network adapters;
//! * `kept` the file while it grows, and the exit code; `document` and `words` what is shown.

mod adapters;
pub mod channel;
mod document;
mod gpu_cpus;
mod kept;
mod known;
mod matrix;
pub mod place;
pub mod session;
pub mod supervisor;
mod traffic;
mod words;
