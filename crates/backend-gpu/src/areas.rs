//! A copier's memory on the device, and what one queued round moves between it and the host ranges.
//!
//! A kernel that copies (`copy_kernel`) reaches pinned host memory; it cannot reach pageable memory, which is
//! skipped with that reason.

use std::ops::Range;

use device::{Area, CallError, DeviceError, Direction};

use crate::copy_kernel::CopyKernel;
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::host_range::HostRange;
use crate::modules::Parameter;
use crate::stream::Stream;
use crate::unsupported::unsupported;

/// The device's side.
pub(crate) struct Areas<D: Driver> {
    pub(crate) a: Option<DeviceMemory<D>>,
    /// With both directions at once.
    pub(crate) b: Option<DeviceMemory<D>>,
    pub(crate) len: usize,
}

/// The host's side: what copies to the device read, and what copies from it write.
pub(crate) struct Ranges {
    pub(crate) source: Option<HostRange>,
    pub(crate) destination: Option<HostRange>,
}

/// The copies of one round: from the host to an area, and from an area to the host.
pub(crate) struct Legs<'a, D: Driver> {
    write: Option<(&'a DeviceMemory<D>, &'a HostRange)>,
    read: Option<(&'a DeviceMemory<D>, &'a HostRange)>,
    bytes: usize,
    /// Whether the two are at once.
    at_once: bool,
    /// The kernel that copies in the place of the copy engines.
    pub(crate) kernel: Option<&'a CopyKernel<D>>,
}

impl<D: Driver> Areas<D> {
    /// The area.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where this copier was made without it.
    pub(crate) fn get(&self, area: Area) -> Result<&DeviceMemory<D>, DeviceError> {
        let memory = if area == Area::A { &self.a } else { &self.b };
        memory.as_ref().ok_or_else(|| {
            unsupported("moving both directions at once", "this copier was made for one direction at a time")
        })
    }

    /// The area, for `bytes` bytes from `offset` on.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] beyond its end, or as [`Areas::get`].
    pub(crate) fn part(
        &self,
        area: Area,
        offset: usize,
        bytes: usize,
    ) -> Result<&DeviceMemory<D>, DeviceError> {
        if offset.checked_add(bytes).is_none_or(|end| end > self.len) {
            let reason =
                format!("{bytes} bytes from {offset} on were asked for; the area has {} bytes", self.len);
            return Err(unsupported("reaching this part of an area", reason));
        }
        self.get(area)
    }

    /// Refuses a copy of no bytes, or of more than an area has.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`].
    pub(crate) fn check_bytes(&self, bytes: usize) -> Result<(), DeviceError> {
        if bytes == 0 || bytes > self.len {
            let reason = format!("{bytes} bytes were asked for; this copier moves 1 to {} bytes", self.len);
            return Err(unsupported("this copy", reason));
        }
        Ok(())
    }

    /// Where the areas lie, as addresses of this process: drivers give both sides one address space.
    pub(crate) fn addresses(&self) -> Vec<Range<usize>> {
        let range = |memory: &DeviceMemory<D>| {
            let start = usize::try_from(D::word(memory.address())).ok()?;
            Some(start..start.checked_add(self.len)?)
        };
        [&self.a, &self.b].into_iter().flatten().filter_map(range).collect()
    }

    /// The copies of one queued round, as long as an area at most.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without the host range or area that it needs.
    pub(crate) fn legs<'a>(
        &'a self,
        host: &'a Ranges,
        direction: Direction,
        bytes: usize,
    ) -> Result<Legs<'a, D>, DeviceError> {
        let from = if direction == Direction::D2h {
            None
        } else {
            Some(host.source.as_ref().ok_or_else(no_source)?)
        };
        let to = match direction {
            Direction::H2d => None,
            _ => Some(host.destination.as_ref().ok_or_else(no_destination)?),
        };
        let read = if direction == Direction::Bidirectional { Area::B } else { Area::A };
        let (written, read) = (self.get(Area::A)?, self.get(read)?);
        let (write, read) = (from.map(|from| (written, from)), to.map(|to| (read, to)));
        let at_once = direction == Direction::Bidirectional;
        Ok(Legs { write, read, bytes, at_once, kernel: None })
    }
}

impl<D: Driver> Legs<'_, D> {
    /// Queues each copy there is once, those to the device on the first stream.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn queue(&self, writes: &Stream<D>, reads: &Stream<D>) -> Result<(), CallError> {
        let bytes = self.bytes as u64;
        if let Some((area, from)) = self.write {
            match self.kernel {
                Some(kernel) => {
                    let ends = [Parameter::Area(area, 0), Parameter::Host(from, 0)];
                    kernel.launch(ends, bytes, self.at_once, writes)?;
                }
                None => area.queue_write(0, (from, 0..self.bytes), writes)?,
            }
        }

        if let Some((area, to)) = self.read {
            match self.kernel {
                Some(kernel) => {
                    let ends = [Parameter::Host(to, 0), Parameter::Area(area, 0)];
                    kernel.launch(ends, bytes, self.at_once, reads)?;
                }
                None => area.queue_read(0, (to, 0..self.bytes), reads)?,
            }
        }
        Ok(())
    }
}

/// There is no range that copies to the device read.
pub(crate) fn no_source() -> DeviceError {
    unsupported("a copy to the device", "this copier was made without a source")
}

/// There is none that copies from it write.
pub(crate) fn no_destination() -> DeviceError {
    unsupported("a copy from the device", "this copier was made without a destination")
}
