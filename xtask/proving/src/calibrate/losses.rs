//! `sweep --rows near,far`: what far memory loses at each size (`analysis::family`, two and two, each size
//! and direction of its own kind, as `analysis::row_sweep` has them).

use analysis::family::{CaseFamily, FamilyCase};
use analysis::passes::Moments;
use stats::block_interval::BlockValue;
use stats::compare::TwoSampleVerdict;
use stats::random::SplitMix64;

use super::experiment::{Experiment, FALSE_CLAIMS, FOUND, Length, Limit};
use super::machine::{self, Machine};
use super::noise::{self, Field, Noise, allocation};

/// What is counted where the far row is as fast.
const FALSE: &str = "documents that call equal memory slower or faster at a size";

/// The sizes of a document in both directions, and the blocks of each.
#[derive(Clone, Copy)]
struct Shape {
    sizes: usize,
    blocks: usize,
}

impl Shape {
    fn name(self) -> String {
        format!("{} sizes, 2 directions, {} blocks", self.sizes, self.blocks)
    }

    /// Sizes in both directions.
    fn losses(self) -> usize {
        2 * self.sizes
    }

    /// What is said of each size, the far row's rate being so many times the near one's.
    fn verdicts(self, field: &Field, far: impl Fn(usize) -> f64) -> Vec<TwoSampleVerdict> {
        let case = |(at, logs): (usize, &Vec<f64>)| -> Vec<BlockValue> {
            let rate = 10e9 * if at % 2 == 1 { far(at / 2) } else { 1.0 };
            let block = |(block, log): (usize, &f64)| BlockValue {
                value: rate * log.exp(),
                allocation: allocation(block),
            };
            logs.iter().enumerate().map(block).collect()
        };
        let cases: Vec<Vec<BlockValue>> = field.iter().enumerate().map(case).collect();

        let member =
            |(at, blocks)| FamilyCase { kind: at / 2, is_time: false, blocks, began: Moments::default() };
        let members = cases.iter().map(Vec::as_slice).enumerate().map(member).collect();
        let found = CaseFamily::of(members).values_in_twos();
        let verdict = |one: Option<_>| {
            one.map_or(TwoSampleVerdict::Undecided, |one: stats::compare::TwoSampleComparison| one.verdict)
        };
        found.into_iter().map(verdict).collect()
    }
}

fn is_claim(verdict: &TwoSampleVerdict) -> bool {
    matches!(verdict, TwoSampleVerdict::Lower | TwoSampleVerdict::Higher)
}

/// False claims and losses found, of documents of such noise.
fn of_noise(
    shape: Shape,
    (name, limit, found): (String, Limit, Limit),
    trials: usize,
    draw: impl Fn(&mut SplitMix64) -> Field + Clone + Sync + Send + 'static,
) -> Vec<Experiment> {
    let equal = draw.clone();
    let none = move |random: &mut SplitMix64| shape.verdicts(&equal(random), |_| 1.0).iter().any(is_claim);
    let setting = |what: &str| format!("{what}, {name}, {}", shape.name());
    let mut all = vec![Experiment::new((FALSE, limit), setting("far as fast as near"), trials, none)];

    // The study's own losses: from a third of the sizes on a fifth, as a link's limit has it; and one size.
    let draws = draw.clone();
    let from_a_size = move |random: &mut SplitMix64| {
        let slow = |at: usize| at % shape.sizes >= shape.sizes / 3;
        let far = |at: usize| if slow(at) { 0.8 } else { 1.0 };
        let verdicts = shape.verdicts(&draws(random), far);
        let lower = |at: &usize| verdicts[*at] == TwoSampleVerdict::Lower;
        let planted = (0..shape.losses()).filter(|at| slow(*at));
        (planted.clone().filter(lower).count(), planted.count())
    };
    all.push(Experiment::new(("found", found), setting("a fifth less from a size on"), trials, from_a_size));

    let one_size = move |random: &mut SplitMix64| {
        let verdicts = shape.verdicts(&draw(random), |at| if at == 0 { 0.5 } else { 1.0 });
        let others = verdicts.iter().skip(1).any(is_claim);
        (usize::from(verdicts[0] == TwoSampleVerdict::Lower && !others), 1)
    };
    let one = match found {
        FOUND => Limit::AtLeast(0.9),
        told => told,
    };
    all.push(Experiment::new(
        ("found, and no other size", one),
        setting("one size at half"),
        trials,
        one_size,
    ));
    all
}

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let shapes = length.choose(&[(17, 10)][..], &[(3, 10), (17, 3), (17, 6), (17, 10), (17, 20), (29, 10)]);
    let trials = length.choose(40, 300);
    let mut all = Vec::new();
    for &(sizes, blocks) in shapes {
        let shape = Shape { sizes, blocks };
        let few = blocks < 10 || sizes < 4;
        for noise in noise::ALL {
            let found = match noise {
                Noise::Independent if !few => FOUND,
                _ => Limit::Told("how much noise hides of a fifth"),
            };
            let draw =
                move |random: &mut SplitMix64| noise.field(random, 2 * shape.losses(), shape.blocks, 0.01);
            let words = (format!("{} 0.01", noise.name()), FALSE_CLAIMS, found);
            all.extend(of_noise(shape, words, trials, draw));
        }
        for machine in machine::ALL {
            let strong = matches!(machine, Machine::Correlated(part) if part > 0.8);
            let draw =
                move |random: &mut SplitMix64| machine.field(random, 2 * shape.losses(), shape.blocks, 0.01);
            let found = Limit::Told("how much a machine that drifts or sticks hides of a fifth");
            let claims = match few && strong {
                true => Limit::Told("few blocks of a machine that hangs together this much"),
                false => FALSE_CLAIMS,
            };
            all.extend(of_noise(shape, (machine.name(), claims, found), trials, draw));
        }
    }
    all
}
