//! Errors that few blocks tell little of, made surer by those of other cases of the kind: the moderated t.
//!
//! Of a kind's cases each error is known from a few differences, and together they show how much errors
//! differ from case to case. Each is taken together with the common one, which counts for as many differences
//! as the cases are alike, and a t of it has that many degrees of freedom more (Smyth, "Linear models and
//! empirical Bayes methods for assessing differential expression in microarray experiments", 2004, section
//! 6.2). Where cases differ a lot the common one counts for little. Left out: what is the same for all of
//! them, such as how much their blocks hang together (`scatter`).

use statrs::function::gamma::digamma;

use crate::block_interval::BlockValue;
use crate::interval::{mean, mean_and_squares};
use crate::level::Level;
use crate::trigamma::{inverse_trigamma, trigamma};

/// The common error never counts for more differences than this: that cases scatter alike is itself known
/// from a few.
const MOST_FREEDOM: f64 = 20.0;

/// A level, and what it was told from.
#[derive(Clone, Copy, Debug)]
pub struct OfKind<'a> {
    /// The level.
    pub level: Level,
    /// Its blocks.
    pub blocks: &'a [BlockValue],
    /// Whether it tells something that those before it do not: of three cases two ratios say what the third
    /// is.
    pub tells: bool,
}

/// The levels of a kind with their errors taken together.
pub fn moderated(kind: &[OfKind]) -> Vec<Level> {
    let telling: Vec<OfKind> =
        kind.iter().filter(|one| one.tells && one.level.squared_error() > 0.0).copied().collect();
    let own = || kind.iter().map(|one| one.level);
    let Some(common) = Common::of(&telling) else { return own().collect() };
    own().map(|level| common.with(level)).collect()
}

/// The error that cases have in common.
struct Common {
    squared_error: f64,
    /// How many differences it counts for.
    freedom: f64,
}

impl Common {
    /// `None` of fewer than two, and where all tell the same.
    fn of(kind: &[OfKind]) -> Option<Self> {
        let (count, levels) = (kind.len() as f64, || kind.iter().map(|one| one.level));
        if kind.len() < 2 {
            return None;
        }
        let half = |level: Level| level.freedom() / 2.0;
        let log = |level: Level| level.squared_error().ln() - digamma(half(level)) + half(level).ln();
        let (middle, squares) = mean_and_squares(&levels().map(log).collect::<Vec<_>>());
        let by_chance = mean(&levels().map(|level| trigamma(half(level))).collect::<Vec<_>>());
        let beyond = squares / (count - 1.0) - by_chance;

        // Errors of series that move together are one error.
        let all: f64 = levels().map(|level| level.freedom()).sum();
        let most = (all / (1.0 + (count - 1.0) * shared_part(kind)) - all / count).min(MOST_FREEDOM);
        let common = match beyond <= 0.0 {
            // They differ by no more than chance makes them.
            true => {
                let errors: Vec<f64> = levels().map(|level| level.squared_error()).collect();
                Self { squared_error: mean(&errors), freedom: most }
            }
            false => {
                let freedom = 2.0 * inverse_trigamma(beyond);
                let squared_error = (middle + digamma(freedom / 2.0) - (freedom / 2.0).ln()).exp();
                Self { squared_error, freedom: freedom.min(most) }
            }
        };
        (common.freedom > 0.0).then_some(common)
    }

    fn with(&self, level: Level) -> Level {
        let freedom = self.freedom + level.freedom();
        let sum = self.freedom * self.squared_error + level.freedom() * level.squared_error();
        level.known_as(sum / freedom, freedom)
    }
}

/// The mean squared correlation of every two series, less what chance makes of as many differences as they
/// are worth: so much of what two sample variances tell is the same.
fn shared_part(kind: &[OfKind]) -> f64 {
    let blocks = kind.iter().map(|one| one.blocks.len()).min().unwrap_or(0);
    let series: Vec<Vec<f64>> = kind.iter().filter_map(|one| unit_series(&one.blocks[..blocks])).collect();
    let correlation = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let squares = series
        .iter()
        .enumerate()
        .flat_map(|(at, one)| series[..at].iter().map(move |other| correlation(one, other).powi(2)));
    let seen = mean(&squares.collect::<Vec<_>>());
    let by_chance = 1.0 / mean(&kind.iter().map(|one| one.level.freedom()).collect::<Vec<_>>());
    if series.len() > 1 && by_chance < 1.0 { ((seen - by_chance) / (1.0 - by_chance)).max(0.0) } else { 0.0 }
}

