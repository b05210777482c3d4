//! What being at once costs: the rate of each against how many are at once, with the level of one alone and
//! the fair share as lines; and each rank alone and at once.

use analysis::contention_curves::{Curve, curves};
use analysis::words::direction;
use report::Document;
use report::contention::Penalty;
use report::matrix::Matrix;
use stats::alike::distinct;
use stats::interval::range;
use stats::units::{rate_range, size};

use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::plot::{Axis, Plot, PlotPoint, Reference, Series};
use crate::charts::rows::{Mark, Row, Rows};
use crate::charts::scale::AxisUnit;
use crate::{digits, names};

/// Rows that a reader looks through.
const ROWS: usize = 32;

/// Curves of a matrix whose rows are more and more at once, all directions on one scale.
pub(super) fn draw(document: &Document, matrix: &Matrix, page: &mut HtmlPage) {
    let curves = curves(document, matrix);
    let highest =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.bytes_per_s).fold(0.0, f64::max);
    for curve in curves.iter().filter(|curve| curve.most_at_once() > 1) {
        let plot = plot(curve, highest / 1e9);
        let title = format!("{}: GB/s of each against how many copy at once", direction(curve.direction));
        page.picture(&title, &described(curve), |wide| plot.drawn(wide));
    }
}

fn plot(curve: &Curve, highest: f64) -> Plot {
    let names = distinct(curve.points.iter().map(|point| &point.name[..]));
    let of = |(at, name): (usize, &&str)| {
        let point = |point: &analysis::contention_curves::ContentionPoint| PlotPoint {
            x: f64::from(point.at_once),
            y: point.bytes_per_s / 1e9,
            interval: point.interval.map(|interval| (interval.low / 1e9, interval.high / 1e9)),
            value: format!(
                "{}, {} at once ({}): {}",
                point.name,
                point.at_once,
                point.row,
                digits::rate(point.bytes_per_s, point.interval.as_ref())
            ),
            marked: false,
        };
        let points = curve.points.iter().filter(|point| point.name == **name).map(point).collect();
        Series { name: (*name).to_owned(), colour: series(at), points, fit: Vec::new() }
    };

    let most = f64::from(curve.most_at_once());
    let mut references = Vec::new();

    if let Some(alone) = curve.alone_bytes_per_s {
        references.push(Reference {
            name: format!("alone, {}", digits::rate(alone, None)),
            points: vec![(1.0, alone / 1e9), (most, alone / 1e9)],
        });
    }

    let share = |n: u32| (f64::from(n), curve.most_together_bytes_per_s / f64::from(n) / 1e9);
    let from = curve
        .alone_bytes_per_s
        .map_or(1, |alone| (curve.most_together_bytes_per_s / alone).ceil().max(1.0) as u32);

    if from < curve.most_at_once() {
        references.push(Reference {
            name: format!("fair share of {}", digits::rate(curve.most_together_bytes_per_s, None)),
            points: (from..=curve.most_at_once()).map(share).collect(),
        });
    }

    Plot {
        x: Axis { title: "how many copy at once".to_owned(), unit: AxisUnit::Count, log: false },
        y: Axis { title: "GB/s of each".to_owned(), unit: AxisUnit::Number, log: false },
        series: names.iter().enumerate().map(of).collect(),
        references,
        range: Some((0.0, highest)),
    }
}

fn described(curve: &Curve) -> String {
    let all = (1..=curve.most_at_once()).filter_map(|n| {
        let (low, high) =
            range(curve.points.iter().filter(|point| point.at_once == n).map(|point| point.bytes_per_s))?;
        Some(format!("{n}: {}", rate_range(low, high)))
    });
    all.collect::<Vec<_>>().join("; ")
}

/// Each rank alone and with the others, on one scale, where no curve shows that.
pub(super) fn penalties(document: &Document, page: &mut HtmlPage) {
    let has_curve = document.matrices.iter().any(|matrix| matrix.compares == report::matrix::Compares::Load);
    if document.penalties.is_empty() {
        return;
    }

    if !has_curve {
        let largest = document.penalties.iter().map(|penalty| penalty.bytes).max();
        let of_largest = || document.penalties.iter().filter(|penalty| Some(penalty.bytes) == largest);
        let shown: Vec<&Penalty> = of_largest().take(ROWS).collect();
        let more = of_largest().count() - shown.len();
        let row = |penalty: &&Penalty| {
            let name = format!("{} {}", names::rank(document, penalty.rank), direction(penalty.direction));
            let (alone, both) = (penalty.alone_bytes_per_s, penalty.simultaneous_bytes_per_s);
            let said = |what: &str, rate: f64| format!("{name} {what}: {}", digits::rate(rate, None));
            let known = penalty.comparison.as_ref();
            let known = known.map_or(String::new(), |found| {
                format!(", 95 % interval {}", digits::changes(&found.ratio_interval))
            });
            let change = digits::change(both / alone);
            Row {
                said: format!("{} GB/s, {change}", digits::rate_number(both, None)),
                colour: series(usize::from(both < alone * 0.99)),
                marks: vec![
                    (
                        Mark::Span(both.min(alone) / 1e9, both.max(alone) / 1e9),
                        format!("{name}: {change}{known}"),
                    ),
                    (Mark::Ring(alone / 1e9), said("alone", alone)),
                    (Mark::Dot(both / 1e9), said("with the others", both)),
                ],
                name,
            }
        };
        let rows = Rows {
            title: "GB/s (ring: alone, dot: with the others)".to_owned(),
            rows: shown.iter().map(row).collect(),
            from_zero: true,
            ..Rows::default()
        };
        let title = format!("Contention penalty: {}", largest.map_or(String::new(), size));
        page.rows(&title, &rows);
        if more > 0 {
            page.element("p", &format!("{more} more are in the table."));
        }
    }

    let cells = document.penalties.iter().map(|penalty| {
        let ends = penalty.comparison.as_ref().map(|found| &found.ratio_interval);
        let case = document.cases.iter().find(|case| case.id == penalty.simultaneous_case);
        vec![
            names::rank(document, penalty.rank),
            case.map_or_else(|| penalty.simultaneous_case.clone(), |case| names::case(document, case)),
            digits::rate_number(penalty.alone_bytes_per_s, None),
            digits::rate_number(penalty.simultaneous_bytes_per_s, None),
            digits::change(penalty.simultaneous_bytes_per_s / penalty.alone_bytes_per_s),
            ends.map_or("–".to_owned(), digits::changes),
        ]
    });
    let header = ["", "case", "alone GB/s ", "at once GB/s ", "change ", "95 % interval "];
    page.folded_table("Contention penalty of each rank: alone and with the others", &header, cells);
}
