//! `numabench topo --measure`: which GPUs and which cores belong together where nobody declares it, by what they lose together and by how long a flag takes.
//!
//! Two runs of the engine. The first measures GPUs in pairs and all but one, and cores in pairs, interleaved; where it finds groups of GPUs the second measures
//! each group at once, so that the answer has that figure too. Both are one result document.

use std::collections::BTreeSet;
use std::time::Duration;

use analysis::groups::{groups, is_undecided, verdict};
use device::PlatformKind;
use placement::Target;
use render::terminal::{Style, table};
use report::Document;
use report::document::Status;
use report::measured_groups::{GroupedBy, MeasuredGroups};
use stats::IdSet;
use stats::grouping::Finding;
use topo::Topology;
use topo::model::Rung;

use crate::args::measuring::Measuring;
use crate::args::topo::{Measured, Topo};
use crate::backends::{self, Found, Untouched};
use crate::began::Began;
use crate::document_journal::print_document;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::plan::chosen;
use crate::run_setup::{budget, read};
use crate::signals::Signals;
use crate::suite::appended::appended;
use crate::suite::core_pairs::CorePairs;
use crate::suite::document::name_of;
use crate::suite::experiment::Experiment;
use crate::suite::gpu_groups::GpuGroups;
use crate::suite::merged::merged;
use crate::suite::{defaults, plan, run};
use crate::terminal;

/// The time where none is given.
const WITHIN: Duration = Duration::from_secs(120);
/// The part of it that is for measuring, and the part of that for the first run.
const MEASURING: f64 = 0.8;
const FIRST: f64 = 0.85;
/// The size of a copy: large enough for the link's rate, small enough for many cases.
const SIZE: u64 = 64 << 20;
/// Of more cores so many take part, evenly spread: 276 pairs are measured in seconds.
const MOST_CORES: usize = 24;
/// What a block takes with all that belongs to it, of GPUs and of cores, and how many there are at least: for the estimate.
const GPU_BLOCK: Duration = Duration::from_millis(60);
const CORE_BLOCK: Duration = Duration::from_millis(12);
const BLOCKS: u32 = 10;

/// What takes part; a machine may have too few of either.
struct Parts {
    gpus: Option<GpuGroups>,
    cores: Option<CorePairs>,
    time: Duration,
}

/// Runs the command.
pub fn run(args: &Topo) -> Result<Exit, Fault> {
    let began = Began::now();
    run::one_process()?;
    let topology = read()?;
    let measuring = measuring(args)?;
    let named = measuring.gpus.is_some();
    if args.dry_run {
        let Untouched { kind, targets, source } = backends::untouched(measuring.backend, named, &topology)?;
        let columns: Vec<String> = chosen(measuring.gpus.as_ref(), targets.clone())?.iter().map(name_of).collect();
        let parts = Parts::new(args, &measuring, &topology, kind, targets)?;
        return plan::show(&source, &[], &columns, &parts.said(), parts.time);
    }
    let found = backends::find(measuring.backend, named, &topology)?;
    let kind = found.platform.facts().kind;
    let parts = Parts::new(args, &measuring, &topology, kind, backends::targets(&*found.platform))?;
    if let Some(gpus) = &parts.gpus {
        budget(&gpus.config, gpus.plan(), &topology, &found)?;
    }
    let longest = args.within.unwrap_or(WITHIN).as_secs_f64();
    let about = parts.estimate().as_secs_f64().clamp(1.0, longest);
    terminal::say(&format!(
        "Measuring {}: about {about:.0} s, at most {longest:.0} s.",
        parts.said().replace("\n          ", "; ")
    ));
    let signals = Signals::catch()?;
    let first = parts.first(&topology, &found)?;
    let (mut document, mut exit) = run::documented(&measuring, &first, &topology, &found, &signals, began);
    if exit == Exit::Ok
        && let Some(second) = parts.second(&document, &topology, &found)
    {
        let next;
        (next, exit) = run::documented(&measuring, &second, &topology, &found, &signals, began);
        let (status, reason) = (next.status, next.status_reason.clone());
        document = appended(document, next);
        (document.status, document.status_reason) = (status, reason);
    }
    conclude(args, document, exit, &topology)
}

