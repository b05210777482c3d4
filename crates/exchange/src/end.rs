//! One rank's end of its messages: the calls of MPI for each path and pattern, timed, and what arrived held against what was sent.
//!
//! Over and above MPI there is nothing in a round but the path's own copies: two ranks that do the same rounds need no other word.

use device::{Difference, Pattern as Bytes};
use engine::clock;
use ranks::Exchange;

use crate::case::{Case, Path, Pattern};
use crate::fault::ExchangeFault;
use crate::memory::Memory;
use crate::operation::Wrong;

/// Bytes of a chunk of [`Path::Pipelined`].
pub(crate) const CHUNK: usize = 1 << 20;
/// Bytes of the word that begins and ends what is timed.
const WORD: usize = 4;

/// One rank's end of its messages with another.
pub struct End<'m> {
    pub(crate) mpi: &'m dyn Exchange,
    pub(crate) memory: &'m mut Memory,
    pub(crate) with: usize,
    /// Whether this is the rank with the lower number of the two: it sends first, and its clock counts.
    pub(crate) is_lower: bool,
    word: Box<[u8; 2 * WORD]>,
}

impl<'m> End<'m> {
    /// The end at `rank` of what goes to and from `with`.
    pub fn new(mpi: &'m dyn Exchange, memory: &'m mut Memory, rank: usize, with: usize) -> Self {
        Self { mpi, memory, with, is_lower: rank < with, word: Box::default() }
    }

    /// Does so many rounds of a case: nanoseconds, by this rank's clock.
    ///
    /// # Errors
    /// What failed.
    pub fn rounds(&mut self, case: Case, rounds: u32) -> Result<u64, ExchangeFault> {
        match case.path {
            Path::Peer | Path::ToHost | Path::ToDevice => return self.copies(case, rounds),
            _ => {}
        }
        let addresses = self.addresses(case.path)?;
        self.meet()?;
        // Some that do not count: what another case left in the caches is no part of this one, and large messages have few rounds.
        for _ in 0..(rounds / 4).clamp(1, 4) {
            self.round(case, addresses)?;
        }
        let start = clock::now_ns();
        for _ in 0..rounds {
            self.round(case, addresses)?;
        }
        Ok(clock::now_ns() - start)
    }

    /// One round of messages.
    fn round(&mut self, case: Case, (out, into): (usize, usize)) -> Result<(), ExchangeFault> {
        match case.pattern {
            Pattern::PingPong if self.is_lower => {
                self.send(case.path, out, case.bytes)?;
                self.receive(case.path, into, case.bytes)
            }
            Pattern::PingPong => {
                self.receive(case.path, into, case.bytes)?;
                self.send(case.path, out, case.bytes)
            }
            Pattern::OneWay | Pattern::BothWays => self.window(case, out, into),
        }
    }

    /// The copies that bound a path: no message, and one rank alone.
    fn copies(&mut self, case: Case, rounds: u32) -> Result<u64, ExchangeFault> {
        let mut start = clock::now_ns();
        for round in 0..=rounds {
            // As of messages, the first one does not count.
            if round == 1 {
                start = clock::now_ns();
            }
            match case.path {
                Path::Peer => self.memory.peer.as_mut().ok_or(ExchangeFault::NoDevice)?.round(case.bytes)?,
                Path::ToHost => {
                    let device = self.memory.device()?;
                    device.queue_to_host(0..case.bytes)?;
                    device.settle()?;
                }
                _ => {
                    let device = self.memory.device()?;
                    device.queue_to_device(0..case.bytes)?;
                    device.settle()?;
                }
            }
        }
        Ok(clock::now_ns() - start)
    }

    /// Where what is sent and what is received begin, as MPI takes it.
    fn addresses(&mut self, path: Path) -> Result<(usize, usize), ExchangeFault> {
        let half = self.memory.half();
        let start = match path {
            Path::Host => self.memory.host_address(),
            Path::GpuAware => self.memory.device()?.address(),
            _ => self.memory.device()?.host_address(),
        };
        Ok((start, start + half))
    }

