//! Whether the sessions of the other ranks of this host are there: one whose partner died in an operation
//! waits in MPI for ever.

use std::collections::BTreeSet;

use ranks::{Liveness, ProcessIdentity};
use serde::{Deserialize, Serialize};

/// A rank's session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankProcess {
    /// The rank.
    pub rank: usize,
    /// Its host.
    pub host: String,
    /// The process: id, start and namespace, as [`ranks::ProcessIdentity`] has them.
    pub process: (u32, u64, u64),
}

impl RankProcess {
    /// This process, as the session of a rank on this host.
    pub fn own(rank: usize, host: String) -> Self {
        let own = ProcessIdentity::own();
        Self { rank, host, process: (own.pid, own.start, own.namespace) }
    }

    fn identity(&self) -> ProcessIdentity {
        let (pid, start, namespace) = self.process;
        ProcessIdentity { pid, start, namespace }
    }
}

/// What is known of the others.
#[derive(Debug)]
pub(super) struct Partners {
    watcher: ProcessIdentity,
    /// Ranks that were seen alive.
    seen: BTreeSet<usize>,
}

impl Default for Partners {
    fn default() -> Self {
        Self { watcher: ProcessIdentity::own(), seen: BTreeSet::new() }
    }
}

impl Partners {
    /// Looks at all once, when they have just met: a death is believed only of one that was seen alive.
    pub(super) fn meet(&mut self, all: &[RankProcess], own: u32) {
        self.look(all, own);
    }

    /// The rank whose session, on the host of the session `own`, is gone and is among those that are waited
    /// for.
    pub(super) fn gone(&mut self, all: &[RankProcess], own: u32, awaited: &[usize]) -> Option<usize> {
        let gone = self.look(all, own);
        awaited.iter().copied().find(|rank| gone.contains(rank))
    }

    /// All that are gone.
    fn look(&mut self, all: &[RankProcess], own: u32) -> BTreeSet<usize> {
        let Some(here) = all.iter().find(|rank| rank.process.0 == own) else { return BTreeSet::new() };
        let mut gone = BTreeSet::new();
        let others = all.iter().filter(|rank| rank.host == here.host && rank.rank != here.rank);
        for rank in others {
            match rank.identity().liveness(self.watcher, self.seen.contains(&rank.rank)) {
                Liveness::Alive => drop(self.seen.insert(rank.rank)),
                Liveness::Gone => drop(gone.insert(rank.rank)),
                Liveness::Unknown(_) => {}
            }
        }
        gone
    }
}
