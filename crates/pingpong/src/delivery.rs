//! Whether a block's bytes were delivered: what is laid out before it, and what must be found after it, on both sides.
//!
//! Before the block the bytes to send are put where it reads and wrong ones where it writes; after it, outside the timed region, every byte
//! is compared. A round that does not count runs in between and delivers everything, so the first word of every page is sent with a stale
//! key in that round and gets its own only afterwards: copies that stop when the clock starts are seen too.
//!
//! There are two ways to the same proof. A device that can run a kernel fills and compares its own memory, thousands of times as fast as
//! a core does; what lies on the host comes from there and goes back there by copies that are not timed. Each of these copies ends over wrong bytes, so
//! that one which does nothing is seen as well; and the host looks at the first word of each page with its own eyes. Otherwise, and for
//! small copies, the host fills and compares every byte.

use device::{Area, Copier, DeviceError, Difference, Direction, Pattern};
use engine::{Failure, Mismatch, Stage, Trouble};

use crate::case::Case;
use crate::fault::failure;

/// From this size on a device fills and compares: below it the host is quicker than a kernel's launch.
const BY_DEVICE_FROM_BYTES: usize = 1 << 20;
/// What is compared on the host is fetched in such pieces: they stay in the cache.
pub(crate) const PIECE_BYTES: usize = 1 << 20;

/// The bytes of one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    direction: Direction,
    bytes: usize,
    by_device: bool,
    /// What goes to the device (and, with one direction or a round trip, comes back).
    sent: Pattern,
    /// What comes from the device where both directions move at once.
    returned: Pattern,
}

/// As sent in the round that does not count: the first word of each page is another one.
fn stale(pattern: Pattern) -> Pattern {
    pattern.with_page_key(!pattern.key)
}

/// The key of one block's bytes. `area` tells apart the two that a bidirectional block moves at once.
fn key(seed: u64, rank: usize, direction: Direction, pass: u64, area: u64) -> u64 {
    let parts = [rank as u64, direction as u64, pass, area];
    parts
        .iter()
        .fold(stats::random::mix(seed), |key, part| stats::random::mix(key ^ stats::random::mix(part.wrapping_add(1))))
}

impl Delivery {
    /// The bytes of `case`'s block in this pass on this rank; `patterns`: whether its device can fill and compare.
    pub(crate) fn new(seed: u64, rank: usize, case: &Case, pass: u64, patterns: bool) -> Self {
        let pattern = |area| Pattern::new(key(seed, rank, case.direction, pass, area));
        Self {
            direction: case.direction,
            bytes: case.bytes,
            by_device: patterns && case.bytes >= BY_DEVICE_FROM_BYTES,
            sent: pattern(0),
            returned: pattern(1),
        }
    }

    /// What arrives in the destination.
    fn arriving(&self) -> Pattern {
        if self.direction == Direction::Bidirectional { self.returned } else { self.sent }
    }

    /// The area that the destination's bytes come from.
    fn from(&self) -> Area {
        if self.direction == Direction::Bidirectional { Area::B } else { Area::A }
    }

    fn reads_host(&self) -> bool {
        self.direction != Direction::D2h
    }

    fn writes_host(&self) -> bool {
        self.direction != Direction::H2d
    }

    /// Whether the device begins with bytes of its own.
    fn reads_device(&self) -> bool {
        matches!(self.direction, Direction::D2h | Direction::Bidirectional)
    }

    /// Puts what the block will read where it reads, stale, and wrong bytes where it will write.
    pub(crate) fn lay_out(&self, copier: &mut dyn Copier, piece: &mut [u8]) -> Result<(), Failure> {
        let laid = if self.by_device { self.lay_out_by_device(copier) } else { self.lay_out_by_host(copier, piece) };
        laid.map_err(|error| failure(Stage::Verify, &error))
    }

    fn lay_out_by_device(&self, copier: &mut dyn Copier) -> Result<(), DeviceError> {
        let bytes = self.bytes;
        if self.writes_host() {
            copier.fill(Area::A, self.arriving().inverted(), bytes)?;
            copier.round(Direction::D2h, bytes)?;
        }
        if self.reads_host() {
            copier.fill(Area::A, stale(self.sent), bytes)?;
            copier.pull(Area::A, bytes)?;
            copier.fill(Area::A, self.sent.inverted(), bytes)?;
        }
        if self.reads_device() {
            copier.fill(self.from(), stale(self.arriving()), bytes)?;
        }
        Ok(())
    }

    fn lay_out_by_host(&self, copier: &mut dyn Copier, piece: &mut [u8]) -> Result<(), DeviceError> {
        let bytes = self.bytes;
        if self.writes_host() {
            self.arriving().inverted().fill(0, range(copier.destination(), bytes)?);
        }
        if self.reads_host() {
            stale(self.sent).fill(0, range(copier.source(), bytes)?);
        }
        if self.reads_device() {
            for offset in (0..bytes).step_by(piece.len()) {
                let piece = &mut piece[..(bytes - offset).min(PIECE_BYTES)];
                stale(self.arriving()).fill(offset as u64, piece);
                copier.store(self.from(), offset, piece)?;
            }
        }
        Ok(())
    }

