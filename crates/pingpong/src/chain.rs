//! A chain of lines for a device to follow, and one block of its loads.
//!
//! The chain is a cycle: every line once a turn, so that none is in a cache from the turn before as long as
//! the range is larger than the cache. Lines that follow each other lie within the same 2 MiB: a load then
//! pays for the way to the memory and not for a page walk, as in a program that uses one buffer after the
//! other. What proves the work: the cycle's order is kept, so where the device must be after so many loads is
//! known. Where the chain lies is the caller's (`loads`, `peer_loads`).

use device::Chaser;
use engine::{Failure, Timing, Trouble, Work, line_count, write_cycle};
use stats::random::SplitMix64;

use crate::fault::measuring;

/// The distance of two loads, bytes: the line of a GPU's L2.
pub const LOAD_LINE_BYTES: usize = 128;
/// Loads of one kernel: a launch is then below a thousandth of them.
pub const LOADS_A_KERNEL: u32 = 4096;
/// Bytes of a load.
const WORD: usize = 8;
/// Lines of one window come one after the other, bytes.
const WINDOW: usize = 2 << 20;

/// The order of a chain's lines.
pub(crate) struct Cycle {
    /// The place of each line in the cycle.
    place: Vec<u32>,
}

impl Cycle {
    /// Writes a random cycle over all lines of `memory`, window after window; it begins at offset 0.
    ///
    /// # Errors
    /// It has more than [`engine::MOST_LINES`].
    pub(crate) fn new(memory: &mut [u8], seed: u64) -> Result<Self, Failure> {
        let mut order: Vec<u32> = (0..line_count(memory.len(), LOAD_LINE_BYTES)?).collect();
        let mut random = SplitMix64::new(seed);
        order.chunks_mut(WINDOW / LOAD_LINE_BYTES).for_each(|window| random.shuffle(window));

        // The chase begins at the first line.
        if let Some(first) = order.iter().position(|line| *line == 0) {
            order.swap(0, first);
        }
        Ok(Self { place: write_cycle(memory, LOAD_LINE_BYTES, &order) })
    }

    /// Which load of the cycle comes next at this offset; `None` for an offset where no line is.
    fn number(&self, offset: u64) -> Option<u64> {
        let line = usize::try_from(offset).ok()?;
        let whole = line.is_multiple_of(LOAD_LINE_BYTES);
        whole.then(|| self.place.get(line / LOAD_LINE_BYTES).copied().map(u64::from)).flatten()
    }
}

/// One block of loads.
pub(crate) struct LoadWork<'a> {
    chaser: &'a mut dyn Chaser,
    cycle: &'a Cycle,
    timing: Timing,
    began: u64,
    loads: u64,
}

impl<'a> LoadWork<'a> {
    /// Loads along this chain, timed like that.
    pub(crate) fn new(chaser: &'a mut dyn Chaser, cycle: &'a Cycle, timing: Timing) -> Self {
        Self { chaser, cycle, timing, began: 0, loads: 0 }
    }
}

impl Work for LoadWork<'_> {
    fn timing(&self) -> Timing {
        self.timing
    }

    fn bytes_a_round(&self) -> f64 {
        LOAD_LINE_BYTES as f64
    }

    fn rounds_a_call(&self) -> u32 {
        LOADS_A_KERNEL
    }

    /// Where the chase is, and so where it must be after the block.
    fn lay_out(&mut self) -> Result<(), Failure> {
        let at = self.chaser.at().map_err(measuring)?;
        (self.began, self.loads) = (self.cycle.number(at).unwrap_or(u64::MAX), 0);
        Ok(())
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.loads += u64::from(LOADS_A_KERNEL);
        self.chaser.round(u64::from(LOADS_A_KERNEL)).map_err(measuring)
    }

    fn hold(&mut self) -> Result<(), Failure> {
        self.chaser.hold().map_err(measuring)
    }

    fn enqueue(&mut self, rounds: u32) -> Result<(), Failure> {
        self.loads += u64::from(LOADS_A_KERNEL) * u64::from(rounds);
        self.chaser.enqueue(u64::from(LOADS_A_KERNEL), rounds).map_err(measuring)
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.chaser.release().map_err(measuring)
    }

    fn ended(&mut self) -> Result<usize, Failure> {
        self.chaser.rounds_ended().map_err(measuring)
    }

    fn finish(&mut self, [first, _]: &mut [Vec<f64>; 2]) -> Result<(), Failure> {
        self.chaser.finish(first).map_err(measuring)
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        let at = self.chaser.at().map_err(measuring)?;
        let lines = self.cycle.place.len().max(1) as u64;
        let (got, expected) = (self.cycle.number(at), self.began.wrapping_add(self.loads) % lines);
        if got != Some(expected) {
            let got = got.map_or("nowhere".to_owned(), |load| format!("at load {load}"));
            let why =
                format!("after {} loads the device is {got} of the cycle, not at {expected}", self.loads);
            return Err(Trouble::Invalid(why));
        }
        Ok(self.loads * WORD as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_has_every_line_once_window_after_window_and_begins_at_the_first() {
        let lines = 3 * WINDOW / LOAD_LINE_BYTES;
        let mut memory = vec![0; lines * LOAD_LINE_BYTES];
        let cycle = Cycle::new(&mut memory, 7).expect("few lines");
        let (mut at, mut seen) = (0_u64, vec![false; lines]);

        for number in 0..lines as u64 {
            assert_eq!(cycle.number(at), Some(number));
            let line = at as usize / LOAD_LINE_BYTES;
            assert!(!std::mem::replace(&mut seen[line], true), "line {line} twice");
            assert_eq!(at as usize / WINDOW, number as usize * LOAD_LINE_BYTES / WINDOW, "within its window");
            let word: [u8; 8] = memory[at as usize..][..8].try_into().expect("8 bytes");
            at = u64::from_le_bytes(word);
        }

        assert_eq!(at, 0, "and ends where it began");
        assert_eq!(cycle.number(64), None, "between two lines is none");
        let order = |seed| Cycle::new(&mut memory.clone(), seed).expect("few lines").place;
        assert_ne!(order(1), order(2));
    }
}
