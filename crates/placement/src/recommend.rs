//! Places for the ranks of a node: which PUs, memory node and GPU each one gets, by strategy, and why. Some
//! Some 410 lines because what is asked, its errors and the two ways to places are read together.
//!
//! [`plan`](crate::plan) puts one PU a rank beside a device that was chosen; this shares a node's cores out
//! among its GPUs and then among the ranks of each. The way is that of the files: `ask` what is wanted;
//! `pool` the cores there are to give; `domain` the cores near (or far from) a GPU; `choice` which GPUs ranks
//! drive; `share` each GPU's part of the cores, whoever drives it; `split` a part of cores into parts,
//! `spread` ranks over nodes; `cost` how far a core is; `assign` the cores given out, `seats` where there are
//! not enough for everyone's part, by `transport`; `words` what is said of it. Nothing here says which
//! strategy is *faster*: locality is a hypothesis, a measurement decides.

mod ask;
mod assign;
mod choice;
mod cost;
mod domain;
mod pool;
mod seats;
mod share;
mod split;
mod spread;
#[cfg(test)]
mod tests;
mod transport;
mod wish;
mod words;

use std::collections::BTreeMap;
use std::rc::Rc;

use stats::IdSet;
use topo::model::{Rung, Topology};

pub use ask::{Ask, GpuChoice, MOST_RANKS, Strategy, StrategyError};
use assign::assign_cores;
use choice::choice;
use cost::{Cost, costs};
use domain::{Basis, Domain, far, near};
use pool::Pool;
use share::{Claim, shares};
use split::split;
use spread::spread;
use wish::Wish;
use words::{Why, notes};

use crate::check_node::own_node;
use crate::member::Owner;
use crate::verdict::Surroundings;
use crate::{Closeness, ClosenessVerdict, Target, TargetId, verdict};
use stats::units::counted;

/// The places of a node's ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlaces {
    /// The strategy they were made by.
    pub strategy: Strategy,
    /// In rank order.
    pub places: Vec<Place>,
    /// PUs that no rank gets though they are there: the site's reserved cores, and those reserved as asked.
    /// `notes` say which are which.
    pub reserved: IdSet,
    /// What the user should know of the places beside their rows.
    pub notes: Vec<String>,
}

/// One rank's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The rank on its node, 0..
    pub rank: usize,
    /// The PUs that it is bound to; at least one.
    pub pus: IdSet,
    /// The one to bind it to where a launcher takes only one: near its GPU as long as it has such a one.
    pub first: u32,
    /// The node for its memory: the first PU's own; `None` where no node with memory is allowed, or several
    /// are as near.
    pub memory_node: Option<u32>,
    /// The NUMA nodes its PUs are on.
    pub nodes: IdSet,
    /// The L3s its PUs are on: the PUs of each.
    pub l3s: Vec<IdSet>,
    /// The GPU that it drives.
    pub target: Option<Target>,
    /// How close its PUs and its GPU are: of the PU that is farthest.
    pub verdict: Option<ClosenessVerdict>,
    /// From which rung of the ladder the GPU's locality is known.
    pub rung: Option<Rung>,
    /// Why these PUs.
    pub why: String,
}

impl Place {
    /// A place that was chosen before, with what this topology says of it. `pus` has at least one PU; `first`
    /// is one of them.
    pub fn at(
        topology: &Topology,
        rank: usize,
        pus: IdSet,
        first: u32,
        target: Option<Target>,
        why: String,
    ) -> Self {
        let target_id = target.as_ref().map(|target| target.id);
        Self {
            rank,
            first,
            memory_node: own_node(topology, Owner::this_process(topology), first)
                .ok()
                .and_then(|own| own.only()),
            nodes: nodes_of(topology, &pus),
            l3s: l3s_of(topology, &pus),
            verdict: target_id.and_then(|id| farthest(topology, first, &pus, id)),
            rung: target_id.and_then(|id| Some(topology.gpu_at(id.gpu()?)?.locality.rung)),
            target,
            pus,
            why,
        }
    }
}

/// What became of some PUs of a pool; nothing of none.
fn of_pool(pus: &IdSet, what: &str) -> String {
    if pus.is_empty() { String::new() } else { format!(", {pus} are {what}") }
}

