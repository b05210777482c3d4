//! What two ranks of a launch send each other to be measured: MPI's own calls, on addresses that may be a device's.
//!
//! Apart from [`World`](crate::World), which carries the messages by which ranks agree: these calls block, as an application's do. A rank whose
//! partner is gone may stay in one for ever, and one that is given memory it cannot read may die in it, so who calls them watches from another process.

pub use crate::abi::Operation;
use crate::world::WorldError;

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

    /// MPI_Waitall of all that was started. Once a call has failed while messages were under way this fails too: what comes next could meet what is left of them.
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
        operation: Operation,
        with: usize,
        out: usize,
        into: usize,
        bytes: usize,
    ) -> Result<(), WorldError>;

    /// What the library says of its own support of GPUs, a line each.
    fn said(&self) -> Vec<String>;
}
