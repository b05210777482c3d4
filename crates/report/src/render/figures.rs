//! A result's figures in columns: the units are those of the whole document, so that cases and ranks can be compared.

use stats::summary::Summary;

use super::grid::Grid;
use super::numbers::{self, RateDecimals, TimeUnit};
use super::shown::{Shown, of_result};
use crate::Document;

/// The columns of figures. Which there are is chosen by [`fitting`].
#[derive(Clone, Copy)]
pub(super) struct Figures {
    unit: TimeUnit,
    pub(super) decimals: RateDecimals,
    bounded: bool,
    p99: bool,
    std: bool,
}

impl Figures {
    fn of(document: &Document) -> Self {
        let measured: Vec<(&Summary, Option<f64>)> = measured(document).collect();
        Self {
            unit: TimeUnit::for_largest(measured.iter().map(|(summary, _)| summary.median_ns)),
            decimals: RateDecimals::for_smallest(measured.iter().map(|(summary, _)| summary.bytes_per_s)),
            bounded: measured.iter().any(|(_, percent)| percent.is_some()),
            p99: true,
            std: true,
        }
    }

    pub(super) fn header(&self) -> Vec<String> {
        let mut header = vec![format!("median {}", self.unit.name()), "± 95 %".into(), "mean".into()];
        header.extend(self.std.then(|| "std".into()));
        header.push("min".into());
        header.extend(self.p99.then(|| "p99".into()));
        header.extend(["max", "GB/s"].map(String::from));
        header.extend(self.bounded.then(|| "of bound".into()));
        header
    }

    pub(super) fn cells(&self, summary: &Summary, percent_of_bound: Option<f64>) -> Vec<String> {
        let show = |ns| self.unit.show(ns);
        let mut cells = vec![show(summary.median_ns), numbers::half_width(summary), show(summary.mean_ns)];
        cells.extend(self.std.then(|| summary.std_ns.map_or("–".into(), show)));
        cells.push(show(summary.min_ns));
        cells.extend(self.p99.then(|| show(summary.p99_ns)));
        cells.extend([show(summary.max_ns), self.decimals.show(summary.bytes_per_s)]);
        let percent = || percent_of_bound.map_or("–".into(), |percent| format!("{percent:.1} %"));
        cells.extend(self.bounded.then(percent));
        cells
    }
}

/// The grid with as many columns as fit: where the terminal is narrow the 99th percentile is the first to go, then the share of
/// the bound, then the deviation. All are in the document.
pub(super) fn fitting(document: &Document, width: usize, grid: impl Fn(&Figures) -> Grid) -> Grid {
    let all = Figures::of(document);
    let fewer = Figures { p99: false, ..all };
    let few = Figures { bounded: false, ..fewer };
    let tries = [all, fewer, few, Figures { std: false, ..few }];
    let found = tries[..3].iter().map(&grid).find(|grid| grid.width() <= width);
    found.unwrap_or_else(|| grid(&tries[3]))
}

/// The numbers that are shown, of all ranks, with their percent of the bound.
fn measured(document: &Document) -> impl Iterator<Item = (&Summary, Option<f64>)> {
    let all = document.cases.iter().flat_map(|case| case.ranks.iter().map(move |result| of_result(case, result)));
    all.filter_map(|shown| match shown {
        Shown::Numbers { summary, percent_of_bound, .. } => Some((summary, percent_of_bound)),
        Shown::Words { .. } => None,
    })
}
