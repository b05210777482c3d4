//! Kernels that compute, and Jacobi's iteration: how much of each kernel's time goes to transfers, what a far
//! place costs it beside what the bandwidths predict, and the rate of each way of halos. Each picture has one
//! scale.

use analysis::kernels::{LossOf, LossPair, both_places, in_place, losses_by_pair};
use report::Document;
use report::kernels::{KernelFigures, KernelPlace};
use stats::alike::distinct;
use stats::compare::TwoSampleVerdict;
use stats::interval::Interval;
use stats::units::counted;

use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::rows::{Mark, Row, Rows};
use crate::digits;

/// So many places have a picture of their own.
const PLACES: usize = 4;

pub(super) fn draw(document: &Document, page: &mut HtmlPage) {
    let places = document.kernels.iter().flat_map(|kernel| &kernel.places);
    let with_transfers = places.filter(|place| place.transfer_share.is_some());
    let places = distinct(with_transfers.map(|place| (&place.row[..], &place.column[..])));
    let left_out = places.len().saturating_sub(PLACES);
    for place in places.into_iter().take(PLACES) {
        shares(document, place, page);
    }
    if left_out > 0 {
        page.element("p", &format!("Transfers of {} are in the JSON.", counted(left_out, "more place")));
    }

    let pairs = losses_by_pair(document);
    let left_out = pairs.len().saturating_sub(PLACES);
    for (pair, of_pair) in pairs.into_iter().take(PLACES) {
        losses(document, pair, of_pair, page);
    }
    if left_out > 0 {
        let pairs = counted(left_out, "more pair");
        page.element("p", &format!("Losses of {pairs} of places are in the JSON."));
    }
}

/// The part of each kernel's time that goes to transfers.
fn shares(document: &Document, (row, column): (&str, &str), page: &mut HtmlPage) {
    let of = |(kernel, place): (&KernelFigures, &KernelPlace)| {
        let percent = place.transfer_share? * 100.0;
        let said = format!("{} %, {}", digits::shown(percent, None), rates(kernel, place));
        let value = format!("{}: {said}", kernel.name);
        Some(Row {
            name: kernel.name.clone(),
            said,
            colour: series(0),
            marks: vec![(Mark::Bar(percent), value)],
        })
    };
    let rows: Vec<Row> = in_place(document, (row, column)).filter_map(of).collect();
    let title =
        format!("{column}, host memory of {row}: the part of each kernel's time that goes to transfers");
    drawn(&title, "% of the time beyond its runs", rows, page);
}

/// `63.9 GB/s; 2784 alone`: with transfers, and on data that stays on the GPU.
fn rates(kernel: &KernelFigures, place: &KernelPlace) -> String {
    let number = |per_s: f64, ns: f64, interval: Option<Interval>| {
        let half = interval.map(|interval| interval.relative_half_width(ns) * per_s / 1e9);
        digits::shown(per_s / 1e9, half)
    };
    let with = number(place.per_s, place.median_ns, place.interval_ns);
    let alone = place.resident_per_s.zip(place.resident_ns).map_or(String::new(), |(per_s, ns)| {
        format!("; {} alone", number(per_s, ns, place.resident_interval_ns))
    });
    format!("{with} {}{alone}", kernel.unit.giga())
}

/// Each kernel's rate from near and from far, the worst first, how much longer it takes from there with its
/// interval, and as a ring what the bandwidths predict.
fn losses(document: &Document, [of, far, near]: LossPair<'_>, losses: Vec<LossOf<'_>>, page: &mut HtmlPage) {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let row = |(kernel, loss): LossOf<'_>| {
        let name = &kernel.name;
        let found = loss.comparison.as_ref();
        let is_undecided = found.is_none_or(|found| found.verdict == TwoSampleVerdict::Undecided);
        let span = found.map(|found| found.ratio_interval);
        let change = digits::change(1.0 + loss.loss);
        let value = format!("{name}: {change}{}", digits::known_within(span.as_ref()));
        let mut marks: Vec<(Mark, String)> = span
            .map(|ends| (Mark::Span(percent(ends.low), percent(ends.high)), value.clone()))
            .into_iter()
            .collect();
        marks.extend(loss.predicted_loss.map(|loss| {
            (
                Mark::Ring(loss * 100.0),
                format!("{name}: {} predicted by the bandwidths", digits::change(1.0 + loss)),
            )
        }));
        marks.push((Mark::Dot(loss.loss * 100.0), value));
        let rates = both_places(document, (kernel, loss)).map_or(String::new(), |[near, far]| {
            let [near, far] = [near, far].map(|place| digits::shown(place.per_s / 1e9, None));
            format!("{near} → {far} {}, ", kernel.unit.giga())
        });
        let note = if is_undecided { ", not significant" } else { "" };
        let said = format!("{rates}{change}{note}");
        Row { name: name.clone(), said, colour: series(if is_undecided { 5 } else { 1 }), marks }
    };

    let rows: Vec<Row> = losses.into_iter().map(row).collect();
    let rows = Rows {
        title: "% longer; ring: as the bandwidths predict".to_owned(),
        rows,
        levels: vec![(0.0, format!("from {near}"))],
        signed: true,
        ..Rows::default()
    };
    page.rows(&format!("{of}: {far} instead of {near}"), &rows);
}

fn drawn(title: &str, axis: &str, rows: Vec<Row>, page: &mut HtmlPage) {
    let rows = Rows { title: axis.to_owned(), rows, from_zero: true, ..Rows::default() };
    page.rows(title, &rows);
}