/// No places can be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecommendError {
    /// PUs to be kept free that the machine does not have: a slip of the pen, which would keep nothing free.
    #[error("--reserve {absent}: this machine has PUs {there}; name PUs of these")]
    Reserved {
        /// Those that it does not have.
        absent: IdSet,
        /// All that it has.
        there: IdSet,
    },
    /// No PU to give.
    #[error(
        "there is no PU to place ranks on: of PUs {pool}{}{}",
        of_pool(missing, "not online here"),
        of_pool(reserved, "reserved")
    )]
    NoPu {
        /// The PUs to plan in.
        pool: IdSet,
        /// Those of them that the machine has not got online.
        missing: IdSet,
        /// Those kept free.
        reserved: IdSet,
    },
    /// No ranks.
    #[error("0 ranks are nothing to place: ask for 1 or more, or leave the number out")]
    NoRanks,
    /// Ranks without cores.
    #[error(
        "0 cores a rank are nothing to bind to: ask for 1 or more, or leave the number out to share them out \
         evenly"
    )]
    NoCores,
    /// More cores asked for than there are.
    #[error(
        "{} with {} each need {}, and {there} can be given: {remedy}",
        counted(*ranks, "rank"), counted(*each, "core"), counted(*needed, "core")
    )]
    TooManyCores {
        /// Ranks.
        ranks: usize,
        /// Cores asked for each.
        each: usize,
        /// The product.
        needed: usize,
        /// Cores there are to give.
        there: usize,
        /// What would fit.
        remedy: String,
    },
}

/// Places for the ranks of `ask` on a node of this topology.
///
/// # Errors
/// [`RecommendError`]: PUs to be kept free are not there, there is no PU to give, or there are not as many
/// cores as were asked for.
pub fn recommend(topology: &Topology, ask: &Ask) -> Result<NodePlaces, RecommendError> {
    reserved_are_there(topology, ask)?;
    let pool = Pool::of(topology, ask);
    let chosen = chosen(topology, &ask.gpus);
    let ranks = checked(&pool, ask, &chosen)?;
    let targets = targets(&pool, &chosen, ranks, ask);
    let parts = parts(&pool, ask, &targets);
    let wishes = wishes(&pool, ask.strategy, &targets, &parts);

    // Fewer cores than ranks: each hardware thread is wanted, for a rank of its own.
    let smt = ask.smt && ranks <= pool.cores.len();
    let assignments = assign_cores(&pool, &wishes, ask.cores_per_rank, smt);
    let (mut places, mut memory) = (Vec::new(), Vec::new());

    for (rank, (assignment, part)) in assignments.iter().zip(&parts).enumerate() {
        let target = targets.get(rank).cloned();
        let is_host_memory = target.as_ref().is_some_and(|target| matches!(target.id, TargetId::Node(_)));
        let mut place =
            Place::at(topology, rank, assignment.pus.clone(), assignment.first, target, String::new());
        let closeness = place.verdict.as_ref().map(|verdict| verdict.closeness);
        let extra = assignment.elsewhere.and(&assignment.pus);
        let on_own_nodes = on_nodes_of(&pool, &part.cores, &extra);
        place.why = Why { assignment, part, on_own_nodes, closeness, is_host_memory }.to_string();
        places.push(place);
        memory.extend(memory_note(topology, assignment.first).filter(|note| !memory.contains(note)));
    }

    let mut notes = notes(&pool, ask, &chosen, &places, &assignments);
    notes.extend(memory);
    let reserved = pool.kept_by_site.or(&pool.kept_as_asked);
    Ok(NodePlaces { strategy: ask.strategy, places, reserved, notes })
}

/// Those of these PUs that are on the NUMA nodes of these cores.
fn on_nodes_of(pool: &Pool<'_>, cores: &[usize], pus: &IdSet) -> IdSet {
    if pus.is_empty() {
        return IdSet::default();
    }
    let nodes: IdSet = cores.iter().filter_map(|core| pool.cores[*core].node).collect();
    let there = pool.cores.iter().filter(|core| core.node.is_some_and(|node| nodes.contains(node)));
    pus.and(&IdSet::of_all(there.map(|core| &core.pus)))
}

/// The GPUs chosen, in rank order.
fn chosen(topology: &Topology, choice: &GpuChoice) -> Vec<Target> {
    match choice {
        GpuChoice::All => Target::gpus_of(topology),
        GpuChoice::None => Vec::new(),
        GpuChoice::AnyOf(targets) | GpuChoice::These(targets) => targets.clone(),
    }
}

