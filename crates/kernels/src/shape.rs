//! What shape a size gives each kernel's problem, by classes as SHOC has them or by the bytes of its data,
//! and what sizes a kernel can have.
//!
//! A GPU's class 4 is of sizes at which its kernel runs at its rate (SHOC's own largest leave most of them at
//! the time of a launch on today's GPUs); each class below has half of the data. A thread of a CPU has less:
//! its arrays are a few times a core's share of the last cache. Bytes are those of input and result together;
//! a kernel takes the nearest shape that it can have (matrices with edges of whole tiles, cubes of atoms),
//! and refuses what is beyond its smallest and its largest.

use std::fmt;

use stats::units::rounded_size;

use crate::kernel::{By, Kernel};
use crate::size::{LARGEST_CLASS, ProblemSize};

/// The largest data of a problem whose places are numbers of 32 bits.
const MOST_BYTES: u64 = 16 << 30;
/// That of one that is gone over from end to end: what memory has is less.
const MOST_STREAMED_BYTES: u64 = 1 << 40;
/// A sort counts keys in 30 bits, and moves 16 bytes for each.
const MOST_SORTED_BYTES: u64 = 4 << 30;
/// Edges of squares are multiples of this.
const EDGE: usize = 128;

/// A size that a kernel cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// The kernel.
    pub kernel: Kernel,
    /// What it was asked for, bytes.
    pub asked: u64,
    /// What it can have, bytes: the least and the most.
    pub can: [u64; 2],
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, asked, can } = self;
        let [asked, least, most] = [*asked, can[0], can[1]].map(rounded_size);
        write!(
            f,
            "{kernel} cannot have {asked} of data: it needs {least} to {most}; ask for another --size, or \
             leave {kernel} out of --kernels"
        )
    }
}

impl std::error::Error for ShapeError {}

impl Kernel {
    /// Whether there is a problem of this size.
    ///
    /// # Errors
    /// What the kernel can have.
    pub fn admits(self, size: ProblemSize) -> Result<(), ShapeError> {
        let ProblemSize::Bytes(asked) = size else { return Ok(()) };
        let most = match self {
            Self::Triad | Self::Reduction => MOST_STREAMED_BYTES,
            Self::Sort => MOST_SORTED_BYTES,
            _ => MOST_BYTES,
        };
        let can = [self.least_bytes(), most];
        if (can[0]..=can[1]).contains(&asked) { Ok(()) } else { Err(ShapeError { kernel: self, asked, can }) }
    }

    fn least_bytes(self) -> u64 {
        match self {
            Self::Triad | Self::Reduction => 1 << 10,
            // Tiles of 4096 numbers and keys.
            Self::Scan => 32 << 10,
            Self::Sort => 64 << 10,
            Self::Stencil => 128 << 10,
            // One tile of each matrix.
            Self::Sgemm => 192 << 10,
            Self::Dgemm => 384 << 10,
            Self::Fft => 16 << 10,
            Self::FftDouble => 32 << 10,
            // The neighbours of an atom are as far as four points of the lattice away.
            Self::Md | Self::MdDouble => 512 << 10,
            // A few numbers in each row.
            Self::Spmv => 128 << 10,
        }
    }

    /// What its problem is made of: numbers, keys, transforms, rows, the edge of a square or of a cube.
    pub(crate) fn shape(self, by: By, size: ProblemSize) -> usize {
        match size {
            ProblemSize::Class(class) => self.shape_of_class(by, class),
            ProblemSize::Bytes(bytes) => self.shape_of_bytes(bytes),
        }
    }

    fn shape_of_class(self, by: By, class: u8) -> usize {
        let halvings = u32::from(LARGEST_CLASS.saturating_sub(class.clamp(1, LARGEST_CLASS)));
        let gpu = by != By::Thread;
        let of = |for_gpu: usize, for_thread: usize| (if gpu { for_gpu } else { for_thread }) >> halvings;

        // Edges of squares go down by a half for every two classes, so that all data is a quarter.
        let edge = |for_gpu: usize, for_thread: usize| {
            let whole = if gpu { for_gpu } else { for_thread };
            ((whole as f64 / 2_f64.powf(f64::from(halvings) / 2.0)) as usize).next_multiple_of(EDGE)
        };

        match self {
            Self::Triad => of(1 << 24, 1 << 22),
            Self::Reduction => of(1 << 26, 1 << 23),
            Self::Scan => of(1 << 25, 1 << 22),
            Self::Sort => of(1 << 24, 1 << 19),
            Self::Stencil => edge(4096, 2048),
            Self::Sgemm => edge(4096, 512),
            Self::Dgemm => edge(2048, 384),
            Self::Fft => of(1 << 14, 1 << 10),
            Self::FftDouble => of(1 << 13, 1 << 9),
            Self::Md | Self::MdDouble => side(of(42 * 42 * 42, 16 * 16 * 16)),
            Self::Spmv => of(1 << 15, 1 << 12),
        }
    }

