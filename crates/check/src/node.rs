//! What is said of the ranks of one node: the judgement, the code's meaning, the adapters near their GPUs,
//! and the lines that put it right.

use std::time::Duration;

use launchers::{Assumption, Choice, Situation, Ways, is_part, told_apart};
use placement::judge::{Finding, FindingKind, JobResources, Judgement, PlacementVerdict, judge};
use placement::nic::{self, NearNic};
use report::json::JsonError;
use stats::PciAddress;

use crate::group::Group;
use crate::machine::Machine;
use crate::observed_rank::{self, ObservedRank};
use crate::rendezvous::First;
use crate::table::{NodeTable, sent_elsewhere, table};
use crate::{document, fix};

/// One node, judged.
pub struct Node {
    host: String,
    judged_name: String,
    machine: Machine,
    group: Group,
    judgement: Judgement,
    placed: PlacementVerdict,
    nics: Vec<Option<NearNic>>,
    fix: Vec<String>,
    decided_by: Vec<String>,
    depends_on: &'static str,
    waited: Duration,
    others: Option<First>,
}

impl Node {
    /// Judges those of this group.
    pub(crate) fn judge(machine: Machine, mut group: Group, others: Option<First>, waited: Duration) -> Self {
        let open = settle(&machine, &mut group);
        let (is_open, open) = (open.is_some(), open.unwrap_or_default());
        let (topology, seen) = (machine.judged_by(), group.seen.as_slice());
        let (pool, judgement) = judged(&machine, seen);
        let complete = group.missing.is_empty();
        let placed = if complete && !seen.is_empty() {
            judgement.placed
        } else {
            judgement.placed.max(PlacementVerdict::Unknown)
        };
        let placed = if is_open { PlacementVerdict::Unknown } else { placed };
        let host = machine.host();
        let judged_name = machine.judged_name();
        let decided_by =
            if placed == PlacementVerdict::Unknown { decided_by(&group, &open) } else { Vec::new() };
        let fix = fix::lines(&fix::FixContext {
            topology,
            pool: &pool,
            seen,
            judgement: &judgement,
            launcher: group.launcher,
            host: &host,
            situation: Situation { ranks: group.size, ..observed_rank::situation(&machine, seen) },
            complete: complete && !is_open,
            binds_behind: group.binds_behind,
            shows_behind: group.shows_behind,
            has_own_part: group.has_own_part,
        });

        // A line that was read in several ways is mended for all of them, or not at all.
        let fix = if group.readings.len() > 1 && !have_the_same_gpus(&group) { Vec::new() } else { fix };
        let nics = nics(&machine, seen);
        let depends_on = depends_on(&open);
        Self {
            host,
            judged_name,
            machine,
            group,
            judgement,
            placed,
            nics,
            fix,
            decided_by,
            depends_on,
            waited,
            others,
        }
    }

    /// How they are placed, all in all: ranks that did not come are unknown ones.
    pub fn placed(&self) -> PlacementVerdict {
        self.placed
    }

    /// What was seen of each, in order.
    pub fn seen(&self) -> &[ObservedRank] {
        &self.group.seen
    }

    /// What is said of them.
    pub fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    /// The lines that would put it right; none where nothing is misplaced, or where no line is known to help.
    pub fn fix(&self) -> &[String] {
        &self.fix
    }

    /// The finding and what puts it right, then the table and the reasons, with a newline at its end; a row
    /// for each group of `threads` on demand.
    ///
    /// With `adapters` each rank's network adapter is said too.
    pub fn table(&self, threads: bool, adapters: bool) -> String {
        table(&NodeTable { adapters, ..self.shown(threads) })
    }

    /// How many ranks a variable sends to another network adapter than the one near their GPU.
    pub fn sent_elsewhere(&self) -> usize {
        sent_elsewhere(&self.group.seen, &self.nics)
    }

    /// The same as a document, in JSON: each rank with all its threads.
    ///
    /// # Errors
    /// [`JsonError`]: a float is not finite.
    pub fn json(&self) -> Result<Vec<u8>, JsonError> {
        document::bytes(&self.shown(true))
    }

    /// Tells the node's other ranks, where some wait, the code that they end with.
    pub fn answer(self, code: u8) {
        self.others.into_iter().for_each(|others| others.answer(code));
    }

    fn shown(&self, threads: bool) -> NodeTable<'_> {
        NodeTable {
            host: &self.host,
            judged_name: &self.judged_name,
            decided_by: &self.decided_by,
            depends_on: self.depends_on,
            launch: &self.group.words,
            topology: self.machine.judged_by(),
            seen: &self.group.seen,
            missing: &self.group.missing,
            judgement: &self.judgement,
            waited: self.waited,
            placed: self.placed,
            nics: &self.nics,
            threads,
            adapters: false,
            notes: &self.group.notes,
            fix: &self.fix,
        }
    }
}

