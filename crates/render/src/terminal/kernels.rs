//! Kernels that compute: each near and far in one row, with what the far place costs beside what the
//! bandwidths of the run predict; then a table of their rates for each place.

use analysis::kernels::{LossOf, both_places, in_place, losses_by_pair, places};
use report::Document;
use report::kernels::{KernelFigures, KernelPlace};
use stats::compare::TwoSampleVerdict;
use stats::interval::Interval;
use stats::units::carried;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use crate::digits::{half_width, percent, signed, signed_change};

/// Draws them, where the document has some.
pub(super) fn draw(document: &Document, page: &mut Page) {
    losses(document, page);
    for place in places(document) {
        rates(document, place, page);
        both_clocks(document, place, page);
    }
}

fn rates(document: &Document, (row, column): (&str, &str), page: &mut Page) {
    let found: Vec<(&KernelFigures, &KernelPlace)> = in_place(document, (row, column)).collect();
    let on_gpu = found.iter().any(|(_, place)| place.resident_ns.is_some());
    let header: &[&str] = match on_gpu {
        true => &["", "with transfers", "± 95 %", "alone", "± 95 %", "", "beyond its runs"],
        false => &["", "rate", "± 95 %", ""],
    };
    let mut grid = TextGrid::new(1, header);
    let iterations = found.iter().map(|(kernel, _)| kernel.iterations).max().unwrap_or(1);
    let runs = if iterations > 1 { format!(", {iterations} iterations") } else { String::new() };
    grid.caption(match on_gpu {
        true => format!("{column}, host memory of {row}{runs}"),
        false => format!("cores of {row}, memory of {column}"),
    });
    let mut small = Vec::new();

    for (kernel, place) in &found {
        let mut cells = vec![
            kernel.name.clone(),
            rate(place.per_s),
            half_width(place.interval_ns.as_ref(), place.median_ns),
        ];
        if on_gpu {
            let alone = place.resident_ns.zip(place.resident_per_s);
            cells.push(alone.map_or("–".to_owned(), |(_, per_s)| rate(per_s)));
            cells.push(
                alone.map_or("–".to_owned(), |(ns, _)| half_width(place.resident_interval_ns.as_ref(), ns)),
            );
        }
        cells.push(kernel.unit.giga().to_owned());
        if on_gpu {
            cells.push(place.transfer_share.map_or("–".to_owned(), percent));
        }
        if place.is_too_short() {
            small.push(&kernel.name[..]);
        }
        grid.row(cells, Vec::new());
    }

    if !small.is_empty() {
        let text = "too small: a run takes less than 10 µs, so the rate alone is that of a launch; try a \
            larger --class or --size";
        grid.foot(Tone::Faint, format!("{}: {text}", small.join(", ")));
    }

    grid.draw(page);
    page.blank();
}

/// The time of a run by the GPU's clock, and what the host waits that starts it and needs its result.
fn both_clocks(document: &Document, (row, column): (&str, &str), page: &mut Page) {
    let found = in_place(document, (row, column)).filter(|(_, place)| place.resident_ns.is_some());
    let found: Vec<(&KernelFigures, &KernelPlace)> = found.collect();
    if found.iter().all(|(_, place)| place.host_ns.is_none()) {
        return;
    }
    let header = ["", "with transfers", "host's", "alone", "host's", ""];
    let mut grid = TextGrid::new(1, &header);
    grid.caption(format!("{column}, host memory of {row}: time by the GPU's clock and by the host's"));

    for (kernel, place) in found {
        // A round that the host's clock timed has no time by the GPU's.
        let [gpu, host] = match place.host_ns {
            Some(host) => [Some(place.median_ns), Some(host)],
            None => [None, Some(place.median_ns)],
        };
        let cell = |ns: Option<f64>| ns.map_or("–".to_owned(), |ns| carried(ns / 1e3, None, 4));
        let times = [gpu, host, place.resident_ns, place.host_resident_ns].map(cell);
        grid.row([vec![kernel.name.clone()], times.to_vec(), vec!["µs".to_owned()]].concat(), Vec::new());
    }

    grid.draw(page);
    page.blank();
}

/// Each kernel's rate from near and from far, and how much longer it takes from there, the worst first.
fn losses(document: &Document, page: &mut Page) {
    let first = document.kernels.iter().find_map(|kernel| kernel.losses.first());
    let predicted = first.is_some_and(|loss| loss.predicted_loss.is_some());
    for ([of, far, near], losses) in losses_by_pair(document) {
        let mut header = vec!["", near, far, "", "takes longer", "95 % interval"];
        header.extend(if predicted { &[PREDICTED, FADES][..] } else { &[] });
        let mut grid = TextGrid::new(1, &header);
        grid.caption(format!("{of}: {far} instead of {near}, the worst first"));
        for of_kernel in losses {
            loss_row(document, of_kernel, predicted, &mut grid);
        }
        grid.draw_fitting(&[FADES, PREDICTED], page);
        page.blank();
    }
}

/// Columns that a narrow terminal can do without.
const PREDICTED: &str = "predicted";
const FADES: &str = "below 1 % from";

fn loss_row(document: &Document, (kernel, loss): LossOf<'_>, predicted: bool, grid: &mut TextGrid) {
    let interval = loss.comparison.as_ref().map_or("–".to_owned(), |found| {
        let Interval { low, high, .. } = found.ratio_interval;
        format!("{} to {}", signed_change(low), signed_change(high))
    });
    let rates = both_places(document, (kernel, loss)).map(|both| both.map(|place| rate(place.per_s)));
    let [near, far] = rates.unwrap_or(["–", "–"].map(String::from));
    let unit = kernel.unit.giga().to_owned();
    let mut cells = vec![kernel.name.clone(), near, far, unit, signed(loss.loss), interval];

    if predicted {
        cells.push(loss.predicted_loss.map_or("–".to_owned(), signed));
        let from = loss.below_one_percent_from_iterations;
        cells.push(from.map_or("–".to_owned(), |from| {
            format!("{from} iteration{}", if from == 1 { "" } else { "s" })
        }));
    }

    let undecided = loss.comparison.as_ref().is_none_or(|found| found.verdict == TwoSampleVerdict::Undecided);
    let notes = if undecided { vec![(Tone::Faint, "not significant".to_owned())] } else { Vec::new() };
    grid.row(cells, notes);
}

/// A rate in billions, with as many digits as say something.
fn rate(per_s: f64) -> String {
    let giga = per_s / 1e9;
    let digits = match giga {
        large if large >= 1000.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    format!("{giga:.digits$}")
}
