//! Copies between the memories of two devices: one device's area to the other's, blocking, or queued behind a
//! latch as a [`crate::Copier`]'s. Both ends may be one device, which then copies within its own memory; that
//! is always [`PeerPath::Direct`].
//!
//! Either device can do the work, by its copy engine or by a kernel: the source's writes to the other
//! ([`PeerEnd::Source`]), or the destination's reads from it. The two differ on most links, so that both are
//! measured. Where the devices cannot reach each other, the driver stages the copy through host memory;
//! [`PeerCopier::path`] says which it is.

use crate::{BytePattern, CopyBy, DeviceError, WrongByte};

/// One end of a copy between devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeerEnd {
    /// Where the bytes come from.
    Source,
    /// Where they go.
    Destination,
}

/// How bytes go from one device to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerPath {
    /// The device that copies reaches the other one's memory itself.
    Direct,
    /// It cannot: the driver stages the copy through host memory.
    Staged,
}

impl PeerPath {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Staged => "staged",
        }
    }
}

/// An area on each of two devices, or two on one, and copies from one to the other.
///
/// `bytes` must be at least 1 and at most the area's length; more is [`DeviceError::Unsupported`]. A batch is
/// `hold`, `enqueue`s, `release`, further `enqueue`s, `finish`, as in [`crate::Copier`]; what waits opens the
/// latch first, and what could not be waited for is leaked.
pub trait PeerCopier {
    /// How the bytes go.
    fn path(&self) -> PeerPath;

    /// From now on copies are made by a kernel on the device that copies, of loads and stores or of bulk
    /// copies, or by its copy engines again.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where that device runs no such kernel or cannot reach the other one's
    /// memory; or the kernel could not be loaded.
    fn copy_by(&mut self, by: CopyBy) -> Result<(), DeviceError>;

    /// Fills the first `bytes` of an end's area with a pattern: on the device where it can, else from the
    /// host. Untimed.
    ///
    /// # Errors
    /// The call that failed.
    fn fill(&mut self, end: PeerEnd, pattern: BytePattern, bytes: usize) -> Result<(), DeviceError>;

    /// Compares the first `bytes` at the destination with a pattern: the first byte that differs. Untimed.
    ///
    /// # Errors
    /// The call that failed.
    fn compare(&mut self, pattern: BytePattern, bytes: usize) -> Result<Option<WrongByte>, DeviceError>;

    /// One copy, waited for.
    ///
    /// # Errors
    /// The call that failed.
    fn round(&mut self, bytes: usize) -> Result<(), DeviceError>;

    /// Closes the latch.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without a latch, or the call that failed.
    fn hold(&mut self) -> Result<(), DeviceError>;

    /// Queues `copies` copies and a mark at their end.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without a `hold` before, or the call that failed. Opens the latch.
    fn enqueue(&mut self, bytes: usize, copies: u32) -> Result<(), DeviceError>;

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
