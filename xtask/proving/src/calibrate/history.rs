//! `history`: folders of series in which nothing changed, folders in which one series fell to half three runs
//! ago, and series that move without a step.

use std::collections::BTreeMap;

use analysis::compare::Thresholds;
use analysis::figure::{Figure, Key, Unit};
use analysis::history::{History, LevelChange, history};
use analysis::run::Run;
use report::document::Tool;
use stats::random::SplitMix64;
use stats::series_shape::SeriesShape;

use super::experiment::{Experiment, FALSE_CLAIMS, FOUND, Length, Limit};
use super::noise::{Field, Noise};
use super::runs::RunNoise;

/// The runs of a folder with these figures.
fn runs(field: &Field, change: impl Fn(usize, usize) -> f64) -> Vec<Run> {
    let run = |at: usize| {
        let figures = field.iter().enumerate().map(|(case, logs)| {
            let median = 50e9 * logs[at].exp() * change(case, at);
            let key = Key::in_words(&format!("case {case}"), "here".to_owned());
            (key, Ok(Figure::measured(Unit::BytesPerS, median, Vec::new())))
        });
        Run {
            name: format!("{at}.json"),
            host: "node".to_owned(),
            // Days of one long year: only their order counts.
            started_at: format!("2026-01-01T{at:06}Z"),
            asked: None,
            conditions: Vec::new(),
            engine: report::settings::CopyEngine::default(),
            figures: figures.collect::<BTreeMap<_, _>>(),
        }
    };
    (0..field[0].len()).map(run).collect()
}

/// Kinds that are told of series that move without a step.
const KIND_TOLD: Limit = Limit::AtLeast(0.75);

/// Folders of hundreds of series that wander slowly. Parts of twenty runs, which find a fall to half after
/// three runs, do not tell their correlation and are taken for correlated by 0.8; as correlated as the whole
/// series they found that fall in 84 % of series that wander by 0.8, and not in 99 %.
const SLOW_WAVES: Limit = Limit::AtMostFor(0.15, "a wave of twenty runs looks like a level");

/// The history of these runs, where so much matters.
fn searched(runs: Vec<Run>, threshold: f64) -> History {
    let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
    history(tool, runs, Thresholds { bandwidth: threshold, latency: threshold })
}

/// The changes that are named, with a threshold of 0: only the statistics keep false ones away.
fn steps(runs: Vec<Run>) -> Vec<LevelChange> {
    searched(runs, 0.0).steps
}

/// Noises of a folder in which no level changed. Those that share what four runs have in common are steps
/// that come back.
const NO_STEP: [RunNoise; 13] = [
    RunNoise::Of(Noise::Independent),
    RunNoise::Of(Noise::SharedByPass),
    RunNoise::Of(Noise::HeavyTails),
    RunNoise::Of(Noise::Uneven),
    RunNoise::Of(Noise::Ties),
    RunNoise::ModesOfCases,
    RunNoise::ModesOfRuns,
    RunNoise::ModesOfSome,
    RunNoise::Wandering(0.4),
    RunNoise::Wandering(0.8),
    RunNoise::Wandering(0.9),
    RunNoise::Drift(0.001),
    RunNoise::Drift(0.01),
];

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    for noise in NO_STEP {
        for &(series, count) in
            length.choose(&[(20, 33)][..], &[(1, 30), (20, 13), (20, 30), (20, 90), (200, 60)])
        {
            let trial = move |random: &mut SplitMix64| {
                let field = noise.field(random, series, count, 0.02);
                !steps(runs(&field, |_, _| 1.0)).is_empty()
            };
            let setting = format!("{}, {series} series of {count} runs", noise.name());
            let is_slow = noise == RunNoise::Wandering(0.9) && series == 200;
            let limit = if is_slow { SLOW_WAVES } else { FALSE_CLAIMS };
            let trials = length.choose(40, (400_000 / (series * count)).clamp(150, 500));
            all.push(Experiment::new(("folders with a false change", limit), setting, trials, trial));
        }
    }
    for noise in [
        RunNoise::Of(Noise::Independent),
        RunNoise::Of(Noise::SharedByPass),
        RunNoise::Wandering(0.8),
        RunNoise::Drift(0.001),
    ] {
        for &before in length.choose(&[10, 30][..], &[10, 20, 30, 60]) {
            let trial = move |random: &mut SplitMix64| {
                let field = noise.field(random, 20, before + 3, 0.02);
                let steps = steps(runs(&field, |case, at| if case == 0 && at >= before { 0.5 } else { 1.0 }));
                steps.iter().any(|step| step.key.case == "case 0" && step.runs_after == 3)
            };
            let setting = format!("{}, 20 series, one at half for 3 runs after {before}", noise.name());
            all.push(Experiment::new(("found", FOUND), setting, length.choose(60, 300), trial));
        }
    }
    all.extend(kinds(length));
    all
}

/// Series without a step whose kind is told.
fn kinds(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    let is_alternating = |shape: &SeriesShape| matches!(shape, SeriesShape::Alternating { .. });
    let moves = |shape: &SeriesShape| !matches!(shape, SeriesShape::Alternating { .. });
    type IsKind = fn(&SeriesShape) -> bool;
    let kinds: [(RunNoise, IsKind); 2] =
        [(RunNoise::ModesOfCases, is_alternating), (RunNoise::Drift(0.005), moves)];
    for (noise, is_kind) in kinds {
        for &count in length.choose(&[30][..], &[30, 90]) {
            let trial = move |random: &mut SplitMix64| {
                let field = noise.field(random, 1, count, 0.01);
                let history = searched(runs(&field, |_, _| 1.0), 0.03);
                history.moving.iter().any(|series| is_kind(&series.shape))
            };
            let setting = format!("{}, {count} runs", noise.name());
            all.push(Experiment::new(
                ("series whose kind is told", KIND_TOLD),
                setting,
                length.choose(60, 300),
                trial,
            ));
        }
    }
    for noise in
        [RunNoise::Of(Noise::Independent), RunNoise::Of(Noise::HeavyTails), RunNoise::Of(Noise::Ties)]
    {
        for &count in length.choose(&[30][..], &[13, 30, 90]) {
            let trial = move |random: &mut SplitMix64| {
                let field = noise.field(random, 1, count, 0.02);
                !searched(runs(&field, |_, _| 1.0), 0.03).moving.is_empty()
            };
            let setting = format!("{}, {count} runs", noise.name());
            let what = ("steady series that are said to move", FALSE_CLAIMS);
            all.push(Experiment::new(what, setting, length.choose(60, 500), trial));
        }
    }
    all
}
