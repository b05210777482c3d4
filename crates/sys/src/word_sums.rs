//! The sum of the words of a range of memory, by the widest loads that this CPU has.
//!
//! A core has room for a limited number of instructions while it waits for memory, so the width of a load decides how many lines it
//! fetches at once. Read by 32 cores of a Xeon, memory gave 143 GB/s with loads of 16 bytes, which every x86-64 CPU has, 156 with loads
//! of 32 bytes, and 163 with loads of 64 (`bench/stream.c`, compiled for each, in turns; `docs/measurements/host-memory.md`). The binary
//! is built for every CPU, so the width is chosen when it runs.
//!
//! Left out: other architectures, whose baseline has their widest common loads (NEON on aarch64).

/// The bytes of a word.
const WORD: usize = 8;
/// Words that are added up side by side: a single sum would wait for each addition.
const SIDE_BY_SIDE: usize = 8;

/// The sum of all whole words of `range`, modulo 2^64; a tail that makes no word is left out.
pub fn sum_of_words(range: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: this CPU, and the kernel that saves its registers, have AVX-512F.
            return unsafe { with_avx512(range) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: this CPU, and the kernel that saves its registers, have AVX2.
            return unsafe { with_avx2(range) };
        }
    }
    with_baseline(range)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn with_avx512(range: &[u8]) -> u64 {
    with_baseline(range)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(range: &[u8]) -> u64 {
    with_baseline(range)
}

/// Written so that the compiler makes vector loads of it, as wide as the caller's features allow.
#[inline(always)]
fn with_baseline(range: &[u8]) -> u64 {
    let mut sums = [0_u64; SIDE_BY_SIDE];
    let (lines, rest) = range.as_chunks::<{ WORD * SIDE_BY_SIDE }>();
    for line in lines {
        for (sum, word) in sums.iter_mut().zip(line.as_chunks::<WORD>().0) {
            *sum = sum.wrapping_add(u64::from_ne_bytes(*word));
        }
    }

    let rest = rest.as_chunks::<WORD>().0.iter().map(|word| u64::from_ne_bytes(*word));
    sums.iter().copied().chain(rest).fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_adds_up_the_same_words() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for range in
            [&bytes[..], &bytes[1..], &bytes[..4096], &bytes[3..67], &bytes[..63], &bytes[..8], &bytes[..7], &[]]
        {
            let words =
                range.chunks_exact(WORD).map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)));
            let expected = words.map(|word: u64| u64::from_ne_bytes(word.to_le_bytes())).fold(0, u64::wrapping_add);
            assert_eq!(sum_of_words(range), expected, "{} bytes", range.len());
            assert_eq!(with_baseline(range), expected, "{} bytes", range.len());
        }
    }
}
