//! Which GPUs this rank drives, and with which ranks and GPUs its node is planned so that every rank of it
//! comes to the same plan.
//!
//! | the ranks of a node | GPUs named | this rank drives |
//! |---|---|---|
//! | each see GPUs of their own | or not | all it sees (of those named) |
//! | see the same GPUs | no | one: blocks of ranks a GPU; fewer ranks take GPUs near their PUs, evenly |
//! | see the same GPUs | yes | the list's GPUs in blocks: several each where there are more GPUs than ranks |
//! | see the same GPUs, and their PUs are their own | no | the nearest one |
//!
//! A process on its own that names none drives the first. Ranks that see different GPUs are told by what
//! Slurm says of the step; without it, a rank that sees one GPU of several is taken for one to which that one
//! was given.

use launchers::Launcher;
use placement::{GpuList, Selection, SelectionError, Target, TargetId, gpus_of_ranks, verdict};
use topo::{Start, Topology};

use super::pool::{Pool, PoolOwner};
use super::rank_slot::RankSlot;
use super::visible::{VisibleGpu, VisibleGpus};

/// The GPUs of a rank, and the plan of its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuAssignment {
    /// The GPUs that this rank drives.
    pub drives: Vec<VisibleGpu>,
    /// The GPUs that the node is planned with, in the order of ranks; none for ranks without GPUs.
    pub targets: Vec<Target>,
    /// How many ranks it is planned with.
    pub ranks: usize,
    /// Those of them that are this one.
    pub mine: Vec<usize>,
    /// What is to be known of it.
    pub notes: Vec<String>,
}

/// Assigns the GPUs.
pub fn assign_gpus(
    start: &Start,
    visible: &VisibleGpus,
    asked: Option<&GpuList>,
    slot: &RankSlot,
    pool: &Pool,
) -> Result<GpuAssignment, SelectionError> {
    let owner = pool.owner;
    let named = match asked {
        Some(GpuList::None) => Some(Vec::new()),
        Some(GpuList::Some(selection)) => Some(named(selection, visible)?),
        None => None,
    };
    let list = named.as_deref().unwrap_or(&visible.gpus);
    let mut assignment = if list.is_empty() {
        GpuAssignment { ranks: slot.local_size, mine: vec![slot.local_rank], ..GpuAssignment::default() }
    } else if are_its_own(start, visible, slot) {
        of_its_own(start, list)
    } else if owner != PoolOwner::AllRanks && named.is_none() {
        nearest(start, list, slot)
    } else {
        in_blocks(&start.topology, list, named.is_some(), slot, pool)
    };

    if owner != PoolOwner::AllRanks {
        // Nobody else has these PUs: they are not shared out among the GPUs of others.
        assignment.targets = assignment.drives.iter().map(|seen| seen.target.clone()).collect();
        assignment.ranks = assignment.targets.len().max(1);
        assignment.mine = (0..assignment.ranks).collect();
    }
    Ok(assignment)
}

fn named(selection: &Selection, visible: &VisibleGpus) -> Result<Vec<VisibleGpu>, SelectionError> {
    if *selection == Selection::All {
        return Ok(visible.gpus.clone());
    }
    let targets = selection.resolve(&visible.targets())?;
    Ok(targets.iter().filter_map(|target| visible.find(target).cloned()).collect())
}

/// Whether what this rank sees is not what its neighbours see.
fn are_its_own(start: &Start, visible: &VisibleGpus, slot: &RankSlot) -> bool {
    if slot.is_only() {
        return slot.launcher != Launcher::Nobody;
    }
    let seen = visible.gpus.len();
    match of_step(start) {
        Some(count) => seen < count,
        None => seen == 1 && start.topology.gpus.len() > 1,
    }
}

/// How many GPUs the step has on this node, where the scheduler says it.
fn of_step(start: &Start) -> Option<usize> {
    start.step.as_ref()?.gpus.share.count.map(|count| count as usize).filter(|count| *count > 0)
}

