//! More than one document: what differs between the first and the last by time, sorted, each with its
//! interval beside the change that matters; and the figures of all of them over time, with the points at
//! which they changed.

use std::collections::BTreeMap;

use analysis::answer_status;
use analysis::compare::{Thresholds, compare};
use analysis::comparison::{ComparedCase, Lacking};
use analysis::conditions::Differing;
use analysis::figure::{Key, Unit};
use analysis::history::{History, LevelChange, history};
use analysis::judge::ChangeVerdict;
use analysis::run::Run;
use report::document::Tool;
use report::kernels::WorkUnit;
use report::matrix::engine_group;
use report::timestamp::unix_ns;
use stats::change_point::LEAST_VALUES;
use stats::interval::range;
use stats::series_shape::SeriesShape;
use stats::units::counted;

use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::plot::{Axis, Plot, PlotPoint, Reference, Series};
use crate::charts::rows::{Mark, Row, Rows};
use crate::charts::scale;
use crate::compared::{last_run, verdict};
use crate::digits::{self, compared as figure};

/// Cases drawn, and pictures; so many lines of a list are open.
const CASES: usize = 60;
const PICTURES: usize = 12;

/// A change of more per cent than this stands at the end of the scale: it would leave the others no room.
const MOST_PERCENT: f64 = 200.0;
/// How much farther than the largest change the scale goes for the ends of intervals.
const ROOM: f64 = 1.5;

/// What a key is called, where documents say it.
pub(super) type Names<'n> = &'n dyn Fn(&Key) -> String;

pub(super) fn draw(mut taken: Vec<Run>, tool: &Tool, names: Names<'_>, page: &mut HtmlPage) {
    page.level = 2;
    // RFC 3339 in UTC with equal digits sorts as time does.
    taken.sort_by(|a, b| a.started_at.cmp(&b.started_at));
    let (Some(first), Some(last)) = (taken.first(), taken.last()) else { return };
    let (first_side, last_side) = (std::slice::from_ref(first), std::slice::from_ref(last));
    match compare(tool.clone(), first_side, last_side, Thresholds::default(), false) {
        Ok(comparison) => {
            // The worst case is named as a person says it.
            let said = comparison.cases.first().map_or_else(
                || comparison.summary.clone(),
                |worst| {
                    let key = &worst.key;
                    comparison.summary.replacen(&key.to_string(), &names(key), 1)
                },
            );
            let summary = format!("{} against {}: {said}", last.name, first.name);
            page.answer(answer_status::of_counts(&comparison.counts), &[summary]);
            differences(&comparison.cases, names, page);

            let missing = comparison.missing.iter().map(|case| lacking(&last.name, case, names));
            let added = comparison.added.iter().map(|case| lacking(&first.name, case, names));
            page.list_open(&missing.chain(added).collect::<Vec<_>>(), PICTURES, "more line");

            let differing = comparison.differing.iter().map(|differs| {
                let (base, new) = differs.sides();
                vec![differs.fact.clone(), base, new]
            });
            if !comparison.differing.is_empty() {
                page.table(
                    "What they were under that differs",
                    &["fact", &first.name, &last.name],
                    differing,
                );
            }
            let rows = comparison.cases.iter().map(|case| {
                vec![
                    names(&case.key),
                    figure(case.unit, case.base),
                    figure(case.unit, case.new),
                    digits::change_of(case),
                    case.ratio_interval.as_ref().map_or("–".to_owned(), digits::changes),
                    verdict(case.verdict).to_owned(),
                ]
            });
            let header = ["case", "first ", "last ", "change ", "95 % interval ", "verdict"];
            page.folded_first_rows("All cases, first against last", &header, rows);
        }
        Err(error) => page.element("p", &error.to_string()),
    }

    if taken.len() > 2 {
        over_time(&taken, tool, names, page);
    }
}

/// `b.json has no figure of H2D …: skipped`.
fn lacking(name: &str, case: &Lacking, names: Names<'_>) -> String {
    let reason = case.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    format!("{name} has no figure of {}{reason}", names(&case.key))
}