/// Whether the machine has the PUs that are to be kept free.
fn reserved_are_there(topology: &Topology, ask: &Ask) -> Result<(), RecommendError> {
    let there: IdSet = topology.pus.iter().map(|pu| pu.os_index).collect();
    let absent = ask.reserve.minus(&there);
    if absent.is_empty() { Ok(()) } else { Err(RecommendError::Reserved { absent, there }) }
}

/// How many ranks, after everything else that can refuse.
fn checked(pool: &Pool<'_>, ask: &Ask, chosen: &[Target]) -> Result<usize, RecommendError> {
    let there = pool.cores.len();
    if there == 0 {
        let asked = ask.pus.clone().unwrap_or_else(|| pool.topology.allowed.pus.clone());
        let reserved = asked.and(&pool.kept_as_asked);
        return Err(RecommendError::NoPu { missing: pool.missing.clone(), pool: asked, reserved });
    }

    let ranks = match ask.ranks {
        Some(0) => return Err(RecommendError::NoRanks),
        Some(ranks) => ranks,
        None if chosen.is_empty() => pool.nodes().len(),
        None => chosen.len(),
    };

    match ask.cores_per_rank {
        Some(0) => Err(RecommendError::NoCores),
        Some(each) if ranks.saturating_mul(each) > there => {
            let remedy = match there / ranks {
                0 => format!(
                    "at most {} can have a core of their own; leave the cores out to share them",
                    counted(there, "rank")
                ),
                most => {
                    format!(
                        "ask for at most {most} each, or for at most {}",
                        counted(there / each.min(there), "rank")
                    )
                }
            };
            Err(RecommendError::TooManyCores {
                ranks,
                each,
                needed: ranks.saturating_mul(each),
                there,
                remedy,
            })
        }
        _ => Ok(ranks),
    }
}

/// Each rank's GPU: as many ranks on each as on any other, neighbours in rank on one. Fewer ranks than a list
/// names take its first.
fn targets(pool: &Pool<'_>, chosen: &[Target], ranks: usize, ask: &Ask) -> Vec<Target> {
    match &ask.gpus {
        GpuChoice::These(_) if chosen.is_empty() => Vec::new(),
        GpuChoice::These(_) => {
            let gpus = chosen.len().min(ranks);
            (0..ranks).map(|rank| chosen[rank * gpus / ranks].clone()).collect()
        }
        GpuChoice::All | GpuChoice::AnyOf(_) | GpuChoice::None => choice(pool, chosen, ranks),
    }
}

/// The GPU of each of so many ranks of a node, of these that all of them see: what [`GpuChoice::AnyOf`] comes
/// to in a plan of these PUs.
pub fn gpus_of_ranks(topology: &Topology, pus: &IdSet, gpus: &[Target], ranks: usize) -> Vec<Target> {
    let ask = Ask { ranks: Some(ranks), pus: Some(pus.clone()), ..Ask::default() };
    choice(&Pool::of(topology, &ask), gpus, ranks)
}

/// A rank's part of the cores, and why that one.
pub(crate) struct Part {
    cores: Vec<usize>,
    basis: Basis,
    /// The cores that its GPU's ranks have together, and how many ranks these are.
    share: (Vec<usize>, usize),
}

impl Part {
    fn alone(cores: Vec<usize>, basis: Basis) -> Self {
        Self { share: (cores.clone(), 1), cores, basis }
    }
}

/// Each rank's part. `targets` is empty where ranks have no GPU.
fn parts(pool: &Pool<'_>, ask: &Ask, targets: &[Target]) -> Vec<Part> {
    let ranks = ask.ranks.unwrap_or(if targets.is_empty() { pool.nodes().len() } else { targets.len() });
    let every: Vec<usize> = (0..pool.cores.len()).collect();
    match ask.strategy {
        Strategy::Compact => {
            let each = ask.cores_per_rank.unwrap_or(1);
            let next = |rank: usize| every.iter().copied().skip(rank * each).take(each).collect();
            (0..ranks).map(|rank| Part::alone(next(rank), Basis::Next)).collect()
        }
        Strategy::Close if !targets.is_empty() => by_gpu(pool, targets, near),
        Strategy::Worst if !targets.is_empty() => by_gpu(pool, targets, far),
        _ => spread(pool, &every, ranks).into_iter().map(|cores| Part::alone(cores, Basis::Even)).collect(),
    }
}

