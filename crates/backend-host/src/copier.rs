//! Copies by the calling thread. A copy is one call of the C library's memcpy, as a program's own would be.
//! Patterns are written and compared by it too, where they lie: the device's memory is the host's.

use device::{Area, BytePattern, Copier, DeviceError, Direction, HostPair, Marks};

use crate::node_memory::NodeMemory;

/// One rank's copier.
pub(crate) struct HostCopier {
    a: NodeMemory,
    host: HostPair,
}

fn unsupported(what: &'static str, reason: impl Into<String>) -> DeviceError {
    DeviceError::Unsupported { what, reason: reason.into() }
}

fn not_queued() -> DeviceError {
    unsupported("queueing copies", "host copies are done by the calling thread itself")
}

fn one_way_only() -> DeviceError {
    unsupported("moving both directions at once", "one thread copies in one direction at a time")
}

impl HostCopier {
    /// A copier between `host`'s ranges and `a`; all have the same length.
    pub(crate) fn new(a: NodeMemory, host: HostPair) -> Self {
        Self { a, host }
    }

    /// The first `bytes` of the area.
    fn area(&mut self, area: Area, bytes: usize) -> Result<&mut [u8], DeviceError> {
        self.check_bytes(bytes)?;
        self.part(area, 0, bytes)
    }

    /// `bytes` bytes of the area from `offset` on.
    fn part(&mut self, area: Area, offset: usize, bytes: usize) -> Result<&mut [u8], DeviceError> {
        if area == Area::B {
            return Err(one_way_only());
        }
        let all = self.a.bytes_mut();
        let len = all.len();
        let part = offset.checked_add(bytes).and_then(|end| all.get_mut(offset..end));
        part.ok_or_else(|| {
            let reason = format!("{bytes} bytes from {offset} on were asked for; the area has {len} bytes");
            unsupported("reaching this part of an area", reason)
        })
    }

    fn check_bytes(&self, bytes: usize) -> Result<(), DeviceError> {
        let len = self.a.bytes().len();
        if bytes == 0 || bytes > len {
            let reason = format!("{bytes} bytes were asked for; this copier moves 1 to {len} bytes");
            return Err(unsupported("this copy", reason));
        }
        Ok(())
    }

    fn copy_in(&mut self, bytes: usize) -> Result<(), DeviceError> {
        let source = self.host.source.as_ref().ok_or_else(no_source)?;
        self.a.bytes_mut()[..bytes].copy_from_slice(&source.bytes()[..bytes]);
        Ok(())
    }

    fn copy_out(&mut self, bytes: usize) -> Result<(), DeviceError> {
        let destination = self.host.destination.as_mut().ok_or_else(no_destination)?;
        destination.bytes_mut()[..bytes].copy_from_slice(&self.a.bytes()[..bytes]);
        Ok(())
    }
}

fn no_source() -> DeviceError {
    unsupported("a copy to the device", "this copier was made without a source")
}

fn no_destination() -> DeviceError {
    unsupported("a copy from the device", "this copier was made without a destination")
}

impl Copier for HostCopier {
    fn source(&mut self) -> &mut [u8] {
        self.host.source.as_mut().map_or(&mut [], |range| range.bytes_mut())
    }

    fn destination(&mut self) -> &mut [u8] {
        self.host.destination.as_mut().map_or(&mut [], |range| range.bytes_mut())
    }

    fn device_area(&self) -> Option<&[u8]> {
        Some(self.a.bytes())
    }

    fn store(&mut self, area: Area, offset: usize, from: &[u8]) -> Result<(), DeviceError> {
        self.part(area, offset, from.len())?.copy_from_slice(from);
        Ok(())
    }

    fn fetch(&mut self, area: Area, offset: usize, into: &mut [u8]) -> Result<(), DeviceError> {
        into.copy_from_slice(self.part(area, offset, into.len())?);
        Ok(())
    }

    fn pull(&mut self, area: Area, bytes: usize) -> Result<(), DeviceError> {
        self.area(area, bytes)?;
        let source = self.host.source.as_mut().ok_or_else(no_source)?;
        source.bytes_mut()[..bytes].copy_from_slice(&self.a.bytes()[..bytes]);
        Ok(())
    }

    fn push(&mut self, area: Area, bytes: usize) -> Result<(), DeviceError> {
        self.area(area, bytes)?;
        let destination = self.host.destination.as_ref().ok_or_else(no_destination)?;
        self.a.bytes_mut()[..bytes].copy_from_slice(&destination.bytes()[..bytes]);
        Ok(())
    }

    fn fill(&mut self, area: Area, pattern: BytePattern, bytes: usize) -> Result<(), DeviceError> {
        pattern.fill(0, self.area(area, bytes)?);
        Ok(())
    }

    fn compare(
        &mut self,
        area: Area,
        pattern: BytePattern,
        bytes: usize,
    ) -> Result<Option<u64>, DeviceError> {
        let compared = pattern.compare(0, self.area(area, bytes)?);
        Ok(compared.err().map(|difference| difference.offset & !7))
    }

    fn into_host(self: Box<Self>) -> HostPair {
        self.host
    }

    fn round(&mut self, direction: Direction, bytes: usize) -> Result<(), DeviceError> {
        self.check_bytes(bytes)?;
        match direction {
            Direction::H2d => self.copy_in(bytes),
            Direction::D2h => self.copy_out(bytes),
            Direction::RoundTrip => self.copy_in(bytes).and_then(|()| self.copy_out(bytes)),
            Direction::Bidirectional => Err(one_way_only()),
        }
    }

    fn hold(&mut self) -> Result<(), DeviceError> {
        Err(not_queued())
    }

    fn enqueue(&mut self, _direction: Direction, _bytes: usize, _copies: u32) -> Result<(), DeviceError> {
        Err(not_queued())
    }

    fn release(&mut self) -> Result<(), DeviceError> {
        Err(not_queued())
    }

    fn rounds_ended(&mut self) -> Result<usize, DeviceError> {
        Err(not_queued())
    }

    fn finish(&mut self, _marks: &mut Marks) -> Result<(), DeviceError> {
        Err(not_queued())
    }
}
