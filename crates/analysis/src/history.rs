//! Step changes over many documents: when a figure changed its level for good, and what of the environment
//! changed with it.
//!
//! Documents are put in order of time; each case in each place is a series, per host. A change must be one
//! (`stats::change_point`, which takes in that runs are alike from one to the next) at 5 % divided by the
//! number of series, so that a whole folder without a change names one in at most one of twenty cases, and at
//! least as large as the threshold that comparisons have. A series without a step that moves by as much all
//! the same is named with how it does. A series that ends while runs go on is named too: its last runs have
//! no figure for a reason, or no row of its device, as of a GPU that fell off the bus.

use std::collections::{BTreeMap, BTreeSet};

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

/// A host without later runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AbsentHost {
    /// Its name.
    pub host: String,
    /// When its last run began, RFC 3339 in UTC.
    pub last_run: String,
    /// How many runs of other hosts there are since.
    pub runs_since: u32,
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

/// A device was in so many runs at least before its absence is one.
const LEAST_BEFORE: usize = 3;

/// Series whose device the last runs have no row of, though they were asked for the same and measured the
/// case elsewhere. The device was in each such run before, of which there are as many as a search needs: jobs
/// that are given now one GPU and now another lack each of them now and then.
fn vanished(
    series: &BTreeMap<(&str, &Key), Vec<(usize, &Figure)>>,
    keys: &[Vec<Key>],
    runs: &[Run],
) -> Vec<EndedSeries> {
    type Devices<'k> = BTreeSet<(Option<&'k str>, &'k str)>;
    let mut cases: Vec<BTreeMap<&str, Devices<'_>>> = vec![BTreeMap::new(); runs.len()];
    for (cases, keys) in cases.iter_mut().zip(keys) {
        for key in keys {
            cases.entry(&key.case).or_default().insert((key.host.as_deref(), &key.device));
        }
    }

    let of = |((host, key), points): (&(&str, &Key), &Vec<(usize, &Figure)>)| {
        let last = points.last()?.0;
        let asked = runs[last].asked.as_ref()?;
        let devices = |at: &usize| cases[*at].get(&key.case[..]);
        let is_like = |at: &usize| {
            let has_host = |devices: &Devices<'_>| devices.iter().any(|(of, _)| *of == key.host.as_deref());
            runs[*at].host == *host
                && runs[*at].asked.as_ref() == Some(asked)
                && devices(at).is_some_and(has_host)
        };
        let (before, after): (Vec<usize>, Vec<usize>) =
            (0..runs.len()).filter(is_like).partition(|at| *at <= last);

        let device = (key.host.as_deref(), &key.device[..]);
        let has_device = |at: &usize| devices(at).is_some_and(|devices| devices.contains(&device));
        let is_told = before.len() >= LEAST_BEFORE && before.len() + after.len() >= LEAST_VALUES;
        let is_gone = before.iter().all(has_device) && !after.iter().any(has_device);

        let first = after.first().filter(|_| is_told && is_gone)?;
        Some(EndedSeries {
            key: on_host(host, key),
            first_without: runs[*first].started_at.clone(),
            runs_without: after.len() as u32,
            reason: "the device is not in these runs, which were asked for the same".to_owned(),
        })
    };
    series.iter().filter_map(of).collect()
}

/// A host is absent after so many times the most runs of others that ever lay between two of its own.
const TIMES_LONGEST_GAP: usize = 3;

