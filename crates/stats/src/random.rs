//! A small seeded generator: the same seed gives the same draws on every machine and in every version.
//!
//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): nine
//! lines, passes BigCrush, and every seed is a good one. Not for secrets.

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

    /// A number in `0..bound`; 0 for a bound of 0. By multiplication (Lemire, 2019) without his rejection
    /// step: the bias is below bound / 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A number in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A draw of the standard normal distribution (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A draw of the chi-squared distribution with one degree of freedom or more (Marsaglia and Tsang, "A
    /// simple method for generating gamma variables", 2000).
    pub fn chi_squared(&mut self, freedom: f64) -> f64 {
        if freedom < 2.0 {
            return self.normal().powi(2);
        }
        let d = freedom / 2.0 - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.uniform().ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
                return 2.0 * d * v;
            }
        }
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
        // The first five of Vigna's splitmix64.c (https://prng.di.unimi.it/splitmix64.c) with the state set
        // to 1234567.
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
    fn draws_have_the_mean_and_the_variance_of_their_law() {
        let mut random = SplitMix64::new(3);
        let mut moments = |draw: &dyn Fn(&mut SplitMix64) -> f64| {
            let draws: Vec<f64> = (0..100_000).map(|_| draw(&mut random)).collect();
            let mean = draws.iter().sum::<f64>() / 1e5;
            (mean, draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / 1e5)
        };
        let (mean, variance) = moments(&|random| random.normal());
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        for freedom in [1.0, 2.0, 7.0, 100.0] {
            let (mean, variance) = moments(&|random| random.chi_squared(freedom));
            assert!(
                (mean / freedom - 1.0).abs() < 0.02 && (variance / freedom / 2.0 - 1.0).abs() < 0.05,
                "{freedom}: {mean} {variance}"
            );
        }
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
