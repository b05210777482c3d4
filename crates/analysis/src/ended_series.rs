//! Series that end while runs go on, and hosts that have no run any more.
//!
//! The last runs of a series that ends have no figure for a reason, or no row of its device, as of a GPU that
//! fell off the bus. A missing row is a loss only beside runs that were asked for the same.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::change_point::LEAST_VALUES;

use crate::figure::{Figure, Key};
use crate::run::Run;

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

/// By host and key, the runs with a figure, by number.
pub(crate) type Measured<'r> = BTreeMap<(&'r str, &'r Key), Vec<(usize, &'r Figure)>>;
/// By host and key, the runs without one, and why.
pub(crate) type Lacking<'r> = BTreeMap<(&'r str, &'r Key), Vec<(usize, &'r String)>>;

/// Series whose last runs have no figure though earlier ones had.
pub(crate) fn ended(series: &Measured<'_>, lacking: &Lacking<'_>, runs: &[Run]) -> Vec<EndedSeries> {
    let of = |((host, key), without): (&(&str, &Key), &Vec<(usize, &String)>)| {
        let last = series.get(&(*host, *key))?.last()?.0;
        let after: Vec<&(usize, &String)> = without.iter().filter(|(at, _)| *at > last).collect();
        let (first, reason) = after.first().copied()?;

        Some(EndedSeries {
            key: key.on_host(host),
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
pub(crate) fn vanished(series: &Measured<'_>, keys: &[Vec<Key>], runs: &[Run]) -> Vec<EndedSeries> {
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
            key: key.on_host(host),
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
pub(crate) fn absent_hosts(runs: &[Run]) -> Vec<AbsentHost> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Unit;

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
        let runs: Vec<Run> = (0..before).map(|day| run(day, "pingpong", &both)).chain(later).collect();
        let keys: Vec<Vec<Key>> = runs.iter().map(|run| run.figures.keys().cloned().collect()).collect();
        let mut series = Measured::new();
        for (at, run) in runs.iter().enumerate() {
            for (key, figure) in keys[at].iter().zip(run.figures.values().flatten()) {
                series.entry((&run.host, key)).or_default().push((at, figure));
            }
        }
        let runs_without = |series: &EndedSeries| format!("{} {}", series.key.device, series.runs_without);
        vanished(&series, &keys, &runs).iter().map(runs_without).collect()
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
            let runs: Vec<Run> = hosts.chars().enumerate().map(of_host).collect();
            absent_hosts(&runs).into_iter().map(|one| (one.host, one.runs_since)).collect()
        };

        assert_eq!(absent("ababababababababababaaaa"), [("b".to_owned(), 4)]);
        assert_eq!(absent("abababababababababaaaaaab"), []);
        assert_eq!(absent("ababababababababababaa"), [], "too soon to tell");
        assert_eq!(absent("abaababbaaababbbabaababbbbb"), [], "now one and now the other");
        assert_eq!(absent("ababaaaa"), [], "too few runs");
    }
}
