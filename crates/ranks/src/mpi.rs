//! The processes of an MPI launch, through the plug-in's table.
//!
//! Everything here is a call and the reading of its answer; what MPI is asked to do is in the plug-in.

use std::ffi::c_int;
use std::marker::PhantomData;

use crate::abi::{self, RawPlace, Table};
use crate::exchange::{Exchange, Operation};
use crate::world::{Message, Place, World, WorldError};

/// How many threads MPI lets live beside the one that calls it. numabench calls it from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadLevel {
    /// None.
    Single,
    /// Any number, but one makes all calls.
    Funneled,
    /// Any number, one after another.
    Serialized,
    /// Any number.
    Multiple,
}

/// A started MPI. Not `Send`: all calls come from the thread that started it.
#[derive(Debug)]
pub struct Mpi {
    table: &'static Table,
    place: Place,
    thread_level: ThreadLevel,
    here: PhantomData<*const ()>,
}

impl Mpi {
    pub(crate) fn start(table: &'static Table, wanted: Option<ThreadLevel>) -> Result<Self, WorldError> {
        let thread_level = wanted.map_or(0, |level| level as u32 + 1);
        let mut raw = RawPlace { thread_level, ..RawPlace::default() };
        // SAFETY: `start` fills in the place, which is ours alone meanwhile.
        let code = unsafe { (table.start)(&raw mut raw) };
        check(table, code)?;
        let place = Place {
            rank: raw.rank as usize,
            size: raw.size as usize,
            node: raw.node as usize,
            nodes: raw.nodes as usize,
            node_rank: raw.node_rank as usize,
            node_size: raw.node_size as usize,
        };
        let thread_level = match raw.thread_level {
            1 => ThreadLevel::Funneled,
            2 => ThreadLevel::Serialized,
            3 => ThreadLevel::Multiple,
            _ if wanted == Some(ThreadLevel::Single) => ThreadLevel::Single,
            // A rank's thread lives beside the one that calls MPI, which such an MPI does not allow.
            _ => {
                let message = "gave MPI_THREAD_SINGLE where MPI_THREAD_FUNNELED is the least that works; use an MPI built with threads";
                return Err(WorldError { call: "MPI_Init_thread".into(), message: message.into() });
            }
        };
        Ok(Self { table, place, thread_level, here: PhantomData })
    }

    /// The thread level MPI gave.
    pub fn thread_level(&self) -> ThreadLevel {
        self.thread_level
    }
}

/// A rank as the interface takes it; a number beyond it is MPI's to refuse.
fn number(rank: usize) -> u32 {
    u32::try_from(rank).unwrap_or(u32::MAX)
}

impl Exchange for Mpi {
    unsafe fn send(&self, to: usize, address: usize, bytes: usize) -> Result<(), WorldError> {
        // SAFETY: the caller's word.
        check(self.table, unsafe { (self.table.send)(number(to), address, bytes) })
    }

    unsafe fn receive(&self, from: usize, address: usize, bytes: usize) -> Result<(), WorldError> {
        // SAFETY: the caller's word.
        check(self.table, unsafe { (self.table.receive)(number(from), address, bytes) })
    }

    unsafe fn start_send(&self, to: usize, address: usize, bytes: usize) -> Result<(), WorldError> {
        // SAFETY: the caller's word.
        check(self.table, unsafe { (self.table.start_send)(number(to), address, bytes) })
    }

    unsafe fn start_receive(&self, from: usize, address: usize, bytes: usize) -> Result<(), WorldError> {
        // SAFETY: the caller's word.
        check(self.table, unsafe { (self.table.start_receive)(number(from), address, bytes) })
    }

    fn wait_all(&self) -> Result<(), WorldError> {
        // SAFETY: it takes no argument.
        check(self.table, unsafe { (self.table.wait_all)() })
    }

    unsafe fn operate(
        &self,
        operation: Operation,
        with: usize,
        out: usize,
        into: usize,
        bytes: usize,
    ) -> Result<(), WorldError> {
        // SAFETY: the caller's word.
        check(self.table, unsafe { (self.table.operate)(operation as u32, number(with), out, into, bytes) })
    }

    fn said(&self) -> Vec<String> {
        // SAFETY: `said` writes at most `capacity` bytes to `buffer`; that is its interface.
        let text = text(|buffer, capacity| unsafe { (self.table.said)(buffer, capacity) });
        text.lines().map(str::to_owned).collect()
    }
}

impl ThreadLevel {
    /// As users and documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Funneled => "funneled",
            Self::Serialized => "serialized",
            Self::Multiple => "multiple",
        }
    }
}

impl World for Mpi {
    fn place(&self) -> Place {
        self.place
    }

    fn post(&self, to: usize, bytes: &[u8]) -> Result<(), WorldError> {
        let Some(to) = u32::try_from(to).ok().filter(|_| to < self.place.size) else {
            let message = format!("there is no rank {to} of {}", self.place.size);
            return Err(WorldError { call: "post".into(), message });
        };
        // SAFETY: `post` reads `length` bytes and copies them before it returns.
        let code = unsafe { (self.table.post)(to, bytes.as_ptr(), bytes.len()) };
        check(self.table, code)
    }

    fn collect(&self) -> Result<Option<Message>, WorldError> {
        let (mut from, mut length) = (0, 0);
        // SAFETY: `collect` writes to its two arguments and keeps neither.
        let code = unsafe { (self.table.collect)(&raw mut from, &raw mut length) };
        if code == abi::NOTHING {
            return Ok(None);
        }
        check(self.table, code)?;
        let mut bytes = vec![0; length];
        // SAFETY: `take` writes the message at hand, `length` bytes long, and the buffer has as many.
        let code = unsafe { (self.table.take)(bytes.as_mut_ptr(), bytes.len()) };
        check(self.table, code)?;
        Ok(Some(Message { from: from as usize, bytes }))
    }

    fn abort(&self, code: u8) {
        // SAFETY: `abort` has no preconditions.
        unsafe { (self.table.abort)(code.into()) }
    }

    fn leave(self: Box<Self>) -> Result<(), WorldError> {
        // SAFETY: `leave` has no preconditions.
        let code = unsafe { (self.table.leave)() };
        check(self.table, code)
    }
}

fn check(table: &Table, code: c_int) -> Result<(), WorldError> {
    if code == abi::DONE {
        return Ok(());
    }
    // SAFETY: `trouble` writes at most `capacity` bytes to `buffer`; that is its interface.
    let said = text(|buffer, capacity| unsafe { (table.trouble)(buffer, capacity) });
    let (call, message) = said.split_once('\n').unwrap_or(("the MPI plug-in", &said));
    Err(WorldError { call: call.into(), message: message.into() })
}

/// Text of the plug-in, from a function that writes it to a buffer of some capacity and returns its full length.
pub(crate) fn text(write: impl Fn(*mut u8, usize) -> usize) -> String {
    // Longer than any MPI's version text (MPICH's names its configure options) or error.
    let mut buffer = vec![0_u8; 16 << 10];
    let length = write(buffer.as_mut_ptr(), buffer.len());
    buffer.truncate(length);
    String::from_utf8_lossy(&buffer).into_owned()
}
