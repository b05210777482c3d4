//! What was asked for, checked for form but not yet held against the machine.

use stats::IdList;

use crate::{Remedies, Selection, Target};

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

/// What was asked of the launched processes of a node: process i takes the i-th of each list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRequest {
    /// One PU for each process; `None` lets the plan choose.
    pub cpus: Option<IdList>,
    /// One device for each process, as named; `None` and `all` let the plan choose.
    pub gpus: Option<Selection>,
    /// Where host memory is to lie.
    pub membind: Membind,
    /// What refusals say to change.
    pub remedies: Remedies,
}
