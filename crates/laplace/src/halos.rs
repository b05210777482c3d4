//! The messages between neighbours: the first row to the rank above, the last to the one below, and theirs
//! into the border.

use std::cell::Cell;
use std::ops::Range;

use ranks::Exchange;

use crate::fault::LaplaceFault;
use crate::grid::RowShare;

/// Memory that messages go from and to, of the host or of the device whose context is current: of fields that
/// are kept until MPI is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    /// The address of its first byte.
    pub(crate) start: usize,
    /// How many bytes it has.
    pub(crate) len: usize,
}

/// A rank's messages.
pub(crate) struct Halos<'m> {
    mpi: Option<&'m dyn Exchange>,
    share: RowShare,
    exchanges: Cell<u32>,
}

impl<'m> Halos<'m> {
    /// The messages of this share. A rank that has neighbours needs MPI.
    pub(crate) fn new(mpi: Option<&'m dyn Exchange>, share: RowShare) -> Self {
        Self { mpi, share, exchanges: Cell::new(0) }
    }

    /// How many exchanges were begun.
    pub(crate) fn exchanges(&self) -> u32 {
        self.exchanges.get()
    }

    /// The rows that are computed first where halos overlap, and those inside.
    pub(crate) fn parts(&self) -> (Vec<Range<usize>>, Range<usize>) {
        let rows = self.share.field.rows;
        let first = std::iter::once(1..2);
        let edges = first.chain((rows > 1).then_some(rows..rows + 1)).collect();
        (edges, 2..rows.max(2))
    }

    /// Exchanges rows with the neighbours above (side 0) and below (side 1) while `beside` runs; `at` says
    /// where the cells of a side's row begin in the memory, of that which is sent and of that which is
    /// received. `beside` writes none of the rows that are sent and looks at none that are received. Messages
    /// that a failure leaves under way are the reason why the memory stays until MPI is left.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// # Panics
    /// A row does not lie in the memory.
    pub(crate) fn exchange(
        &self,
        memory: Reached,
        at: impl Fn(usize, usize, bool) -> usize,
        beside: impl FnOnce(),
    ) -> Result<(), LaplaceFault> {
        self.exchanges.update(|begun| begun + 1);
        let Some(mpi) = self.mpi else {
            beside();
            return Ok(());
        };
        let (rows, bytes) = (self.share.field.rows, self.share.field.row_bytes());
        let place = |side, row, sent| {
            let at = at(side, row, sent);
            assert!(
                at.checked_add(bytes).is_some_and(|end| end <= memory.len),
                "a row at byte {at} of {}",
                memory.len
            );
            memory.start + at
        };

        let neighbours = [(self.share.above, 0, [0, 1]), (self.share.below, 1, [rows + 1, rows])];
        let neighbours = neighbours.iter().filter_map(|(rank, side, rows)| Some(((*rank)?, *side, *rows)));
        for (rank, side, [received, _]) in neighbours.clone() {
            // SAFETY: the row lies in the memory, as was asserted, and nobody looks at it before `wait_all`.
            unsafe { mpi.start_receive(rank, place(side, received, false), bytes) }?;
        }

        for (rank, side, [_, sent]) in neighbours {
            // SAFETY: as above, and nobody writes it.
            unsafe { mpi.start_send(rank, place(side, sent, true), bytes) }?;
        }

        beside();
        Ok(mpi.wait_all()?)
    }
}
