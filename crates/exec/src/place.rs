//! Where this rank is put: its PUs, its memory, its GPUs. It only decides; `kernel` binds.
//!
//! The node is planned by `placement`, as `numabench place` plans it, and of the plan this rank's part is
//! taken; a rank with several GPUs has the parts of all of them. A rank whose PUs are its own is planned
//! alone.

use placement::{
    Ask, Closeness, GpuChoice, Membind, RecommendError, can_hold_memory, nodes_to_spread_over, recommend,
    verdict,
};
use stats::IdSet;
use sys::policy::NodeUse;
use topo::model::NodeKind;
use topo::{Start, Topology};

use super::assign::GpuAssignment;
use super::memory_wish::MemoryWish;
use super::pool::{Pool, PoolOwner};

/// What was asked of a rank's place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Where the node's ranks go; which ranks, GPUs and PUs these are is found here.
    pub ask: Ask,
    /// Where its memory is to lie.
    pub memory: MemoryWish,
}

/// A rank's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankBinding {
    /// Its PUs.
    pub pus: IdSet,
    /// Whether it is to be bound to them, or is there already.
    pub is_bound: bool,
    /// The nodes that its memory is bound to; empty: it is not bound.
    pub memory: IdSet,
    /// How memory is taken from these nodes.
    pub memory_use: NodeUse,
    /// How close its PUs are to its GPUs: of those farthest from each other; `None` without a GPU.
    pub closeness: Option<Closeness>,
    /// Why these PUs.
    pub why: String,
}

