//! Jacobi's iteration of Laplace's equation: one step over some rows of a field, by a GPU or by the calling
//! thread, and the largest change of a cell.
//!
//! Every way gives the same bits: the order of the additions is one, a product with 0.25 is exact, and a
//! largest change does not depend on an order.

use device::{Argument, KernelModule, RoundStep};

use crate::program::JACOBI;

/// Threads of a block.
const THREADS: usize = 256;
/// Bytes of a row that a thread has.
const THREAD_BYTES: usize = 16;
/// Rows that a block goes down.
const STRIP: usize = 32;
/// Cells of a row begin at whole lines.
const LINE: usize = 128;

/// The precision of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits.
    Single,
    /// 64 bits.
    Double,
}

impl Precision {
    /// Bytes of a cell.
    pub fn bytes(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Double => 8,
        }
    }
}

/// A number of either precision.
pub trait Cell: bytemuck::Pod + PartialOrd {
    /// Its precision.
    const PRECISION: Precision;

    /// The nearest to this value.
    fn of(value: f64) -> Self;

    /// Its value.
    fn value(self) -> f64;

    /// The mean of four neighbours, added in this order: the first two, the last two, the sums.
    fn mean(neighbours: [Self; 4]) -> Self;

    /// How far two are apart.
    fn apart(self, other: Self) -> Self;
}

macro_rules! cell {
    ($number:ty, $precision:expr) => {
        impl Cell for $number {
            const PRECISION: Precision = $precision;

            fn of(value: f64) -> Self {
                value as Self
            }

            fn value(self) -> f64 {
                self.into()
            }

            fn mean([above, below, left, right]: [Self; 4]) -> Self {
                0.25 * ((above + below) + (left + right))
            }

            fn apart(self, other: Self) -> Self {
                (self - other).abs()
            }
        }
    };
}

cell!(f32, Precision::Single);
cell!(f64, Precision::Double);

/// Where the cells of a field lie: inner rows and columns, with a border all around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Rows inside the border.
    pub rows: usize,
    /// Columns inside the border.
    pub columns: usize,
    /// The precision.
    pub precision: Precision,
}

impl Field {
    /// Numbers of a line.
    fn line(self) -> usize {
        LINE / self.precision.bytes()
    }

    /// Numbers from a cell to the one below.
    pub fn pitch(self) -> usize {
        (self.line() + self.columns + 1).next_multiple_of(self.line())
    }

    /// Numbers of the field, border included.
    pub fn numbers(self) -> usize {
        (self.rows + 2) * self.pitch() + self.line()
    }

    /// Bytes of the field.
    pub fn bytes(self) -> usize {
        self.numbers() * self.precision.bytes()
    }

    /// The number of a cell; row 0 and the one behind the last are the border, and so are the numbers before
    /// and behind a row's cells.
    pub fn at(self, row: usize, column: usize) -> usize {
        row * self.pitch() + self.line() + column
    }

    /// The byte where a row's cells begin.
    pub fn row_at(self, row: usize) -> usize {
        self.at(row, 0) * self.precision.bytes()
    }

    /// Bytes of a row's cells.
    pub fn row_bytes(self) -> usize {
        self.columns * self.precision.bytes()
    }
}

/// The GPU's kernels.
pub fn program() -> &'static KernelModule {
    &JACOBI
}

/// A step on a GPU over the inner rows `rows` (from 1 on), from the field at one offset of the area to that
/// at another; the largest change is kept at the offset `largest`, in a word of 64 bits that is 0 before.
/// Nothing where there are no rows.
pub fn launch(
    field: Field,
    [from, to]: [usize; 2],
    rows: std::ops::Range<usize>,
    largest: usize,
) -> Option<RoundStep> {
    if rows.is_empty() {
        return None;
    }
    let first_cell = field.row_at(1);
    let number = |number: usize| Argument::Number(number as u64);
    let across = (field.columns * field.precision.bytes()).div_ceil(THREADS * THREAD_BYTES);

    Some(RoundStep::Launch {
        kernel: usize::from(field.precision == Precision::Double),
        blocks: (across * rows.len().div_ceil(STRIP)) as u32,
        threads: THREADS as u32,
        arguments: vec![
            Argument::Area(from + first_cell),
            Argument::Area(to + first_cell),
            number(field.pitch()),
            number(field.columns),
            number(rows.start - 1),
            number(rows.end - 1),
            Argument::Area(largest),
        ],
    })
}

