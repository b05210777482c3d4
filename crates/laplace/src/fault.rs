//! Why an iteration did not come to its end.

use device::DeviceError;
use engine::Failure;
use ranks::{ExchangeError, WorldError};

/// Why an iteration did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum LaplaceFault {
    /// MPI says so.
    #[error(transparent)]
    Mpi(#[from] WorldError),
    /// The device says so.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The kernel says so.
    #[error("{0}")]
    Kernel(#[from] Failure),
    /// The ranks do not hear of each other.
    #[error(transparent)]
    Ranks(#[from] ExchangeError),
    /// A message between the ranks cannot be understood.
    #[error("a message of another rank cannot be read ({0}): run the same numabench on all ranks")]
    Protocol(String),
    /// A way was asked for whose memory is not there.
    #[error("this rank has no memory for {0}")]
    NoMemory(&'static str),
}
