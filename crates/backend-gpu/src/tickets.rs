//! The numbers by which a latch is closed and opened: the device goes on once the word has reached its
//! ticket.
//!
//! No word is ever reset, so a wait that is late still sees an open latch.

use crate::sync::atomic::{AtomicU32, Ordering};

/// The tickets of one latch; the newest is open or held.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    newest: u32,
}

impl Tickets {
    /// Takes the next ticket, which is held until [`Tickets::open`].
    pub(crate) fn close(&mut self) -> u32 {
        self.newest = self.newest.wrapping_add(1);
        self.newest
    }

    /// Lets the newest ticket go, and all before it; `may_go` holds the highest that may.
    pub(crate) fn open(&self, may_go: &AtomicU32) {
        may_go.store(self.newest, Ordering::Release);
    }

    /// Whether the newest ticket's wait ended by itself before it was let go; `gave_up` holds the last of
    /// which that is so.
    pub(crate) fn gave_up(&self, gave_up: &AtomicU32) -> bool {
        gave_up.load(Ordering::Acquire) == self.newest
    }
}
