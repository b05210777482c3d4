//! Step changes over many documents: when a figure changed its level for good, and what of the environment
//! changed with it.
//!
//! Documents are put in order of time; each case in each place is a series, per host. A change must be one
//! (`stats::change_point`, which takes in that runs are alike from one to the next) at 5 % divided by the
//! number of series, so that a whole folder without a change names one in at most one of twenty cases, and at
//! least as large as the threshold that comparisons have. A series without a step that moves by as much all
//! the same is named with how it does.

use std::collections::BTreeMap;

use report::document::Tool;
use report::matrix::engine_group;
use report::versioned::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::alpha::ALPHA;
use stats::change_point::{Change, LEAST_VALUES, changes, spread, stands_beside};
use stats::series_shape::{SeriesShape, series_shape};

use crate::compare::Thresholds;
use crate::conditions::{Differing, differing};
use crate::figure::{Figure, Key, Unit};
use crate::run::Run;

/// The schema of this document.
pub const VERSION: Version = Version { schema: "numabench.history", major: 1, minor: 5 };

/// The step changes of many runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// Always `numabench.history`.
    pub schema: String,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// How many runs there are.
    pub runs: u32,
    /// How many series, a case in a place on a host, were long enough to be searched.
    pub series: u32,
    /// How many were too short.
    pub too_short: u32,
    /// The changes, the latest first.
    pub steps: Vec<LevelChange>,
    /// Series without a step that move all the same.
    #[serde(default)]
    #[schemars(extend("since" = "1.3"))]
    pub moving: Vec<MovingSeries>,
    /// Series whose last runs have no figure though earlier ones had.
    #[serde(default)]
    #[schemars(extend("since" = "1.5"))]
    pub ended: Vec<EndedSeries>,
}

/// A series whose last runs have no figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndedSeries {
    /// What was measured, and where.
    #[serde(flatten)]
    pub key: Key,
    /// When the first run without a figure began, RFC 3339 in UTC.
    pub first_without: String,
    /// How many runs have none since.
    pub runs_without: u32,
    /// Why that one has none, in words.
    pub reason: String,
}

/// A series without a step that is not steady.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MovingSeries {
    /// What was measured, and where.
    #[serde(flatten)]
    pub key: Key,
    /// What the figures count.
    pub unit: Unit,
    /// How many runs it has.
    pub runs: u32,
    /// How it moves.
    pub shape: SeriesShape,
}

/// A figure that changed its level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Step")]
pub struct LevelChange {
    /// What was measured, and where.
    #[serde(flatten)]
    pub key: Key,
    /// What the figures count.
    pub unit: Unit,
    /// When the last run at the old level began, RFC 3339 in UTC.
    pub last_before: String,
    /// When the first run at the new level began.
    pub first_after: String,
    /// The file of that run.
    pub file: String,
    /// The median before.
    pub before: f64,
    /// The median after.
    pub after: f64,
    /// How many runs are at the old level.
    pub runs_before: u32,
    /// How many are at the new one.
    pub runs_after: u32,
    /// The p-value of the change.
    pub p_value: f64,
    /// What those two runs were under that differs.
    pub differing: Vec<Differing>,
}

/// What is added to a share before its logarithm is taken: a share may be nothing.
const SHARE_BASE: f64 = 1.0;

/// What a series of such figures is searched as: values that have logarithms.
fn raised_by(unit: Unit) -> f64 {
    if unit.is_share() { SHARE_BASE } else { 0.0 }
}

fn values(points: &[(usize, &Figure)]) -> Vec<f64> {
    points.iter().map(|(_, figure)| figure.median + raised_by(figure.unit)).collect()
}

/// Levels of printed figures that are nearer than so many steps are one level, rounded to one side and to the
/// other; a level is a median, which may lie between two steps.
const ROUNDED_BY: f64 = 1.25;

/// The step in which the figures of a series were printed; `None` where they were not: blocks are measured,
/// and shares counted.
fn printed_step(points: &[(usize, &Figure)]) -> Option<f64> {
    let is_printed = |figure: &Figure| figure.blocks.is_empty() && !figure.unit.is_share();
    let medians: Option<Vec<f64>> =
        points.iter().map(|(_, figure)| is_printed(figure).then_some(figure.median)).collect();
    stats::printed_step::printed_step(&medians?)
}

