//! One block of dependent loads: each cache line holds the place of the next, in one random cycle over the
//! whole range, so that no load can begin before the one before it has ended, and none is of a line that was
//! loaded lately.
//!
//! A range several times as large as the last-level cache leaves no line of the last turn in it; huge pages,
//! where there are some, keep the time of page walks out. What proves the work: the cycle's order is kept, so
//! where the chase must be after so many loads is known.

use engine::{Failure, PlacedMemory, Timing, Trouble, Work, line_count, write_cycle};
use stats::random::SplitMix64;

/// The distance of two loads, bytes: the cache line of x86-64 and most arm64 CPUs.
pub const LINE_BYTES: usize = 64;
/// Loads between two readings of the clock: a reading is then below a thousandth of them.
pub const LOADS_A_CALL: u32 = 1024;

const WORD: usize = 8;

/// A range as a cycle of lines.
pub(crate) struct Chain<M = PlacedMemory> {
    memory: M,
    /// The place of each line in the cycle.
    place: Vec<u32>,
    /// The line that is loaded next.
    at: usize,
}

/// What a chain lies in.
pub(crate) trait Bytes {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
}

impl Bytes for PlacedMemory {
    fn bytes(&self) -> &[u8] {
        self.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes_mut()
    }
}

impl<M: Bytes> Chain<M> {
    /// Writes a random cycle over all lines of `memory`.
    ///
    /// # Errors
    /// It has more than [`engine::MOST_LINES`].
    pub(crate) fn new(mut memory: M, seed: u64) -> Result<Self, Failure> {
        let mut order: Vec<u32> = (0..line_count(memory.bytes().len(), LINE_BYTES)?).collect();
        SplitMix64::new(seed).shuffle(&mut order);
        let place = write_cycle(memory.bytes_mut(), LINE_BYTES, &order);
        Ok(Self { memory, place, at: order.first().map_or(0, |line| *line as usize * LINE_BYTES) })
    }

    /// The range.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// Which load of the cycle comes next.
    fn number(&self) -> u64 {
        self.place.get(self.at / LINE_BYTES).copied().map_or(u64::MAX, u64::from)
    }

    fn load(&mut self, loads: u32) {
        let (bytes, mut at) = (self.memory.bytes(), self.at);
        for _ in 0..loads {
            // A line that was overwritten leads nowhere; that is found when the block is verified.
            let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<WORD>) else { break };
            at = usize::from_ne_bytes(*word);
        }
        self.at = at;
    }
}

/// The work of one block.
pub(crate) struct Chase<'a, M = PlacedMemory> {
    chain: &'a mut Chain<M>,
    began: u64,
    loads: u64,
}

impl<'a, M: Bytes> Chase<'a, M> {
    pub(crate) fn new(chain: &'a mut Chain<M>) -> Self {
        Self { began: chain.number(), chain, loads: 0 }
    }
}

impl<M: Bytes> Work for Chase<'_, M> {
    fn timing(&self) -> Timing {
        Timing::Host
    }

    fn bytes_a_round(&self) -> f64 {
        LINE_BYTES as f64
    }

    fn rounds_a_call(&self) -> u32 {
        LOADS_A_CALL
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.chain.load(LOADS_A_CALL);
        self.loads += u64::from(LOADS_A_CALL);
        Ok(())
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        let lines = self.chain.place.len().max(1) as u64;
        let expected = self.began.wrapping_add(self.loads) % lines;
        let got = self.chain.number();
        if got != expected {
            let why =
                format!("after {} loads the chase is at load {got} of its cycle, not {expected}", self.loads);
            return Err(Trouble::Invalid(why));
        }
        Ok(self.loads * WORD as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Bytes for Vec<u8> {
        fn bytes(&self) -> &[u8] {
            self
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            self
        }
    }

    const LINES: usize = 3 * LOADS_A_CALL as usize + 17;

    fn chain(seed: u64) -> Chain<Vec<u8>> {
        Chain::new(vec![0; LINES * LINE_BYTES], seed).expect("few lines")
    }

    #[test]
    fn one_cycle_goes_through_every_line_once() {
        let mut chain = chain(1);
        let mut seen = vec![false; LINES];
        for _ in 0..LINES {
            let line = chain.at / LINE_BYTES;
            assert!(!seen[line], "line {line} twice");
            seen[line] = true;
            chain.load(1);
        }
        assert_eq!(chain.number(), 0, "and ends where it began");
        let neighbours = (1..LINES).filter(|line| chain.place[*line] == chain.place[line - 1] + 1).count();
        assert!(neighbours < LINES / 100, "{neighbours} steps to the next line are no random order");
        assert_ne!(chain.place, self::chain(2).place);
    }

    #[test]
    fn loads_that_were_done_are_proven_and_those_that_were_not_are_found() {
        let mut chain = chain(1);
        for _ in 0..4 {
            let mut chase = Chase::new(&mut chain);
            (0..3).for_each(|_| chase.round().expect("a round"));
            assert_eq!(
                chase.verify(),
                Ok(3 * u64::from(LOADS_A_CALL) * 8),
                "also where it begins a new turn"
            );
        }
        let mut chase = Chase::new(&mut chain);
        chase.round().expect("a round");
        chase.loads += 1;
        assert!(matches!(chase.verify(), Err(Trouble::Invalid(_))), "one load less than was counted");
    }

    #[test]
    fn a_line_that_was_overwritten_is_found() {
        let mut chain = chain(1);
        chain.memory.fill(0xff);
        let mut chase = Chase::new(&mut chain);
        chase.round().expect("a round");
        assert!(chase.verify().is_err());
    }
}
