//! The objects that mpirun maps ranks to, and which of them each rank gets.

use stats::IdSet;

use super::options::By;
use crate::objects::JobMachine;

/// The objects of a kind.
pub(crate) fn objects_of(machine: &JobMachine<'_>, by: By) -> Vec<IdSet> {
    match by {
        By::Node => vec![machine.pus.clone()],
        By::Part(part) => machine.parts(part),
    }
}

/// The object of each rank: round and round, or one object filled before the next; `None` where there is
/// none.
pub(crate) fn order(objects: usize, per_object: Option<usize>, ranks: usize) -> Option<Vec<usize>> {
    if objects == 0 {
        return None;
    }
    Some(
        (0..ranks)
            .map(|rank| per_object.map_or(rank % objects, |each| rank / each.max(1) % objects))
            .collect(),
    )
}
