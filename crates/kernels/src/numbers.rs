//! Numbers as inputs are made of: each from its place alone, so that whoever fills a part of an input fills
//! it as everyone would.

use bytemuck::{Pod, cast_slice_mut};
use stats::random::mix;

/// 64 bits for the number at this place of a part of an input.
pub(crate) fn bits(part: u64, at: usize) -> u64 {
    mix((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mix(part + 1))
}

/// A number between 0 and 1.
pub(crate) fn unit(part: u64, at: usize) -> f64 {
    (bits(part, at) >> 40) as f64 / f64::from(1 << 24)
}

/// A number between -1 and 1.
pub(crate) fn signed(part: u64, at: usize) -> f64 {
    2.0 * unit(part, at) - 1.0
}

/// 1 or -1.
pub(crate) fn sign(part: u64, at: usize) -> f64 {
    if bits(part, at) >> 63 == 0 { 1.0 } else { -1.0 }
}

/// Writes a part of an input, which begins at this byte, number by number from the place of each.
pub(crate) fn fill<T: Pod>(at: usize, part: &mut [u8], number: impl Fn(usize) -> T) {
    (at / size_of::<T>()..).zip(cast_slice_mut(part)).for_each(|(at, place)| *place = number(at));
}

/// Launches at most so many blocks for kernels that go on to further words: enough for the widest device.
pub(crate) fn blocks(threads: usize) -> u32 {
    threads.div_ceil(256).clamp(1, 2048) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lie_where_they_should_and_differ() {
        let all: Vec<f64> = (0..10_000).map(|at| signed(1, at)).collect();
        assert!(all.iter().all(|number| (-1.0..1.0).contains(number)));
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!(mean.abs() < 0.03, "{mean}");
        assert_ne!(bits(1, 0), bits(2, 0));
    }
}