/// Looks at a line in each way that a site may have it. Where the verdict is not the same in all ways that
/// are known, it is open: what it depends on is the answer, and the notes say how. Where all of them are
/// misplaced, the line is, whatever a way does whose PUs are not known.
pub(crate) fn settle(machine: &Machine, group: &mut Group) -> Option<Vec<Choice>> {
    if group.readings.len() < 2 {
        return None;
    }
    let judged: Vec<PlacementVerdict> =
        group.readings.iter().map(|(_, seen)| judged(machine, seen).1.placed).collect();
    let is_known = |at: usize| group.readings[at].1.iter().any(|seen| seen.running.pus.is_some());
    let known: Vec<usize> = (0..judged.len()).filter(|at| is_known(*at)).collect();
    let all_misplaced =
        !known.is_empty() && known.iter().all(|at| judged[*at] == PlacementVerdict::Misplaced);
    if all_misplaced || judged.iter().all(|placed| *placed == judged[0]) {
        if let Some(first) = known.first() {
            group.seen = group.readings[*first].1.clone();
        }
        if !all_misplaced && known.len() < judged.len() {
            let open = |at: usize| !known.contains(&at);
            let (notes, _) = conditions(PlacementVerdict::Unknown, &group.readings, open);
            notes.into_iter().for_each(|note| add(&mut group.notes, note));
        }
        return None;
    }

    // The table is that of the best: what is wrong in another one is not wrong for certain.
    let best = judged.iter().zip(&group.readings).min_by_key(|(placed, _)| **placed);
    if let Some((_, (_, seen))) = best {
        group.seen = seen.clone();
    }
    let mut open = Vec::new();
    for placed in [PlacementVerdict::Well, PlacementVerdict::Unknown, PlacementVerdict::Misplaced] {
        let (notes, choices) = conditions(placed, &group.readings, |at| judged[at] == placed);
        notes.into_iter().for_each(|note| add(&mut group.notes, note));
        open.extend(choices);
    }
    Some(open)
}

/// The nodes of one launch: the first of the worst placed ones, with a note on what the others are.
pub(crate) fn worst_node(machine: &Machine, nodes: Vec<Group>) -> Group {
    let mut all: Vec<(PlacementVerdict, Group)> =
        nodes.into_iter().map(|mut node| (verdict(machine, &mut node), node)).collect();
    // Of several that are as bad, `max_by_key` takes the last.
    let worst = (0..all.len()).rev().max_by_key(|at| all[*at].0).unwrap_or_default();
    let (_, mut shown) = all.remove(worst);

    for (placed, node) in &all {
        if let Some(name) = &node.node {
            add(&mut shown.notes, format!("{name}: {}", placed.name()));
        }
    }
    shown
}

/// How the ranks of a node are placed, in all the ways that their line may mean.
pub(crate) fn verdict(machine: &Machine, group: &mut Group) -> PlacementVerdict {
    let is_open = settle(machine, group).is_some();
    let (_, judgement) = judged(machine, &group.seen);
    if is_open { PlacementVerdict::Unknown } else { judgement.placed }
}

fn add(notes: &mut Vec<String>, note: String) {
    if !notes.contains(&note) {
        notes.push(note);
    }
}

/// What is said of the readings with this verdict, a sentence for each condition that tells them from the
/// others: the verdict, what it takes the site to do, and where the first ranks are then. And what these
/// conditions are about.
fn conditions(
    placed: PlacementVerdict,
    readings: &[(Ways, Vec<ObservedRank>)],
    is_own: impl Fn(usize) -> bool,
) -> (Vec<String>, Vec<Choice>) {
    let of = |wanted: bool| -> Ways {
        let all = readings.iter().enumerate().filter(|(at, _)| is_own(*at) == wanted);
        all.flat_map(|(_, (ways, _))| ways.clone()).collect()
    };
    let condition = |way: &Vec<Assumption>| {
        let is_meant = |(at, (ways, _)): &(usize, &(Ways, Vec<ObservedRank>))| {
            is_own(*at) && ways.iter().any(|whole| is_part(way, whole))
        };
        let mut meant = readings.iter().enumerate().filter(is_meant).map(|(_, (_, seen))| where_to(seen));
        let where_to = meant.next().unwrap_or_default();
        let more = if meant.next().is_some() { "e.g. " } else { "" };
        let what: Vec<_> = way.iter().map(|one| one.what.as_ref()).collect();
        format!("{} if {} ({more}{where_to})", placed.name(), what.join(" and "))
    };

    let told = told_apart(&of(true), &of(false));
    (told.iter().map(condition).collect(), told.iter().flatten().map(|one| one.choice).collect())
}

/// Where a reading puts its first ranks.
fn where_to(seen: &[ObservedRank]) -> String {
    let pus = seen.iter().filter_map(|seen| seen.running.pus.as_ref()).take(4).map(ToString::to_string);
    let pus: Vec<String> = pus.collect();
    match pus.as_slice() {
        [] => match seen.iter().find_map(|seen| seen.pus_unknown.as_ref()) {
            Some(why) => format!("PUs not known: {why}"),
            None => "PUs not known".to_owned(),
        },
        pus => format!("ranks from 0 on PUs {}", pus.join("; ")),
    }
}

