//! A launch within one process: each of its "processes" is a thread, on whichever "node" it is said to be.
//!
//! For tests and simulations of large launches. Messages go through channels and nobody starts anything: what
//! the threads do is their caller's. A thread that drops its world is as dead as a killed process: messages
//! to it vanish, and nobody is told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use crate::world::{Message, World, WorldError, WorldPlace};

/// No code is this large, so nobody has given up.
const NOT_ABORTED: u16 = u16::MAX;

/// One thread of a launch of threads.
#[derive(Debug)]
pub struct LocalWorld {
    place: WorldPlace,
    messages: Receiver<Message>,
    to: Vec<Sender<Message>>,
    aborted: Arc<AtomicU16>,
}

impl LocalWorld {
    /// A launch of nodes with this many processes each, ranks counted node by node.
    pub fn launch(nodes: &[usize]) -> Vec<Self> {
        let node_of: Vec<_> = nodes.iter().enumerate().flat_map(|(node, &size)| vec![node; size]).collect();
        Self::launch_on(&node_of)
    }

    /// A launch in which rank i is on node `node_of[i]`; the nodes' names do not matter, they are numbered by
    /// their lowest rank.
    pub fn launch_on(node_of: &[usize]) -> Vec<Self> {
        let mut members = BTreeMap::<usize, Vec<usize>>::new();
        for (rank, &node) in node_of.iter().enumerate() {
            members.entry(node).or_default().push(rank);
        }
        let mut nodes: Vec<_> = members.into_values().collect();
        nodes.sort_unstable_by_key(|ranks| ranks[0]);
        let (to, messages): (Vec<_>, Vec<_>) = node_of.iter().map(|_| channel()).unzip();
        let aborted = Arc::new(AtomicU16::new(NOT_ABORTED));

        let mut places =
            vec![WorldPlace { size: node_of.len(), nodes: nodes.len(), ..WorldPlace::SINGLE }; node_of.len()];
        for (node, ranks) in nodes.iter().enumerate() {
            for (node_rank, &rank) in ranks.iter().enumerate() {
                places[rank] = WorldPlace { rank, node, node_rank, node_size: ranks.len(), ..places[rank] };
            }
        }
        let worlds = places.into_iter().zip(messages);
        worlds
            .map(|(place, messages)| Self { place, messages, to: to.clone(), aborted: Arc::clone(&aborted) })
            .collect()
    }

    /// The code somebody aborted the launch with. A real launch would have ended all.
    pub fn aborted(&self) -> Option<u8> {
        u8::try_from(self.aborted.load(Ordering::Acquire)).ok()
    }

    fn refuse(call: &str, message: String) -> WorldError {
        WorldError { call: call.into(), message }
    }

    fn check(&self, call: &str) -> Result<(), WorldError> {
        self.aborted().map_or(Ok(()), |code| {
            Err(Self::refuse(call, format!("the launch was aborted with code {code}")))
        })
    }
}

impl World for LocalWorld {
    fn place(&self) -> WorldPlace {
        self.place
    }

    fn post(&self, to: usize, bytes: &[u8]) -> Result<(), WorldError> {
        self.check("post")?;
        let size = self.place.size;
        let to = self
            .to
            .get(to)
            .ok_or_else(|| Self::refuse("post", format!("there is no rank {to} of {size}")))?;
        // Nobody at the other end: as with a process that died, the sender does not learn of it here.
        let _ = to.send(Message { from: self.place.rank, bytes: bytes.to_vec() });
        Ok(())
    }

    fn collect(&self) -> Result<Option<Message>, WorldError> {
        self.check("collect")?;
        match self.messages.try_recv() {
            Ok(message) => Ok(Some(message)),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Ok(None),
        }
    }

    fn abort(&self, code: u8) {
        self.aborted.store(code.into(), Ordering::Release);
    }

    /// Waits for nobody: there is nothing here that would be lost.
    fn leave(&self) -> Result<(), WorldError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_numbered_by_their_lowest_rank_and_ranks_within_them_in_order() {
        let places = |worlds: Vec<LocalWorld>| {
            worlds
                .iter()
                .map(|w| (w.place.rank, w.place.node, w.place.node_rank, w.place.node_size))
                .collect::<Vec<_>>()
        };
        assert_eq!(places(LocalWorld::launch(&[1, 2])), [(0, 0, 0, 1), (1, 1, 0, 2), (2, 1, 1, 2)]);
        assert_eq!(
            places(LocalWorld::launch_on(&[7, 3, 7, 3, 5])),
            [(0, 0, 0, 2), (1, 1, 0, 2), (2, 0, 1, 2), (3, 1, 1, 2), (4, 2, 0, 1)]
        );
        assert_eq!(LocalWorld::launch(&[2, 2, 3])[0].place.nodes, 3);
    }

    #[test]
    fn an_abort_ends_everybodys_messages_with_its_code() {
        let worlds = LocalWorld::launch(&[2]);
        worlds[1].post(0, b"kept").expect("posted");
        worlds[1].abort(7);
        assert_eq!(worlds[0].aborted(), Some(7));
        let error = worlds[0].collect().expect_err("over");
        assert_eq!(error.to_string(), "collect failed: the launch was aborted with code 7");
        assert!(worlds[0].post(1, b"late").is_err());
    }
}