/// Hosts with as many runs as a search needs that have none any more.
fn absent_hosts(runs: &[Run]) -> Vec<AbsentHost> {
    let mut of_host: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        let several = run.figures.keys().filter_map(|key| key.host.as_deref());
        let hosts: BTreeSet<&str> = several.chain([&run.host[..]]).collect();
        hosts.into_iter().for_each(|host| of_host.entry(host).or_default().push(at));
    }

    let absent = |(host, own): (&str, Vec<usize>)| {
        let last = *own.last()?;
        let longest = own.windows(2).map(|two| two[1] - two[0] - 1).max()?;
        let since = runs.len() - 1 - last;
        (own.len() >= LEAST_VALUES && since >= TIMES_LONGEST_GAP * longest.max(1)).then(|| AbsentHost {
            host: host.to_owned(),
            last_run: runs[last].started_at.clone(),
            runs_since: since as u32,
        })
    };
    of_host.into_iter().filter_map(absent).collect()
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

    /// A run of a day with these devices, each with its PU.
    fn run(day: usize, asked: &str, devices: &[(&str, u32)]) -> Run {
        let key = |(device, pu): &(&str, u32)| Key {
            case: "alone/pinned/h2d/4194304".to_owned(),
            host: None,
            device: (*device).to_owned(),
            pu: *pu,
            memory_node: None,
            memory_spread: None,
            place: None,
        };
        let figure = || Ok(Figure::measured(Unit::BytesPerS, 55e9, vec![55e9]));
        Run {
            name: format!("{day:02}.json"),
            host: "n01".to_owned(),
            started_at: format!("2026-01-{:02}T00:00:00Z", day + 1),
            asked: Some(asked.to_owned()),
            conditions: Vec::new(),
            engine: report::settings::CopyEngine::default(),
            figures: devices.iter().map(|device| (key(device), figure())).collect(),
        }
    }

    /// The devices whose series end, of so many runs with both devices and then runs made by `later`.
    fn ended_devices(before: usize, later: impl Iterator<Item = Run>) -> Vec<String> {
        let both = [("0000:01:00.0", 0), ("0000:02:00.0", 8)];
        let runs = (0..before).map(|day| run(day, "pingpong", &both)).chain(later).collect();
        let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
        let found = history(tool, runs, Thresholds::default());
        let runs_without = |series: &EndedSeries| format!("{} {}", series.key.device, series.runs_without);
        found.ended.iter().map(runs_without).collect()
    }

    #[test]
    fn a_series_ends_where_its_device_is_in_no_later_run_that_was_asked_for_the_same() {
        let left = [("0000:01:00.0", 0)];
        let without =
            |asked: &'static str, days: std::ops::Range<usize>| days.map(move |day| run(day, asked, &left));
        assert_eq!(ended_devices(12, without("pingpong", 12..20)), ["0000:02:00.0 8"]);
        assert_eq!(ended_devices(12, without("pingpong", 12..13)), ["0000:02:00.0 1"]);
        assert_eq!(ended_devices(12, without("pingpong --gpus 0", 12..20)), [""; 0], "other options");
        assert_eq!(ended_devices(2, without("pingpong", 2..20)), [""; 0], "too few before");

        let elsewhere = (12..20).map(|day| run(day, "pingpong", &[("0000:01:00.0", 0), ("0000:02:00.0", 9)]));
        assert_eq!(ended_devices(12, elsewhere), [""; 0], "its rank has another PU");
        let in_turns = (12..20).map(|day| {
            let device = if day % 2 == 0 { "0000:01:00.0" } else { "0000:02:00.0" };
            run(day, "pingpong", &[(device, 0)])
        });
        assert_eq!(ended_devices(12, in_turns), [""; 0], "now one GPU and now another");
    }

    #[test]
    fn a_host_without_a_run_for_long_is_absent_and_one_that_a_scheduler_left_out_is_not() {
        let absent = |hosts: &str| -> Vec<(String, u32)> {
            let of_host = |(at, host): (usize, char)| {
                let started_at = format!("2026-01-01T00:{at:02}:00Z");
                Run { host: host.to_string(), started_at, ..run(0, "pingpong", &[("0000:01:00.0", 0)]) }
            };
            let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
            let runs = hosts.chars().enumerate().map(of_host).collect();
            let found = history(tool, runs, Thresholds::default());
            found.absent_hosts.into_iter().map(|one| (one.host, one.runs_since)).collect()
        };

        assert_eq!(absent("ababababababababababaaaa"), [("b".to_owned(), 4)]);
        assert_eq!(absent("abababababababababaaaaaab"), []);
        assert_eq!(absent("ababababababababababaa"), [], "too soon to tell");
        assert_eq!(absent("abaababbaaababbbabaababbbbb"), [], "now one and now the other");
        assert_eq!(absent("ababaaaa"), [], "too few runs");
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
