//! The line that would put a misplacement right, in the words of whatever started the ranks.
//!
//! The places are `placement::recommend`'s, in what the ranks have between them, with each rank's own GPU and
//! as many cores as it has. They are judged before they are offered, as the ranks were: a line that would not
//! make the check pass is not printed. Where a line of the launcher's is not enough (a GPU that is shared,
//! memory that is bound elsewhere), `numabench exec` does it.

use std::collections::BTreeSet;

use launchers::{BindingRefusal, Launcher, Situation, binding};
use placement::judge::{Finding, FindingKind, JobResources, Judgement, Observed, PlacementVerdict, judge};
use placement::{Ask, GpuChoice, NodePlaces, Strategy, Target, recommend};
use stats::IdSet;
use topo::Topology;

use crate::observed_rank::{ObservedRank, with_memory_beside};

/// What goes with a binding of the node's PUs for a step that asks for less of the node.
const LEAVE_OUT: &str = "and leave out -c, --exact and --exclusive: they make the step smaller than the job";

/// What is known where a fix is looked for.
pub struct FixContext<'c> {
    /// The machine that is judged by.
    pub topology: &'c Topology,
    /// What the ranks have between them.
    pub pool: &'c JobResources,
    /// All ranks of the node, in order.
    pub seen: &'c [ObservedRank],
    /// What was said of them.
    pub judgement: &'c Judgement,
    /// What started them; `None`: they are running processes that were looked at.
    pub launcher: Option<Launcher>,
    /// The name of the ranks' node.
    pub host: &'c str,
    /// What is known of the step.
    pub situation: Situation,
    /// Whether all ranks that there should be came.
    pub complete: bool,
    /// Whether what stands behind the launcher binds the ranks: its options then change nothing.
    pub binds_behind: bool,
    /// Whether what stands behind the launcher chooses GPUs: its program keeps them.
    pub shows_behind: bool,
    /// Whether the line's own options keep its ranks from PUs of the job.
    pub has_own_part: bool,
}

/// The lines that would put it right; none where nothing is misplaced, or where no line is known to help.
pub fn lines(case: &FixContext<'_>) -> Vec<String> {
    let certain: Vec<&Finding> = case
        .judgement
        .findings
        .iter()
        .filter(|finding| finding.weight == PlacementVerdict::Misplaced)
        .collect();
    let kinds: BTreeSet<FindingKind> = certain.iter().map(|finding| finding.kind).collect();
    if kinds.is_empty() || !case.complete {
        return Vec::new();
    }
    let places = kinds.iter().any(|kind| is_of_pus(*kind)).then(|| places(case)).flatten();
    let Some(launcher) = case.launcher else { return of_running(case, &certain, places.as_ref()) };

    if case.binds_behind {
        return vec![format!(
            "{} (in place of what binds behind the launcher)",
            launcher.facts().through_exec
        )];
    }

    // Memory alone: the launcher's own word for the memory of each rank's PUs.
    if launcher == Launcher::Srun && kinds.iter().all(|kind| *kind == FindingKind::MemoryElsewhere) {
        return vec!["srun --mem-bind=local".to_owned()];
    }
    if kinds.iter().all(|kind| is_of_pus(*kind)) {
        return places.iter().flat_map(|places| own_option(case, launcher, places)).collect();
    }
    vec![launcher.facts().through_exec.to_owned()]
}

/// Whether other PUs for the ranks help.
fn is_of_pus(kind: FindingKind) -> bool {
    matches!(
        kind,
        FindingKind::PusDenied
            | FindingKind::FarFromGpu
            | FindingKind::NotBound
            | FindingKind::SharedPus
            | FindingKind::SharedCores
    )
}

/// Places for the same ranks with the same GPUs, if they are better.
fn places(case: &FixContext<'_>) -> Option<NodePlaces> {
    let pus: Vec<&IdSet> = case.seen.iter().map(|seen| seen.running.pus.as_ref()).collect::<Option<_>>()?;
    let cores = |pus: &IdSet| case.topology.cores.iter().filter(|core| !core.pus.and(pus).is_empty()).count();
    let widths: BTreeSet<usize> = pus.iter().map(|pus| cores(pus)).collect();
    let bound = !case.judgement.findings.iter().any(|finding| finding.kind == FindingKind::NotBound);
    let ask = |each| Ask {
        ranks: Some(case.seen.len()),
        gpus: gpus(case),
        pus: Some(case.pool.pus.clone()),
        cores_per_rank: each,
        smt: pus.iter().any(|pus| cores(pus) < pus.len()),
        strategy: Strategy::Close,
        reserve: IdSet::default(),
    };

    let same = widths.first().copied().filter(|_| bound && widths.len() == 1);

    // Fewer cores than a rank has, where so many near ones are not to be had.
    let fewer =
        std::iter::successors(widths.last().copied(), |width| Some(width / 2).filter(|width| *width > 0));
    let asked = [same, None].into_iter().chain(fewer.map(Some));
    let mut tried = asked.filter_map(|each| recommend(case.topology, &ask(each)).ok());
    tried.find(|places| is_better(case, places))
}