    fn send(&mut self, path: Path, out: usize, bytes: usize) -> Result<(), ExchangeFault> {
        match path {
            Path::Staged => {
                let device = self.memory.device()?;
                device.queue_to_host(0..bytes)?;
                device.settle()?;
            }
            Path::Pipelined => {
                let device = self.memory.device()?;
                let chunks = || (0..bytes).step_by(CHUNK).map(|start| start..(start + CHUNK).min(bytes));
                chunks().try_for_each(|chunk| device.queue_to_host(chunk))?;
                for (at, chunk) in chunks().enumerate() {
                    device.wait_for(at + 1)?;
                    // SAFETY: the chunk lies in the host memory, whose copy has ended; nobody writes it until it was sent.
                    unsafe { self.mpi.start_send(self.with, out + chunk.start, chunk.len()) }?;
                }
                self.mpi.wait_all()?;
                return Ok(device.settle()?);
            }
            _ => {}
        }
        // SAFETY: both memories have so many bytes at their beginning, and nobody writes them meanwhile.
        Ok(unsafe { self.mpi.send(self.with, out, bytes) }?)
    }

    fn receive(&mut self, path: Path, into: usize, bytes: usize) -> Result<(), ExchangeFault> {
        let half = self.memory.half();
        match path {
            Path::Pipelined => {
                let device = self.memory.device()?;
                for start in (0..bytes).step_by(CHUNK) {
                    let len = CHUNK.min(bytes - start);
                    // SAFETY: the chunk lies in the second half of the host memory, and nobody looks at it meanwhile.
                    unsafe { self.mpi.receive(self.with, into + start, len) }?;
                    device.queue_to_device(half + start..half + start + len)?;
                }
                Ok(device.settle()?)
            }
            _ => {
                // SAFETY: both memories have so many bytes in their second half, and nobody looks at them meanwhile.
                unsafe { self.mpi.receive(self.with, into, bytes) }?;
                if path == Path::Staged {
                    let device = self.memory.device()?;
                    device.queue_to_device(half..half + bytes)?;
                    device.settle()?;
                }
                Ok(())
            }
        }
    }

    /// Messages that are under way together, and the answer that they are there.
    fn window(&mut self, case: Case, out: usize, into: usize) -> Result<(), ExchangeFault> {
        let both = case.pattern == Pattern::BothWays;
        for _ in 0..case.messages_a_round() {
            if both || !self.is_lower {
                // SAFETY: as in `receive`, until `wait_all`. All of a window go to one place, as in OSU's benchmarks: only the last counts.
                unsafe { self.mpi.start_receive(self.with, into, case.bytes) }?;
            }
        }
        for _ in 0..case.messages_a_round() {
            if both || self.is_lower {
                // SAFETY: as in `send`, until `wait_all`.
                unsafe { self.mpi.start_send(self.with, out, case.bytes) }?;
            }
        }
        self.mpi.wait_all()?;
        self.word(!self.is_lower)
    }

    /// So many messages of the device's memory from the lower one to the other, and a word that they are there.
    pub(crate) fn stream(&mut self, bytes: usize, messages: u32) -> Result<(), ExchangeFault> {
        let (out, into) = self.addresses(Path::GpuAware)?;
        for _ in 0..messages {
            if self.is_lower {
                self.send(Path::GpuAware, out, bytes)?;
            } else {
                self.receive(Path::GpuAware, into, bytes)?;
            }
        }
        self.word(!self.is_lower)
    }

    /// Both are here.
    pub(crate) fn meet(&mut self) -> Result<(), ExchangeFault> {
        // Nothing is under way; where a call failed while something was, this says so, and no word meets what is left of it.
        self.mpi.wait_all()?;
        self.word(self.is_lower)?;
        self.word(!self.is_lower)?;
        self.memory.shared_thread();
        Ok(())
    }

    /// A word of host memory one way.
    fn word(&mut self, sends: bool) -> Result<(), ExchangeFault> {
        let address = self.word.as_mut_ptr().expose_provenance();
        // SAFETY: the word lives as long as this end; its halves are apart.
        unsafe {
            if sends {
                self.mpi.send(self.with, address, WORD)?;
            } else {
                self.mpi.receive(self.with, address + WORD, WORD)?;
            }
        }
        Ok(())
    }

    /// Sends known bytes there and back by a path and compares all of them: how many, and what was wrong.
    ///
    /// # Errors
    /// What failed.
    pub fn check(&mut self, path: Path, bytes: usize, key: u64) -> Result<(u64, Option<Wrong>), ExchangeFault> {
        let (out, into) = self.addresses(path)?;
        let [mine, theirs] = self.keys(key);
        self.prepare(path, bytes, Bytes::new(mine), Bytes::new(theirs).inverted())?;
        self.meet()?;
        if self.is_lower {
            self.send(path, out, bytes)?;
            self.receive(path, into, bytes)?;
        } else {
            self.receive(path, into, bytes)?;
            self.send(path, out, bytes)?;
        }
        let expected = Bytes::new(theirs);
        let wrong = self.compare(path, bytes, |bytes| expected.compare(0, bytes).err())?;
        Ok((bytes as u64, wrong))
    }

