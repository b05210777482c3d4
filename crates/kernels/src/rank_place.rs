//! Where a rank of a suite is, and the first device that it measures, opened there.

use std::sync::Arc;

use device::Platform;
use engine::{Failure, Stage};
use pingpong::Devices;
use placement::TargetId;

/// One rank's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankPlace {
    /// The rank.
    pub rank: usize,
    /// Its PU, OS index.
    pub pu: u32,
    /// The NUMA node of its memory, OS index.
    pub node: u32,
}

/// The place of a rank, and its devices, of which that of its first case is open. `cases` are the rank and
/// the device of each.
///
/// # Errors
/// The rank has no place, or the device cannot be opened.
pub(crate) fn opened(
    places: &[RankPlace],
    mut cases: impl Iterator<Item = (usize, TargetId)>,
    rank: usize,
    platform: &Arc<dyn Platform>,
) -> Result<(RankPlace, Devices), Failure> {
    let own = places.iter().find(|place| place.rank == rank).copied();
    let place = own.ok_or_else(|| Failure::new(Stage::Open, format!("rank {rank} has no place here")))?;
    let first = cases.find(|(other, _)| *other == rank).map(|(_, target)| target);
    Ok((place, Devices::new(platform, first)?))
}
