//! The plug-in's calls: messages by which ranks agree, and what two ranks send each other to be measured.
//!
//! Everything here is a call and the reading of its answer; what MPI is asked to do is in the plug-in.
//! Measured calls ([`Exchange`]) take addresses that may be a device's, and block as an application's do: a
//! rank whose partner is gone may stay in one for ever, and one that is given memory it cannot read may die
//! in it, so who calls them watches from another process.

use std::ffi::c_int;
use std::marker::PhantomData;

use crate::abi::{self, FunctionTable, PairOperation};

/// The transport between processes failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed: {message}")]
pub struct WorldError {
    /// The call, as its manual spells it.
    pub call: String,
    /// What it said.
    pub message: String,
}

/// Calls of MPI on memory, which is named by its address.
pub trait Exchange {
    /// MPI_Send.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// # Safety
    /// There are so many bytes at the address, of the host or of a device whose context is current.
    unsafe fn send(&self, to: usize, address: usize, bytes: usize) -> Result<(), WorldError>;

    /// MPI_Recv.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// # Safety
    /// As [`Exchange::send`]; they are written.
    unsafe fn receive(&self, from: usize, address: usize, bytes: usize) -> Result<(), WorldError>;

    /// MPI_Isend.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// # Safety
    /// As [`Exchange::send`], until [`Exchange::wait_all`].
    unsafe fn start_send(&self, to: usize, address: usize, bytes: usize) -> Result<(), WorldError>;

    /// MPI_Irecv.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// # Safety
    /// As [`Exchange::receive`], until [`Exchange::wait_all`].
    unsafe fn start_receive(&self, from: usize, address: usize, bytes: usize) -> Result<(), WorldError>;

    /// MPI_Waitall of all that was started. Once a call has failed while messages were under way this fails
    /// too: what comes next could meet what is left of them.
    ///
    /// # Errors
    /// What MPI says.
    fn wait_all(&self) -> Result<(), WorldError>;

    /// An operation that this rank and `with` both call.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// # Safety
    /// There are so many bytes at `out` and at `into`, which are apart; the latter are written.
    unsafe fn operate(
        &self,
        operation: PairOperation,
        with: usize,
        out: usize,
        into: usize,
        bytes: usize,
    ) -> Result<(), WorldError>;

    /// What the library says of its own support of GPUs, a line each.
    fn gpu_support(&self) -> Vec<String>;
}

/// A started MPI. Not `Send`: all calls come from the thread that started it.
#[derive(Debug)]
pub struct Calls {
    table: &'static FunctionTable,
    here: PhantomData<*const ()>,
}

impl Calls {
    pub(crate) fn of(table: &'static FunctionTable) -> Self {
        Self { table, here: PhantomData }
    }

    /// The plug-in's answer.
    pub(crate) fn check(&self, code: c_int) -> Result<(), WorldError> {
        if code == abi::DONE {
            return Ok(());
        }
        // SAFETY: `trouble` writes at most `capacity` bytes to `buffer`; that is its interface.
        let said = text(|buffer, capacity| unsafe { (self.table.trouble)(buffer, capacity) });
        let (call, message) = said.split_once('\n').unwrap_or(("the MPI plug-in", &said));
        Err(WorldError { call: call.into(), message: message.into() })
    }

    /// Sends a copy of a message without waiting.
    ///
    /// # Errors
    /// What MPI says.
    pub fn post(&self, to: u32, bytes: &[u8]) -> Result<(), WorldError> {
        // SAFETY: `post` reads `length` bytes and copies them before it returns.
        self.check(unsafe { (self.table.post)(to, bytes.as_ptr(), bytes.len()) })
    }

    /// Moves messages along: the next that has arrived, and whose it is.
    ///
    /// # Errors
    /// What MPI says.
    pub fn collect(&self) -> Result<Option<(u32, Vec<u8>)>, WorldError> {
        let (mut from, mut length) = (0, 0);
        // SAFETY: `collect` writes to its two arguments and keeps neither.
        let code = unsafe { (self.table.collect)(&raw mut from, &raw mut length) };
        if code == abi::NOTHING {
            return Ok(None);
        }
        self.check(code)?;
        let mut bytes = vec![0; length];
        // SAFETY: `take` writes the message at hand, `length` bytes long, and the buffer has as many.
        self.check(unsafe { (self.table.take)(bytes.as_mut_ptr(), bytes.len()) })?;
        Ok(Some((from, bytes)))
    }

    /// MPI_Abort. May return.
    pub fn abort(&self, code: u8) {
        // SAFETY: `abort` has no preconditions.
        unsafe { (self.table.abort)(code.into()) }
    }

    /// Leaves MPI: calls after it fail.
    ///
    /// # Errors
    /// What MPI says.
    pub fn leave(&self) -> Result<(), WorldError> {
        // SAFETY: `leave` has no preconditions.
        self.check(unsafe { (self.table.leave)() })
    }
}

/// A rank as the interface takes it; a number beyond it is MPI's to refuse.
fn number(rank: usize) -> u32 {
    u32::try_from(rank).unwrap_or(u32::MAX)
}

impl Exchange for Calls {
    unsafe fn send(&self, to: usize, address: usize, bytes: usize) -> Result<(), WorldError> {
        // SAFETY: the caller's word.
        self.check(unsafe { (self.table.send)(number(to), address, bytes) })
    }

    unsafe fn receive(&self, from: usize, address: usize, bytes: usize) -> Result<(), WorldError> {
        // SAFETY: the caller's word.
        self.check(unsafe { (self.table.receive)(number(from), address, bytes) })
    }

    unsafe fn start_send(&self, to: usize, address: usize, bytes: usize) -> Result<(), WorldError> {
        // SAFETY: the caller's word.
        self.check(unsafe { (self.table.start_send)(number(to), address, bytes) })
    }

    unsafe fn start_receive(&self, from: usize, address: usize, bytes: usize) -> Result<(), WorldError> {
        // SAFETY: the caller's word.
        self.check(unsafe { (self.table.start_receive)(number(from), address, bytes) })
    }

    fn wait_all(&self) -> Result<(), WorldError> {
        // SAFETY: it takes no argument.
        self.check(unsafe { (self.table.wait_all)() })
    }

    unsafe fn operate(
        &self,
        operation: PairOperation,
        with: usize,
        out: usize,
        into: usize,
        bytes: usize,
    ) -> Result<(), WorldError> {
        // SAFETY: the caller's word.
        self.check(unsafe { (self.table.operate)(operation as u32, number(with), out, into, bytes) })
    }

    fn gpu_support(&self) -> Vec<String> {
        // SAFETY: `said` writes at most `capacity` bytes to `buffer`; that is its interface.
        let text = text(|buffer, capacity| unsafe { (self.table.said)(buffer, capacity) });
        text.lines().map(str::to_owned).collect()
    }
}

/// Text of the plug-in, from a function that writes it to a buffer of some capacity and returns its full
/// length.
pub(crate) fn text(write: impl Fn(*mut u8, usize) -> usize) -> String {
    // Longer than any MPI's version text (MPICH's names its configure options) or error.
    let mut buffer = vec![0_u8; 16 << 10];
    let length = write(buffer.as_mut_ptr(), buffer.len());
    buffer.truncate(length);
    String::from_utf8_lossy(&buffer).into_owned()
}
