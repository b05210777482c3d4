//! How a matrix's sentences say figures and directions.

use report::settings::Direction;
use stats::units;

use super::Plane;
use crate::words;

/// A figure with its unit.
pub(super) fn show(plane: &Plane, value: f64) -> String {
    match plane.is_time() {
        true if value >= 1000.0 => units::duration_ns(value),
        true => format!("{value:.1} ns"),
        false => format!("{:.1} GB/s", value / 1e9),
    }
}

/// A direction.
pub(super) fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Bidirectional => "both ways at once",
        Direction::Load => "load latency",
        Direction::CoreToGpu => "a flag to the GPU and back",
        other => words::direction(other),
    }
}
