//! Made-up measurements for tests of error rates: seeded, so that a rate that held once holds always.

use crate::random::SplitMix64;
use crate::sample::Block;

/// A number in (0, 1).
pub(crate) fn uniform(random: &mut SplitMix64) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// A draw of the standard normal distribution (Box and Muller).
pub(crate) fn normal(random: &mut SplitMix64) -> f64 {
    (-2.0 * uniform(random).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

/// A draw of the exponential distribution of mean 1.
pub(crate) fn exponential(random: &mut SplitMix64) -> f64 {
    -uniform(random).ln()
}

/// Makes one draw.
pub(crate) type Draw = fn(&mut SplitMix64) -> f64;

/// The shapes that timings without a fault come in: even, skewed, heavy in the tail.
pub(crate) const SHAPES: [(&str, Draw); 4] = [
    ("normal", normal),
    ("uniform", uniform),
    ("exponential", exponential),
    ("lognormal", |random| normal(random).exp()),
];

/// Blocks with these rounds in them, one after the other in time; 4 bytes a round.
pub(crate) fn blocks(rounds: Vec<Vec<f64>>) -> Vec<Block> {
    let mut start_ns = 0;
    rounds
        .into_iter()
        .map(|round_ns| {
            let elapsed_ns: f64 = round_ns.iter().sum();
            let end_ns = start_ns + elapsed_ns as u64;
            let block = Block {
                start_ns,
                end_ns,
                elapsed_ns,
                bytes: 4 * round_ns.len() as u64,
                round_ns,
                copies_per_round: 1,
                allocation: 0,
            };
            start_ns = end_ns;
            block
        })
        .collect()
}

/// Draws by how much (log) a figure is off; what is kept from draw to draw is the machine's.
pub(crate) type Disturbed = fn(&mut SplitMix64, &mut f64) -> f64;

/// How figures of a machine scatter: evenly by 2 %, evenly with one in ten hit by ten times as much, on a
/// speed that wanders, and in two modes that are a tenth apart.
pub(crate) const DISTURBED: [(&str, Disturbed); 4] = [
    ("normal", |random, _| 0.02 * normal(random)),
    (
        "heavy-tailed",
        |random, _| if uniform(random) < 0.1 { -0.2 * normal(random).abs() } else { 0.02 * normal(random) },
    ),
    ("drifting", |random, state| {
        *state = 0.9 * *state + 0.02 * normal(random);
        *state + 0.02 * normal(random)
    }),
    ("bimodal", |random, _| if uniform(random) < 0.5 { -0.1 } else { 0.0 } + 0.01 * normal(random)),
];
