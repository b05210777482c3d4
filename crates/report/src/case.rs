//! A case: one order, direction, size and kind of memory, and what it gave on each rank.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::touch::Touch;

use crate::Known;
use crate::contention::{Aggregate, NodeAggregate};
use crate::json::{from_word, word};
use crate::outlier_node::{OutlierNode, not_judged};
use crate::result::{BlockSample, Outcome, RankResult};
use crate::settings::{Direction, MemoryKind};

/// A case.
// `B` is what is kept of a block (`block`). No doc comment: those are the schema's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Case")]
pub struct Case<B = BlockSample> {
    /// Its name, made of its axes and so equal in every run that has it, e.g.
    /// `simultaneous/pinned/h2d/134217728`, and `/` and its `group` where it has one.
    pub id: String,
    /// Whether the ranks ran at once.
    pub order: Order,
    /// Which way the bytes moved.
    pub direction: Direction,
    /// The size of one copy, bytes; a round of `roundtrip` and `bidir` moves twice as many.
    pub bytes: u64,
    /// The kind of host memory.
    pub memory: MemoryKind,
    /// Who takes part, where that is not every rank in its own place: its row of the matrix, or the GPUs that
    /// were at it at once. Null for all.
    #[serde(default)]
    #[schemars(extend("since" = "1.3"))]
    pub group: Option<String>,
    /// The range that the CPU's accesses went over on each rank, bytes; null for copies to and from devices.
    #[serde(default)]
    #[schemars(extend("since" = "1.3"))]
    pub range_bytes: Option<u64>,
    /// The clock that timed it.
    pub timing: Timing,
    /// How it went over all ranks.
    pub status: CaseStatus,
    /// Why, in words, where it is a matter of the whole case: the overlap was too small, the time was up
    /// before it began.
    pub reason: Option<String>,
    /// What each rank gave.
    pub ranks: Vec<RankResult<B>>,
    /// The part of the case in which all ranks of a node were copying, 0..1, the least of all nodes; null
    /// when they did not run at once.
    pub overlap: Option<f64>,
    /// The largest distance between the starts of two ranks of a node in one block, ns, the most of all
    /// nodes; null when they did not run at once.
    pub start_skew_ns: Option<f64>,
    /// The rates of all measured ranks together; null when they did not run at once, or none was measured.
    pub aggregate: Option<Aggregate>,
    /// The rates of each node's ranks together, in the order of nodes; empty when they did not run at once.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub nodes: Vec<NodeAggregate>,
    /// Nodes and ranks whose rate is far from that of the others; null where there are too few to tell.
    #[serde(default = "not_judged")]
    #[schemars(extend("since" = "1.1"))]
    pub outlier_nodes: Known<Vec<OutlierNode>>,
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

impl<B> Case<B> {
    /// How it touches memory, where its memory's pages go to whoever touches them.
    pub fn touch(&self) -> Option<Touch> {
        self.group.as_deref().filter(|_| self.memory.moves()).and_then(Touch::named)
    }
}

impl Case {
    /// The id that these axes make, in the document's own names for them.
    pub fn id_for(order: Order, memory: MemoryKind, direction: Direction, bytes: u64) -> String {
        format!("{}/{}/{}/{bytes}", word(&order), word(&memory), word(&direction))
    }
}

/// The axes that an id names, and the group behind them.
pub type Axes<'i> = (Order, MemoryKind, Direction, u64, Option<&'i str>);

/// The axes of an id of [`Case::id_for`]; `None` of another text.
pub fn axes(id: &str) -> Option<Axes<'_>> {
    let mut words = id.splitn(5, '/');
    let mut next = || words.next();
    let (order, memory, direction) = (from_word(next()?)?, from_word(next()?)?, from_word(next()?)?);
    let is_known = order != Order::Newer && memory != MemoryKind::Newer && direction != Direction::Newer;
    let bytes = next()?.parse().ok()?;
    is_known.then_some((order, memory, direction, bytes, words.next()))
}

impl CaseStatus {
    /// The status that ranks' outcomes give a case: corrupt data on one rank makes the case corrupt;
    /// otherwise measured or partial if a rank was measured, else the worst of failed, invalid and skipped.
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

#[cfg(test)]
mod tests {
    use super::*;
    use stats::stage::Stage;

    use crate::result::Verification;

    #[test]
    fn an_id_is_made_of_the_axes_as_the_document_names_them() {
        let id =
            Case::id_for(Order::Simultaneous, MemoryKind::PinnedDriver, Direction::RoundTrip, 134_217_728);
        assert_eq!(id, "simultaneous/pinned-driver/roundtrip/134217728");
        assert_eq!(
            Case::id_for(Order::Alone, MemoryKind::Pinned, Direction::Bidirectional, 4),
            "alone/pinned/bidir/4"
        );
    }

    #[test]
    fn the_axes_are_read_back_from_an_id_and_from_nothing_else() {
        let known = (Order::Alone, MemoryKind::Pinned, Direction::H2d, 4096);
        assert_eq!(axes("alone/pinned/h2d/4096"), Some((known.0, known.1, known.2, known.3, None)));
        let grouped = axes("alone/pinned/h2d/4096/node 0/sm");
        assert_eq!(grouped, Some((known.0, known.1, known.2, known.3, Some("node 0/sm"))));
        for other in
            ["", "alone/pinned/h2d", "alone/pinned/sideways/4", "never/pinned/h2d/4", "alone/pinned/h2d/4 B"]
        {
            assert_eq!(axes(other), None, "{other}");
        }
    }

    #[test]
    fn a_case_is_as_bad_as_its_ranks_make_it() {
        let skipped = || Outcome::Skipped { reason: String::new() };
        let invalid = || Outcome::Invalid { reason: String::new() };
        let corrupt = || Outcome::Corrupt { reason: String::new() };
        let failed =
            || Outcome::Failed { stage: Stage::Open, call: None, code: None, message: String::new() };
        let status = |outcomes: Vec<Outcome>| {
            CaseStatus::of_ranks(&outcomes.into_iter().map(result).collect::<Vec<_>>())
        };
        assert_eq!(status(vec![]), CaseStatus::Skipped);
        assert_eq!(status(vec![skipped(), skipped()]), CaseStatus::Skipped);
        assert_eq!(status(vec![skipped(), invalid()]), CaseStatus::Invalid);
        assert_eq!(status(vec![skipped(), invalid(), failed()]), CaseStatus::Failed);
        assert_eq!(status(vec![measured(), failed()]), CaseStatus::Partial);
        assert_eq!(status(vec![measured(), measured()]), CaseStatus::Measured);
        assert_eq!(status(vec![measured(), corrupt(), failed()]), CaseStatus::Corrupt);
    }

    fn result(outcome: Outcome) -> RankResult {
        let verification = Verification {
            checked: false,
            reason: None,
            blocks_checked: 0,
            bytes_checked: 0,
            mismatch: None,
        };

        RankResult {
            rank: 0,
            outcome,
            seen_before: None,
            seen_after: None,
            verification,
            blocks: Vec::new(),
            host_round_ns: Vec::new(),
            away: Vec::new(),
        }
    }

    fn measured() -> Outcome {
        let block =
            stats::sample::Block { elapsed_ns: 1.0, bytes: 1, round_ns: vec![1.0], ..Default::default() };
        stats::summary::summarize(&[block]).map_or(Outcome::Newer, |summary| Outcome::Measured {
            summary: Box::new(summary),
            percent_of_bound: None,
            stop_reason: stats::stop::StopReason::Fixed,
            flags: Vec::new(),
        })
    }
}
