//! A sparse matrix (CSR, one number in a hundred is not 0) times a vector, counted as two operations for each
//! number.

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use crate::numbers::{bits, signed};
use crate::problem::{Layout, Problem, ProblemUnit, WrongNumber};
use crate::program::{SPMV, STREAM};

/// Sums of a few hundred products may differ by this part of their sizes.
const TOLERANCE: f64 = 1e-5;
/// One number in so many is not 0.
const SPARSE: usize = 100;

pub(crate) struct Spmv {
    rows: usize,
    /// Where each row begins among the numbers, and behind it their end.
    starts: Vec<u32>,
}

impl Spmv {
    /// So many rows and columns.
    pub(crate) fn new(rows: usize) -> Self {
        let mut starts = vec![0; rows + 1];
        let mut at = 0;
        for row in 0..rows {
            // Rows differ in length by up to a quarter, as rows do.
            let mean = rows / SPARSE;
            at += (mean - mean / 8) as u32 + (bits(0, row) % (mean as u64 / 4).max(1)) as u32;
            starts[row + 1] = at;
        }
        Self { rows, starts }
    }

    fn numbers(&self) -> usize {
        self.starts[self.rows] as usize
    }

    /// Where the columns, the starts and the vector begin, and the end of the input.
    fn offsets(&self) -> [usize; 4] {
        let columns = (4 * self.numbers()).next_multiple_of(256);
        let starts = (columns + 4 * self.numbers()).next_multiple_of(256);
        let vector = (starts + 4 * self.starts.len()).next_multiple_of(256);
        [columns, starts, vector, vector + 4 * self.rows]
    }

    /// Numbers, their columns, and the vector.
    fn parts<'a>(&self, input: &'a [u8]) -> (&'a [f32], &'a [u32], &'a [f32]) {
        let [columns, _, vector, end] = self.offsets();
        let len = 4 * self.numbers();
        (
            cast_slice(&input[..len]),
            cast_slice(&input[columns..columns + len]),
            cast_slice(&input[vector..end]),
        )
    }
}

impl Problem for Spmv {
    fn layout(&self) -> Layout {
        Layout::new(self.offsets()[3], 4 * self.rows, 0)
    }

    fn amount(&self) -> f64 {
        2.0 * self.numbers() as f64
    }

    fn unit(&self) -> ProblemUnit {
        ProblemUnit::Flop
    }

    fn fill(&self, _at: usize, input: &mut [u8]) {
        let [columns, starts, vector, end] = self.offsets();
        let len = 4 * self.numbers();
        let numbers = |part: u64| move |(at, number): (usize, &mut f32)| *number = signed(part, at) as f32;
        cast_slice_mut(&mut input[..len]).iter_mut().enumerate().for_each(numbers(1));
        let list = cast_slice_mut::<u8, u32>(&mut input[columns..columns + len]);

        for row in self.starts.windows(2) {
            // A row's numbers are spread over all columns, in rising order.
            let list = &mut list[row[0] as usize..row[1] as usize];
            let each = self.rows as f64 / list.len().max(1) as f64;
            for (at, column) in list.iter_mut().enumerate() {
                let jitter = (bits(2, row[0] as usize + at) >> 40) as f64 / f64::from(1 << 24);
                *column = ((at as f64 + jitter) * each) as u32;
            }
        }

        cast_slice_mut(&mut input[starts..starts + 4 * self.starts.len()]).copy_from_slice(&self.starts);
        cast_slice_mut(&mut input[vector..end]).iter_mut().enumerate().for_each(numbers(3));
    }

    fn fill_grain(&self) -> usize {
        self.layout().input
    }

    fn program(&self) -> &'static KernelModule {
        &STREAM
    }

    fn launches(&self) -> Vec<RoundStep> {
        let [columns, starts, vector, _] = self.offsets();
        let arguments = vec![
            Argument::Area(0),
            Argument::Area(columns),
            Argument::Area(starts),
            Argument::Area(vector),
            Argument::Area(self.layout().output_at),
            Argument::Number(self.rows as u64),
        ];

        // A warp a row.
        vec![RoundStep::Launch {
            kernel: SPMV,
            blocks: (32 * self.rows).div_ceil(256) as u32,
            threads: 256,
            arguments,
        }]
    }

    fn compute(&self, input: &[u8], output: &mut [u8], _scratch: &mut [u8]) {
        let (numbers, columns, vector) = self.parts(input);
        for (to, row) in cast_slice_mut::<u8, f32>(output).iter_mut().zip(self.starts.windows(2)) {
            let row = row[0] as usize..row[1] as usize;
            let products = numbers[row.clone()].iter().zip(&columns[row]);
            *to = products.map(|(number, column)| number * vector[*column as usize]).sum();
        }
    }

    fn check(&self, input: &[u8], output: &[u8]) -> Result<(), WrongNumber> {
        let (numbers, columns, vector) = self.parts(input);
        for (at, (got, row)) in cast_slice::<u8, f32>(output).iter().zip(self.starts.windows(2)).enumerate() {
            let row = row[0] as usize..row[1] as usize;
            let (mut expected, mut size) = (0.0, 0.0);
            for (number, column) in numbers[row.clone()].iter().zip(&columns[row]) {
                let product = f64::from(*number) * f64::from(vector[*column as usize]);
                expected += product;
                size += product.abs();
            }
            WrongNumber::unless_near(4 * at, expected, f64::from(*got), size * TOLERANCE)?;
        }
        Ok(())
    }
}
