//! What is compared: the metrics asked for, in order, and the wall time beside them.

use anyhow::anyhow;
use report::trial::TrialMetric;
use trial::metric::Source;

use crate::args::trial::{Direction, Trial};
use crate::fault::Fault;

/// A metric, and where its figure comes from.
pub struct Metric {
    /// As the document has it.
    pub described: TrialMetric,
    /// Where the figure comes from.
    pub source: Source,
}

/// The metrics; the first decides.
///
/// # Errors
/// A pattern that is none, or nobody says what is better.
pub fn metrics(args: &Trial) -> Result<Vec<Metric>, Fault> {
    let mut sources = Vec::new();
    for pattern in &args.metric {
        sources
            .push(Source::pattern(pattern, args.metric_all).map_err(|why| Fault::usage(anyhow!("--metric: {why}")))?);
    }
    sources.extend(args.metric_json.iter().cloned().map(|(file, pointer)| Source::Json { file, pointer }));
    sources.extend(args.metric_file.iter().cloned().map(Source::File));
    let directions = match (sources.len(), args.better.as_slice()) {
        (0, [] | [Direction::Lower]) => Vec::new(),
        (0, _) => {
            return Err(Fault::usage(anyhow!("--better higher needs a metric: of the wall time less is better")));
        }
        (_, []) => {
            return Err(Fault::usage(anyhow!(
                "say whether less or more of the metric is better: --better lower or --better higher"
            )));
        }
        (count, [one]) => vec![*one; count],
        (count, all) if all.len() == count => all.to_vec(),
        (count, all) => {
            let text =
                format!("--better has {} words for {count} metrics: give one word for all, or one for each", all.len());
            return Err(Fault::usage(anyhow!(text)));
        }
    };
    let mut metrics: Vec<Metric> = Vec::new();
    for (source, direction) in sources.into_iter().zip(directions) {
        let name = unused(source.name(), &metrics);
        let more_is_better = direction == Direction::Higher;
        metrics.push(Metric { described: TrialMetric { name, unit: None, more_is_better }, source });
    }
    let wall = TrialMetric { name: "wall".to_owned(), unit: Some("s".to_owned()), more_is_better: false };
    metrics.push(Metric { described: wall, source: Source::Wall });
    Ok(metrics)
}

/// The name, with a number where another metric has it.
fn unused(name: String, metrics: &[Metric]) -> String {
    let is_free = |name: &String| name != "wall" && metrics.iter().all(|metric| metric.described.name != *name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}
