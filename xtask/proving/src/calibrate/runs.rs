//! Made-up runs of a machine: how the figures of whole runs scatter from one to the next where nothing
//! changed.
//!
//! [`super::noise`] makes the kinds that blocks and runs have in common. What only runs do is made here: they
//! fall into modes, the machine drifts, takes a step or sticks in a mode, and each series wanders. The sides
//! of a comparison are parts of one series of runs: the base's runs first and then the new ones, or in turns.

use analysis::figure::Unit;
use analysis::judge::CasePair;
use stats::random::SplitMix64;

use super::noise::{Field, Noise};

/// How runs scatter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunNoise {
    /// As blocks may, too.
    Of(Noise),
    /// Each run of each case falls into one of two modes 10 % apart, by itself.
    ModesOfCases,
    /// Each run falls into one of two modes 10 % apart, with all of its cases.
    ModesOfRuns,
    /// A fifth of the cases, one at least, has modes of its own; the others have none.
    ModesOfSome,
    /// Each case wanders: AR(1) with this correlation from run to run.
    Wandering(f64),
    /// The machine drifts by this part from each run to the next, with all cases.
    Drift(f64),
    /// The machine takes a step of 3 % at the middle run, with all cases.
    Step,
    /// The machine has two modes 20 % apart and leaves one in a tenth of all runs, with all cases.
    StickyModes,
}

/// Two modes of runs are so far apart (logarithm).
const MODES_APART: f64 = 0.1;

/// In what order the runs of two sides are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOrder {
    /// All runs of the base, then all new ones.
    InRows,
    /// A run of each side alternately; of a side with more runs, its share in each turn.
    InTurns,
}

impl RunOrder {
    /// As tables name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InRows => "one side after the other",
            Self::InTurns => "in turns",
        }
    }
}

impl RunNoise {
    /// As tables name it.
    pub fn name(self) -> String {
        match self {
            Self::Of(noise) => noise.name().to_owned(),
            Self::ModesOfCases => "modes of each case's runs".to_owned(),
            Self::ModesOfRuns => "modes of whole runs".to_owned(),
            Self::ModesOfSome => "modes of a fifth of the cases".to_owned(),
            Self::Wandering(correlation) => format!("wandering by {correlation}"),
            Self::Drift(part) => format!("drift of {} % a run", part * 100.0),
            Self::Step => "a step of 3 %".to_owned(),
            Self::StickyModes => "sticky modes 20 % apart".to_owned(),
        }
    }

    /// The logarithms of so many cases over so many runs, around 0. What is not the kind's own noise is
    /// independent.
    pub fn field(self, random: &mut SplitMix64, cases: usize, runs: usize, deviation: f64) -> Field {
        let mut field = match self {
            Self::Of(noise) => return noise.field(random, cases, runs, deviation),
            Self::Wandering(correlation) => return wandering(random, (cases, runs), deviation, correlation),
            _ => Noise::Independent.field(random, cases, runs, deviation),
        };
        let shared = self.shared(random, runs);
        for (at, case) in field.iter_mut().enumerate() {
            let has_modes = match self {
                Self::ModesOfCases => true,
                Self::ModesOfSome => at < (cases / 5).max(1),
                _ => false,
            };
            for (value, shared) in case.iter_mut().zip(&shared) {
                *value += shared + if has_modes { MODES_APART * random.below(2) as f64 } else { 0.0 };
            }
        }
        field
    }

    /// What all cases of a run have in common.
    fn shared(self, random: &mut SplitMix64, runs: usize) -> Vec<f64> {
        let mut mode = random.below(2);
        let mut of_run = |at: usize| match self {
            Self::ModesOfRuns => MODES_APART * random.below(2) as f64,
            Self::Drift(part) => part * at as f64,
            Self::Step => {
                if at < runs / 2 {
                    0.0
                } else {
                    -0.03
                }
            }
            Self::StickyModes => {
                mode = if random.below(10) == 0 { 1 - mode } else { mode };
                0.2 * mode as f64
            }
            _ => 0.0,
        };
        (0..runs).map(&mut of_run).collect()
    }

