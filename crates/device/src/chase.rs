//! Loads that depend on each other: a device follows a chain through host memory or another device's, and
//! each step is one load's latency.
//!
//! The chain is in the memory itself. The first 8 bytes of each of its lines hold the offset of the next
//! line, little-endian, from the start of the range; the chase begins at offset 0 and goes on, from round to
//! round, where the one before it ended ([`Chaser::at`]). So the caller can walk the same chain on the host
//! and prove that the device made every step.

use crate::{DeviceError, HostMemory};

/// A device that follows a chain through one range: of pinned host memory ([`crate::Device::chaser`]), or of
/// another device's memory ([`crate::Device::peer_chaser`]).
///
/// A batch is `hold`, `enqueue`s, `release`, further `enqueue`s, `finish`, as in [`crate::Copier`].
pub trait Chaser {
    /// The range of host memory. Waits for what is queued; empty where that failed, and where the range is
    /// another device's.
    fn memory(&mut self) -> &mut [u8];

    /// Gives the host memory back, pinned as it is; `None` where there is none, or what is queued could not
    /// be waited for.
    fn into_host(self: Box<Self>) -> Option<Box<dyn HostMemory>>;

    /// The offset that the chase has come to. Waits for what is queued.
    ///
    /// # Errors
    /// The call that failed.
    fn at(&mut self) -> Result<u64, DeviceError>;

    /// Goes on from this offset, which must be a line's. Waits for what is queued.
    ///
    /// # Errors
    /// The call that failed.
    fn start_at(&mut self, offset: u64) -> Result<(), DeviceError>;

    /// So many steps, waited for.
    ///
    /// # Errors
    /// The call that failed.
    fn round(&mut self, steps: u64) -> Result<(), DeviceError>;

    /// Closes the latch.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without a latch, or the call that failed.
    fn hold(&mut self) -> Result<(), DeviceError>;

    /// Queues `rounds` times so many steps, and a mark at their end.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without a `hold` before, or the call that failed. Opens the latch.
    fn enqueue(&mut self, steps: u64, rounds: u32) -> Result<(), DeviceError>;

    /// Opens the latch.
    ///
    /// # Errors
    /// The call that failed.
    fn release(&mut self) -> Result<(), DeviceError>;

    /// How many marks have been reached. Does not block.
    ///
    /// # Errors
    /// The call that failed.
    fn rounds_ended(&mut self) -> Result<usize, DeviceError>;

    /// Waits for everything queued, and writes when each mark was reached, nanoseconds after the release.
    ///
    /// # Errors
    /// [`DeviceError::TimedOut`] when the latch gave up before the release; or the call that failed.
    fn finish(&mut self, ends_ns: &mut Vec<f64>) -> Result<(), DeviceError>;
}