/// The largest changes, each with its interval; those for the worse first.
fn differences(cases: &[ComparedCase], names: Names<'_>, page: &mut HtmlPage) {
    let better = |case: &ComparedCase| match case.unit.more_is_better() {
        true => 1.0 + case.change(),
        false => 1.0 / (1.0 + case.change()),
    };
    let size = |case: &ComparedCase| better(case).ln().abs();
    let mut sorted: Vec<&ComparedCase> = cases.iter().collect();
    sorted.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let left_out = sorted.len().saturating_sub(CASES);
    sorted.truncate(CASES);
    sorted.sort_by(|a, b| better(a).total_cmp(&better(b)));

    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let row = |case: &&ComparedCase| {
        let colour = match case.verdict {
            ChangeVerdict::Regressed => series(1),
            ChangeVerdict::Suspect => series(3),
            ChangeVerdict::Improved => series(2),
            ChangeVerdict::Same => series(0),
            ChangeVerdict::Inconclusive => series(5),
        };
        let name = names(&case.key);
        let value = format!(
            "{name}: {} then {}, {}{}",
            figure(case.unit, case.base),
            figure(case.unit, case.new),
            digits::change_of(case),
            digits::known_within(case.ratio_interval.as_ref())
        );
        let span = case
            .ratio_interval
            .map(|ends| (Mark::Span(percent(ends.low), percent(ends.high)), value.clone()));
        let said = format!("{} {}", digits::change_of(case), verdict(case.verdict));
        Row {
            said,
            colour,
            marks: span.into_iter().chain([(Mark::Dot(case.change() * 100.0), value)]).collect(),
            name,
        }
    };

    let rows: Vec<Row> = sorted.iter().map(row).collect();
    if rows.is_empty() {
        return;
    }
    let threshold = sorted.iter().map(|case| case.threshold).fold(f64::MAX, f64::min) * 100.0;
    let changes = sorted.iter().map(|case| (case.change() * 100.0).abs());
    let largest = changes.fold(4.0 * threshold, f64::max).min(MOST_PERCENT);
    let rows = Rows {
        title: match sorted.iter().any(|case| case.unit.is_share()) {
            true => "% against the first, of shares points".to_owned(),
            false => "% against the first".to_owned(),
        },
        most: Some(largest * ROOM),
        rows,
        levels: vec![(0.0, "no change".to_owned())],
        zone: Some((
            -threshold,
            threshold,
            format!("does not matter (±{} %)", digits::shown(threshold, None)),
        )),
        signed: true,
        ..Rows::default()
    };

    page.picture("What changed, the worst first", &rows.described(8), |wide| rows.drawn(wide));

    if left_out > 0 {
        page.element("p", &format!("{left_out} more cases changed less."));
    }
}

/// When a run began (days after the first), its figure and its file.
type At<'r> = (f64, f64, &'r str);

/// A figure over all runs, as their history tells series apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SeriesOf<'r> {
    key: &'r Key,
    host: &'r str,
    /// The engine of its copies, where it is not the copy engines.
    engine: Option<&'static str>,
}

impl SeriesOf<'_> {
    /// The key that a history has for it.
    fn key_in_history(&self) -> Key {
        let engine = self.engine.map_or(String::new(), |engine| format!("/{engine}"));
        let case = self.key.case.clone() + &engine;
        Key { host: Some(self.host.to_owned()), case, ..self.key.clone() }
    }

    /// Its name, with the host where others have figures too.
    fn name(&self, names: Names<'_>, has_several_hosts: bool) -> String {
        let host = self.key.host.clone().or_else(|| has_several_hosts.then(|| self.host.to_owned()));
        let engine = self.engine.map_or(String::new(), |engine| format!(", --engine {engine}"));
        names(&Key { host, ..self.key.clone() }) + &engine
    }
}

/// A line a series over all runs, those that moved most first.
fn over_time(runs: &[Run], tool: &Tool, names: Names<'_>, page: &mut HtmlPage) {
    let begun = |run: &Run| unix_ns(&run.started_at).map(|ns| ns as f64 / 86_400e9);
    let begin = runs.iter().filter_map(begun).fold(f64::MAX, f64::min);
    let mut all: BTreeMap<SeriesOf<'_>, (Unit, Vec<At<'_>>)> = BTreeMap::new();
    for run in runs {
        let Some(at) = begun(run) else { continue };
        for (key, found) in &run.figures {
            if let Ok(found) = found {
                let of = SeriesOf { key, host: &run.host, engine: engine_group(run.engine) };
                let (_, points) = all.entry(of).or_insert((found.unit, Vec::new()));
                points.push((at - begin, found.median, &run.name));
            }
        }
    }

    let found = history(tool.clone(), runs.to_vec(), Thresholds::default());
    let series: BTreeMap<Key, SeriesOf<'_>> = all.keys().map(|of| (of.key_in_history(), *of)).collect();
    all.retain(|_, (_, points)| points.len() > 2);
    let moved =
        |points: &[At<'_>]| range(points.iter().map(|point| point.1)).map_or(1.0, |(low, high)| high / low);
    let mut ordered: Vec<(SeriesOf<'_>, (Unit, Vec<At<'_>>))> = all.into_iter().collect();
    ordered.sort_by(|a, b| moved(&b.1.1).total_cmp(&moved(&a.1.1)));
    if ordered.is_empty() && found.ended.is_empty() && found.absent_hosts.is_empty() {
        return;
    }

    page.heading(0, "Over time");
    let has_several_hosts = runs.iter().any(|run| run.host != runs[0].host);
    let name_of = |of: &SeriesOf<'_>| of.name(names, has_several_hosts);
    level_changes(&found, &|key| series.get(key).map_or_else(|| names(key), name_of), page);

    let count = ordered.len();
    for (of, (unit, points)) in ordered.into_iter().take(PICTURES) {
        let key = of.key_in_history();
        let steps = found.steps.iter().filter(|step| step.key == key);
        draw_series(&name_of(&of), unit, points, steps, begin, page);
    }

    if count > PICTURES {
        page.element("p", &format!("{} more figures moved less.", count - PICTURES));
    }
}

