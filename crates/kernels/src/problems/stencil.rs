//! A stencil of nine points on a square, with SHOC's weights and SHOC's count of eleven operations a point.

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use crate::numbers::{fill, unit};
use crate::problem::{Layout, Problem, ProblemUnit, WrongNumber};
use crate::program::{STENCIL, STREAM};

/// Sums of nine numbers below 1 may differ by this.
const TOLERANCE: f64 = 1e-5;
/// Rows that a thread goes down.
const STRIP: usize = 16;

pub(crate) struct Stencil {
    edge: usize,
}

impl Stencil {
    /// A square of this edge.
    pub(crate) fn new(edge: usize) -> Self {
        Self { edge }
    }

    /// What the points of a row become; `rows` are the one above, the row itself, and the one below.
    fn row(&self, rows: [&[f32]; 3], to: &mut [f32]) {
        let [above, here, below] = rows;
        let last = self.edge - 1;
        (to[0], to[last]) = (here[0], here[last]);
        let points = to[1..last].iter_mut().zip(above.windows(3)).zip(here.windows(3)).zip(below.windows(3));
        for (((to, above), here), below) in points {
            let sides = above[1] + below[1] + (here[0] + here[2]);
            let corners = (above[0] + above[2]) + (below[0] + below[2]);
            *to = 0.25 * here[1] + 0.15 * sides + 0.05 * corners;
        }
    }

    /// The three rows around one, where it is not the first or the last.
    fn around<'a>(&self, input: &'a [f32], row: usize) -> Option<[&'a [f32]; 3]> {
        let of = |row: usize| &input[row * self.edge..(row + 1) * self.edge];
        (row > 0 && row + 1 < self.edge).then(|| [of(row - 1), of(row), of(row + 1)])
    }
}

impl Problem for Stencil {
    fn layout(&self) -> Layout {
        let bytes = 4 * self.edge * self.edge;
        Layout::new(bytes, bytes, 0)
    }

    fn amount(&self) -> f64 {
        11.0 * ((self.edge - 2) * (self.edge - 2)) as f64
    }

    fn unit(&self) -> ProblemUnit {
        ProblemUnit::Flop
    }

    fn fill(&self, at: usize, part: &mut [u8]) {
        fill(at, part, |at| unit(0, at) as f32);
    }

    fn program(&self) -> &'static KernelModule {
        &STREAM
    }

    fn launches(&self) -> Vec<RoundStep> {
        let edge = Argument::Number(self.edge as u64);
        let arguments = vec![Argument::Area(0), Argument::Area(self.layout().output_at), edge, edge];
        let blocks = (self.edge.div_ceil(256) * self.edge.div_ceil(STRIP)) as u32;
        vec![RoundStep::Launch { kernel: STENCIL, blocks, threads: 256, arguments }]
    }

    fn compute(&self, input: &[u8], output: &mut [u8], _scratch: &mut [u8]) {
        let input = cast_slice::<u8, f32>(input);
        for (row, to) in cast_slice_mut::<u8, f32>(output).chunks_exact_mut(self.edge).enumerate() {
            match self.around(input, row) {
                Some(rows) => self.row(rows, to),
                None => to.copy_from_slice(&input[row * self.edge..(row + 1) * self.edge]),
            }
        }
    }

    fn check(&self, input: &[u8], output: &[u8]) -> Result<(), WrongNumber> {
        let input = cast_slice::<u8, f32>(input);
        let mut expected = vec![0.0; self.edge];
        for (row, got) in cast_slice::<u8, f32>(output).chunks_exact(self.edge).enumerate() {
            match self.around(input, row) {
                Some(rows) => self.row(rows, &mut expected),
                None => expected.copy_from_slice(&input[row * self.edge..(row + 1) * self.edge]),
            }
            for (column, (expected, got)) in expected.iter().zip(got).enumerate() {
                let offset = 4 * (row * self.edge + column);
                WrongNumber::unless_near(offset, f64::from(*expected), f64::from(*got), TOLERANCE)?;
            }
        }
        Ok(())
    }
}
