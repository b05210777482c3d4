//! The sum of all numbers, counted in bytes read.

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use crate::numbers::{blocks, fill, unit};
use crate::problem::{Layout, Problem, ProblemUnit, WrongNumber};
use crate::program::{CLEAR, REDUCE, STREAM};

/// The sum may differ from that in double precision by this part of it: 2^25 additions in trees of a few thousand leaves.
const TOLERANCE: f64 = 1e-5;
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
        fill(at, part, |at| unit(0, at) as f32);
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
        let mut all = 0.0_f64;
        // Sums in single precision of a few thousand numbers, as a GPU's threads have them.
        for part in cast_slice::<u8, f32>(input).chunks(LANES * 1024) {
            let mut sums = [0.0_f32; LANES];
            for line in part.as_chunks::<LANES>().0 {
                sums.iter_mut().zip(line).for_each(|(sum, number)| *sum += number);
            }
            all += f64::from(sums.iter().sum::<f32>());
        }
        cast_slice_mut(output)[0] = all as f32;
    }

    fn check(&self, input: &[u8], output: &[u8]) -> Result<(), WrongNumber> {
        let mut sums = [0.0_f64; 8];
        for line in cast_slice::<u8, f32>(input).as_chunks::<8>().0 {
            sums.iter_mut().zip(line).for_each(|(sum, number)| *sum += f64::from(*number));
        }
        let expected: f64 = sums.iter().sum();
        let got = f64::from(cast_slice::<u8, f32>(output)[0]);
        WrongNumber::unless_near(0, expected, got, expected * TOLERANCE)
    }
}
