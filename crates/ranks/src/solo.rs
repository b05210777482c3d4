//! A group of one: every wait is over at once.

use crate::{Aborted, Ranks, VALUES};

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

    fn max_of_each(&self, values: [u64; VALUES]) -> Result<[u64; VALUES], Aborted> {
        Ok(values)
    }

    fn arrive(&self) {}

    fn all_arrived(&self) -> bool {
        true
    }

    fn abort(&self) {}
}