    /// After the round that does not count and before those that do: the words that were stale get their own key where copies begin.
    pub(crate) fn arm(&self, copier: &mut dyn Copier, piece: &mut [u8]) -> Result<(), Failure> {
        let bytes = self.bytes;
        if self.reads_host() {
            let source = range(copier.source(), bytes).map_err(|error| failure(Stage::Verify, &error))?;
            self.sent.fill_page_words(source);
        }
        if self.reads_device() {
            let armed = if self.by_device {
                copier.fill(self.from(), self.arriving(), bytes)
            } else {
                (0..bytes).step_by(piece.len()).try_for_each(|offset| {
                    let piece = &mut piece[..(bytes - offset).min(PIECE_BYTES)];
                    self.arriving().fill(offset as u64, piece);
                    copier.store(self.from(), offset, piece)
                })
            };
            armed.map_err(|error| failure(Stage::Verify, &error))?;
        }
        Ok(())
    }

    /// Compares what arrived, on both sides, with what was sent; how many bytes were compared.
    pub(crate) fn verify(&self, copier: &mut dyn Copier, piece: &mut [u8]) -> Result<u64, Trouble> {
        let mut compared = 0;
        if self.writes_host() {
            let arrived = range(copier.destination(), self.bytes).map_err(|error| failure(Stage::Verify, &error))?;
            let pattern = self.arriving();
            let looked = if self.by_device { pattern.compare_page_words(arrived) } else { pattern.compare(0, arrived) };
            looked.map_err(corrupt)?;
            if self.by_device {
                self.send_back(copier)?;
            }
            compared += self.bytes as u64;
        }
        if matches!(self.direction, Direction::H2d | Direction::Bidirectional) {
            if self.by_device {
                self.compare_on_device(copier, Area::A, self.sent)?;
            } else {
                self.fetch_and_compare(copier, piece)?;
            }
            compared += self.bytes as u64;
        }
        Ok(compared)
    }

    /// Sends what lies in the destination to the device, over wrong bytes, and compares it there. Bidirectional blocks leave A as it is.
    fn send_back(&self, copier: &mut dyn Copier) -> Result<(), Trouble> {
        let (area, pattern) = (self.from(), self.arriving());
        let sent = copier.fill(area, pattern.inverted(), self.bytes).and_then(|()| copier.push(area, self.bytes));
        sent.map_err(|error| failure(Stage::Verify, &error))?;
        self.compare_on_device(copier, area, pattern)
    }

    fn compare_on_device(&self, copier: &mut dyn Copier, area: Area, pattern: Pattern) -> Result<(), Trouble> {
        let device = |error: DeviceError| failure(Stage::Verify, &error);
        let Some(offset) = copier.compare(area, pattern, self.bytes).map_err(device)? else { return Ok(()) };
        let mut word = [0; 8];
        let word = &mut word[..(self.bytes - offset as usize).min(8)];
        copier.fetch(area, offset as usize, word).map_err(device)?;
        let expected = pattern.word(offset / 8).to_le_bytes();
        let wrong = word.iter().zip(expected).position(|(got, expected)| *got != expected);
        Err(match wrong {
            Some(at) => {
                Trouble::Corrupt(Mismatch { offset: offset + at as u64, expected: expected[at], got: word[at] })
            }
            None => Trouble::Invalid(format!(
                "the device found byte {offset} wrong, but it reads back right: its memory or its comparison is not to be trusted"
            )),
        })
    }

    fn fetch_and_compare(&self, copier: &mut dyn Copier, piece: &mut [u8]) -> Result<(), Trouble> {
        for offset in (0..self.bytes).step_by(piece.len()) {
            let piece = &mut piece[..(self.bytes - offset).min(PIECE_BYTES)];
            // A fetch that does nothing must not find what an earlier one left.
            self.sent.inverted().fill(offset as u64, piece);
            copier.fetch(Area::A, offset, piece).map_err(|error| failure(Stage::Verify, &error))?;
            self.sent.compare(offset as u64, piece).map_err(corrupt)?;
        }
        Ok(())
    }
}

/// The part of a host range that a block uses. After a wait that failed a copier lends nothing: its driver may still write there.
fn range(lent: &mut [u8], bytes: usize) -> Result<&mut [u8], DeviceError> {
    lent.get_mut(..bytes).ok_or_else(|| DeviceError::Unsupported {
        what: "using host memory again",
        reason: "waiting for earlier copies failed, so the driver may still use it".to_owned(),
    })
}

fn corrupt(difference: Difference) -> Trouble {
    let Difference { offset, expected, got } = difference;
    Trouble::Corrupt(Mismatch { offset, expected, got })
}
