//! A rank's part in one plane: of all ranks, or of the first so many where several numbers are compared.

use engine::{ObservedPlacement, PageCheck};

use crate::fault::LaplaceFault;
use crate::grid::{LaplaceGrid, Solution};
use crate::memory::LaplaceMemory;

/// A rank's part in one plane.
pub struct RankPlane {
    /// The first so many ranks have it; `None`: all.
    pub ranks: Option<usize>,
    /// The plane.
    pub grid: LaplaceGrid,
    /// The rank's rows; `None` where it has none.
    pub memory: Option<LaplaceMemory>,
}

/// Where the thread and its rows of all planes are.
pub(crate) fn look(
    planes: &mut [RankPlane],
    how: PageCheck,
) -> Result<(ObservedPlacement, Option<String>), LaplaceFault> {
    let mut together: Option<(ObservedPlacement, Option<String>)> = None;
    for memory in planes.iter_mut().filter_map(|plane| plane.memory.as_mut()) {
        let (seen, mismatch) = memory.look(how)?;
        together = Some(match together {
            None => (seen, mismatch),
            Some((mut all, first)) => {
                all.pages.merge(seen.pages);
                (all, first.or(mismatch))
            }
        });
    }
    together.map_or_else(|| Ok((ObservedPlacement::thread()?, None)), Ok)
}

/// What every cell of each plane is.
pub(crate) fn solutions(planes: &[RankPlane]) -> Vec<Solution> {
    planes.iter().map(|plane| Solution::new(plane.grid)).collect()
}
