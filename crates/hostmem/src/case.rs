//! A case: what ranks do with the memory of one node, and how often.

use engine::Order;

use crate::pace::Pace;

/// What a rank does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Reads every word of its range.
    Read,
    /// Writes every word of its range.
    Write,
    /// Copies one range to another; counted as STREAM counts it, bytes read and bytes written.
    Copy,
    /// Loads one cache line after the other, each address from the line before, in random order over its
    /// range.
    Load,
}

impl Access {
    /// As users type it and as documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Copy => "copy",
            Self::Load => "load",
        }
    }
}

/// A case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficCase {
    /// What each rank does.
    pub access: Access,
    /// The range of each rank, bytes.
    pub bytes: usize,
    /// The NUMA node of the ranges, OS index.
    pub node: u32,
    /// Whether the ranks are at it at once.
    pub order: Order,
    /// The ranks that take part.
    pub ranks: Vec<usize>,
    /// How often a rank reads, writes or copies a burst; `None` for whole slices without a pause.
    pub pace: Option<Pace>,
}
