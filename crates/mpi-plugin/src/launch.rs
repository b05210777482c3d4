//! This process in its launch: starting, its place, messages, and leaving.
//!
//! The node is what MPI_COMM_TYPE_SHARED says, as for programs that pick their GPU by it; nodes that are one machine under two names are one (`ranks::machine`).
//! Nodes are numbered by their lowest rank.
//! Messages have a communicator of their own, so that nothing MPI sends for itself mixes with them.

use std::ffi::c_int;
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use mpi_sys::{
    MPI_Abort, MPI_Allgather, MPI_Bcast, MPI_Comm, MPI_Comm_dup, MPI_Comm_free, MPI_Comm_rank, MPI_Comm_set_errhandler,
    MPI_Comm_size, MPI_Comm_split, MPI_Comm_split_type, MPI_Finalize, MPI_Ibarrier, MPI_Init_thread, RSMPI_COMM_NULL,
    RSMPI_COMM_TYPE_SHARED, RSMPI_COMM_WORLD, RSMPI_ERRORS_RETURN, RSMPI_INFO_NULL, RSMPI_REQUEST_NULL,
    RSMPI_THREAD_FUNNELED, RSMPI_THREAD_MULTIPLE, RSMPI_THREAD_SERIALIZED, RSMPI_THREAD_SINGLE, RSMPI_UINT32_T,
    RSMPI_UINT64_T, RSMPI_UNDEFINED,
};
use ranks::abi::RawPlace;
use ranks::machine;

use crate::call::{Trouble, check};
use crate::exchange::Pairs;
use crate::inbox::Inbox;
use crate::outbox::{Outbox, is_complete};

/// Leaving takes milliseconds when all are well.
const LEAVE_WITHIN: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_micros(200);

/// A started MPI.
#[derive(Debug)]
pub(crate) struct Launch {
    comm: MPI_Comm,
    place: RawPlace,
    outbox: Outbox,
    inbox: Inbox,
    at_hand: Option<(u32, Vec<u8>)>,
    pairs: Pairs,
}

impl Launch {
    /// Collective: MPI_Init_thread and what tells this process its place.
    pub fn start(wanted: u32) -> Result<Self, Trouble> {
        let mut level = 0;
        // SAFETY: null arguments are allowed since MPI-2, and there is a level to write to. The caller starts MPI once.
        let code = unsafe { MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), level_of(wanted), &raw mut level) };
        check("MPI_Init_thread", code)?;
        // SAFETY: reading constants of the MPI library.
        let (world, errors_return) = unsafe { (RSMPI_COMM_WORLD, RSMPI_ERRORS_RETURN) };
        // SAFETY: both handles are MPI's own. Communicators made from this one inherit it (MPI-3.1, section 8.3).
        check("MPI_Comm_set_errhandler", unsafe { MPI_Comm_set_errhandler(world, errors_return) })?;

        let mut comm = null_comm();
        // SAFETY: MPI is started; a handle to write to.
        check("MPI_Comm_dup", unsafe { MPI_Comm_dup(world, &raw mut comm) })?;
        let place = RawPlace { thread_level: number_of(level), ..find_place(comm)? };
        let pairs = Pairs::new(place.rank);
        Ok(Self { comm, place, outbox: Outbox::default(), inbox: Inbox::default(), at_hand: None, pairs })
    }

    /// What two ranks do together.
    pub fn pairs(&mut self) -> &mut Pairs {
        &mut self.pairs
    }

    pub fn place(&self) -> RawPlace {
        self.place
    }

    pub fn post(&mut self, to: u32, bytes: &[u8]) -> Result<(), Trouble> {
        let to = c_int::try_from(to).map_err(|_| Trouble::new("MPI_Isend", format!("there is no rank {to}")))?;
        self.outbox.send(self.comm, to, bytes)
    }

    /// Sender and length of the message at hand.
    pub fn collect(&mut self) -> Result<Option<(u32, usize)>, Trouble> {
        if self.at_hand.is_none() {
            let mut next = self.inbox.next();
            if next.is_none() {
                // Once for all that have come, not once for each.
                self.progress()?;
                next = self.inbox.next();
            }
            self.at_hand = next.map(|(from, bytes)| (from.cast_unsigned(), bytes));
        }
        Ok(self.at_hand.as_ref().map(|(from, bytes)| (*from, bytes.len())))
    }

    /// The message at hand.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        self.at_hand.take().map(|(_, bytes)| bytes)
    }

    pub fn abort(&self, code: c_int) {
        // SAFETY: MPI is started. What it answers does not matter: there is nothing else to try.
        let _ = unsafe { MPI_Abort(RSMPI_COMM_WORLD, code) };
    }

    /// Collective: until everybody's messages have been received and everybody is here, go on receiving; then MPI_Finalize, which by itself would
    /// wait without end for one who is gone.
    pub fn leave(&mut self) -> Result<(), Trouble> {
        let late =
            |what: String| Trouble::new("MPI_Finalize", format!("was not called: {what} after {LEAVE_WITHIN:?}"));
        let deadline = Instant::now() + LEAVE_WITHIN;
        while self.outbox.len() > 0 {
            if Instant::now() > deadline {
                return Err(late(format!("{} messages had not been received", self.outbox.len())));
            }
            self.idle()?;
        }
        // SAFETY: reading a constant of the MPI library.
        let mut request = unsafe { RSMPI_REQUEST_NULL };
        // SAFETY: a communicator of ours, and a request to write to that lives until it is complete or the process ends.
        check("MPI_Ibarrier", unsafe { MPI_Ibarrier(self.comm, &raw mut request) })?;
        while !is_complete(&mut request)? {
            if Instant::now() > deadline {
                return Err(late("not everybody had come to leave".into()));
            }
            self.idle()?;
        }
        // SAFETY: nothing is under way any more, and nobody calls MPI after this: a second `leave` fails in it with an error.
        check("MPI_Finalize", unsafe { MPI_Finalize() })
    }

    fn progress(&mut self) -> Result<(), Trouble> {
        self.outbox.progress()?;
        self.inbox.progress(self.comm)
    }

    fn idle(&mut self) -> Result<(), Trouble> {
        self.progress()?;
        thread::sleep(NAP);
        Ok(())
    }
}