    fn shape_of_bytes(self, bytes: u64) -> usize {
        let edge = |bytes_a_point: f64, grain: usize| {
            let edge = (bytes as f64 / bytes_a_point).sqrt() / grain as f64;
            (edge.round() as usize).max(1) * grain
        };
        let cube = |bytes_an_atom: f64| (bytes as f64 / bytes_an_atom).cbrt().round() as usize;
        let linear = |each: u64| (bytes / each) as usize;

        match self {
            Self::Triad => linear(12),
            Self::Reduction => linear(4),
            Self::Scan => linear(8),
            Self::Sort => linear(16),
            Self::Stencil => edge(8.0, 1),
            Self::Sgemm => edge(12.0, EDGE),
            Self::Dgemm => edge(24.0, EDGE),
            Self::Fft => linear(2 * 512 * 8),
            Self::FftDouble => linear(2 * 512 * 16),
            // A list of 128 neighbours, a position and a force of four numbers each.
            Self::Md => cube(512.0 + 2.0 * 16.0),
            Self::MdDouble => cube(512.0 + 2.0 * 32.0),
            // One number in a hundred with its column; and for each row where it begins, a number of the
            // vector, and one of the result.
            Self::Spmv => {
                ((12.0_f64.powi(2) + 4.0 * 0.08 * bytes as f64).sqrt() / 0.16 - 12.0 / 0.16) as usize
            }
        }
    }
}

/// The side of the smallest cube with so many points.
fn side(points: usize) -> usize {
    (1..).find(|side| side * side * side >= points).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(kernel: Kernel, size: ProblemSize) -> u64 {
        let layout = kernel.problem(By::Gpu, size).layout();
        (layout.input + layout.output) as u64
    }

    #[test]
    fn classes_are_of_falling_size() {
        for kernel in Kernel::ALL {
            let bytes = |class| data(kernel, ProblemSize::Class(class));
            assert!((1..LARGEST_CLASS).all(|class| bytes(class) < bytes(class + 1)), "{kernel}");
        }
    }

    #[test]
    fn a_size_in_bytes_is_the_nearest_that_a_kernels_shape_allows() {
        for kernel in Kernel::ALL {
            // Half a tile of 128 is 11 % of the edge of three squares of doubles in 8 MiB, and so 22 % of the
            // data.
            for (asked, near) in [(8 << 20, 0.22), (64 << 20, 0.06), (256 << 20, 0.03)] {
                let has = data(kernel, ProblemSize::Bytes(asked)) as f64;
                assert!((has / asked as f64 - 1.0).abs() < near, "{kernel}: {has} of {asked}");
            }
        }
    }

    #[test]
    fn a_size_that_a_kernel_cannot_have_is_refused_with_those_that_it_can() {
        for kernel in Kernel::ALL {
            let least = kernel.least_bytes();
            assert!(
                kernel.admits(ProblemSize::Bytes(least - 1)).is_err()
                    && kernel.admits(ProblemSize::Bytes(least)).is_ok()
            );
            let has = data(kernel, ProblemSize::Bytes(least));
            assert!(has <= 2 * least, "{kernel}: {has} of {least}");
        }

        let said = Kernel::Sgemm.admits(ProblemSize::Bytes(4096)).map_err(|refused| refused.to_string());
        let expected = "sgemm cannot have 4 KiB of data: it needs 192 KiB to 16 GiB; ask for another --size, \
            or leave sgemm out of --kernels";
        assert_eq!(said, Err(expected.to_owned()));
        assert!(
            Kernel::Sort.admits(ProblemSize::Bytes(8 << 30)).is_err()
                && Kernel::Triad.admits(ProblemSize::Bytes(8 << 30)).is_ok()
        );
    }
}
