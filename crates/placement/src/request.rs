//! What was asked for, checked for form but not yet held against the machine.

use stats::IdList;

use crate::Target;

/// Where a rank's host memory is to lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Membind {
    /// On the node of the rank's own PU.
    #[default]
    Local,
    /// On this node, for every rank.
    Node(u32),
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// One PU for each rank; `None` lets the plan choose.
    pub cpus: Option<IdList>,
    /// One target for each rank, already resolved; `None` takes as many as there are PUs asked for, or all.
    pub targets: Option<Vec<Target>>,
    /// What there is to choose from.
    pub available: Vec<Target>,
    /// Where host memory is to lie.
    pub membind: Membind,
}
