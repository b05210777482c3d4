//! A problem: input in memory, what a GPU or a CPU makes of it, and whether the result is right.
//!
//! Pure: it knows bytes and counts, no device and no clock. The result is checked against another way to it
//! than the one that is timed, with a tolerance that says what rounding in another order of additions may
//! change.
//!
//! Dense matrices are checked by Freivalds' products with two vectors of ±1, Fourier transforms by two sums
//! of their points with weights of ±1 ± i, sorted keys by rising pairs of key and first place, other
//! results number by number: on CPUs a stencil's and forces' by the function that was timed, so that bytes
//! that were lost are found and not what it computes. The numbers of triad, reduction and scan are such
//! that every order of additions gives the same result, which is compared bit by bit; elsewhere the
//! tolerance follows from the precision's ε and the size of what is added. Work is counted as SHOC counts
//! it; inputs are not SHOC's.

use std::fmt;
use std::ops::Range;

use device::{KernelModule, RoundStep};

/// What a problem's amount of work is counted in, as SHOC counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemUnit {
    /// Floating-point operations.
    Flop,
    /// Bytes.
    Byte,
    /// Keys.
    Key,
}

impl ProblemUnit {
    /// A billion of them a second, as users read it.
    pub fn giga(self) -> &'static str {
        match self {
            Self::Flop => "GFLOP/s",
            Self::Byte => "GB/s",
            Self::Key => "Gkey/s",
        }
    }
}

/// Where a problem's parts lie in an area, by offset. Input and result lie in host memory at the same
/// offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The input's bytes, from 0 on.
    pub input: usize,
    /// Where the result begins.
    pub output_at: usize,
    /// The result's bytes.
    pub output: usize,
    /// Where what a device needs besides begins.
    pub scratch_at: usize,
    /// How many bytes that is.
    pub scratch: usize,
}

/// Parts begin at multiples of this: whole lines of every cache, and what any load of many bytes needs.
const ALIGNED: usize = 256;

impl Layout {
    /// Input, result, and what is needed besides, one behind the other.
    pub fn new(input: usize, output: usize, scratch: usize) -> Self {
        let output_at = input.next_multiple_of(ALIGNED);
        Self { input, output_at, output, scratch_at: (output_at + output).next_multiple_of(ALIGNED), scratch }
    }

    /// What host memory holds: input and result.
    pub fn host_bytes(&self) -> usize {
        self.output_at + self.output
    }

    /// Where the result lies.
    pub fn result(&self) -> Range<usize> {
        self.of_output(&(0..self.output))
    }

    /// Where these bytes of the result lie.
    pub(crate) fn of_output(&self, bytes: &Range<usize>) -> Range<usize> {
        self.output_at + bytes.start..self.output_at + bytes.end
    }

    /// What a device holds.
    pub fn device_bytes(&self) -> usize {
        self.scratch_at + self.scratch
    }
}

/// A number of the result that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrongNumber {
    /// Its offset in the result, bytes.
    pub offset: usize,
    /// What it, or the sum that it is part of, should be.
    pub expected: f64,
    /// What it is.
    pub got: f64,
    /// How far apart the two may be.
    pub allowed: f64,
}

impl fmt::Display for WrongNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, expected, got, allowed } = self;
        write!(
            f,
            "wrong result at byte {offset}: {got:e} instead of {expected:e} (they may differ by {allowed:e})"
        )
    }
}

impl WrongNumber {
    /// Whether a number is near enough to what it should be.
    ///
    /// # Errors
    /// It is not, or is no number at all.
    pub(crate) fn unless_near(offset: usize, expected: f64, got: f64, allowed: f64) -> Result<(), Self> {
        if (got - expected).abs() <= allowed { Ok(()) } else { Err(Self { offset, expected, got, allowed }) }
    }
}

/// A part of a problem, which can be computed while others are copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemPart {
    /// What it needs of the input beside what parts before it need, by offset.
    pub input: Vec<Range<usize>>,
    /// What is launched.
    pub launch: RoundStep,
    /// What it makes of the result, by offset.
    pub output: Range<usize>,
}

/// A part moves at least so many bytes: a copy of fewer takes little longer than it does to begin.
const LEAST_PART_BYTES: usize = 2 << 20;
/// The most parts of a problem.
const MOST_PARTS: usize = 16;

/// `whole` in even shares for the parts of a problem that moves so many bytes, the last one smaller where it
/// does not divide. Shares are multiples of `grain`.
pub(crate) fn shares(whole: usize, grain: usize, bytes: usize) -> Vec<Range<usize>> {
    let parts = (bytes / LEAST_PART_BYTES).clamp(1, MOST_PARTS);
    let share = whole.div_ceil(parts).next_multiple_of(grain);
    (0..whole).step_by(share).map(|from| from..(from + share).min(whole)).collect()
}

/// A problem of one size.
pub trait Problem: Send + Sync {
    /// Where its parts lie.
    fn layout(&self) -> Layout;

    /// How much work one run is.
    fn amount(&self) -> f64;

    /// What that is counted in.
    fn unit(&self) -> ProblemUnit;

    /// Writes a part of the input, which begins at this offset: the same at every call.
    fn fill(&self, at: usize, part: &mut [u8]);

    /// What parts of the input begin at multiples of, where several threads write it; as much as all of it
    /// where one has to.
    fn fill_grain(&self) -> usize {
        1 << 20
    }

    /// The GPU's kernels.
    fn program(&self) -> &'static KernelModule;

    /// One run on a GPU.
    fn launches(&self) -> Vec<RoundStep>;

    /// The same run by parts whose transfers and launches go on at once; none where the problem does not
    /// divide, and one step follows the other.
    fn parts(&self) -> Vec<ProblemPart> {
        Vec::new()
    }

    /// One run on the calling thread. `scratch` has [`Layout::scratch`] bytes.
    fn compute(&self, input: &[u8], output: &mut [u8], scratch: &mut [u8]);

    /// Whether the result is the input's.
    ///
    /// # Errors
    /// The first number that is wrong.
    fn check(&self, input: &[u8], output: &[u8]) -> Result<(), WrongNumber>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_one_behind_the_other_on_whole_lines() {
        let layout = Layout::new(100, 300, 5);
        assert_eq!((layout.output_at, layout.scratch_at), (256, 768));
        assert_eq!((layout.host_bytes(), layout.device_bytes()), (556, 773));
    }

    #[test]
    fn shares_are_even_and_of_whole_grains_and_small_problems_are_one() {
        assert_eq!(shares(1000, 8, 1 << 20).first(), Some(&(0..1000)));
        assert_eq!(shares(1000, 100, 8 << 20), [0..300, 300..600, 600..900, 900..1000]);
        assert_eq!(shares(4096, 128, 192 << 20).len(), MOST_PARTS);
    }

    #[test]
    fn what_is_no_number_is_wrong() {
        assert_eq!(WrongNumber::unless_near(0, 1.0, 1.0 + 1e-7, 1e-6), Ok(()));
        assert!(WrongNumber::unless_near(0, 1.0, f64::NAN, 1e-6).is_err());
        let wrong = WrongNumber { offset: 8, expected: 1.0, got: 3.0, allowed: 0.5 };
        assert_eq!(wrong.to_string(), "wrong result at byte 8: 3e0 instead of 1e0 (they may differ by 5e-1)");
    }
}
