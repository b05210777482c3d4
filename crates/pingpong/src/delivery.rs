//! Whether a block's bytes were delivered: what is laid out before it, and what must be found after it, on
//! both sides.
//!
//! Before the block the bytes to send are put where it reads and wrong ones where it writes; after it,
//! outside the timed region, every byte is compared. Where a round that does not count runs in between it
//! delivers everything, so the first word of every page is sent with a stale key in that round and gets its
//! own only afterwards: copies that stop when the clock starts are seen too. Each block has keys of its own,
//! so that what an earlier one left is wrong.
//!
//! There are two ways to the same proof. A device that can run a kernel fills and compares its own memory,
//! thousands of times as fast as a core does; what lies on the host comes from there and goes back there by
//! copies that are not timed. Each of these copies ends over wrong bytes, so that one which does nothing is
//! seen as well; and the host looks at the first word of each page with its own eyes. The bytes to be sent
//! from the host are laid out once for an allocation, and only the first words of their pages for each block:
//! the device's are wrong in every byte before. Otherwise, and for small copies, the host fills and compares
//! every byte.
//!
//! A copy that is done twice leaves the right bytes; it shows in the time.

use device::{Area, BytePattern, Copier, DeviceError, Direction};
use engine::{Failure, Trouble, WrongByte};

use crate::case::CopyCase;
use crate::fault::verifying;

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
    sent: BytePattern,
    /// What comes from the device where both directions move at once.
    returned: BytePattern,
}

/// As sent in the round that does not count: the first word of each page is another one.
fn stale(pattern: BytePattern) -> BytePattern {
    pattern.with_page_key(!pattern.key)
}

/// The key of one block's bytes: a case has one block in a pass. `area` tells apart the two that a
/// bidirectional block moves at once.
fn key(seed: u64, rank: usize, case: usize, pass: u64, area: u64) -> u64 {
    mixed(seed, &[rank as u64, case as u64, pass, area])
}

fn mixed(seed: u64, parts: &[u64]) -> u64 {
    parts.iter().fold(stats::random::mix(seed), |key, part| {
        stats::random::mix(key ^ stats::random::mix(part.wrapping_add(1)))
    })
}

/// What lies in the host memory that copies read: as many bytes of one pattern as a copy needed yet, but for
/// pages' first words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pattern: BytePattern,
    /// So many bytes of it are there, but for the first ones.
    laid: usize,
    /// So many of the first bytes are what the host put there for a small copy.
    spoiled: usize,
}

impl Source {
    /// Nothing of it is there yet.
    pub(crate) fn of(seed: u64, rank: usize, allocation: u32) -> Self {
        Self {
            pattern: BytePattern::new(mixed(!seed, &[rank as u64, u64::from(allocation)])),
            laid: 0,
            spoiled: 0,
        }
    }

    /// Has the device lay out what is missing of the first `bytes`.
    fn lay(&mut self, copier: &mut dyn Copier, bytes: usize) -> Result<(), DeviceError> {
        let missing = if self.laid < bytes { bytes } else { self.spoiled.min(bytes) };
        if missing > 0 {
            copier.fill(Area::A, self.pattern, missing)?;
            copier.pull(Area::A, missing)?;
        }
        self.laid = self.laid.max(bytes);
        if self.spoiled <= missing {
            self.spoiled = 0;
        }
        Ok(())
    }

    fn spoil(&mut self, bytes: usize) {
        self.spoiled = self.spoiled.max(bytes);
    }
}

impl Delivery {
    /// The bytes of `case`'s block in this pass on this rank, from this source; `patterns`: whether its
    /// device can fill and compare.
    pub(crate) fn new(
        seed: u64,
        rank: usize,
        case: &CopyCase,
        pass: u64,
        patterns: bool,
        source: &Source,
    ) -> Self {
        let key = |area| key(seed, rank, case.index, pass, area);
        let by_device = patterns && case.bytes >= BY_DEVICE_FROM_BYTES;
        let lasting = by_device && case.direction != Direction::D2h;
        let sent = if lasting { source.pattern.with_page_key(key(0)) } else { BytePattern::new(key(0)) };
        Self {
            direction: case.direction,
            bytes: case.bytes,
            by_device,
            sent,
            returned: BytePattern::new(key(1)),
        }
    }

    /// What arrives in the destination.
    fn arriving(&self) -> BytePattern {
        if self.direction == Direction::Bidirectional { self.returned } else { self.sent }
    }

    /// The area that the destination's bytes come from.
    fn from(&self) -> Area {
        if self.direction == Direction::Bidirectional { Area::B } else { Area::A }
    }

