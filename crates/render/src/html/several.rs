//! More than one document: what differs between the first and the last, and the figures of all of them over time.

use std::collections::BTreeMap;

use analysis::compare::{Thresholds, compare};
use analysis::comparison::Compared;
use analysis::figure::{Key, Unit};
use analysis::judge::Verdict;
use analysis::run::Run;
use report::document::Tool;
use report::timestamp::unix_ns;

use super::scale::{Scale, rates};
use super::write::{COLOURS, Page, label, line};
use crate::compared::{change, figure, verdict};

/// Cases shown at most in the table, and as pictures.
const CASES: usize = 200;
const PICTURES: usize = 24;

const LEFT: f64 = 60.0;
const RIGHT: f64 = 700.0;
const BOTTOM: f64 = 160.0;

pub(super) fn draw(taken: &[Run], tool: &Tool, page: &mut Page) {
    page.level = 2;
    let (Some(first), Some(last)) = (taken.first(), taken.last()) else { return };
    page.heading(0, "Differences");
    let (first_side, last_side) = (std::slice::from_ref(first), std::slice::from_ref(last));
    match compare(tool.clone(), first_side, last_side, Thresholds::default(), true) {
        Ok(comparison) => {
            let is_well = comparison.counts.regressed + comparison.counts.missing + comparison.counts.inconclusive == 0;
            let class = if is_well { "verdict" } else { "verdict finding" };
            let summary = crate::xml::escaped(&format!("{} against {}: {}", last.name, first.name, comparison.summary));
            page.raw(&format!("<p class=\"{class}\">{summary}</p>\n"));
            let differing = comparison
                .differing
                .iter()
                .map(|differs| vec![differs.fact.clone(), differs.base.join(" and "), differs.new.join(" and ")]);
            if !comparison.differing.is_empty() {
                page.table("What they were under that differs", &["fact", &first.name, &last.name], differing);
            }
            let changed = comparison.cases.iter().filter(|case| case.verdict != Verdict::Same);
            let changed: Vec<&Compared> = changed.take(CASES).collect();
            if !changed.is_empty() {
                let rows = changed.iter().map(|case| {
                    vec![
                        case.key.case.clone(),
                        case.key.place(),
                        figure(case.unit, case.base),
                        figure(case.unit, case.new),
                        change(case),
                        verdict(case.verdict).to_owned(),
                    ]
                });
                let header = ["case", "place", "first ", "last ", "change ", "verdict"];
                page.table("Cases that changed or are not decided", &header, rows);
            }
        }
        Err(error) => page.element("p", &error.to_string()),
    }
    if taken.len() > 2 {
        history(taken, page);
    }
}

/// When a run began (Unix time, s), its figure, and what that counts.
type Point = (f64, f64, Unit);

/// A line a case and place over all runs, those that moved most first.
fn history(runs: &[Run], page: &mut Page) {
    let mut series: BTreeMap<&Key, Vec<Point>> = BTreeMap::new();
    for run in runs {
        let Some(at) = unix_ns(&run.started_at) else { continue };
        for (key, found) in &run.figures {
            if let Ok(found) = found {
                series.entry(key).or_default().push((at as f64 / 1e9, found.median, found.unit));
            }
        }
    }
    series.retain(|_, points| points.len() > 2);
    let moved = |points: &[Point]| {
        let (low, high) =
            points.iter().fold((f64::MAX, 0.0_f64), |(low, high), point| (low.min(point.1), high.max(point.1)));
        high / low
    };
    let mut ordered: Vec<(&Key, Vec<Point>)> = series.into_iter().collect();
    ordered.sort_by(|a, b| moved(&b.1).total_cmp(&moved(&a.1)));
    if ordered.is_empty() {
        return;
    }
    page.heading(0, "History");
    let all = ordered.len();
    for (key, mut points) in ordered.into_iter().take(PICTURES) {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        one(key, &points, page);
    }
    if all > PICTURES {
        page.element("p", &format!("{} more cases moved less.", all - PICTURES));
    }
}

fn one(key: &Key, points: &[Point], page: &mut Page) {
    let unit = points[0].2;
    let (scale, name) = match unit {
        Unit::Ns => (1e3, "µs"),
        Unit::BytesPerS => (1e9, "GB/s"),
        Unit::S => (1.0, "s"),
        Unit::More | Unit::Less => (1.0, ""),
    };
    let most = points.iter().map(|point| point.1 / scale).fold(0.0, f64::max);
    let (begin, end) = (points[0].0, points[points.len() - 1].0);
    let x = Scale::linear(begin, end, LEFT + 10.0, RIGHT - 10.0);
    let y = Scale::linear(0.0, most * 1.1, BOTTOM, 10.0);
    let mut svg = rates(y, LEFT, RIGHT);
    let at = |point: &Point| (x.at(point.0), y.at(point.1 / scale));
    for pair in points.windows(2) {
        svg += &line(at(&pair[0]), at(&pair[1]), &format!("stroke=\"{}\" stroke-width=\"2\"", COLOURS[0]));
    }
    let dots: String = points.iter().map(|point| format!("M{:.1} {:.1}h0", at(point).0, at(point).1)).collect();
    svg += &format!("<path d=\"{dots}\" stroke=\"{}\" stroke-width=\"6\" stroke-linecap=\"round\"/>\n", COLOURS[0]);
    let days = (end - begin) / 86_400.0;
    svg += &label(LEFT + 10.0, BOTTOM + 18.0, "start", "first run");
    svg += &label(RIGHT - 10.0, BOTTOM + 18.0, "end", &format!("{days:.1} days later"));
    svg += &label(RIGHT + 6.0, 20.0, "start", name);
    let title = format!("{}, {}", key.case, key.place());
    let (first, last) = (figure(unit, points[0].1), figure(unit, points[points.len() - 1].1));
    page.picture(&title, &format!("{} runs, from {first} to {last}", points.len()), RIGHT + 60.0, BOTTOM + 26.0, &svg);
}
