//! Messages by which processes agree, on their way out and in.
//!
//! One that goes out is kept until MPI has done with it. One that comes in is received in pieces: its
//! envelope first, which says how long it is, and then its bytes, which for a long one means asking the
//! sender. That must not be waited for, since the sender may die in between; so each message has a receive of
//! its own under way, and one that never ends holds up only what the same sender sent after it.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::mem::MaybeUninit;

use mpi_sys::{
    MPI_Comm, MPI_Get_count, MPI_Improbe, MPI_Imrecv, MPI_Isend, MPI_Request, MPI_Status, MPI_Test,
    RSMPI_ANY_SOURCE, RSMPI_MESSAGE_NULL, RSMPI_REQUEST_NULL, RSMPI_STATUS_IGNORE, RSMPI_UINT8_T,
};

use crate::words::{Trouble, check};

/// The one tag: there is one kind of message.
const TAG: c_int = 0;

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
        let mut request = no_request();

        // SAFETY: the bytes stay where they are, unchanged, until the request is complete: `waiting` owns
        // them, and is never dropped.
        let code = unsafe {
            MPI_Isend(bytes.as_ptr().cast(), count, RSMPI_UINT8_T, to, TAG, comm, &raw mut request)
        };
        if let Err(trouble) = check("MPI_Isend", code) {
            std::mem::forget(bytes);
            return Err(trouble);
        }
        let mut outgoing = Outgoing { request, _bytes: bytes };

        // Short messages are gone at once; only what is not is looked at again. One of which MPI does not say
        // is one that it may still read.
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

/// A request of nothing.
pub(crate) fn no_request() -> MPI_Request {
    // SAFETY: reading a constant of the MPI library.
    unsafe { RSMPI_REQUEST_NULL }
}

/// Whether a request is complete; if so it is a null request from now on. Does not wait.
pub(crate) fn is_complete(request: &mut MPI_Request) -> Result<bool, Trouble> {
    let mut flag = 0;
    // SAFETY: a request of ours, live or null, and a flag to write to.
    let code = unsafe { MPI_Test(request, &raw mut flag, RSMPI_STATUS_IGNORE) };
    check("MPI_Test", code)?;
    Ok(flag != 0)
}

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
    let code = unsafe {
        MPI_Improbe(RSMPI_ANY_SOURCE, TAG, comm, &raw mut flag, &raw mut message, status.as_mut_ptr())
    };
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
    let mut request = no_request();
    // SAFETY: `count` bytes to write to, which stay where they are until the request is complete: the inbox
    // owns them, hands out only what has arrived, and is never dropped.
    let code = unsafe {
        MPI_Imrecv(bytes.as_mut_ptr().cast(), count, RSMPI_UINT8_T, &raw mut message, &raw mut request)
    };
    if let Err(trouble) = check("MPI_Imrecv", code) {
        std::mem::forget(bytes);
        return Err(trouble);
    }
    Ok(Some(Incoming { from, bytes, request, arrived: false }))
}
