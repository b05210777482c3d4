//! How a matrix's sentences say figures and directions.

use report::settings::Direction;
use stats::{IdSet, units};

use super::{CellFigure, Plane};
use crate::words;

/// A figure with its unit, with as many digits as its interval carries.
pub(super) fn show(plane: &Plane, cell: &CellFigure) -> String {
    let half_width = cell.interval.as_ref().map(|interval| interval.relative_half_width(cell.median) * cell.median);
    show_value(plane, cell.median, half_width)
}

/// The same of a value with half of its interval, where that is known.
pub(super) fn show_value(plane: &Plane, value: f64, half_width: Option<f64>) -> String {
    match plane.is_time() {
        true if value >= 1000.0 => units::duration_carried(value, half_width),
        true => format!("{} ns", units::carried(value, half_width, 1)),
        // What is less than 1 GB/s has its two digits all the same.
        false => {
            let decimals = if value < 1e9 { 4 } else { 1 };
            format!("{} GB/s", units::carried(value / 1e9, half_width.map(|half| half / 1e9), decimals))
        }
    }
}

/// From a lower figure to a higher one, with the unit.
pub(super) fn show_range(plane: &Plane, low: f64, high: f64) -> String {
    if plane.is_time() { units::duration_range(low, high) } else { units::rate_range(low, high) }
}

/// The columns or rows of such names in one: `GPUs 0-3`, `NUMA node 1`; others are listed.
pub(super) fn together(names: &[&str]) -> String {
    let numbers = |prefix: &str| -> Option<IdSet> {
        names.iter().map(|name| name.strip_prefix(prefix)?.parse::<u32>().ok()).collect()
    };
    let one = |noun: &str, set: &IdSet| format!("{noun}{} {set}", if set.len() == 1 { "" } else { "s" });
    match (numbers("GPU "), numbers("node ")) {
        (Some(set), _) => one("GPU", &set),
        (_, Some(set)) => one("NUMA node", &set),
        _ => names.join(", "),
    }
}

/// A direction.
pub(super) fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Bidirectional => "bidirectional",
        Direction::Load => "load latency",
        Direction::CoreToGpu => "CPU-GPU flag round trip",
        other => words::direction(other),
    }
}
