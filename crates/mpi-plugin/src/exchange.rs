//! What two ranks send each other to be measured: MPI's calls on addresses, which may be a device's, and
//! nothing besides.
//!
//! Blocking calls block, as the program that is measured for would have it: who must not wait for one that is
//! gone runs this in a process of its own. It uses MPI_COMM_WORLD, so that it mixes with no message of
//! `launch`, and a communicator of each pair for what is collective.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;

use mpi_sys::{
    MPI_Allreduce, MPI_Alltoall, MPI_Bcast, MPI_Cancel, MPI_Comm, MPI_Comm_create_group, MPI_Comm_group,
    MPI_Get, MPI_Group, MPI_Group_free, MPI_Group_incl, MPI_Irecv, MPI_Isend, MPI_Put, MPI_Recv, MPI_Request,
    MPI_Send, MPI_Sendrecv, MPI_Waitall, MPI_Win, MPI_Win_create, MPI_Win_fence, MPI_Win_free,
    RSMPI_COMM_NULL, RSMPI_COMM_WORLD, RSMPI_FLOAT, RSMPI_GROUP_NULL, RSMPI_INFO_NULL, RSMPI_STATUS_IGNORE,
    RSMPI_STATUSES_IGNORE, RSMPI_SUM, RSMPI_UINT8_T, RSMPI_WIN_NULL,
};
use plugin::PairOperation;

use crate::mail::no_request;
use crate::words::{Trouble, check};

/// The tag of what is measured.
const TAG: c_int = 1;

thread_local! {
    // What was started; of the one thread that calls MPI. Never dropped: MPI may still know of it when the
    // process ends.
    static STARTED: RefCell<ManuallyDrop<Vec<MPI_Request>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
    // Whether a call failed while others were under way: what comes next could meet what is left of them.
    static BROKEN: Cell<bool> = const { Cell::new(false) };
}

/// A call of nonblocking messages failed: those that are under way are cancelled where MPI can, and where
/// some were, nothing more is sent.
fn give_up(trouble: Trouble) -> Trouble {
    STARTED.with_borrow_mut(|started| {
        started.retain(|request| *request != no_request());
        for request in started.iter_mut() {
            // SAFETY: a live request of ours. What it answers does not matter: the memory stays until the
            // process ends.
            let _ = unsafe { MPI_Cancel(request) };
        }
        BROKEN.set(BROKEN.get() || !started.is_empty());
    });
    trouble
}

/// A count of bytes as MPI takes it.
fn count(call: &'static str, bytes: usize) -> Result<c_int, Trouble> {
    c_int::try_from(bytes)
        .map_err(|_| Trouble::new(call, format!("{bytes} bytes; at most {} are possible", c_int::MAX)))
}

fn number(call: &'static str, rank: u32) -> Result<c_int, Trouble> {
    c_int::try_from(rank).map_err(|_| Trouble::new(call, format!("there is no rank {rank}")))
}

/// An address as MPI takes it. Nothing is read through it here: it may be a device's.
fn at(address: usize) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address)
}

/// # Safety
/// MPI is started, and there are so many bytes at the address.
pub(crate) unsafe fn send(to: u32, address: usize, bytes: usize) -> Result<(), Trouble> {
    let (to, count) = (number("MPI_Send", to)?, count("MPI_Send", bytes)?);
    // SAFETY: the caller's word; the rest are MPI's own constants.
    check("MPI_Send", unsafe { MPI_Send(at(address), count, RSMPI_UINT8_T, to, TAG, RSMPI_COMM_WORLD) })
}

/// # Safety
/// MPI is started, and there is room for so many bytes at the address.
pub(crate) unsafe fn receive(from: u32, address: usize, bytes: usize) -> Result<(), Trouble> {
    let (from, count) = (number("MPI_Recv", from)?, count("MPI_Recv", bytes)?);
    // SAFETY: the caller's word; the rest are MPI's own constants.
    let code = unsafe {
        MPI_Recv(at(address), count, RSMPI_UINT8_T, from, TAG, RSMPI_COMM_WORLD, RSMPI_STATUS_IGNORE)
    };
    check("MPI_Recv", code)
}

