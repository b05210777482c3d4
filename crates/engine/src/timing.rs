//! How a round is timed: by which clock, on how many timelines.
//!
//! Words that the engine, its documents and every kind of work share. Left out: timing itself (`measure`).

use serde::{Deserialize, Serialize};

/// The clock a case is timed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// The node's clock around blocking rounds: what an application sees.
    Host,
    /// The device's clock around rounds queued behind a latch: what the link does.
    Device,
}

/// How many timelines a round has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// One.
    One,
    /// Two at once, each with marks of its own (both directions of a link).
    Two,
}
