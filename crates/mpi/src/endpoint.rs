//! One rank's end of its messages: the calls of MPI for each path and pattern, timed, and what arrived held
//! against what was sent.
//!
//! Over and above MPI there is nothing in a round but the path's own copies: two ranks that do the same
//! rounds need no other word.

use device::{BytePattern as Bytes, WrongByte};
use engine::clock;
use ranks::Exchange;

use crate::calls::{Calls, Halves};
use crate::case::{MessageCase, MessagePath, MessagePattern};
use crate::fault::ExchangeFault;
use crate::memory::MessageMemory;
use crate::operation::WrongBytes;

/// Bytes of a chunk of [`MessagePath::Pipelined`].
pub(crate) const CHUNK: usize = 1 << 20;

/// How many rounds go before so many that are timed.
pub(crate) fn warm_rounds(rounds: u32) -> u32 {
    (rounds / 4).clamp(1, 4)
}

/// One rank's end of its messages with another.
pub struct MessageEnd<'m> {
    pub(crate) calls: Calls<'m>,
    pub(crate) memory: &'m mut MessageMemory,
    /// Whether this is the rank with the lower number of the two: it sends first, and its clock counts.
    pub(crate) is_lower: bool,
}

impl<'m> MessageEnd<'m> {
    /// The end at `rank` of what goes to and from `with`.
    pub fn new(mpi: &'m dyn Exchange, memory: &'m mut MessageMemory, rank: usize, with: usize) -> Self {
        Self { calls: Calls::new(mpi, with), memory, is_lower: rank < with }
    }

    /// Does so many rounds of a case: nanoseconds, by this rank's clock.
    ///
    /// # Errors
    /// What failed.
    pub fn rounds(&mut self, case: MessageCase, rounds: u32) -> Result<u64, ExchangeFault> {
        match case.path {
            MessagePath::Peer | MessagePath::ToHost | MessagePath::ToDevice => {
                return self.copies(case, rounds);
            }
            _ => {}
        }

        let halves = Halves::of(self.memory, case.path)?;
        self.meet()?;

        // Some that do not count: what another case left in the caches is no part of this one, and large
        // messages have few rounds.
        for _ in 0..warm_rounds(rounds) {
            self.round(case, halves)?;
        }

        let start = clock::now_ns();
        for _ in 0..rounds {
            self.round(case, halves)?;
        }
        Ok(clock::now_ns() - start)
    }

    /// One round of messages.
    fn round(&mut self, case: MessageCase, halves: Halves) -> Result<(), ExchangeFault> {
        match case.pattern {
            MessagePattern::PingPong if self.is_lower => {
                self.send(case.path, halves, case.bytes)?;
                self.receive(case.path, halves, case.bytes)
            }
            MessagePattern::PingPong => {
                self.receive(case.path, halves, case.bytes)?;
                self.send(case.path, halves, case.bytes)
            }
            MessagePattern::OneWay | MessagePattern::BothWays => self.window(case, halves),
            MessagePattern::Newer => Err(ExchangeFault::unknown("a pattern of messages")),
        }
    }

