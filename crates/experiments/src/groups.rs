//! Which GPUs and which cores belong together where nobody declares it, by what they lose together and by how
//! long a flag takes.
//!
//! Two runs of the engine. The first measures GPUs in pairs and all but one, and cores in pairs, interleaved;
//! where it finds groups of GPUs the second measures each group at once, so that the answer has that figure
//! too. Both are one result document.

use std::time::{Duration, Instant};

use analysis::conclusion;
use analysis::groups::is_undecided;
use device::PlatformKind;
use placement::Target;
use report::Document;
use report::document::Status;
use report::measured_groups::GroupedBy;
use stats::IdSet;
use stats::grouping::GroupingFinding;
use topo::{Survey, Topology};

use crate::appended::appended;
use crate::backends::{self, FoundPlatform, Untouched};
use crate::budget::budget;
use crate::columns::name_of;
use crate::core_pairs::CorePairs;
use crate::declared_groups::DeclaredGroups;
use crate::driver::{Making, Measurement, RunContext, chosen, run, survey};
use crate::exit::Exit;
use crate::experiment::Experiment;
use crate::fault::Fault;
use crate::finding::found;
use crate::gpu_groups::GpuGroups;
use crate::journal::FinishedRun;
use crate::merged::merged;
use crate::options::{GroupsOptions, Measuring};
use crate::outline::Outline;

/// The part of the time that is for measuring, and the part of that for the first run.
const MEASURING: f64 = 0.8;
const FIRST: f64 = 0.85;
/// The size of a copy: large enough for the link's rate, small enough for many cases.
const SIZE: u64 = 64 << 20;
/// Of more cores so many take part, evenly spread: 276 pairs are measured in seconds.
const MOST_CORES: usize = 24;
/// What a block of GPUs takes with all that belongs to it, and how many there are at least: for the estimate.
const GPU_BLOCK: Duration = Duration::from_millis(30);
const BLOCKS: u32 = 10;

/// What takes part; a machine may have too few of either.
struct Parts {
    gpus: Option<GpuGroups>,
    cores: Option<CorePairs>,
    time: Duration,
    /// What was asked for and cannot be grouped here, in sentences.
    left_out: Vec<String>,
}

impl Measurement for GroupsOptions {
    fn command(&self) -> &'static str {
        "topo"
    }

    fn measuring(&self) -> &Measuring {
        &self.measuring
    }

    fn outline(&self, survey: &Survey, untouched: Untouched) -> Result<Outline, Fault> {
        let Untouched { kind, targets, source } = untouched;
        let named = chosen(self.measuring.gpus.as_ref(), targets.clone())?;
        let parts = Parts::new(self, &survey.topology, kind, targets)?;
        let columns = named.iter().map(name_of).collect();
        Ok(Outline {
            source,
            rows: Vec::new(),
            columns,
            figures: parts.figures_description(),
            max_time: Some(parts.time),
            how: Vec::new(),
        })
    }

    fn experiment(&self, survey: &Survey, found: &FoundPlatform, _: Making) -> Result<Experiment, Fault> {
        self.parts(survey, found)?.first(&survey.topology, found)
    }
}

impl GroupsOptions {
    fn parts(&self, survey: &Survey, found: &FoundPlatform) -> Result<Parts, Fault> {
        let targets = backends::targets(&*found.platform);
        Parts::new(self, &survey.topology, found.platform.facts().kind, targets)
    }

    /// Measures both runs, and says what belongs together.
    ///
    /// # Errors
    /// What was asked for cannot be measured here.
    pub fn measure(&self, mut session: RunContext) -> Result<FinishedRun, Fault> {
        let began = Instant::now();
        let survey = survey()?;
        let topology = &survey.topology;
        let found = match found(self.command(), &self.measuring, topology, self.finder()?, session)? {
            Ok((found, again)) => {
                session = again;
                found
            }
            Err(ended) => return Ok(ended),
        };

        self.measuring.refuse_on(found.platform.facts().kind)?;
        let parts = self.parts(&survey, &found)?;
        if let Some(gpus) = &parts.gpus {
            budget(&gpus.config, gpus.plan(), topology, &found)?;
        }
        let longest = self.within;
        let what = parts.figures_description().replace("\n          ", "; ");
        (session.say)(&format!("Measuring {what}: {}.", how_long(parts.least(), longest)));
        let RunContext { origin, sink, signals, observer, say } = session;
        let first = parts.first(topology, &found)?;
        let of_first = RunContext { origin: origin.clone(), sink, signals, observer: &mut *observer, say };
        let ended = run(&self.measuring, &first, &survey, &found, of_first);
        let (mut document, mut exit) = (ended.document, ended.exit);

        // The second run is part of the document of both: by itself it is kept nowhere.

        if exit == Exit::Ok
            && let Some(mut second) = parts.second(&document, topology, &found)
        {
            second.engine.timeout = second.engine.timeout.map(|limit| limit.saturating_sub(began.elapsed()));
            let next = run(
                &self.measuring,
                &second,
                &survey,
                &found,
                RunContext { origin, sink: None, signals, observer, say },
            );
            let (status, reason) = (next.document.status, next.document.status_reason.clone());
            exit = next.exit;
            document = appended(document, next.document);
            (document.status, document.status_reason) = (status, reason);
        }

        let (document, exit) = conclude(document, exit, topology, parts.left_out);

        // As in `driver::measure`.
        std::mem::forget(found);
        Ok(FinishedRun::kept(sink, document, exit))
    }
}

