//! How the processes of each node find one another: from messages to a page of shared memory.
//!
//! ```text
//! every rank ── its place ──► rank 0 ── the ranks of its node, or who is missing ──► every rank
//! a node's first rank ── the page's name ──► its others ── joined, or why not ──► the first
//!                     ── all well, or why not ──► its others
//! ```
//!
//! Each step has one message for each rank, so the cost is linear in the ranks. Whoever must tell others how
//! a wait ended waits a shorter time than they do: all learn the real reason and not only that time was up.
//! The page's name is removed before anybody returns, well or not; it stays behind only if a node's members
//! all die within these milliseconds.

use std::path::PathBuf;

use serde::de::DeserializeOwned;

use crate::Ranks;
use crate::communicator::{Communicator, ExchangeError};
use crate::deadline::Deadline;
use crate::liveness::Liveness;
use crate::processes::Processes;
use crate::wire::{from_bytes, to_bytes};
use crate::world::{WorldError, WorldPlace};

/// Why the processes of this node are no group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RendezvousError {
    /// The transport failed.
    #[error(transparent)]
    World(#[from] WorldError),
    /// No answer came in time.
    #[error("rank {from} did not answer in time when the ranks met; it has ended, or is not running yet")]
    NoAnswer {
        /// Who should have answered.
        from: usize,
    },
    /// Somebody else knows why; in its words.
    #[error("{0}")]
    Refused(String),
}

impl From<ExchangeError> for RendezvousError {
    fn from(error: ExchangeError) -> Self {
        match error {
            ExchangeError::World(error) => Self::World(error),
            ExchangeError::Late { from } => Self::NoAnswer { from },
        }
    }
}

impl Processes {
    /// Collective over all processes of the launch: makes a group of those of this node, the member's number
    /// being its `node_rank`. When it returns well, all of this node's have joined; other nodes may have
    /// failed.
    ///
    /// # Errors
    /// [`RendezvousError`] names who did not come or could not join, the same on all ranks of the node.
    pub fn rendezvous(comm: &mut Communicator, deadline: Deadline) -> Result<Self, RendezvousError> {
        let neighbours = neighbours(comm, deadline);
        // One exchange for each of the three steps, counted by all alike, also by a rank that has failed
        // already.
        let steps = comm.begin();
        let neighbours = neighbours?;
        match neighbours.first() {
            Some(&first) if first != comm.place().rank => follow(comm, first, steps, deadline),
            _ => lead(comm, &neighbours, steps, deadline.most_of_it()),
        }
    }
}

/// The ranks of this process's node, in order.
fn neighbours(comm: &mut Communicator, deadline: Deadline) -> Result<Vec<usize>, RendezvousError> {
    let mine = comm.place();
    let own = to_bytes(&[mine.node, mine.node_rank, mine.node_size]);
    let nodes = comm.gather(&own, deadline.most_of_it())?.map(|places| by_node(mine, &places));
    let of_rank = |rank: usize| {
        let nodes = nodes.as_ref().map(|nodes| nodes.as_ref().map(|(nodes, node_of)| &nodes[node_of[rank]]));
        nodes.map(|told| to_bytes(&told)).unwrap_or_default()
    };
    told(&comm.scatter(of_rank, deadline)?)
}

type Nodes = (Vec<Vec<usize>>, Vec<usize>);

/// The ranks of each node and the node of each rank, from everybody's node, number on it and count; or what
/// is wrong.
fn by_node(launch: WorldPlace, places: &[Option<Vec<u8>>]) -> Result<Nodes, String> {
    let missing: Vec<_> =
        places.iter().enumerate().filter(|(_, place)| place.is_none()).map(|(rank, _)| rank).collect();
    if !missing.is_empty() {
        return Err(format!("{} did not answer in time when the ranks met", listed(&missing)));
    }
    let mut nodes = vec![Vec::new(); launch.nodes];
    let mut node_of = Vec::with_capacity(launch.size);
    let mut sizes = Vec::with_capacity(launch.size);

    for (rank, place) in places.iter().enumerate() {
        let Ok([node, node_rank, node_size]) = from_bytes::<[usize; 3]>(place.as_deref().unwrap_or_default())
        else {
            return Err(format!(
                "rank {rank} runs another version of numabench: run the same one on all ranks"
            ));
        };
        let Some(ranks) = nodes.get_mut(node).filter(|ranks| ranks.len() == node_rank) else {
            return Err(format!(
                "rank {rank} says that it is number {node_rank} of node {node}, which fits no other rank"
            ));
        };
        ranks.push(rank);
        node_of.push(node);
        sizes.push(node_size);
    }

    match (0..launch.size).find(|&rank| nodes[node_of[rank]].len() != sizes[rank]) {
        Some(rank) => {
            let (said, came) = (sizes[rank], nodes[node_of[rank]].len());
            Err(format!("rank {rank} says that its node has {said} ranks, but {came} came"))
        }
        None => Ok((nodes, node_of)),
    }
}

