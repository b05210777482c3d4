//! What was asked for, checked for form but not yet held against the machine.

use stats::IdList;

use crate::{Membind, Remedies, Selection, Target};

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
