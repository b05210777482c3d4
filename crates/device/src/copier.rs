//! One rank's way to its device: the buffers on both sides, blocking copies, and copies queued behind a
//! latch.
//!
//! The copier owns the host ranges, so that no slice of them can be alive while a driver writes there:
//! [`Copier::source`] and [`Copier::destination`] need `&mut self`, and a copier with work in flight waits
//! for it first. Waiting never hangs on the copier's own latch: whatever waits opens it first, and so does
//! dropping the copier. What could not be waited for is leaked, never lent or freed. [`Copier::into_host`]
//! gives the ranges back, placed and pinned as they are, for the next copier.
//!
//! What only queued copies need (streams, events, the latch) is made by the first [`Copier::hold`], not
//! before: an asynchronous copy from the device makes each later blocking copy of a few bytes in this process
//! a microsecond slower (seen on an H200 with CUDA 13), so a copier that only ever does blocking rounds
//! queues nothing.
//!
//! While one copier's latch holds, no other copier of the same device may be made or dropped by someone that
//! the holder waits for: drivers wait for the whole device when memory is allocated or freed.
//!
//! Device memory is two areas ([`Area`]): `A`, which H2D writes and D2H reads, and `B` (only with
//! `bidirectional`), which D2H reads when both directions move at once, so that the two directions share no
//! byte.

use std::fmt;
use std::ops::Range;

use crate::pattern::BytePattern;
use crate::{DeviceError, HostPair};

/// The most rounds one batch may queue between [`Copier::hold`] and [`Copier::finish`]: their marks are made
/// beforehand.
pub const MAX_ROUNDS: usize = 4096;

/// Which way bytes move in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Host to device: source → A.
    H2d,
    /// Device to host: A → destination.
    D2h,
    /// H2D, then D2H of the same bytes: source → A → destination. Moves twice the size.
    RoundTrip,
    /// Both at once: source → A beside B → destination. Moves twice the size.
    Bidirectional,
}

impl Direction {
    /// As users type it and as documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::H2d => "h2d",
            Self::D2h => "d2h",
            Self::RoundTrip => "roundtrip",
            Self::Bidirectional => "bidir",
        }
    }

    /// How many times the size a round moves.
    pub fn legs(self) -> u64 {
        match self {
            Self::H2d | Self::D2h => 1,
            Self::RoundTrip | Self::Bidirectional => 2,
        }
    }
}

/// What moves the bytes of queued copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CopyBy {
    /// The device's copy engines.
    #[default]
    Engine,
    /// A kernel of loads and stores on the device's multiprocessors.
    Kernel,
    /// The tensor memory accelerator (TMA) of the multiprocessors, which a kernel has copy in bulk.
    Tma,
}

impl CopyBy {
    /// As users type it and as documents name it (nvbandwidth's words).
    pub fn name(self) -> &'static str {
        match self {
            Self::Engine => "ce",
            Self::Kernel => "sm",
            Self::Tma => "tma",
        }
    }

    /// The copies, as errors name them.
    pub fn what(self) -> &'static str {
        match self {
            Self::Engine => "copying by the copy engines",
            Self::Kernel => "copying by a kernel",
            Self::Tma => "copying by TMA",
        }
    }
}

/// A part of a copier's device memory, as long as its host ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// What H2D writes and D2H reads.
    A,
    /// What D2H reads while H2D writes A.
    B,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// When each queued round ended, in nanoseconds since the latch was let go, by the device's clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marks {
    /// Ends of rounds; with [`Direction::Bidirectional`], of its H2D copies.
    pub first_ns: Vec<f64>,
    /// Ends of the D2H copies with [`Direction::Bidirectional`]; empty otherwise.
    pub second_ns: Vec<f64>,
}

/// Moves bytes between one rank's host ranges and its device.
///
/// Every `bytes` must be at least 1 and at most the length of the host ranges; more is a caller's error and
/// is [`DeviceError::Unsupported`], as is a direction whose host range the copier was made without. A batch
/// is `hold`, `enqueue`s, `release`, further `enqueue`s, `finish`.
pub trait Copier {
    /// The host range that H2D reads; empty where the copier was made without. Opens the latch and waits for
    /// copies in flight; empty too where that failed, because a driver may still be at work there. The next
    /// call that can report the failure does.
    fn source(&mut self) -> &mut [u8];

    /// The host range that D2H writes; empty where [`Copier::source`] would be.
    fn destination(&mut self) -> &mut [u8];

    /// The device's side, where it is host memory whose pages can be looked up; `None` for a GPU's own.
    fn device_area(&self) -> Option<&[u8]> {
        None
    }

    /// The addresses of the device's areas in this process: on coherent machines the kernel can be asked
    /// where their pages lie. Nothing may be read or written there. Empty where [`Copier::device_area`] lends
    /// the bytes themselves.
    fn device_addresses(&self) -> Vec<Range<usize>> {
        Vec::new()
    }

