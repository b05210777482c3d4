//! The sum of all numbers up to and with each, counted in bytes of the input, as SHOC does.
//!
//! The numbers are -1, 0 and 1: every sum is a whole number that single precision has exactly, so that every
//! order of additions gives the same one.

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use crate::numbers::{bits, blocks, fill};
use crate::problem::{Layout, Problem, ProblemUnit, WrongNumber};
use crate::program::{CLEAR, SCAN, STREAM};

/// Numbers that a block of the kernel has.
const TILE: usize = 4096;

pub(crate) struct Scan {
    tiles: usize,
}

impl Scan {
    /// So many numbers, or a few more.
    pub(crate) fn new(numbers: usize) -> Self {
        Self { tiles: numbers.div_ceil(TILE) }
    }

    /// The words that are 0 before: a counter and a word a tile.
    fn state_bytes(&self) -> usize {
        (8 + 8 * self.tiles).next_multiple_of(16)
    }
}

impl Problem for Scan {
    fn layout(&self) -> Layout {
        Layout::new(4 * TILE * self.tiles, 4 * TILE * self.tiles, self.state_bytes())
    }

    fn amount(&self) -> f64 {
        (4 * TILE * self.tiles) as f64
    }

    fn unit(&self) -> ProblemUnit {
        ProblemUnit::Byte
    }

    fn fill(&self, at: usize, part: &mut [u8]) {
        fill(at, part, |at| (bits(0, at) % 3) as f32 - 1.0);
    }

    fn program(&self) -> &'static KernelModule {
        &STREAM
    }

    fn launches(&self) -> Vec<RoundStep> {
        let layout = self.layout();
        let fours = self.state_bytes() / 16;
        let clear = vec![Argument::Area(layout.scratch_at), Argument::Number(fours as u64)];
        let arguments =
            vec![Argument::Area(0), Argument::Area(layout.output_at), Argument::Area(layout.scratch_at)];
        vec![
            RoundStep::Launch { kernel: CLEAR, blocks: blocks(fours), threads: 256, arguments: clear },
            RoundStep::Launch { kernel: SCAN, blocks: self.tiles as u32, threads: 256, arguments },
        ]
    }

    fn compute(&self, input: &[u8], output: &mut [u8], _scratch: &mut [u8]) {
        let mut sum = 0.0;
        for (to, from) in cast_slice_mut::<u8, f32>(output).iter_mut().zip(cast_slice::<u8, f32>(input)) {
            sum += from;
            *to = sum;
        }
    }

    fn check(&self, input: &[u8], output: &[u8]) -> Result<(), WrongNumber> {
        let mut sum = 0_i32;
        for (at, (from, got)) in
            cast_slice::<u8, f32>(input).iter().zip(cast_slice::<u8, f32>(output)).enumerate()
        {
            sum += *from as i32;
            WrongNumber::unless_near(4 * at, f64::from(sum), f64::from(*got), 0.0)?;
        }
        Ok(())
    }
}