/// The GPU of each rank where each has one; none where none has.
fn gpus(case: &FixContext<'_>) -> GpuChoice {
    let only = |seen: &ObservedRank| case.topology.gpu_at(seen.only_gpu()?).map(Target::of_gpu);
    case.seen.iter().map(only).collect::<Option<Vec<Target>>>().map_or(GpuChoice::None, GpuChoice::These)
}

fn is_better(case: &FixContext<'_>, places: &NodePlaces) -> bool {
    let moved = |(seen, place): (&ObservedRank, &placement::Place)| Observed {
        pus: Ok(place.pus.clone()),
        // They are of the pool.
        denied: IdSet::default(),
        ..seen.observed(case.topology)
    };
    let ranks: Vec<Observed> = case.seen.iter().zip(&places.places).map(moved).collect();
    let judged = judge(case.topology, case.pool, &ranks);
    !judged.findings.iter().any(|finding| is_of_pus(finding.kind) && finding.weight != PlacementVerdict::Well)
}

/// The launcher's own option, read back by what wrote it; through `exec` where it has none, or where it
/// cannot work in this step.
fn own_option(case: &FixContext<'_>, launcher: Launcher, places: &NodePlaces) -> Vec<String> {
    // A rank that has variables for its GPU already keeps them: only its cores are wrong.
    let mut alone = places.clone();
    if launcher == Launcher::Nobody || case.shows_behind {
        alone.places.iter_mut().for_each(|place| place.target = None);
    }

    // The words may name the host, which is that of the processes and not always the saved machine's.
    let here = Topology { hostname: Some(case.host.to_owned()), ..case.topology.clone() };

    match binding(&here, &alone, launcher, &case.situation) {
        Ok(text) if case.has_own_part && launcher == Launcher::Srun => {
            vec![format!("{text} ({LEAVE_OUT})")]
        }
        Ok(text) => vec![text],
        Err(BindingRefusal::Cannot(why)) => vec![format!("{} ({why})", launcher.facts().through_exec)],
        Err(BindingRefusal::NoWords(_)) => vec![launcher.facts().through_exec.to_owned()],
        Err(BindingRefusal::Differs(_)) => Vec::new(),
    }
}

/// What moves processes that run: their threads, and their pages.
fn of_running(case: &FixContext<'_>, certain: &[&Finding], places: Option<&NodePlaces>) -> Vec<String> {
    let mut lines = Vec::new();
    for (seen, place) in case.seen.iter().zip(places.iter().flat_map(|places| &places.places)) {
        lines.push(format!("taskset -acp {} {}", place.pus, seen.running.pid));
    }

    for (rank, seen) in case.seen.iter().enumerate() {
        let of_pages = |finding: &&&Finding| {
            finding.kind == FindingKind::PagesElsewhere && finding.ranks.contains(&rank)
        };
        if certain.iter().any(|finding| of_pages(&finding)) {
            // To where the line before puts its threads.
            let place = places.and_then(|places| places.places.get(rank));
            let nodes = place.map_or(&case.judgement.ranks[rank].nodes, |place| &place.nodes);
            let has_host_memory =
                |node: &u32| case.topology.node(*node).is_some_and(|node| node.kind.has_host_memory());
            let local: IdSet = nodes.iter().filter(has_host_memory).collect();
            let held = seen.running.pages.nodes.iter().flatten().map(|pages| pages.node);
            let near = with_memory_beside(case.topology, nodes);
            let far = held.filter(has_host_memory).collect::<IdSet>().minus(&near);
            if !far.is_empty() && !local.is_empty() {
                lines.push(format!("migratepages {} {far} {local}", seen.running.pid));
            }
        }
    }
    lines
}
