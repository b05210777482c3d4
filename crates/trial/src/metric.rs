//! A run's figure: its wall time, a number in its output, or one in a file that it wrote; and the metrics
//! asked for, in order, with the wall time beside them.
//!
//! A file that the run did not write is an error and no figure: yesterday's result would else be every run's.
//! Figures are positive, because what is compared is their ratio.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use experiments::Fault;
use regex_lite::Regex;
use report::read::number_at;
use report::trial::TrialMetric;
use stats::interval::median;

use crate::decide::Better;
use crate::options::TrialOptions;

/// The name of the metric that starting is a part of.
pub const WALL: &str = "wall";

/// File systems keep times in steps: a file may seem to be this much older than it is.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// Where a figure comes from.
#[derive(Clone, Debug)]
pub enum MetricSource {
    /// From the start of the run to its end, in seconds.
    Wall,
    /// What the first group of a pattern matches in the output, or the whole match where it has none.
    Output {
        /// The pattern.
        pattern: Regex,
        /// The median of all matches, instead of the last one.
        all: bool,
    },
    /// The number at a JSON pointer of a file.
    Json {
        /// The file.
        file: PathBuf,
        /// The pointer (RFC 6901).
        pointer: String,
    },
    /// The last number in a file.
    File(PathBuf),
}

/// What figures are taken from.
pub struct EndedRun<'e> {
    /// The wall time, in seconds.
    pub wall_s: f64,
    /// When the run began.
    pub began: SystemTime,
    /// Its output.
    pub output: &'e [u8],
}

impl MetricSource {
    /// A pattern for the output.
    ///
    /// # Errors
    /// What is wrong with the pattern, in words.
    pub fn pattern(text: &str, all: bool) -> Result<Self, String> {
        let pattern =
            Regex::new(text).map_err(|error| format!("\"{text}\" is not a regular expression: {error}"))?;
        Ok(Self::Output { pattern, all })
    }

    /// What documents and tables call it, unless two have the same name.
    pub fn name(&self) -> String {
        match self {
            Self::Wall => WALL.to_owned(),
            Self::Output { pattern, .. } => {
                let before = pattern.as_str().split('(').next().unwrap_or_default();
                let plain: String =
                    before.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
                let words: Vec<&str> = plain.split_whitespace().collect();
                if words.is_empty() { "metric".to_owned() } else { words.join("-") }
            }
            Self::Json { pointer, .. } => {
                pointer.rsplit('/').find(|part| !part.is_empty()).unwrap_or("metric").to_owned()
            }
            Self::File(file) => {
                file.file_stem().map_or("metric".to_owned(), |stem| stem.to_string_lossy().into_owned())
            }
        }
    }

    /// The figure of a run that ended.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn figure(&self, ended: &EndedRun<'_>) -> Result<f64, String> {
        let figure = match self {
            Self::Wall => ended.wall_s,
            Self::Output { pattern, all } => in_output(pattern, *all, ended.output)?,
            Self::Json { file, pointer } => number_at(&written(file, ended.began)?, pointer)
                .map_err(|why| format!("{}: {why}", file.display()))?,
            Self::File(file) => {
                let text = String::from_utf8_lossy(&written(file, ended.began)?).into_owned();
                let last = text.split_whitespace().rev().find_map(|word| word.parse().ok());
                last.ok_or_else(|| format!("{} holds no number", file.display()))?
            }
        };

        if figure.is_finite() && figure > 0.0 {
            Ok(figure)
        } else {
            Err(format!("{} is {figure}: a figure must be positive to be compared by ratio", self.name()))
        }
    }
}

fn in_output(pattern: &Regex, all: bool, output: &[u8]) -> Result<f64, String> {
    let number = |found: regex_lite::Captures<'_>| {
        let text = found.get(1).or(found.get(0)).map_or("", |text| text.as_str().trim());
        text.parse::<f64>().map_err(|_| {
            format!(
                "the pattern {pattern} matches \"{text}\", which is not a number: put ( ) around the number"
            )
        })
    };
    let figures: Vec<f64> =
        pattern.captures_iter(&String::from_utf8_lossy(output)).map(number).collect::<Result<_, _>>()?;
    let figure = if all { median(&figures) } else { figures.last().copied() };
    figure.ok_or_else(|| format!("the pattern {pattern} matches nothing in the output"))
}

/// A program that writes a gigabyte of figures wrote something else.
const MOST_BYTES: u64 = 1 << 30;

/// What the run wrote to this file.
fn written(file: &PathBuf, began: SystemTime) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{} cannot be read: {error}", file.display());
    let modified = fs::metadata(file).and_then(|meta| meta.modified()).map_err(failed)?;
    if modified + CLOCK_STEP < began {
        return Err(format!("{} is older than the run: the program did not write it", file.display()));
    }
    topo::read_input(file, MOST_BYTES).map_err(|error| format!("{} cannot be read: {error}", file.display()))
}

/// A metric, and where its figure comes from.
pub(crate) struct Metric {
    /// As the document has it.
    pub described: TrialMetric,
    /// Where the figure comes from.
    pub source: MetricSource,
}

