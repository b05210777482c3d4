//! Nodes side by side: what each measured of itself, and which are unlike the others of their class. Pure.
//! Some 590 lines because the marks of a node and what they rest on are read together.
//!
//! The judgement is the gate's own. What is normal is learned from these nodes by `baseline::learn`, which
//! leaves the odd ones out; a place whose figure lies below the limit in each of its last three runs is slow,
//! and one that does so in most of the last runs is a suspect: one run flaps, so nobody is drained for it. A
//! time is judged by its inverse. GPUs that were measured each from its own place share a class; the cells of
//! a matrix are compared with the same cell of the other nodes.

use std::collections::{BTreeMap, BTreeSet};

use report::document::Tool;
use report::versioned::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::interval::median;

use crate::baseline::{Baseline, Class, Normals, OddPlace, Value, learn, odd_of_few};
use crate::figure::Unit;
use crate::gate::PASSES;
use crate::node_run::{NodeRun, PlaceFigure};
use crate::node_settings::{NodeSetting, SettingCounts, settings};
use crate::reference_answer::{ReferenceAnswer, gathered};

/// The schema of this document.
pub const VERSION: Version = Version { schema: "numabench.nodes", major: 1, minor: 3 };

/// Several nodes, side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Nodes {
    /// Always `numabench.nodes`.
    pub schema: String,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// Set when the devices are not real: what the driver itself says of the simulation.
    pub simulated: Option<String>,
    /// What was measured.
    pub columns: Vec<NodeColumn>,
    /// The nodes: slow ones first, then suspects, those in trouble, those set up unlike most, and the others
    /// by name.
    pub rows: Vec<NodeRow>,
    /// Nodes that did not answer.
    pub missing: Vec<MissingNode>,
    /// What could not be judged and why, in words: too few nodes of a class; places that are unlike the
    /// others on half of the nodes.
    pub not_judged: Vec<String>,
    /// Settings that cost placement or bandwidth, or that nodes have differently.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub settings: Vec<NodeSetting>,
    /// How their figures stand against reference figures: decides nothing.
    #[serde(default)]
    #[schemars(extend("since" = "1.2"))]
    pub reference: Vec<ReferenceAnswer>,
}

/// A column: what was measured on every node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeColumn {
    /// Its name, `H2D 64 MiB`.
    pub name: String,
    /// What its figures count.
    pub unit: Unit,
    /// The median over the nodes' figures.
    pub median: f64,
    /// How many nodes have one.
    pub nodes: u32,
    /// How much worse than normal a place may be and not be unlike the others, as a part of what is normal,
    /// of the class with the widest limit; null where there are too few to tell.
    #[serde(default)]
    #[schemars(extend("since" = "1.3"))]
    pub margin: Option<f64>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeRow {
    /// Its host name.
    pub host: String,
    /// How many runs, or passes, there are of it.
    pub runs: u32,
    /// What comes of it: the worst of its cells.
    pub mark: Mark,
    /// A cell for each column, in the columns' order; null where the node has no figure.
    pub cells: Vec<Option<NodeCell>>,
    /// Its places below the limit.
    pub below: Vec<BelowLimit>,
    /// Why figures are missing, and what the node's own check found, in words.
    pub trouble: Vec<String>,
    /// How many of its settings are how; null without a document of `doctor`.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub settings: Option<SettingCounts>,
    /// Whether a figure of it was held against what is normal on these nodes.
    #[serde(default)]
    #[schemars(extend("since" = "1.3"))]
    pub is_judged: bool,
}

/// A node's figure in a column: the median over its places and runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeCell {
    /// The figure, in the column's unit.
    pub value: f64,
    /// What comes of it.
    pub mark: Mark,
}

/// What comes of a node or of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Like the others, or not judged (`not_judged` says so).
    Well,
    /// Below the limit in most of fewer than three runs, or in most of three: to be measured again.
    Suspect,
    /// Below the limit in all of three runs.
    Slow,
}

