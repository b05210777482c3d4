//! The sum of the words of a range of memory, by the widest loads that this CPU has.
//!
//! A core has room for a limited number of instructions while it waits for memory, so the width of a load
//! decides how many lines it fetches at once. Read by 32 cores of a Xeon, memory gave 143 GB/s with loads of
//! 16 bytes, which every x86-64 CPU has, 156 with loads of 32 bytes, and 163 with loads of 64
//! (`bench/stream.c`, compiled for each, in turns; `docs/measurements/host-memory.md`). The binary is built
//! for every CPU, so the width is chosen when it runs. The loads are written out: of a plain loop the
//! compiler made gathers, which read less than loads of 16 bytes do.
//!
//! Left out: other architectures, whose baseline has their widest common loads (NEON on aarch64).

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_extract_epi64, _mm256_loadu_si256, _mm256_setzero_si256,
    _mm512_add_epi64, _mm512_loadu_si512, _mm512_reduce_add_epi64, _mm512_setzero_si512,
};

/// The bytes of a word.
const WORD: usize = 8;
/// The bytes of a cache line.
const LINE: usize = 64;

/// The sum of all whole words of `range`, modulo 2^64; a tail that makes no word is left out.
pub fn sum_of_words(range: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: this CPU, and the kernel that saves its registers, have AVX-512F.
            return unsafe { by_loads_of_64_bytes(range) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: this CPU, and the kernel that saves its registers, have AVX2.
            return unsafe { by_loads_of_32_bytes(range) };
        }
    }
    by_common_loads(range)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn by_loads_of_64_bytes(range: &[u8]) -> u64 {
    let (lines, rest) = range.as_chunks::<LINE>();
    let mut sums = _mm512_setzero_si512();
    for line in lines {
        // SAFETY: a line has 64 bytes, and this load needs no alignment.
        let words = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
        sums = _mm512_add_epi64(sums, words);
    }

    _mm512_reduce_add_epi64(sums).cast_unsigned().wrapping_add(by_common_loads(rest))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn by_loads_of_32_bytes(range: &[u8]) -> u64 {
    let (halves, rest) = range.as_chunks::<{ LINE / 2 }>();
    let mut sums = _mm256_setzero_si256();
    for half in halves {
        // SAFETY: half a line has 32 bytes, and this load needs no alignment.
        let words = unsafe { _mm256_loadu_si256(half.as_ptr().cast::<__m256i>()) };
        sums = _mm256_add_epi64(sums, words);
    }

    let sums = [
        _mm256_extract_epi64::<0>(sums),
        _mm256_extract_epi64::<1>(sums),
        _mm256_extract_epi64::<2>(sums),
        _mm256_extract_epi64::<3>(sums),
    ];
    sums.into_iter().map(i64::cast_unsigned).fold(by_common_loads(rest), u64::wrapping_add)
}

/// Written so that the compiler makes vector loads of it, as wide as every CPU of the architecture has them.
/// With wider features it makes gathers of it, which are slower.
fn by_common_loads(range: &[u8]) -> u64 {
    let mut sums = [0_u64; LINE / WORD];
    let (lines, rest) = range.as_chunks::<LINE>();
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
        let bytes: Vec<u8> =
            (0..100_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for range in [
            &bytes[..],
            &bytes[1..],
            &bytes[..4096],
            &bytes[3..67],
            &bytes[..63],
            &bytes[..8],
            &bytes[..7],
            &[],
        ] {
            let words = range
                .chunks_exact(WORD)
                .map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)));
            let expected =
                words.map(|word: u64| u64::from_ne_bytes(word.to_le_bytes())).fold(0, u64::wrapping_add);
            assert_eq!(sum_of_words(range), expected, "{} bytes", range.len());
            assert_eq!(by_common_loads(range), expected, "{} bytes", range.len());
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: this CPU has AVX2.
                assert_eq!(unsafe { by_loads_of_32_bytes(range) }, expected, "{} bytes", range.len());
            }
        }
    }
}
