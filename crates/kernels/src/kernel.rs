//! The kernels by name, and how large each one's problem is.
//!
//! A GPU's sizes are those at which its kernel runs at its rate (SHOC's own largest leave most of them at the time of a launch on today's GPUs); each class below has half
//! of the data. A thread of a CPU has less: its arrays are a few times a core's share of the last cache.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::problem::Problem;
use crate::problems::{Fft, Gemm, Md, Reduction, Scan, Sort, Spmv, Stencil, Triad};

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
    /// One thread of a CPU.
    Thread,
}

/// The largest class, and the one that is measured where nobody asks for another.
pub const LARGEST_CLASS: u8 = 4;

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

    /// Its problem of a class from 1 to [`LARGEST_CLASS`].
    pub fn problem(self, by: By, class: u8) -> Arc<dyn Problem> {
        let halvings = u32::from(LARGEST_CLASS.saturating_sub(class.clamp(1, LARGEST_CLASS)));
        let gpu = by == By::Gpu;
        let of = |for_gpu: usize, for_thread: usize| (if gpu { for_gpu } else { for_thread }) >> halvings;
        // Edges of squares go down by a half for every two classes, so that all data is a quarter.
        let edge = |for_gpu: usize, for_thread: usize| {
            let whole = if gpu { for_gpu } else { for_thread };
            ((whole as f64 / 2_f64.powf(f64::from(halvings) / 2.0)) as usize).next_multiple_of(128)
        };
        match self {
            Self::Triad => Arc::new(Triad::new(of(1 << 24, 1 << 22))),
            Self::Reduction => Arc::new(Reduction::new(of(1 << 26, 1 << 23))),
            Self::Scan => Arc::new(Scan::new(of(1 << 25, 1 << 22))),
            Self::Sort => Arc::new(Sort::new(of(1 << 24, 1 << 19))),
            Self::Stencil => Arc::new(Stencil::new(edge(4096, 2048))),
            Self::Sgemm => Arc::new(Gemm::<f32>::new(edge(4096, 512))),
            Self::Dgemm => Arc::new(Gemm::<f64>::new(edge(2048, 384))),
            Self::Fft => Arc::new(Fft::<f32>::new(of(1 << 14, 1 << 10))),
            Self::FftDouble => Arc::new(Fft::<f64>::new(of(1 << 13, 1 << 9))),
            Self::Md => Arc::new(Md::<f32>::new(side(of(42 * 42 * 42, 16 * 16 * 16)))),
            Self::MdDouble => Arc::new(Md::<f64>::new(side(of(42 * 42 * 42, 16 * 16 * 16)))),
            Self::Spmv => Arc::new(Spmv::new(of(1 << 15, 1 << 12))),
        }
    }
}

/// The side of the smallest cube with so many points.
fn side(points: usize) -> usize {
    (1..).find(|side| side * side * side >= points).unwrap_or(1)
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
        let problem = kernel.problem(By::Thread, 1);
        let layout = problem.layout();
        let words = |bytes: usize| vec![0_u64; bytes.div_ceil(8)];
        let (mut input, mut output, mut scratch) = (words(layout.input), words(layout.output), words(layout.scratch));
        problem.fill(0, &mut bytemuck::cast_slice_mut(&mut input)[..layout.input]);
        let to = &mut bytemuck::cast_slice_mut(&mut output)[..layout.output];
        problem.compute(bytes(&input, layout.input), to, &mut bytemuck::cast_slice_mut(&mut scratch)[..layout.scratch]);
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

    #[test]
    fn a_number_that_is_wrong_is_found_in_every_result() {
        for kernel in Kernel::ALL {
            let (problem, input, mut output) = solved(kernel);
            let layout = problem.layout();
            // The exponent of a number in the middle, or what a key or a value is.
            let at = layout.output / 2 / 8 * 8 + 3;
            bytemuck::cast_slice_mut::<u64, u8>(&mut output)[if at < layout.output { at } else { 3 }] ^= 0x41;
            let checked = problem.check(bytes(&input, layout.input), bytes(&output, layout.output));
            assert!(checked.is_err(), "{kernel}");
        }
    }

    #[test]
    fn a_result_that_was_not_written_is_wrong() {
        for kernel in Kernel::ALL {
            let (problem, input, output) = solved(kernel);
            let layout = problem.layout();
            let nothing = vec![0_u64; output.len()];
            assert!(problem.check(bytes(&input, layout.input), bytes(&nothing, layout.output)).is_err(), "{kernel}");
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

    #[test]
    fn classes_are_of_falling_size() {
        for kernel in Kernel::ALL {
            let bytes = |class| kernel.problem(By::Gpu, class).layout().host_bytes();
            assert!((1..LARGEST_CLASS).all(|class| bytes(class) < bytes(class + 1)), "{kernel}");
        }
    }
}
