//! Many Fourier transforms of 512 complex points, counted as everyone counts them: 5 N log2 N operations each.
//!
//! A transform is linear, so the result is checked by the sum of its points times fixed numbers, which must be that of the input's points times the transform of these numbers:
//! that looks at every point.

use std::f64::consts::PI;
use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use super::real::Real;
use crate::numbers::{fill, signed};
use crate::problem::{Layout, Problem, ProblemPart, ProblemUnit, WrongNumber, shares};
use crate::program::{FFT, FFT_LIBRARY};

const POINTS: usize = 512;
/// Transforms that a GPU's block makes.
const A_BLOCK: usize = 2;

/// A complex number, the real part first.
type Complex<T> = [T; 2];

pub(crate) struct Fft<T> {
    transforms: usize,
    /// Whether the vendor's library computes.
    by_library: bool,
    /// exp(-2 pi i k / 512).
    turns: Vec<Complex<f64>>,
    real: PhantomData<T>,
}

fn times(a: Complex<f64>, b: Complex<f64>) -> Complex<f64> {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

impl<T: Real> Fft<T> {
    /// So many transforms, an even number; `by_library`: computed by the vendor's library on a GPU.
    pub(crate) fn new(transforms: usize, by_library: bool) -> Self {
        let turn = |k: usize| {
            let angle = -2.0 * PI * k as f64 / POINTS as f64;
            [angle.cos(), angle.sin()]
        };
        Self {
            transforms: transforms.next_multiple_of(A_BLOCK),
            by_library,
            turns: (0..POINTS).map(turn).collect(),
            real: PhantomData,
        }
    }

    /// The bytes of one transform.
    const BYTES: usize = size_of::<Complex<T>>() * POINTS;

    fn areas(&self) -> Layout {
        Layout::new(Self::BYTES * self.transforms, Self::BYTES * self.transforms, 0)
    }

    /// The kernel over these transforms, whole blocks.
    fn launch(&self, transforms: Range<usize>) -> RoundStep {
        let layout = self.areas();
        let from = Self::BYTES * transforms.start;
        let mut arguments = vec![Argument::Area(from), Argument::Area(layout.output_at + from)];
        // Our own kernel has as many as its blocks say.
        arguments.extend(self.by_library.then_some(Argument::Number(transforms.len() as u64)));
        let blocks = (transforms.len() / A_BLOCK) as u32;
        RoundStep::Launch { kernel: T::KERNEL, blocks, threads: 64 * A_BLOCK as u32, arguments }
    }

    /// The transform by its definition.
    fn defined(&self, of: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let point = |k: usize| {
            let add = |sum: Complex<f64>, (n, x): (usize, &Complex<f64>)| {
                let term = times(*x, self.turns[k * n % POINTS]);
                [sum[0] + term[0], sum[1] + term[1]]
            };
            of.iter().enumerate().fold([0.0, 0.0], add)
        };
        (0..POINTS).map(point).collect()
    }
}

/// The sum of products of points and fixed numbers, and the sum of their sizes.
fn weighed<T: Real>(points: &[Complex<T>], by: &[Complex<f64>]) -> (Complex<f64>, f64) {
    let (mut sum, mut size) = ([0.0, 0.0], 0.0);
    for (point, by) in points.iter().zip(by) {
        let term = times(point.map(Into::into), *by);
        sum[0] += term[0];
        sum[1] += term[1];
        size += term[0].abs() + term[1].abs();
    }
    (sum, size)
}

impl<T: Real> Problem for Fft<T>
where
    Complex<T>: bytemuck::Pod,
{
    fn layout(&self) -> Layout {
        self.areas()
    }

    fn amount(&self) -> f64 {
        5.0 * (POINTS * POINTS.ilog2() as usize * self.transforms) as f64
    }

    fn unit(&self) -> ProblemUnit {
        ProblemUnit::Flop
    }

    fn fill(&self, at: usize, part: &mut [u8]) {
        fill(at, part, |at| T::near(signed(0, at)));
    }

    fn program(&self) -> &'static KernelModule {
        if self.by_library { &FFT_LIBRARY } else { &FFT }
    }

    fn launches(&self) -> Vec<RoundStep> {
        vec![self.launch(0..self.transforms)]
    }

    fn parts(&self) -> Vec<ProblemPart> {
        // A library's plan is for one stream.
        if self.by_library {
            return Vec::new();
        }
        let layout = self.layout();
        let part = |transforms: Range<usize>| {
            let bytes = Self::BYTES * transforms.start..Self::BYTES * transforms.end;
            ProblemPart {
                input: vec![bytes.clone()],
                output: layout.of_output(&bytes),
                launch: self.launch(transforms),
            }
        };
        shares(self.transforms, A_BLOCK, layout.input + layout.output).into_iter().map(part).collect()
    }

    fn compute(&self, input: &[u8], output: &mut [u8], _scratch: &mut [u8]) {
        let (from, to) = (cast_slice::<u8, Complex<T>>(input), cast_slice_mut::<u8, Complex<T>>(output));
        for (from, to) in from.chunks_exact(POINTS).zip(to.chunks_exact_mut(POINTS)) {
            // Cooley and Tukey's: points in the order of their reversed numbers, then halves joined.
            let mut points = [[0.0; 2]; POINTS];
            for (at, point) in points.iter_mut().enumerate() {
                *point = from[at.reverse_bits() >> (usize::BITS - POINTS.ilog2())].map(Into::into);
            }
            let mut half = 1;
            while half < POINTS {
                for pair in points.chunks_exact_mut(2 * half) {
                    let (first, second) = pair.split_at_mut(half);
                    let turns = self.turns.iter().step_by(POINTS / (2 * half));
                    for ((first, second), turn) in first.iter_mut().zip(second).zip(turns) {
                        let turned = times(*second, *turn);
                        *second = [first[0] - turned[0], first[1] - turned[1]];
                        *first = [first[0] + turned[0], first[1] + turned[1]];
                    }
                }
                half *= 2;
            }
            to.iter_mut().zip(points).for_each(|(to, point)| *to = point.map(T::near));
        }
    }

    fn check(&self, input: &[u8], output: &[u8]) -> Result<(), WrongNumber> {
        let weights: Vec<Complex<f64>> = (0..POINTS).map(|at| [signed(7, at), signed(8, at)]).collect();
        let transformed = self.defined(&weights);
        let (from, to) = (cast_slice::<u8, Complex<T>>(input), cast_slice::<u8, Complex<T>>(output));
        for (number, (from, to)) in from.chunks_exact(POINTS).zip(to.chunks_exact(POINTS)).enumerate() {
            let ((expected, _), (got, size)) = (weighed(from, &transformed), weighed(to, &weights));
            let offset = number * size_of::<Complex<T>>() * POINTS;
            // Where nothing was written the sizes are 0, and nothing is allowed.
            WrongNumber::unless_near(offset, expected[0], got[0], size * T::TOLERANCE)?;
            WrongNumber::unless_near(offset, expected[1], got[1], size * T::TOLERANCE)?;
        }
        Ok(())
    }
}