    /// Whether no core writes what is moved, but for a word of each page.
    pub(crate) fn is_laid_out_by_device(&self) -> bool {
        self.by_device
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
    pub(crate) fn lay_out(
        &self,
        copier: &mut dyn Copier,
        piece: &mut [u8],
        source: &mut Source,
    ) -> Result<(), Failure> {
        let laid = if self.by_device {
            self.lay_out_by_device(copier, source)
        } else {
            source.spoil(if self.reads_host() { self.bytes } else { 0 });
            self.lay_out_by_host(copier, piece)
        };
        laid.map_err(verifying)
    }

    fn lay_out_by_device(&self, copier: &mut dyn Copier, source: &mut Source) -> Result<(), DeviceError> {
        let bytes = self.bytes;
        // What else arrives on the host is of this block's key, and what is there is not.
        if self.direction == Direction::RoundTrip {
            copier.fill(Area::A, self.arriving().inverted(), bytes)?;
            copier.round(Direction::D2h, bytes)?;
        }
        if self.reads_host() {
            source.lay(copier, bytes)?;
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

    /// After the round that does not count and before those that do: the words that were stale get their own
    /// key where copies begin.
    pub(crate) fn arm(&self, copier: &mut dyn Copier, piece: &mut [u8]) -> Result<(), Failure> {
        let bytes = self.bytes;
        if self.reads_host() {
            let source = range(copier.source(), bytes).map_err(verifying)?;
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
            armed.map_err(verifying)?;
        }
        Ok(())
    }

    /// Compares what arrived, on both sides, with what was sent; how many bytes were compared.
    pub(crate) fn verify(&self, copier: &mut dyn Copier, piece: &mut [u8]) -> Result<u64, Trouble> {
        let mut compared = 0;
        if self.writes_host() {
            let arrived = range(copier.destination(), self.bytes).map_err(verifying)?;
            let pattern = self.arriving();
            let looked = if self.by_device {
                pattern.compare_page_words(arrived)
            } else {
                pattern.compare(0, arrived)
            };
            looked.map_err(Trouble::Corrupt)?;
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

    /// Sends what lies in the destination to the device, over wrong bytes, and compares it there.
    /// Bidirectional blocks leave A as it is.
    fn send_back(&self, copier: &mut dyn Copier) -> Result<(), Trouble> {
        let (area, pattern) = (self.from(), self.arriving());
        let sent =
            copier.fill(area, pattern.inverted(), self.bytes).and_then(|()| copier.push(area, self.bytes));
        sent.map_err(verifying)?;
        self.compare_on_device(copier, area, pattern)
    }

    fn compare_on_device(
        &self,
        copier: &mut dyn Copier,
        area: Area,
        pattern: BytePattern,
    ) -> Result<(), Trouble> {
        let Some(offset) = copier.compare(area, pattern, self.bytes).map_err(verifying)? else {
            return Ok(());
        };
        let mut word = [0; 8];
        let word = &mut word[..(self.bytes - offset as usize).min(8)];
        copier.fetch(area, offset as usize, word).map_err(verifying)?;
        let expected = pattern.word(offset / 8).to_le_bytes();
        let wrong = word.iter().zip(expected).position(|(got, expected)| *got != expected);

        Err(match wrong {
            Some(at) => Trouble::Corrupt(WrongByte {
                offset: offset + at as u64,
                expected: expected[at],
                got: word[at],
            }),
            None => Trouble::Invalid(format!(
                "the device found byte {offset} wrong, but it reads back right: its memory or its comparison \
                 is not to be trusted"
            )),
        })
    }

    fn fetch_and_compare(&self, copier: &mut dyn Copier, piece: &mut [u8]) -> Result<(), Trouble> {
        for offset in (0..self.bytes).step_by(piece.len()) {
            let piece = &mut piece[..(self.bytes - offset).min(PIECE_BYTES)];
            // A fetch that does nothing must not find what an earlier one left.
            self.sent.inverted().fill(offset as u64, piece);
            copier.fetch(Area::A, offset, piece).map_err(verifying)?;
            self.sent.compare(offset as u64, piece).map_err(Trouble::Corrupt)?;
        }
        Ok(())
    }
}

/// The part of a host range that a block uses. After a wait that failed a copier lends nothing: its driver
/// may still write there.
fn range(lent: &mut [u8], bytes: usize) -> Result<&mut [u8], DeviceError> {
    lent.get_mut(..bytes).ok_or_else(|| DeviceError::Unsupported {
        what: "using host memory again",
        reason: "waiting for earlier copies failed, so the driver may still use it".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use device::{CopyBy, MemoryKind};
    use engine::Order;

    use super::*;

    #[test]
    fn what_a_copy_of_the_same_pass_left_on_the_host_is_wrong_for_the_next() {
        let case = |index, bytes, by| CopyCase {
            index,
            order: Order::Alone,
            memory: MemoryKind::Pinned,
            direction: Direction::D2h,
            bytes,
            by,
        };

        let cases = [
            case(0, 1 << 20, CopyBy::Engine),
            case(1, 2 << 20, CopyBy::Engine),
            case(2, 1 << 20, CopyBy::Kernel),
        ];
        let source = Source::of(1, 0, 0);
        let arriving = cases.map(|case| Delivery::new(1, 0, &case, 3, true, &source).arriving());
        let words: Vec<[u64; 2]> =
            arriving.iter().map(|pattern| [pattern.word(0), pattern.word(1)]).collect();

        for (at, one) in words.iter().enumerate() {
            assert!(
                words[at + 1..].iter().all(|other| one[0] != other[0] && one[1] != other[1]),
                "{words:x?}"
            );
        }
    }

    #[test]
    fn bytes_from_the_host_are_another_blocks_but_for_the_first_words_of_their_pages() {
        let case = CopyCase {
            index: 0,
            order: Order::Alone,
            memory: MemoryKind::Pinned,
            direction: Direction::H2d,
            bytes: 1 << 20,
            by: CopyBy::Engine,
        };

        let source = Source::of(1, 0, 0);
        let sent = |pass, patterns| Delivery::new(1, 0, &case, pass, patterns, &source).sent;
        assert_eq!(sent(3, true).word(1), sent(4, true).word(1));
        assert_ne!(sent(3, true).word(0), sent(4, true).word(0));
        assert_ne!(
            sent(3, false).word(1),
            sent(4, false).word(1),
            "where the host lays them out all are new"
        );
    }
}
