//! One rank's memory for one kind: placed, touched, pinned as asked, and handed to a copier.
//!
//! The copier owns the ranges from then on. Where they lie is looked up through it, so what is proven is what is copied.

use device::{Copier, Device, HostMemory, HostPair, MemoryKind};

use crate::bound::Bound;
use crate::failure::{Failure, Stage};
use crate::host_memory::{PlacedMemory, with_policy};
use crate::seen::{Pages, Seen};

/// What is to be allocated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    /// The kind of host memory.
    pub kind: MemoryKind,
    /// Bytes of each of the two host ranges.
    pub len: usize,
    /// The node they are to lie on.
    pub node: u32,
    /// Whether they may use huge pages.
    pub huge_pages: bool,
    /// Whether the machine has one node only.
    pub one_node: bool,
    /// Whether the device needs a second area.
    pub bidirectional: bool,
}

/// A copier and the placement it was made for.
pub(crate) struct Buffers {
    pub copier: Box<dyn Copier>,
    pub kind: MemoryKind,
    pub allocation: u32,
}

impl Buffers {
    /// Allocates, places and pins both host ranges, then lets the device take them over.
    pub(crate) fn new(bound: &Bound, device: &dyn Device, want: &Want, allocation: u32) -> Result<Self, Failure> {
        let source = host_range(bound, device, want)?;
        let destination = host_range(bound, device, want)?;
        let pair = HostPair { source, destination };
        let bidirectional = want.bidirectional && want.kind != MemoryKind::Pageable;
        let copier = device.copier(pair, bidirectional).map_err(|e| Failure::device(Stage::Allocate, &e))?;
        Ok(Self { copier, kind: want.kind, allocation })
    }

    /// Where thread and host pages are now.
    pub(crate) fn prove(&mut self) -> Result<Seen, Failure> {
        // One range at a time: the copier lends each by `&mut`, because nobody may hold one while it writes the other.
        let mut seen = Seen::now(&[self.copier.source()])?;
        seen.pages.merge(Seen::now(&[self.copier.destination()])?.pages);
        seen.device_pages = self.copier.device_area().map(Pages::of);
        Ok(seen)
    }
}

fn host_range(bound: &Bound, device: &dyn Device, want: &Want) -> Result<Box<dyn HostMemory>, Failure> {
    let device_failure = |error| Failure::device(Stage::Allocate, &error);
    if want.kind == MemoryKind::PinnedDriver {
        return with_policy(bound, want.node, want.one_node, || {
            let mut memory = device.allocate_pinned(want.len).map_err(device_failure)?;
            memory.bytes_mut().fill(0);
            Ok(memory)
        });
    }
    let memory = PlacedMemory::new(bound, want.len, want.node, want.huge_pages, want.one_node)?;
    device.adopt(want.kind, Box::new(memory)).map_err(device_failure)
}
