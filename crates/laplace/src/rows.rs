//! Rows of a field, filled with what their cells are, and held against it.

use std::ops::Range;

use kernels::jacobi::{Cell, Precision};

use crate::grid::{RowShare, Solution};

/// What rounding may add in an iteration, in halves of a unit of the last place of 1: three sums, of numbers
/// up to 2.
const ROUNDED: f64 = 6.0;
/// What it may have added before the first one.
const AT_FIRST: f64 = 4.0;

/// The most that rounding may have added before the field is checked and filled anew: a row of zeros in place
/// of a neighbour's is still seen by then.
const MOST_ALLOWED: f64 = 1e-3;

/// Half of a unit of the last place of 1.
fn half_unit(precision: Precision) -> f64 {
    match precision {
        Precision::Single => f64::from(f32::EPSILON) / 2.0,
        Precision::Double => f64::EPSILON / 2.0,
    }
}

/// How far a cell may be from its value after so many iterations.
fn allowed(precision: Precision, iterations: u64) -> f64 {
    (AT_FIRST + ROUNDED * iterations as f64) * half_unit(precision)
}

/// The most iterations from one filling of the field to the check.
pub(crate) fn most_iterations(precision: Precision) -> u64 {
    ((MOST_ALLOWED / half_unit(precision) - AT_FIRST) / ROUNDED) as u64
}

/// Writes rows of the share, the border above as row 0, for a wave of this size; `into` begins with the first
/// of them.
pub(crate) fn fill<T: Cell>(
    solution: &Solution,
    share: &RowShare,
    rows: Range<usize>,
    wave: f64,
    into: &mut [T],
) {
    let (pitch, before) = (share.field.pitch(), share.field.at(0, 0) - 1);
    for (row, cells) in rows.zip(into.chunks_mut(pitch)) {
        cells.fill(T::of(0.0));
        let of_row = solution.row(share.first + row, wave);
        cells[before..].iter_mut().zip(of_row).for_each(|(cell, value)| *cell = T::of(value));
    }
}

/// Whether the inner rows are what they should be after so many iterations; `from` begins with the first of
/// them.
///
/// # Errors
/// The first cell that is not, in words.
pub(crate) fn check<T: Cell>(
    solution: &Solution,
    share: &RowShare,
    rows: Range<usize>,
    iterations: u64,
    from: &[T],
) -> Result<(), String> {
    let wave = solution.wave_after(iterations);
    let allowed = allowed(T::PRECISION, iterations);
    let (pitch, first) = (share.field.pitch(), share.field.at(0, 0));
    for (row, cells) in rows.zip(from.chunks(pitch)) {
        let of_row = solution.row(share.first + row, wave).skip(1);
        let cells = cells[first..].iter().take(share.field.columns).map(|cell| cell.value());
        for (column, (is, should_be)) in cells.zip(of_row).enumerate() {
            // What is no number is not near.
            if is.is_nan() || (is - should_be).abs() > allowed {
                return Err(format!(
                    "wrong result after {iterations} iterations: row {}, column {} is {is:e} instead of \
                     {should_be:e} (they may differ by {allowed:e})",
                    share.first + row,
                    column + 1
                ));
            }
        }
    }

    Ok(())
}
