//! Which nodes changed otherwise than the others between two sides of runs: pure, over what `nodes` makes of
//! documents.
//!
//! The change of a place (a GPU, a pair, a thread) is its new figure over its old one, more is better. What
//! all nodes did together (a driver, a kernel) is for `compare`; what one did by itself shows here: the
//! change of one of its places lies below the limit that `baseline` learns from the changes of all. Fewer
//! than three figures of a place on a side make a suspect, and no more.

use std::collections::{BTreeMap, BTreeSet};

use report::document::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::alike::distinct;
use stats::interval::median;
use stats::moderated::LEAST_A_SIDE;
use stats::units::counted;

use crate::baseline::{Class, OddPlace, Value, learn, odd_of_few};
use crate::node_run::{NodeRun, PlaceFigure};

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
    /// The median of the changes of all places: new over base as rates, above 1 is better.
    pub median: f64,
    /// Whether there are enough nodes to tell which place is unlike the others.
    #[serde(default)]
    #[schemars(extend("since" = "1.7"))]
    pub is_judged: bool,
    /// A change below it is a place's own; null where there are too few nodes to tell.
    #[serde(default)]
    #[schemars(extend("since" = "1.7"))]
    pub limit: Option<f64>,
}

impl ChangedColumn {
    /// What part more than the others a place may lose, as a fraction of its figure.
    pub fn margin(&self) -> Option<f64> {
        self.limit.map(|limit| 1.0 - limit / self.median)
    }

    /// Whether a change is as far above the others as one that is a place's own loss lies below them.
    pub fn is_better(&self, change: f64) -> bool {
        self.limit.is_some_and(|limit| change * limit > self.median * self.median)
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeChange {
    /// Its host name.
    pub host: String,
    /// Its change in each column, in the columns' order: new over base as rates, above 1 is better; of
    /// several places the one that lost most; null where none has a figure on both sides.
    pub changes: Vec<Option<f64>>,
    /// The names of the columns in which it got worse by itself.
    pub worse: Vec<String>,
    /// The places that did, each once: `GPU 1 from node 0`.
    #[serde(default)]
    #[schemars(extend("since" = "1.7"))]
    pub worse_places: Vec<String>,
    /// How many figures of the base have none on the new side, in columns that other places have there.
    #[serde(default)]
    #[schemars(extend("since" = "1.7"))]
    pub missing: u32,
    /// Whether too few figures say that it got worse: fewer than three of each such place on a side, where
    /// one disturbed run looks the same.
    #[serde(default)]
    #[schemars(extend("since" = "1.8"))]
    pub is_suspect: bool,
}

impl NodeChange {
    /// Whether it got worse by itself.
    pub fn is_worse(&self) -> bool {
        !self.worse.is_empty() && !self.is_suspect
    }
}

impl NodeChanges {
    /// How many nodes got worse by themselves, lack figures or are gone; `None` of none.
    pub fn clause(&self) -> Option<String> {
        let all = counted(self.rows.len(), "node");
        let worse = self.rows.iter().filter(|row| !row.worse.is_empty()).count();
        let lacking = self.rows.iter().filter(|row| row.missing > 0).count();
        let gone = self.gone.len();
        let said = [
            (worse > 0).then(|| {
                format!("{worse} of {all} got worse by {}", if worse == 1 { "itself" } else { "themselves" })
            }),
            (lacking > 0).then(|| {
                format!("{lacking} of {all} {} figures", if lacking == 1 { "lacks" } else { "lack" })
            }),
            (gone > 0).then(|| {
                let before = counted(self.rows.len() + gone, "node");
                format!("{gone} of the base's {before} {} gone", if gone == 1 { "is" } else { "are" })
            }),
        ];

        let said: Vec<String> = said.into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// Where a figure was measured: host, column, place.
type Place<'r> = (&'r str, &'r str, &'r str);

/// The changes; `None` where a side is of one node: then there are no nodes to speak of.
pub fn node_changes(tool: Tool, base: &[NodeRun], new: &[NodeRun]) -> Option<NodeChanges> {
    let hosts =
        |runs: &'_ [NodeRun]| -> BTreeSet<String> { runs.iter().map(|run| run.host.clone()).collect() };
    let (before, after) = (hosts(base), hosts(new));
    if before.len() < 2 || after.len() < 2 {
        return None;
    }
    let (old, now) = (figures(base), figures(new));
    let runs = || base.iter().chain(new);
    let names: Vec<&str> = distinct(runs().flat_map(|run| &run.points).map(|point| &point.column[..]));
    let words = words(runs());
    let on_both = old.iter().filter_map(|(place, before)| Some((*place, now.get(place)?.0 / before.0)));
    let changes: BTreeMap<Place<'_>, f64> = on_both.collect();
    let runs_of = |place: &Place<'_>| {
        let of = |side: &BTreeMap<Place<'_>, (f64, usize)>| side.get(place).map_or(0, |(_, runs)| *runs);
        of(&old).min(of(&now))
    };

    let learned = changes.iter().map(value).collect::<Vec<Value>>();
    let limits = limits(tool, &learned);
    let odd = odd_of_few(&learned);
    let is_odd = |(host, column, place): &Place<'_>| {
        let is_it = |odd: &&OddPlace| odd.host == *host && odd.case == *column && odd.device == *place;
        odd.iter().find(is_it).is_some_and(|odd| odd.rate < odd.normal)
    };
    let mut of_hosts: BTreeMap<&str, Vec<PlaceChange<'_>>> = BTreeMap::new();
    for (at @ (host, column, place), change) in &changes {
        let is_of_few = runs_of(at) < LEAST_A_SIDE;
        let place = words.get(&(*host, *place)).copied().unwrap_or(place);
        let is_worse = is_odd(at) || limits.get(*column).is_some_and(|limit| change < limit);
        of_hosts.entry(host).or_default().push(PlaceChange {
            column,
            place,
            change: *change,
            is_worse,
            is_of_few,
        });
    }
    // What no node was measured by again is missing on all of them, which is no node's own.
    let again: BTreeSet<&str> = changes.keys().map(|(_, column, _)| *column).collect();
    let mut missing: BTreeMap<&str, u32> = BTreeMap::new();
    for (host, ..) in old.keys().filter(|place| again.contains(place.1) && !now.contains_key(*place)) {
        *missing.entry(host).or_default() += 1;
    }

    let row = |host: &String| {
        let own = of_hosts.get(&host[..]).map_or(&[][..], Vec::as_slice);
        let missing = missing.get(&host[..]).copied().unwrap_or_default();
        NodeChange { missing, ..node_change(host, own, &names) }
    };
    let mut rows: Vec<NodeChange> = before.intersection(&after).map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.worse.len(), row.missing)));

    let column = |name: &&str| {
        let all = changes.iter().filter(|((_, of, _), _)| of == name).map(|(_, change)| *change);
        ChangedColumn {
            name: (*name).to_owned(),
            median: median(&all.collect::<Vec<f64>>()).unwrap_or(1.0),
            is_judged: limits.contains_key(*name),
            limit: limits.get(*name).copied(),
        }
    };
    let columns = names.iter().map(column).collect();
    let only = |some: &BTreeSet<String>, other: &BTreeSet<String>| some.difference(other).cloned().collect();

    Some(NodeChanges {
        columns,
        gone: only(&before, &after),
        added: only(&after, &before),
        is_judged: !limits.is_empty(),
        rows,
    })
}

