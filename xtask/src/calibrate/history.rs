//! `history`: folders of series in which nothing changed, and folders in which one series fell to half three runs ago.

use std::collections::BTreeMap;

use analysis::compare::Thresholds;
use analysis::figure::{Figure, Key, Unit};
use analysis::history::history;
use analysis::run::Run;
use report::document::Tool;
use stats::random::SplitMix64;

use super::experiment::{Experiment, FALSE_CLAIMS, FOUND, Length, Limit};
use super::noise::{self, Field, Noise};

/// The runs of a folder with these figures.
fn runs(field: &Field, change: impl Fn(usize, usize) -> f64) -> Vec<Run> {
    let run = |at: usize| {
        let figures = field.iter().enumerate().map(|(case, logs)| {
            let median = 50e9 * logs[at].exp() * change(case, at);
            let key = Key::in_words(&format!("case {case}"), "here".to_owned());
            (key, Ok(Figure { unit: Unit::BytesPerS, median, blocks: Vec::new() }))
        });
        Run {
            name: format!("{at}.json"),
            host: "node".to_owned(),
            // Days of one long year: only their order counts.
            started_at: format!("2026-01-01T{at:06}Z"),
            conditions: Vec::new(),
            figures: figures.collect::<BTreeMap<_, _>>(),
        }
    };
    (0..field[0].len()).map(run).collect()
}

/// The changes that are named, with a threshold of 0: only the statistics keep false ones away.
fn steps(runs: Vec<Run>) -> Vec<analysis::history::LevelChange> {
    let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
    history(tool, runs, Thresholds { bandwidth: 0.0, latency: 0.0 }).steps
}

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    for noise in noise::ALL {
        for &(series, count) in length.choose(&[(20, 33)][..], &[(1, 30), (20, 13), (20, 30), (20, 90), (200, 60)]) {
            let trial = move |random: &mut SplitMix64| {
                let field = noise.field(random, series, count, 0.03);
                !steps(runs(&field, |_, _| 1.0)).is_empty()
            };
            let setting = format!("{}, {series} series of {count} runs", noise.name());
            let trials = length.choose(40, (400_000 / (series * count)).clamp(150, 500));
            all.push(Experiment::new(("folders with a false change", FALSE_CLAIMS), setting, trials, trial));
        }
    }
    for noise in [Noise::Independent, Noise::Autocorrelated, Noise::SharedByAllocation, Noise::HeavyTails] {
        for &(before, deviation) in
            length.choose(&[(10, 0.02), (30, 0.03)][..], &[(10, 0.02), (10, 0.03), (20, 0.03), (30, 0.03), (60, 0.03)])
        {
            let limit =
                if noise == Noise::HeavyTails { Limit::Told("three runs that may be hits of one side") } else { FOUND };
            let trial = move |random: &mut SplitMix64| {
                let field = noise.field(random, 20, before + 3, deviation);
                let steps = steps(runs(&field, |case, at| if case == 0 && at >= before { 0.5 } else { 1.0 }));
                steps.iter().any(|step| step.key.case == "case 0" && step.runs_after == 3)
            };
            let setting = format!("{} {deviation}, 20 series, one at half for 3 runs after {before}", noise.name());
            all.push(Experiment::new(("found", limit), setting, length.choose(60, 300), trial));
        }
    }
    all
}