/// Cells that the calling thread works on at once: several vectors of any width.
const LANES: usize = 8;

/// A step by the calling thread over the inner rows `rows` (from 1 on): the largest change.
pub fn step<T: Cell>(field: Field, from: &[T], to: &mut [T], rows: std::ops::Range<usize>) -> T {
    let (columns, pitch) = (field.columns, field.pitch());
    // A largest change for each lane: only so can a compiler take vectors, because it may not change the
    // order of comparisons.
    let mut largest = [T::of(0.0); LANES];

    for row in rows {
        let at = field.at(row, 0);
        let (above, below) = (&from[at - pitch..][..columns], &from[at + pitch..][..columns]);
        let (left, here, right) =
            (&from[at - 1..][..columns], &from[at..][..columns], &from[at + 1..][..columns]);
        let becomes = &mut to[at..][..columns];
        for start in (0..columns).step_by(LANES) {
            let lanes = start..(start + LANES).min(columns);
            let part = |cells: &'_ [T]| -> Option<[T; LANES]> { cells[lanes.clone()].try_into().ok() };
            match (part(above), part(below), part(left), part(here), part(right)) {
                (Some(above), Some(below), Some(left), Some(here), Some(right)) => {
                    let mut means = here;
                    for lane in 0..LANES {
                        means[lane] = T::mean([above[lane], below[lane], left[lane], right[lane]]);
                        largest[lane] = larger(largest[lane], means[lane].apart(here[lane]));
                    }
                    becomes[lanes].copy_from_slice(&means);
                }
                _ => {
                    for column in lanes {
                        becomes[column] =
                            T::mean([above[column], below[column], left[column], right[column]]);
                        largest[0] = larger(largest[0], becomes[column].apart(here[column]));
                    }
                }
            }
        }
    }
    largest.into_iter().fold(T::of(0.0), larger)
}

fn larger<T: Cell>(one: T, other: T) -> T {
    if other > one { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_a_row_begin_at_whole_lines_and_the_border_has_room() {
        for (columns, precision) in [
            (1, Precision::Single),
            (31, Precision::Double),
            (32, Precision::Single),
            (1000, Precision::Double),
        ] {
            let field = Field { rows: 3, columns, precision };
            assert_eq!(field.row_at(1) % LINE, 0);
            assert!(
                field.at(0, columns) < field.at(1, 0) - 1,
                "{columns}: the right border is not the next row's left one"
            );
            assert!(field.at(field.rows + 1, columns) < field.numbers());
        }
    }

    #[test]
    fn a_step_makes_the_mean_of_four_neighbours_of_each_cell_and_of_no_other() {
        let field = Field { rows: 2, columns: 3, precision: Precision::Double };
        let from: Vec<f64> = (0..field.numbers()).map(|at| (at * at % 17) as f64).collect();
        let mut to = vec![-1.0; field.numbers()];
        let largest = step(field, &from, &mut to, 2..3);
        let at = field.at(2, 1);
        assert_eq!(
            to[at],
            (from[at - field.pitch()] + from[at + field.pitch()] + from[at - 1] + from[at + 1]) / 4.0
        );
        assert_eq!(to.iter().filter(|number| **number != -1.0).count(), 3);
        let apart = (0..3)
            .map(|column| (to[field.at(2, column)] - from[field.at(2, column)]).abs())
            .fold(0.0, f64::max);
        assert_eq!(largest, apart);
    }
}