/// The change of a place of a node, named as people name it.
struct PlaceChange<'r> {
    column: &'r str,
    place: &'r str,
    change: f64,
    is_worse: bool,
    /// Whether fewer figures than a finding takes say so.
    is_of_few: bool,
}

/// What became of a node with these changes.
fn node_change(host: &str, own: &[PlaceChange<'_>], columns: &[&str]) -> NodeChange {
    let worse = || own.iter().filter(|of| of.is_worse);
    let lowest =
        |column: &&str| own.iter().filter(|of| of.column == *column).map(|of| of.change).reduce(f64::min);
    let is_worse = |column: &&&str| worse().any(|of| of.column == **column);

    NodeChange {
        host: host.to_owned(),
        changes: columns.iter().map(lowest).collect(),
        worse: columns.iter().filter(is_worse).map(|column| (*column).to_owned()).collect(),
        worse_places: distinct(worse().map(|of| of.place)).into_iter().map(str::to_owned).collect(),
        missing: 0,
        is_suspect: worse().next().is_some() && worse().all(|of| of.is_of_few),
    }
}

/// A change as a baseline is learned from it.
fn value(((host, column, place), change): (&Place<'_>, &f64)) -> Value {
    let class = Class { gpu: "change".into(), best_link: None, cpu: None, locality: String::new() };
    Value { class, case: (*column).into(), host: (*host).into(), device: (*place).into(), rate: *change }
}

/// How low a change may be in each column where there are enough nodes to tell.
fn limits(tool: Tool, changes: &[Value]) -> BTreeMap<String, f64> {
    let learned = learn(tool, 2, changes);
    let normals = learned.into_iter().flat_map(|baseline| baseline.normals);
    normals.map(|normal| (normal.case, normal.limit_bytes_per_s)).collect()
}

/// What people call a place, by its host and its name there.
fn words<'r>(runs: impl Iterator<Item = &'r NodeRun>) -> BTreeMap<(&'r str, &'r str), &'r str> {
    let mut words = BTreeMap::new();
    for run in runs {
        for PlaceFigure { place, by_index, .. } in &run.points {
            let said = if by_index.is_empty() { place } else { by_index };
            words.insert((&run.host[..], &place[..]), &said[..]);
        }
    }
    words
}

