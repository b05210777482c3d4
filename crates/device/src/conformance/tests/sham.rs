//! A device of plain memory that keeps the contract, or breaks it in one chosen way.
//!
//! Its latch is a list: what is queued runs when the latch opens, in the caller's thread. That is all a check can see of a
//! real one.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use stats::PciAddress;

use crate::{
    Capabilities, Copier, Device, DeviceError, DeviceFacts, DeviceId, Direction, HeapMemory, HostMemory, HostPair,
    Latch, Marks, MemoryInfo, MemoryKind, Platform, PlatformFacts, PlatformKind,
};

const TOTAL_BYTES: u64 = 256 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    HasNoLatch,
    DevicesOutOfOrder,
    DeviceListedTwice,
    OpensAnything,
    CopiesPageable,
    NeverUnpins,
    NeverOutOfMemory,
    LosesLastByte,
    CopiesOneTooMany,
    RoundTripReadsOnly,
    BidirectionalReadsA,
    TakesAnySize,
    SharesOneArea,
    QueuesPageable,
    LatchHoldsNothing,
    LatchHoldsMarksOnly,
    QueueForgetsCopies,
    MarksInMicroseconds,
    MarksFall,
    KeepsOldMarks,
    ReadsWithoutWaiting,
    DropIsSlow,
}

#[derive(Default)]
struct Shared {
    fault: Option<Fault>,
    pinned: Mutex<HashSet<usize>>,
    area: Mutex<Vec<u8>>,
}

impl Shared {
    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }
}

pub struct Sham {
    facts: PlatformFacts,
    devices: Vec<DeviceFacts>,
    shared: Arc<Shared>,
}

impl Sham {
    pub fn with(fault: Option<Fault>) -> Self {
        let device = |bus| DeviceFacts {
            id: DeviceId::Pci(PciAddress { domain: 0, bus, device: 0, function: 0 }),
            name: "sham".to_owned(),
            uuid: None,
            runtime_index: None,
            total_bytes: TOTAL_BYTES,
            host_node: None,
        };
        let mut devices = vec![device(1), device(2)];
        match fault {
            Some(Fault::DevicesOutOfOrder) => devices.reverse(),
            Some(Fault::DeviceListedTwice) => devices[1] = device(1),
            _ => {}
        }
        let simulated = Some("a sham".to_owned());
        Self {
            facts: PlatformFacts { kind: PlatformKind::Cuda, api_version: None, simulated },
            devices,
            shared: Arc::new(Shared { fault, ..Shared::default() }),
        }
    }
}

impl Platform for Sham {
    fn facts(&self) -> &PlatformFacts {
        &self.facts
    }

    fn devices(&self) -> &[DeviceFacts] {
        &self.devices
    }

    fn open(&self, id: DeviceId) -> Result<Box<dyn Device>, DeviceError> {
        let known = self.devices.iter().find(|facts| facts.id == id);
        let first = self.devices.first().filter(|_| self.shared.is(Fault::OpensAnything));
        let facts = known
            .or(first)
            .ok_or_else(|| DeviceError::UnknownDevice { asked: id.to_string(), present: String::new() })?;
        let no_latch = Latch::None { reason: "a sham without one".to_owned() };
        let capabilities = Capabilities {
            latch: if self.shared.is(Fault::HasNoLatch) { no_latch } else { Latch::StreamWait },
            bidirectional: Ok(()),
            memory: [MemoryKind::Pinned, MemoryKind::PinnedDriver, MemoryKind::Pageable].map(|kind| (kind, Ok(()))),
        };
        Ok(Box::new(ShamDevice { facts: facts.clone(), capabilities, shared: Arc::clone(&self.shared) }))
    }
}

struct ShamDevice {
    facts: DeviceFacts,
    capabilities: Capabilities,
    shared: Arc<Shared>,
}

struct Pinned {
    memory: Box<dyn HostMemory>,
    kind: MemoryKind,
    shared: Arc<Shared>,
}

// SAFETY: the range is the wrapped memory's.
unsafe impl HostMemory for Pinned {
    fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.bytes_mut()
    }

    fn kind(&self) -> MemoryKind {
        self.kind
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if !self.shared.is(Fault::NeverUnpins) {
            let start = self.memory.bytes().as_ptr().addr();
            self.shared.pinned.lock().unwrap_or_else(PoisonError::into_inner).remove(&start);
        }
    }
}

fn unsupported(what: &'static str) -> DeviceError {
    DeviceError::Unsupported { what, reason: "the contract says so".to_owned() }
}

impl ShamDevice {
    fn pin(&self, kind: MemoryKind, memory: Box<dyn HostMemory>) -> Result<Box<dyn HostMemory>, DeviceError> {
        let fresh =
            self.shared.pinned.lock().unwrap_or_else(PoisonError::into_inner).insert(memory.bytes().as_ptr().addr());
        // What comes from the heap may lie where something leaked did; only the range lent twice counts as a fault.
        if !fresh && kind == MemoryKind::Pinned {
            return Err(unsupported("pinning what is pinned"));
        }
        Ok(Box::new(Pinned { memory, kind, shared: Arc::clone(&self.shared) }))
    }
}

