//! A case: one order, direction, size and kind of memory, and what it gave on each rank.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contention::Aggregate;
use crate::result::{Outcome, RankResult};
use crate::settings::{Direction, MemoryKind};

/// A case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// Its name, made of its axes and so equal in every run that has it, e.g. `simultaneous/pinned/h2d/134217728`.
    pub id: String,
    /// Whether the ranks ran at once.
    pub order: Order,
    /// Which way the bytes moved.
    pub direction: Direction,
    /// The size of one copy, bytes; a round of `roundtrip` and `bidir` moves twice as many.
    pub bytes: u64,
    /// The kind of host memory.
    pub memory: MemoryKind,
    /// The clock that timed it.
    pub timing: Timing,
    /// How it went over all ranks.
    pub status: CaseStatus,
    /// Why, in words, where it is a matter of the whole case: the overlap was too small, the time was up before it began.
    pub reason: Option<String>,
    /// What each rank gave.
    pub ranks: Vec<RankResult>,
    /// The part of the case in which all ranks were copying, 0..1; null when they did not run at once.
    pub overlap: Option<f64>,
    /// The largest distance between the starts of two ranks in one block, ns; null when they did not run at once.
    pub start_skew_ns: Option<f64>,
    /// The rates of all measured ranks together; null when they did not run at once, or none was measured.
    pub aggregate: Option<Aggregate>,
}

/// Whether ranks run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// All ranks at once.
    Simultaneous,
    /// One rank after the other, each with the machine to itself.
    Alone,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// The clock that timed a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// The node's monotonic clock around blocking copies: what an application sees.
    Host,
    /// The device's own clock, copies queued behind the device's latch.
    Device,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// How a case went over all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CaseStatus {
    /// Every rank was measured.
    Measured,
    /// Some ranks were measured.
    Partial,
    /// No rank was measured, and none of them failed: it was not possible, or not reached.
    Skipped,
    /// No rank was measured, and at least one failed.
    Failed,
    /// It ran, and what it gave must not be taken for a number.
    Invalid,
    /// Bytes arrived on some rank that were not sent.
    Corrupt,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl CaseStatus {
    /// The status that ranks' outcomes give a case: corrupt data on one rank makes the case corrupt; otherwise measured or
    /// partial if a rank was measured, else the worst of failed, invalid and skipped.
    pub fn of_ranks(ranks: &[RankResult]) -> Self {
        let has = |wanted: fn(&Outcome) -> bool| ranks.iter().any(|rank| wanted(&rank.outcome));
        let measured = ranks.iter().filter(|rank| rank.summary().is_some()).count();
        if has(|outcome| matches!(outcome, Outcome::Corrupt { .. })) {
            Self::Corrupt
        } else if measured > 0 {
            if measured == ranks.len() { Self::Measured } else { Self::Partial }
        } else if has(|outcome| matches!(outcome, Outcome::Failed { .. })) {
            Self::Failed
        } else if has(|outcome| matches!(outcome, Outcome::Invalid { .. })) {
            Self::Invalid
        } else {
            Self::Skipped
        }
    }
}
