//! The plane, a rank's share of its rows, and what every cell is after any number of iterations.
//!
//! The border has the values of `(j² - i²) / L²`, which the five-point scheme solves without an error. The
//! field begins as that solution and a wave over it. A step of Jacobi's iteration makes a sine smaller by one
//! factor and changes nothing else, so what every cell should be is known after any number of steps, and not
//! only when the iteration has converged. With no wave it is the solution itself.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use kernels::jacobi::{Field, Precision};
use serde::{Deserialize, Serialize};

/// Cells inside the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaplaceGrid {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

/// The most rows, and the most columns.
pub(crate) const MOST: usize = 1 << 20;

impl FromStr for LaplaceGrid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is no grid: say rows and columns like 8192x8192, each from 1 to {MOST}");
        let (rows, columns) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
        let number = |text: &str| text.trim().parse().ok().filter(|number| (1..=MOST).contains(number));
        Ok(Self { rows: number(rows).ok_or_else(wrong)?, columns: number(columns).ok_or_else(wrong)? })
    }
}

impl fmt::Display for LaplaceGrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.columns)
    }
}

impl LaplaceGrid {
    /// All cells.
    pub fn cells(self) -> f64 {
        self.rows as f64 * self.columns as f64
    }

    /// The rows of a rank, from 0 on.
    pub fn rows_of(self, rank: usize, ranks: usize) -> Range<usize> {
        self.rows * rank / ranks..self.rows * (rank + 1) / ranks
    }
}

/// A rank's part of the plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowShare {
    /// The whole plane.
    pub grid: LaplaceGrid,
    /// Its own rows.
    pub field: Field,
    /// The number of its first row in the plane, from 0 on.
    pub first: usize,
    /// The rank that has the rows above.
    pub above: Option<usize>,
    /// The rank that has the rows below.
    pub below: Option<usize>,
}

impl RowShare {
    /// The share of a rank among so many; each has a row at least.
    pub fn new(grid: LaplaceGrid, precision: Precision, rank: usize, ranks: usize) -> Self {
        let rows = grid.rows_of(rank, ranks);
        Self {
            grid,
            field: Field { rows: rows.len(), columns: grid.columns, precision },
            first: rows.start,
            above: rank.checked_sub(1),
            below: (rank + 1 < ranks).then_some(rank + 1),
        }
    }
}

/// How large the wave is before the first iteration.
const WAVE: f64 = 0.5;
/// The phase from a cell to the next: so long a wave loses 0.02 % in an iteration, and is there after
/// thousands.
const PHASE: f64 = 0.02;

/// What every cell is.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// The sine by column and by row, border included.
    across: Vec<f64>,
    down: Vec<f64>,
    /// What an iteration leaves of the wave.
    factor: f64,
    /// How large the wave is at first.
    wave: f64,
    scale: f64,
}

impl Solution {
    pub(crate) fn new(grid: LaplaceGrid) -> Self {
        let sines = |cells: usize| {
            let (all, pi) = (cells + 1, std::f64::consts::PI);
            let waves = (PHASE * all as f64 / pi).round().max(1.0) as usize;
            // Within a quarter of a turn by whole numbers: an angle of hundreds of turns is rounded by more
            // than an iteration may be, cell by cell.
            let sine = |at: usize| {
                let turned = waves * at % (2 * all);
                let (sign, half) = if turned > all { (-1.0, turned - all) } else { (1.0, turned) };
                sign * (pi * half.min(all - half) as f64 / all as f64).sin()
            };
            ((0..cells + 2).map(sine).collect::<Vec<f64>>(), (pi * waves as f64 / all as f64).cos())
        };
        let ((across, one), (down, other)) = (sines(grid.columns), sines(grid.rows));
        let longest = (grid.rows.max(grid.columns) + 1) as f64;
        Self { across, down, factor: (one + other) / 2.0, wave: WAVE, scale: 1.0 / (longest * longest) }
    }

    /// How large the wave is after so many iterations.
    pub(crate) fn wave_after(&self, iterations: u64) -> f64 {
        self.wave * self.factor.powf(iterations as f64)
    }

    /// The cells of a row, border included, for a wave of this size.
    pub(crate) fn row(&self, row: usize, wave: f64) -> impl Iterator<Item = f64> {
        let (height, of_row) = (row as f64 * row as f64, wave * self.down[row]);
        self.across
            .iter()
            .enumerate()
            .map(move |(column, sine)| (column as f64 * column as f64 - height) * self.scale + of_row * sine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wave_is_known_to_the_last_digits_on_a_plane_of_many_waves() {
        let solution = Solution::new(LaplaceGrid { rows: 3, columns: 32768 });
        // A sine obeys sin(a − p) + sin(a + p) = 2 cos(p) sin(a): what rounding of the angle adds would show.
        let phase = (PHASE * 32769.0 / std::f64::consts::PI).round() * std::f64::consts::PI / 32769.0;
        for three in solution.across.windows(3) {
            assert!((three[0] + three[2] - 2.0 * phase.cos() * three[1]).abs() < 1e-15, "{three:?}");
        }
        assert_eq!((solution.across[0], solution.across[32769]), (0.0, 0.0));
    }

    #[test]
    fn a_grid_is_rows_and_columns_and_what_is_none_says_so() {
        assert_eq!("8192x4096".parse(), Ok(LaplaceGrid { rows: 8192, columns: 4096 }));
        for wrong in ["", "8192", "0x4", "4x", "4x9999999", "axb"] {
            assert!(wrong.parse::<LaplaceGrid>().is_err_and(|why| why.contains("8192x8192")), "{wrong}");
        }
    }

    #[test]
    fn every_row_is_some_ranks_and_neighbours_are_those_beside() {
        let grid = LaplaceGrid { rows: 10, columns: 4 };
        let shares: Vec<RowShare> =
            (0..3).map(|rank| RowShare::new(grid, Precision::Double, rank, 3)).collect();
        assert_eq!(shares.iter().map(|share| share.field.rows).sum::<usize>(), 10);
        assert_eq!(shares.iter().map(|share| share.first).collect::<Vec<_>>(), [0, 3, 6]);
        assert_eq!(
            shares.iter().map(|share| (share.above, share.below)).collect::<Vec<_>>(),
            [(None, Some(1)), (Some(0), Some(2)), (Some(1), None)]
        );
    }

    #[test]
    fn an_iteration_makes_the_wave_smaller_and_leaves_the_solution() {
        for grid in [
            LaplaceGrid { rows: 7, columns: 9 },
            LaplaceGrid { rows: 40, columns: 3 },
            LaplaceGrid { rows: 1, columns: 1 },
        ] {
            let solution = Solution::new(grid);
            let field: Vec<Vec<f64>> =
                (0..grid.rows + 2).map(|row| solution.row(row, solution.wave_after(5)).collect()).collect();
            for row in 1..=grid.rows {
                let after: Vec<f64> = solution.row(row, solution.wave_after(6)).collect();
                for column in 1..=grid.columns {
                    let sum = field[row - 1][column]
                        + field[row + 1][column]
                        + field[row][column - 1]
                        + field[row][column + 1];
                    assert!((sum / 4.0 - after[column]).abs() < 1e-14, "{grid} at {row}, {column}");
                }
            }
        }
    }
}