/// The changes of a series, and how widely it scatters around their levels.
fn searched(points: &[(usize, &Figure)], level: f64) -> (Vec<Change>, Option<f64>) {
    let values = values(points);
    let found = changes(&values, level);
    let spread = spread(&values, &found);
    (found, spread)
}

/// The second widest of the spreads of other series, so that one that is disturbed does not count; `None` of
/// fewer than three.
fn second_widest(spreads: impl Iterator<Item = f64>) -> Option<f64> {
    let mut spreads: Vec<f64> = spreads.collect();
    spreads.sort_unstable_by(|a, b| b.total_cmp(a));
    if spreads.len() < 3 { None } else { Some(spreads[1]) }
}

/// Searches the runs for step changes.
pub fn history(tool: Tool, mut runs: Vec<Run>, thresholds: Thresholds) -> History {
    // RFC 3339 in UTC with equal digits sorts as time does.
    runs.sort_by(|a, b| a.started_at.cmp(&b.started_at));
    let keys: Vec<Vec<Key>> = runs.iter().map(keys_with_engine).collect();
    let mut series: BTreeMap<(&str, &Key), Vec<(usize, &Figure)>> = BTreeMap::new();
    let mut lacking: BTreeMap<(&str, &Key), Vec<(usize, &String)>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        for (key, figure) in keys[at].iter().zip(run.figures.values()) {
            match figure {
                Ok(figure) => series.entry((&run.host, key)).or_default().push((at, figure)),
                Err(reason) => lacking.entry((&run.host, key)).or_default().push((at, reason)),
            }
        }
    }
    let ended = ended(&series, &lacking, &runs);

    let all = series.len();
    series.retain(|_, points| points.len() >= LEAST_VALUES);
    let level = ALPHA / series.len().max(1) as f64;
    let (mut steps, mut moving) = (Vec::new(), Vec::new());
    let searched: Vec<(Vec<Change>, Option<f64>)> =
        series.values().map(|points| searched(points, level)).collect();

    for (at, ((host, key), points)) in series.iter().enumerate() {
        let found = &searched[at].0;
        if found.is_empty() {
            moving.extend(moving_series(host, key, points, thresholds));
        }
        let others = second_widest(
            searched.iter().enumerate().filter(|(other, _)| *other != at).filter_map(|(_, one)| one.1),
        );
        let ends: Vec<usize> =
            std::iter::once(0).chain(found.iter().map(|change| change.at)).chain([points.len()]).collect();
        for (index, change) in found.iter().enumerate() {
            let unit = points[change.at].1.unit;
            let threshold = thresholds.of(unit);
            let raised = raised_by(unit);
            let (before_level, after_level) = (change.before - raised, change.after - raised);
            let by = match unit.is_share() {
                true => after_level - before_level,
                false => after_level / before_level - 1.0,
            };
            let is_rounding = printed_step(points)
                .is_some_and(|step| (after_level - before_level).abs() < ROUNDED_BY * step);
            if by.abs() < threshold || is_rounding {
                continue;
            }
            let sides = [change.at - ends[index], ends[index + 2] - change.at];
            if others.is_some_and(|spread| !stands_beside(change, sides, spread, level)) {
                continue;
            }
            let (before, after) = (&runs[points[change.at - 1].0], &runs[points[change.at].0]);
            let key = on_host(host, key);
            steps.push(LevelChange {
                key,
                unit,
                last_before: before.started_at.clone(),
                first_after: after.started_at.clone(),
                file: after.name.clone(),
                before: before_level,
                after: after_level,
                runs_before: sides[0] as u32,
                runs_after: sides[1] as u32,
                p_value: change.p_value,
                differing: differing(before.conditions.iter(), after.conditions.iter()),
            });
        }
    }

    steps.sort_by(|a, b| b.first_after.cmp(&a.first_after).then(a.key.cmp(&b.key)));

    History {
        schema: VERSION.schema.to_owned(),
        schema_version: VERSION.number(),
        tool,
        runs: runs.len() as u32,
        series: series.len() as u32,
        too_short: (all - series.len()) as u32,
        steps,
        moving,
        ended,
    }
}

