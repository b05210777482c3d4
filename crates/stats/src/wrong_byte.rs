//! The first byte that is not as it was sent: what a comparison of memory comes to, for devices, measurements
//! and documents alike.

use serde::{Deserialize, Serialize};

/// The first byte that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongByte {
    /// Offset in bytes from the start of the range that was compared.
    pub offset: u64,
    /// The byte that should be there.
    pub expected: u8,
    /// The byte found.
    pub got: u8,
}
