//! Dense matrices: C = A B, all by rows.
//!
//! The result is checked by Freivalds' way: C x must be A (B x) for a vector x, which looks at every number
//! of C for a thousandth of the work. The numbers of x
//! are 1 and -1, so that every column counts alike, and there are two such vectors: errors that cancel under
//! one of them do not under the other.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::OnceLock;

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use super::real::Real;
use crate::numbers::{fill, sign, signed};
use crate::problem::{Layout, Problem, ProblemPart, ProblemUnit, WrongNumber, shares};
use crate::program::{GEMM, GEMM_LIBRARY};

/// Rows of B that stay in a core's cache while all rows of A go by, and the tile of C of a GPU's block.
const PANEL: usize = 64;
const TILE: usize = 128;
/// Vectors of the check.
const VECTORS: usize = 2;
/// The sum of a row of C with random signs may differ by so many times √n ε Σ|a||b|, the last for a number of
/// C. One thread's order of additions, which rounds the largest sums, needed 0.7 with an edge of 128.
const ALLOWED: f64 = 4.0;

pub(crate) struct Gemm<T> {
    edge: usize,
    /// Whether the vendor's library computes.
    by_library: bool,
    expected: OnceLock<Expected>,
    real: PhantomData<T>,
}

/// What the check compares rows of the result with.
struct Expected {
    /// A (B x) for each vector x.
    products: [Vec<f64>; VECTORS],
    /// By row of C: how far apart a product with a vector may be.
    allowed: Vec<f64>,
}

impl<T: Real> Gemm<T> {
    /// Matrices of this edge, a multiple of 128; `by_library`: computed by the vendor's library on a GPU.
    pub(crate) fn new(edge: usize, by_library: bool) -> Self {
        Self { edge: edge.next_multiple_of(TILE), by_library, expected: OnceLock::new(), real: PhantomData }
    }

    fn bytes(&self) -> usize {
        size_of::<T>() * self.edge * self.edge
    }

    /// The kernel over these rows of A and C, whole tiles.
    fn launch(&self, rows: Range<usize>) -> RoundStep {
        let from = size_of::<T>() * self.edge * rows.start;
        let arguments = vec![
            Argument::Area(from),
            Argument::Area(self.bytes()),
            Argument::Area(self.layout().output_at + from),
            Argument::Number(self.edge as u64),
        ];
        let tiles = (rows.len() / TILE * (self.edge / TILE)) as u32;
        RoundStep::Launch { kernel: T::KERNEL, blocks: tiles, threads: 256, arguments }
    }

    /// A matrix times a vector.
    fn times(&self, matrix: &[T], x: &[f64]) -> Vec<f64> {
        matrix.chunks_exact(self.edge).map(|row| product(row, x)).collect()
    }

    /// The vectors of the check.
    fn vectors(&self) -> [Vec<f64>; VECTORS] {
        std::array::from_fn(|vector| (0..self.edge).map(|at| sign(9 + vector as u64, at)).collect())
    }

    fn expected(&self, input: &[u8], vectors: &[Vec<f64>; VECTORS]) -> Expected {
        let (a, b) = cast_slice::<u8, T>(input).split_at(self.edge * self.edge);
        let products = vectors.each_ref().map(|x| self.times(a, &self.times(b, x)));

        let edge = self.edge as f64;
        let row_mean = |row: &[T]| row.iter().map(|number| (*number).into().abs()).sum::<f64>() / edge;
        let means: Vec<f64> = b.chunks_exact(self.edge).map(row_mean).collect();
        let allowed_of = |row: &[T]| {
            let size: f64 = row.iter().zip(&means).map(|(number, mean)| (*number).into().abs() * mean).sum();
            ALLOWED * edge.sqrt() * T::EPSILON * size
        };
        Expected { products, allowed: a.chunks_exact(self.edge).map(allowed_of).collect() }
    }
}

/// The sum of products, in lanes that the compiler may do side by side.
fn product<T: Real>(row: &[T], x: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    for (row, x) in row.as_chunks::<8>().0.iter().zip(x.as_chunks::<8>().0) {
        for ((sum, a), b) in sums.iter_mut().zip(row).zip(x) {
            *sum += (*a).into() * b;
        }
    }
    sums.iter().sum()
}

