//! One block of reads, writes or copies of a range, word by word, a slice a round and the slices in turn.
//!
//! A round is short however long the range must be (several times the cache), so that blocks of traffic and
//! of other work begin and end nearly together where they are measured at once. A tail of the range that
//! makes no whole slice of whole pages is left alone. Where a case has a pace a slice is done in bursts of a
//! page with pauses between them, and is so much shorter that a round is not longer for it.
//!
//! What proves the work: reads add up all words, and the sum must be that of what was written there, times
//! the rounds; writes leave the number of the last round in every word, counted from another number in each
//! block; a copy must leave every word of its source, the first of each page put there only after the round
//! that does not count. So a round that moves nothing, moves a part, or reads from elsewhere is found. What
//! is only read is laid out once and not for each block: that takes several times as long as a block.
//!
//! Where a range was laid out for a block, a whole turn of its slices goes before the block and does not
//! count: no block pays for lines that are still to be written back.
//!
//! Some 420 lines because half of them are tests, which plant what each proof must find.

use std::hint::black_box;
use std::ops::Range;

use engine::clock::now_ns;
use engine::{Failure, PlacedMemory, Timing, Trouble, Work};
use stats::random::mix;
use sys::word_sums::sum_of_words;

use crate::case::Access;
use crate::pace::{BURST_BYTES, Due, Pace};
use crate::words::{PAGE, PageSums, WORD, fill, same};

/// About as much is one round: a millisecond or two of a core.
const SLICE: usize = 16 << 20;

/// The ranges of a rank.
pub(crate) struct Ranges {
    pub first: PlacedMemory,
    /// Only where copies need it.
    pub second: Option<PlacedMemory>,
    /// What was laid out in the first one, as long as that is only read.
    laid: Option<PageSums>,
}

impl Ranges {
    pub(crate) fn new(first: PlacedMemory, second: Option<PlacedMemory>) -> Self {
        Self { first, second, laid: None }
    }
}

/// The work of one block.
pub(crate) struct Traffic<'a> {
    access: Access,
    pace: Option<Pace>,
    due: Due,
    key: u64,
    first: &'a mut [u8],
    second: &'a mut [u8],
    /// The length of a slice.
    slice: usize,
    laid: &'a mut Option<PageSums>,
    /// Whether this block's ranges were written before it.
    written: bool,
    sum: u64,
    rounds: u64,
}

impl<'a> Traffic<'a> {
    pub(crate) fn new(access: Access, pace: Option<Pace>, key: u64, ranges: &'a mut Ranges) -> Self {
        let first = ranges.first.bytes_mut();
        let second = ranges.second.as_mut().map_or(&mut [][..], PlacedMemory::bytes_mut);
        Self::over(access, pace, key, first, second, &mut ranges.laid)
    }

    fn over(
        access: Access,
        pace: Option<Pace>,
        key: u64,
        first: &'a mut [u8],
        second: &'a mut [u8],
        laid: &'a mut Option<PageSums>,
    ) -> Self {
        if !matches!(access, Access::Read | Access::Load) {
            *laid = None;
        }
        let most = pace.map_or(SLICE, |pace| pace.round_bytes(SLICE));
        let whole = first.len() / (first.len() / most).max(1);
        let slice = if whole == first.len() { whole } else { whole / PAGE * PAGE };
        let due = Due::new(key);
        Self { access, pace, due, key, first, second, slice, laid, written: false, sum: 0, rounds: 0 }
    }

    /// Reads, writes or copies what lies here, once.
    fn once(&mut self, place: Range<usize>) {
        match self.access {
            Access::Read | Access::Load => {
                let sum = sum_of_words(black_box(&self.first[place]));
                self.sum = self.sum.wrapping_add(sum);
            }
            Access::Write => {
                let value = self.written(self.rounds).to_ne_bytes();
                let slice = &mut self.first[place];
                slice.as_chunks_mut::<WORD>().0.fill(value);
                black_box(slice);
            }
            Access::Copy => {
                let slice = &mut self.second[place.clone()];
                slice.copy_from_slice(black_box(&self.first[place]));
                black_box(slice);
            }
        }
    }

