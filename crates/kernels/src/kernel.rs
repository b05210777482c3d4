//! The kernels by name, and each one's problem of a size.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use device::MathLibrary;

use crate::problem::Problem;
use crate::problems::{Fft, Gemm, Md, Reduction, Scan, Sort, Spmv, Stencil, Triad};
use crate::size::ProblemSize;

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kernel {
    /// STREAM's triad.
    Triad,
    /// The sum of all numbers.
    Reduction,
    /// The sums up to each number.
    Scan,
    /// A radix sort of keys with values.
    Sort,
    /// A stencil of nine points.
    Stencil,
    /// Dense matrices, single precision.
    Sgemm,
    /// Dense matrices, double precision.
    Dgemm,
    /// Fourier transforms of 512 points, single precision.
    Fft,
    /// Fourier transforms of 512 points, double precision.
    FftDouble,
    /// Forces by Lennard and Jones, single precision.
    Md,
    /// Forces by Lennard and Jones, double precision.
    MdDouble,
    /// A sparse matrix times a vector.
    Spmv,
}

/// What computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A GPU.
    Gpu,
    /// A GPU, by its vendor's library where the kernel has one.
    Library,
    /// One thread of a CPU.
    Thread,
}

impl Kernel {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 12] = [
        Self::Triad,
        Self::Reduction,
        Self::Scan,
        Self::Sort,
        Self::Stencil,
        Self::Sgemm,
        Self::Dgemm,
        Self::Fft,
        Self::FftDouble,
        Self::Md,
        Self::MdDouble,
        Self::Spmv,
    ];

    /// As users type it and as documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Triad => "triad",
            Self::Reduction => "reduction",
            Self::Scan => "scan",
            Self::Sort => "sort",
            Self::Stencil => "stencil",
            Self::Sgemm => "sgemm",
            Self::Dgemm => "dgemm",
            Self::Fft => "fft",
            Self::FftDouble => "fft-dp",
            Self::Md => "md",
            Self::MdDouble => "md-dp",
            Self::Spmv => "spmv",
        }
    }

    /// Whether what memory gives bounds it, so that its rate is the cache's where its data lie there:
    /// products of dense matrices and forces between atoms compute more than they read.
    pub fn is_bound_by_memory(self) -> bool {
        !matches!(self, Self::Sgemm | Self::Dgemm | Self::Md | Self::MdDouble)
    }

    /// The kind of a vendor's library that computes the same.
    pub fn library(self) -> Option<MathLibrary> {
        match self {
            Self::Sgemm | Self::Dgemm => Some(MathLibrary::Blas),
            Self::Fft | Self::FftDouble => Some(MathLibrary::Fft),
            _ => None,
        }
    }

    /// Its problem of this size, which [`Kernel::admits`].
    pub fn problem(self, by: By, size: ProblemSize) -> Arc<dyn Problem> {
        let (shape, by_library) = (self.shape(by, size), by == By::Library);
        match self {
            Self::Triad => Arc::new(Triad::new(shape)),
            Self::Reduction => Arc::new(Reduction::new(shape)),
            Self::Scan => Arc::new(Scan::new(shape)),
            Self::Sort => Arc::new(Sort::new(shape)),
            Self::Stencil => Arc::new(Stencil::new(shape)),
            Self::Sgemm => Arc::new(Gemm::<f32>::new(shape, by_library)),
            Self::Dgemm => Arc::new(Gemm::<f64>::new(shape, by_library)),
            Self::Fft => Arc::new(Fft::<f32>::new(shape, by_library)),
            Self::FftDouble => Arc::new(Fft::<f64>::new(shape, by_library)),
            Self::Md => Arc::new(Md::<f32>::new(shape)),
            Self::MdDouble => Arc::new(Md::<f64>::new(shape)),
            Self::Spmv => Arc::new(Spmv::new(shape)),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kernel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let named = Self::ALL.into_iter().find(|kernel| kernel.name().eq_ignore_ascii_case(text));
        named.ok_or_else(|| format!("no kernel is called {text}; there are {}", names()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest problem, as one thread solves it.
    fn solved(kernel: Kernel) -> (Arc<dyn Problem>, Vec<u64>, Vec<u64>) {
        let problem = kernel.problem(By::Thread, ProblemSize::Class(1));
        let layout = problem.layout();
        let words = |bytes: usize| vec![0_u64; bytes.div_ceil(8)];
        let (mut input, mut output, mut scratch) =
            (words(layout.input), words(layout.output), words(layout.scratch));
        problem.fill(0, &mut bytemuck::cast_slice_mut(&mut input)[..layout.input]);
        let to = &mut bytemuck::cast_slice_mut(&mut output)[..layout.output];
        problem.compute(
            bytes(&input, layout.input),
            to,
            &mut bytemuck::cast_slice_mut(&mut scratch)[..layout.scratch],
        );
        (problem, input, output)
    }

    fn bytes(words: &[u64], len: usize) -> &[u8] {
        &bytemuck::cast_slice(words)[..len]
    }

    #[test]
    fn a_thread_solves_every_problem_and_the_check_finds_it_right() {
        for kernel in Kernel::ALL {
            let (problem, input, output) = solved(kernel);
            let layout = problem.layout();
            let checked = problem.check(bytes(&input, layout.input), bytes(&output, layout.output));
            assert_eq!(checked, Ok(()), "{kernel}");
        }
    }

    /// A number's bytes in a result: of an integer, or of either precision.
    fn number_bytes(kernel: Kernel) -> usize {
        if matches!(kernel, Kernel::Dgemm | Kernel::FftDouble | Kernel::MdDouble) { 8 } else { 4 }
    }

    /// The typical size of a result's numbers.
    fn typical(kernel: Kernel, output: &[u8]) -> f64 {
        let squares: f64 = output.chunks_exact(number_bytes(kernel)).map(|bytes| value(bytes).powi(2)).sum();
        (squares / (output.len() / number_bytes(kernel)) as f64).sqrt()
    }

    fn value(bytes: &[u8]) -> f64 {
        if bytes.len() == 8 {
            bytemuck::pod_read_unaligned(bytes)
        } else {
            bytemuck::pod_read_unaligned::<f32>(bytes).into()
        }
    }

    /// The number in other bytes: another key or place, or a hundredth of the typical size more.
    fn changed(kernel: Kernel, bytes: &mut [u8], typical: f64) {
        let more = value(bytes) + 0.01 * typical;
        match bytes.len() {
            _ if kernel == Kernel::Sort => bytes[0] ^= 1,
            8 => bytes.copy_from_slice(&more.to_ne_bytes()),
            _ => bytes.copy_from_slice(&(more as f32).to_ne_bytes()),
        }
    }

    #[test]
    fn a_number_that_is_a_hundredth_off_is_found_in_every_column_and_block_of_every_result() {
        for kernel in Kernel::ALL {
            let (problem, input, mut output) = solved(kernel);
            let (layout, size) = (problem.layout(), number_bytes(kernel));
            let typical = typical(kernel, bytes(&output, layout.output));
            let all = layout.output / size;
            // Neighbours: every column of a matrix, every lane of a block. And places through all of it that
            // are no multiple of a block apart.
            let places: Vec<usize> =
                (0..all.min(300)).chain((0..all).step_by((all / 60).max(1) | 1)).collect();
            for place in places {
                let at = place * size;
                // A position's fourth number is no result.
                if matches!(kernel, Kernel::Md | Kernel::MdDouble) && place % 4 == 3 {
                    continue;
                }
                let number = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut output)[at..at + size];
                let was = number.to_vec();
                changed(kernel, number, typical);
                let checked = problem.check(bytes(&input, layout.input), bytes(&output, layout.output));
                assert!(checked.is_err(), "{kernel}: number {place} of {all}");
                bytemuck::cast_slice_mut::<u64, u8>(&mut output)[at..at + size].copy_from_slice(&was);
            }
        }
    }

    #[test]
    fn a_number_that_a_reduction_leaves_out_is_missed_wherever_it_stands() {
        let (problem, mut input, output) = solved(Kernel::Reduction);
        let layout = problem.layout();
        let all = layout.input / 4;
        for place in (0..64).chain((0..all).step_by((all / 16) | 1)) {
            let numbers = bytemuck::cast_slice_mut::<u64, f32>(&mut input);
            let was = std::mem::replace(&mut numbers[place], 0.0);
            let checked = problem.check(bytes(&input, layout.input), bytes(&output, layout.output));
            assert!(checked.is_err(), "number {place} of {all}");
            bytemuck::cast_slice_mut::<u64, f32>(&mut input)[place] = was;
        }
    }

    #[test]
    fn a_result_that_was_not_written_is_wrong() {
        for kernel in Kernel::ALL {
            let (problem, input, output) = solved(kernel);
            let layout = problem.layout();
            let nothing = vec![0_u64; output.len()];
            assert!(
                problem.check(bytes(&input, layout.input), bytes(&nothing, layout.output)).is_err(),
                "{kernel}"
            );
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for kernel in Kernel::ALL {
            assert_eq!(kernel.name().parse(), Ok(kernel));
        }
        assert_eq!("SGEMM".parse(), Ok(Kernel::Sgemm));
        assert!("lu".parse::<Kernel>().is_err_and(|why| why.contains("there are triad, reduction")));
    }
}
