//! MPI's calls on the memory of an end: every address that MPI is given is made here, of a part that lies in
//! it.
//!
//! The memory stays until MPI is left, so that what a failure leaves under way meets nothing else. Nobody
//! writes what is sent, or looks at what is received, before the call is over or all that was started was
//! waited for: an end is one thread, and its copies are queued behind.

use ranks::{Exchange, PairOperation};

use crate::case::MessagePath;
use crate::fault::ExchangeFault;
use crate::memory::MessageMemory;

/// Bytes of the word that begins and ends what is timed.
pub(crate) const WORD: usize = 4;

/// The two halves of a memory: what is sent lies in the first one, what is received in the second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halves {
    start: usize,
    half: usize,
}

impl Halves {
    /// Those of a path.
    pub(crate) fn of(memory: &mut MessageMemory, path: MessagePath) -> Result<Self, ExchangeFault> {
        let half = memory.half();
        let start = match path {
            MessagePath::Host => memory.host_address(),
            MessagePath::GpuAware => memory.device()?.address(),
            _ => memory.device()?.host_address(),
        };
        Ok(Self { start, half })
    }

    /// The address of a part of the first half.
    fn out(self, at: usize, bytes: usize) -> usize {
        assert!(
            at.checked_add(bytes).is_some_and(|end| end <= self.half),
            "{bytes} bytes at {at} of {}",
            self.half
        );
        self.start + at
    }

    /// The same of the second half.
    fn into(self, at: usize, bytes: usize) -> usize {
        self.half + self.out(at, bytes)
    }
}

/// The calls between an end and another rank.
pub(crate) struct Calls<'m> {
    mpi: &'m dyn Exchange,
    with: usize,
    word: Box<[u8; 2 * WORD]>,
}

impl<'m> Calls<'m> {
    /// Those with the rank `with`.
    pub(crate) fn new(mpi: &'m dyn Exchange, with: usize) -> Self {
        Self { mpi, with, word: Box::default() }
    }

    /// The other rank.
    pub(crate) fn with(&self) -> usize {
        self.with
    }

    /// Waits for all that was started.
    pub(crate) fn wait_all(&self) -> Result<(), ExchangeFault> {
        Ok(self.mpi.wait_all()?)
    }

    /// MPI_Send from the beginning of the first half.
    pub(crate) fn send_from(&self, halves: Halves, bytes: usize) -> Result<(), ExchangeFault> {
        // SAFETY: the part lies in this end's memory; see the top.
        Ok(unsafe { self.mpi.send(self.with, halves.out(0, bytes), bytes) }?)
    }

    /// MPI_Recv to a part of the second half.
    pub(crate) fn receive_at(&self, halves: Halves, at: usize, bytes: usize) -> Result<(), ExchangeFault> {
        // SAFETY: as above.
        Ok(unsafe { self.mpi.receive(self.with, halves.into(at, bytes), bytes) }?)
    }

    /// MPI_Isend from a part of the first half.
    pub(crate) fn start_send_at(&self, halves: Halves, at: usize, bytes: usize) -> Result<(), ExchangeFault> {
        // SAFETY: as above.
        Ok(unsafe { self.mpi.start_send(self.with, halves.out(at, bytes), bytes) }?)
    }

    /// MPI_Irecv to the beginning of the second half.
    pub(crate) fn start_receive(&self, halves: Halves, bytes: usize) -> Result<(), ExchangeFault> {
        // SAFETY: as above.
        Ok(unsafe { self.mpi.start_receive(self.with, halves.into(0, bytes), bytes) }?)
    }

    /// An operation from the first half to the second.
    pub(crate) fn operate(
        &self,
        operation: PairOperation,
        halves: Halves,
        bytes: usize,
    ) -> Result<(), ExchangeFault> {
        let (out, into) = (halves.out(0, bytes), halves.into(0, bytes));
        // SAFETY: as above; the halves are apart.
        Ok(unsafe { self.mpi.operate(operation, self.with, out, into, bytes) }?)
    }

    /// Tells the other rank something of two, or hears it.
    pub(crate) fn flag(&mut self, told: Option<bool>) -> Result<bool, ExchangeFault> {
        if let Some(told) = told {
            self.word[0] = u8::from(told);
            return self.word(true).map(|()| told);
        }
        self.word(false)?;
        // MPI wrote it behind the compiler's back.
        let heard = std::hint::black_box(&mut self.word)[WORD];
        Ok(heard != 0)
    }

    /// A word of host memory one way.
    pub(crate) fn word(&mut self, sends: bool) -> Result<(), ExchangeFault> {
        let address = self.word.as_mut_ptr().expose_provenance();
        if sends {
            // SAFETY: the word lives as long as this end; its halves are apart.
            return Ok(unsafe { self.mpi.send(self.with, address, WORD) }?);
        }
        // SAFETY: as above.
        Ok(unsafe { self.mpi.receive(self.with, address + WORD, WORD) }?)
    }
}
