//! The mock's copier.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Fault, Pinned, Shared, unsupported};
use crate::{
    Area, BytePattern, Copier, DeviceError, Direction, HeapMemory, HostMemory, HostPair, Marks, MemoryKind,
};

pub struct MockCopier {
    shared: Arc<Shared>,
    has_latch: bool,
    host: HostPair,
    a: Vec<u8>,
    /// What fault `KeepsStoresToItself` fetches instead of A.
    stored: Vec<u8>,
    b: Option<Vec<u8>>,
    batch: bool,
    held: bool,
    queue: Vec<(Direction, usize)>,
    start: Instant,
    first_ns: Vec<f64>,
    second_ns: Vec<f64>,
}

impl MockCopier {
    pub fn new(shared: &Arc<Shared>, host: HostPair, len: usize, bidirectional: bool) -> Self {
        Self {
            shared: Arc::clone(shared),
            has_latch: !shared.is(Fault::HasNoLatch),
            a: vec![0; len],
            stored: Vec::new(),
            b: bidirectional.then(|| vec![0; len]),
            host,
            batch: false,
            held: false,
            queue: Vec::new(),
            start: Instant::now(),
            first_ns: Vec::new(),
            second_ns: Vec::new(),
        }
    }

    fn is(&self, fault: Fault) -> bool {
        self.shared.is(fault)
    }

    fn refuse(&self, direction: Direction, bytes: usize) -> Result<(), DeviceError> {
        let too_many = bytes > self.a.len() && !self.is(Fault::TakesAnySize);
        let no_area = direction == Direction::Bidirectional && self.b.is_none();
        let no_source = direction != Direction::D2h && self.host.source.is_none();
        let no_destination = direction != Direction::H2d && self.host.destination.is_none();
        let no_range = (no_source || no_destination) && !self.is(Fault::MakesUpARange);
        if bytes == 0 || too_many || no_area || no_range {
            return Err(unsupported("this request"));
        }
        Ok(())
    }

    fn area(&mut self, area: Area) -> Result<&mut Vec<u8>, DeviceError> {
        let anything = self.is(Fault::ReachesBeyond) || self.is(Fault::PatternsOfAnySize);
        match (area, &mut self.b) {
            (Area::A, _) => Ok(&mut self.a),
            (Area::B, Some(b)) => Ok(b),
            (Area::B, None) if anything => Ok(&mut self.a),
            (Area::B, None) => Err(unsupported("an area that is not there")),
        }
    }

    /// The part of an area, as far as the fault lets it be.
    fn part(&mut self, area: Area, offset: usize, bytes: usize) -> Result<&mut [u8], DeviceError> {
        let beyond = self.is(Fault::ReachesBeyond);
        let area = self.area(area)?;
        let end = offset.checked_add(bytes).filter(|end| *end <= area.len());
        match end {
            Some(end) => Ok(&mut area[offset..end]),
            None if beyond => Ok(&mut []),
            None => Err(unsupported("a part that is not there")),
        }
    }

    /// The first bytes of an area, for a pattern.
    fn patterned(&mut self, area: Area, bytes: usize) -> Result<&mut [u8], DeviceError> {
        if self.is(Fault::HasNoPatterns) {
            return Err(unsupported("patterns"));
        }
        let any_size = self.is(Fault::PatternsOfAnySize);
        let area = self.area(area)?;
        match bytes {
            _ if any_size => {
                let len = area.len();
                Ok(&mut area[..bytes.min(len)])
            }
            0 => Err(unsupported("a pattern of no bytes")),
            _ => area.get_mut(..bytes).ok_or_else(|| unsupported("a pattern of so many bytes")),
        }
    }

    fn copy(&mut self, direction: Direction, bytes: usize) {
        let bytes = match self.shared.fault {
            Some(Fault::LosesLastByte) => bytes - 1,
            Some(Fault::CopiesOneTooMany) => bytes + 1,
            _ => bytes,
        };
        let bytes = bytes.min(self.a.len());
        let into_device = direction != Direction::D2h
            && !(direction == Direction::RoundTrip && self.is(Fault::RoundTripReadsOnly));
        if let Some(source) = self.host.source.as_ref().filter(|_| into_device) {
            self.a[..bytes].copy_from_slice(&source.bytes()[..bytes]);
        }
        if self.is(Fault::SharesOneArea) {
            let mut area = self.shared.area.lock().unwrap_or_else(PoisonError::into_inner);
            area.clone_from(&self.a);
            drop(area);
            thread::sleep(Duration::from_millis(1));
            self.a.clone_from(&self.shared.area.lock().unwrap_or_else(PoisonError::into_inner));
        }
        if direction == Direction::H2d {
            return;
        }
        let a_is_read = direction != Direction::Bidirectional || self.is(Fault::BidirectionalReadsA);
        let from = self.b.as_ref().filter(|_| !a_is_read).unwrap_or(&self.a);
        if let Some(destination) = &mut self.host.destination {
            destination.bytes_mut()[..bytes].copy_from_slice(&from[..bytes]);
        }
    }

