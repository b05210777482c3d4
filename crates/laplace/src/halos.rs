//! The messages between neighbours: the first row to the rank above, the last to the one below, and theirs into the border.

use std::ops::Range;

use ranks::Exchange;

use crate::fault::LaplaceFault;
use crate::grid::Share;

/// A neighbour: its number, where what is sent to it begins and where what comes from it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbour {
    pub(crate) rank: usize,
    pub(crate) sent: usize,
    pub(crate) received: usize,
}

/// A rank's messages.
#[derive(Clone, Copy)]
pub(crate) struct Halos<'m> {
    mpi: Option<&'m dyn Exchange>,
    share: Share,
}

impl<'m> Halos<'m> {
    /// The messages of this share. A rank that has neighbours needs MPI.
    pub(crate) fn new(mpi: Option<&'m dyn Exchange>, share: Share) -> Self {
        Self { mpi, share }
    }

    /// The rows that are computed first where halos overlap, and those inside.
    pub(crate) fn parts(&self) -> (Vec<Range<usize>>, Range<usize>) {
        let rows = self.share.field.rows;
        let first = std::iter::once(1..2);
        let edges = first.chain((rows > 1).then_some(rows..rows + 1)).collect();
        (edges, 2..rows.max(2))
    }

    /// The neighbours above (side 0) and below (side 1); `at` says where the cells of a side's row begin, of that which is sent and of that which is received.
    pub(crate) fn neighbours(&self, at: impl Fn(usize, usize, bool) -> usize) -> Vec<Neighbour> {
        let rows = self.share.field.rows;
        let above = self.share.above.map(|rank| Neighbour { rank, sent: at(0, 1, true), received: at(0, 0, false) });
        let below =
            self.share.below.map(|rank| Neighbour { rank, sent: at(1, rows, true), received: at(1, rows + 1, false) });
        above.into_iter().chain(below).collect()
    }

    /// Starts all messages.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// # Safety
    /// A row of cells lies at each address, of the host or of the device whose context is current, until [`Halos::end`]; nobody writes what is sent or looks at what is received.
    pub(crate) unsafe fn begin(&self, neighbours: &[Neighbour]) -> Result<(), LaplaceFault> {
        let Some(mpi) = self.mpi else { return Ok(()) };
        let bytes = self.share.field.row_bytes();
        for neighbour in neighbours {
            // SAFETY: the caller's word.
            unsafe { mpi.start_receive(neighbour.rank, neighbour.received, bytes) }?;
        }
        for neighbour in neighbours {
            // SAFETY: the caller's word.
            unsafe { mpi.start_send(neighbour.rank, neighbour.sent, bytes) }?;
        }
        Ok(())
    }

    /// Waits for all messages.
    ///
    /// # Errors
    /// What MPI says.
    pub(crate) fn end(&self) -> Result<(), LaplaceFault> {
        Ok(self.mpi.map_or(Ok(()), Exchange::wait_all)?)
    }
}
