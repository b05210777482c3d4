//! The kernels that a driver can be asked to launch: what each does, its name in the source, how many threads
//! run it.
//!
//! Apart from `kernels`, which loads them in a context: a driver knows the words and no context.

use std::ffi::{CStr, c_void};
use std::ptr;

use device::MOST_ARGUMENTS;

/// Enough threads for the widest device; each goes on to further words until there are none.
const BLOCKS: u64 = 1024;
const THREADS: u32 = 256;

/// A kernel, by what it does; with its parameters, which are words of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverKernel {
    /// Fills `words` words with a pattern: `address, words, key, page_key, invert`.
    Fill,
    /// Lowers the word at `lowest` to the index of the first word that is not the pattern's: `address, words,
    /// key, page_key, invert, lowest`.
    Compare,
    /// Copies with loads and stores of 16 bytes: `to, from, bytes`.
    Copy,
    /// Follows a chain for `steps` steps from the offset in the word at `state`, and leaves the last one
    /// there: `base, steps, state`.
    Chase,
    /// Gives each new word at `question` back at `answer`, until it is the last one (all ones) or `looks`
    /// looks in a row saw nothing new: `question, answer, looks`.
    Answer,
}

/// How many threads run a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchGrid {
    /// Blocks, in one dimension.
    pub blocks: u32,
    /// Threads of each.
    pub threads: u32,
}

impl DriverKernel {
    /// All of them, each at its own number.
    pub const ALL: [Self; 5] = [Self::Fill, Self::Compare, Self::Copy, Self::Chase, Self::Answer];

    /// Its name in a backend's source.
    pub fn name(self) -> &'static CStr {
        match self {
            Self::Fill => c"numabench_fill",
            Self::Compare => c"numabench_compare",
            Self::Copy => c"numabench_copy",
            Self::Chase => c"numabench_chase",
            Self::Answer => c"numabench_answer",
        }
    }

    /// What runs it where there is work for `threads` threads.
    pub fn grid(self, threads: u64) -> LaunchGrid {
        match self {
            Self::Chase | Self::Answer => LaunchGrid { blocks: 1, threads: 1 },
            _ => LaunchGrid {
                blocks: threads.div_ceil(u64::from(THREADS)).clamp(1, BLOCKS) as u32,
                threads: THREADS,
            },
        }
    }
}

/// Parameters as a launch takes them: the address of each. The most that any kernel has; a driver reads as
/// many as the kernel that it launches has.
pub fn parameters(words: &mut [u64]) -> [*mut c_void; MOST_ARGUMENTS] {
    let mut pointers = [ptr::null_mut(); MOST_ARGUMENTS];
    for (pointer, word) in pointers.iter_mut().zip(words) {
        *pointer = ptr::from_mut(word).cast();
    }
    pointers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_stands_at_its_own_number() {
        for (at, kernel) in DriverKernel::ALL.into_iter().enumerate() {
            assert_eq!(kernel as usize, at);
        }
    }

    #[test]
    fn a_grid_is_as_wide_as_the_work_and_no_wider_than_a_device() {
        let wide = |threads| DriverKernel::Fill.grid(threads);
        assert_eq!(wide(0), LaunchGrid { blocks: 1, threads: 256 });
        assert_eq!(wide(257), LaunchGrid { blocks: 2, threads: 256 });
        assert_eq!(wide(u64::MAX), LaunchGrid { blocks: 1024, threads: 256 });
        assert_eq!(DriverKernel::Chase.grid(1_000_000), LaunchGrid { blocks: 1, threads: 1 });
    }
}
