//! `place --measure`: ways to place ranks whose turns alternate, looked at after each turn from the sixth to
//! the twentieth (`stats::best`).

use std::sync::Arc;

use stats::best::{Ranking, TurnValue, best};
use stats::compare::TwoSampleVerdict;
use stats::random::SplitMix64;

use super::experiment::{Experiment, FALSE_CLAIMS, FOUND, Length, Limit};
use super::machine::{self, Machine};
use super::noise::{self, Field};

/// The first look and the last.
const TURNS: std::ops::RangeInclusive<usize> = 6..=20;

/// A claim that turns make which hang together by themselves: METHOD says how often.
const HANG_TOGETHER: Limit = Limit::AtMostFor(0.35, "turns of a way are taken to be independent");

/// Whether some way was said to be slower than the leader before the last look, and whether the second was;
/// the second is at this part of the others' rate.
fn claims(field: &Field, part: f64) -> [bool; 2] {
    let turn = |at: usize, pass: usize| {
        let value = 50e9 * field[at][pass].exp() * if at == 1 { part } else { 1.0 };
        TurnValue { pass: pass as u64, value }
    };
    let way = |at: usize, turns: usize| (0..turns).map(|pass| turn(at, pass)).collect::<Vec<_>>();
    for turns in TURNS {
        let ways: Vec<Vec<TurnValue>> = (0..field.len()).map(|at| way(at, turns)).collect();
        let Some(standing) = best(&ways, TURNS.count()) else { continue };
        if (0..ways.len()).any(|at| is_lower(&standing, at)) {
            return [true, is_lower(&standing, 1)];
        }
    }
    [false; 2]
}

fn is_lower(standing: &Ranking, at: usize) -> bool {
    standing.against_leader[at].as_ref().is_some_and(|found| found.verdict == TwoSampleVerdict::Lower)
}

/// Turns of so many ways, the logarithms.
type Draw = Arc<dyn Fn(&mut SplitMix64, usize) -> Field + Send + Sync>;

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let most = *TURNS.end();
    let by_noise =
        noise::ALL.into_iter().filter(|noise| *noise != noise::Noise::Autocorrelated).map(|noise| {
            let draw: Draw = Arc::new(move |random, ways| noise.field(random, ways, most, 0.02));
            (noise.name().to_owned(), draw, FALSE_CLAIMS)
        });
    // Each turn has memory of its own.
    let shared = machine::ALL.into_iter().filter(|machine| !matches!(machine, Machine::AllocationModes(_)));
    let machines = shared.filter(|machine| !matches!(machine, Machine::Correlated(part) if *part > 0.5));
    let by_machine = machines.map(|machine| {
        let draw: Draw = Arc::new(move |random, ways| machine.field(random, ways, most, 0.02));
        let limit = if matches!(machine, Machine::Correlated(_)) { HANG_TOGETHER } else { FALSE_CLAIMS };
        (machine.name(), draw, limit)
    });

    let mut all = Vec::new();
    for (name, draw, limit) in by_noise.chain(by_machine) {
        for &ways in length.choose(&[2][..], &[2, 4]) {
            let of = Arc::clone(&draw);
            let trial = move |random: &mut SplitMix64| claims(&of(random, ways), 1.0)[0];
            let setting = format!("{ways} equal ways, {name}");
            all.push(Experiment::new(
                ("runs that call an equal way slower", limit),
                setting,
                length.choose(60, 1000),
                trial,
            ));
            for (part, limit) in [(0.87, FOUND), (0.5, FOUND)] {
                let of = Arc::clone(&draw);
                let trial = move |random: &mut SplitMix64| claims(&of(random, ways), part)[1];
                let setting = format!("one of {ways} ways at {part}, {name}");
                all.push(Experiment::new(("found", limit), setting, length.choose(60, 400), trial));
            }
        }
    }
    all
}