/// Collective: this process's place, without the thread level.
fn find_place(comm: MPI_Comm) -> Result<RawPlace, Trouble> {
    let (rank, size) = rank_and_size(comm)?;
    let mut shared = null_comm();
    // SAFETY: a communicator of ours, and a handle to write to. The key orders a node's processes as in the launch.
    let code = unsafe { MPI_Comm_split_type(comm, RSMPI_COMM_TYPE_SHARED, rank, RSMPI_INFO_NULL, &raw mut shared) };
    check("MPI_Comm_split_type", code)?;
    let [node, nodes] = find_node(comm, shared, rank)?;
    free(shared)?;
    let colour = c_int::try_from(node).map_err(|_| Trouble::new("MPI_Comm_split", format!("{node} nodes")))?;
    let node_comm = split(comm, colour, rank)?;
    let (node_rank, node_size) = rank_and_size(node_comm)?;
    free(node_comm)?;
    Ok(RawPlace {
        rank: rank.cast_unsigned(),
        size: size.cast_unsigned(),
        node,
        nodes,
        node_rank: node_rank.cast_unsigned(),
        node_size: node_size.cast_unsigned(),
        thread_level: 0,
    })
}

/// Collective: the number of this process's machine, and how many there are. The first of each of MPI's nodes (`shared`), in the order of their ranks,
/// find out which of these are one machine.
fn find_node(comm: MPI_Comm, shared: MPI_Comm, rank: c_int) -> Result<[u32; 2], Trouble> {
    let (shared_rank, _) = rank_and_size(shared)?;
    // SAFETY: reading a constant of the MPI library.
    let colour = if shared_rank == 0 { 0 } else { unsafe { RSMPI_UNDEFINED } };
    let firsts = split(comm, colour, rank)?;
    let mut node = [0_u32; 2];
    if shared_rank == 0 {
        let (number, count) = rank_and_size(firsts)?;
        let (mine, mut keys) = (machine::key(), vec![0_u64; number_of_items(count)]);
        let (from, to) = ((&raw const mine).cast(), keys.as_mut_ptr().cast());
        // SAFETY: an integer to read from, room for as many as the communicator has members, and a communicator of ours.
        let code = unsafe { MPI_Allgather(from, 1, RSMPI_UINT64_T, to, 1, RSMPI_UINT64_T, firsts) };
        check("MPI_Allgather", code)?;
        free(firsts)?;
        let machines = machine::machines(&keys);
        let nodes = machines.iter().max().map_or(0, |last| last + 1);
        node = [machines[number_of_items(number)], nodes];
    }
    // SAFETY: two integers to read from or write to, and a communicator of ours.
    check("MPI_Bcast", unsafe { MPI_Bcast(node.as_mut_ptr().cast(), 2, RSMPI_UINT32_T, 0, shared) })?;
    Ok(node)
}

/// Collective: the communicator of those with the same colour, in the order of their ranks.
fn split(comm: MPI_Comm, colour: c_int, rank: c_int) -> Result<MPI_Comm, Trouble> {
    let mut part = null_comm();
    // SAFETY: a communicator of ours, and a handle to write to.
    check("MPI_Comm_split", unsafe { MPI_Comm_split(comm, colour, rank, &raw mut part) })?;
    Ok(part)
}

fn free(mut comm: MPI_Comm) -> Result<(), Trouble> {
    // SAFETY: a communicator of ours that nobody uses any more.
    check("MPI_Comm_free", unsafe { MPI_Comm_free(&raw mut comm) })
}

/// A count of MPI's, which is never negative.
fn number_of_items(count: c_int) -> usize {
    usize::try_from(count).unwrap_or_default()
}

fn rank_and_size(comm: MPI_Comm) -> Result<(c_int, c_int), Trouble> {
    let (mut rank, mut size) = (0, 0);
    // SAFETY: a communicator of ours, and an integer to write to.
    check("MPI_Comm_rank", unsafe { MPI_Comm_rank(comm, &raw mut rank) })?;
    // SAFETY: as above.
    check("MPI_Comm_size", unsafe { MPI_Comm_size(comm, &raw mut size) })?;
    Ok((rank, size))
}

fn null_comm() -> MPI_Comm {
    // SAFETY: reading a constant of the MPI library.
    unsafe { RSMPI_COMM_NULL }
}

/// The level that the interface asks for by this number, as MPI has it.
fn level_of(wanted: u32) -> c_int {
    // SAFETY: reading constants of the MPI library.
    unsafe {
        match wanted {
            1 => RSMPI_THREAD_SINGLE,
            2 => RSMPI_THREAD_FUNNELED,
            4 => RSMPI_THREAD_MULTIPLE,
            _ => RSMPI_THREAD_SERIALIZED,
        }
    }
}

/// MPI's thread level as the interface numbers it.
fn number_of(level: c_int) -> u32 {
    // SAFETY: reading constants of the MPI library.
    let levels = unsafe { [RSMPI_THREAD_FUNNELED, RSMPI_THREAD_SERIALIZED, RSMPI_THREAD_MULTIPLE] };
    levels.iter().filter(|&&least| level >= least).count() as u32
}