/// Says what belongs together, and ends with what is to be said of it.
fn conclude(args: &Topo, mut document: Document, exit: Exit, topology: &Topology) -> Result<Exit, Fault> {
    document.rows = report::rows::rows(&document);
    document.groups = groups(&document);
    for found in &mut document.groups {
        found.declared = match found.by {
            GroupedBy::Handovers => declared_of_cores(topology, found),
            _ => declared_of_gpus(&document.devices, topology, found),
        };
    }
    document.verdict = verdict(&document);
    let exit = if exit == Exit::Ok && is_undecided(&document) { Exit::Undecided } else { exit };
    if exit == Exit::Undecided {
        document.status = Status::Complete;
    }
    document.exit_code = Some(exit.code());
    if args.json {
        let bytes = report::json::json(&document).map_err(|error| Fault::new(Exit::NoResult, error))?;
        print_document(&bytes)?;
    } else {
        let style = Style {
            width: terminal::width(),
            color: terminal::color(crate::args::ColorChoice::Auto),
            quiet: false,
            saved_to: None,
        };
        terminal::print(table(&document, &style).as_bytes())?;
    }
    Ok(exit)
}

fn measuring(args: &Topo) -> Result<Measuring, Fault> {
    defaults(&[], |measuring: &mut Measuring| {
        measuring.gpus.clone_from(&args.gpus);
        measuring.backend = args.backend.unwrap_or(measuring.backend);
        measuring.seed = args.seed.unwrap_or(measuring.seed);
        measuring.reps = args.reps;
    })
}

impl Parts {
    fn new(
        args: &Topo,
        measuring: &Measuring,
        topology: &Topology,
        kind: PlatformKind,
        available: Vec<Target>,
    ) -> Result<Self, Fault> {
        let time = args.within.unwrap_or(WITHIN).mul_f64(MEASURING * FIRST);
        let targets = chosen(measuring.gpus.as_ref(), available.clone())?;
        let wanted = |what| args.measure.contains(&what);
        if !wanted(Measured::Cores) && (kind == PlatformKind::Host || targets.len() < 2) {
            let there = if kind == PlatformKind::Host { "none" } else { "one" };
            let text = format!("grouping GPUs takes two, and there is {there}: --measure=cores groups cores");
            return Err(Fault::new(Exit::Absent, anyhow::anyhow!(text)));
        }
        let has_gpus = wanted(Measured::Gpus) && kind != PlatformKind::Host && targets.len() > 1;
        let size = args.size.unwrap_or(SIZE);
        let gpus = has_gpus.then(|| GpuGroups::new(measuring, size, kind, topology, targets, available)).transpose()?;
        // Where GPUs take part a machine of one core has its answer all the same.
        if !wanted(Measured::Cores) {
            return Ok(Self { gpus, cores: None, time });
        }
        let cores = match CorePairs::new(measuring, topology, None, Some(MOST_CORES)) {
            Err(why) if gpus.is_none() => return Err(why),
            cores => cores.ok(),
        };
        Ok(Self { gpus, cores, time })
    }

    fn said(&self) -> String {
        let gpus = self.gpus.as_ref().map(GpuGroups::said);
        let cores = self.cores.as_ref().map(CorePairs::said);
        [gpus, cores].into_iter().flatten().collect::<Vec<_>>().join("\n          ")
    }

    fn estimate(&self) -> Duration {
        let of = |cases: Option<usize>, block: Duration| block * cases.unwrap_or(0) as u32 * BLOCKS;
        of(self.gpus.as_ref().map(GpuGroups::cases), GPU_BLOCK)
            + of(self.cores.as_ref().map(CorePairs::pairs), CORE_BLOCK)
    }

    fn first(&self, topology: &Topology, found: &Found) -> Result<Experiment, Fault> {
        let gpus = self.gpus.as_ref().map(|gpus| gpus.experiment(topology, found));
        let cores = self.cores.as_ref().map(|cores| cores.experiment("topo", topology));
        let parts = [gpus, cores].into_iter().flatten().collect();
        let nothing = || Fault::new(Exit::NoResult, anyhow::anyhow!("there is nothing to measure"));
        let mut all = merged("topo", parts).ok_or_else(nothing)?;
        all.engine.max_time = self.time;
        Ok(all)
    }

