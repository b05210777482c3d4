//! A device that answers the CPU over flags in pinned host memory: each round trip is a value that the CPU
//! writes, the device sees and gives back.
//!
//! The device's kernel runs from [`Answerer::start`] to [`Answerer::stop`] and looks at the question without
//! a pause. So a round trip has no launch and no call of a driver in it: what it costs is one write and one
//! read of the other side's memory on each way.

use crate::{DeviceError, HostMemory};

/// Where the answer stands behind the question, bytes: in another line of memory, and CPUs fetch neighbours.
pub const ANSWER_BEHIND: usize = 256;
/// What a question and its answer take, bytes.
pub const QUESTION_BYTES: usize = 2 * ANSWER_BEHIND;

/// A device that answers over one range of pinned host memory.
pub trait Answerer {
    /// The range. Empty while the device answers.
    fn memory(&mut self) -> &mut [u8];

    /// Gives the memory back, pinned as it is; `None` where the device could not be waited for.
    fn into_host(self: Box<Self>) -> Option<Box<dyn HostMemory>>;

    /// Has the device answer over the words at `offset` (the question) and [`ANSWER_BEHIND`] behind it (the
    /// answer).
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] beyond the range or where it answers already, or the call that failed.
    fn start(&mut self, offset: usize) -> Result<(), DeviceError>;

    /// So many round trips, one after the other.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where it does not answer; [`DeviceError::TimedOut`] where an answer did
    /// not come within ten seconds; [`DeviceError::NotAsked`] where it gave up waiting for a question.
    fn trips(&mut self, count: u32) -> Result<(), DeviceError>;

    /// Has the device stop, waits for it, and gives the number of the last question that it answered: of the
    /// first it is 1.
    ///
    /// # Errors
    /// The call that failed.
    fn stop(&mut self) -> Result<u64, DeviceError>;
}