/// # Safety
/// MPI is started, and there are so many bytes at the address, unchanged until `wait_all`.
pub(crate) unsafe fn start_send(to: u32, address: usize, bytes: usize) -> Result<(), Trouble> {
    let (to, count) = (number("MPI_Isend", to)?, count("MPI_Isend", bytes)?);
    let mut request = no_request();
    // SAFETY: the caller's word; the request is kept until it is complete.
    let code =
        unsafe { MPI_Isend(at(address), count, RSMPI_UINT8_T, to, TAG, RSMPI_COMM_WORLD, &raw mut request) };
    check("MPI_Isend", code).map_err(give_up)?;
    STARTED.with_borrow_mut(|started| started.push(request));
    Ok(())
}

/// # Safety
/// MPI is started, and there is room for so many bytes at the address; nobody looks at them before
/// `wait_all`.
pub(crate) unsafe fn start_receive(from: u32, address: usize, bytes: usize) -> Result<(), Trouble> {
    let (from, count) = (number("MPI_Irecv", from)?, count("MPI_Irecv", bytes)?);
    let mut request = no_request();
    // SAFETY: the caller's word; the request is kept until it is complete.
    let code = unsafe {
        MPI_Irecv(at(address), count, RSMPI_UINT8_T, from, TAG, RSMPI_COMM_WORLD, &raw mut request)
    };
    check("MPI_Irecv", code).map_err(give_up)?;
    STARTED.with_borrow_mut(|started| started.push(request));
    Ok(())
}

/// Waits for all that was started. Of what MPI does not say that it has ended (MPI_ERR_IN_STATUS with some
/// pending) it keeps the requests.
pub(crate) fn wait_all() -> Result<(), Trouble> {
    if BROKEN.get() {
        return Err(Trouble::new(
            "the MPI plug-in",
            "an earlier call failed while messages were under way: nothing more is sent between the ranks",
        ));
    }

    let waited = STARTED.with_borrow_mut(|started| {
        let number = count("MPI_Waitall", started.len())?;
        // SAFETY: so many requests of ours; MPI writes null requests over those that have ended, and no
        // status.
        let code = unsafe { MPI_Waitall(number, started.as_mut_ptr(), RSMPI_STATUSES_IGNORE) };
        check("MPI_Waitall", code)?;
        started.clear();
        Ok(())
    });
    waited.map_err(give_up)
}

/// What two ranks do together: a communicator for each pair.
#[derive(Debug)]
pub(crate) struct Pairs {
    rank: u32,
    /// By the other's rank.
    pairs: BTreeMap<u32, MPI_Comm>,
}

impl Pairs {
    pub fn new(rank: u32) -> Self {
        Self { rank, pairs: BTreeMap::new() }
    }

    /// # Safety
    /// There are so many bytes at `out`, and room for as many at `into`, which is apart from it.
    pub unsafe fn operate(
        &mut self,
        operation: u32,
        with: u32,
        out: usize,
        into: usize,
        bytes: usize,
    ) -> Result<(), Trouble> {
        let operation = PairOperation::ALL.into_iter().find(|known| *known as u32 == operation);
        let operation =
            operation.ok_or_else(|| Trouble::new("the MPI plug-in", "there is no such operation"))?;
        let pair = self.pair(with)?;
        let is_lower = self.rank < with;
        let other = c_int::from(is_lower);
        let (out, into) = (at(out), at(into));

        // SAFETY: reading a constant of the MPI library.
        let byte = unsafe { RSMPI_UINT8_T };

        // What is given to MPI in each of these: the caller's memory, a communicator of the pair, and MPI's
        // own constants.
        match operation {
            PairOperation::Sendrecv => {
                let (count, tag) = (count("MPI_Sendrecv", bytes)?, TAG);
                // SAFETY: see above.
                let code = unsafe {
                    let ignored = RSMPI_STATUS_IGNORE;
                    MPI_Sendrecv(out, count, byte, other, tag, into, count, byte, other, tag, pair, ignored)
                };
                check("MPI_Sendrecv", code)
            }
            PairOperation::Broadcast => {
                let (buffer, count) = (if is_lower { out } else { into }, count("MPI_Bcast", bytes)?);
                // SAFETY: see above.
                check("MPI_Bcast", unsafe { MPI_Bcast(buffer, count, byte, 0, pair) })
            }
            PairOperation::Allreduce => {
                let count = count("MPI_Allreduce", bytes / size_of::<f32>())?;
                // SAFETY: see above.
                let code = unsafe { MPI_Allreduce(out, into, count, RSMPI_FLOAT, RSMPI_SUM, pair) };
                check("MPI_Allreduce", code)
            }
            PairOperation::Alltoall => {
                let half = count("MPI_Alltoall", bytes / 2)?;
                // SAFETY: see above.
                check("MPI_Alltoall", unsafe { MPI_Alltoall(out, half, byte, into, half, byte, pair) })
            }
            PairOperation::Put => {
                let window = Window::over(into, bytes, pair)?;
                if is_lower {
                    let count = count("MPI_Put", bytes)?;
                    // SAFETY: see above; the other's window has as many bytes.
                    check("MPI_Put", unsafe { MPI_Put(out, count, byte, 1, 0, count, byte, window.0) })?;
                }
                window.close()
            }
            PairOperation::Get => {
                let window = Window::over(out, bytes, pair)?;
                if is_lower {
                    let count = count("MPI_Get", bytes)?;
                    // SAFETY: as for MPI_Put.
                    check("MPI_Get", unsafe { MPI_Get(into, count, byte, 1, 0, count, byte, window.0) })?;
                }
                window.close()
            }
        }
    }