    fn run_queue(&mut self) {
        for (direction, bytes) in std::mem::take(&mut self.queue) {
            if !self.is(Fault::QueueForgetsCopies) {
                self.copy(direction, bytes);
            }
            let mut now = self.start.elapsed().as_nanos() as f64 + 1.0;
            match self.shared.fault {
                Some(Fault::MarksInMicroseconds) => now /= 1e3,
                Some(Fault::MarksFall) => now = 1e9 - now,
                _ => {}
            }
            self.first_ns.push(now);
            if direction == Direction::Bidirectional {
                self.second_ns.push(now);
            }
        }
    }

    fn open_latch(&mut self) {
        if std::mem::take(&mut self.held) {
            self.start = Instant::now();
            self.run_queue();
        }
    }
}

impl Copier for MockCopier {
    fn source(&mut self) -> &mut [u8] {
        self.open_latch();
        self.host.source.as_mut().map_or(&mut [], |range| range.bytes_mut())
    }

    fn destination(&mut self) -> &mut [u8] {
        if !self.is(Fault::ReadsWithoutWaiting) {
            self.open_latch();
        }
        self.host.destination.as_mut().map_or(&mut [], |range| range.bytes_mut())
    }

    fn store(&mut self, area: Area, offset: usize, from: &[u8]) -> Result<(), DeviceError> {
        self.open_latch();
        let at = if self.is(Fault::StoresAtTheStart) { 0 } else { offset };
        let beyond = self.is(Fault::ReachesBeyond);
        if self.is(Fault::KeepsStoresToItself) {
            self.stored.clone_from(&self.a);
            self.stored[at..][..from.len()].copy_from_slice(from);
            return Ok(());
        }
        if self.is(Fault::StoresInBothAreas) && self.b.is_some() {
            self.part(Area::B, at, from.len())?.copy_from_slice(from);
            self.part(Area::A, at, from.len())?.copy_from_slice(from);
        }
        let part = self.part(area, at, from.len())?;
        let len = if beyond { part.len() } else { from.len() };
        part.copy_from_slice(&from[..len]);
        Ok(())
    }

    fn fetch(&mut self, area: Area, offset: usize, into: &mut [u8]) -> Result<(), DeviceError> {
        self.open_latch();
        let at = if self.is(Fault::FetchesFromTheStart) { 0 } else { offset };
        if self.is(Fault::KeepsStoresToItself) && self.stored.len() == self.a.len() {
            into.copy_from_slice(&self.stored[at..][..into.len()]);
            return Ok(());
        }
        let part = self.part(area, at, into.len())?;
        into[..part.len()].copy_from_slice(part);
        Ok(())
    }

    fn pull(&mut self, area: Area, bytes: usize) -> Result<(), DeviceError> {
        let mut pulled = vec![0; bytes];
        self.fetch(area, 0, &mut pulled)?;
        let to_destination = self.is(Fault::PullsToTheDestination);
        let range = if to_destination { &mut self.host.destination } else { &mut self.host.source };
        let range = range.as_mut().filter(|_| bytes > 0).ok_or_else(|| unsupported("pulling this"))?;
        range.bytes_mut()[..bytes].copy_from_slice(&pulled);
        Ok(())
    }

    fn push(&mut self, area: Area, bytes: usize) -> Result<(), DeviceError> {
        let range = if self.is(Fault::PushesTheSource) { &self.host.source } else { &self.host.destination };
        let range = range.as_ref().ok_or_else(|| unsupported("pushing this"))?.bytes();
        let pushed = range.get(..bytes).filter(|bytes| !bytes.is_empty()).map(<[u8]>::to_vec);
        self.store(area, 0, &pushed.ok_or_else(|| unsupported("pushing so many bytes"))?)
    }

