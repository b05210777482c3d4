//! How the figures of a plane are shown in a table: the caption over them, a figure, and the shade behind it
//! that says how far it is from the best.

use analysis::matrix_analysis::{CellFigure, Plane};
use report::settings::{CopyEngine, Direction, MemoryKind};
use stats::units;

use super::numbers::four_digits;
use super::words;

/// From this part of the best on: nothing lost, up to a fifth, up to a half, more.
pub(super) const SHADES: [(f64, &str); 4] = [(0.97, "█"), (0.8, "▓"), (0.5, "▒"), (0.0, "░")];
pub(super) const LEGEND: &str = "█ within 3 % of the best, ▓ within 20 %, ▒ within half, ░ below";

/// `H2D, 128 MiB, pinned memory, GB/s`.
pub(crate) fn caption(plane: &Plane, engine: CopyEngine) -> String {
    let direction = words::direction(plane.direction);
    if plane.direction == Direction::CoreToCore {
        return "core-to-core latency, ns one way".to_owned();
    }
    if plane.direction == Direction::CoreToGpu {
        return "CPU-GPU flag round trip, ns".to_owned();
    }
    let (size, unit) = match plane.range_bytes {
        Some(range) if plane.is_time() => (format!("random order over {}", units::size(range)), "ns a load"),
        Some(range) => (format!("{} a thread", units::size(range)), "GB/s"),
        None if plane.is_time() => (units::size(plane.bytes), "ns a copy"),
        None => (units::size(plane.bytes), "GB/s"),
    };

    match plane.range_bytes {
        // A GPU reaches pinned memory only, and the CPU's own accesses need none.
        Some(_) if plane.memory == MemoryKind::Pinned => format!("{direction} by the GPU, {size}, {unit}"),
        Some(_) if plane.memory == MemoryKind::Device => {
            format!("{direction} by a GPU of another one's memory, {size}, {unit}")
        }
        Some(_) => format!("{direction} by the CPU, {size}, {unit}"),
        None => format!(
            "{direction}, {size}, {} memory{}, {unit}",
            words::memory(plane.memory),
            words::by(engine)
        ),
    }
}

/// `, p50 ± 2.1 % at most`: how well the medians between cores are known; nothing of other planes.
pub(super) fn interval<'a>(plane: &Plane, cells: impl Iterator<Item = &'a CellFigure>) -> String {
    let width = |cell: &CellFigure| Some(cell.interval.as_ref()?.relative_half_width(cell.median));
    let widest =
        cells.map(width).collect::<Option<Vec<f64>>>().and_then(|all| all.into_iter().reduce(f64::max));
    match widest {
        Some(widest) if plane.direction == Direction::CoreToCore => {
            format!(", p50 ± {:.1} % at most", widest * 100.0)
        }
        _ => String::new(),
    }
}

pub(super) fn show(plane: &Plane, value: f64) -> String {
    match (plane.is_time(), value / 1e9) {
        (true, _) => four_digits(value, 1),
        (false, rate) if rate >= 1.0 => four_digits(rate, 2),
        // What an emulator gives has its digits too.
        (false, rate) => four_digits(rate, 4),
    }
}

pub(super) fn shade(plane: &Plane, value: f64, best: Option<f64>) -> &'static str {
    let Some(best) = best else { return "" };
    part_shade(if plane.is_time() { best / value } else { value / best })
}

/// The shade of a figure that is this part of the best.
pub(super) fn part_shade(part: f64) -> &'static str {
    SHADES.iter().find(|(from, _)| part >= *from).map_or("", |(_, shade)| shade)
}