/// The median of each place's figures, as a rate, and their number.
fn figures(runs: &[NodeRun]) -> BTreeMap<Place<'_>, (f64, usize)> {
    let mut values: BTreeMap<Place<'_>, Vec<f64>> = BTreeMap::new();
    for run in runs {
        for point in &run.points {
            let place = (&run.host[..], &point.column[..], &point.place[..]);
            values.entry(place).or_default().push(point.unit.as_rate(point.value));
        }
    }
    values.into_iter().filter_map(|(place, values)| Some((place, (median(&values)?, values.len())))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Unit;

    /// Nodes of several GPUs, of which one is at this part of its rate.
    fn fleet(slow: Option<(usize, usize)>) -> Vec<NodeRun> {
        let node = |host: usize| {
            let point = |gpu: usize| {
                let part = if slow == Some((host, gpu)) { 0.5 } else { 1.0 };
                let one = run(host, part * (22.0 + 0.01 * (host * 4 + gpu) as f64)).points.remove(0);
                PlaceFigure { place: format!("0000:{gpu:02x}:00.0"), by_index: format!("GPU {gpu}"), ..one }
            };
            NodeRun { points: (0..4).map(point).collect(), ..run(host, 1.0) }
        };
        (0..10).map(node).collect()
    }

    #[test]
    fn a_node_that_got_better_is_told_from_the_others_and_none_is_said_to_have_lost_anything()
    -> Result<(), &'static str> {
        let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
        let changes = node_changes(tool, &fleet(Some((3, 1))), &fleet(None)).ok_or("several nodes")?;
        let is_better =
            |row: &&NodeChange| row.changes[0].is_some_and(|one| changes.columns[0].is_better(one));
        assert_eq!(changes.clause(), None, "{changes:?}");
        assert!(changes.columns[0].margin().is_some_and(|margin| margin > 0.03), "{changes:?}");
        // Of several places the one that lost most stands for the node, and three of its GPUs are as they were.
        assert_eq!(changes.rows.iter().filter(is_better).count(), 0, "{changes:?}");

        let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
        let mut repaired = fleet(None);
        repaired[3].points.iter_mut().for_each(|point| point.value *= 2.0);
        let changes = node_changes(tool, &fleet(None), &repaired).ok_or("several nodes")?;
        let better = changes
            .rows
            .iter()
            .filter(|row| row.changes[0].is_some_and(|change| changes.columns[0].is_better(change)));
        assert_eq!(better.map(|row| &row.host[..]).collect::<Vec<_>>(), ["n03"], "{changes:?}");
        assert_eq!(changes.clause(), None, "{changes:?}");
        Ok(())
    }

    #[test]
    fn one_gpu_of_a_node_that_got_worse_is_named_and_so_is_a_node_without_a_new_figure()
    -> Result<(), &'static str> {
        let tool = || Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
        let mut new = fleet(Some((3, 1)));
        new[7].points.truncate(1);
        let changes = node_changes(tool(), &fleet(None), &new).ok_or("several nodes")?;

        let clause = "1 of 10 nodes got worse by itself; 1 of 10 nodes lacks figures";
        assert_eq!(changes.clause().as_deref(), Some(clause));
        let worst = &changes.rows[0];
        assert_eq!((&worst.host[..], &worst.worse_places[..]), ("n03", &["GPU 1".to_owned()][..]));
        assert!(worst.changes[0].is_some_and(|change| change < 0.51), "{worst:?}");
        assert_eq!((&changes.rows[1].host[..], changes.rows[1].missing), ("n07", 3));
        assert!(changes.rows[2..].iter().all(|row| row.missing == 0 && row.worse.is_empty()));

        // Another size is another column, which no node lacks.
        let other = |mut run: NodeRun| {
            run.points.iter_mut().for_each(|point| point.column = "H2D 4 KiB".into());
            run
        };
        let base: Vec<NodeRun> = fleet(None).into_iter().chain(fleet(None).into_iter().map(other)).collect();
        let changes = node_changes(tool(), &base, &fleet(None)).ok_or("several nodes")?;
        assert!(changes.rows.iter().all(|row| row.missing == 0), "{:?}", changes.rows);
        Ok(())
    }

    #[test]
    fn a_node_that_got_worse_in_fewer_than_three_runs_a_side_is_a_suspect() -> Result<(), &'static str> {
        let tool = || Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
        let side = |runs: usize, slow| (0..runs).flat_map(|_| fleet(slow)).collect::<Vec<NodeRun>>();
        for (runs, is_worse) in [([1, 1], false), ([3, 2], false), ([3, 3], true)] {
            let changes = node_changes(tool(), &side(runs[0], None), &side(runs[1], Some((3, 1))))
                .ok_or("several nodes")?;
            let worst = &changes.rows[0];
            assert_eq!((&worst.host[..], worst.is_worse()), ("n03", is_worse), "{runs:?} runs");
            assert!(changes.rows[1..].iter().all(|row| !row.is_suspect && !row.is_worse()));
        }
        Ok(())
    }

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
            is_held_back: false,
        };

        NodeRun {
            host: format!("n{host:02}"),
            started_at: "2026-11-24T00:00:00Z".into(),
            asked: "pingpong".into(),
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
        let clause = "1 of 19 nodes got worse by itself; 1 of the base's 20 nodes is gone";
        assert_eq!(changes.clause().as_deref(), Some(clause));
        assert!((changes.columns[0].median - 0.96).abs() < 0.002);
        assert_eq!(node_changes(tool(), &base[..1], &new), None);
        Ok(())
    }
}
