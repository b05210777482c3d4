//! Messages on their way in.
//!
//! A message is received in pieces: its envelope first, which says how long it is, and then its bytes, which for a long one means asking
//! the sender. That must not be waited for, since the sender may die in between; so each message has a receive of its own under way, and
//! one that never ends holds up only what the same sender sent after it.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::mem::MaybeUninit;

use mpi_sys::{
    MPI_Comm, MPI_Get_count, MPI_Improbe, MPI_Imrecv, MPI_Request, MPI_Status, RSMPI_ANY_SOURCE, RSMPI_MESSAGE_NULL,
    RSMPI_REQUEST_NULL, RSMPI_UINT8_T,
};

use crate::call::{Trouble, check};
use crate::outbox::{TAG, is_complete};

#[derive(Debug)]
struct Incoming {
    from: c_int,
    // Written by MPI until it has arrived. Moving the Vec does not move its bytes.
    bytes: Vec<u8>,
    request: MPI_Request,
    arrived: bool,
}

/// What is being received, in the order of its envelopes.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    messages: VecDeque<Incoming>,
}

impl Inbox {
    /// Begins to receive what has come, and notes what has arrived.
    pub fn progress(&mut self, comm: MPI_Comm) -> Result<(), Trouble> {
        while let Some(message) = receive(comm)? {
            self.messages.push_back(message);
        }
        for message in self.messages.iter_mut().filter(|message| !message.arrived) {
            message.arrived = is_complete(&mut message.request)?;
        }
        Ok(())
    }

    /// Takes the first message that has arrived and is its sender's next.
    pub fn next(&mut self) -> Option<(c_int, Vec<u8>)> {
        let mut held_up = Vec::new();
        let at = self.messages.iter().position(|message| {
            let next = message.arrived && !held_up.contains(&message.from);
            held_up.push(message.from);
            next
        })?;
        self.messages.remove(at).map(|message| (message.from, message.bytes))
    }
}

/// Begins to receive a message if the envelope of one has come.
fn receive(comm: MPI_Comm) -> Result<Option<Incoming>, Trouble> {
    let mut flag = 0;
    // SAFETY: reading a constant of the MPI library.
    let mut message = unsafe { RSMPI_MESSAGE_NULL };
    let mut status = MaybeUninit::<MPI_Status>::zeroed();
    // SAFETY: three places to write to, and a communicator of ours.
    let code =
        unsafe { MPI_Improbe(RSMPI_ANY_SOURCE, TAG, comm, &raw mut flag, &raw mut message, status.as_mut_ptr()) };
    check("MPI_Improbe", code)?;
    if flag == 0 {
        return Ok(None);
    }
    let mut count = 0;
    // SAFETY: the probe filled the status in; a count to write to.
    let code = unsafe { MPI_Get_count(status.as_ptr(), RSMPI_UINT8_T, &raw mut count) };
    check("MPI_Get_count", code)?;
    // SAFETY: integers only, and zeroed before MPI filled it in.
    let from = unsafe { status.assume_init() }.MPI_SOURCE;

    let mut bytes = vec![0_u8; usize::try_from(count).unwrap_or(0)];
    // SAFETY: reading a constant of the MPI library.
    let mut request = unsafe { RSMPI_REQUEST_NULL };
    // SAFETY: `count` bytes to write to, which stay where they are until the request is complete: the inbox owns them, hands out only what has
    // arrived, and is never dropped.
    let code =
        unsafe { MPI_Imrecv(bytes.as_mut_ptr().cast(), count, RSMPI_UINT8_T, &raw mut message, &raw mut request) };
    if let Err(trouble) = check("MPI_Imrecv", code) {
        std::mem::forget(bytes);
        return Err(trouble);
    }
    Ok(Some(Incoming { from, bytes, request, arrived: false }))
}
