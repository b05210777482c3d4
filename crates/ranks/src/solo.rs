//! A group of one: every wait is over at once.

use crate::{Aborted, Ranks};

/// The only member of its group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Solo;

impl Ranks for Solo {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn max(&self, value: u64) -> Result<u64, Aborted> {
        Ok(value)
    }

    fn arrive(&self) {}

    fn all_arrived(&self) -> bool {
        true
    }

    fn abort(&self) {}
}
