//! Copies by the calling thread. A copy is one call of the C library's memcpy, as a program's own would be.

use device::{Copier, DeviceError, Direction, HostPair, Marks};

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
    /// A copier between `host`'s ranges and `a`; all three have the same length.
    pub(crate) fn new(a: NodeMemory, host: HostPair) -> Self {
        Self { a, host }
    }

    fn copy_in(&mut self, bytes: usize) {
        self.a.bytes_mut()[..bytes].copy_from_slice(&self.host.source.bytes()[..bytes]);
    }

    fn copy_out(&mut self, bytes: usize) {
        self.host.destination.bytes_mut()[..bytes].copy_from_slice(&self.a.bytes()[..bytes]);
    }
}

impl Copier for HostCopier {
    fn source(&mut self) -> &mut [u8] {
        self.host.source.bytes_mut()
    }

    fn destination(&mut self) -> &mut [u8] {
        self.host.destination.bytes_mut()
    }

    fn device_area(&self) -> Option<&[u8]> {
        Some(self.a.bytes())
    }

    fn preload(&mut self, _bytes: usize) -> Result<(), DeviceError> {
        Err(one_way_only())
    }

    fn round(&mut self, direction: Direction, bytes: usize) -> Result<(), DeviceError> {
        let len = self.a.bytes().len();
        if bytes == 0 || bytes > len {
            let reason = format!("{bytes} bytes were asked for; this copier moves 1 to {len} bytes");
            return Err(unsupported("this copy", reason));
        }
        match direction {
            Direction::H2d => self.copy_in(bytes),
            Direction::D2h => self.copy_out(bytes),
            Direction::RoundTrip => {
                self.copy_in(bytes);
                self.copy_out(bytes);
            }
            Direction::Bidirectional => return Err(one_way_only()),
        }
        Ok(())
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
