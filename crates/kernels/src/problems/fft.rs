//! Many Fourier transforms of 512 complex points, counted as everyone counts them: 5 N log2 N operations
//! each.
//!
//! A transform is linear, so the result is checked by the sum of its points times fixed numbers, which must
//! be that of the input's points times the transform of these numbers: that looks at every point. The fixed
//! numbers are ±1 ± i, so that every point counts alike, and there are two sets of them: errors that cancel
//! under one do not under the other.

use std::f64::consts::PI;
use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use super::real::Real;
use crate::numbers::{fill, sign, signed};
use crate::problem::{Layout, Problem, ProblemPart, ProblemUnit, WrongNumber, shares};
use crate::program::{FFT, FFT_LIBRARY};

const POINTS: usize = 512;
/// Transforms that a GPU's block makes.
const A_BLOCK: usize = 2;

/// Sets of fixed numbers of the check.
const SETS: usize = 2;
/// A sum of points may differ by so many times ε and the length of the result as a vector.
const ALLOWED: f64 = 16.0;
/// And by so much of that length, for the check's own sums of 512 products in double precision.
const ALLOWED_OF_CHECK: f64 = 256.0 * f64::EPSILON;

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

/// The sum of products of points and fixed numbers.
fn weighed<T: Real>(points: &[Complex<T>], by: &[Complex<f64>]) -> Complex<f64> {
    let add = |sum: Complex<f64>, (point, by): (&Complex<T>, &Complex<f64>)| {
        let term = times(point.map(Into::into), *by);
        [sum[0] + term[0], sum[1] + term[1]]
    };
    points.iter().zip(by).fold([0.0, 0.0], add)
}

/// The length of points as a vector.
fn norm<T: Real>(points: &[Complex<T>]) -> f64 {
    let square = |number: &T| -> f64 {
        let number: f64 = (*number).into();
        number * number
    };
    points.iter().flatten().map(square).sum::<f64>().sqrt()
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
        let weights_of =
            |set: u64| (0..POINTS).map(move |at| [sign(2 * set + 7, at), sign(2 * set + 8, at)]).collect();
        let weights: [Vec<Complex<f64>>; SETS] = std::array::from_fn(|set| weights_of(set as u64));
        let transformed = weights.each_ref().map(|weights| self.defined(weights));
        let (from, to) = (cast_slice::<u8, Complex<T>>(input), cast_slice::<u8, Complex<T>>(output));

        for (number, (from, to)) in from.chunks_exact(POINTS).zip(to.chunks_exact(POINTS)).enumerate() {
            let offset = number * size_of::<Complex<T>>() * POINTS;
            // By Parseval's theorem the result is √512 times as long as the input.
            let allowed = (ALLOWED * T::EPSILON + ALLOWED_OF_CHECK) * (POINTS as f64).sqrt() * norm(from);
            for (weights, transformed) in weights.iter().zip(&transformed) {
                let (expected, got) = (weighed(from, transformed), weighed(to, weights));
                WrongNumber::unless_near(offset, expected[0], got[0], allowed)?;
                WrongNumber::unless_near(offset, expected[1], got[1], allowed)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transform of which every operation is rounded to single precision.
    fn rounded(points: &[Complex<f32>]) -> Vec<Complex<f32>> {
        if points.len() == 1 {
            return points.to_vec();
        }
        let half = |from: usize| rounded(&points.iter().skip(from).step_by(2).copied().collect::<Vec<_>>());
        let (even, odd) = (half(0), half(1));
        let turned = |at: usize| {
            let angle = -2.0 * PI * at as f64 / points.len() as f64;
            let (cos, sin) = (angle.cos() as f32, angle.sin() as f32);
            [odd[at][0] * cos - odd[at][1] * sin, odd[at][0] * sin + odd[at][1] * cos]
        };
        let sums = (0..even.len()).map(|at| [even[at][0] + turned(at)[0], even[at][1] + turned(at)[1]]);
        let differences =
            (0..even.len()).map(|at| [even[at][0] - turned(at)[0], even[at][1] - turned(at)[1]]);
        sums.chain(differences).collect()
    }

    #[test]
    fn a_transform_that_is_rounded_at_every_step_is_right_and_one_point_off_by_a_hundredth_is_not() {
        let fft = Fft::<f32>::new(64, false);
        let mut input = vec![[0.0_f32; 2]; 64 * POINTS];
        fft.fill(0, cast_slice_mut(&mut input));
        let mut output: Vec<Complex<f32>> = input.chunks(POINTS).flat_map(rounded).collect();
        let check = |output: &[Complex<f32>]| fft.check(cast_slice(&input), cast_slice(output));
        assert_eq!(check(&output), Ok(()));
        let typical = norm(&output) / (2.0 * output.len() as f64).sqrt();
        for at in 0..POINTS {
            for part in 0..2 {
                let was = output[at][part];
                output[at][part] += 0.01 * typical as f32;
                assert!(check(&output).is_err(), "point {at}");
                output[at][part] = was;
            }
        }
    }
}