impl Device for ShamDevice {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn memory(&self) -> Result<MemoryInfo, DeviceError> {
        Ok(MemoryInfo { free_bytes: TOTAL_BYTES, total_bytes: TOTAL_BYTES })
    }

    fn adopt(&self, kind: MemoryKind, memory: Box<dyn HostMemory>) -> Result<Box<dyn HostMemory>, DeviceError> {
        match kind {
            MemoryKind::Pageable if self.shared.is(Fault::CopiesPageable) => {
                Ok(Box::new(HeapMemory::new(memory.bytes().len())))
            }
            MemoryKind::Pageable => Ok(memory),
            MemoryKind::Pinned => self.pin(kind, memory),
            MemoryKind::PinnedDriver => Err(unsupported("adopting")),
        }
    }

    fn allocate_pinned(&self, len: usize) -> Result<Box<dyn HostMemory>, DeviceError> {
        self.pin(MemoryKind::PinnedDriver, Box::new(HeapMemory::new(len)))
    }

    fn copier(&self, host: HostPair, bidirectional: bool) -> Result<Box<dyn Copier>, DeviceError> {
        let len = host.source.bytes().len();
        if len == 0 || len != host.destination.bytes().len() {
            return Err(unsupported("these lengths"));
        }
        let asked_bytes = len as u64 * if bidirectional { 2 } else { 1 };
        if asked_bytes > TOTAL_BYTES && !self.shared.is(Fault::NeverOutOfMemory) {
            let (free_bytes, total_bytes) = (TOTAL_BYTES, TOTAL_BYTES);
            return Err(DeviceError::OutOfMemory { place: "a sham".to_owned(), asked_bytes, free_bytes, total_bytes });
        }
        Ok(Box::new(ShamCopier {
            shared: Arc::clone(&self.shared),
            has_latch: !self.shared.is(Fault::HasNoLatch),
            a: vec![0; len],
            b: bidirectional.then(|| vec![0; len]),
            host,
            batch: false,
            held: false,
            queue: Vec::new(),
            start: Instant::now(),
            first_ns: Vec::new(),
            second_ns: Vec::new(),
        }))
    }
}

struct ShamCopier {
    shared: Arc<Shared>,
    has_latch: bool,
    host: HostPair,
    a: Vec<u8>,
    b: Option<Vec<u8>>,
    batch: bool,
    held: bool,
    queue: Vec<(Direction, usize)>,
    start: Instant,
    first_ns: Vec<f64>,
    second_ns: Vec<f64>,
}

impl ShamCopier {
    fn is(&self, fault: Fault) -> bool {
        self.shared.is(fault)
    }

    fn refuse(&self, direction: Direction, bytes: usize) -> Result<(), DeviceError> {
        let too_many = bytes > self.a.len() && !self.is(Fault::TakesAnySize);
        if bytes == 0 || too_many || (direction == Direction::Bidirectional && self.b.is_none()) {
            return Err(unsupported("this request"));
        }
        Ok(())
    }

    fn copy(&mut self, direction: Direction, bytes: usize) {
        let bytes = match self.shared.fault {
            Some(Fault::LosesLastByte) => bytes - 1,
            Some(Fault::CopiesOneTooMany) => bytes + 1,
            _ => bytes,
        };
        let bytes = bytes.min(self.a.len());
        let into_device =
            direction != Direction::D2h && !(direction == Direction::RoundTrip && self.is(Fault::RoundTripReadsOnly));
        if into_device {
            self.a[..bytes].copy_from_slice(&self.host.source.bytes()[..bytes]);
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
        self.host.destination.bytes_mut()[..bytes].copy_from_slice(&from[..bytes]);
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

impl Copier for ShamCopier {
    fn source(&mut self) -> &mut [u8] {
        self.open_latch();
        self.host.source.bytes_mut()
    }

    fn destination(&mut self) -> &mut [u8] {
        if !self.is(Fault::ReadsWithoutWaiting) {
            self.open_latch();
        }
        self.host.destination.bytes_mut()
    }

    fn preload(&mut self, bytes: usize) -> Result<(), DeviceError> {
        self.refuse(Direction::Bidirectional, bytes)?;
        if let Some(b) = &mut self.b {
            b[..bytes].copy_from_slice(&self.host.source.bytes()[..bytes]);
        }
        Ok(())
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
        let pageable = self.host.source.kind() == MemoryKind::Pageable && !self.is(Fault::QueuesPageable);
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

impl Drop for ShamCopier {
    fn drop(&mut self) {
        if self.held && self.is(Fault::DropIsSlow) {
            thread::sleep(Duration::from_millis(5100));
        }
    }
}
