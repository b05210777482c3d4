//! How a matrix's sentences say figures and directions.

use report::matrix::{Compares, Matrix};
use report::settings::Direction;
use stats::alike::distinct;
use stats::interval::range;
use stats::{IdSet, units};

use super::{CellFigure, Plane};
use crate::{headline, words};

/// A value, and half of its interval as a part of it, where it has one.
#[derive(Clone, Copy)]
pub(super) struct Estimate {
    value: f64,
    half_width: Option<f64>,
}

impl Estimate {
    /// A cell's.
    pub(super) fn of(cell: &CellFigure) -> Self {
        Self { value: cell.median, half_width: cell.interval.map(|_| cell.half_width()) }
    }

    /// The sum of cells, known as badly as the worst of them.
    pub(super) fn sum_of<'c>(cells: impl Iterator<Item = &'c CellFigure>) -> Self {
        let add = |sum: Self, cell: &CellFigure| {
            let half_width = sum.half_width.into_iter().chain(cell.interval.map(|_| cell.half_width()));
            Self { value: sum.value + cell.median, half_width: half_width.reduce(f64::max) }
        };
        cells.fold(Self { value: 0.0, half_width: None }, add)
    }

    fn is_known(&self) -> bool {
        self.half_width.is_none_or(headline::is_known)
    }
}

/// A figure with its unit, with as many digits as its interval carries.
pub(super) fn show(plane: &Plane, cell: &CellFigure) -> String {
    show_estimate(plane, &Estimate::of(cell))
}

/// The same of a value that is no cell's alone.
pub(super) fn show_estimate(plane: &Plane, estimate: &Estimate) -> String {
    let half = estimate.half_width.map(|half| half * estimate.value);
    headline::figure(value_in_words(plane, estimate.value, half), estimate.half_width.unwrap_or(0.0))
}

/// Values as one: the range of those that are known, with the widest of their intervals where it is wide,
/// and how many are not.
pub(super) fn show_all(plane: &Plane, all: impl IntoIterator<Item = Estimate>) -> String {
    let (known, noisy): (Vec<Estimate>, Vec<Estimate>) = all.into_iter().partition(Estimate::is_known);
    let widest = |of: &[Estimate]| of.iter().filter_map(|one| one.half_width).fold(0.0, f64::max);

    let words = match (&known[..], range(known.iter().map(|one| one.value))) {
        ([only], _) => show_estimate(plane, only),
        (_, Some((low, high))) => show_range(plane, low, high, widest(&known)),
        (_, None) => return headline::too_noisy(widest(&noisy)),
    };
    let width = headline::width(widest(&known));

    match noisy.len() {
        0 => format!("{words}{width}"),
        some => format!("{words}{width} ({some} more {})", headline::too_noisy(widest(&noisy))),
    }
}

/// A value with half of its interval, where that is known.
fn value_in_words(plane: &Plane, value: f64, half_width: Option<f64>) -> String {
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

/// From a lower figure to a higher one, with the unit; `half_width` is a part of a figure.
fn show_range(plane: &Plane, low: f64, high: f64, half_width: f64) -> String {
    let half_width = half_width * high;
    match plane.is_time() {
        true => units::duration_range_known_to(low, high, half_width),
        false => format!("{} GB/s", units::range_known_to(low / 1e9, high / 1e9, half_width / 1e9)),
    }
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

/// Why nothing of a matrix is near and nothing far, where one place has figures.
pub(crate) fn nothing_beside(matrix: &Matrix) -> &'static str {
    let nodes = distinct(matrix.rows.iter().map(|row| row.memory_node)).len();
    let is_all = nodes < 2 && (matrix.compares != Compares::Columns || matrix.columns.len() < 2);
    match is_all {
        true => "One NUMA node: no near/far comparison.",
        false => "One NUMA node was measured: no near/far comparison.",
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

#[cfg(test)]
mod tests {
    use report::settings::MemoryKind;

    use super::*;

    #[test]
    fn figures_as_one_have_the_digits_and_the_interval_of_the_least_known_of_them() {
        let plane =
            |direction| Plane { direction, bytes: 1 << 29, range_bytes: None, memory: MemoryKind::Pinned };
        let said = |direction, all: &[(f64, f64)]| {
            let of =
                |(value, half_width): &(f64, f64)| Estimate { value: *value, half_width: Some(*half_width) };
            show_all(&plane(direction), all.iter().map(of))
        };
        let h2d = |all: &[(f64, f64)]| said(Direction::H2d, all);
        assert_eq!(h2d(&[(55.03e9, 0.0004), (55.07e9, 0.0005)]), "55.03–55.07 GB/s");
        // Two H200s on a busy host.
        assert_eq!(h2d(&[(52.06e9, 0.033), (52.40e9, 0.002)]), "52 GB/s");
        assert_eq!(h2d(&[(50.1e9, 0.08), (52.9e9, 0.01)]), "50–53 GB/s ± 8 %");
        assert_eq!(h2d(&[(52.1e9, 0.08)]), "52 GB/s ± 8 %");
        assert_eq!(h2d(&[(52.1e9, 0.001), (9e9, 0.4)]), "52.1 GB/s (1 more too noisy (± 40 %))");
        assert_eq!(said(Direction::Load, &[(1_221.0, 0.06), (1_262.0, 0.01)]), "1.22–1.26 µs ± 6 %");
    }
}
