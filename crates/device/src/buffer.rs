//! An area of a device beside pinned host memory of the same length: what a program has that passes device
//! memory to a library (MPI, …), or stages it through the host itself.
//!
//! Copies go between equal offsets of the two, queued in order, so that what was copied first can be sent
//! while the rest is under way. Apart from
//! [`crate::Copier`]: nothing here has a latch or a clock.

use std::ops::Range;

use crate::DeviceError;

/// An area, its address, and pinned host memory beside it.
///
/// A range beyond the length is [`DeviceError::Unsupported`]. Dropping waits for what is queued; what could
/// not be waited for is leaked.
pub trait Buffer {
    /// The address of the area's first byte, as the driver's own calls take it. It is the same for the whole
    /// life of the value.
    fn address(&self) -> usize;

    /// The address of the host memory's first byte. Nobody reads or writes what a queued copy uses.
    fn host_address(&self) -> usize;

    /// Bytes of each.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Another library that knows the device was called by this thread since: it may have made another device
    /// the thread's, so the next call makes sure that it is this one.
    fn shared_thread(&mut self) {}

    /// The host memory. Waits for what is queued.
    ///
    /// # Errors
    /// The call that failed.
    fn host(&mut self) -> Result<&mut [u8], DeviceError>;

    /// Queues a copy of this range from the area to the host memory.
    ///
    /// # Errors
    /// The call that failed.
    fn queue_to_host(&mut self, range: Range<usize>) -> Result<(), DeviceError>;

    /// Queues a copy of this range from the host memory to the area.
    ///
    /// # Errors
    /// The call that failed.
    fn queue_to_device(&mut self, range: Range<usize>) -> Result<(), DeviceError>;

    /// Waits until so many of the copies have ended that were queued since all had.
    ///
    /// # Errors
    /// The call that failed.
    fn wait_for(&mut self, copies: usize) -> Result<(), DeviceError>;

    /// Waits until all have ended.
    ///
    /// # Errors
    /// The call that failed.
    fn settle(&mut self) -> Result<(), DeviceError>;
}