    /// Says that another rank of this process uses the same device. Blocking rounds from pinned memory then
    /// wait on a queue of their own: a driver's blocking copies may hold a lock of the device's context, for
    /// which a second thread can wait very long (11 s seen with CUDA 13 on an H200). Where there is no such
    /// lock it changes nothing.
    fn take_turns(&mut self) {}

    /// From now on queued copies are made by a kernel, of loads and stores or of bulk copies, or by the copy
    /// engines again. On coherent links they differ.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where the device runs no such kernel, or the host ranges are not pinned;
    /// or the kernel could not be loaded. The copy engines then copy.
    fn copy_by(&mut self, by: CopyBy) -> Result<(), DeviceError> {
        match by {
            CopyBy::Engine => Ok(()),
            CopyBy::Kernel | CopyBy::Tma => {
                let reason = "this device runs no kernel".to_owned();
                Err(DeviceError::Unsupported { what: by.what(), reason })
            }
        }
    }

    /// Writes these bytes to an area from `offset` on, blocking and untimed.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] beyond the area's end or without that area, or the call that failed.
    fn store(&mut self, area: Area, offset: usize, from: &[u8]) -> Result<(), DeviceError>;

    /// Reads these bytes of an area, blocking and untimed.
    ///
    /// # Errors
    /// As [`Copier::store`].
    fn fetch(&mut self, area: Area, offset: usize, into: &mut [u8]) -> Result<(), DeviceError>;

    /// Copies the first `bytes` of an area to the source, blocking and untimed.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without a source, or as [`Copier::store`].
    fn pull(&mut self, area: Area, bytes: usize) -> Result<(), DeviceError>;

    /// Copies the first `bytes` of the destination to an area, blocking and untimed.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without a destination, or as [`Copier::store`].
    fn push(&mut self, area: Area, bytes: usize) -> Result<(), DeviceError>;

    /// Fills the first `bytes` of an area with a pattern, on the device itself. Returns when it is done.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where [`crate::Capabilities::patterns`] says so, or as [`Copier::store`].
    fn fill(&mut self, area: Area, pattern: BytePattern, bytes: usize) -> Result<(), DeviceError>;

    /// Compares the first `bytes` of an area with a pattern, on the device itself: the offset of the first
    /// word (of 8 bytes) that differs, or `None`. What differs can then be fetched.
    ///
    /// # Errors
    /// As [`Copier::fill`].
    fn compare(&mut self, area: Area, pattern: BytePattern, bytes: usize)
    -> Result<Option<u64>, DeviceError>;

    /// Opens the latch, waits for copies in flight, frees the device's side, and gives the host ranges back
    /// as they are. Where waiting failed it gives nothing back and frees nothing: a driver may still read and
    /// write there.
    fn into_host(self: Box<Self>) -> HostPair;

    /// One round, blocking, as the driver defines it: CUDA's H2D from pageable memory may return when the
    /// last bytes are staged; everything else returns when every byte has arrived. This is what host timing
    /// times, so it holds nothing but the driver's own blocking copy calls. Not for use while the latch
    /// holds.
    ///
    /// # Errors
    /// The call that failed; [`DeviceError::Unsupported`] for [`Direction::Bidirectional`] where it is not
    /// possible.
    fn round(&mut self, direction: Direction, bytes: usize) -> Result<(), DeviceError>;

    /// Closes the latch: what is queued from here on waits for [`Copier::release`]. Ends an earlier batch
    /// (opens its latch, waits for it) and forgets its marks.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where [`crate::Latch::None`] is the capability, or the call that failed.
    fn hold(&mut self) -> Result<(), DeviceError>;

    /// Queues one round of `copies` copies and a mark at its end; pinned memory only. With two legs a copy is
    /// one of each: a round moves `copies × legs × bytes`. Does not block while the latch holds and at most
    /// 128 copies are queued.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for pageable memory, without a `hold` before, beyond [`MAX_ROUNDS`], for
    /// 0 copies, or when [`Direction::Bidirectional`] and another direction meet in one batch; or the call
    /// that failed. Opens the latch.
    fn enqueue(&mut self, direction: Direction, bytes: usize, copies: u32) -> Result<(), DeviceError>;

    /// Opens the latch.
    ///
    /// # Errors
    /// The call that failed.
    fn release(&mut self) -> Result<(), DeviceError>;

    /// How many queued rounds have ended (of both directions, when they move at once). Does not block.
    ///
    /// # Errors
    /// The call that failed: this is where an asynchronous fault of the device first shows.
    fn rounds_ended(&mut self) -> Result<usize, DeviceError>;

    /// Opens the latch if it still holds, waits for everything queued, writes when each round ended, and ends
    /// the batch. Reuses the vectors' memory.
    ///
    /// # Errors
    /// [`DeviceError::TimedOut`] when the latch gave up by itself before [`Copier::release`], so that the
    /// marks mean nothing; or the call that failed.
    fn finish(&mut self, marks: &mut Marks) -> Result<(), DeviceError>;
}
