//! The host ranges that a copier owns: what copies to the device read, and what copies from it write.
//!
//! A file of its own, because a device makes copiers of them and a copier gives them back.

use crate::{DeviceError, HostMemory};

/// The host ranges of a copier: at least one; equal lengths where there are two. One direction needs one
/// range only.
#[derive(Default)]
pub struct HostPair {
    /// Copies to the device read here.
    pub source: Option<Box<dyn HostMemory>>,
    /// Copies from the device write here.
    pub destination: Option<Box<dyn HostMemory>>,
}

impl HostPair {
    /// The ranges there are.
    pub fn ranges(&self) -> impl Iterator<Item = &dyn HostMemory> {
        [&self.source, &self.destination].into_iter().flatten().map(|range| &**range)
    }

    /// The length that the ranges have in common.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without a range, for ranges of unequal lengths, or of none.
    pub fn common_len(&self) -> Result<usize, DeviceError> {
        let lens: Vec<usize> = self.ranges().map(|range| range.bytes().len()).collect();
        match lens[..] {
            [len] | [len, _] if len > 0 && lens.iter().all(|other| *other == len) => Ok(len),
            _ => Err(DeviceError::Unsupported {
                what: "a copier of these host ranges",
                reason: format!(
                    "the ranges have {lens:?} bytes; at least one is needed, and two must have the same \
                     length, at least 1"
                ),
            }),
        }
    }
}
