//! STREAM's triad, c = a + scalar b, counted as STREAM does: three arrays.
//!
//! The numbers are small multiples of powers of two, so that every way to the result gives the same one.

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use crate::numbers::{bits, blocks, fill};
use crate::problem::{Layout, Problem, ProblemPart, ProblemUnit, WrongNumber, shares};
use crate::program::{STREAM, TRIAD};

const SCALAR: f32 = 1.75;

pub(crate) struct Triad {
    numbers: usize,
}

impl Triad {
    /// Arrays of so many numbers.
    pub(crate) fn new(numbers: usize) -> Self {
        Self { numbers: numbers.next_multiple_of(4) }
    }

    /// The kernel over these numbers, whole fours.
    fn launch(&self, numbers: Range<usize>) -> RoundStep {
        let fours = numbers.len() / 4;
        let arguments = vec![
            Argument::Area(4 * numbers.start),
            Argument::Area(4 * (self.numbers + numbers.start)),
            Argument::Area(self.layout().output_at + 4 * numbers.start),
            Argument::Number(fours as u64),
        ];
        RoundStep::Launch { kernel: TRIAD, blocks: blocks(fours), threads: 256, arguments }
    }
}

impl Problem for Triad {
    fn layout(&self) -> Layout {
        Layout::new(8 * self.numbers, 4 * self.numbers, 0)
    }

    fn amount(&self) -> f64 {
        12.0 * self.numbers as f64
    }

    fn unit(&self) -> ProblemUnit {
        ProblemUnit::Byte
    }

    fn fill(&self, at: usize, part: &mut [u8]) {
        fill(at, part, |at| (bits(0, at) & 0xfff) as f32 / 16.0);
    }

    fn program(&self) -> &'static KernelModule {
        &STREAM
    }

    fn launches(&self) -> Vec<RoundStep> {
        vec![self.launch(0..self.numbers)]
    }

    fn parts(&self) -> Vec<ProblemPart> {
        let output_at = self.layout().output_at;
        let part = |numbers: Range<usize>| {
            let bytes = 4 * numbers.start..4 * numbers.end;
            let behind = |at: usize| at + bytes.start..at + bytes.end;
            ProblemPart {
                input: vec![bytes.clone(), behind(4 * self.numbers)],
                output: behind(output_at),
                launch: self.launch(numbers),
            }
        };
        shares(self.numbers, 4, 12 * self.numbers).into_iter().map(part).collect()
    }

    fn compute(&self, input: &[u8], output: &mut [u8], _scratch: &mut [u8]) {
        let (a, b) = cast_slice::<u8, f32>(input).split_at(self.numbers);
        for ((c, a), b) in cast_slice_mut::<u8, f32>(output).iter_mut().zip(a).zip(b) {
            *c = a + SCALAR * b;
        }
    }

    fn check(&self, input: &[u8], output: &[u8]) -> Result<(), WrongNumber> {
        let (a, b) = cast_slice::<u8, f32>(input).split_at(self.numbers);
        let numbers = cast_slice::<u8, f32>(output).iter().zip(a).zip(b).enumerate();
        for (at, ((c, a), b)) in numbers {
            WrongNumber::unless_near(4 * at, f64::from(a + SCALAR * b), f64::from(*c), 0.0)?;
        }
        Ok(())
    }
}
