//! Whether a block's bytes were delivered: what is laid out before it, and what must be found after it, on both sides.
//!
//! Before the block the payload is put where the block reads and poison where it writes; after it, outside the timed region,
//! every byte is compared. Device memory is read back over a poisoned host range, so that an H2D that did nothing is seen.
//!
//! A round that does not count runs in between, and delivers everything. So a word of every page is kept back from it, and
//! only the timed rounds can put that right: copies that stop when the clock starts are seen too.

use device::{Copier, DeviceError, Direction};

use crate::case::Case;
use crate::failure::{Failure, Stage};
use crate::payload::Payload;
use crate::rank::Rank;
use crate::sample::Trouble;

/// The bytes of one block.
pub(crate) struct Delivery {
    direction: Direction,
    bytes: usize,
    /// What goes to the device (and, with one direction or a round trip, comes back).
    sent: Payload,
    /// What comes from the device where both directions move at once.
    returned: Payload,
}

impl Delivery {
    /// The bytes of `case`'s block in this pass on this rank.
    pub(crate) fn new(rank: &Rank, case: &Case, pass: u64) -> Self {
        let payload = |area| Payload::new(rank.config.seed, rank.plan.rank, case.direction, pass, area);
        Self { direction: case.direction, bytes: case.bytes, sent: payload(0), returned: payload(1) }
    }

    /// Puts the payload where the block will read it, a word of every page still wrong, and poison where it will write.
    pub(crate) fn lay_out(&self, copier: &mut dyn Copier) -> Result<(), DeviceError> {
        let bytes = self.bytes;
        if self.direction == Direction::Bidirectional {
            self.returned.fill(&mut copier.source()[..bytes]);
            copier.preload(bytes)?;
            self.returned.poison(&mut copier.destination()[..bytes]);
        }
        self.sent.fill(&mut copier.source()[..bytes]);
        if self.direction == Direction::D2h {
            copier.round(Direction::H2d, bytes)?;
        } else {
            self.sent.spoil(&mut copier.source()[..bytes]);
        }
        if matches!(self.direction, Direction::D2h | Direction::RoundTrip) {
            self.sent.poison(&mut copier.destination()[..bytes]);
        }
        Ok(())
    }

    /// After the round that does not count and before those that do: the words kept back are made right where copies begin and
    /// wrong where they end.
    pub(crate) fn arm(&self, copier: &mut dyn Copier) {
        let bytes = self.bytes;
        if self.direction != Direction::D2h {
            self.sent.refresh(&mut copier.source()[..bytes]);
        }
        match self.direction {
            Direction::H2d => {}
            Direction::D2h | Direction::RoundTrip => self.sent.spoil(&mut copier.destination()[..bytes]),
            Direction::Bidirectional => self.returned.spoil(&mut copier.destination()[..bytes]),
        }
    }

    /// Compares what arrived, on both sides, with what was sent; how many bytes were compared.
    pub(crate) fn verify(&self, copier: &mut dyn Copier) -> Result<u64, Trouble> {
        let bytes = self.bytes;
        let mut compared = 0;
        if self.direction != Direction::H2d {
            let expected = if self.direction == Direction::Bidirectional { self.returned } else { self.sent };
            expected.verify(&copier.destination()[..bytes]).map_err(Trouble::Corrupt)?;
            compared += bytes as u64;
        }
        if matches!(self.direction, Direction::H2d | Direction::Bidirectional) {
            self.sent.poison(&mut copier.destination()[..bytes]);
            let fetched = copier.round(Direction::D2h, bytes);
            fetched.map_err(|error| Failure::device(Stage::Verify, &error))?;
            self.sent.verify(&copier.destination()[..bytes]).map_err(Trouble::Corrupt)?;
            compared += bytes as u64;
        }
        Ok(compared)
    }
}
