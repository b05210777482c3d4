//! A copier's memory on the device, and what one queued round moves between it and the host ranges.

use std::ops::Range;

use device::{Area, CallError, DeviceError, Direction, HostPair};

use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::kernel::Kernel;
use crate::kernels::Kernels;
use crate::stream::Stream;

/// The most threads of a kernel that copies while another one copies the other way: a kernel as wide as the device has the other wait for its end (an
/// H200 then moves 59.5 GB/s both ways together, and 71.7 with these). Each has 64 bytes in flight, 2 MiB in all, many times what a link holds.
const AT_ONCE_THREADS: u64 = 1 << 15;

/// The device's side.
pub(crate) struct Areas<D: Driver> {
    pub(crate) a: Option<DeviceMemory<D>>,
    /// With both directions at once.
    pub(crate) b: Option<DeviceMemory<D>>,
    pub(crate) len: usize,
}

/// The copies of one round: from the host to an area, and from an area to the host.
pub(crate) struct Legs<'a, D: Driver> {
    write: Option<(&'a DeviceMemory<D>, *const u8)>,
    read: Option<(&'a DeviceMemory<D>, *mut u8)>,
    bytes: usize,
    /// Whether the two are at once.
    at_once: bool,
    /// A kernel that copies in place of the copy engines, with the host ranges' addresses on the device.
    pub(crate) kernel: Option<(&'a Kernels<D>, [Option<u64>; 2])>,
}

/// What cannot be done here, and why.
pub(crate) fn unsupported(what: &'static str, reason: impl Into<String>) -> DeviceError {
    DeviceError::Unsupported { what, reason: reason.into() }
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
    pub(crate) fn part(&self, area: Area, offset: usize, bytes: usize) -> Result<&DeviceMemory<D>, DeviceError> {
        if offset.checked_add(bytes).is_none_or(|end| end > self.len) {
            let reason = format!("{bytes} bytes from {offset} on were asked for; the area has {} bytes", self.len);
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
    pub(crate) fn legs(
        &self,
        host: &mut HostPair,
        direction: Direction,
        bytes: usize,
    ) -> Result<Legs<'_, D>, DeviceError> {
        let from = if direction == Direction::D2h { None } else { Some(source(host)?.as_ptr()) };
        let to = if direction == Direction::H2d { None } else { Some(destination(host)?.as_mut_ptr()) };
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
    ///
    /// # Safety
    /// The areas and ranges have so many bytes, the ranges are pinned, and all live, lent to nobody, until both streams have been waited for.
    pub(crate) unsafe fn queue(&self, writes: &Stream<D>, reads: &Stream<D>) -> Result<(), CallError> {
        let bytes = self.bytes as u64;
        let threads = if self.at_once { copy_threads_at_once(bytes) } else { copy_threads(bytes) };
        if let Some((area, from)) = self.write {
            if let Some((kernels, [Some(from), _])) = self.kernel {
                // SAFETY: the caller's word; `from` is the source's address on the device.
                unsafe { kernels.launch(Kernel::Copy, threads, Some(writes), [D::word(area.address()), from, bytes]) }?;
            } else {
                // SAFETY: the caller's word.
                unsafe { area.queue_write(from, self.bytes, writes) }?;
            }
        }
        if let Some((area, to)) = self.read {
            if let Some((kernels, [_, Some(to)])) = self.kernel {
                // SAFETY: the caller's word; `to` is the destination's address on the device.
                unsafe { kernels.launch(Kernel::Copy, threads, Some(reads), [to, D::word(area.address()), bytes]) }?;
            } else {
                // SAFETY: the caller's word.
                unsafe { area.queue_read(to, self.bytes, reads) }?;
            }
        }
        Ok(())
    }
}

/// How many threads of the kernel copy so many bytes: each moves 16 at a time, four times in flight.
pub(crate) fn copy_threads(bytes: u64) -> u64 {
    bytes.div_ceil(64)
}

/// The same where another kernel copies the other way at once.
fn copy_threads_at_once(bytes: u64) -> u64 {
    copy_threads(bytes).min(AT_ONCE_THREADS)
}

/// The host range that copies to the device read.
///
/// # Errors
/// [`DeviceError::Unsupported`] where there is none.
pub(crate) fn source(host: &mut HostPair) -> Result<&mut [u8], DeviceError> {
    let missing = || unsupported("a copy to the device", "this copier was made without a source");
    Ok(host.source.as_mut().ok_or_else(missing)?.bytes_mut())
}

/// The host range that copies from the device write.
///
/// # Errors
/// [`DeviceError::Unsupported`] where there is none.
pub(crate) fn destination(host: &mut HostPair) -> Result<&mut [u8], DeviceError> {
    let missing = || unsupported("a copy from the device", "this copier was made without a destination");
    Ok(host.destination.as_mut().ok_or_else(missing)?.bytes_mut())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_kernels_at_once_leave_room_for_each_other_and_one_alone_takes_what_there_is() {
        assert_eq!((copy_threads(512 << 20), copy_threads_at_once(512 << 20)), (1 << 23, 1 << 15));
        assert_eq!((copy_threads(4096), copy_threads_at_once(4096)), (64, 64), "small copies need fewer");
    }
}
