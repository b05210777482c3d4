//! Messages on their way out: each is kept until MPI has done with it.

use std::ffi::c_int;

use mpi_sys::{MPI_Comm, MPI_Isend, MPI_Request, MPI_Test, RSMPI_REQUEST_NULL, RSMPI_STATUS_IGNORE, RSMPI_UINT8_T};

use crate::call::{Trouble, check};

/// The one tag: there is one kind of message.
pub(crate) const TAG: c_int = 0;

#[derive(Debug)]
struct Outgoing {
    request: MPI_Request,
    // Read by MPI until the request is complete. Moving the Vec does not move its bytes.
    _bytes: Vec<u8>,
}

/// What has been sent and not yet been taken over by MPI.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Vec<Outgoing>,
}

impl Outbox {
    /// Begins to send a copy of `bytes`.
    pub fn send(&mut self, comm: MPI_Comm, to: c_int, bytes: &[u8]) -> Result<(), Trouble> {
        let count = c_int::try_from(bytes.len()).map_err(|_| {
            Trouble::new(
                "MPI_Isend",
                format!("a message of {} bytes; at most {} are possible", bytes.len(), c_int::MAX),
            )
        })?;
        let bytes = bytes.to_vec();
        // SAFETY: reading a constant of the MPI library.
        let mut request = unsafe { RSMPI_REQUEST_NULL };
        // SAFETY: the bytes stay where they are, unchanged, until the request is complete: `waiting` owns them, and is never dropped.
        let code = unsafe { MPI_Isend(bytes.as_ptr().cast(), count, RSMPI_UINT8_T, to, TAG, comm, &raw mut request) };
        if let Err(trouble) = check("MPI_Isend", code) {
            std::mem::forget(bytes);
            return Err(trouble);
        }
        let mut outgoing = Outgoing { request, _bytes: bytes };
        // Short messages are gone at once; only what is not is looked at again. One of which MPI does not say is one that it may still read.
        let complete = is_complete(&mut outgoing.request);
        if !matches!(complete, Ok(true)) {
            self.waiting.push(outgoing);
        }
        complete.map(drop)
    }

    /// Forgets what MPI has done with.
    pub fn progress(&mut self) -> Result<(), Trouble> {
        let mut troubles = Ok(());
        self.waiting.retain_mut(|outgoing| match is_complete(&mut outgoing.request) {
            Ok(complete) => !complete,
            Err(trouble) => {
                troubles = Err(trouble);
                // MPI may still read from it.
                true
            }
        });
        troubles
    }

    /// How many MPI still reads.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// Whether a request is complete; if so it is a null request from now on. Does not wait.
pub(crate) fn is_complete(request: &mut MPI_Request) -> Result<bool, Trouble> {
    let mut flag = 0;
    // SAFETY: a request of ours, live or null, and a flag to write to.
    let code = unsafe { MPI_Test(request, &raw mut flag, RSMPI_STATUS_IGNORE) };
    check("MPI_Test", code)?;
    Ok(flag != 0)
}