    /// The copies that bound a path: no message, and one rank alone.
    fn copies(&mut self, case: MessageCase, rounds: u32) -> Result<u64, ExchangeFault> {
        let mut start = clock::now_ns();
        for round in 0..=rounds {
            // As of messages, the first one does not count.
            if round == 1 {
                start = clock::now_ns();
            }
            match case.path {
                MessagePath::Peer => {
                    self.memory.peer.as_mut().ok_or(ExchangeFault::NoDevice)?.round(case.bytes)?
                }
                MessagePath::ToHost => {
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

    fn send(&mut self, path: MessagePath, halves: Halves, bytes: usize) -> Result<(), ExchangeFault> {
        match path {
            MessagePath::Staged => {
                let device = self.memory.device()?;
                device.queue_to_host(0..bytes)?;
                device.settle()?;
            }
            MessagePath::Pipelined => {
                let device = self.memory.device()?;
                let chunks = || (0..bytes).step_by(CHUNK).map(|start| start..(start + CHUNK).min(bytes));
                chunks().try_for_each(|chunk| device.queue_to_host(chunk))?;
                for (at, chunk) in chunks().enumerate() {
                    self.memory.device()?.wait_for(at + 1)?;
                    self.calls.start_send_at(halves, chunk.start, chunk.len())?;
                }
                self.calls.wait_all()?;
                return Ok(self.memory.device()?.settle()?);
            }
            _ => {}
        }

        self.calls.send_from(halves, bytes)
    }

    fn receive(&mut self, path: MessagePath, halves: Halves, bytes: usize) -> Result<(), ExchangeFault> {
        let half = self.memory.half();
        match path {
            MessagePath::Pipelined => {
                for start in (0..bytes).step_by(CHUNK) {
                    let len = CHUNK.min(bytes - start);
                    self.calls.receive_at(halves, start, len)?;
                    let device = self.memory.device()?;
                    device.queue_to_device(half + start..half + start + len)?;
                }
                Ok(self.memory.device()?.settle()?)
            }
            _ => {
                self.calls.receive_at(halves, 0, bytes)?;
                if path == MessagePath::Staged {
                    let device = self.memory.device()?;
                    device.queue_to_device(half..half + bytes)?;
                    device.settle()?;
                }
                Ok(())
            }
        }
    }

    /// Messages that are under way together, and the answer that they are there.
    fn window(&mut self, case: MessageCase, halves: Halves) -> Result<(), ExchangeFault> {
        let both = case.pattern == MessagePattern::BothWays;
        for _ in 0..case.messages_a_round() {
            if both || !self.is_lower {
                // All of a window go to one place, as in OSU's benchmarks: only the last counts.
                self.calls.start_receive(halves, case.bytes)?;
            }
        }
        for _ in 0..case.messages_a_round() {
            if both || self.is_lower {
                self.calls.start_send_at(halves, 0, case.bytes)?;
            }
        }
        self.calls.wait_all()?;
        self.calls.word(!self.is_lower)
    }

    /// So many messages of the device's memory from the lower one to the other, and a word that they are
    /// there.
    pub(crate) fn stream(&mut self, bytes: usize, messages: u32) -> Result<(), ExchangeFault> {
        let halves = Halves::of(self.memory, MessagePath::GpuAware)?;
        for _ in 0..messages {
            if self.is_lower {
                self.send(MessagePath::GpuAware, halves, bytes)?;
            } else {
                self.receive(MessagePath::GpuAware, halves, bytes)?;
            }
        }
        self.calls.word(!self.is_lower)
    }

    /// Both are here.
    pub(crate) fn meet(&mut self) -> Result<(), ExchangeFault> {
        // Nothing is under way; where a call failed while something was, this says so, and no word meets what
        // is left of it.
        self.calls.wait_all()?;
        self.calls.word(self.is_lower)?;
        self.calls.word(!self.is_lower)?;
        self.memory.shared_thread();
        Ok(())
    }

    /// Sends known bytes there and back by a path and compares all of them: how many, and what was wrong.
    ///
    /// # Errors
    /// What failed.
    pub fn check(
        &mut self,
        path: MessagePath,
        bytes: usize,
        key: u64,
    ) -> Result<(u64, Option<WrongBytes>), ExchangeFault> {
        let halves = Halves::of(self.memory, path)?;
        let [mine, theirs] = self.keys(key);
        self.prepare(path, bytes, Bytes::new(mine), Bytes::new(theirs).inverted())?;
        self.meet()?;
        if self.is_lower {
            self.send(path, halves, bytes)?;
            self.receive(path, halves, bytes)?;
        } else {
            self.receive(path, halves, bytes)?;
            self.send(path, halves, bytes)?;
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

    /// Puts known bytes where this rank sends from, and other ones where it receives: on the device too,
    /// where the path begins and ends there.
    pub(crate) fn prepare(
        &mut self,
        path: MessagePath,
        bytes: usize,
        sent: Bytes,
        poison: Bytes,
    ) -> Result<(), ExchangeFault> {
        let half = self.memory.half();
        self.memory.shared_thread();
        if path == MessagePath::Host {
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
        if path != MessagePath::GpuAware {
            // What passes through the host must come from the device, and not from what was there before.
            poison.fill(0, &mut device.host()?[..bytes]);
        }
        Ok(())
    }

    /// What arrived, held against what `first_wrong` expects: nothing wrong, or what there is instead.
    pub(crate) fn compare(
        &mut self,
        path: MessagePath,
        bytes: usize,
        first_wrong: impl Fn(&[u8]) -> Option<WrongByte>,
    ) -> Result<Option<WrongBytes>, ExchangeFault> {
        let half = self.memory.half();
        self.memory.shared_thread();
        let arrived = if path == MessagePath::Host {
            &self.memory.host()[half..half + bytes]
        } else {
            let device = self.memory.device()?;
            device.queue_to_host(half..half + bytes)?;
            &device.host()?[half..half + bytes]
        };
        Ok(first_wrong(arrived).map(|difference| WrongBytes::of(arrived, difference)))
    }
}

#[cfg(test)]
mod tests;
