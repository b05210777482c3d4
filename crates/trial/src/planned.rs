//! A trial before its first run: its variants, what is compared, when it is enough, and what it has from
//! before where it is taken up.

use std::ffi::OsStr;

use experiments::document::Origin;
use experiments::{Exit, Fault};
use report::document::Tool;
use report::trial::{TrialRun, TrialVariant};
use report::{SavedDocument, TrialDocument};
use stats::units::counted;
use topo::Topology;

use crate::decide::{Better, TrialRule};
use crate::metric::{Metric, metrics};
use crate::options::TrialOptions;
use crate::sequential_alpha;
use crate::trial_loop::TrialPlan;
use crate::variants::{Variants, variants};

/// A trial that can be begun.
pub struct PlannedTrial {
    pub(crate) options: TrialOptions,
    pub(crate) variants: Variants,
    /// What is compared; the first decides.
    pub(crate) metrics: Vec<Metric>,
    pub(crate) plan: TrialPlan,
    /// The variant that is to be the best.
    pub(crate) expected: Option<usize>,
    /// The machine that ranks are looked at on.
    pub(crate) topology: Topology,
    pub(crate) tool: Tool,
    /// As typed; of a trial that is taken up, as it was typed first.
    pub(crate) argv: Vec<String>,
    /// When it began; of a trial that is taken up, when it began first.
    pub(crate) started_at: String,
    /// The seconds that were spent on it before, and the runs that were made.
    pub(crate) before_s: f64,
    pub(crate) runs: Vec<TrialRun>,
}

impl PlannedTrial {
    /// Works a trial out on this machine; `before` is the document of one that is taken up.
    ///
    /// # Errors
    /// What was asked for cannot be tried here, or is not what was tried before.
    pub fn new(options: TrialOptions, origin: Origin, before: Option<TrialDocument>) -> Result<Self, Fault> {
        let metrics = metrics(&options)?;
        let start = topo::start().map_err(|error| Fault::new(Exit::NoResult, error))?;
        let variants = variants(&options, &start)?;
        let plan = plan(&options, &variants, &metrics)?;
        let expected = expected(&options, &plan)?;
        same_variants(before.as_ref(), &variants)?;
        let (argv, started_at, before_s, runs) = match before {
            Some(before) => (before.argv, before.started_at, before.elapsed_s, before.runs),
            None => (origin.argv, origin.began.started_at(), 0.0, Vec::new()),
        };
        let (tool, topology) = (origin.tool, start.topology);

        Ok(Self {
            options,
            variants,
            metrics,
            plan,
            expected,
            topology,
            tool,
            argv,
            started_at,
            before_s,
            runs,
        })
    }

    /// The variants as documents have them, the baseline first.
    pub fn variants(&self) -> Vec<TrialVariant> {
        self.variants.all.iter().map(|variant| variant.described.clone()).collect()
    }

    /// What will be run, in lines for people.
    pub fn text(&self) -> String {
        let plan = &self.plan;
        let mut text = format!(
            "Trial of {}: {}, every one once in each block, in random order (seed {})\n",
            self.options.program.join(OsStr::new(" ")).to_string_lossy(),
            counted(plan.variants.len(), "variant"),
            plan.seed
        );
        for TrialVariant { name, what, line, .. } in self.variants() {
            text.push_str(&format!("  {name}: {what}\n      {line}\n"));
        }
        let metric = &self.metrics[0].described;
        let better = if metric.more_is_better { "more" } else { "less" };
        text.push_str(&format!(
            "Compared by {}, {better} is better; differences within ± {:.1} % do not matter\n",
            metric.name,
            plan.rule.equivalence * 100.0
        ));
        for note in &self.variants.notes {
            text.push_str(&format!("note: {note}\n"));
        }

        text
    }
}

/// Reads the document of a trial that is to be taken up, from the file of this name.
///
/// # Errors
/// It is no trial, or one of a newer numabench.
pub fn read_before(name: &str, bytes: &[u8]) -> Result<TrialDocument, Fault> {
    let document =
        TrialDocument::from_json(bytes).map_err(|error| Fault::usage(format!("{name}: {error}")))?;
    let minor = document.schema_version.split_once('.').and_then(|(_, minor)| minor.parse::<u32>().ok());
    if minor.is_some_and(|minor| minor > TrialDocument::VERSION.minor) {
        return Err(Fault::usage(format!(
            "{name}: a newer numabench wrote it (schema {}, this one writes {}), and what only that one \
             knows would be lost: take it up with that one",
            document.schema_version,
            TrialDocument::VERSION.number()
        )));
    }
    Ok(document)
}

fn plan(options: &TrialOptions, variants: &Variants, metrics: &[Metric]) -> Result<TrialPlan, Fault> {
    let metric = &metrics[0].described;
    let mut names: Vec<String> = variants.all.iter().map(|variant| variant.described.name.clone()).collect();
    if options.against_itself {
        names.push("again".to_owned());
    }
    let comparisons = names.len() - 1;
    let max_blocks = options.max_runs as usize;
    let Some(last) = sequential_alpha::last_within(comparisons, max_blocks) else {
        let first = sequential_alpha::looks(comparisons).next().map_or(0, |look| look.blocks);
        let text = format!(
            "--max-runs {max_blocks} is too few: with {} no difference can be told before {} of each",
            counted(comparisons, "comparison"),
            counted(first, "run")
        );
        return Err(Fault::usage(text));
    };

    let better = if metric.more_is_better { Better::Higher } else { Better::Lower };

    Ok(TrialPlan {
        variants: names,
        metric: metric.name.clone(),
        // Runs after the last look would say nothing.
        rule: TrialRule { equivalence: options.equivalence, max_blocks: last.blocks, better },
        seed: options.seed,
        max_time_s: options.max_time.map(|limit| limit.as_secs_f64()),
    })
}

fn expected(options: &TrialOptions, plan: &TrialPlan) -> Result<Option<usize>, Fault> {
    let Some(name) = &options.expect else { return Ok(None) };
    let at = plan.variants.iter().position(|variant| variant == name);
    let refused =
        || format!("--expect {name}: there is no such variant; there are {}", plan.variants.join(", "));
    at.map(Some).ok_or_else(|| Fault::usage(refused()))
}

/// A trial that is taken up must have the variants that it had.
fn same_variants(before: Option<&TrialDocument>, variants: &Variants) -> Result<(), Fault> {
    let Some(before) = before else { return Ok(()) };
    let now: Vec<_> = variants.all.iter().map(|variant| &variant.described).collect();
    if now.len() == before.variants.len() && now.iter().zip(&before.variants).all(|(now, then)| *now == then)
    {
        return Ok(());
    }
    let names = |all: Vec<String>| all.join("; ");
    let text = |variant: &TrialVariant| format!("{} ({})", variant.name, variant.what);
    Err(Fault::usage(format!(
        "the trial cannot be taken up here: its variants were {}, and are {} now: take it up on the same \
         machine in the same allocation, or begin anew",
        names(before.variants.iter().map(text).collect()),
        names(now.into_iter().map(text).collect())
    )))
}