impl<T: Real> Problem for Gemm<T> {
    fn layout(&self) -> Layout {
        Layout::new(2 * self.bytes(), self.bytes(), 0)
    }

    fn amount(&self) -> f64 {
        2.0 * (self.edge as f64).powi(3)
    }

    fn unit(&self) -> ProblemUnit {
        ProblemUnit::Flop
    }

    fn fill(&self, at: usize, part: &mut [u8]) {
        fill(at, part, |at| T::near(signed(0, at)));
    }

    fn program(&self) -> &'static KernelModule {
        if self.by_library { &GEMM_LIBRARY } else { &GEMM }
    }

    fn launches(&self) -> Vec<RoundStep> {
        vec![self.launch(0..self.edge)]
    }

    fn parts(&self) -> Vec<ProblemPart> {
        // A library's handle is for one stream.
        if self.by_library {
            return Vec::new();
        }
        let layout = self.layout();
        let part = |rows: Range<usize>| {
            let bytes = size_of::<T>() * self.edge * rows.start..size_of::<T>() * self.edge * rows.end;
            // Every row of C needs all of B.
            let b = (rows.start == 0).then_some(self.bytes()..layout.input);
            ProblemPart {
                input: b.into_iter().chain([bytes.clone()]).collect(),
                output: layout.of_output(&bytes),
                launch: self.launch(rows),
            }
        };

        // Fewer than eight launches leave a device idle at the end, more are too small to fill it.
        let grain = TILE.max((self.edge / 8).next_multiple_of(TILE));
        shares(self.edge, grain, layout.input + layout.output).into_iter().map(part).collect()
    }

    fn compute(&self, input: &[u8], output: &mut [u8], _scratch: &mut [u8]) {
        let edge = self.edge;
        let (a, b) = cast_slice::<u8, T>(input).split_at(edge * edge);
        let c = cast_slice_mut::<u8, T>(output);
        c.fill(T::near(0.0));
        for panel in (0..edge).step_by(PANEL) {
            for (a, c) in a.chunks_exact(edge).zip(c.chunks_exact_mut(edge)) {
                for k in panel..(panel + PANEL).min(edge) {
                    let factor = a[k];
                    c.iter_mut().zip(&b[k * edge..(k + 1) * edge]).for_each(|(c, b)| *c += factor * *b);
                }
            }
        }
    }

    fn check(&self, input: &[u8], output: &[u8]) -> Result<(), WrongNumber> {
        let vectors = self.vectors();
        let expected = self.expected.get_or_init(|| self.expected(input, &vectors));
        for (row, got) in cast_slice::<u8, T>(output).chunks_exact(self.edge).enumerate() {
            let offset = size_of::<T>() * row * self.edge;
            for (x, products) in vectors.iter().zip(&expected.products) {
                WrongNumber::unless_near(offset, products[row], product(got, x), expected.allowed[row])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest part of what is allowed that sums of a right result differ by, computed by one thread: no
    /// other order has larger sums to round.
    fn largest_part<T: Real>(edge: usize) -> f64 {
        let gemm = Gemm::<T>::new(edge, false);
        let numbers = edge * edge;
        let (mut input, mut output) = (vec![T::near(0.0); 2 * numbers], vec![T::near(0.0); numbers]);
        gemm.fill(0, cast_slice_mut(&mut input));
        gemm.compute(cast_slice(&input), cast_slice_mut(&mut output), &mut []);

        let vectors = gemm.vectors();
        let expected = gemm.expected(cast_slice(&input), &vectors);
        let part = |row: usize, vector: usize| {
            let got = product(&output[row * edge..(row + 1) * edge], &vectors[vector]);
            (got - expected.products[vector][row]).abs() / expected.allowed[row]
        };
        (0..edge).flat_map(|row| [part(row, 0), part(row, 1)]).fold(0.0, f64::max)
    }

    #[test]
    fn rounding_uses_a_small_part_of_what_is_allowed() {
        for edge in [128, 256] {
            let parts = [largest_part::<f32>(edge), largest_part::<f64>(edge)];
            assert!(parts.iter().all(|part| *part < 0.5), "edge {edge}: {parts:?}");
        }
    }
}