/// No place can be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RankPlaceError {
    /// The plan fails.
    #[error(transparent)]
    Plan(#[from] RecommendError),
    /// The node asked for cannot hold memory.
    #[error(transparent)]
    Node(#[from] placement::NodeError),
    /// The plan has no such rank.
    #[error("the plan of this node has no place for rank {0}: name the rank, --rank N --ranks M")]
    NoPlace(usize),
}

/// The place of the rank that was assigned these GPUs.
pub fn place(
    start: &Start,
    pool: &Pool,
    assignment: &GpuAssignment,
    wish: &Wish,
) -> Result<RankBinding, RankPlaceError> {
    let topology = &start.topology;
    let place = match pool.owner {
        PoolOwner::Unchanged => unchanged(topology, pool, assignment),
        PoolOwner::ThisRank => {
            let mut alone = topology.clone();
            alone.gpus.retain(|gpu| assignment.drives.iter().any(|seen| seen.target.index == gpu.index));
            planned(&alone, pool, assignment, wish)?
        }
        PoolOwner::AllRanks => planned(topology, pool, assignment, wish)?,
    };
    with_memory(topology, place, &wish.memory)
}

/// A place that was found before: one of a node's.
pub fn found(
    topology: &Topology,
    one: &placement::Place,
    wish: &Wish,
) -> Result<RankBinding, RankPlaceError> {
    with_memory(topology, of_plan(one), &wish.memory)
}

/// The place with its memory where it is wanted.
fn with_memory(
    topology: &Topology,
    mut place: RankBinding,
    wish: &MemoryWish,
) -> Result<RankBinding, RankPlaceError> {
    match wish {
        // Where there is one node, memory has no choice, and a container may forbid the call.
        MemoryWish::Bound(Membind::Local) if topology.allowed.nodes.len() == 1 => {
            place.memory = IdSet::default()
        }
        MemoryWish::Bound(Membind::Local) => {}
        MemoryWish::Bound(Membind::Node(node)) => {
            can_hold_memory(topology, *node)?;
            place.memory = [*node].into_iter().collect();
        }
        MemoryWish::Bound(Membind::Spread(memory_use, nodes)) => {
            let nodes = nodes_to_spread_over(topology, nodes.as_ref())?;
            (place.memory, place.memory_use) = (nodes, *memory_use);
        }
        MemoryWish::Untouched => place.memory = IdSet::default(),
    }
    Ok(place)
}

fn planned(
    topology: &Topology,
    pool: &Pool,
    assignment: &GpuAssignment,
    wish: &Wish,
) -> Result<RankBinding, RankPlaceError> {
    let gpus = if assignment.targets.is_empty() {
        GpuChoice::None
    } else {
        GpuChoice::These(assignment.targets.clone())
    };
    let ask = Ask { ranks: Some(assignment.ranks), gpus, pus: Some(pool.pus.clone()), ..wish.ask.clone() };

    let plan = recommend(topology, &ask)?;
    let one = |rank: &usize| plan.places.get(*rank).ok_or(RankPlaceError::NoPlace(*rank));
    let own = assignment.mine.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    let together = own.into_iter().map(of_plan).reduce(|others, one| RankBinding {
        pus: others.pus.or(&one.pus),
        memory: others.memory.or(&one.memory),
        closeness: others.closeness.max(one.closeness),
        ..others
    });
    together.ok_or(RankPlaceError::NoPlace(0))
}

fn unchanged(topology: &Topology, pool: &Pool, assignment: &GpuAssignment) -> RankBinding {
    let far = |seen: &super::visible::VisibleGpu| {
        pool.pus
            .iter()
            .map(|pu| verdict(topology, pu, seen.target.id).closeness)
            .max()
            .unwrap_or(Closeness::Unknown)
    };
    RankBinding {
        memory: host_nodes(topology, &pool.pus),
        memory_use: NodeUse::Bind,
        pus: pool.pus.clone(),
        is_bound: false,
        closeness: assignment.drives.iter().map(far).max(),
        why: pool.how.clone(),
    }
}

/// One place of a plan, to be bound to; its memory is where `place` and the lines that it prints have it.
fn of_plan(one: &placement::Place) -> RankBinding {
    let closeness = one.verdict.as_ref().map(|verdict| verdict.closeness);

    RankBinding {
        pus: one.pus.clone(),
        is_bound: true,
        memory: one.memory_node.into_iter().collect(),
        memory_use: NodeUse::Bind,
        closeness,
        why: one.why.clone(),
    }
}

/// The nodes of these PUs whose memory a program can be bound to.
fn host_nodes(topology: &Topology, pus: &IdSet) -> IdSet {
    let holds = |node: u32| {
        topology.node(node).is_some_and(|node| {
            node.kind == NodeKind::Normal && topology.allowed.nodes.contains(node.os_index)
        })
    };
    pus.iter().filter_map(|pu| topology.pu(pu)?.nodes.first().copied()).filter(|node| holds(*node)).collect()
}

#[cfg(test)]
mod tests {
    use placement::Target;

    use super::*;
    use crate::machine::{NVIDIA, set, start};
    use crate::visible::VisibleGpus;

    fn pool(pus: &str, owner: PoolOwner) -> Pool {
        Pool { pus: set(pus), owner, how: String::new() }
    }

    /// The assignment of a rank that drives these GPUs of the four that its node is planned with.
    fn assignment(start: &Start, drives: &[usize]) -> GpuAssignment {
        let seen = VisibleGpus::of(start).gpus;
        GpuAssignment {
            drives: drives.iter().map(|at| seen[*at].clone()).collect(),
            targets: Target::gpus_of(&start.topology),
            ranks: 4,
            mine: drives.to_vec(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn each_gpus_rank_gets_its_share_of_the_node_and_memory_there() -> Result<(), RankPlaceError> {
        let start = start(NVIDIA, &[0, 1, 2, 3], &[]);
        let all: Result<Vec<RankBinding>, RankPlaceError> = (0..4)
            .map(|rank| {
                place(
                    &start,
                    &pool("0-15", PoolOwner::AllRanks),
                    &assignment(&start, &[rank]),
                    &Wish::default(),
                )
            })
            .collect();

        let all = all?;
        let pus: Vec<String> = all.iter().map(|place| place.pus.to_string()).collect();
        assert_eq!(pus, ["4-5", "6-7", "0-1", "2-3"]);
        let memory: Vec<String> = all.iter().map(|place| place.memory.to_string()).collect();
        assert_eq!(memory, ["1", "1", "0", "0"]);
        assert!(all.iter().all(|place| place.closeness == Some(Closeness::NumaLocal) && place.is_bound));
        Ok(())
    }

    #[test]
    fn a_rank_with_gpus_on_both_nodes_has_the_cores_and_the_memory_of_both() -> Result<(), RankPlaceError> {
        let start = start(NVIDIA, &[0, 1, 2, 3], &[]);
        let both = place(
            &start,
            &pool("0-15", PoolOwner::AllRanks),
            &assignment(&start, &[1, 2]),
            &Wish::default(),
        )?;
        assert_eq!((both.pus, both.memory), (set("0-1,6-7"), set("0-1")));
        let smt = Wish { ask: Ask { smt: true, ..Ask::default() }, ..Wish::default() };
        let threads = place(&start, &pool("0-15", PoolOwner::AllRanks), &assignment(&start, &[1]), &smt)?;
        assert_eq!(threads.pus, set("6-7,14-15"));
        Ok(())
    }

    #[test]
    fn a_rank_with_cores_on_two_nodes_has_its_memory_where_its_place_says() -> Result<(), RankPlaceError> {
        let start = start(NVIDIA, &[0, 1, 2, 3], &[]);
        let wish = Wish { ask: Ask { cores_per_rank: Some(5), ..Ask::default() }, ..Wish::default() };
        let one = GpuAssignment { ranks: 1, ..assignment(&start, &[0]) };
        let planned = place(&start, &pool("0-15", PoolOwner::AllRanks), &one, &wish)?;
        let gpus = GpuChoice::These(one.targets.clone());
        let ask = Ask { ranks: Some(1), gpus, ..wish.ask.clone() };
        let of_place = &recommend(&start.topology, &ask)?.places[0];

        assert_eq!((of_place.nodes.to_string(), of_place.memory_node), ("0-1".to_owned(), Some(1)));
        assert_eq!((&planned.pus, &planned.memory), (&of_place.pus, &set("1")));
        assert_eq!(found(&start.topology, of_place, &wish)?.memory, set("1"), "read back");
        Ok(())
    }

    #[test]
    fn pus_beyond_this_processs_own_binding_are_given_from_the_pool() -> Result<(), RankPlaceError> {
        let mut start = start(NVIDIA, &[0, 1, 2, 3], &[]);
        start.topology = start.topology.restricted_to(&set("0"));
        let there =
            place(&start, &pool("0-15", PoolOwner::AllRanks), &assignment(&start, &[0]), &Wish::default())?;
        assert_eq!(there.pus, set("4-5"));
        Ok(())
    }

    #[test]
    fn a_rank_with_pus_of_its_own_shares_them_with_nobody() -> Result<(), RankPlaceError> {
        let start = start(NVIDIA, &[0, 1, 2, 3], &[]);
        let mut own = assignment(&start, &[0]);
        (own.targets, own.ranks, own.mine) = (vec![own.drives[0].target.clone()], 1, vec![0]);
        let there = place(&start, &pool("4-7", PoolOwner::ThisRank), &own, &Wish::default())?;
        assert_eq!(there.pus, set("4-7"));
        let kept = place(&start, &pool("3-4", PoolOwner::Unchanged), &own, &Wish::default())?;
        assert_eq!((kept.pus, kept.memory, kept.is_bound), (set("3-4"), set("0-1"), false));
        assert_eq!(kept.closeness, Some(Closeness::Remote), "PU 3 is");
        Ok(())
    }

    #[test]
    fn memory_is_where_it_was_asked_to_be_or_a_refusal_says_why() -> Result<(), RankPlaceError> {
        let start = start(NVIDIA, &[0], &[]);
        let with = |memory| {
            let wish = Wish { memory, ..Wish::default() };
            place(&start, &pool("0-15", PoolOwner::AllRanks), &assignment(&start, &[0]), &wish)
        };
        assert_eq!(with(MemoryWish::Bound(Membind::Node(0)))?.memory, set("0"));
        assert_eq!(with(MemoryWish::Untouched)?.memory, set(""));
        for (nodes, seen) in [(Some(set("1")), "1"), (None, "0-1")] {
            let spread = with(MemoryWish::Bound(Membind::Spread(NodeUse::Interleave, nodes)))?;
            assert_eq!((spread.memory, spread.memory_use), (set(seen), NodeUse::Interleave));
        }

        let beyond =
            with(MemoryWish::Bound(Membind::Spread(NodeUse::WeightedInterleave, Some(set("0,7"))))).err();
        assert!(
            matches!(beyond, Some(RankPlaceError::Node(placement::NodeError::Unknown { node: 7, .. }))),
            "{beyond:?}"
        );
        let refused = with(MemoryWish::Bound(Membind::Node(7))).err();
        assert!(
            matches!(refused, Some(RankPlaceError::Node(placement::NodeError::Unknown { node: 7, .. }))),
            "{refused:?}"
        );
        Ok(())
    }
}
