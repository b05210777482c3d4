//! Results that were found to be right, by a number that stands for their bytes: the same result again is
//! right without being looked at number by number.
//!
//! A kernel adds in the same order in every run, so that all of its results are one; the full check takes as
//! long as hundreds of runs.

use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::cast;
use engine::Helpers;
use stats::random::mix;

use crate::problem::{Problem, WrongNumber};

/// Bytes that one number stands for, before those numbers are joined.
const CHUNK: usize = 1 << 20;

/// What stands for the last result of one problem that was found to be right; 0 before there is one.
#[derive(Debug, Default)]
pub(crate) struct Proven(AtomicU64);

impl Proven {
    /// Whether the result is the input's.
    ///
    /// # Errors
    /// The first number that is wrong.
    pub(crate) fn check(
        &self,
        problem: &dyn Problem,
        input: &[u8],
        output: &mut [u8],
        helpers: &Helpers,
    ) -> Result<(), WrongNumber> {
        let hash = hash(output, helpers);
        if self.0.load(Ordering::Relaxed) != hash {
            problem.check(input, output)?;
            self.0.store(hash, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A hash of all bytes in their order, never 0 (which is taken for 1). Where one word of 64 bits differs so
/// does the hash; of other results one in 2^64 has the same.
fn hash(bytes: &mut [u8], helpers: &Helpers) -> u64 {
    let all = AtomicU64::new(mix(bytes.len() as u64));
    helpers.share(bytes, CHUNK, |at, part| {
        let numbered = (at / CHUNK..).zip(part.chunks(CHUNK));
        let sum = numbered
            .map(|(number, chunk)| mix(hash_chunk(chunk) ^ mix(number as u64)))
            .fold(0, u64::wrapping_add);
        all.fetch_add(sum, Ordering::Relaxed);
    });
    all.into_inner().max(1)
}

fn hash_chunk(bytes: &[u8]) -> u64 {
    let mut lanes = [1_u64, 2, 3, 4];
    let (lines, rest) = bytes.as_chunks::<32>();
    let mut last = [0_u8; 32];
    last[..rest.len()].copy_from_slice(rest);
    for line in lines.iter().chain([&last]) {
        for (lane, word) in lanes.iter_mut().zip(cast::<[u8; 32], [u64; 4]>(*line)) {
            *lane = (lane.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
    lanes.into_iter().fold(0, |all, lane| mix(all ^ lane))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{By, Kernel};
    use crate::size::ProblemSize;

    #[test]
    fn a_bit_that_differs_gives_another_number_wherever_it_is_and_so_do_chunks_in_another_order() {
        let helpers = Helpers::default();
        let mut bytes: Vec<u8> = (0..2 * CHUNK + 99).map(|at| (at % 251) as u8).collect();
        let before = hash(&mut bytes, &helpers);
        for at in [0, 31, 32, CHUNK - 1, CHUNK, 2 * CHUNK - 1].into_iter().chain(2 * CHUNK..2 * CHUNK + 99) {
            bytes[at] ^= 0x10;
            assert_ne!(hash(&mut bytes, &helpers), before, "{at}");
            bytes[at] ^= 0x10;
        }
        assert_eq!(hash(&mut bytes, &helpers), before);
        let (one, other) = bytes.split_at_mut(CHUNK);
        one.swap_with_slice(&mut other[..CHUNK]);
        assert_ne!(hash(&mut bytes, &helpers), before);
        assert_ne!(hash(&mut [0; 8], &helpers), hash(&mut [0; 9], &helpers));
    }

    #[test]
    fn a_wrong_result_after_a_right_one_is_found_and_the_right_one_again_is_right() {
        let problem = Kernel::Triad.problem(By::Thread, ProblemSize::Class(1));
        let layout = problem.layout();
        let (mut input, mut output) = (vec![0_u32; layout.input / 4], vec![0_u32; layout.output / 4]);
        problem.fill(0, bytemuck::cast_slice_mut(&mut input));
        problem.compute(bytemuck::cast_slice(&input), bytemuck::cast_slice_mut(&mut output), &mut []);
        let (proven, helpers) = (Proven::default(), Helpers::default());
        let check = |output: &mut [u32]| {
            proven.check(&*problem, bytemuck::cast_slice(&input), bytemuck::cast_slice_mut(output), &helpers)
        };

        assert!(check(&mut output).is_ok() && check(&mut output).is_ok());
        output[7] ^= 0x4100_0000;
        assert!(
            check(&mut output).is_err() && check(&mut output).is_err(),
            "a wrong result is not remembered"
        );
        output[7] ^= 0x4100_0000;
        assert!(check(&mut output).is_ok());
    }
}