/// The keys of a run's figures; of copies by another engine than the copy engines with that in the case, as
/// documents of several engines have it: runs by one and by the other are two series.
fn keys_with_engine(run: &Run) -> Vec<Key> {
    let with = |key: &Key| match engine_group(run.engine) {
        Some(engine) => Key { case: format!("{}/{engine}", key.case), ..key.clone() },
        None => key.clone(),
    };
    run.figures.keys().map(with).collect()
}

/// Series whose last runs have no figure though earlier ones had.
fn ended(
    series: &BTreeMap<(&str, &Key), Vec<(usize, &Figure)>>,
    lacking: &BTreeMap<(&str, &Key), Vec<(usize, &String)>>,
    runs: &[Run],
) -> Vec<EndedSeries> {
    let of = |((host, key), without): (&(&str, &Key), &Vec<(usize, &String)>)| {
        let last = series.get(&(*host, *key))?.last()?.0;
        let after: Vec<&(usize, &String)> = without.iter().filter(|(at, _)| *at > last).collect();
        let (first, reason) = after.first().copied()?;

        Some(EndedSeries {
            key: on_host(host, key),
            first_without: runs[*first].started_at.clone(),
            runs_without: after.len() as u32,
            reason: (*reason).clone(),
        })
    };
    lacking.iter().filter_map(of).collect()
}

/// The key of a series with its node: the run's host, unless the run was of several and the key says which.
fn on_host(host: &str, key: &Key) -> Key {
    Key { host: Some(key.host.clone().unwrap_or_else(|| host.to_owned())), ..key.clone() }
}

/// How a series without a step moves, if it does by as much as matters.
fn moving_series(
    host: &str,
    key: &Key,
    points: &[(usize, &Figure)],
    thresholds: Thresholds,
) -> Option<MovingSeries> {
    let unit = points.first()?.1.unit;
    let values = values(points);
    let key = on_host(host, key);
    // Less than a printed step is no move.
    let lowest = values.iter().copied().fold(f64::MAX, f64::min);
    let step = printed_step(points).map_or(0.0, |step| ROUNDED_BY * step / lowest);
    let shape = series_shape(&values, thresholds.of(unit).max(step))?;
    let shape = if unit.is_share() { in_points(shape, &values) } else { shape };
    Some(MovingSeries { key, unit, runs: values.len() as u32, shape })
}

/// The shape of a share's series, which was searched with [`SHARE_BASE`] added: levels and changes of the
/// share itself.
fn in_points(shape: SeriesShape, values: &[f64]) -> SeriesShape {
    let (first, lowest) = (values[0], values.iter().copied().fold(f64::MAX, f64::min));
    match shape {
        SeriesShape::Alternating { low, high, at_low, switches } => {
            SeriesShape::Alternating { low: low - SHARE_BASE, high: high - SHARE_BASE, at_low, switches }
        }
        SeriesShape::Drifting { change } => SeriesShape::Drifting { change: change * first },
        SeriesShape::Wandering { correlation, range } => {
            SeriesShape::Wandering { correlation, range: range * lowest }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64], blocks: &[f64]) -> Vec<Figure> {
        values.iter().map(|value| Figure::measured(Unit::Ns, *value, blocks.to_vec())).collect()
    }

    #[test]
    fn a_figure_that_goes_to_and_fro_between_two_printed_steps_does_not_move() {
        let values: Vec<f64> = (0..20).map(|at| if at % 3 == 0 { 190.0 } else { 180.0 }).collect();
        let key = Key {
            case: "osu_latency".to_owned(),
            host: None,
            device: "a with b".to_owned(),
            pu: 0,
            memory_node: None,
            memory_spread: None,
            place: None,
        };
        let moves = |blocks: &[f64]| {
            let points = points(&values, blocks);
            let numbered: Vec<(usize, &Figure)> = points.iter().enumerate().collect();
            moving_series("a", &key, &numbered, Thresholds::default()).is_some()
        };
        assert!(!moves(&[]), "0.18 and 0.19 µs");
        assert!(moves(&[180.0]), "measured ones do");
    }
}
