//! The double's copier: areas are vectors, the latch is a list, copies take virtual time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use device::{Area, BytePattern, Copier, DeviceError, Direction, HostPair, MAX_ROUNDS, Marks, MemoryKind};

use super::{Fault, Legs, State, failure, locked};
use crate::virtual_time;

/// The most copies that may be queued behind a latch without blocking (the contract of `enqueue`).
const QUEUE_COPIES: u64 = 128;

pub(super) struct MockCopier {
    device: usize,
    state: Arc<State>,
    host: HostPair,
    a: Vec<u8>,
    b: Option<Vec<u8>>,
    queue: Vec<Queued>,
    held: bool,
    in_batch: bool,
    loses: Legs,
    batches: u64,
    released_ns: u64,
    ends_ns: Vec<f64>,
    queued_copies: u64,
    direction: Direction,
}

#[derive(Clone, Copy)]
struct Queued {
    direction: Direction,
    bytes: usize,
    copies: u32,
}

impl MockCopier {
    pub(super) fn new(device: usize, state: Arc<State>, host: HostPair, bidirectional: bool) -> Self {
        let len = host.common_len().unwrap_or_default();
        Self {
            device,
            state,
            host,
            a: vec![0; len],
            b: bidirectional.then(|| vec![0; len]),
            queue: Vec::new(),
            held: false,
            in_batch: false,
            loses: Legs::default(),
            batches: 0,
            released_ns: 0,
            ends_ns: Vec::new(),
            queued_copies: 0,
            direction: Direction::H2d,
        }
    }

    fn copy(&mut self, direction: Direction, bytes: usize, loses: Legs) {
        if direction != Direction::D2h && !loses.to_device {
            if let Some(source) = &self.host.source {
                self.a[..bytes].copy_from_slice(&source.bytes()[..bytes]);
            }
            if direction == Direction::H2d {
                flip(&self.state, self.device, &mut self.a[..bytes]);
            }
        }
        if direction == Direction::H2d || loses.to_host {
            return;
        }
        let from =
            if direction == Direction::Bidirectional { self.b.as_ref().unwrap_or(&self.a) } else { &self.a };
        let Some(to) = &mut self.host.destination else { return };
        let to = &mut to.bytes_mut()[..bytes];
        to.copy_from_slice(&from[..bytes]);
        flip(&self.state, self.device, to);
    }

    fn area(&mut self, area: Area) -> &mut Vec<u8> {
        if area == Area::B && self.b.is_none() {
            self.state.violated("the second area of a copier that has none");
        }
        match (area, &mut self.b) {
            (Area::B, Some(b)) => b,
            _ => &mut self.a,
        }
    }

    /// Untimed access to an area: not inside a batch, and not while any latch holds.
    fn untimed(&self) {
        self.expect(!self.held && !self.in_batch, "untimed access inside a batch");
        self.state.needs_open_latches("untimed access");
    }

    /// What happens when a block is verified.
    fn verifies(&self) -> Result<(), DeviceError> {
        for fault in &self.state.faults[self.device] {
            if let Fault::Verify(misdeed) = fault {
                self.state.misbehave(misdeed)?;
            }
        }
        Ok(())
    }

    fn expect(&self, holds: bool, otherwise: &str) {
        if !holds {
            self.state.violated(otherwise);
        }
    }

    fn open_latch(&mut self) {
        if std::mem::take(&mut self.held) {
            self.state.holding.fetch_sub(1, Ordering::SeqCst);
            self.released_ns = virtual_time::now_ns();
            self.queued_copies = 0;
            for queued in std::mem::take(&mut self.queue) {
                self.start(queued, 0.0);
            }
        }
    }

    /// Runs one queued round, which starts when the one before it ends, but not before `now_ns`.
    fn start(&mut self, queued: Queued, now_ns: f64) {
        self.copy(queued.direction, queued.bytes, self.loses);
        // Both directions at once take the time of one.
        let legs = if queued.direction == Direction::RoundTrip { 2.0 } else { 1.0 };
        let unsteady =
            self.state.has(self.device, |f| matches!(f, Fault::Unsteady(way) if *way == queued.direction));
        let slower = if unsteady && self.batches.is_multiple_of(2) { 2.0 } else { 1.0 };
        let takes = self.state.copy_time.as_nanos() as f64 * legs * f64::from(queued.copies) * slower;
        let begins = self.ends_ns.last().copied().unwrap_or(0.0).max(now_ns);
        self.ends_ns.push(begins + takes.max(1.0));
    }

    fn since_release_ns(&self) -> f64 {
        (virtual_time::now_ns() - self.released_ns) as f64
    }

    /// How many queued rounds have ended by now.
    fn ended(&self) -> usize {
        let now_ns = self.since_release_ns();
        self.ends_ns.partition_point(|end| *end <= now_ns)
    }

    fn wait(&mut self) {
        self.open_latch();
        if let Some(last) = self.ends_ns.last().filter(|_| self.in_batch) {
            virtual_time::wait_until(self.released_ns + *last as u64);
        }
    }
}

/// Flips the bit that a fault says, and keeps what it did.
fn flip(state: &State, device: usize, bytes: &mut [u8]) {
    for fault in &state.faults[device] {
        if let Fault::FlipsBitAt(offset) = fault
            && let Some(byte) = bytes.get_mut(*offset)
        {
            *byte ^= 0x10;
            *locked(&state.flipped) = Some((*offset as u64, *byte ^ 0x10, *byte));
        }
    }
}

impl Copier for MockCopier {
    fn source(&mut self) -> &mut [u8] {
        self.wait();
        self.host.source.as_mut().map_or(&mut [], |range| range.bytes_mut())
    }

