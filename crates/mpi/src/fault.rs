//! Why an exchange did not come to its end.

use device::DeviceError;
use engine::Failure;
use ranks::WorldError;

/// Why an exchange did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeFault {
    /// MPI says so.
    #[error(transparent)]
    Mpi(#[from] WorldError),
    /// The device says so.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The kernel says so.
    #[error("{0}")]
    Kernel(#[from] Failure),
    /// Device memory was asked for where there is none.
    #[error("this rank has no GPU")]
    NoDevice,
    /// A message between the ranks cannot be understood.
    #[error("{0}")]
    Protocol(String),
}

impl ExchangeFault {
    /// Another rank asks for this, which the rank's own numabench does not know.
    pub(crate) fn unknown(what: &str) -> Self {
        Self::Protocol(format!(
            "another rank asks for {what} that this numabench does not know: run the same numabench on all \
             ranks"
        ))
    }
}
