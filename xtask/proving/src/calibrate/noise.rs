//! Made-up figures: how the logarithms of figures scatter where nothing changed, by kind of noise.
//!
//! A [`Field`] has a value for each case at each of several moments (a pass, a block or a run, by what a
//! verdict takes for its unit). All kinds have about the deviation asked, so their rows compare. Kinds are
//! those by which verdicts were found to promise too much: what is shared is shared over cases, and what is
//! uneven differs by side or by case.

use stats::family::normal_p;
use stats::random::SplitMix64;

/// How figures scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Each value by itself, normal.
    Independent,
    /// Half of the variance is common to all cases and to the blocks of an allocation, as the engine makes
    /// them.
    SharedByAllocation,
    /// Half of the variance is common to all cases of a moment: a pass's or a run's.
    SharedByPass,
    /// Each case wanders: AR(1) with 0.8 from one moment to the next.
    Autocorrelated,
    /// Two modes 10 % apart, as likely as each other, and a twentieth of the deviation around each. The one
    /// kind that does not have the deviation asked.
    Bimodal,
    /// One value in ten is hit by noise of one side and five times as wide.
    HeavyTails,
    /// Cases differ in their deviation up to tenfold; where there are two sides, one's is five times the
    /// other's.
    Uneven,
    /// Independent, and rounded to steps of one deviation.
    Ties,
}

/// Every kind.
pub const ALL: [Noise; 8] = [
    Noise::Independent,
    Noise::SharedByAllocation,
    Noise::SharedByPass,
    Noise::Autocorrelated,
    Noise::Bimodal,
    Noise::HeavyTails,
    Noise::Uneven,
    Noise::Ties,
];

/// The number of a block's allocation, as the engine makes memory anew.
pub fn allocation(block: usize) -> u32 {
    let early = [4, 7, 10].iter().filter(|first| **first <= block).count() as u32;
    early + block.saturating_sub(10) as u32 / 5
}

/// Logarithms of figures: by case, then by moment.
pub type Field = Vec<Vec<f64>>;

impl Noise {
    /// As tables name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Independent => "independent",
            Self::SharedByAllocation => "shared by allocation",
            Self::SharedByPass => "shared by pass",
            Self::Autocorrelated => "autocorrelated 0.8",
            Self::Bimodal => "bimodal",
            Self::HeavyTails => "heavy tails",
            Self::Uneven => "unequal spread",
            Self::Ties => "ties",
        }
    }

    /// The median of such logarithms: 0, but half-way between two modes, and a little below it where a tenth
    /// is hit on one side.
    pub fn center(self, deviation: f64) -> f64 {
        // Of deviations below the middle: the part of a normal law that lies below.
        let below = |at: f64| normal_p(at) / 2.0;
        match self {
            Self::Bimodal => 0.05,
            Self::HeavyTails => {
                let (mut low, mut high) = (-1.0, 0.0);
                while high - low > 1e-6 {
                    let middle = f64::midpoint(low, high);
                    let part = 0.9 * below(middle) + 0.1 * 2.0 * below(middle / 5.0);
                    if part < 0.5 { low = middle } else { high = middle }
                }
                low * deviation
            }
            _ => 0.0,
        }
    }

    /// So many cases at so many moments, around 0 with this deviation.
    pub fn field(self, random: &mut SplitMix64, cases: usize, moments: usize, deviation: f64) -> Field {
        let half = deviation * std::f64::consts::FRAC_1_SQRT_2;
        let common: Vec<f64> = (0..moments).map(|_| half * random.normal()).collect();
        let case = |random: &mut SplitMix64| -> Vec<f64> {
            let of_case = if self == Self::Uneven { 10_f64.powf(random.uniform() - 0.5) } else { 1.0 };
            let mut level = deviation * random.normal();
            let value = |at: usize| match self {
                Self::Independent => deviation * random.normal(),
                Self::SharedByAllocation => common[allocation(at) as usize] + half * random.normal(),
                Self::SharedByPass => common[at] + half * random.normal(),
                Self::Autocorrelated => {
                    level = 0.8 * level + 0.6 * deviation * random.normal();
                    level
                }
                Self::Bimodal => 0.1 * random.below(2) as f64 + deviation / 20.0 * random.normal(),
                Self::HeavyTails if random.below(10) == 0 => -5.0 * deviation * random.normal().abs(),
                Self::HeavyTails => deviation * random.normal(),
                Self::Uneven => of_case * deviation * random.normal(),
                Self::Ties => deviation * random.normal().round(),
            };
            (0..moments).map(value).collect()
        };
        (0..cases).map(|_| case(random)).collect()
    }

    /// Two sides of as many cases with so many moments each, around 0.
    pub fn sides(
        self,
        random: &mut SplitMix64,
        cases: usize,
        moments: (usize, usize),
        deviation: f64,
    ) -> (Field, Field) {
        let wide = if self == Self::Uneven { 5.0 } else { 1.0 };
        let first = self.field(random, cases, moments.0, deviation * wide);
        (first, self.field(random, cases, moments.1, deviation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_but_two_has_about_the_deviation_asked() {
        for noise in ALL {
            let field = noise.field(&mut SplitMix64::new(1), 200, 100, 0.02);
            let values = field.into_iter().flatten();
            let deviation = (values.map(|value| value * value).sum::<f64>() / 20_000.0).sqrt();
            let wanted = match noise {
                // Half of the values are at 10 %.
                Noise::Bimodal => 0.0707,
                Noise::HeavyTails => 0.02 * (0.9_f64 + 0.1 * 25.0).sqrt(),
                // The mean of 10^(2u − 1) over u.
                Noise::Uneven => 0.02 * 2.15_f64.sqrt(),
                _ => 0.02,
            };
            assert!((deviation / wanted - 1.0).abs() < 0.12, "{noise:?}: {deviation}, not {wanted}");
        }
    }

    #[test]
    fn the_median_of_a_law_is_its_center() {
        for noise in ALL {
            let field = noise.field(&mut SplitMix64::new(3), 400, 101, 0.02);
            let below =
                field.iter().flatten().filter(|log| **log < noise.center(0.02)).count() as f64 / 40_400.0;
            // Steps have their median at one of them.
            assert!(
                (below - 0.5).abs() < if noise == Noise::Ties { 0.2 } else { 0.06 },
                "{noise:?}: {below}"
            );
        }
    }

    #[test]
    fn what_is_shared_is_alike_and_what_wanders_stays_near() {
        let correlation = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
            let (mut product, mut squares) = (0.0, 0.0);
            pairs.for_each(|(a, b)| (product, squares) = (product + a * b, squares + (a * a + b * b) / 2.0));
            product / squares
        };
        let mut random = SplitMix64::new(2);
        let mut field = |noise: Noise| noise.field(&mut random, 2, 4000, 1.0);
        for noise in [Noise::SharedByPass, Noise::SharedByAllocation] {
            let field = field(noise);
            let between_cases = correlation(&mut field[0].iter().copied().zip(field[1].iter().copied()));
            assert!((between_cases - 0.5).abs() < 0.07, "{noise:?}: {between_cases}");
        }
        let wandering = field(Noise::Autocorrelated);
        let next = correlation(&mut wandering[0].iter().copied().zip(wandering[0].iter().skip(1).copied()));
        assert!((next - 0.8).abs() < 0.04, "{next}");
    }
}
