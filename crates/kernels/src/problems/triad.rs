//! STREAM's triad, c = a + scalar b, counted as STREAM does: three arrays.
//!
//! The numbers are small multiples of powers of two, so that every way to the result gives the same one.

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, Program, Step};

use crate::numbers::{bits, blocks};
use crate::problem::{Layout, Problem, Unit, Wrong};
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
}

impl Problem for Triad {
    fn layout(&self) -> Layout {
        Layout::new(8 * self.numbers, 4 * self.numbers, 0)
    }

    fn amount(&self) -> f64 {
        12.0 * self.numbers as f64
    }

    fn unit(&self) -> Unit {
        Unit::Byte
    }

    fn fill(&self, input: &mut [u8]) {
        let fill = |(at, number): (usize, &mut f32)| *number = (bits(0, at) & 0xfff) as f32 / 16.0;
        cast_slice_mut(input).iter_mut().enumerate().for_each(fill);
    }

    fn program(&self) -> &'static Program {
        &STREAM
    }

    fn launches(&self) -> Vec<Step> {
        let layout = self.layout();
        let fours = self.numbers / 4;
        let arguments = vec![
            Argument::Area(0),
            Argument::Area(4 * self.numbers),
            Argument::Area(layout.output_at),
            Argument::Number(fours as u64),
        ];
        vec![Step::Launch { kernel: TRIAD, blocks: blocks(fours), threads: 256, arguments }]
    }

    fn compute(&self, input: &[u8], output: &mut [u8], _scratch: &mut [u8]) {
        let (a, b) = cast_slice::<u8, f32>(input).split_at(self.numbers);
        for ((c, a), b) in cast_slice_mut::<u8, f32>(output).iter_mut().zip(a).zip(b) {
            *c = a + SCALAR * b;
        }
    }

    fn check(&self, input: &[u8], output: &[u8]) -> Result<(), Wrong> {
        let (a, b) = cast_slice::<u8, f32>(input).split_at(self.numbers);
        let got = cast_slice::<u8, f32>(output);
        let wrong = got.iter().zip(a).zip(b).position(|((c, a), b)| *c != a + SCALAR * b);
        wrong.map_or(Ok(()), |at| {
            Err(Wrong {
                offset: 4 * at,
                expected: f64::from(a[at] + SCALAR * b[at]),
                got: f64::from(got[at]),
                allowed: 0.0,
            })
        })
    }
}
