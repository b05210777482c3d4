//! The latch behind which a device is timed: a device says which it has, a measurement whether it may queue,
//! a document which it was.

use serde::{Deserialize, Serialize};

/// How queued rounds are held back on a device until the whole queue is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Latch {
    /// The driver's stream-memory wait on a pinned flag (cuStreamWaitValue32 / hipStreamWaitValue32).
    StreamWait,
    /// A kernel that spins on the flag, with a timeout.
    SpinKernel,
    /// None: only host timing is possible.
    None {
        /// Why.
        reason: String,
    },
}

impl Latch {
    /// As documents name it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::StreamWait => "stream-wait",
            Self::SpinKernel => "spin-kernel",
            Self::None { .. } => "none",
        }
    }
}