    fn slices(&self) -> u64 {
        (self.first.len() / self.slice.max(1)).max(1) as u64
    }

    /// Where the slice of this round (from 1) lies.
    fn place(&self, round: u64) -> Range<usize> {
        let at = ((round - 1) % self.slices()) as usize * self.slice;
        at..at + self.slice
    }

    /// What a write of this round leaves in every word.
    fn written(&self, round: u64) -> u64 {
        self.key.wrapping_add(round)
    }

    /// The last round of each slice that had one.
    fn last_rounds(&self) -> impl Iterator<Item = u64> + use<> {
        self.rounds.saturating_sub(self.slices()) + 1..=self.rounds
    }
}

/// The first word of a page gets its own value only after the round that does not count.
fn stale(key: u64, at: u64) -> u64 {
    let key = if at.is_multiple_of((PAGE / WORD) as u64) { !key } else { key };
    mix(key ^ at)
}

impl Work for Traffic<'_> {
    fn timing(&self) -> Timing {
        Timing::Host
    }

    fn bytes_a_round(&self) -> f64 {
        let ways = if self.access == Access::Copy { 2.0 } else { 1.0 };
        self.slice as f64 * ways
    }

    fn calls_before(&self) -> u32 {
        // What laying out wrote last is still to be written back, at the cost of who comes next: a turn of
        // all slices has that done before the block. Bursts with pauses leave time for it.
        if self.written && self.pace.is_none() { self.slices() as u32 } else { 1 }
    }

    fn lay_out(&mut self) -> Result<(), Failure> {
        let key = self.key;
        match self.access {
            Access::Read | Access::Load if self.laid.is_some() => {}
            Access::Read | Access::Load => {
                fill(self.first, |at| stale(key, at));
                *self.laid = Some(PageSums::of(self.first));
                self.written = true;
            }
            // Whatever is there was not written under this block's key.
            Access::Write => {}
            Access::Copy => {
                fill(self.first, |at| stale(key, at));
                fill(self.second, |at| !mix(key ^ at));
                self.written = true;
            }
        }

        Ok(())
    }

    fn arm(&mut self) -> Result<(), Failure> {
        // What the round that does not count has left is where the first one begins again.
        (self.sum, self.rounds) = (0, 0);
        let key = self.key;
        if self.access == Access::Copy {
            for (page, bytes) in (0..).zip(self.first.chunks_mut(PAGE)) {
                if let Some(word) = bytes.first_chunk_mut::<WORD>() {
                    *word = mix(key ^ (page * (PAGE / WORD) as u64)).to_ne_bytes();
                }
            }
        }
        Ok(())
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.rounds += 1;
        let place = self.place(self.rounds);
        let Some(pace) = self.pace else {
            self.once(place);
            return Ok(());
        };
        for from in place.clone().step_by(BURST_BYTES) {
            self.due.wait(pace, now_ns);
            self.once(from..(from + BURST_BYTES).min(place.end));
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        let (key, mut bytes) = (self.key, 0);
        match self.access {
            Access::Read | Access::Load => {
                let (turns, rest) = (self.rounds / self.slices(), self.rounds % self.slices());
                let Some(laid) = &self.laid else {
                    return Err(Trouble::Invalid("nothing was laid out to be read".to_owned()));
                };
                // Every slice in turn, and those of the turn under way.
                let all = laid.over(0..self.slices() as usize * self.slice).wrapping_mul(turns);
                let expected = all.wrapping_add(laid.over(0..rest as usize * self.slice));
                bytes = self.rounds.min(self.slices()) * self.slice as u64;
                if self.sum != expected {
                    let (got, rounds) = (self.sum, self.rounds);
                    let why =
                        format!("the words read in {rounds} rounds add up to {got:#x}, not to {expected:#x}");
                    return Err(Trouble::Invalid(why));
                }
            }
            Access::Write => {
                for round in self.last_rounds() {
                    let place = self.place(round);
                    bytes += place.len() as u64;
                    same(&self.first[place.clone()], place.start, |_| self.written(round))?;
                }
            }
            Access::Copy => {
                for place in self.last_rounds().map(|round| self.place(round)) {
                    bytes += place.len() as u64;
                    same(&self.second[place.clone()], place.start, |at| mix(key ^ at))?;
                }
            }
        }

        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 3 * PAGE + 24;

    /// A block of `rounds` rounds after the one that does not count; `spoil` may do something to the ranges
    /// before they are verified.
    fn block(access: Access, rounds: u64, spoil: impl Fn(&mut Traffic)) -> Result<u64, Trouble> {
        paced_block(access, None, rounds, spoil)
    }

    fn paced_block(
        access: Access,
        pace: Option<Pace>,
        rounds: u64,
        spoil: impl Fn(&mut Traffic),
    ) -> Result<u64, Trouble> {
        let (mut first, mut second) = (vec![0; BYTES], vec![0; BYTES]);
        let mut laid = None;
        let mut traffic = Traffic::over(access, pace, 7, &mut first, &mut second, &mut laid);
        traffic.lay_out()?;
        traffic.round()?;
        traffic.arm()?;
        (0..rounds).try_for_each(|_| traffic.round())?;
        spoil(&mut traffic);
        traffic.verify()
    }

    #[test]
    fn what_was_read_written_and_copied_is_proven() {
        for access in [Access::Read, Access::Write, Access::Copy] {
            assert_eq!(block(access, 3, |_| ()), Ok(BYTES as u64), "{access:?}");
        }
    }

    #[test]
    fn bursts_with_pauses_move_and_prove_the_same_and_take_as_long_as_they_pause() {
        let pause = std::time::Duration::from_micros(200);
        for access in [Access::Read, Access::Write, Access::Copy] {
            assert_eq!(paced_block(access, Some(Pace::UNPAUSED), 3, |_| ()), Ok(BYTES as u64), "{access:?}");
            let began = std::time::Instant::now();
            assert_eq!(
                paced_block(access, Some(Pace::every(pause)), 3, |_| ()),
                Ok(BYTES as u64),
                "{access:?}"
            );
            // Four bursts a round, four rounds with the one that does not count; the first burst waits for
            // nothing.
            assert!(began.elapsed() >= 15 * pause, "{access:?}: {:?}", began.elapsed());
            let skipped = |traffic: &mut Traffic| traffic.rounds += 1;
            if access != Access::Copy {
                assert!(paced_block(access, Some(Pace::every(pause)), 3, skipped).is_err(), "{access:?}");
            }
        }
    }

    #[test]
    fn what_was_laid_out_is_gone_through_once_before_it_counts() -> Result<(), Trouble> {
        let long = 3 * SLICE;
        for (access, written) in [(Access::Read, 3), (Access::Copy, 3), (Access::Write, 1)] {
            let (mut first, mut second, mut laid) = (vec![0; long], vec![0; long], None);
            let mut block = || {
                let mut traffic = Traffic::over(access, None, 7, &mut first, &mut second, &mut laid);
                traffic.lay_out()?;
                Ok::<u32, Trouble>(traffic.calls_before())
            };
            let again = if access == Access::Read { 1 } else { written };
            assert_eq!((block()?, block()?), (written, again), "{access:?}");
        }
        Ok(())
    }

    #[test]
    fn slow_traffic_has_short_rounds() {
        let slow = Pace::every(std::time::Duration::from_micros(100));
        let mut range = vec![0; 64 * 20 * PAGE];
        let mut laid = None;
        let traffic = Traffic::over(Access::Read, Some(slow), 7, &mut range, &mut [], &mut laid);
        assert_eq!((traffic.slice, traffic.slices()), (20 * PAGE, 64), "two milliseconds of bursts");
    }

    #[test]
    fn a_round_that_moves_nothing_is_found() {
        let nothing = |traffic: &mut Traffic| traffic.rounds = 1;
        assert!(matches!(block(Access::Copy, 0, nothing), Err(Trouble::Corrupt(m)) if m.offset < 8));
        let skipped = |traffic: &mut Traffic| traffic.rounds += 1;
        assert!(matches!(block(Access::Read, 3, skipped), Err(Trouble::Invalid(_))));
        assert!(matches!(block(Access::Write, 3, skipped), Err(Trouble::Corrupt(_))));
    }

    #[test]
    fn slices_are_taken_in_turn_and_each_of_those_is_proven() -> Result<(), Trouble> {
        const SLICES: usize = 3;
        let long = SLICES * SLICE + 5 * PAGE + 8;
        for access in [Access::Read, Access::Write, Access::Copy] {
            for rounds in [1, 3, 5] {
                let (mut first, mut second) =
                    (vec![0; long], vec![0; if access == Access::Copy { long } else { 0 }]);
                let mut laid = None;
                let mut traffic = Traffic::over(access, None, 7, &mut first, &mut second, &mut laid);
                assert_eq!(traffic.bytes_a_round() as usize % PAGE, 0);
                traffic.lay_out()?;
                traffic.round()?;
                traffic.arm()?;
                (0..rounds).try_for_each(|_| traffic.round())?;
                let proven = rounds.min(SLICES as u64) * traffic.slice as u64;
                assert_eq!(traffic.verify(), Ok(proven), "{access:?}");
                // The slice that was last, in its last word.
                let last = traffic.place(rounds).end - 1;
                if access == Access::Copy {
                    traffic.second[last] ^= 1
                } else {
                    traffic.first[last] ^= 1
                }
                assert!(traffic.verify().is_err() || access == Access::Read, "{access:?}: byte {last}");
            }
        }

        Ok(())
    }

    #[test]
    fn a_range_that_is_only_read_is_laid_out_once_and_every_later_block_is_proven_against_it()
    -> Result<(), Trouble> {
        let (mut first, mut second, mut laid) = (vec![0; BYTES], vec![0; BYTES], None);
        let mut block = |access, key, spoil: bool| {
            let mut traffic = Traffic::over(access, None, key, &mut first, &mut second, &mut laid);
            traffic.lay_out()?;
            traffic.round()?;
            traffic.arm()?;
            traffic.first[PAGE + 5] ^= u8::from(spoil);
            traffic.round()?;
            let proven = traffic.verify();
            traffic.first[PAGE + 5] ^= u8::from(spoil);
            proven
        };

        block(Access::Read, 1, false)?;
        assert!(matches!(block(Access::Read, 2, true), Err(Trouble::Invalid(_))));
        block(Access::Read, 3, false)?;

        // What was written or copied since is not what was laid out.
        for between in [Access::Write, Access::Copy] {
            block(between, 4, false)?;
            block(Access::Read, 5, false)?;
        }
        Ok(())
    }

    #[test]
    fn what_a_write_of_an_earlier_block_left_proves_nothing() -> Result<(), Trouble> {
        let (mut first, mut laid) = (vec![0; BYTES], None);
        let mut traffic = Traffic::over(Access::Write, None, 1, &mut first, &mut [], &mut laid);
        traffic.lay_out()?;
        traffic.round()?;
        let mut next = Traffic::over(Access::Write, None, 2, &mut first, &mut [], &mut laid);
        next.lay_out()?;
        next.rounds = 1;
        assert!(matches!(next.verify(), Err(Trouble::Corrupt(_))));
        Ok(())
    }

    #[test]
    fn one_wrong_byte_is_found_where_it_is() {
        for access in [Access::Write, Access::Copy] {
            let wrong = block(access, 2, |traffic| {
                let range = if access == Access::Write { &mut *traffic.first } else { &mut *traffic.second };
                range[PAGE + 5] ^= 1;
            });
            assert!(matches!(wrong, Err(Trouble::Corrupt(m)) if m.offset == PAGE as u64 + 5), "{wrong:?}");
        }
        let wrong = block(Access::Read, 0, |traffic| {
            traffic.first[PAGE + 5] ^= 1;
            traffic.round().expect("a round");
        });
        assert!(matches!(wrong, Err(Trouble::Invalid(_))), "{wrong:?}");
    }
}