    /// Each group of GPUs that was found, and those of no group, at once.
    fn second(&self, document: &Document, topology: &Topology, found: &Found) -> Option<Experiment> {
        let gpus = self.gpus.as_ref()?;
        let groups = document.groups.iter().filter(|one| one.by != GroupedBy::Handovers);
        let groups = groups.filter(|one| one.finding == Finding::Groups).min_by_key(|one| one.rest.len())?;
        let sets: Vec<IdSet> = groups.groups.iter().chain([&groups.rest]).cloned().collect();
        let mut experiment = gpus.together(&sets, topology, found);
        experiment.engine.max_time = self.time.mul_f64((1.0 - FIRST) / FIRST);
        Some(experiment)
    }
}

/// What the topology has that is the same: caches, nodes or packages.
fn declared_of_cores(topology: &Topology, found: &MeasuredGroups) -> Option<String> {
    let l3s = topology.l3s.iter().map(|l3| l3.pus.clone()).collect::<Vec<_>>();
    let nodes = topology.nodes.iter().map(|node| node.pus.clone()).collect::<Vec<_>>();
    let packages = topology.packages.iter().map(|package| package.pus.clone()).collect::<Vec<_>>();
    let kinds = [("its L3 caches", l3s), ("its NUMA nodes", nodes), ("its packages", packages)];
    kinds.into_iter().find(|(_, sets)| is_same(found, sets)).map(|(what, _)| what.to_owned())
}

/// The same for GPUs: the NUMA nodes that they are declared to be near to.
fn declared_of_gpus(devices: &[report::device::Device], topology: &Topology, found: &MeasuredGroups) -> Option<String> {
    let mut sets: Vec<(IdSet, IdSet)> = Vec::new();
    for device in devices {
        let gpu = topology.gpu_at(device.pci_address?)?;
        if gpu.locality.rung == Rung::Unknown {
            return None;
        }
        let nodes = topology.host_nodes(gpu);
        match sets.iter_mut().find(|(other, _)| *other == nodes) {
            Some((_, gpus)) => {
                gpus.0.insert(device.index);
            }
            None => sets.push((nodes, IdSet::from_iter([device.index]))),
        }
    }
    let sets: Vec<IdSet> = sets.into_iter().map(|(_, gpus)| gpus).collect();
    is_same(found, &sets).then(|| "the NUMA nodes that the GPUs are near to".to_owned())
}

/// Whether a declared partition is the measured one, of the items that were measured; those of no group are together or each alone.
fn is_same(found: &MeasuredGroups, declared: &[IdSet]) -> bool {
    if found.finding != Finding::Groups {
        return false;
    }
    let all = found.groups.iter().fold(found.rest.clone(), |all, group| all.or(group));
    let texts = |sets: &mut dyn Iterator<Item = IdSet>| -> BTreeSet<String> {
        sets.filter(|set| !set.is_empty()).map(|set| set.to_string()).collect()
    };
    let declared = texts(&mut declared.iter().map(|set| set.and(&all)));
    let groups = || found.groups.iter().cloned();
    let rest = found.rest.iter().map(|item| IdSet::from_iter([item]));
    declared == texts(&mut groups().chain([found.rest.clone()])) || declared == texts(&mut groups().chain(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ids: &[u32]) -> IdSet {
        ids.iter().copied().collect()
    }

    #[test]
    fn what_is_declared_is_the_same_where_its_sets_are_those_that_were_measured() {
        let found = |groups: &[IdSet], rest: &[u32]| MeasuredGroups {
            by: GroupedBy::Handovers,
            finding: Finding::Groups,
            groups: groups.to_vec(),
            rest: set(rest),
            margin: Some(2.0),
            p_value: Some(0.01),
            false_alarm_rate: 0.05,
            declared: None,
        };
        let halves = found(&[set(&[0, 2]), set(&[4, 6])], &[]);
        assert!(is_same(&halves, &[set(&[0, 1, 2, 3]), set(&[4, 5, 6, 7]), set(&[8])]), "some cores were measured");
        assert!(!is_same(&halves, &[set(&[0, 2, 4, 6])]), "one cache for all is nothing like it");
        let alone = found(&[set(&[0, 1])], &[2, 3]);
        assert!(is_same(&alone, &[set(&[0, 1]), set(&[2, 3])]));
        assert!(is_same(&alone, &[set(&[0, 1]), set(&[2]), set(&[3])]));
        assert!(!is_same(&alone, &[set(&[0]), set(&[1]), set(&[2, 3])]));
    }
}