/// A place of a node whose figure is below the limit of its class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BelowLimit {
    /// The column's name.
    pub column: String,
    /// What the figures count.
    pub unit: Unit,
    /// Where on the node.
    pub place: String,
    /// The figure of the last run.
    pub value: f64,
    /// What is normal for its class on these nodes.
    pub normal: f64,
    /// The worst that is normal.
    pub limit: f64,
    /// In how many runs it was worse.
    pub below: u32,
    /// Of how many.
    pub runs: u32,
    /// What comes of it.
    pub mark: Mark,
}

/// A node that did not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingNode {
    /// Its host name, or what is known in its place.
    pub host: String,
    /// Why, in words.
    pub reason: String,
}

impl NodeRow {
    /// Whether a setting of it is one that most nodes have otherwise.
    pub fn is_unlike_most(&self) -> bool {
        self.settings.as_ref().is_some_and(|settings| !settings.unlike_most.is_empty())
    }
}

impl Nodes {
    /// How many nodes have this mark.
    pub fn marked(&self, mark: Mark) -> usize {
        self.rows.iter().filter(|row| row.mark == mark).count()
    }
}

/// One place of one node.
type Place<'r> = (&'r str, &'r Class, &'r str, &'r str);

/// Puts nodes side by side. `missing` are those that should have answered.
pub fn nodes(tool: Tool, mut runs: Vec<NodeRun>, missing: Vec<MissingNode>) -> Nodes {
    // RFC 3339 in UTC with equal digits sorts as time does.
    runs.sort_by(|a, b| a.host.cmp(&b.host).then(a.started_at.cmp(&b.started_at)));
    let (baseline, not_judged) = learned(&tool, &runs, &values(&runs, |point| !point.is_held_back));
    let unlike = unlike_few_others(&values(&runs, |_| true));
    let below = below(&runs, baseline.as_ref());
    let judged = judged(&runs, baseline.as_ref());
    let fewer = fewer_figures(&runs);
    let (columns, cells) = cells(&runs, baseline.as_ref());
    let (settings, counts) = settings(&runs);
    let answers =
        |run: &NodeRun| run.reference.iter().map(|text| (run.host.clone(), text.clone())).collect::<Vec<_>>();
    let reference = gathered(runs.iter().flat_map(answers));
    let mut by_host: BTreeMap<&str, Vec<&NodeRun>> = BTreeMap::new();
    runs.iter().for_each(|run| by_host.entry(&run.host).or_default().push(run));
    let mut rows: Vec<NodeRow> = Vec::new();

    for (host, runs) in &by_host {
        let below: Vec<BelowLimit> = below.get(host).cloned().unwrap_or_default();
        let cell = |column: &NodeColumn| {
            let value = *cells.get(&(*host, &column.name[..]))?;
            let marks = below.iter().filter(|one| one.column == column.name).map(|one| one.mark);
            Some(NodeCell { value, mark: marks.max().unwrap_or(Mark::Well) })
        };
        let troubled = runs.iter().filter(|run| !run.is_mended(runs));
        let trouble: BTreeSet<&String> = troubled.filter_map(|run| run.trouble.as_ref()).collect();
        rows.push(NodeRow {
            host: (*host).to_owned(),
            runs: runs.iter().filter(|run| run.checks.is_empty()).count() as u32,
            mark: below.iter().map(|one| one.mark).max().unwrap_or(Mark::Well),
            cells: columns.iter().map(cell).collect(),
            below,
            trouble: trouble
                .into_iter()
                .cloned()
                .chain(fewer.get(host).cloned())
                .chain(unlike.get(*host).cloned().unwrap_or_default())
                .collect(),
            settings: counts.get(host).cloned(),
            is_judged: judged.contains(host),
        });
    }

    rows.sort_by_key(|row| (std::cmp::Reverse(row.mark), row.trouble.is_empty(), !row.is_unlike_most()));

    Nodes {
        schema: VERSION.schema.to_owned(),
        schema_version: VERSION.number(),
        tool,
        simulated: simulated(&runs),
        columns,
        rows,
        missing,
        not_judged,
        settings,
        reference,
    }
}