/// Logarithms around their mean, of length one; `None` of equal blocks.
fn unit_series(blocks: &[BlockValue]) -> Option<Vec<f64>> {
    let logs: Vec<f64> = blocks.iter().map(|block| block.value.ln()).collect();
    let (mean, squares) = mean_and_squares(&logs);
    (squares > 0.0).then(|| logs.iter().map(|log| (log - mean) / squares.sqrt()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;
    use crate::scatter::Scatter;

    /// Cases of eight blocks each, the logarithms as `draw` makes them of a case and a block.
    fn cases(
        count: usize,
        mut draw: impl FnMut(usize, usize, &mut SplitMix64) -> f64,
    ) -> Vec<Vec<BlockValue>> {
        let mut random = SplitMix64::new(81);
        let mut case = |at: usize| {
            let values: Vec<f64> = (0..8).map(|block| draw(at, block, &mut random).exp()).collect();
            BlockValue::on_one_allocation(&values)
        };
        (0..count).map(&mut case).collect()
    }

    fn of_kind(cases: &[Vec<BlockValue>]) -> Vec<OfKind<'_>> {
        let level = |blocks: &[BlockValue]| Level::of(blocks, &Scatter::default());
        cases
            .iter()
            .filter_map(|blocks| Some(OfKind { level: level(blocks)?, blocks, tells: true }))
            .collect()
    }

    #[test]
    fn cases_that_scatter_alike_have_nearly_one_error_and_more_degrees_of_freedom() {
        let cases = cases(40, |_, _, random| 0.01 * noise::normal(random));
        let own = of_kind(&cases);
        let got = moderated(&own);
        let spread = |levels: &[Level]| {
            let logs: Vec<f64> = levels.iter().map(|level| level.squared_error().ln()).collect();
            mean_and_squares(&logs).1
        };
        let before = spread(&own.iter().map(|one| one.level).collect::<Vec<_>>());
        assert!(spread(&got) < before / 5.0, "{} of {before}", spread(&got));
        assert!(got.iter().all(|level| level.freedom() > 20.0));
    }

    #[test]
    fn cases_that_scatter_each_in_its_own_way_keep_their_errors() {
        let deviation = |at: usize| 1e-5 * 10_f64.powf(at as f64 / 8.0);
        let cases = cases(40, |at, _, random| deviation(at) * noise::normal(random));
        let (own, got) = (of_kind(&cases), moderated(&of_kind(&cases)));
        assert!(got.iter().all(|level| level.freedom() < 9.0), "{got:?}");
        for (own, got) in own.iter().zip(&got).skip(10) {
            assert!((got.squared_error() / own.level.squared_error()).ln().abs() < 0.5, "{own:?} {got:?}");
        }
    }

    #[test]
    fn cases_that_move_together_count_as_one() {
        let mut shared = SplitMix64::new(82);
        let common: Vec<f64> = (0..8).map(|_| noise::normal(&mut shared)).collect();
        let cases = cases(40, |_, block, random| 0.01 * common[block] + 0.001 * noise::normal(random));
        let got = moderated(&of_kind(&cases));
        assert!(got.iter().all(|level| level.freedom() < 8.0), "{got:?}");
    }

    #[test]
    fn one_case_and_cases_that_tell_nothing_new_stay_as_they_are() {
        let cases = cases(3, |_, _, random| 0.01 * noise::normal(random));
        let mut own = of_kind(&cases);
        let levels: Vec<Level> = own.iter().map(|one| one.level).collect();
        assert_eq!(moderated(&own[..1]), levels[..1]);
        own[1..].iter_mut().for_each(|one| one.tells = false);
        assert_eq!(moderated(&own), levels);
    }
}