/// A rank to which GPUs were given: its cores are their shares in a plan that has every GPU of the step.
fn of_its_own(start: &Start, list: &[VisibleGpu]) -> GpuAssignment {
    let share = start.step.as_ref().map(|step| &step.gpus.share);
    let known = share.map(|share| share.usable.or(&share.other_tasks));
    let known = known.filter(|known| Some(known.len()) == of_step(start));
    let mut targets = Target::gpus_of(&start.topology);
    let is_driven = |target: &Target| list.iter().any(|seen| seen.target.id == target.id);
    targets.retain(|target| {
        is_driven(target) || known.as_ref().is_none_or(|known| known.contains(target.index))
    });
    let mine = (0..targets.len()).filter(|at| is_driven(&targets[*at])).collect();
    GpuAssignment { drives: list.to_vec(), ranks: targets.len(), targets, mine, notes: Vec::new() }
}

/// The GPUs of a list that all ranks have, in blocks.
fn in_blocks(
    topology: &Topology,
    list: &[VisibleGpu],
    named: bool,
    slot: &RankSlot,
    pool: &Pool,
) -> GpuAssignment {
    let (rank, ranks, gpus) = (slot.local_rank, slot.local_size, list.len());
    let all: Vec<Target> = list.iter().map(|seen| seen.target.clone()).collect();
    if named && gpus > ranks {
        let block = rank * gpus / ranks..(rank + 1) * gpus / ranks;
        let drives = list[block.clone()].to_vec();
        return GpuAssignment { drives, targets: all, ranks: gpus, mine: block.collect(), notes: Vec::new() };
    }
    let targets = if named {
        (0..ranks).map(|rank| all[rank * gpus / ranks].clone()).collect()
    } else {
        gpus_of_ranks(topology, &pool.pus, &all, ranks)
    };
    let drives =
        list.iter().filter(|seen| targets.get(rank) == Some(&seen.target)).take(1).cloned().collect();
    GpuAssignment { drives, targets, ranks, mine: vec![rank], notes: Vec::new() }
}

/// The nearest GPU to where the rank already is; of several as near, neighbours in rank take one after the
/// other.
fn nearest(start: &Start, list: &[VisibleGpu], slot: &RankSlot) -> GpuAssignment {
    let pu = start.topology.allowed.pus.first().unwrap_or_default();
    let close = |seen: &VisibleGpu| match seen.target.id {
        TargetId::Gpu(_) => verdict(&start.topology, pu, seen.target.id).closeness,
        TargetId::Node(_) => placement::Closeness::Unknown,
    };
    let best = list.iter().map(close).min();
    let near: Vec<&VisibleGpu> = list.iter().filter(|seen| Some(close(seen)) == best).collect();
    let mut notes = Vec::new();

    if near.len() > 1 && !slot.is_only() {
        notes.push(format!(
            "of {} GPUs as near to PU {pu} the one for rank {} was taken",
            near.len(),
            slot.local_rank
        ));
    }

    let at = if best == Some(placement::Closeness::Unknown) {
        slot.local_rank * near.len() / slot.local_size
    } else {
        slot.local_rank % near.len().max(1)
    };

    GpuAssignment {
        drives: near.get(at).map(|seen| (*seen).clone()).into_iter().collect(),
        notes,
        ..GpuAssignment::default()
    }
}

#[cfg(test)]
mod tests {
    use topo::step::{GpuShare, Step, StepShare};

    use super::*;
    use crate::machine::{AMD, NVIDIA, set, start};

    fn slot(launcher: Launcher, local_rank: usize, local_size: usize) -> RankSlot {
        RankSlot { launcher, of_all: None, local_rank, local_size }
    }

    fn assigned(
        start: &Start,
        gpus: Option<&str>,
        slot: &RankSlot,
        owner: PoolOwner,
    ) -> Result<GpuAssignment, SelectionError> {
        let asked = gpus.map(str::parse::<GpuList>).transpose()?;
        let pool = Pool { pus: start.topology.allowed.pus.clone(), owner, how: String::new() };
        assign_gpus(start, &VisibleGpus::of(start), asked.as_ref(), slot, &pool)
    }

    fn drives(assignment: &GpuAssignment) -> Vec<u32> {
        assignment.drives.iter().map(|seen| seen.target.index).collect()
    }

