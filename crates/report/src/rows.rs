//! A document's figures once more as a flat table, a row a rank and case: what one `jq` expression, a spreadsheet or a data frame reads.
//!
//! Everything here is said elsewhere in the document, where it belongs, and is put together by [`rows`]: a reader who wants the evidence
//! goes there, and one who wants a figure needs no join over cases, ranks and devices. Blocks are left out, they are the evidence.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::Document;
use crate::case::Case;
use crate::result::{Outcome, RankResult};
use crate::row::{Row, RowStatus};

/// The rows that a document has, or those of its cases where it was read without.
pub fn rows_of<B>(document: &Document<B>) -> Cow<'_, [Row]> {
    if document.rows.is_empty() { Cow::Owned(rows(document)) } else { Cow::Borrowed(&document.rows) }
}

/// The rows of a document's cases, case by case and rank by rank. A result of a rank that the document does not know has none.
pub fn rows<B>(document: &Document<B>) -> Vec<Row> {
    let ranks: BTreeMap<u32, _> = document.ranks.iter().map(|rank| (rank.rank, rank)).collect();
    let names: BTreeMap<&str, &str> =
        document.devices.iter().map(|device| (&device.id[..], &device.name[..])).collect();
    let results = document.cases.iter().flat_map(|case| case.ranks.iter().map(move |result| (case, result)));
    let row = |(case, result): (&Case<B>, &RankResult<B>)| {
        let rank = ranks.get(&result.rank)?;
        let (status, reason) = RowStatus::with_reason(case, result);
        let summary = result.summary().filter(|_| status == RowStatus::Measured);
        let percent_of_bound = match &result.outcome {
            Outcome::Measured { percent_of_bound, .. } if status == RowStatus::Measured => *percent_of_bound,
            _ => None,
        };
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
            device: rank.asked.device.clone(),
            device_name: names.get(&rank.asked.device[..]).map(|name| (*name).to_owned()),
            locality: rank.locality,
            status,
            reason,
            median_ns: summary.map(|summary| summary.median_ns),
            median_low_ns: summary.and_then(|summary| Some(summary.median_interval_ns?.low)),
            median_high_ns: summary.and_then(|summary| Some(summary.median_interval_ns?.high)),
            median_bytes_per_s: summary.map(|summary| summary.median_bytes_per_s),
            bytes_per_s: summary.map(|summary| summary.bytes_per_s),
            percent_of_bound,
            blocks: summary.map(|summary| summary.blocks),
        })
    };
    results.filter_map(row).collect()
}
