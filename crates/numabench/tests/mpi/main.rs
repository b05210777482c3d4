//! `numabench mpi` under Open MPI's mpirun and Hydra's mpiexec, with host memory and with stand-in GPUs whose
//! memory an MPI takes, or mishandles.
//!
//! * `launch`        starting two ranks of an MPI that is here, and reading their document;
//! * `messages`      host memory: every figure, its proof, its placement;
//! * `no_bytes`      messages that carry nothing;
//! * `rails`         two hosts with two network adapters each: which of them carried the bytes;
//! * `device_memory` what is said of an MPI that takes device memory, and of one that crashes, hangs, or
//!   brings zeros;
//! * `laplace`       `numabench laplace` over two ranks, and what such an MPI leaves of it;
//! * `cray`          Cray MPICH's library for GPUs;
//! * `refused`       what ends it before anything is measured.
//!
//! What a machine lacks is said in a line that begins with `SKIPPED`.

#[path = "../cli/driver.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line, which use all of it")]
mod driver;
#[path = "../cli/proof.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line, which use all of it")]
mod proof;
#[path = "../cli/run.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line, which use all of it")]
mod run;

mod cray;
mod device_memory;
mod laplace;
mod launch;
mod messages;
mod no_bytes;
mod others_send;
mod rails;
mod refused;
