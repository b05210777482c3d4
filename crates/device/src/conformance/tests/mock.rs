//! A device of plain memory that keeps the contract, or breaks it in one chosen way.
//!
//! Its latch is a list: what is queued runs when the latch opens, in the caller's thread. That is all a check
//! can see of a real one.

mod buffer;
mod copier;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use stats::PciAddress;

use crate::{
    Buffer, Capabilities, Copier, Device, DeviceError, DeviceFacts, DeviceId, HeapMemory, HostMemory,
    HostPair, Latch, MemoryHome, MemoryInfo, MemoryKind, Platform, PlatformFacts, PlatformKind,
};
use buffer::MockBuffer;
use copier::MockCopier;

const TOTAL_BYTES: u64 = 256 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    HasNoLatch,
    HasNoPatterns,
    HidesPatterns,
    DevicesOutOfOrder,
    DeviceListedTwice,
    OpensAnything,
    CopiesPageable,
    ShortManaged,
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
    TakesUnequalRanges,
    StoresAtTheStart,
    FetchesFromTheStart,
    StoresInBothAreas,
    KeepsStoresToItself,
    PullsToTheDestination,
    PushesTheSource,
    ReachesBeyond,
    FillsWithoutTheTail,
    FillsWithoutPageKeys,
    FillsWithoutInversion,
    FillsTooMuch,
    ComparesWithoutTheTail,
    ComparesBytes,
    ComparesPages,
    ComparesTooMuch,
    ComparesAnOldCopy,
    PatternsOfAnySize,
    MakesUpARange,
    GivesOtherMemory,
    GivesUnpinned,
    OwnPinnedMemoryOnly,
    GivesBackAtOnce,
    BufferStoresAtTheStart,
    BufferFetchesFromTheStart,
    BufferFetchesOneTooMany,
    BufferIsElsewhere,
    BufferShowsWithoutWaiting,
    BufferEndsEarly,
    BufferTakesAnyRange,
    BufferTakesPageable,
}

#[derive(Default)]
struct Shared {
    fault: Option<Fault>,
    pinned: Mutex<HashSet<usize>>,
    pinned_by: Mutex<HashMap<usize, DeviceId>>,
    area: Mutex<Vec<u8>>,
}

impl Shared {
    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }
}

pub struct Mock {
    facts: PlatformFacts,
    devices: Vec<DeviceFacts>,
    shared: Arc<Shared>,
}

impl Mock {
    pub fn with(fault: Option<Fault>) -> Self {
        let device = |bus| DeviceFacts {
            id: DeviceId::Pci(PciAddress { domain: 0, bus, device: 0, function: 0 }),
            name: "mock".to_owned(),
            uuid: None,
            runtime_index: None,
            total_bytes: TOTAL_BYTES,
            host_node: None,
            memory_home: MemoryHome::Device,
        };
        let mut devices = vec![device(1), device(2)];
        match fault {
            Some(Fault::DevicesOutOfOrder) => devices.reverse(),
            Some(Fault::DeviceListedTwice) => devices[1] = device(1),
            _ => {}
        }
        let simulated = Some("a mock".to_owned());
        Self {
            facts: PlatformFacts { kind: PlatformKind::Cuda, api_version: None, simulated },
            devices,
            shared: Arc::new(Shared { fault, ..Shared::default() }),
        }
    }
}

impl Platform for Mock {
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
        let no_latch = Latch::None { reason: "a mock without one".to_owned() };
        let capabilities = Capabilities {
            latch: if self.shared.is(Fault::HasNoLatch) { no_latch } else { Latch::StreamWait },
            patterns: match self.shared.fault {
                Some(Fault::HasNoPatterns | Fault::HidesPatterns) => Err("a mock without them".to_owned()),
                _ => Ok(()),
            },
            loads: Err("a mock runs no kernel".to_owned()),
            bidirectional: Ok(()),
            memory: MemoryKind::ALL.map(|kind| (kind, Ok(()))),
        };
        Ok(Box::new(MockDevice { facts: facts.clone(), capabilities, shared: Arc::clone(&self.shared) }))
    }
}

