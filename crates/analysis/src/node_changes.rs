//! Which nodes changed otherwise than the others between two sides of runs: pure, over what `nodes` makes of
//! documents.
//!
//! A node's change is its new figure over its old one, more is better. What all nodes did together (a driver,
//! a kernel) is for `compare`; what one did by itself shows here: its change lies below the limit that
//! `baseline` learns from the changes of all. One pair of figures a node makes a suspect, and no more.

use std::collections::{BTreeMap, BTreeSet};

use report::document::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::alike::distinct;
use stats::interval::median;

use crate::baseline::{Class, Value, learn};
use crate::node_run::NodeRun;

/// What became of nodes between two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeChanges {
    /// What was measured.
    pub columns: Vec<ChangedColumn>,
    /// The nodes that both sides have: those that got worse by themselves first.
    pub rows: Vec<NodeChange>,
    /// Nodes of the base alone.
    pub gone: Vec<String>,
    /// Nodes of the new side alone.
    pub added: Vec<String>,
    /// Whether there are enough nodes to tell which is unlike the others.
    pub is_judged: bool,
}

/// A column: what was measured on nodes of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedColumn {
    /// Its name, `H2D 64 MiB`.
    pub name: String,
    /// The median of the nodes' changes: new over base as rates, above 1 is better.
    pub median: f64,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeChange {
    /// Its host name.
    pub host: String,
    /// Its change in each column, in the columns' order: new over base as rates, above 1 is better; null
    /// where a side has no figure.
    pub changes: Vec<Option<f64>>,
    /// The names of the columns in which it got worse by itself.
    pub worse: Vec<String>,
}

/// The changes; `None` where a side is of one node: then there are no nodes to speak of.
pub fn node_changes(tool: Tool, base: &[NodeRun], new: &[NodeRun]) -> Option<NodeChanges> {
    let hosts =
        |runs: &'_ [NodeRun]| -> BTreeSet<String> { runs.iter().map(|run| run.host.clone()).collect() };
    let (before, after) = (hosts(base), hosts(new));
    if before.len() < 2 || after.len() < 2 {
        return None;
    }
    let (old, now) = (figures(base), figures(new));
    let points = base.iter().chain(new).flat_map(|run| &run.points);
    let names: Vec<&str> = distinct(points.map(|point| &point.column[..]));
    let change = |host: &str, column: &str| Some(now.get(&(host, column))? / old.get(&(host, column))?);
    let both: Vec<&String> = before.intersection(&after).collect();
    let class = Class { gpu: "change".into(), best_link: None, cpu: None, locality: String::new() };
    let value = |host: &str, column: &str| {
        let rate = change(host, column)?;
        Some(Value {
            class: class.clone(),
            case: column.into(),
            host: host.into(),
            device: String::new(),
            rate,
        })
    };

    let values: Vec<Value> =
        both.iter().flat_map(|host| names.iter().filter_map(|column| value(host, column))).collect();
    let learned = learn(tool, 2, &values);
    let limits: BTreeMap<&str, f64> = learned
        .iter()
        .flat_map(|baseline| &baseline.normals)
        .map(|normal| (&normal.case[..], normal.limit_bytes_per_s))
        .collect();
    let row = |host: &String| {
        let changes: Vec<Option<f64>> = names.iter().map(|column| change(host, column)).collect();
        let is_worse = |(at, change): (usize, &Option<f64>)| {
            let limit = limits.get(names[at])?;
            change.is_some_and(|change| change < *limit).then(|| names[at].to_owned())
        };
        let worse = changes.iter().enumerate().filter_map(is_worse).collect();
        NodeChange { host: host.clone(), changes, worse }
    };

    let mut rows: Vec<NodeChange> = both.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.worse.len()));
    let middle = |at: usize| median(&rows.iter().filter_map(|row| row.changes[at]).collect::<Vec<f64>>());
    let column = |(at, name): (usize, &&str)| ChangedColumn {
        name: (*name).to_owned(),
        median: middle(at).unwrap_or(1.0),
    };
    let columns = names.iter().enumerate().map(column).collect();
    let only = |some: &BTreeSet<String>, other: &BTreeSet<String>| some.difference(other).cloned().collect();

    Some(NodeChanges {
        columns,
        gone: only(&before, &after),
        added: only(&after, &before),
        is_judged: !limits.is_empty(),
        rows,
    })
}

/// The median of each host and column, as a rate.
fn figures(runs: &[NodeRun]) -> BTreeMap<(&str, &str), f64> {
    let mut values: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for run in runs {
        for point in &run.points {
            values.entry((&run.host, &point.column)).or_default().push(point.unit.as_rate(point.value));
        }
    }
    values.into_iter().filter_map(|(key, values)| Some((key, median(&values)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Unit;
    use crate::node_run::PlaceFigure;

    fn run(host: usize, gbps: f64) -> NodeRun {
        let class =
            Class { gpu: "NVIDIA H200".into(), best_link: None, cpu: None, locality: "numalocal".into() };
        let point = PlaceFigure {
            column: "H2D 64 MiB".into(),
            unit: Unit::BytesPerS,
            place: "a".into(),
            by_index: String::new(),
            class,
            value: gbps * 1e9,
        };

        NodeRun {
            host: format!("n{host:02}"),
            started_at: "2026-11-24T00:00:00Z".into(),
            trouble: None,
            simulated: None,
            points: vec![point],
            checks: Vec::new(),
            reference: Vec::new(),
        }
    }

    #[test]
    fn the_node_that_got_worse_by_itself_is_named_and_what_all_did_is_not() -> Result<(), &'static str> {
        let tool = || Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
        let rate = |host: usize| 55.0 + 0.01 * host as f64;
        let base: Vec<NodeRun> = (0..20).map(|host| run(host, rate(host))).collect();

        // All lose 4 %; node 7 half; node 19 is gone and node 20 new.
        let factor = |host: usize| if host == 7 { 0.5 } else { 0.96 + 0.0001 * host as f64 };
        let new: Vec<NodeRun> =
            (0..21).filter(|host| *host != 19).map(|host| run(host, rate(host) * factor(host))).collect();
        let changes = node_changes(tool(), &base, &new).ok_or("several nodes")?;
        let worse: Vec<&str> =
            changes.rows.iter().filter(|row| !row.worse.is_empty()).map(|row| &row.host[..]).collect();
        assert_eq!((worse, changes.rows.len(), changes.is_judged), (vec!["n07"], 19, true));
        assert_eq!(
            (&changes.gone[..], &changes.added[..]),
            (&["n19".to_owned()][..], &["n20".to_owned()][..])
        );
        assert!((changes.columns[0].median - 0.96).abs() < 0.002);
        assert_eq!(node_changes(tool(), &base[..1], &new), None);
        Ok(())
    }
}
