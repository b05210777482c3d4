//! Which of its node's ranks this process is.
//!
//! Told by the launcher's variables, or by the user where numabench knows none of them. Never guessed: a rank
//! that takes itself for the first of one shares its cores and its GPU with all others.

use launchers::{Launch, LaunchSize, Launcher, NoSuchRank};

/// A rank's place among those of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankSlot {
    /// What started it.
    pub launcher: Launcher,
    /// Its number among all, and how many these are, where that is told.
    pub of_all: Option<(usize, LaunchSize)>,
    /// Its number among those of its node, from 0.
    pub local_rank: usize,
    /// How many its node has.
    pub local_size: usize,
}

/// Nobody says which of its node's ranks this process is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RankSlotError {
    /// The launcher does not say it.
    #[error(
        "{} does not say {what}: name it, --rank N (from 0) --ranks M, as your launcher's variables have it \
         on each node",
        launcher.name()
    )]
    Untold {
        /// What started it.
        launcher: Launcher,
        /// What is missing.
        what: &'static str,
    },
    /// Without a launcher nothing tells the ranks of a node apart.
    #[error(
        "--ranks {ranks} without --rank: no launcher says which of them this process is; name it, --rank N \
         (from 0)"
    )]
    NoRank {
        /// How many ranks the node is said to have.
        ranks: usize,
    },
    /// A number beyond the last.
    #[error(transparent)]
    Beyond(#[from] NoSuchRank),
}

impl RankSlot {
    /// The slot in this launch; what the user says of it goes before what the launcher says.
    pub fn of(launch: &Launch, rank: Option<usize>, ranks: Option<usize>) -> Result<Self, RankSlotError> {
        let launcher = launch.launcher;
        let untold = |what| RankSlotError::Untold { launcher, what };
        if let (Launcher::Nobody, None, Some(ranks @ 2..)) = (launcher, rank, ranks) {
            return Err(RankSlotError::NoRank { ranks });
        }
        let local_rank = rank.or(launch.local_rank).ok_or_else(|| untold(which(launcher)))?;
        let local_size =
            ranks.or(launch.local_size).ok_or_else(|| untold("how many processes this node has"))?;
        if local_rank >= local_size {
            return Err(NoSuchRank { rank: local_rank, size: local_size }.into());
        }
        let of_all = launch.rank.filter(|_| launcher != Launcher::Nobody).map(|rank| (rank, launch.size));
        Ok(Self { launcher, of_all, local_rank, local_size })
    }

    /// Whether it is the only one of its node.
    pub fn is_only(&self) -> bool {
        self.local_size == 1
    }
}

/// What is missing where the rank's number is: torchrun always sets it, so that it is then no number.
fn which(launcher: Launcher) -> &'static str {
    if launcher == Launcher::Torchrun {
        return "which of its node's processes this one is (LOCAL_RANK is not a number)";
    }
    "which of its node's processes this one is"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flux() -> Launch {
        let of = |name: &str| match name {
            "FLUX_JOB_SIZE" => Some("8".to_owned()),
            "FLUX_TASK_RANK" => Some("5".to_owned()),
            "FLUX_TASK_LOCAL_ID" => Some("1".to_owned()),
            _ => None,
        };
        Launch::sensed(of)
    }

    #[test]
    fn what_the_launcher_does_not_say_is_asked_for_by_name_and_taken_from_the_user() {
        let error = RankSlot::of(&flux(), None, None).expect_err("flux run does not tell");
        assert!(matches!(error, RankSlotError::Untold { launcher: Launcher::Flux, .. }), "{error:?}");
        let said = "flux run does not say how many processes this node has: name it, --rank N (from 0) \
            --ranks M, as your launcher's variables have it on each node";
        assert_eq!(error.to_string(), said);
        let slot = RankSlot::of(&flux(), None, Some(4));
        let of_all = Some((5, LaunchSize::Known(8)));
        assert_eq!(slot, Ok(RankSlot { launcher: Launcher::Flux, of_all, local_rank: 1, local_size: 4 }));
    }

    #[test]
    fn without_a_launcher_no_process_takes_itself_for_the_first_of_several() {
        let refused = RankSlot::of(&Launch::ALONE, None, Some(2)).map_err(|error| error.to_string());
        let said = "--ranks 2 without --rank: no launcher says which of them this process is; name it, \
            --rank N (from 0)";
        assert_eq!(refused, Err(said.to_owned()));
    }

    #[test]
    fn alone_is_the_first_of_one_and_the_user_can_say_otherwise() {
        let alone = RankSlot::of(&Launch::ALONE, None, None);
        assert_eq!(alone.map(|slot| (slot.is_only(), slot.of_all)), Ok((true, None)));
        assert!(RankSlot::of(&Launch::ALONE, None, Some(1)).is_ok_and(|slot| slot.is_only()));
        let third = RankSlot::of(&Launch::ALONE, Some(2), Some(4));
        assert_eq!(third.map(|slot| (slot.local_rank, slot.local_size)), Ok((2, 4)));
        let beyond = RankSlot::of(&Launch::ALONE, Some(4), Some(4));
        assert_eq!(beyond, Err(RankSlotError::Beyond(NoSuchRank { rank: 4, size: 4 })));
        let said = "rank 4 of 4: ranks are numbered from 0, so --rank is 0 to 3";
        assert_eq!(beyond.map_or_else(|error| error.to_string(), |_| String::new()), said);
    }
}
