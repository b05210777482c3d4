//! Bytes that tell where they came from: a function of a seed and the position, so that a shifted, stale or
//! half-done copy cannot look right.

use super::{Halt, expect};
use crate::{HeapMemory, HostMemory};

/// What a destination holds before a copy.
pub(super) const POISON: u8 = 0xA5;

/// Fresh heap memory; skips the check where the system lends none.
pub(super) fn heap(len: usize) -> Result<Box<dyn HostMemory>, Halt> {
    match HeapMemory::try_new(len) {
        Some(memory) => Ok(Box::new(memory)),
        None => Err(Halt::Skipped(format!("this system lends no {len} bytes of host memory"))),
    }
}

/// The payload's bytes from `8 * index` on (splitmix64 of seed and word: Steele, Lea, Flood, OOPSLA 2014).
fn word(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Writes the payload of `seed`.
pub(super) fn fill(range: &mut [u8], seed: u64) {
    for (index, part) in range.chunks_mut(8).enumerate() {
        part.copy_from_slice(&word(seed, index as u64).to_le_bytes()[..part.len()]);
    }
}

/// The first `len` bytes of the payload of `seed`.
pub(super) fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    fill(&mut bytes, seed);
    bytes
}

/// Fails at the first byte of `range` that is not the payload of `seed`; `offset` is where `range` starts in
/// the payload.
pub(super) fn expect_payload(what: &str, range: &[u8], seed: u64, offset: usize) -> Result<(), Halt> {
    expect(!range.is_empty(), || format!("{what}: there are no bytes"))?;
    expect_same(what, range, &bytes(offset + range.len(), seed)[offset..])
}

/// Fails at the first byte of `range` that is not `expected`'s.
pub(super) fn expect_same(what: &str, range: &[u8], expected: &[u8]) -> Result<(), Halt> {
    expect(range.len() == expected.len(), || {
        format!("{what}: {} bytes, not {}", range.len(), expected.len())
    })?;
    if range == expected {
        return Ok(());
    }
    let at = range.iter().zip(expected).take_while(|(got, want)| got == want).count();
    Err(Halt::Failed(format!("{what}: byte {at} is {:#04x}, expected {:#04x}", range[at], expected[at])))
}

/// Fails at the first byte that is no longer poison.
pub(super) fn expect_poison(what: &str, range: &[u8]) -> Result<(), Halt> {
    let touched = range.iter().position(|byte| *byte != POISON);
    expect(touched.is_none(), || format!("{what}: byte {} was written", touched.unwrap_or_default()))
}