/// The metrics; the first decides.
///
/// # Errors
/// A pattern that is none, or nobody says what is better.
pub(crate) fn metrics(options: &TrialOptions) -> Result<Vec<Metric>, Fault> {
    let mut sources = Vec::new();
    for pattern in &options.patterns {
        let source = MetricSource::pattern(pattern, options.all_matches);
        sources.push(source.map_err(|why| Fault::usage(format!("--metric: {why}")))?);
    }

    sources.extend(options.json.iter().cloned().map(|(file, pointer)| MetricSource::Json { file, pointer }));
    sources.extend(options.files.iter().cloned().map(MetricSource::File));
    let directions = match (sources.len(), options.better.as_slice()) {
        (0, [] | [Better::Lower]) => Vec::new(),
        (0, _) => {
            return Err(Fault::usage("--better higher needs a metric: of the wall time less is better"));
        }
        (_, []) => {
            return Err(Fault::usage(
                "say whether less or more of the metric is better: --better lower or --better higher",
            ));
        }
        (count, [one]) => vec![*one; count],
        (count, all) if all.len() == count => all.to_vec(),
        (count, all) => {
            let text = format!(
                "--better has {} words for {count} metrics: give one word for all, or one for each",
                all.len()
            );
            return Err(Fault::usage(text));
        }
    };

    let mut metrics: Vec<Metric> = Vec::new();

    for (source, direction) in sources.into_iter().zip(directions) {
        let name = unused(source.name(), &metrics);
        let more_is_better = direction == Better::Higher;
        metrics.push(Metric { described: TrialMetric { name, unit: None, more_is_better }, source });
    }

    let wall = TrialMetric { name: WALL.to_owned(), unit: Some("s".to_owned()), more_is_better: false };
    metrics.push(Metric { described: wall, source: MetricSource::Wall });
    Ok(metrics)
}

/// The name, with a number where another metric has it.
fn unused(name: String, metrics: &[Metric]) -> String {
    let is_free = |name: &String| name != WALL && metrics.iter().all(|metric| metric.described.name != *name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Done = Result<(), Box<dyn std::error::Error>>;

    const OUTPUT: &[u8] = b"step 1 Performance: 10.5 ns/day\nstep 2 Performance: 1.25e1 ns/day\n\
        step 3 Performance: 11.0 ns/day\xff\n";

    fn ended(output: &[u8]) -> EndedRun<'_> {
        EndedRun { wall_s: 2.0, began: SystemTime::now(), output }
    }

    #[test]
    fn the_last_match_counts_or_the_median_of_all() -> Done {
        let figure = |all| MetricSource::pattern("Performance: ([0-9.e]+)", all)?.figure(&ended(OUTPUT));
        assert_eq!((figure(false)?, figure(true)?), (11.0, 11.0));
        let first = MetricSource::pattern("Performance: ([0-9.e]+)", true)?.figure(&ended(&OUTPUT[..60]));
        assert_eq!(first, Ok(11.5));
        assert_eq!(MetricSource::Wall.figure(&ended(b"")), Ok(2.0));
        Ok(())
    }

    #[test]
    fn what_gives_no_figure_says_why() -> Done {
        let why = |pattern: &str| {
            MetricSource::pattern(pattern, false).and_then(|source| source.figure(&ended(OUTPUT)))
        };
        let whys = [why("GFLOPS ([0-9]+)"), why("(Perf)ormance"), why("step ([0-9")];
        let zero = MetricSource::pattern("x=([0-9]+)", false)?.figure(&ended(b"x=0"));
        let whys = whys.into_iter().chain([zero]).map(|why| why.err().ok_or("it has a figure"));
        insta::assert_snapshot!(whys.collect::<Result<Vec<_>, _>>()?.join("\n"), @r#"
        the pattern GFLOPS ([0-9]+) matches nothing in the output
        the pattern (Perf)ormance matches "Perf", which is not a number: put ( ) around the number
        "step ([0-9" is not a regular expression: found unclosed character class
        x is 0: a figure must be positive to be compared by ratio
        "#);
        Ok(())
    }

    #[test]
    fn a_file_must_be_the_runs_own() -> Done {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("result.json");
        fs::write(&file, "{\"fom\": {\"rate\": 3.5}}")?;
        let json = |pointer: &str| MetricSource::Json { file: file.clone(), pointer: pointer.to_owned() };
        let since = |began| json("/fom/rate").figure(&EndedRun { wall_s: 1.0, began, output: b"" });
        assert_eq!(since(SystemTime::now() - Duration::from_secs(5)), Ok(3.5));
        let older = since(SystemTime::now() + Duration::from_secs(5));
        let others = [json("/fom").figure(&ended(b"")), json("/nothing").figure(&ended(b""))];
        fs::write(&file, "took 12 s, rate 7.5\n")?;
        assert_eq!(MetricSource::File(file.clone()).figure(&ended(b"")), Ok(7.5));
        fs::remove_file(&file)?;
        let gone = MetricSource::File(file.clone()).figure(&ended(b""));
        let whys =
            [older].into_iter().chain(others).chain([gone]).map(|why| why.err().ok_or("it has a figure"));
        let whys = whys.collect::<Result<Vec<_>, _>>()?.join("\n");
        insta::assert_snapshot!(whys.replace(&file.display().to_string(), "FILE"), @r#"
        FILE is older than the run: the program did not write it
        FILE: at /fom it has {"rate":3.5}, which is no number
        FILE: it has nothing at /nothing
        FILE cannot be read: No such file or directory (os error 2)
        "#);

        Ok(())
    }

    #[test]
    fn names_are_short_and_plain() -> Done {
        assert_eq!(MetricSource::pattern("Performance: ([0-9.]+)", false)?.name(), "Performance");
        assert_eq!(MetricSource::pattern("([0-9.]+) GB/s", false)?.name(), "metric");
        assert_eq!(MetricSource::Json { file: "a.json".into(), pointer: "/fom/rate".into() }.name(), "rate");
        Ok(())
    }
}
