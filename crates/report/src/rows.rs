//! A document's figures once more as a flat table, a row a rank and case: what one `jq` expression, a
//! spreadsheet or a data frame reads.
//!
//! Everything here is said elsewhere in the document, where it belongs, and is put together by [`rows`]: a
//! reader who wants the evidence goes there, and one who wants a figure needs no join over cases, ranks and
//! devices. Blocks are left out, they are the evidence.

use std::borrow::Cow;
use std::collections::BTreeMap;

use stats::flag::Flag;
use stats::summary::Summary;

use crate::Document;
use crate::case::Case;
use crate::device::{Device, DeviceKind};
use crate::matrix::{Compares, Matrix};
use crate::other_end::all_other_ends;
use crate::quantity::Quantity;
use crate::rank::Rank;
use crate::result::{Outcome, RankResult};
use crate::round_count::RoundCount;
use crate::row::{Row, RowStatus};

/// The rows that a document has, or those of its cases where it was read without.
pub fn rows_of<B>(document: &Document<B>) -> Cow<'_, [Row]> {
    if document.rows.is_empty() { Cow::Owned(rows(document)) } else { Cow::Borrowed(&document.rows) }
}

/// The rows of a document's cases, case by case and rank by rank. A result of a rank that the document does
/// not know has none.
pub fn rows<B>(document: &Document<B>) -> Vec<Row> {
    let facts = RowFacts::of(document);
    let of_case = |case| {
        let count = RoundCount::of(document, case);
        case.ranks.iter().filter_map(|result| facts.row(case, count, result)).collect::<Vec<_>>()
    };
    document.cases.iter().flat_map(of_case).collect()
}

/// What the rows of a document need beside their case and result.
struct RowFacts<'d> {
    command: &'d str,
    ranks: BTreeMap<u32, &'d Rank>,
    devices: BTreeMap<&'d str, &'d Device>,
    matrices: &'d [Matrix],
    other_ends: BTreeMap<u32, String>,
}

impl<'d> RowFacts<'d> {
    fn of<B>(document: &'d Document<B>) -> Self {
        Self {
            command: &document.command,
            ranks: document.ranks.iter().map(|rank| (rank.rank, rank)).collect(),
            devices: document.devices.iter().map(|device| (&device.id[..], device)).collect(),
            matrices: &document.matrices,
            other_ends: all_other_ends(document),
        }
    }

    fn row<B>(&self, case: &Case<B>, count: RoundCount, result: &RankResult<B>) -> Option<Row> {
        let rank = self.ranks.get(&result.rank)?;
        let device = self.devices.get(&rank.asked.device[..]);
        let gpu = device.filter(|device| device.kind == DeviceKind::Gpu);
        let (status, reason) = RowStatus::with_reason(case, result);
        let measured = Measured::of(result).filter(|_| status == RowStatus::Measured);
        let summary = measured.as_ref().map(|measured| measured.summary);
        let [value, value_low, value_high] = summary.map_or([None; 3], |summary| values(count, summary));

        Some(Row {
            case: case.id.clone(),
            order: case.order,
            direction: case.direction,
            bytes: case.bytes,
            memory: case.memory,
            timing: case.timing,
            rank: result.rank,
            host: rank.host.clone(),
            pu: rank.asked.pu,
            memory_node: rank.asked.memory_node,
            memory_spread: rank.asked.spread_in_words(),
            device: rank.asked.device.clone(),
            device_name: device.map(|device| device.name.clone()),
            locality: rank.locality,
            status,
            reason,
            median_ns: summary.map(|summary| summary.median_ns),
            median_low_ns: summary.and_then(|summary| Some(summary.median_interval_ns?.low)),
            median_high_ns: summary.and_then(|summary| Some(summary.median_interval_ns?.high)),
            median_bytes_per_s: summary.map(|summary| summary.median_bytes_per_s),
            bytes_per_s: summary.map(|summary| summary.bytes_per_s),
            percent_of_bound: measured.as_ref().and_then(|measured| measured.percent_of_bound),
            blocks: summary.map(|summary| summary.blocks),
            experiment: self.experiment(result.rank).to_owned(),
            group: case.group.clone(),
            gpu: gpu.map(|gpu| gpu.index),
            uuid: gpu.and_then(|gpu| gpu.uuid.clone()),
            other_device: self.other_ends.get(&result.rank).cloned(),
            quantity: count.quantity,
            value,
            value_low,
            value_high,
            unit: count.quantity.unit(),
            flags: measured.map_or_else(Vec::new, |measured| measured.flags.to_vec()),
        })
    }

    /// The measurement that a rank took part in. The parts of a suite have ranks of their own, and each of
    /// these stands in the part's matrices.
    fn experiment(&self, rank: u32) -> &'d str {
        if self.command != "suite" {
            return self.command;
        }
        let stands_in = |matrix: &&Matrix| matrix.rows.iter().any(|row| row.ranks.contains(rank));
        self.matrices.iter().find(stands_in).map_or(self.command, |matrix| part_name(matrix.compares))
    }
}

/// The command whose matrix compares so.
fn part_name(compares: Compares) -> &'static str {
    match compares {
        Compares::Rows | Compares::Columns => "matrix",
        Compares::Pairs => "peer",
        Compares::Load | Compares::Beside | Compares::LeaveOneOut | Compares::Together => "contend",
        Compares::Cores | Compares::Loaded => "latency",
        Compares::Newer => "suite",
    }
}

/// What is known of a rank's case that was measured.
struct Measured<'r> {
    summary: &'r Summary,
    percent_of_bound: Option<f64>,
    flags: &'r [Flag],
}

impl<'r> Measured<'r> {
    fn of<B>(result: &'r RankResult<B>) -> Option<Self> {
        match &result.outcome {
            Outcome::Measured { summary, percent_of_bound, flags, .. } => {
                Some(Self { summary, percent_of_bound: *percent_of_bound, flags })
            }
            _ => None,
        }
    }
}

/// The figure of the median block and the ends of its 95 % interval. The ends of a rate are those of the time
/// the other way round.
fn values(count: RoundCount, summary: &Summary) -> [Option<f64>; 3] {
    let median = summary.median_ns;
    let value = count.value(median, summary.median_bytes_per_s);
    let Some(interval) = summary.median_interval_ns else { return [Some(value), None, None] };
    let ends = match count.quantity {
        Quantity::Latency => (interval.low, interval.high),
        _ => (value * median / interval.high, value * median / interval.low),
    };
    [Some(value), Some(ends.0), Some(ends.1)]
}
