//! A small seeded generator: the same seed gives the same draws on every machine and in every version.
//!
//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): nine lines,
//! passes BigCrush, and every seed is a good one. Not for secrets.

/// The state of a SplitMix64 generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64(u64);

/// SplitMix64's mixing: equal values give equal ones, and neighbours nothing alike.
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl SplitMix64 {
    /// A generator that starts at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `0..bound`; 0 for a bound of 0. By multiplication (Lemire, 2019) without his rejection step: the
    /// bias is below bound / 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Puts `items` in a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_draws_are_those_of_the_reference_implementation() {
        // The first five of Vigna's splitmix64.c (https://prng.di.unimi.it/splitmix64.c) with the state set to 1234567.
        let mut random = SplitMix64::new(1_234_567);
        let draws: Vec<u64> = (0..5).map(|_| random.next_u64()).collect();
        assert_eq!(
            draws,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
    }

    #[test]
    fn draws_below_a_bound_cover_it_evenly() {
        let mut random = SplitMix64::new(1);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[random.below(10)] += 1;
        }
        // 10 000 expected each, standard deviation 95: five of them allowed.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 475), "{counts:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn a_shuffle_reaches_every_order_about_as_often() {
        let mut random = SplitMix64::new(2);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| count.abs_diff(10_000) < 500), "{counts:?}");
    }
}