/// The part of a node's first rank.
fn lead(
    comm: &mut Communicator,
    neighbours: &[usize],
    [name, joined, verdict]: [u32; 3],
    deadline: Deadline,
) -> Result<Processes, RendezvousError> {
    let others = neighbours.get(1..).unwrap_or_default();
    let made = Processes::create(neighbours.len().max(1));
    let made = made.map_err(|error| error.to_string());
    let message = to_bytes(&made.as_ref().map(|(path, _)| path));
    for &to in others {
        comm.post(name, to, &message)?;
    }
    let (_, group) = made.map_err(RendezvousError::Refused)?;

    let mut troubles = Vec::new();
    let mut missing = Vec::new();
    for &from in others {
        match comm.await_message(joined, from, deadline) {
            Ok(answer) => {
                troubles.extend(told::<()>(&answer).err().map(|error| format!("rank {from}: {error}")))
            }
            Err(ExchangeError::Late { from }) => missing.push(from),
            Err(ExchangeError::World(error)) => return Err(error.into()),
        }
    }
    group.remove_name();
    if !missing.is_empty() {
        troubles.push(format!("{} did not answer in time to share memory", listed(&missing)));
    }
    let outcome = if troubles.is_empty() { Ok(()) } else { Err(troubles.join("; ")) };
    for &to in others {
        comm.post(verdict, to, &to_bytes(&outcome))?;
    }
    outcome.map_err(RendezvousError::Refused)?;
    look_at_all(&group);
    Ok(group)
}

/// The part of a node's other ranks.
fn follow(
    comm: &mut Communicator,
    first: usize,
    [name, joined, verdict]: [u32; 3],
    deadline: Deadline,
) -> Result<Processes, RendezvousError> {
    let path: PathBuf = told(&comm.await_message(name, first, deadline)?)?;
    let group = Processes::join(&path, comm.place().node_rank).map_err(|error| error.to_string());
    comm.post(joined, first, &to_bytes(&group.as_ref().map(|_| ())))?;
    // Dropped without a verdict, the group removes the page's name.
    told::<()>(&comm.await_message(verdict, first, deadline)?)?;
    let group = group.map_err(RendezvousError::Refused)?;
    group.remove_name();
    look_at_all(&group);
    Ok(group)
}

/// Only who has been seen alive can be seen to be gone, so all are looked at while they are surely there.
fn look_at_all(group: &Processes) {
    for member in 0..group.size() {
        let _: Option<Liveness> = group.liveness(member);
    }
}

/// What another rank told: something, or why there is nothing.
fn told<T: DeserializeOwned>(answer: &[u8]) -> Result<T, RendezvousError> {
    let empty =
        |_| Err("the answer was empty when the ranks met: run the same numabench on all ranks".to_owned());
    from_bytes::<Result<T, String>>(answer).unwrap_or_else(empty).map_err(RendezvousError::Refused)
}

/// "rank 3", "ranks 3, 5", and no more than ten of them.
fn listed(ranks: &[usize]) -> String {
    let names: Vec<_> = ranks.iter().take(10).map(ToString::to_string).collect();
    let more = ranks.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("rank{} {}{more}", if ranks.len() == 1 { "" } else { "s" }, names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(of: &[[usize; 3]]) -> Vec<Option<Vec<u8>>> {
        of.iter().map(|place| Some(to_bytes(place))).collect()
    }

    #[test]
    fn ranks_of_one_node_are_found_however_they_are_spread() {
        let launch = WorldPlace { size: 4, nodes: 2, ..WorldPlace::SINGLE };
        let found = by_node(launch, &places(&[[0, 0, 2], [1, 0, 2], [0, 1, 2], [1, 1, 2]]));
        assert_eq!(found, Ok((vec![vec![0, 2], vec![1, 3]], vec![0, 1, 0, 1])));
    }

    #[test]
    fn who_is_missing_is_named_and_what_does_not_fit_is_refused() {
        let launch = WorldPlace { size: 3, nodes: 1, ..WorldPlace::SINGLE };
        let why = |all: &[Option<Vec<u8>>]| by_node(launch, all).expect_err("refused");
        let mut all = places(&[[0, 0, 3], [0, 1, 3], [0, 2, 3]]);
        all[1] = None;
        assert_eq!(why(&all), "rank 1 did not answer in time when the ranks met");
        all[2] = None;
        assert_eq!(why(&all), "ranks 1, 2 did not answer in time when the ranks met");

        for (all, said) in [
            (
                [[0, 0, 3], [1, 0, 3], [0, 1, 3]],
                "rank 1 says that it is number 0 of node 1, which fits no other rank",
            ),
            (
                [[0, 0, 3], [0, 0, 3], [0, 1, 3]],
                "rank 1 says that it is number 0 of node 0, which fits no other rank",
            ),
            ([[0, 0, 3], [0, 1, 4], [0, 2, 3]], "rank 1 says that its node has 4 ranks, but 3 came"),
        ] {
            assert_eq!(why(&places(&all)), said);
        }
    }

    #[test]
    fn a_long_list_of_ranks_is_cut() {
        assert_eq!(listed(&(0..12).collect::<Vec<_>>()), "ranks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more");
    }
}
