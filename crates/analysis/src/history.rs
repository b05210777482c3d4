//! Step changes over many documents: when a figure changed its level for good, and what of the environment
//! changed with it.
//!
//! Documents are put in order of time; each case in each place is a series, per host. A change must be one
//! (`stats::change_point`, which takes in that runs are alike from one to the next) at 5 % divided by the
//! number of series, so that a whole folder without a change names one in at most one of twenty cases, and at
//! least as large as the threshold that comparisons have. A series without a step that moves by as much all
//! the same is named with how it does, and what is no longer there (`ended_series`).

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
use crate::ended_series::{AbsentHost, EndedSeries, Lacking, Measured, absent_hosts, ended, vanished};
use crate::figure::{Figure, Key, Unit};
use crate::run::Run;

/// The schema of this document.
pub const VERSION: Version = Version { schema: "numabench.history", major: 1, minor: 6 };

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
    /// Hosts that have no run any more though others have.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub absent_hosts: Vec<AbsentHost>,
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

impl History {
    /// Whether a figure changed: by a step, by a drift, or to none, also with all of its host's.
    pub fn has_changes(&self) -> bool {
        let drifts = |series: &MovingSeries| matches!(series.shape, SeriesShape::Drifting { .. });
        let has_ended = !self.ended.is_empty() || !self.absent_hosts.is_empty();
        !self.steps.is_empty() || has_ended || self.moving.iter().any(drifts)
    }
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
    let (mut series, mut lacking) = (Measured::new(), Lacking::new());
    for (at, run) in runs.iter().enumerate() {
        for (key, figure) in keys[at].iter().zip(run.figures.values()) {
            match figure {
                Ok(figure) => series.entry((&run.host, key)).or_default().push((at, figure)),
                Err(reason) => lacking.entry((&run.host, key)).or_default().push((at, reason)),
            }
        }
    }
    let mut ended = ended(&series, &lacking, &runs);
    ended.extend(vanished(&series, &keys, &runs));

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
            let key = key.on_host(host);
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
        absent_hosts: absent_hosts(&runs),
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

/// How a series without a step moves, if it does by as much as matters.
fn moving_series(
    host: &str,
    key: &Key,
    points: &[(usize, &Figure)],
    thresholds: Thresholds,
) -> Option<MovingSeries> {
    let unit = points.first()?.1.unit;
    let values = values(points);
    let key = key.on_host(host);
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

    #[test]
    fn a_drift_is_a_change_and_runs_that_wander_are_none() {
        let found = |shape: Option<SeriesShape>| {
            let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
            let mut found = history(tool, Vec::new(), Thresholds::default());
            let key = Key::in_words("case", "place".to_owned());
            let series = |shape| MovingSeries { key: key.clone(), unit: Unit::Ns, runs: 20, shape };
            found.moving.extend(shape.map(series));
            found.has_changes()
        };
        assert!(!found(None));
        assert!(found(Some(SeriesShape::Drifting { change: -0.1 })));
        assert!(!found(Some(SeriesShape::Wandering { correlation: 0.5, range: 0.1 })));
    }
}
