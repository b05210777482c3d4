//! Which GPUs this rank drives, and with which ranks and GPUs its node is planned so that every rank of it comes to the same plan.
//!
//! | the ranks of a node | GPUs named | this rank drives |
//! |---|---|---|
//! | each see GPUs of their own | or not | all it sees (of those named) |
//! | see the same GPUs | no | one: ranks lie over the GPUs in blocks, and fewer ranks leave gaps of one size |
//! | see the same GPUs | yes | the list's GPUs in blocks: several each where there are more GPUs than ranks |
//! | see the same GPUs, and their PUs are their own | no | the nearest one |
//!
//! A process on its own that names none drives the first. Ranks that see different GPUs are told by what Slurm says of the step; without it,
//! a rank that sees one GPU of several is taken for one to which that one was given.

use placement::{Selection, SelectionError, Target, TargetId, verdict};
use ranks::Launcher;
use topo::Start;

use super::pool::Whose;
use super::seat::Seat;
use super::visible::{Seen, Sight};
use crate::args::place::GpuList;

/// The GPUs of a rank, and the plan of its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deal {
    /// The GPUs that this rank drives.
    pub drives: Vec<Seen>,
    /// The GPUs that the node is planned with, in the order of ranks; none for ranks without GPUs.
    pub targets: Vec<Target>,
    /// How many ranks it is planned with.
    pub ranks: usize,
    /// Those of them that are this one.
    pub mine: Vec<usize>,
    /// What is to be known of it.
    pub notes: Vec<String>,
}

/// Deals the GPUs out.
pub fn deal(
    start: &Start,
    sight: &Sight,
    asked: Option<&GpuList>,
    seat: &Seat,
    whose: Whose,
) -> Result<Deal, SelectionError> {
    let named = match asked {
        Some(GpuList::None) => Some(Vec::new()),
        Some(GpuList::Some(selection)) => Some(named(selection, sight)?),
        None => None,
    };
    let list = named.as_deref().unwrap_or(&sight.seen);
    let mut deal = if list.is_empty() {
        Deal { ranks: seat.local_size, mine: vec![seat.local_rank], ..Deal::default() }
    } else if are_its_own(start, sight, seat) {
        of_its_own(start, list)
    } else if whose != Whose::AllRanks && named.is_none() {
        nearest(start, list, seat)
    } else {
        in_blocks(list, named.is_some(), seat)
    };
    if whose != Whose::AllRanks {
        // Nobody else has these PUs: they are not shared out among the GPUs of others.
        deal.targets = deal.drives.iter().map(|seen| seen.target.clone()).collect();
        deal.ranks = deal.targets.len().max(1);
        deal.mine = (0..deal.ranks).collect();
    }
    Ok(deal)
}

fn named(selection: &Selection, sight: &Sight) -> Result<Vec<Seen>, SelectionError> {
    if *selection == Selection::All {
        return Ok(sight.seen.clone());
    }
    let targets = selection.resolve(&sight.targets())?;
    Ok(targets.iter().filter_map(|target| sight.find(target).cloned()).collect())
}