    fn destination(&mut self) -> &mut [u8] {
        self.wait();
        self.host.destination.as_mut().map_or(&mut [], |range| range.bytes_mut())
    }

    fn store(&mut self, area: Area, offset: usize, from: &[u8]) -> Result<(), DeviceError> {
        self.untimed();
        self.area(area)[offset..offset + from.len()].copy_from_slice(from);
        Ok(())
    }

    fn fetch(&mut self, area: Area, offset: usize, into: &mut [u8]) -> Result<(), DeviceError> {
        self.untimed();
        self.verifies()?;
        into.copy_from_slice(&self.area(area)[offset..offset + into.len()]);
        Ok(())
    }

    fn pull(&mut self, area: Area, bytes: usize) -> Result<(), DeviceError> {
        self.untimed();
        let from = self.area(area)[..bytes].to_vec();
        self.source()[..bytes].copy_from_slice(&from);
        Ok(())
    }

    fn push(&mut self, area: Area, bytes: usize) -> Result<(), DeviceError> {
        self.untimed();
        let from = self.destination()[..bytes].to_vec();
        self.area(area)[..bytes].copy_from_slice(&from);
        Ok(())
    }

    fn fill(&mut self, area: Area, pattern: BytePattern, bytes: usize) -> Result<(), DeviceError> {
        self.untimed();
        pattern.fill(0, &mut self.area(area)[..bytes]);
        Ok(())
    }

    fn compare(
        &mut self,
        area: Area,
        pattern: BytePattern,
        bytes: usize,
    ) -> Result<Option<u64>, DeviceError> {
        self.untimed();
        self.verifies()?;
        Ok(pattern.compare(0, &self.area(area)[..bytes]).err().map(|difference| difference.offset / 8 * 8))
    }

    fn into_host(mut self: Box<Self>) -> HostPair {
        self.wait();
        std::mem::take(&mut self.host)
    }

    fn round(&mut self, direction: Direction, bytes: usize) -> Result<(), DeviceError> {
        self.expect(!self.held && !self.in_batch, "a blocking round inside a batch");
        self.expect(bytes > 0 && bytes <= self.a.len(), "a round of a size that the copier was not made for");
        self.expect(
            direction != Direction::Bidirectional || self.b.is_some(),
            "both directions without a second area",
        );
        self.state.needs_open_latches("a blocking round");
        let loses = self.state.round(self.device, direction)?;
        self.copy(direction, bytes, loses);
        let legs = if direction == Direction::RoundTrip { 2 } else { 1 };
        virtual_time::wait_until(virtual_time::now_ns() + (self.state.copy_time * legs).as_nanos() as u64);
        Ok(())
    }

    fn hold(&mut self) -> Result<(), DeviceError> {
        self.expect(!self.in_batch, "a batch inside a batch");
        self.wait();
        self.state.holding.fetch_add(1, Ordering::SeqCst);
        for fault in &self.state.faults[self.device] {
            if let Fault::HoldsSlowly(time) = fault {
                std::thread::sleep(*time);
            }
        }
        self.ends_ns.clear();
        (self.held, self.in_batch, self.queued_copies) = (true, true, 0);
        self.batches += 1;
        Ok(())
    }

    fn enqueue(&mut self, direction: Direction, bytes: usize, copies: u32) -> Result<(), DeviceError> {
        if self.state.has(self.device, |fault| matches!(fault, Fault::EnqueueFails)) {
            self.open_latch();
            self.in_batch = false;
            return Err(failure());
        }
        self.expect(self.in_batch, "queueing without a batch");
        let pageable = self.host.ranges().any(|range| range.kind() == MemoryKind::Pageable);
        self.expect(!pageable, "pageable memory was queued");
        self.expect(copies > 0 && bytes > 0 && bytes <= self.a.len(), "a queued round of an impossible size");
        self.expect(self.ends_ns.len() + self.queue.len() < MAX_ROUNDS, "more rounds than a batch may have");
        self.direction = direction;
        let queued = Queued { direction, bytes, copies };
        if self.held {
            self.queued_copies += u64::from(copies) * direction.legs();
            self.expect(
                self.queued_copies <= QUEUE_COPIES,
                "more copies behind a latch than a driver's queue may hold",
            );
            self.queue.push(queued);
        } else {
            self.start(queued, self.since_release_ns());
        }
        Ok(())
    }

    fn release(&mut self) -> Result<(), DeviceError> {
        self.expect(self.held, "a release of a latch that does not hold");
        let done = self.state.batch(self.device);
        self.loses = *done.as_ref().unwrap_or(&Legs::default());
        self.open_latch();
        // A batch that failed is over.
        self.in_batch = done.is_ok();
        done.map(drop)
    }

    fn rounds_ended(&mut self) -> Result<usize, DeviceError> {
        if self.held {
            return Ok(0);
        }
        // Time passes only while somebody waits.
        let ended = self.ended();
        if let Some(next) = self.ends_ns.get(ended) {
            virtual_time::look_until(self.released_ns + next.ceil() as u64);
        }
        Ok(self.ended())
    }

    fn finish(&mut self, marks: &mut Marks) -> Result<(), DeviceError> {
        self.wait();
        (self.in_batch, self.loses) = (false, Legs::default());
        let room = marks.first_ns.capacity();
        marks.first_ns.clear();
        marks.first_ns.extend_from_slice(&self.ends_ns);
        marks.second_ns.clear();
        if self.direction == Direction::Bidirectional {
            marks.second_ns.extend_from_slice(&self.ends_ns);
        }
        self.expect(marks.first_ns.capacity() == room, "the timed region had to make room for its marks");
        Ok(())
    }
}

impl Drop for MockCopier {
    fn drop(&mut self) {
        self.open_latch();
        self.state.needs_open_latches("device memory was dropped");
    }
}
