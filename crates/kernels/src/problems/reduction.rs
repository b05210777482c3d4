//! The sum of all numbers, counted in bytes read.
//!
//! The numbers are odd integers of either sign, small enough that single precision has every sum of them
//! exactly: every order of additions gives the same sum, and one
//! number that is lost, or counted twice, gives another one.

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use crate::numbers::{bits, blocks, fill, sign};
use crate::problem::{Layout, Problem, ProblemUnit, WrongNumber};
use crate::program::{CLEAR, REDUCE, STREAM};

/// Single precision has all whole numbers up to this one.
const EXACT: f64 = (1 << 24) as f64;
/// The largest number is such that a sum of all of them is so many of its standard deviations below
/// [`EXACT`].
const DEVIATIONS: f64 = 16.0;
/// The largest number where there are few.
const LARGEST: f64 = 256.0;
/// Numbers that are added up side by side.
const LANES: usize = 32;

pub(crate) struct Reduction {
    numbers: usize,
}

impl Reduction {
    /// So many numbers.
    pub(crate) fn new(numbers: usize) -> Self {
        Self { numbers: numbers.next_multiple_of(LANES) }
    }

    /// One of the numbers.
    fn number(&self, at: usize) -> f64 {
        let largest = (EXACT / DEVIATIONS / (self.numbers as f64).sqrt()).clamp(2.0, LARGEST);
        let odd = 2 * (bits(0, at) % (largest as u64 / 2)) + 1;
        sign(1, at) * odd as f64
    }

    fn blocks(&self) -> u32 {
        // Four fours a thread at a time.
        blocks(self.numbers / 16)
    }
}

impl Problem for Reduction {
    fn layout(&self) -> Layout {
        // A counter and, from byte 256 on, a sum for each block.
        Layout::new(4 * self.numbers, 4, 256 + 4 * self.blocks() as usize)
    }

    fn amount(&self) -> f64 {
        4.0 * self.numbers as f64
    }

    fn unit(&self) -> ProblemUnit {
        ProblemUnit::Byte
    }

    fn fill(&self, at: usize, part: &mut [u8]) {
        fill(at, part, |at| self.number(at) as f32);
    }

    fn program(&self) -> &'static KernelModule {
        &STREAM
    }

    fn launches(&self) -> Vec<RoundStep> {
        let layout = self.layout();
        let clear = vec![Argument::Area(layout.scratch_at), Argument::Number(1)];
        let arguments = vec![
            Argument::Area(0),
            Argument::Number(self.numbers as u64 / 4),
            Argument::Area(layout.scratch_at + 256),
            Argument::Area(layout.scratch_at),
            Argument::Area(layout.output_at),
        ];
        vec![
            RoundStep::Launch { kernel: CLEAR, blocks: 1, threads: 256, arguments: clear },
            RoundStep::Launch { kernel: REDUCE, blocks: self.blocks(), threads: 256, arguments },
        ]
    }

    fn compute(&self, input: &[u8], output: &mut [u8], _scratch: &mut [u8]) {
        let mut sums = [0.0_f32; LANES];
        for line in cast_slice::<u8, f32>(input).as_chunks::<LANES>().0 {
            sums.iter_mut().zip(line).for_each(|(sum, number)| *sum += number);
        }
        cast_slice_mut(output)[0] = sums.iter().sum::<f32>();
    }

    fn check(&self, input: &[u8], output: &[u8]) -> Result<(), WrongNumber> {
        let mut sums = [0.0_f64; 8];
        for line in cast_slice::<u8, f32>(input).as_chunks::<8>().0 {
            sums.iter_mut().zip(line).for_each(|(sum, number)| *sum += f64::from(*number));
        }
        let expected: f64 = sums.iter().sum();
        let got = f64::from(cast_slice::<u8, f32>(output)[0]);
        WrongNumber::unless_near(0, expected, got, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_the_numbers_stay_exact_in_single_precision_at_every_size() {
        // The largest size has 2^38 numbers: one in 2^16 of them is looked at, scaled by their count.
        for exponent in [8, 20, 26, 38] {
            let reduction = Reduction::new(1 << exponent);
            let step = 1_usize << (exponent - exponent.min(22));
            let numbers = (0..reduction.numbers).step_by(step).map(|at| reduction.number(at));
            let mut sum = 0.0_f64;
            let mut most = 0.0_f64;
            for number in numbers {
                assert_eq!(number.abs() % 2.0, 1.0, "an even number could be 0 and be lost");
                sum += number;
                most = most.max(sum.abs());
            }
            assert!(most * (step as f64).sqrt() < EXACT / 2.0, "2^{exponent} numbers: {most} by {step}");
        }
    }
}
