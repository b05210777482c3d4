//! This process in its launch: starting, its place, messages, and leaving.
//!
//! The node is what MPI_COMM_TYPE_SHARED says, as for programs that pick their GPU by it; nodes that are one
//! machine under two names are one (`plugin::machine`). Nodes are numbered by their lowest rank.
//!
//! What waits for all processes waits napping: an MPI's own waiting keeps its processor busy, which on a node
//! with many more ranks than PUs is the time of those that have not come yet. MPI_Init, MPI_Comm_split_type
//! and MPI_Finalize have no such form. Messages have a communicator of their own, so that nothing MPI sends
//! for itself mixes with them.

use std::ffi::c_int;
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use mpi_sys::{
    MPI_Abort, MPI_Barrier, MPI_Comm, MPI_Comm_free, MPI_Comm_group, MPI_Comm_idup, MPI_Comm_rank,
    MPI_Comm_set_errhandler, MPI_Comm_size, MPI_Comm_split_type, MPI_Finalize, MPI_Group, MPI_Group_free,
    MPI_Group_translate_ranks, MPI_Iallgather, MPI_Ibarrier, MPI_Init_thread, MPI_Request, RSMPI_COMM_NULL,
    RSMPI_COMM_TYPE_SHARED, RSMPI_COMM_WORLD, RSMPI_ERRORS_RETURN, RSMPI_GROUP_NULL, RSMPI_INFO_NULL,
    RSMPI_THREAD_FUNNELED, RSMPI_THREAD_MULTIPLE, RSMPI_THREAD_SERIALIZED, RSMPI_THREAD_SINGLE,
    RSMPI_UINT64_T,
};
use plugin::{Naps, RawPlace, machine};

use crate::exchange::Pairs;
use crate::mail::{Inbox, Outbox, is_complete, no_request};
use crate::words::{Trouble, check};

/// Leaving takes milliseconds when all are well.
const LEAVE_WITHIN: Duration = Duration::from_secs(10);

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
        // SAFETY: null arguments are allowed since MPI-2, and there is a level to write to. The caller starts
        // MPI once.
        let code =
            unsafe { MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), level_of(wanted), &raw mut level) };
        if code != mpi_sys::MPI_SUCCESS as c_int {
            // MPI before 4.0 ends a process that asks for an error's words without having been started.
            return Err(Trouble::new("MPI_Init_thread", format!("error code {code}")));
        }
        // SAFETY: reading constants of the MPI library.
        let (world, errors_return) = unsafe { (RSMPI_COMM_WORLD, RSMPI_ERRORS_RETURN) };
        // SAFETY: both handles are MPI's own. Communicators made from this one inherit it (MPI-3.1, section
        // 8.3).
        check("MPI_Comm_set_errhandler", unsafe { MPI_Comm_set_errhandler(world, errors_return) })?;

        let comm = duplicate(world)?;
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
        let to =
            c_int::try_from(to).map_err(|_| Trouble::new("MPI_Isend", format!("there is no rank {to}")))?;
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

    /// Collective: until everybody's messages have been received and everybody is here, go on receiving; then
    /// MPI_Finalize, which by itself would wait without end for one who is gone.
    pub fn leave(&mut self) -> Result<(), Trouble> {
        let late = |what: String| {
            Trouble::new("MPI_Finalize", format!("was not called: {what} after {LEAVE_WITHIN:?}"))
        };
        let deadline = Instant::now() + LEAVE_WITHIN;
        let naps = Naps::among(self.place.node_size as usize);

        while self.outbox.len() > 0 {
            if Instant::now() > deadline {
                return Err(late(format!("{} messages had not been received", self.outbox.len())));
            }
            self.progress()?;
            thread::sleep(naps.next());
        }

        let mut request = no_request();

        // SAFETY: a communicator of ours, and a request to write to that lives until it is complete or the
        // process ends.
        check("MPI_Ibarrier", unsafe { MPI_Ibarrier(self.comm, &raw mut request) })?;

        while !is_complete(&mut request)? {
            if Instant::now() > deadline {
                return Err(late("not everybody had come to leave".into()));
            }
            self.progress()?;
            thread::sleep(naps.next());
        }

        // Side by side, and not a nap apart: over UCX a rank that comes later waits in MPICH's MPI_Finalize
        // for one that has gone on without it. SAFETY: a communicator of ours, on which nothing else is under
        // way.
        check("MPI_Barrier", unsafe { MPI_Barrier(self.comm) })?;

        // SAFETY: nothing is under way any more, and nobody calls MPI after this: a second `leave` fails in
        // it with an error.
        check("MPI_Finalize", unsafe { MPI_Finalize() })
    }

    fn progress(&mut self) -> Result<(), Trouble> {
        self.outbox.progress()?;
        self.inbox.progress(self.comm)
    }
}