/// Whether what this rank sees is not what its neighbours see.
fn are_its_own(start: &Start, sight: &Sight, seat: &Seat) -> bool {
    if seat.is_only() {
        return seat.launcher != Launcher::Nobody;
    }
    let seen = sight.seen.len();
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
fn of_its_own(start: &Start, list: &[Seen]) -> Deal {
    let share = start.step.as_ref().map(|step| &step.gpus.share);
    let known = share.map(|share| share.usable.or(&share.other_tasks));
    let known = known.filter(|known| Some(known.len()) == of_step(start));
    let mut targets = Target::gpus_of(&start.topology);
    let is_driven = |target: &Target| list.iter().any(|seen| seen.target.id == target.id);
    targets.retain(|target| is_driven(target) || known.as_ref().is_none_or(|known| known.contains(target.index)));
    let mine = (0..targets.len()).filter(|at| is_driven(&targets[*at])).collect();
    Deal { drives: list.to_vec(), ranks: targets.len(), targets, mine, notes: Vec::new() }
}

/// The GPUs of a list that all ranks have, in blocks.
fn in_blocks(list: &[Seen], named: bool, seat: &Seat) -> Deal {
    let (rank, ranks, gpus) = (seat.local_rank, seat.local_size, list.len());
    let block = if named && gpus > ranks {
        rank * gpus / ranks..(rank + 1) * gpus / ranks
    } else {
        let at = rank * gpus / ranks;
        at..at + 1
    };
    let targets = |list: &[Seen]| -> Vec<Target> { list.iter().map(|seen| seen.target.clone()).collect() };
    let drives = list[block.clone()].to_vec();
    if named && gpus > ranks {
        return Deal { drives, targets: targets(list), ranks: gpus, mine: block.collect(), notes: Vec::new() };
    }
    let chosen: Vec<Seen> = match gpus > ranks {
        true => (0..ranks).map(|rank| list[rank * gpus / ranks].clone()).collect(),
        false => list.to_vec(),
    };
    Deal { drives, targets: targets(&chosen), ranks, mine: vec![rank], notes: Vec::new() }
}

/// The nearest GPU to where the rank already is; of several as near, neighbours in rank take one after the other.
fn nearest(start: &Start, list: &[Seen], seat: &Seat) -> Deal {
    let pu = start.topology.allowed.pus.first().unwrap_or_default();
    let close = |seen: &Seen| match seen.target.id {
        TargetId::Gpu(_) => verdict(&start.topology, pu, seen.target.id).closeness,
        TargetId::Node(_) => placement::Closeness::Unknown,
    };
    let best = list.iter().map(close).min();
    let near: Vec<&Seen> = list.iter().filter(|seen| Some(close(seen)) == best).collect();
    let mut notes = Vec::new();
    if near.len() > 1 && !seat.is_only() {
        notes.push(format!("of {} GPUs as near to PU {pu} the one for rank {} was taken", near.len(), seat.local_rank));
    }
    let at = if best == Some(placement::Closeness::Unknown) {
        seat.local_rank * near.len() / seat.local_size
    } else {
        seat.local_rank % near.len().max(1)
    };
    Deal { drives: near.get(at).map(|seen| (*seen).clone()).into_iter().collect(), notes, ..Deal::default() }
}

#[cfg(test)]
mod tests {
    use topo::step::{GpuShare, Share, Step};

    use super::*;
    use crate::exec::machine::{AMD, NVIDIA, set, start};

    fn seat(launcher: Launcher, local_rank: usize, local_size: usize) -> Seat {
        Seat { launcher, of_all: None, local_rank, local_size }
    }

    fn dealt(start: &Start, gpus: Option<&str>, seat: &Seat, whose: Whose) -> Result<Deal, SelectionError> {
        let asked = gpus.map(str::parse::<GpuList>).transpose()?;
        deal(start, &Sight::of(start), asked.as_ref(), seat, whose)
    }

    fn drives(deal: &Deal) -> Vec<u32> {
        deal.drives.iter().map(|seen| seen.target.index).collect()
    }

    /// What each of `ranks` ranks drives.
    fn all(start: &Start, gpus: Option<&str>, ranks: usize) -> Result<Vec<Vec<u32>>, SelectionError> {
        let one = |rank| dealt(start, gpus, &seat(Launcher::Srun, rank, ranks), Whose::AllRanks);
        (0..ranks).map(|rank| one(rank).map(|deal| drives(&deal))).collect()
    }

    fn in_step(mut start: Start, count: u32, usable: &str, other_tasks: &str) -> Start {
        let share = Share {
            count: Some(count),
            usable: set(usable),
            other_tasks: set(other_tasks),
            reason: String::new(),
            ..Share::default()
        };
        let words = |text: &str| text.to_owned();
        let gpus = GpuShare { numbers: Some(set(usable)), other_numbers: set(""), share };
        let cpus = Share::default();
        let step = Step { scheduler: words("slurm"), job: words("1"), step: words("0"), node: None, cpus, gpus };
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
        assert_eq!(all(&all_seen, Some("all"), 2)?, [[0, 1], [2, 3]], "all were asked for, so none is left out");
        assert_eq!(all(&start(AMD, &[2, 3], &[]), None, 2)?, [[2], [3]]);
        Ok(())
    }

    #[test]
    fn every_rank_comes_to_the_same_plan() -> Result<(), SelectionError> {
        let start = start(AMD, &[0, 1, 2, 3], &[]);
        for gpus in [None, Some("3,1"), Some("all"), Some("none")] {
            let plan = |rank| -> Result<_, SelectionError> {
                let deal = dealt(&start, gpus, &seat(Launcher::Srun, rank, 2), Whose::AllRanks)?;
                Ok((deal.targets, deal.ranks, deal.mine))
            };
            let (one, other) = (plan(0)?, plan(1)?);
            assert_eq!((&one.0, one.1), (&other.0, other.1), "{gpus:?}");
            assert!(one.2.iter().all(|mine| !other.2.contains(mine)), "{gpus:?}: {one:?} {other:?}");
        }
        Ok(())
    }

    #[test]
    fn a_rank_that_slurm_gave_gpus_to_keeps_them_all_and_takes_their_share_of_the_steps() -> Result<(), SelectionError>
    {
        let one = in_step(start(NVIDIA, &[2], &[]), 4, "2", "0-1,3");
        let deal = dealt(&one, None, &seat(Launcher::Srun, 2, 4), Whose::AllRanks)?;
        assert_eq!((drives(&deal), deal.ranks, &deal.mine), (vec![2], 4, &vec![2]));
        let two = in_step(start(NVIDIA, &[2, 3], &[]), 4, "2-3", "0-1");
        let deal = dealt(&two, None, &seat(Launcher::Srun, 1, 2), Whose::AllRanks)?;
        assert_eq!((drives(&deal), &deal.mine), (vec![2, 3], &vec![2, 3]));
        let half = in_step(start(NVIDIA, &[3], &[]), 2, "3", "2");
        let deal = dealt(&half, None, &seat(Launcher::Srun, 1, 2), Whose::AllRanks)?;
        assert_eq!((deal.ranks, &deal.mine), (2, &vec![1]), "only the step's GPUs have ranks");
        Ok(())
    }

    #[test]
    fn ranks_that_all_see_the_steps_gpus_share_them_out() -> Result<(), SelectionError> {
        let two = in_step(start(NVIDIA, &[0, 1], &[]), 2, "0-1", "");
        assert_eq!(all(&two, None, 2)?, [[0], [1]]);
        let one = in_step(start(NVIDIA, &[1], &[]), 1, "1", "");
        let deal = dealt(&one, None, &seat(Launcher::Srun, 1, 2), Whose::AllRanks)?;
        assert_eq!((drives(&deal), deal.ranks, &deal.mine), (vec![1], 2, &vec![1]), "two ranks share its cores");
        Ok(())
    }

    #[test]
    fn one_gpu_of_several_is_taken_for_the_ranks_own_where_nobody_says() -> Result<(), SelectionError> {
        let deal = dealt(&start(NVIDIA, &[1], &[]), None, &seat(Launcher::Mpirun, 3, 4), Whose::AllRanks)?;
        assert_eq!((drives(&deal), deal.ranks, &deal.mine), (vec![1], 4, &vec![1]));
        Ok(())
    }

    #[test]
    fn the_only_rank_of_a_launch_keeps_what_it_sees_and_a_process_on_its_own_takes_the_first()
    -> Result<(), SelectionError> {
        let start = start(NVIDIA, &[1, 2], &[]);
        assert_eq!(drives(&dealt(&start, None, &seat(Launcher::Srun, 0, 1), Whose::AllRanks)?), [1, 2]);
        let alone = seat(Launcher::Nobody, 0, 1);
        assert_eq!(drives(&dealt(&start, None, &alone, Whose::AllRanks)?), [1]);
        assert_eq!(drives(&dealt(&start, Some("2"), &alone, Whose::AllRanks)?), [2]);
        assert_eq!(drives(&dealt(&start, Some("all"), &alone, Whose::AllRanks)?), [1, 2]);
        Ok(())
    }

    #[test]
    fn what_is_not_seen_cannot_be_named() {
        let hidden = dealt(&start(NVIDIA, &[1], &[]), Some("0"), &seat(Launcher::Nobody, 0, 1), Whose::AllRanks);
        assert!(matches!(hidden, Err(SelectionError::Absent { .. })), "{hidden:?}");
    }

    #[test]
    fn a_rank_whose_pus_are_its_own_takes_a_gpu_near_to_them() -> Result<(), SelectionError> {
        let mut near_node_1 = start(AMD, &[0, 1, 2, 3], &[]);
        near_node_1.topology = near_node_1.topology.restricted_to(&set("6"));
        let deal = dealt(&near_node_1, None, &seat(Launcher::Srun, 3, 4), Whose::ThisRanks)?;
        assert_eq!((drives(&deal), deal.ranks, &deal.mine), (vec![1], 1, &vec![0]));
        assert!(deal.notes[0].contains("of 2 GPUs as near to PU 6"), "{:?}", deal.notes);
        let even = dealt(&near_node_1, None, &seat(Launcher::Srun, 2, 4), Whose::Kept)?;
        assert_eq!(drives(&even), [0]);
        let named = dealt(&near_node_1, Some("2,3,0,1"), &seat(Launcher::Srun, 3, 4), Whose::Kept)?;
        assert_eq!(drives(&named), [1], "what is named goes by rank");
        Ok(())
    }

    #[test]
    fn without_gpus_ranks_are_planned_without() -> Result<(), SelectionError> {
        let deal = dealt(&start(AMD, &[], &[]), None, &seat(Launcher::Srun, 1, 2), Whose::AllRanks)?;
        assert_eq!((deal.targets.len(), deal.ranks, &deal.mine), (0, 2, &vec![1]));
        let none = dealt(&start(AMD, &[0], &[]), Some("none"), &seat(Launcher::Srun, 1, 2), Whose::AllRanks)?;
        assert_eq!((none.drives.len(), none.targets.len()), (0, 0));
        Ok(())
    }
}