struct MockDevice {
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
            self.shared.pinned_by.lock().unwrap_or_else(PoisonError::into_inner).remove(&start);
        }
    }
}

fn unsupported(what: &'static str) -> DeviceError {
    DeviceError::Unsupported { what, reason: "the contract says so".to_owned() }
}

impl MockDevice {
    fn pin(&self, kind: MemoryKind, memory: Box<dyn HostMemory>) -> Result<Box<dyn HostMemory>, DeviceError> {
        let fresh = self
            .shared
            .pinned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(memory.bytes().as_ptr().addr());
        // What comes from the heap may lie where something leaked did; only the range lent twice counts as a
        // fault.
        if !fresh && kind == MemoryKind::Pinned {
            return Err(unsupported("pinning what is pinned"));
        }
        Ok(Box::new(Pinned { memory, kind, shared: Arc::clone(&self.shared) }))
    }
}

impl Device for MockDevice {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn memory(&self) -> Result<MemoryInfo, DeviceError> {
        Ok(MemoryInfo { free_bytes: TOTAL_BYTES, total_bytes: TOTAL_BYTES })
    }

    fn adopt(
        &self,
        kind: MemoryKind,
        memory: Box<dyn HostMemory>,
    ) -> Result<Box<dyn HostMemory>, DeviceError> {
        match kind {
            MemoryKind::Pageable if self.shared.is(Fault::CopiesPageable) => {
                Ok(Box::new(HeapMemory::new(memory.bytes().len())))
            }
            MemoryKind::Pageable => Ok(memory),
            MemoryKind::Pinned | MemoryKind::System => self.pin(kind, memory),
            MemoryKind::PinnedDriver | MemoryKind::Managed => Err(unsupported("adopting")),
        }
    }

    fn allocate_pinned(&self, len: usize) -> Result<Box<dyn HostMemory>, DeviceError> {
        self.pin(MemoryKind::PinnedDriver, Box::new(HeapMemory::new(len)))
    }

    fn allocate_managed(&self, len: usize) -> Result<Box<dyn HostMemory>, DeviceError> {
        let len = if self.shared.is(Fault::ShortManaged) { len.saturating_sub(1) } else { len };
        self.pin(MemoryKind::Managed, Box::new(HeapMemory::new(len)))
    }

    fn copier(&self, host: HostPair, bidirectional: bool) -> Result<Box<dyn Copier>, DeviceError> {
        let len = match (host.common_len(), &host.source) {
            (Err(_), Some(source)) if self.shared.is(Fault::TakesUnequalRanges) => source.bytes().len(),
            (len, _) => len?,
        };
        let asked_bytes = len as u64 * if bidirectional { 2 } else { 1 };
        if asked_bytes > TOTAL_BYTES && !self.shared.is(Fault::NeverOutOfMemory) {
            let (free_bytes, total_bytes) = (TOTAL_BYTES, TOTAL_BYTES);
            return Err(DeviceError::OutOfMemory {
                place: "a mock".to_owned(),
                asked_bytes,
                free_bytes,
                total_bytes,
            });
        }
        if bidirectional && host.ranges().count() < 2 && !self.shared.is(Fault::MakesUpARange) {
            return Err(unsupported("both directions with one range"));
        }
        let mut pinned = self.shared.pinned_by.lock().unwrap_or_else(PoisonError::into_inner);
        for range in host.ranges().filter(|range| range.kind() != MemoryKind::Pageable) {
            let by = *pinned.entry(range.bytes().as_ptr().addr()).or_insert(self.facts.id);
            if by != self.facts.id && self.shared.is(Fault::OwnPinnedMemoryOnly) {
                return Err(unsupported("memory that another device pinned"));
            }
        }
        Ok(Box::new(MockCopier::new(&self.shared, host, len, bidirectional)))
    }

    fn buffer(&self, host: Box<dyn HostMemory>) -> Result<Box<dyn Buffer>, DeviceError> {
        if host.kind() == MemoryKind::Pageable && !self.shared.is(Fault::BufferTakesPageable) {
            return Err(unsupported("a buffer beside pageable memory"));
        }
        Ok(Box::new(MockBuffer::new(&self.shared, host)))
    }
}