/// Collective: a communicator of the same processes.
fn duplicate(world: MPI_Comm) -> Result<MPI_Comm, Trouble> {
    let (_, size) = rank_and_size(world)?;
    let mut comm = null_comm();
    let mut request = no_request();
    // SAFETY: MPI is started; a handle and a request to write to, which stay where they are until the request
    // is complete.
    check("MPI_Comm_idup", unsafe { MPI_Comm_idup(world, &raw mut comm, &raw mut request) })?;
    complete(&mut request, count(size))?;
    Ok(comm)
}

/// Collective: this process's place, without the thread level. Each process says which is the first of its
/// MPI node, and its machine; what nodes there are follows from all of these alike.
fn find_place(comm: MPI_Comm) -> Result<RawPlace, Trouble> {
    let (rank, size) = rank_and_size(comm)?;
    let mut shared = null_comm();
    // SAFETY: a communicator of ours, and a handle to write to. The key orders a node's processes as in the
    // launch.
    let code =
        unsafe { MPI_Comm_split_type(comm, RSMPI_COMM_TYPE_SHARED, rank, RSMPI_INFO_NULL, &raw mut shared) };
    check("MPI_Comm_split_type", code)?;
    let mine = [first_of(shared, comm)?.into(), machine::key()];
    free(shared)?;
    let all = everybodys(mine, comm, count(size))?;
    let places = machine::places(&all);
    let nodes = places.iter().map(|place| place.node + 1).max().unwrap_or(1);
    let mine = places[count(rank)];

    Ok(RawPlace {
        rank: rank.cast_unsigned(),
        size: size.cast_unsigned(),
        node: mine.node,
        nodes,
        node_rank: mine.node_rank,
        node_size: mine.node_size,
        thread_level: 0,
    })
}

/// The rank in `comm` of the first member of `shared`. Asks nobody.
fn first_of(shared: MPI_Comm, comm: MPI_Comm) -> Result<u32, Trouble> {
    let [shared, comm] = [group(shared)?, group(comm)?];
    let (first, mut rank) = (0, 0);
    // SAFETY: two groups of ours, one rank to read and one to write.
    let code = unsafe { MPI_Group_translate_ranks(shared, 1, &raw const first, comm, &raw mut rank) };
    check("MPI_Group_translate_ranks", code)?;
    for mut group in [shared, comm] {
        // SAFETY: a group of ours that nobody uses any more.
        check("MPI_Group_free", unsafe { MPI_Group_free(&raw mut group) })?;
    }
    Ok(rank.cast_unsigned())
}

fn group(comm: MPI_Comm) -> Result<MPI_Group, Trouble> {
    // SAFETY: reading a constant of the MPI library.
    let mut group = unsafe { RSMPI_GROUP_NULL };
    // SAFETY: a communicator of ours, and a handle to write to.
    check("MPI_Comm_group", unsafe { MPI_Comm_group(comm, &raw mut group) })?;
    Ok(group)
}

/// Collective: what each of `size` processes says, by rank.
fn everybodys(mine: [u64; 2], comm: MPI_Comm, size: usize) -> Result<Vec<[u64; 2]>, Trouble> {
    // On the heap and kept should waiting fail: MPI may then still read the one and write the other.
    let (mine, mut all) = (Box::new(mine), vec![[0_u64; 2]; size]);
    let (from, to) = ((&raw const *mine).cast(), all.as_mut_ptr().cast());
    let mut request = no_request();
    // SAFETY: two integers to read from, room for two of each member, and a communicator of ours. Both stay
    // where they are until the request is complete.
    let code =
        unsafe { MPI_Iallgather(from, 2, RSMPI_UINT64_T, to, 2, RSMPI_UINT64_T, comm, &raw mut request) };
    let ended = check("MPI_Iallgather", code).and_then(|()| complete(&mut request, size));
    if let Err(trouble) = ended {
        std::mem::forget((mine, all));
        return Err(trouble);
    }
    Ok(all)
}

/// Waits for a request that all of `size` processes wait for.
fn complete(request: &mut MPI_Request, size: usize) -> Result<(), Trouble> {
    let naps = Naps::among(size);
    while !is_complete(request)? {
        thread::sleep(naps.next());
    }
    Ok(())
}

fn free(mut comm: MPI_Comm) -> Result<(), Trouble> {
    // SAFETY: a communicator of ours that nobody uses any more.
    check("MPI_Comm_free", unsafe { MPI_Comm_free(&raw mut comm) })
}

/// A count of MPI's, which is never negative.
fn count(number: c_int) -> usize {
    usize::try_from(number).unwrap_or_default()
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
