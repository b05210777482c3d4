//! `cargo xtask real-runs FOLDER [--comparisons=N]`: what `compare` says of real documents of one machine on
//! which nothing changed.
//!
//! The folder holds documents `KIND-NUMBER.json`; those of a kind are runs of one command. Of each kind so
//! many runs at random are held against as many others: as they are, with the new side 5 % worse, and with
//! the new side at half its rate. Counted are comparisons with a false change, and planted changes that are
//! found, of cases whose runs differ by less than 1 % (their deviation over all runs of the kind) and of all.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use analysis::any_document::AnyDocument;
use analysis::compare::{Thresholds, compare};
use analysis::comparison::Comparison;
use analysis::figure::Key;
use analysis::judge::ChangeVerdict;
use analysis::run::Run;
use report::block::BlockTime;
use report::document::Tool;
use stats::random::SplitMix64;

/// Comparisons of each kind and count of runs, unless told otherwise.
const COMPARISONS: usize = 200;

/// Runs of such a case do not differ by much.
const QUIET: f64 = 0.01;

/// Runs a side.
const SIDES: [usize; 5] = [1, 3, 4, 5, 6];

/// Runs the command.
pub fn run(_: &Path, args: &[String]) -> Result<()> {
    let (folder, count) = match args {
        [folder] => (folder, COMPARISONS),
        [folder, count] => (
            folder,
            count.strip_prefix("--comparisons=").context("takes FOLDER and --comparisons=N")?.parse()?,
        ),
        _ => bail!("takes FOLDER and --comparisons=N"),
    };
    println!(
        "| kind | runs a side | false changes | false suspicions | 5 % worse, quiet: found | suspected | all: \
         found | half the rate: found | suspected |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    for (kind, runs) in kinds(Path::new(folder))? {
        for side in SIDES.into_iter().filter(|side| 2 * side <= runs.len()) {
            println!("| {kind} | {side} | {} |", counted(&runs, side, count)?);
        }
    }
    Ok(())
}

/// The runs of a folder, by kind.
fn kinds(folder: &Path) -> Result<BTreeMap<String, Vec<Run>>> {
    let mut kinds: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let file = entry?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((kind, _)) = name.strip_suffix(".json").and_then(|stem| stem.rsplit_once('-')) else {
            continue;
        };
        let bytes = fs::read(&file).with_context(|| format!("cannot read {name}"))?;
        let document: AnyDocument<BlockTime> =
            AnyDocument::from_json(&bytes).with_context(|| name.clone())?;
        kinds.entry(kind.to_owned()).or_default().push(document.run(&name).with_context(|| name.clone())?);
    }
    for runs in kinds.values_mut() {
        runs.sort_by(|one, other| one.started_at.cmp(&other.started_at));
    }
    Ok(kinds)
}

/// What so many comparisons of so many runs a side come to, as cells of the table.
fn counted(runs: &[Run], side: usize, comparisons: usize) -> Result<String> {
    let quiet = quiet_cases(runs);
    let mut random = SplitMix64::new(side as u64);
    let (mut changes, mut suspicions) = (0, 0);
    let (mut slightly, mut quietly, mut half) = (Found::default(), Found::default(), Found::default());
    for _ in 0..comparisons {
        let mut left: Vec<&Run> = runs.iter().collect();
        let mut draw = || -> Vec<Run> {
            (0..side).map(|_| left.swap_remove(random.below(left.len())).clone()).collect()
        };
        let (base, new) = (draw(), draw());

        let same = compared(&base, &new, 1.0)?;
        changes += usize::from(same.counts.regressed + same.counts.improved > 0);
        suspicions += usize::from(same.counts.suspect > 0);
        let worse = compared(&base, &new, 0.95)?;
        slightly.count(&worse, |_| true);
        quietly.count(&worse, |key| quiet.contains(&key));
        half.count(&compared(&base, &new, 0.5)?, |_| true);
    }
    Ok(format!(
        "{changes} of {comparisons} | {suspicions} | {} of {} | {} | {} of {} | {} of {} | {}",
        quietly.found,
        quietly.of,
        quietly.suspected,
        slightly.found,
        slightly.of,
        half.found,
        half.of,
        half.suspected
    ))
}

/// Planted changes: how many there were, were found, and were suspected.
#[derive(Default)]
struct Found {
    of: usize,
    found: usize,
    suspected: usize,
}

impl Found {
    fn count(&mut self, comparison: &Comparison, is_counted: impl Fn(&Key) -> bool) {
        for case in comparison.cases.iter().filter(|case| is_counted(&case.key)) {
            self.of += 1;
            self.found += usize::from(case.verdict == ChangeVerdict::Regressed);
            self.suspected += usize::from(case.verdict == ChangeVerdict::Suspect);
        }
    }
}

/// The cases whose runs differ by little.
fn quiet_cases(runs: &[Run]) -> Vec<&Key> {
    let is_quiet = |key: &&Key| {
        let logs: Vec<f64> =
            runs.iter().filter_map(|run| Some(run.figures.get(*key)?.as_ref().ok()?.median.ln())).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        (squares / (logs.len() as f64 - 1.0)).sqrt() < QUIET
    };
    runs.first().map_or(Vec::new(), |run| run.figures.keys().filter(is_quiet).collect())
}

/// The new runs beside the base's, each rate at this part of what was measured.
fn compared(base: &[Run], new: &[Run], part: f64) -> Result<Comparison> {
    let mut new = new.to_vec();
    for figure in new.iter_mut().flat_map(|run| run.figures.values_mut().flatten()) {
        let factor = if figure.unit.more_is_better() { part } else { 1.0 / part };
        figure.median *= factor;
        figure.blocks.iter_mut().for_each(|block| *block *= factor);
    }
    let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
    Ok(compare(tool, base, &new, Thresholds { bandwidth: 0.03, latency: 0.03 }, false)?)
}