    /// The keys of what this rank sends and of what the other one does.
    pub(crate) fn keys(&self, key: u64) -> [u64; 2] {
        let [lower, higher] = [key.wrapping_mul(2), key.wrapping_mul(2) + 1];
        if self.is_lower { [lower, higher] } else { [higher, lower] }
    }

    /// Puts known bytes where this rank sends from, and other ones where it receives: on the device too, where the path begins and ends there.
    pub(crate) fn prepare(
        &mut self,
        path: Path,
        bytes: usize,
        sent: Bytes,
        poison: Bytes,
    ) -> Result<(), ExchangeFault> {
        let half = self.memory.half();
        self.memory.shared_thread();
        if path == Path::Host {
            sent.fill(0, &mut self.memory.host()[..bytes]);
            poison.fill(0, &mut self.memory.host()[half..half + bytes]);
            return Ok(());
        }
        let device = self.memory.device()?;
        sent.fill(0, &mut device.host()?[..bytes]);
        poison.fill(0, &mut device.host()?[half..half + bytes]);
        device.queue_to_device(0..bytes)?;
        device.queue_to_device(half..half + bytes)?;
        device.settle()?;
        if path != Path::GpuAware {
            // What passes through the host must come from the device, and not from what was there before.
            poison.fill(0, &mut device.host()?[..bytes]);
        }
        Ok(())
    }

    /// What arrived, held against what `first_wrong` expects: nothing wrong, or what there is instead.
    pub(crate) fn compare(
        &mut self,
        path: Path,
        bytes: usize,
        first_wrong: impl Fn(&[u8]) -> Option<Difference>,
    ) -> Result<Option<Wrong>, ExchangeFault> {
        let half = self.memory.half();
        self.memory.shared_thread();
        let arrived = if path == Path::Host {
            &self.memory.host()[half..half + bytes]
        } else {
            let device = self.memory.device()?;
            device.queue_to_host(half..half + bytes)?;
            &device.host()?[half..half + bytes]
        };
        Ok(first_wrong(arrived).map(|difference| Wrong::of(arrived, difference)))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread;
    use std::time::Duration;

    use engine::{Bound, Seen};
    use ranks::WorldError;

    use super::*;
    use crate::case::Case;

    /// An MPI whose first messages are slow ones, as after another case.
    struct SlowAtFirst {
        sent: Cell<u32>,
        slow: u32,
    }

    const SLOW: Duration = Duration::from_millis(50);

    impl Exchange for SlowAtFirst {
        unsafe fn send(&self, _: usize, _: usize, bytes: usize) -> Result<(), WorldError> {
            if bytes == WORD {
                return Ok(());
            }
            self.sent.set(self.sent.get() + 1);
            if self.sent.get() <= self.slow {
                thread::sleep(SLOW);
            }
            Ok(())
        }

        unsafe fn receive(&self, _: usize, _: usize, _: usize) -> Result<(), WorldError> {
            Ok(())
        }

        unsafe fn start_send(&self, _: usize, _: usize, _: usize) -> Result<(), WorldError> {
            Ok(())
        }

        unsafe fn start_receive(&self, _: usize, _: usize, _: usize) -> Result<(), WorldError> {
            Ok(())
        }

        fn wait_all(&self) -> Result<(), WorldError> {
            Ok(())
        }

        unsafe fn operate(
            &self,
            _: ranks::Operation,
            _: usize,
            _: usize,
            _: usize,
            _: usize,
        ) -> Result<(), WorldError> {
            Ok(())
        }

        fn said(&self) -> Vec<String> {
            Vec::new()
        }
    }

    #[test]
    fn the_first_rounds_of_a_block_are_sent_and_not_timed() -> Result<(), ExchangeFault> {
        let pu = Seen::thread()?.pu;
        let bound = Bound::to(pu)?;
        let mut memory = Memory::new(&bound, None, [pu, 0], true, 4096)?;
        let case = Case { path: Path::Host, pattern: Pattern::PingPong, bytes: 4096 };
        for (rounds, uncounted) in [(1, 1), (8, 2), (1000, 4)] {
            let mpi = SlowAtFirst { sent: Cell::new(0), slow: uncounted };
            let took = End::new(&mpi, &mut memory, 0, 1).rounds(case, rounds)?;
            assert_eq!(mpi.sent.get(), rounds + uncounted);
            assert!(Duration::from_nanos(took) < SLOW, "{rounds} rounds took {took} ns");
        }
        Ok(())
    }
}