/// What the search for changes of level found, and what it did not search.
fn level_changes(found: &History, names: Names<'_>, page: &mut HtmlPage) {
    let ended = found.ended.iter().map(|series| {
        let runs = counted(series.runs_without as usize, "run");
        format!(
            "{}: {}, {runs} without a figure: {}",
            series.first_without,
            names(&series.key),
            series.reason
        )
    });
    let steps = found.steps.iter().map(|step| level_change_line(step, names));
    let moving = found.moving.iter().map(|series| {
        let shape = match series.shape {
            SeriesShape::Alternating { .. } => "alternates between two levels",
            SeriesShape::Drifting { .. } => "drifts slowly",
            SeriesShape::Wandering { .. } => "wanders",
        };
        format!("{} {shape}, without a step", names(&series.key))
    });

    let absent = found.absent_hosts.iter().map(|one| format!("{}: {}", one.last_run, last_run(one)));
    let lines: Vec<String> = absent.chain(ended).chain(steps).chain(moving).collect();
    match found.series {
        0 => page
            .element("p", &format!("Not searched for changes of level: a figure needs {LEAST_VALUES} runs.")),
        series if lines.is_empty() => {
            let searched = counted(series as usize, "figure");
            page.element("p", &format!("{searched} searched: none changed its level for certain."));
        }
        _ => {}
    }
    page.list_open(&lines, PICTURES, "more line");

    if found.too_short > 0 && found.series > 0 {
        let short = counted(found.too_short as usize, "figure");
        page.element("p", &format!("Not searched: {short} of fewer than {LEAST_VALUES} runs."));
    }
}

/// `2026-02-04: H2D …: from 24.3 to 12.3 GB/s; changed then: driver: 550, then 560`.
fn level_change_line(step: &LevelChange, names: Names<'_>) -> String {
    let differing: Vec<String> = step.differing.iter().map(Differing::then).collect();
    let what = if differing.is_empty() {
        "no recorded change of the environment".to_owned()
    } else {
        differing.join("; ")
    };
    format!(
        "{}: {}, from {} to {} ({what})",
        step.first_after,
        names(&step.key),
        figure(step.unit, step.before),
        figure(step.unit, step.after)
    )
}

fn draw_series<'s>(
    name: &str,
    unit: Unit,
    mut points: Vec<At<'_>>,
    steps: impl Iterator<Item = &'s LevelChange>,
    begin: f64,
    page: &mut HtmlPage,
) {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (factor, title) = match unit {
        Unit::Ns => (1e3, "µs"),
        Unit::BytesPerS => (1e9, "GB/s"),
        Unit::FlopPerS => (1e9, WorkUnit::Flop.giga()),
        Unit::KeysPerS => (1e9, WorkUnit::Key.giga()),
        Unit::S => (1.0, "s"),
        Unit::More | Unit::Less => (1.0, ""),
        Unit::Share | Unit::EstimatedShare => (0.01, "%"),
    };

    let highest = points.iter().map(|point| point.1 / factor).fold(0.0, f64::max);
    let point = |(at, value, file): &At<'_>| PlotPoint {
        x: *at,
        y: value / factor,
        interval: None,
        value: format!("{file}: {}", figure(unit, *value)),
        marked: false,
    };

    let reference = |step: &LevelChange| {
        let at = unix_ns(&step.first_after)? as f64 / 86_400e9 - begin;
        Some(Reference {
            name: format!("changed {}", step.first_after),
            points: vec![(at, 0.0), (at, highest)],
        })
    };

    let described = format!(
        "{} runs, from {} to {}",
        points.len(),
        figure(unit, points[0].1),
        figure(unit, points[points.len() - 1].1)
    );
    let plot = Plot {
        x: Axis { title: "days after the first run".to_owned(), unit: scale::AxisUnit::Number, log: false },
        y: Axis { title: title.to_owned(), unit: scale::AxisUnit::Number, log: false },
        series: vec![Series {
            name: name.to_owned(),
            colour: series(0),
            points: points.iter().map(point).collect(),
            fit: Vec::new(),
        }],
        references: steps.filter_map(reference).collect(),
        range: None,
    };
    page.picture(name, &described, |wide| plot.drawn(wide));
}
