//! What `numabench laplace` does: each rank is two processes, as those of `mpi` are, because MPI may crash or hang when it is given device memory.
//!
//! * `session` binds, opens the GPU, starts MPI, allocates and iterates; `meeting` what ranks tell each other before, and what the session tells;
//! * `supervisor` watches it; rank 0's keeps the document (`kept`) and says how the run ended.

mod kept;
mod meeting;
pub mod session;
pub mod supervisor;
