//! What a rank is to get of a pool's cores, before anybody has any.

use std::rc::Rc;

use super::cost::Cost;

/// What a rank is to get.
pub(super) struct Wish {
    /// Its own part of the cores.
    pub(super) part: Vec<usize>,
    /// Those who need the same have the same number.
    pub(super) group: usize,
    /// How far each core of the pool is from what the rank needs.
    pub(super) costs: Rc<[Cost]>,
}
