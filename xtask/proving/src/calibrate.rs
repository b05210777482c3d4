//! `cargo xtask calibrate [VERDICT]… [--short] [--seed=WORD] [--csv=FILE] [--of=WORDS]`: how often each
//! verdict of the program is wrong, by simulation of its own public functions. `--of` counts only the rows in
//! which these words stand.
//!
//! A verdict is an experiment on made-up figures whose truth is known: nothing changed, or so much did. Three
//! things are counted: documents with a false claim, planted changes that are found, and 95 % intervals that
//! hold the truth. The long form prints the summary of docs/measurements/calibration.md and, with `--csv`,
//! writes every row as docs/measurements/calibration.csv has them. The short form has fewer and smaller
//! documents and fails when a figure leaves its limit; the tests run it. Seeds are made of the rows' own
//! names, and of WORD: rules whose constants were chosen on one set of seeds are counted on another.
//!
//! One file a verdict, and [`noise`] makes the figures. A new verdict is a file with a function that lists
//! its [`Experiment`]s, and a line in [`VERDICTS`].

mod baseline;
mod compare;
mod experiment;
mod fleets;
mod groups;
mod history;
mod intervals;
mod knee;
mod losses;
mod machine;
mod nodes;
mod noise;
mod places;
mod runs;
mod sweep;
mod table;
mod twins;
mod ways;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use experiment::{Counted, Experiment, Length};

/// A verdict: its name, and what is simulated of it.
type Verdict = (&'static str, fn(Length) -> Vec<Experiment>);

const VERDICTS: &[Verdict] = &[
    ("intervals", intervals::experiments),
    ("compare", compare::experiments),
    ("history", history::experiments),
    ("baseline", baseline::experiments),
    ("nodes", nodes::experiments),
    ("fleets", fleets::experiments),
    ("twins", twins::experiments),
    ("places", places::experiments),
    ("ways", ways::experiments),
    ("groups", groups::experiments),
    ("sweep", sweep::experiments),
    ("losses", losses::experiments),
    ("knee", knee::experiments),
];

/// Runs the command.
pub fn run(_: &Path, args: &[String]) -> Result<()> {
    let (options, names): (Vec<&String>, Vec<&String>) = args.iter().partition(|word| word.starts_with("--"));
    let (mut length, mut seed, mut file, mut of) = (Length::Long, "", None, "");
    for option in options {
        match option.split_once('=') {
            Some(("--seed", word)) => seed = word,
            Some(("--csv", path)) => file = Some(path),
            Some(("--of", words)) => of = words,
            None if option == "--short" => length = Length::Short,
            _ => {
                let given = args.join(" ");
                bail!(
                    "takes names of verdicts, --short, --seed=WORD, --csv=FILE and --of=WORDS, but was given \
                     {given:?}"
                )
            }
        }
    }
    if let Some(unknown) =
        names.iter().find(|name| !VERDICTS.iter().any(|(known, _)| *known == name.as_str()))
    {
        let known: Vec<&str> = VERDICTS.iter().map(|(name, _)| *name).collect();
        bail!("no verdict is called {unknown:?}; there are {}", known.join(", "));
    }
    let chosen = VERDICTS
        .iter()
        .filter(|(name, _)| names.is_empty() || names.iter().any(|wanted| wanted.as_str() == *name));
    print!("{}", table::HEAD);
    let (mut beyond, mut csv) = (Vec::new(), table::CSV_HEAD.to_owned());
    for (name, experiments) in chosen {
        let mut experiments = experiments(length);
        experiments.retain(|experiment| experiment.is_of(of));
        let rows: Vec<Counted> = experiment::conduct(&format!("{name}{seed}"), experiments).collect();
        print!("{}", table::summary(name, &rows));
        csv.extend(rows.iter().map(|row| table::csv_row(name, row)));
        beyond.extend(rows.iter().filter(|row| !row.keeps()).map(|row| format!("{name}: {}", row.says())));
    }
    if let Some(file) = file {
        fs::write(file, csv).with_context(|| format!("cannot write the rows to {file}"))?;
    }
    if beyond.is_empty() { Ok(()) } else { bail!("beyond its limit: {}", beyond.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_keeps_its_limits_in_the_short_form() {
        let done = run(Path::new("."), &["--short".to_owned()]);
        assert!(done.is_ok(), "{done:?}");
    }

    #[test]
    fn a_verdict_that_does_not_exist_is_refused_with_those_that_do() {
        let refused = run(Path::new("."), &["divination".to_owned()]).map_err(|error| error.to_string());
        assert!(refused.is_err_and(|words| words.contains("divination") && words.contains("compare")));
    }
}