/// Says what belongs together, and ends with what is to be said of it.
fn conclude(
    mut document: Document,
    exit: Exit,
    topology: &Topology,
    left_out: Vec<String>,
) -> (Document, Exit) {
    document.rows = report::rows::rows(&document);
    let (of_cores, of_gpus) =
        (DeclaredGroups::of_cores(topology), DeclaredGroups::of_gpus(&document.devices, topology));
    conclusion::conclude(&mut document, |found| {
        let declared = if found.by == GroupedBy::Handovers { &of_cores } else { &of_gpus };
        declared.like(found)
    });
    document.verdict.extend(left_out);

    let exit = if exit == Exit::Ok && is_undecided(&document) { Exit::Undecided } else { exit };
    if exit == Exit::Undecided {
        document.status = Status::Complete;
    }
    document.exit_code = Some(exit.code());
    (document, exit)
}

impl Parts {
    fn new(
        args: &GroupsOptions,
        topology: &Topology,
        kind: PlatformKind,
        available: Vec<Target>,
    ) -> Result<Self, Fault> {
        let measuring = &args.measuring;
        let time = args.within.mul_f64(MEASURING * FIRST);
        let targets = chosen(measuring.gpus.as_ref(), available.clone())?;
        if !args.cores && (kind == PlatformKind::Host || targets.len() < 2) {
            let there = if kind == PlatformKind::Host { "none" } else { "one" };
            let text = format!("grouping GPUs takes two, and there is {there}: --measure=cores groups cores");
            return Err(Fault::new(Exit::Absent, text));
        }

        let has_gpus = args.gpus && kind != PlatformKind::Host && targets.len() > 1;
        let size = args.size.unwrap_or(SIZE);
        let gpus = has_gpus
            .then(|| GpuGroups::new(measuring, size, kind, topology, targets, available))
            .transpose()?;

        let mut left_out = Vec::new();
        if args.gpus && gpus.is_none() {
            let there = if kind == PlatformKind::Host { "none" } else { "one" };
            left_out.push(format!("GPUs: not grouped: it takes two, and there is {there}."));
        }

        // Where GPUs take part a machine of one core has its answer all the same.
        if !args.cores {
            return Ok(Self { gpus, cores: None, time, left_out });
        }
        let cores = match CorePairs::new(measuring, topology, None, Some(MOST_CORES)) {
            Err(why) if gpus.is_none() => return Err(why),
            Err(why) => {
                left_out.push(format!("Cores: not grouped: {why}."));
                None
            }
            Ok(cores) if gpus.is_some() => Some(cores.beside_gpus(measuring)),
            Ok(cores) => Some(cores),
        };
        Ok(Self { gpus, cores, time, left_out })
    }

    fn figures_description(&self) -> String {
        let gpus = self.gpus.as_ref().map(GpuGroups::figures_description);
        let cores = self.cores.as_ref().map(CorePairs::figures_description);
        [gpus, cores].into_iter().flatten().collect::<Vec<_>>().join("\n          ")
    }

    /// What it takes where no case needs more blocks than the fewest.
    fn least(&self) -> Duration {
        let of = |cases: Option<usize>, block: Duration| block * cases.unwrap_or(0) as u32 * BLOCKS;
        of(self.gpus.as_ref().map(GpuGroups::cases), GPU_BLOCK)
            + self.cores.as_ref().map_or(Duration::ZERO, |cores| of(Some(cores.pairs()), cores.block()))
    }

    fn first(&self, topology: &Topology, found: &FoundPlatform) -> Result<Experiment, Fault> {
        let gpus = self.gpus.as_ref().map(|gpus| gpus.experiment(topology, found));
        let cores = self.cores.as_ref().map(|cores| cores.experiment("topo", topology));
        let parts = [gpus, cores].into_iter().flatten().collect();
        let nothing = || Fault::new(Exit::NoResult, "there is nothing to measure");
        let mut all = merged("topo", parts).ok_or_else(nothing)?;
        all.engine.max_time = Some(self.time);
        Ok(all)
    }

    /// Each group of GPUs that was found, and those of no group, at once.
    fn second(&self, document: &Document, topology: &Topology, found: &FoundPlatform) -> Option<Experiment> {
        let gpus = self.gpus.as_ref()?;
        let groups = document.groups.iter().filter(|one| one.by != GroupedBy::Handovers);
        let groups =
            groups.filter(|one| one.finding == GroupingFinding::Groups).min_by_key(|one| one.rest.len())?;
        let sets: Vec<IdSet> = groups.groups.iter().chain([&groups.rest]).cloned().collect();
        let mut experiment = gpus.together(&sets, topology, found);
        experiment.engine.max_time = Some(self.time.mul_f64((1.0 - FIRST) / FIRST));
        Some(experiment)
    }
}

/// How long it takes: a case whose blocks scatter needs several times the fewest, so that one number would be
/// a guess.
fn how_long(least: Duration, longest: Duration) -> String {
    let (least, longest) = (least.as_secs_f64().max(1.0), longest.as_secs_f64());
    if least >= longest { format!("{longest} s") } else { format!("{least:.0} s to {longest:.0} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_it_takes_is_a_range_within_the_limit_whatever_that_is() {
        let said =
            |least: u64, longest: u64| how_long(Duration::from_millis(least), Duration::from_millis(longest));
        assert_eq!((said(14_000, 120_000).as_str(), said(14_000, 500).as_str()), ("14 s to 120 s", "0.5 s"));
    }
}