    /// The communicator of this rank and another, made when the two first need it.
    fn pair(&mut self, with: u32) -> Result<MPI_Comm, Trouble> {
        if let Some(pair) = self.pairs.get(&with) {
            return Ok(*pair);
        }
        let ranks = [self.rank.min(with), self.rank.max(with)].map(u32::cast_signed);

        // SAFETY: reading constants of the MPI library.
        let (all, none, mut pair) = unsafe { (RSMPI_COMM_WORLD, RSMPI_GROUP_NULL, RSMPI_COMM_NULL) };
        let (mut world, mut two): (MPI_Group, MPI_Group) = (none, none);

        // SAFETY: a handle to write to.
        check("MPI_Comm_group", unsafe { MPI_Comm_group(all, &raw mut world) })?;

        // SAFETY: two ranks of the world to read, and a handle to write to.
        check("MPI_Group_incl", unsafe { MPI_Group_incl(world, 2, ranks.as_ptr(), &raw mut two) })?;

        // SAFETY: a handle to write to; both ranks come here.
        check("MPI_Comm_create_group", unsafe { MPI_Comm_create_group(all, two, TAG, &raw mut pair) })?;
        for mut group in [two, world] {
            // SAFETY: a group of ours that nobody uses any more.
            check("MPI_Group_free", unsafe { MPI_Group_free(&raw mut group) })?;
        }

        self.pairs.insert(with, pair);
        Ok(pair)
    }
}

/// Memory that the other one of a pair may reach, between two fences.
struct Window(MPI_Win);

impl Window {
    /// Collective over the pair.
    fn over(address: *mut c_void, bytes: usize, pair: MPI_Comm) -> Result<Self, Trouble> {
        let size =
            isize::try_from(bytes).map_err(|_| Trouble::new("MPI_Win_create", "more bytes than can be"))?;
        // SAFETY: reading constants of the MPI library.
        let (mut window, no_info) = unsafe { (RSMPI_WIN_NULL, RSMPI_INFO_NULL) };
        let size = size as mpi_sys::MPI_Aint;
        // SAFETY: a handle to write to; the memory outlives the window, which `close` frees.
        check("MPI_Win_create", unsafe { MPI_Win_create(address, size, 1, no_info, pair, &raw mut window) })?;
        let window = Self(window);
        window.fence()?;
        Ok(window)
    }

    /// Collective over the pair.
    fn fence(&self) -> Result<(), Trouble> {
        // SAFETY: the window is live.
        check("MPI_Win_fence", unsafe { MPI_Win_fence(0, self.0) })
    }

    /// Collective over the pair: what was begun in it is done.
    fn close(mut self) -> Result<(), Trouble> {
        self.fence()?;
        // SAFETY: the window is live, and freed once.
        check("MPI_Win_free", unsafe { MPI_Win_free(&raw mut self.0) })
    }
}
