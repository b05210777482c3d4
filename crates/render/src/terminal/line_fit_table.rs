//! The fits of a sweep: latency, rate and half-rate size of each direction and kind of memory, and the dips.

use analysis::matrix_analysis::row_sweep;
use report::Document;
use report::sweep_fit::{SweepFit, SweepLine};
use stats::interval::Interval;
use stats::units;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use super::words;
use crate::{digits, names};

pub(super) fn draw(document: &Document, page: &mut Page) {
    if document.fits.is_empty() {
        return;
    }
    let mut grid =
        TextGrid::new(2, &["", "memory", "latency", "± 95 %", "peak GB/s", "± 95 %", "half of peak at"]);
    grid.caption("Time of a copy = latency + size / peak".to_owned());

    for fit in &document.fits {
        let name = format!("{}{}", of_rank(document, fit.rank), words::direction_in(document, fit.direction));
        let part = |interval: &Interval, center: f64| match interval.relative_half_width(center) {
            part if part.is_finite() => format!("{:.1} %", part * 100.0),
            _ => "–".to_owned(),
        };
        grid.row(
            vec![
                name,
                words::memory(fit.memory).to_owned(),
                digits::time(fit.latency_ns, Some(&fit.latency_interval_ns)),
                part(&fit.latency_interval_ns, fit.latency_ns),
                digits::rate_number(fit.bytes_per_s, Some(&fit.interval_bytes_per_s)),
                part(&fit.interval_bytes_per_s, fit.bytes_per_s),
                digits::size(fit.half_rate_bytes),
            ],
            [lines(fit), misfit(fit), dips(fit)].concat(),
        );
    }

    grid.draw(page);
    page.blank();
}

fn of_rank(document: &Document, rank: u32) -> String {
    let device = document.ranks.iter().find(|found| found.rank == rank).map(|found| &found.asked.device);
    let device = device.and_then(|id| document.devices.iter().find(|device| device.id == *id));
    match (device, row_sweep::row_of(document, rank)) {
        (Some(_), Some(_)) => format!("{} ", names::rank(document, rank)),
        (Some(device), None) if document.ranks.len() > 1 => format!("{} ", words::device(device)),
        _ => String::new(),
    }
}

/// The two lines where one does not do.
fn lines(fit: &SweepFit) -> Vec<(Tone, String)> {
    let [first, last] = &fit.lines[..] else { return Vec::new() };
    let from = units::size(last.from_bytes);
    let line = |line: &SweepLine| {
        format!("{} + n / {}", digits::time(line.latency_ns, None), digits::rate(line.bytes_per_s, None))
    };
    vec![(Tone::Faint, format!("two lines: {} below {from}, {} from {from} on", line(first), line(last)))]
}

fn misfit(fit: &SweepFit) -> Vec<(Tone, String)> {
    analysis::sweep_fits::misfit(fit).map(|misfit| (Tone::Warning, misfit)).into_iter().collect()
}

fn dips(fit: &SweepFit) -> Vec<(Tone, String)> {
    let dip = |dip: &report::sweep_fit::SweepDip| {
        format!("{} ({:.0} % less)", units::size(dip.bytes), (1.0 - dip.ratio) * 100.0)
    };
    let all: Vec<String> = fit.dips.iter().map(dip).collect();
    let said = || (Tone::Warning, format!("slower than its neighbours: {}", all.join(", ")));
    (!all.is_empty()).then(said).into_iter().collect()
}
