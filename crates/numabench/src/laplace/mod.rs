//! What `numabench laplace` measures: Jacobi's iteration by supervised ranks (`experiments::supervised`), because MPI may crash or hang when it is given device memory.
//!
//! * `options` what is asked for; `session` binds, opens the GPU, starts MPI, allocates and iterates; `meeting` what ranks tell each other before;
//! * `supervision` what supervisors make of a session's end, the document, and the exit code.

mod meeting;
pub mod options;
mod session;
mod supervision;
