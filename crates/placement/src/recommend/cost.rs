//! How far a core is from what a rank needs, as one number.
//!
//! A number, because placements of whole nodes are compared: by their ranks that are not near, then by those
//! on another package, then closeness by closeness; and of plans that are equal in these, by the ranks away
//! from the GPU's local PUs, then by the firmware's distances. Each of these has a field that no sum over a
//! node's ranks ([`super::MOST_RANKS`]) overflows, so that sums compare as the list of them would.

use super::domain::Origin;
use super::pool::Pool;
use crate::default_pu::local_pus;
use crate::{Closeness, TargetId};

/// How far; the smaller, the nearer. Zero where it does not matter, or nobody knows.
pub(super) type Cost = i128;

/// Above every sum of costs: what must be used is used first.
pub(super) const MUST: Cost = 1 << 112;

/// What a closeness further costs; all that tells cores of one closeness apart is less.
const RUNG: Cost = 1 << 44;

/// A distance above this is as good as this.
const FARTHEST: u64 = 0xffff;

/// The distance of each core of the pool from a target.
pub(super) fn costs(pool: &Pool<'_>, target: TargetId) -> Vec<Cost> {
    let Some(local) = local_pus(pool.topology, target) else { return vec![0; pool.cores.len()] };
    let origin = Origin::of(pool.topology, target);
    // Verdicts are of nodes and L3s: cores that agree in these and in being local agree in all.
    let mut known = std::collections::BTreeMap::new();
    (0..pool.cores.len())
        .map(|core| {
            let is_local = pool.core(core).iter().any(|pu| local.contains(pu));
            let key = (pool.cores[core].node, pool.cores[core].l3, pool.package(core), is_local);
            *known.entry(key).or_insert_with(|| cost(pool, &origin, core))
        })
        .collect()
}

/// The cost without what tells cores of one closeness apart.
pub(super) fn by_closeness(cost: Cost) -> Cost {
    cost / RUNG * RUNG
}

fn cost(pool: &Pool<'_>, origin: &Origin, core: usize) -> Cost {
    let (is_outside, closeness, distance) = origin.distance_to(pool, core);
    if closeness == Closeness::Unknown {
        return 0;
    }
    let is_away = closeness > Closeness::NumaLocal;
    let is_remote = closeness == Closeness::Remote;
    (Cost::from(is_away) << 96)
        | (Cost::from(is_remote) << 80)
        | ((closeness as Cost) * RUNG)
        | (Cost::from(is_outside) << 30)
        | Cost::from(distance.min(FARTHEST))
}
