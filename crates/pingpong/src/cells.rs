//! Where copies run if not each rank in its own place: a rank's PU stays, its memory's node and its device
//! may change from case to case.

use placement::{RankPlan, TargetId};

/// The two ends of a rank's copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyEnds {
    /// The node of the host memory.
    pub memory_node: u32,
    /// The device.
    pub target: TargetId,
}

impl CopyEnds {
    /// The place that a plan gives a rank.
    pub fn of(plan: &RankPlan) -> Self {
        Self { memory_node: plan.memory_node, target: plan.target.id }
    }
}

/// Who takes part in a case, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cells {
    /// Every rank, in its own place.
    Own,
    /// These ranks, each in its own place.
    Members(Vec<usize>),
    /// One rank, with these ends.
    One {
        /// The rank.
        rank: usize,
        /// The ends.
        cell: CopyEnds,
    },
}

impl Cells {
    /// The ranks that take part; `None` for all.
    pub fn members(&self) -> Option<Vec<usize>> {
        match self {
            Self::Own => None,
            Self::Members(members) => Some(members.clone()),
            Self::One { rank, .. } => Some(vec![*rank]),
        }
    }
}