/// The parts of ranks that go by their GPU: its share, split among its ranks.
fn by_gpu(pool: &Pool<'_>, targets: &[Target], domain: fn(&Pool<'_>, TargetId) -> Domain) -> Vec<Part> {
    let mut ids: Vec<TargetId> = targets.iter().map(|target| target.id).collect();
    // Whoever drives a GPU counts every GPU; ranks on nodes' memory count those nodes.
    if ids.iter().any(|id| matches!(id, TargetId::Gpu(_))) {
        ids.extend(pool.topology.gpus.iter().map(|gpu| TargetId::Gpu(gpu.pci)));
    }
    ids.sort_unstable();
    ids.dedup();
    let ranks = |id| targets.iter().filter(|target| target.id == id).count();
    let claims: Vec<Claim> =
        ids.iter().map(|id| Claim { target: *id, domain: domain(pool, *id), ranks: ranks(*id) }).collect();
    let shares = shares(pool, &claims);
    let mut of_target: Vec<(TargetId, usize, std::vec::IntoIter<Vec<usize>>)> = claims
        .iter()
        .zip(&shares)
        .map(|(claim, share)| (claim.target, claim.ranks, split(pool, share, claim.ranks).into_iter()))
        .collect();

    targets
        .iter()
        .map(|target| {
            let at = ids.binary_search(&target.id).unwrap_or_default();
            let (_, ranks, parts) = &mut of_target[at];
            let share = (shares[at].clone(), *ranks);
            Part { cores: parts.next().unwrap_or_default(), basis: claims[at].domain.basis.clone(), share }
        })
        .collect()
}

/// Whom ranks are near to: their GPU, else the node of their part.
type Near = (Option<TargetId>, Option<u32>);

/// What each rank is to get: its part, and of what is wanting the nearest. Ranks without a GPU, or that go by
/// none, are near on their part's node.
fn wishes(pool: &Pool<'_>, strategy: Strategy, targets: &[Target], parts: &[Part]) -> Vec<Wish> {
    let mut groups: BTreeMap<Near, (usize, Rc<[Cost]>)> = BTreeMap::new();
    let mut wish = |(rank, part): (usize, &Part)| {
        let by_gpu = matches!(strategy, Strategy::Close | Strategy::Worst);
        let target = targets.get(rank).map(|target| target.id).filter(|_| by_gpu);
        let own = part.cores.first().and_then(|core| pool.cores[*core].node);
        let node = own.filter(|_| target.is_none() && strategy != Strategy::Compact);
        let number = groups.len();
        let (group, costs) = groups.entry((target, node)).or_insert_with(|| {
            let of_core = |core: usize| Cost::from(node.is_some() && node != pool.cores[core].node);
            let costs: Vec<Cost> = match target {
                Some(target) if strategy == Strategy::Worst => {
                    costs(pool, target).iter().map(|cost| -cost).collect()
                }
                Some(target) => costs(pool, target),
                None => (0..pool.cores.len()).map(of_core).collect(),
            };
            (number, costs.into())
        });
        Wish { part: part.cores.clone(), group: *group, costs: costs.clone() }
    };

    parts.iter().enumerate().map(&mut wish).collect()
}

/// What is to be known of the memory of a rank on this PU: that its node is not the PU's own, or that there
/// is none.
fn memory_note(topology: &Topology, pu: u32) -> Option<String> {
    match own_node(topology, Owner::this_process(topology), pu) {
        Ok(own) => own.note,
        Err(error) => Some(error.to_string()),
    }
}

/// The nodes these PUs are on.
fn nodes_of(topology: &Topology, pus: &IdSet) -> IdSet {
    pus.iter().filter_map(|pu| topology.pu(pu)?.nodes.first().copied()).collect()
}

/// The L3s they are on.
fn l3s_of(topology: &Topology, pus: &IdSet) -> Vec<IdSet> {
    let mut l3s: Vec<IdSet> = pus.iter().filter_map(|pu| Some(topology.l3_of(pu)?.pus.clone())).collect();
    l3s.sort();
    l3s.dedup();
    l3s
}

/// The verdict of the PU that is farthest from the target; the first one's where all are as near.
fn farthest(topology: &Topology, first: u32, pus: &IdSet, target: TargetId) -> Option<ClosenessVerdict> {
    let around = Surroundings::of(topology, target);
    let closeness = |pu| around.as_ref().map_or(Closeness::Unknown, |around| around.closeness(pu));
    let others = pus.iter().filter(|pu| *pu != first);
    let mut worst = (closeness(first), first);
    for other in others.map(|pu| (closeness(pu), pu)) {
        if other.0 > worst.0 {
            worst = other;
        }
    }
    Some(verdict(topology, worst.1, target))
}
