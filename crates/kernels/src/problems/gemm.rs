//! Dense matrices: C = A B, all by rows.
//!
//! The result is checked by Freivalds' way: C x must be A (B x) for a vector x, which looks at every number of C for a thousandth of the work.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::OnceLock;

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use super::real::Real;
use crate::numbers::{fill, signed};
use crate::problem::{Layout, Problem, ProblemPart, ProblemUnit, WrongNumber, shares};
use crate::program::{GEMM, GEMM_LIBRARY};

/// Rows of B that stay in a core's cache while all rows of A go by, and the tile of C of a GPU's block.
const PANEL: usize = 64;
const TILE: usize = 128;

pub(crate) struct Gemm<T> {
    edge: usize,
    /// Whether the vendor's library computes.
    by_library: bool,
    /// A (B x).
    expected: OnceLock<Vec<f64>>,
    real: PhantomData<T>,
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

    /// The vector of the check.
    fn x(&self) -> Vec<f64> {
        (0..self.edge).map(|at| signed(9, at)).collect()
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
        let x = self.x();
        let expected = self.expected.get_or_init(|| {
            let (a, b) = cast_slice::<u8, T>(input).split_at(self.edge * self.edge);
            self.times(a, &self.times(b, &x))
        });
        // A number of C is a sum of as many products as the edge is long, each a third of 1 on average, and a row has as many numbers.
        let allowed = T::TOLERANCE * self.edge as f64;
        for (row, (got, expected)) in cast_slice::<u8, T>(output).chunks_exact(self.edge).zip(expected).enumerate() {
            let got = product(got, &x);
            WrongNumber::unless_near(size_of::<T>() * row * self.edge, *expected, got, allowed)?;
        }
        Ok(())
    }
}