/// What would decide a line of which the verdict is unknown for want of this.
fn decided_by(group: &Group, open: &[Choice]) -> Vec<String> {
    let Some(launcher) = group.launcher.filter(|_| group.seen.iter().any(ObservedRank::is_of_line)) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let files = [slurm_conf(open), open.contains(&Choice::GpuCores).then(|| "--gres-conf FILE".to_owned())];
    let files: Vec<String> = files.into_iter().flatten().collect();

    if !files.is_empty() {
        all.push(format!("the site's settings: {}", files.join(" and ")));
    }
    let options =
        [(Choice::DefaultBinding, "--cpu-bind=…"), (Choice::CoreOrder, "-m block:cyclic or block:block")];
    let options = options.into_iter().filter(|(choice, _)| open.contains(choice));
    let options: Vec<&str> = options.map(|(_, option)| option).collect();
    if !options.is_empty() {
        all.push(format!("options of the line: {}", options.join(" and ")));
    }

    if open.iter().any(|choice| matches!(choice, Choice::FluxPart | Choice::FluxConfines | Choice::Mpibind)) {
        all.push(
            "the line with -N, --exclusive and -o mpibind=off, which leave nothing to the site".to_owned(),
        );
    }
    let versions = [
        (Choice::SlurmVersion, "the version of Slurm: --slurm-conf FILE (what scontrol show node prints)"),
        (Choice::MpiVersion, "the version of the MPI whose launcher it is"),
    ];
    let versions = versions.into_iter().filter(|(choice, _)| open.contains(choice));
    all.extend(versions.map(|(_, version)| version.to_owned()));
    all.push(format!("the launch itself, with numabench check -- before the program ({})", launcher.name()));
    all
}

/// What the ways differ in that a line may mean.
fn depends_on(open: &[Choice]) -> &'static str {
    let is_all = |choice: Choice| !open.is_empty() && open.iter().all(|one| *one == choice);
    match () {
        () if is_all(Choice::MpiVersion) => "the version of the MPI",
        () if is_all(Choice::SlurmVersion) => "the version of Slurm",
        () => "the site",
    }
}

/// The file that says what is open of Slurm, and its parameters that count.
fn slurm_conf(open: &[Choice]) -> Option<String> {
    let parameter = |choice: &Choice| match choice {
        Choice::SlurmCpu | Choice::SlurmSocket => Some("NodeName="),
        Choice::CoreOrder => Some("SelectTypeParameters="),
        Choice::StepShare => Some("SelectType="),
        Choice::DefaultBinding => Some("TaskPlugin="),
        Choice::GpuCores
        | Choice::SlurmVersion
        | Choice::MpiVersion
        | Choice::FluxPart
        | Choice::FluxConfines
        | Choice::Mpibind => None,
    };
    let mut parameters: Vec<&str> = open.iter().filter_map(parameter).collect();
    parameters.sort_unstable();
    parameters.dedup();

    match parameters.as_slice() {
        [] => None,
        ["NodeName="] => Some("--slurm-conf FILE (slurm.conf, or what scontrol show node prints)".to_owned()),
        several => {
            let several = several.join(", ");
            Some(format!("--slurm-conf FILE (slurm.conf and the files that it includes in one: {several})"))
        }
    }
}

/// Whether the ranks have the same GPUs in all readings that say where they are, so that one fix serves all.
fn have_the_same_gpus(group: &Group) -> bool {
    let gpus =
        |seen: &[ObservedRank]| seen.iter().map(|seen| seen.running.gpus.devices.clone()).collect::<Vec<_>>();
    let first = gpus(&group.seen);
    let is_known = |seen: &[ObservedRank]| seen.iter().any(|seen| seen.running.pus.is_some());
    group.readings.iter().all(|(_, seen)| !is_known(seen) || gpus(seen) == first)
}

/// The judgement, and the pool that it is made by. By a saved machine that has near PUs where this one has
/// none, far is wrong: they could be had there.
pub(crate) fn judged(machine: &Machine, seen: &[ObservedRank]) -> (JobResources, Judgement) {
    let topology = machine.judged_by();
    let observed: Vec<_> = seen.iter().map(|seen| seen.observed(topology)).collect();
    let pool = observed_rank::pool(seen);
    let judgement = judge(topology, &pool, &observed);
    let is_open =
        |found: &Finding| found.kind == FindingKind::FarFromGpu && found.weight == PlacementVerdict::Unknown;
    match machine.saved() {
        Some(saved) if judgement.findings.iter().any(is_open) => {
            let pool = JobResources { pus: pool.pus.or(&saved.topology.allowed.pus), ..pool };
            let judgement = judge(topology, &pool, &observed);
            (pool, judgement)
        }
        _ => (pool, judgement),
    }
}

/// The adapter near the GPU of each that has one GPU.
fn nics(machine: &Machine, seen: &[ObservedRank]) -> Vec<Option<NearNic>> {
    let gpus: Vec<Option<PciAddress>> = seen.iter().map(ObservedRank::only_gpu).collect();
    if gpus.iter().all(Option::is_none) {
        return Vec::new();
    }
    let Some(interconnect) = machine.interconnect() else { return Vec::new() };
    gpus.into_iter().map(|gpu| nic::near(&interconnect, gpu?)).collect()
}
