//! Whether the sessions of the other ranks of this host are there: one whose partner died in an operation waits in MPI for ever.

use std::collections::BTreeSet;

use exchange::Doing;
use ranks::{Identity, Liveness};

use super::channel::{Met, RankFacts};

/// What is known of the others.
#[derive(Debug)]
pub struct Partners {
    watcher: Identity,
    /// Ranks that were seen alive.
    seen: BTreeSet<usize>,
}

impl Default for Partners {
    fn default() -> Self {
        Self { watcher: Identity::own(), seen: BTreeSet::new() }
    }
}

impl Partners {
    /// Looks at all once, when they have just met: a death is believed only of one that was seen alive.
    pub fn meet(&mut self, met: &Met, own: u32) {
        self.look(met, own);
    }

    /// The rank whose session, on the host of the session `own`, is gone and is waited for: one of those of what is done now, or rank 0, which a rank
    /// that has nothing to do waits for.
    pub fn gone(&mut self, met: &Met, own: u32, doing: &Doing) -> Option<usize> {
        let gone = self.look(met, own);
        match doing {
            Doing::Case { ranks, .. } | Doing::Operation { ranks, .. } => {
                ranks.iter().copied().find(|rank| gone.contains(rank))
            }
            Doing::Else => gone.first().copied().filter(|rank| *rank == 0),
        }
    }

    /// All that are gone.
    fn look(&mut self, met: &Met, own: u32) -> BTreeSet<usize> {
        let Some(here) = met.ranks.iter().find(|rank| rank.process.0 == own) else { return BTreeSet::new() };
        let mut gone = BTreeSet::new();
        let others = met.ranks.iter().filter(|rank| rank.host == here.host && rank.rank != here.rank);
        for rank in others {
            match identity(rank).liveness(self.watcher, self.seen.contains(&rank.rank)) {
                Liveness::Alive => drop(self.seen.insert(rank.rank)),
                Liveness::Gone => drop(gone.insert(rank.rank)),
                Liveness::Unknown(_) => {}
            }
        }
        gone
    }
}

fn identity(rank: &RankFacts) -> Identity {
    let (pid, start, namespace) = rank.process;
    Identity { pid, start, namespace }
}