/// The figures of all runs that are wanted, as a baseline is learned from them.
fn values(runs: &[NodeRun], is_wanted: impl Fn(&PlaceFigure) -> bool) -> Vec<Value> {
    let value = |run: &NodeRun, point: &PlaceFigure| Value {
        class: point.class.clone(),
        case: point.column.clone(),
        host: run.host.clone(),
        device: point.place.clone(),
        rate: point.unit.as_rate(point.value),
    };

    let all = runs.iter().flat_map(|run| run.points.iter().map(move |point| (run, point)));
    all.filter(|(_, point)| is_wanted(point)).map(|(run, point)| value(run, point)).collect()
}

/// By host, which of its places are unlike the others where too few are left to say what is normal.
fn unlike_few_others(values: &[Value]) -> BTreeMap<String, Vec<String>> {
    let mut unlike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for odd in odd_of_few(values).into_iter().filter(|odd| odd.rate < odd.normal) {
        let OddPlace { host, device, case, rate, normal, others } = odd;
        let percent = rate / normal * 100.0;
        unlike.entry(host).or_default().push(format!(
            "{device} has {percent:.0} % of the median rate in {case}, unlike the {others} others"
        ));
    }
    unlike
}

/// What is normal on these nodes, and what there is too little of to say so.
fn learned(tool: &Tool, runs: &[NodeRun], values: &[Value]) -> (Option<Baseline>, Vec<String>) {
    match learn(tool.clone(), runs.len() as u32, values) {
        Ok(baseline) => {
            let too_few = baseline.too_few.len();
            let few = (too_few > 0)
                .then(|| format!("{} of a class on too few nodes", stats::units::counted(too_few, "case")));

            // On so many nodes that it is taken for how they are built: the reader should know all the same.
            let unlike = baseline.built_unlike.iter().map(|place| format!("{place}, by how they are built"));
            let said = few.into_iter().chain(unlike).collect();
            (Some(baseline), said)
        }
        Err(_) if values.is_empty() => {
            let are_held_back = runs.iter().any(|run| !run.points.is_empty());
            let why = "every GPU was throttled or shared, so nothing says what is normal here";
            (None, are_held_back.then(|| why.to_owned()).into_iter().collect())
        }
        Err(_) => {
            let (gpus, nodes) = (crate::baseline::LEAST_GPUS, crate::baseline::LEAST_NODES);
            (
                None,
                vec![format!(
                    "too few alike to tell which is unlike the others: it takes {gpus} GPUs of {nodes} \
                     nodes, or {gpus} nodes for a cell of a matrix"
                )],
            )
        }
    }
}

/// What is said of simulated devices, and on which hosts where the others' are real.
fn simulated(runs: &[NodeRun]) -> Option<String> {
    let said = runs.iter().find_map(|run| run.simulated.clone())?;
    let hosts = |wanted: bool| -> BTreeSet<&str> {
        runs.iter().filter(|run| run.simulated.is_some() == wanted).map(|run| &run.host[..]).collect()
    };
    let (simulated, real) = (hosts(true), hosts(false));
    Some(match real.is_empty() {
        true => said,
        false => format!("{said}, on {} alone", simulated.into_iter().collect::<Vec<_>>().join(", ")),
    })
}

/// The hosts of which a figure is held against what is normal.
fn judged<'r>(runs: &'r [NodeRun], baseline: Option<&Baseline>) -> BTreeSet<&'r str> {
    let Some(baseline) = baseline else { return BTreeSet::new() };
    let normals = Normals::of(baseline);
    let is_known = |point: &PlaceFigure| normals.find(&point.class, &point.column).is_some();
    runs.iter().filter(|run| run.points.iter().any(is_known)).map(|run| &run.host[..]).collect()
}

