//! Results that were found to be right, by a number that stands for their bytes: the same result again is right without being looked at number by number.
//!
//! A kernel adds in the same order in every run, so that all of its results are one; the full check takes as long as hundreds of runs.

use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::cast;

use crate::problem::{Problem, Wrong};

/// What stands for the last result of one problem that was found to be right; 0 before there is one.
#[derive(Debug, Default)]
pub(crate) struct Proven(AtomicU64);

impl Proven {
    /// Whether the result is the input's.
    ///
    /// # Errors
    /// The first number that is wrong.
    pub(crate) fn check(&self, problem: &dyn Problem, input: &[u8], output: &[u8]) -> Result<(), Wrong> {
        let hash = hash(output);
        if self.0.load(Ordering::Relaxed) != hash {
            problem.check(input, output)?;
            self.0.store(hash, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A number for all bytes in their order, never 0. Where one word of 64 bits differs so does the number; of other results one in 2^64 has the same.
fn hash(bytes: &[u8]) -> u64 {
    let mut lanes = [1_u64, 2, 3, 4];
    let (lines, rest) = bytes.as_chunks::<32>();
    let mut last = [0_u8; 32];
    last[..rest.len()].copy_from_slice(rest);
    for line in lines.iter().chain([&last]) {
        for (lane, word) in lanes.iter_mut().zip(cast::<[u8; 32], [u64; 4]>(*line)) {
            *lane = (lane.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
    lanes.into_iter().fold(bytes.len() as u64, |all, lane| stats::random::mix(all ^ lane)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{By, Kernel};

    #[test]
    fn a_bit_that_differs_gives_another_number_wherever_it_is() {
        let mut bytes: Vec<u8> = (0..99).collect();
        let before = hash(&bytes);
        for at in 0..bytes.len() {
            bytes[at] ^= 0x10;
            assert_ne!(hash(&bytes), before, "{at}");
            bytes[at] ^= 0x10;
        }
        assert_eq!(hash(&bytes), before);
        assert_ne!(hash(&[0; 8]), hash(&[0; 9]));
    }

    #[test]
    fn a_wrong_result_after_a_right_one_is_found_and_the_right_one_again_is_right() {
        let problem = Kernel::Triad.problem(By::Thread, 1);
        let layout = problem.layout();
        let (mut input, mut output) = (vec![0_u32; layout.input / 4], vec![0_u32; layout.output / 4]);
        problem.fill(0, bytemuck::cast_slice_mut(&mut input));
        problem.compute(bytemuck::cast_slice(&input), bytemuck::cast_slice_mut(&mut output), &mut []);
        let proven = Proven::default();
        let check =
            |output: &[u32]| proven.check(&*problem, bytemuck::cast_slice(&input), bytemuck::cast_slice(output));
        assert!(check(&output).is_ok() && check(&output).is_ok());
        output[7] ^= 0x4100_0000;
        assert!(check(&output).is_err() && check(&output).is_err(), "a wrong result is not remembered");
        output[7] ^= 0x4100_0000;
        assert!(check(&output).is_ok());
    }
}
