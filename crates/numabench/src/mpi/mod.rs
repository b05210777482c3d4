//! What `numabench mpi` measures: messages between supervised ranks (`experiments::supervised`), because MPI may crash or hang when it is given device memory.
//!
//! * `options` what is asked for; `session` does the work; `matrix` its ranks' places under `--matrix`, `gpu_cpus` its threads beside; `traffic` the links' counters,
//!   `adapters` those of network adapters; `facts` what ranks tell each other;
//! * `supervision` what supervisors make of a session's end, and the exit code; `document` and `words` what is shown.

mod adapters;
mod document;
mod facts;
mod gpu_cpus;
mod matrix;
pub mod options;
mod session;
mod supervision;
mod traffic;
mod words;