/// By host, that it has fewer figures than most hosts with the same GPUs: a GPU or a rank of it was not
/// there. Of runs that were asked for the same the latest counts; the passes of a check began at one time.
fn fewer_figures(runs: &[NodeRun]) -> BTreeMap<&str, String> {
    let mut latest: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for run in runs {
        let began = latest.entry((&run.host, &run.asked)).or_default();
        *began = (*began).max(&run.started_at);
    }
    let is_latest =
        |run: &&NodeRun| latest.get(&(&run.host[..], &run.asked[..])) == Some(&&run.started_at[..]);

    let mut figures: BTreeMap<&str, BTreeSet<(&str, &str, &str)>> = BTreeMap::new();
    for run in runs.iter().filter(is_latest) {
        let all = run.points.iter().map(|point| (&point.class.gpu[..], &point.column[..], &point.place[..]));
        figures.entry(&run.host).or_default().extend(all);
    }
    let kind = |all: &BTreeSet<(&str, &str, &str)>| all.first().map(|(gpu, ..)| (*gpu).to_owned());
    let mut counts: BTreeMap<String, BTreeMap<usize, usize>> = BTreeMap::new();
    for all in figures.values() {
        let Some(kind) = kind(all) else { continue };
        *counts.entry(kind).or_default().entry(all.len()).or_default() += 1;
    }

    let lacks = |all: &BTreeSet<(&str, &str, &str)>| {
        let alike = counts.get(&kind(all)?)?;
        let (most_have, hosts) = alike.iter().max_by_key(|(_, hosts)| **hosts)?;
        let is_usual = *hosts * 2 > alike.values().sum();
        (is_usual && all.len() < *most_have)
            .then(|| format!("it has {} figures where most nodes have {most_have}", all.len()))
    };
    figures.iter().filter_map(|(host, all)| Some((*host, lacks(all)?))).collect()
}

/// The places below the limit, by host.
fn below<'r>(runs: &'r [NodeRun], baseline: Option<&Baseline>) -> BTreeMap<&'r str, Vec<BelowLimit>> {
    let Some(baseline) = baseline else { return BTreeMap::new() };
    let normals = Normals::of(baseline);
    let mut places: BTreeMap<Place<'r>, (Unit, Vec<f64>)> = BTreeMap::new();

    for run in runs {
        // Ranks that share a place are one figure of the run: runs decide, and not their ranks.
        let mut here: BTreeMap<Place<'r>, (Unit, Vec<f64>)> = BTreeMap::new();
        for point in &run.points {
            let place = (&run.host[..], &point.class, &point.column[..], &point.place[..]);
            here.entry(place).or_insert((point.unit, Vec::new())).1.push(point.value);
        }
        for (place, (unit, values)) in here {
            let middle = median(&values).unwrap_or_default();
            places.entry(place).or_insert((unit, Vec::new())).1.push(middle);
        }
    }

    let mut found: BTreeMap<&str, Vec<BelowLimit>> = BTreeMap::new();

    for ((host, class, column, place), (unit, values)) in places {
        let Some(normal) = normals.find(class, column) else { continue };
        let (normal, limit) = (normal.median_bytes_per_s, normal.limit_bytes_per_s);
        // The latest runs count: a node that was mended is well.
        let last = &values[values.len().saturating_sub(PASSES)..];
        let worse = last.iter().filter(|value| unit.as_rate(**value) < limit).count();
        let mark = match worse {
            all if all == PASSES => Mark::Slow,
            most if most * 2 > last.len() => Mark::Suspect,
            _ => continue,
        };
        found.entry(host).or_default().push(BelowLimit {
            column: column.to_owned(),
            unit,
            place: place.to_owned(),
            value: last.last().copied().unwrap_or_default(),
            normal: unit.as_rate(normal),
            limit: unit.as_rate(limit),
            below: worse as u32,
            runs: last.len() as u32,
            mark,
        });
    }
    found
}

/// A figure of each host and column.
type Cells<'r> = BTreeMap<(&'r str, &'r str), f64>;