    /// What each of `ranks` ranks drives.
    fn all(start: &Start, gpus: Option<&str>, ranks: usize) -> Result<Vec<Vec<u32>>, SelectionError> {
        let one = |rank| assigned(start, gpus, &slot(Launcher::Srun, rank, ranks), PoolOwner::AllRanks);
        (0..ranks).map(|rank| one(rank).map(|assignment| drives(&assignment))).collect()
    }

    fn in_step(mut start: Start, count: u32, usable: &str, other_tasks: &str) -> Start {
        let share = StepShare {
            count: Some(count),
            usable: set(usable),
            other_tasks: set(other_tasks),
            reason: String::new(),
            ..StepShare::default()
        };
        let words = |text: &str| text.to_owned();
        let gpus = GpuShare { numbers: Some(set(usable)), other_numbers: set(""), share };
        let cpus = StepShare::default();
        let step =
            Step { scheduler: words("slurm"), job: words("1"), step: words("0"), node: None, cpus, gpus };
        start.step = Some(step);
        start
    }

    #[test]
    fn ranks_that_see_the_same_gpus_lie_over_them_in_blocks() -> Result<(), SelectionError> {
        let all_seen = start(AMD, &[0, 1, 2, 3], &[]);
        assert_eq!(all(&all_seen, None, 4)?, [[0], [1], [2], [3]]);
        assert_eq!(all(&all_seen, None, 2)?, [[0], [2]], "every second one");
        assert_eq!(all(&all_seen, None, 8)?.concat(), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(all(&all_seen, Some("3,1"), 2)?, [[3], [1]]);
        assert_eq!(
            all(&all_seen, Some("all"), 2)?,
            [[0, 1], [2, 3]],
            "all were asked for, so none is left out"
        );
        assert_eq!(all(&start(AMD, &[2, 3], &[]), None, 2)?, [[2], [3]]);
        Ok(())
    }

    #[test]
    fn every_rank_comes_to_the_same_plan() -> Result<(), SelectionError> {
        let start = start(AMD, &[0, 1, 2, 3], &[]);
        for gpus in [None, Some("3,1"), Some("all"), Some("none")] {
            let plan = |rank| -> Result<_, SelectionError> {
                let assignment = assigned(&start, gpus, &slot(Launcher::Srun, rank, 2), PoolOwner::AllRanks)?;
                Ok((assignment.targets, assignment.ranks, assignment.mine))
            };
            let (one, other) = (plan(0)?, plan(1)?);
            assert_eq!((&one.0, one.1), (&other.0, other.1), "{gpus:?}");
            assert!(one.2.iter().all(|mine| !other.2.contains(mine)), "{gpus:?}: {one:?} {other:?}");
        }
        Ok(())
    }

    #[test]
    fn a_rank_that_slurm_gave_gpus_to_keeps_them_all_and_takes_their_share_of_the_steps()
    -> Result<(), SelectionError> {
        let one = in_step(start(NVIDIA, &[2], &[]), 4, "2", "0-1,3");
        let assignment = assigned(&one, None, &slot(Launcher::Srun, 2, 4), PoolOwner::AllRanks)?;
        assert_eq!((drives(&assignment), assignment.ranks, &assignment.mine), (vec![2], 4, &vec![2]));
        let two = in_step(start(NVIDIA, &[2, 3], &[]), 4, "2-3", "0-1");
        let assignment = assigned(&two, None, &slot(Launcher::Srun, 1, 2), PoolOwner::AllRanks)?;
        assert_eq!((drives(&assignment), &assignment.mine), (vec![2, 3], &vec![2, 3]));
        let half = in_step(start(NVIDIA, &[3], &[]), 2, "3", "2");
        let assignment = assigned(&half, None, &slot(Launcher::Srun, 1, 2), PoolOwner::AllRanks)?;
        assert_eq!((assignment.ranks, &assignment.mine), (2, &vec![1]), "only the step's GPUs have ranks");
        Ok(())
    }

    #[test]
    fn ranks_that_all_see_the_steps_gpus_share_them_out() -> Result<(), SelectionError> {
        let two = in_step(start(NVIDIA, &[0, 1], &[]), 2, "0-1", "");
        assert_eq!(all(&two, None, 2)?, [[0], [1]]);
        let one = in_step(start(NVIDIA, &[1], &[]), 1, "1", "");
        let assignment = assigned(&one, None, &slot(Launcher::Srun, 1, 2), PoolOwner::AllRanks)?;
        assert_eq!(
            (drives(&assignment), assignment.ranks, &assignment.mine),
            (vec![1], 2, &vec![1]),
            "two ranks share its cores"
        );
        Ok(())
    }

    #[test]
    fn one_gpu_of_several_is_taken_for_the_ranks_own_where_nobody_says() -> Result<(), SelectionError> {
        let assignment =
            assigned(&start(NVIDIA, &[1], &[]), None, &slot(Launcher::Mpirun, 3, 4), PoolOwner::AllRanks)?;
        assert_eq!((drives(&assignment), assignment.ranks, &assignment.mine), (vec![1], 4, &vec![1]));
        Ok(())
    }

    #[test]
    fn the_only_rank_of_a_launch_keeps_what_it_sees_and_a_process_on_its_own_takes_the_first()
    -> Result<(), SelectionError> {
        let start = start(NVIDIA, &[1, 2], &[]);
        assert_eq!(
            drives(&assigned(&start, None, &slot(Launcher::Srun, 0, 1), PoolOwner::AllRanks)?),
            [1, 2]
        );
        let alone = slot(Launcher::Nobody, 0, 1);
        assert_eq!(drives(&assigned(&start, None, &alone, PoolOwner::AllRanks)?), [1]);
        assert_eq!(drives(&assigned(&start, Some("2"), &alone, PoolOwner::AllRanks)?), [2]);
        assert_eq!(drives(&assigned(&start, Some("all"), &alone, PoolOwner::AllRanks)?), [1, 2]);
        Ok(())
    }

    #[test]
    fn what_is_not_seen_cannot_be_named() {
        let hidden = assigned(
            &start(NVIDIA, &[1], &[]),
            Some("0"),
            &slot(Launcher::Nobody, 0, 1),
            PoolOwner::AllRanks,
        );
        assert!(matches!(hidden, Err(SelectionError::Absent { .. })), "{hidden:?}");
    }

    #[test]
    fn a_rank_whose_pus_are_its_own_takes_a_gpu_near_to_them() -> Result<(), SelectionError> {
        let mut near_node_1 = start(AMD, &[0, 1, 2, 3], &[]);
        near_node_1.topology = near_node_1.topology.restricted_to(&set("6"));
        let assignment = assigned(&near_node_1, None, &slot(Launcher::Srun, 3, 4), PoolOwner::ThisRank)?;
        assert_eq!((drives(&assignment), assignment.ranks, &assignment.mine), (vec![1], 1, &vec![0]));
        assert!(
            ["2 GPUs", "PU 6"].iter().all(|part| assignment.notes[0].contains(part)),
            "{:?}",
            assignment.notes
        );
        let even = assigned(&near_node_1, None, &slot(Launcher::Srun, 2, 4), PoolOwner::Unchanged)?;
        assert_eq!(drives(&even), [0]);
        let named =
            assigned(&near_node_1, Some("2,3,0,1"), &slot(Launcher::Srun, 3, 4), PoolOwner::Unchanged)?;
        assert_eq!(drives(&named), [1], "what is named goes by rank");
        Ok(())
    }

    #[test]
    fn without_gpus_ranks_are_planned_without() -> Result<(), SelectionError> {
        let assignment =
            assigned(&start(AMD, &[], &[]), None, &slot(Launcher::Srun, 1, 2), PoolOwner::AllRanks)?;
        assert_eq!((assignment.targets.len(), assignment.ranks, &assignment.mine), (0, 2, &vec![1]));
        let none =
            assigned(&start(AMD, &[0], &[]), Some("none"), &slot(Launcher::Srun, 1, 2), PoolOwner::AllRanks)?;
        assert_eq!((none.drives.len(), none.targets.len()), (0, 0));
        Ok(())
    }
}