    /// Two sides of so many runs each, made in this order.
    pub fn sides(
        self,
        random: &mut SplitMix64,
        cases: usize,
        [base, new]: [usize; 2],
        deviation: f64,
        order: RunOrder,
    ) -> [Field; 2] {
        if self == Self::Of(Noise::Uneven) {
            let (base, new) = Noise::Uneven.sides(random, cases, (base, new), deviation);
            return [base, new];
        }
        let all = self.field(random, cases, base + new, deviation);
        let is_new = |at: usize| match order {
            RunOrder::InRows => at >= base,
            RunOrder::InTurns => (at + 1) * new / (base + new) > at * new / (base + new),
        };
        [false, true].map(|side| {
            let of_case = |case: &Vec<f64>| {
                case.iter().enumerate().filter(|(at, _)| is_new(*at) == side).map(|(_, log)| *log).collect()
            };
            all.iter().map(of_case).collect()
        })
    }
}

fn wandering(
    random: &mut SplitMix64,
    (cases, runs): (usize, usize),
    deviation: f64,
    correlation: f64,
) -> Field {
    let rest = deviation * (1.0 - correlation * correlation).sqrt();
    let mut case = || {
        let mut level = deviation * random.normal();
        let mut next = || {
            level = correlation * level + rest * random.normal();
            level
        };
        (0..runs).map(|_| next()).collect()
    };
    (0..cases).map(|_| case()).collect()
}

/// The sides as pairs that are judged, whose blocks scatter by so much; the new side of each case is changed.
pub fn pairs(
    sides: &[Field; 2],
    blocks: f64,
    threshold: f64,
    change: impl Fn(usize) -> f64,
) -> Vec<CasePair> {
    // Six blocks whose quartiles are those of a normal law with this deviation.
    let run = |log: &f64, factor: f64| {
        let level = 50e9 * factor * log.exp();
        let block = |at: f64| level * (blocks * at).exp();
        (level, [-1.3, -0.75, -0.25, 0.25, 0.75, 1.3].map(block).to_vec())
    };
    let side = |logs: &[f64], factor: f64| logs.iter().map(|log| run(log, factor)).collect();
    let pair = |(at, (base, new)): (usize, (&Vec<f64>, &Vec<f64>))| CasePair {
        unit: Unit::BytesPerS,
        base: side(base, 1.0),
        new: side(new, change(at)),
        threshold,
    };
    sides[0].iter().zip(&sides[1]).enumerate().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_in_turns_share_what_the_machine_does_and_sides_after_each_other_do_not() {
        let mut random = SplitMix64::new(1);
        let mean = |side: &Field| side[0].iter().sum::<f64>() / side[0].len() as f64;
        let mut apart = |order| {
            let sides = RunNoise::Drift(0.01).sides(&mut random, 1, [5, 5], 1e-6, order);
            assert_eq!((sides[0][0].len(), sides[1][0].len()), (5, 5));
            mean(&sides[1]) - mean(&sides[0])
        };
        assert!(
            (apart(RunOrder::InTurns) - 0.01).abs() < 1e-4 && (apart(RunOrder::InRows) - 0.05).abs() < 1e-4
        );
        // A step of the machine in the second of three turns meets runs of both sides.
        let [few, many] = RunNoise::Step.sides(&mut random, 1, [3, 6], 1e-6, RunOrder::InTurns);
        assert_eq!((few[0].len(), many[0].len()), (3, 6));
        let stepped = |side: &Field| side[0].iter().filter(|log| **log < -0.02).count();
        assert_eq!((stepped(&few), stepped(&many)), (1, 4));
    }

    #[test]
    fn series_wander_as_asked() {
        let field = RunNoise::Wandering(0.95).field(&mut SplitMix64::new(2), 40, 500, 0.02);
        let (mut product, mut squares) = (0.0, 0.0);
        for two in field.iter().flat_map(|case| case.windows(2)) {
            (product, squares) = (product + two[0] * two[1], squares + two[0] * two[0]);
        }
        assert!(
            (product / squares - 0.95).abs() < 0.01 && ((squares / 19_960.0).sqrt() / 0.02 - 1.0).abs() < 0.1
        );
    }
}