/// The columns in the order of first appearance, and each node's figure in each.
fn cells<'r>(runs: &'r [NodeRun], baseline: Option<&Baseline>) -> (Vec<NodeColumn>, Cells<'r>) {
    let mut order: Vec<(&str, Unit)> = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut values: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for run in runs {
        for point in &run.points {
            if known.insert(&point.column) {
                order.push((&point.column, point.unit));
            }
            values.entry((&run.host, &point.column)).or_default().push(point.value);
        }
    }

    let cells: Cells<'_> =
        values.into_iter().filter_map(|(key, values)| Some((key, median(&values)?))).collect();
    let mut by_column: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    cells.iter().for_each(|((_, column), value)| by_column.entry(column).or_default().push(*value));
    let margin = |name: &str| {
        let normals = baseline.iter().flat_map(|learned| &learned.normals);
        let of = normals.filter(|normal| normal.case == name);
        of.map(|normal| 1.0 - normal.limit_bytes_per_s / normal.median_bytes_per_s).reduce(f64::max)
    };
    let column = |(name, unit): (&str, Unit)| {
        let values = by_column.get(name)?;
        let nodes = values.len() as u32;
        Some(NodeColumn { name: name.to_owned(), unit, median: median(values)?, nodes, margin: margin(name) })
    };
    (order.into_iter().filter_map(column).collect(), cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> Tool {
        Tool { name: "numabench".into(), version: "0.0.0".into(), git: None }
    }

    fn class() -> Class {
        Class { gpu: "NVIDIA H200".into(), best_link: None, cpu: None, locality: "numalocal".into() }
    }

    /// A run of a node with four GPUs of this rate and one time.
    fn run(host: &str, gbps: f64, ns: f64) -> NodeRun {
        let rate = |gpu: usize| PlaceFigure {
            column: "H2D 64 MiB".into(),
            unit: Unit::BytesPerS,
            place: format!("0000:{gpu:02x}:00.0"),
            by_index: String::new(),
            class: class(),
            // A little of their own each, so that there is a spread to learn.
            value: gbps * 1e9 * (1.0 + 0.001 * (gpu as f64 + host.len() as f64)),
            is_held_back: false,
        };

        let time = PlaceFigure {
            column: "load".into(),
            unit: Unit::Ns,
            place: "node 0".into(),
            by_index: String::new(),
            class: class(),
            value: ns,
            is_held_back: false,
        };

        NodeRun {
            host: host.into(),
            started_at: "2026-11-24T00:00:00Z".into(),
            asked: "pingpong".into(),
            trouble: None,
            simulated: None,
            points: (0..4).map(rate).chain([time]).collect(),
            checks: Vec::new(),
            reference: Vec::new(),
        }
    }

    #[test]
    fn one_run_makes_a_suspect_and_three_a_slow_node_by_rates_and_by_times() {
        let fleet = |times: usize| {
            let healthy =
                (0..12).map(|at| run(&format!("n{at:02}"), 55.0 + 0.01 * at as f64, 1000.0 + at as f64));
            let sick = [run("sick-rate", 27.0, 1005.0), run("sick-time", 55.0, 1900.0)];
            let all: Vec<NodeRun> = healthy.chain(sick).collect();
            nodes(tool(), std::iter::repeat_n(all, times).flatten().collect(), Vec::new())
        };

        for (times, mark) in [(1, Mark::Suspect), (3, Mark::Slow)] {
            let found = fleet(times);
            let bad: Vec<&str> =
                found.rows.iter().filter(|row| row.mark == mark).map(|row| &row.host[..]).collect();
            assert_eq!(bad, ["sick-rate", "sick-time"], "{times} runs");
            assert_eq!((found.rows.len(), found.marked(Mark::Well)), (14, 12));
            assert_eq!((found.rows[0].below.len(), found.rows[1].below.len()), (4, 1));
            let slow_time = &found.rows[1].below[0];
            assert!(slow_time.value > slow_time.limit && slow_time.limit > slow_time.normal, "{slow_time:?}");
            assert_eq!(found.rows[0].cells[1].map(|cell| cell.mark), Some(Mark::Well));
        }
    }

    #[test]
    fn one_node_of_three_that_is_unlike_the_two_others_is_in_trouble_though_two_are_too_few_to_judge() {
        let twice = |host: &str, gbps: f64| {
            let one = run(host, gbps, 1000.0);
            let more = one.points[..4].iter().map(|point| {
                let place = point.place.replace(":00.0", ":00.1");
                PlaceFigure { place, ..point.clone() }
            });
            NodeRun { points: one.points.iter().cloned().chain(more).collect(), ..one.clone() }
        };
        let found = nodes(tool(), vec![twice("n1", 55.0), twice("n2", 55.1), twice("n3", 27.0)], Vec::new());

        let troubled: Vec<&str> =
            found.rows.iter().filter(|row| !row.trouble.is_empty()).map(|row| &row.host[..]).collect();
        assert_eq!(troubled, ["n3"], "{:?}", found.rows);
        let said = &found.rows[0].trouble[0];
        assert!(said.contains("49 % of the median rate in H2D 64 MiB, unlike the 23 others"), "{said}");

        let faster = nodes(tool(), vec![twice("n1", 55.0), twice("n2", 55.1), twice("n3", 80.0)], Vec::new());
        assert!(faster.rows.iter().all(|row| row.trouble.is_empty()), "who is faster is in no trouble");
    }

    #[test]
    fn a_node_that_was_mended_is_well_and_few_nodes_are_not_judged() {
        let mut runs: Vec<NodeRun> =
            (0..12).flat_map(|at| (0..6).map(move |_| run(&format!("n{at:02}"), 55.0, 1000.0))).collect();
        for day in 0..6 {
            let gbps = if day < 3 { 27.0 } else { 55.0 };
            runs.push(NodeRun {
                started_at: format!("2026-11-2{day}T00:00:00Z"),
                ..run("mended", gbps, 1000.0)
            });
        }

        assert_eq!(nodes(tool(), runs, Vec::new()).marked(Mark::Well), 13);
        let two = nodes(tool(), vec![run("a", 55.0, 1000.0), run("b", 27.0, 1000.0)], Vec::new());
        assert_eq!((two.marked(Mark::Well), two.not_judged.len()), (2, 1));
        assert_eq!(
            two.columns.iter().map(|column| &column.name[..]).collect::<Vec<_>>(),
            ["H2D 64 MiB", "load"]
        );
    }

    /// Ten nodes of three runs each, of which `change` makes what they were.
    fn days(change: impl Fn(&mut NodeRun, usize)) -> Nodes {
        let of_day = |at: usize, day: usize| {
            let started_at = format!("2026-11-2{day}T00:00:00Z");
            let mut run = NodeRun { started_at, ..run(&format!("n{at:02}"), 55.0, 1000.0) };
            if at == 5 {
                change(&mut run, day);
            }
            run
        };
        let runs = (0..3).flat_map(|day| (0..10).map(move |at| (at, day)));
        nodes(tool(), runs.map(|(at, day)| of_day(at, day)).collect(), Vec::new())
    }

    fn trouble_of_n05(found: &Nodes) -> Vec<String> {
        let row = found.rows.iter().find(|row| row.host == "n05");
        row.map(|row| row.trouble.clone()).unwrap_or_default()
    }

    #[test]
    fn a_gpu_that_the_latest_run_lacks_is_missed_though_an_earlier_run_has_it() {
        let lost = |run: &mut NodeRun, day: usize| {
            if day == 2 {
                run.points.remove(1);
            }
        };
        assert_eq!(trouble_of_n05(&days(lost)), ["it has 4 figures where most nodes have 5"]);

        let other_question = |run: &mut NodeRun, day: usize| {
            if day == 2 {
                run.points.truncate(1);
                run.asked = "pingpong --gpus 0".to_owned();
            }
        };
        assert_eq!(trouble_of_n05(&days(other_question)), [""; 0]);
    }

    #[test]
    fn trouble_ends_with_a_later_run_that_was_asked_for_the_same_and_has_every_figure() {
        let timed_out_on = |bad: usize| {
            move |run: &mut NodeRun, day: usize| {
                if day == bad {
                    run.trouble = Some("TIMED OUT".to_owned());
                    run.points.truncate(2);
                }
            }
        };
        assert_eq!(trouble_of_n05(&days(timed_out_on(0))), [""; 0]);
        assert_eq!(trouble_of_n05(&days(timed_out_on(2)))[0], "TIMED OUT");

        let in_another_measurement = |run: &mut NodeRun, day: usize| {
            if day == 0 {
                run.trouble = Some("TIMED OUT".to_owned());
                run.asked = "peer".to_owned();
            }
        };
        assert_eq!(trouble_of_n05(&days(in_another_measurement)), ["TIMED OUT"]);
    }
}
