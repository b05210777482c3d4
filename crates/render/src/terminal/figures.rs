//! A result's figures in columns: the units are those of the whole document, so that cases and ranks can be
//! compared.

use report::Document;
use stats::summary::Summary;

use super::numbers::{self, RateDecimals, TimeUnit};
use super::visible_cells::{Shown, of_result};

/// Where the terminal is narrow the 99th percentile is the first to go, then the share of the bound, then the
/// deviation. All are in the document.
pub(super) const DISPENSABLE: [&str; 3] = ["p99", "of bound", "std"];

/// How figures are shown.
#[derive(Clone, Copy)]
pub(super) struct Figures {
    unit: TimeUnit,
    pub(super) decimals: RateDecimals,
    bounded: bool,
}

impl Figures {
    pub(super) fn of(document: &Document) -> Self {
        let measured: Vec<(&Summary, Option<f64>)> = measured(document).collect();
        Self {
            unit: TimeUnit::for_largest(measured.iter().map(|(summary, _)| summary.median_ns)),
            decimals: RateDecimals::for_smallest(
                measured.iter().map(|(summary, _)| summary.median_bytes_per_s),
            ),
            bounded: measured.iter().any(|(_, percent)| percent.is_some()),
        }
    }

    pub(super) fn header(&self) -> Vec<String> {
        let mut header = vec![format!("median {}", self.unit.name)];
        header.extend(["± 95 %", "mean", "std", "min", "p99", "max", "GB/s"].map(String::from));
        header.extend(self.bounded.then(|| "of bound".into()));
        header
    }

    pub(super) fn cells(&self, summary: &Summary, percent_of_bound: Option<f64>) -> Vec<String> {
        let show = |ns| self.unit.show(ns);
        let mut cells = vec![show(summary.median_ns), numbers::half_width(summary), show(summary.mean_ns)];
        cells.push(summary.std_ns.map_or("–".into(), show));
        cells.extend([summary.min_ns, summary.p99_ns, summary.max_ns].map(show));
        cells.push(self.decimals.show(summary.median_bytes_per_s));
        let percent = || percent_of_bound.map_or("–".into(), |percent| format!("{percent:.1} %"));
        cells.extend(self.bounded.then(percent));
        cells
    }
}

/// The numbers that are shown, of all ranks, with their percent of the bound.
fn measured(document: &Document) -> impl Iterator<Item = (&Summary, Option<f64>)> {
    let all =
        document.cases.iter().flat_map(|case| case.ranks.iter().map(move |result| of_result(case, result)));
    all.filter_map(|shown| match shown {
        Shown::Numbers { summary, percent_of_bound, .. } => Some((summary, percent_of_bound)),
        Shown::Words { .. } => None,
    })
}
