//! One rank's way to its device: the buffers on both sides, blocking copies, and copies queued behind a latch.
//!
//! The copier owns the host ranges, so that no slice of them can be alive while a driver writes there: [`Copier::source`]
//! and [`Copier::destination`] need `&mut self`, and a copier with work in flight waits for it first.
//!
//! Device memory is two areas: `A`, which H2D writes and D2H reads, and `B` (only with `bidirectional`), which D2H reads
//! when both directions move at once, so that the two directions share no byte.

use std::fmt;

use crate::DeviceError;

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
/// Every `bytes` must be at least 1 and at most the length of the host ranges; more is a caller's error and is
/// [`DeviceError::Unsupported`].
pub trait Copier {
    /// The host range that H2D reads. Waits for copies in flight.
    fn source(&mut self) -> &mut [u8];

    /// The host range that D2H writes. Waits for copies in flight.
    fn destination(&mut self) -> &mut [u8];

    /// Source → B, blocking and untimed: what D2H will read in [`Direction::Bidirectional`].
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without `bidirectional`, or the call that failed.
    fn preload(&mut self, bytes: usize) -> Result<(), DeviceError>;

    /// One round, blocking: returns when every byte has arrived. This is what host timing times, so it holds nothing but
    /// the driver's own blocking copy calls.
    ///
    /// # Errors
    /// The call that failed; [`DeviceError::Unsupported`] for [`Direction::Bidirectional`] where it is not possible.
    fn round(&mut self, direction: Direction, bytes: usize) -> Result<(), DeviceError>;

    /// Closes the latch: what is queued from here on waits for [`Copier::release`]. Forgets the marks of an earlier batch.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where [`crate::Latch::None`] is the capability, or the call that failed.
    fn hold(&mut self) -> Result<(), DeviceError>;

    /// Queues one round of `copies` copies and a mark at its end; pinned memory only. Does not block while the latch holds and
    /// at most 128 copies are queued.
    ///
    /// # Errors
    /// The call that failed.
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

    /// Waits for everything queued and writes when each round ended. Reuses the vectors' memory.
    ///
    /// # Errors
    /// The call that failed.
    fn finish(&mut self, marks: &mut Marks) -> Result<(), DeviceError>;
}