    fn fill(&mut self, area: Area, pattern: BytePattern, bytes: usize) -> Result<(), DeviceError> {
        self.open_latch();
        let (pattern, bytes) = match self.shared.fault {
            Some(Fault::FillsWithoutTheTail) => (pattern, bytes.max(8) & !7),
            Some(Fault::FillsWithoutPageKeys) => (pattern.with_page_key(pattern.key), bytes),
            Some(Fault::FillsWithoutInversion) => (BytePattern { invert: 0, ..pattern }, bytes),
            Some(Fault::FillsTooMuch) => (pattern, bytes.next_multiple_of(8)),
            _ => (pattern, bytes),
        };
        pattern.fill(0, self.patterned(area, bytes)?);
        Ok(())
    }

    fn compare(
        &mut self,
        area: Area,
        pattern: BytePattern,
        bytes: usize,
    ) -> Result<Option<u64>, DeviceError> {
        self.open_latch();
        let fault = self.shared.fault;
        if fault == Some(Fault::ComparesAnOldCopy) {
            return Ok(None);
        }
        let bytes = match fault {
            Some(Fault::ComparesWithoutTheTail) => bytes.max(8) & !7,
            Some(Fault::ComparesTooMuch) => (bytes + 1).min(self.a.len()),
            _ => bytes,
        };
        let area = self.patterned(area, bytes)?;
        let found = pattern.compare(0, area).err().map(|difference| difference.offset);
        Ok(match fault {
            Some(Fault::ComparesBytes) => found,
            Some(Fault::ComparesPages) => found.map(|offset| offset & !4095),
            _ => found.map(|offset| offset & !7),
        })
    }

    fn into_host(mut self: Box<Self>) -> HostPair {
        if !self.is(Fault::GivesBackAtOnce) {
            self.open_latch();
        }
        let mut host = std::mem::take(&mut self.host);
        for range in [&mut host.source, &mut host.destination].into_iter().flatten() {
            let mut other: Box<dyn HostMemory> = Box::new(HeapMemory::new(range.bytes().len()));
            other.bytes_mut().copy_from_slice(range.bytes());
            let (kind, shared) = (range.kind(), Arc::clone(&self.shared));
            match self.shared.fault {
                Some(Fault::GivesOtherMemory) => *range = Box::new(Pinned { memory: other, kind, shared }),
                Some(Fault::GivesUnpinned) => {
                    let memory = std::mem::replace(range, other);
                    *range = Box::new(Pinned { memory, kind: MemoryKind::Pageable, shared });
                }
                _ => {}
            }
        }
        host
    }

    fn round(&mut self, direction: Direction, bytes: usize) -> Result<(), DeviceError> {
        self.refuse(direction, bytes)?;
        self.copy(direction, bytes);
        Ok(())
    }

    fn hold(&mut self) -> Result<(), DeviceError> {
        if !self.has_latch {
            return Err(unsupported("holding"));
        }
        self.open_latch();
        if !self.is(Fault::KeepsOldMarks) {
            self.first_ns.clear();
            self.second_ns.clear();
        }
        (self.batch, self.held, self.start) = (true, true, Instant::now());
        Ok(())
    }

    fn enqueue(&mut self, direction: Direction, bytes: usize, copies: u32) -> Result<(), DeviceError> {
        let is_pageable = self.host.ranges().any(|range| range.kind() == MemoryKind::Pageable);
        let pageable = is_pageable && !self.is(Fault::QueuesPageable);
        let possible = self.refuse(direction, bytes);
        if possible.is_err() || pageable || !self.batch || copies == 0 {
            self.open_latch();
            return Err(unsupported("queueing this"));
        }
        self.queue.push((direction, bytes));
        if self.is(Fault::LatchHoldsMarksOnly) {
            self.copy(direction, bytes);
        }
        if !self.held || self.is(Fault::LatchHoldsNothing) {
            self.run_queue();
        }
        Ok(())
    }

    fn release(&mut self) -> Result<(), DeviceError> {
        self.open_latch();
        Ok(())
    }

    fn rounds_ended(&mut self) -> Result<usize, DeviceError> {
        Ok(self.first_ns.len())
    }

    fn finish(&mut self, marks: &mut Marks) -> Result<(), DeviceError> {
        self.open_latch();
        self.batch = false;
        marks.first_ns.clone_from(&self.first_ns);
        marks.second_ns.clone_from(&self.second_ns);
        Ok(())
    }
}

impl Drop for MockCopier {
    fn drop(&mut self) {
        if self.held && self.is(Fault::DropIsSlow) {
            thread::sleep(Duration::from_millis(5100));
        }
    }
}
