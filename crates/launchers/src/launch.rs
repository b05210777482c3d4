//! Who launched this process, as one of how many, and what it was given to find the others.
//!
//! Read from the environment alone, before anything of MPI is opened: a launch that cannot work is then
//! refused with the option to change, where MPI itself aborts, or runs N processes that each believe to be
//! alone. What launchers set was looked at (Slurm 22.05, Open MPI 4.1, MPICH 4.0); of the others it is taken
//! from their sources and documents, cited in the files of `launcher/`.
//!
//! * `sensed` from variables to a [`Launch`], `on_node` its part of where the process stands on its node;
//! * `refusal` whether a library and a launch go together, and what to change where not.
//!
//! Left out: what is known of each launcher (`launcher`), heterogeneous steps of Slurm, and launchers that
//! set no variable at all: a process of theirs looks like one started by hand. Where processes stand on their
//! nodes is what the launcher says here; a run of several asks its transport
//! ([`WorldPlace`](ranks::WorldPlace)), which cannot be wrong.

mod on_node;
mod refusal;
mod sensed;

pub use refusal::LaunchRefusal;

use crate::interface::Interface;
use crate::launch_size::LaunchSize;
use crate::launcher::Launcher;

/// A number that no rank has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} of {size}: ranks are numbered from 0, so --rank is 0 to {}", size - 1)]
pub struct NoSuchRank {
    /// The number as given.
    pub rank: usize,
    /// How many ranks there are.
    pub size: usize,
}

/// The launch that this process belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// What started it.
    pub launcher: Launcher,
    /// How many processes it has.
    pub size: LaunchSize,
    /// This process's number in it, where that is told.
    pub rank: Option<usize>,
    /// This process's number among those of the launch on its node, from 0, where that is told.
    pub local_rank: Option<usize>,
    /// How many processes of the launch its node has, where that is told.
    pub local_size: Option<usize>,
    /// What its processes were given to find one another.
    pub interface: Interface,
    /// `srun --pty`: a shell, of which only task 0 has a terminal. A step inside of it inherits the variable:
    /// [`Launch::here`] tells them apart.
    pub pseudo_terminal: bool,
    /// `OMPI_MCA_pmix` names Slurm's PMI (`s1`, `s2`): an Open MPI 4 that was built with it.
    pub open_mpi_with_pmi: bool,
}

impl Launch {
    /// A process on its own.
    pub const ALONE: Self = Self {
        launcher: Launcher::Nobody,
        size: LaunchSize::Known(1),
        rank: Some(0),
        local_rank: Some(0),
        local_size: Some(1),
        interface: Interface::None,
        pseudo_terminal: false,
        open_mpi_with_pmi: false,
    };

    /// The launch of this process. A variable of `srun --pty` that a step of its shell inherited says nothing
    /// of that step, whose tasks have no terminal.
    pub fn here() -> Self {
        let sensed = Self::sensed(|name| std::env::var(name).ok());
        let has_terminal = std::fs::File::open("/dev/tty").is_ok();
        Self { pseudo_terminal: sensed.pseudo_terminal && has_terminal, ..sensed }
    }

    /// The same with what the user says of this process's place on its node, where the launcher is not known
    /// or does not say it.
    ///
    /// # Errors
    /// [`NoSuchRank`].
    pub fn with_numbers_of_user(self, rank: Option<usize>, ranks: Option<usize>) -> Result<Self, NoSuchRank> {
        let (local_rank, local_size) = (rank.or(self.local_rank), ranks.or(self.local_size));
        if let (Some(rank), Some(size)) = (rank, local_size)
            && rank >= size
        {
            return Err(NoSuchRank { rank, size });
        }
        let is_unknown = self.launcher == Launcher::Nobody;
        let size = match ranks {
            // Of this node; whether there are others nobody says.
            Some(ranks) if is_unknown && ranks > 1 => LaunchSize::AtLeast(ranks),
            _ => self.size,
        };
        let rank = if is_unknown { rank.or(self.rank) } else { self.rank };
        Ok(Self { local_rank, local_size, rank, size, ..self })
    }

    /// Whether this is the launch's only process, and so needs no MPI: started by hand, by a batch script, or
    /// with `-n 1`.
    pub fn is_alone(&self) -> bool {
        self.size == LaunchSize::Known(1)
    }

    /// Whether this process should say what goes wrong with the launch as a whole, so that it is said once.
    ///
    /// The first one does. One that was not told its number does too, and one of whose launch there is
    /// nothing but a number and a size, which anybody can have left in the environment: better said N times
    /// than never. And where nobody told how many there are, the second does as well, because the first may
    /// not know that it is not alone.
    pub fn speaks(&self) -> bool {
        match (self.rank, self.size) {
            _ if self.launcher == Launcher::Pmi && self.interface == Interface::None => true,
            (Some(rank), LaunchSize::AtLeast(_)) => rank <= 1,
            (Some(rank), LaunchSize::Known(_)) => rank == 0,
            (None, _) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_says_of_the_launch_fills_in_what_no_launcher_says() -> Result<(), NoSuchRank> {
        let told = Launch::ALONE.with_numbers_of_user(Some(1), Some(2))?;
        assert_eq!((told.local_rank, told.local_size, told.rank), (Some(1), Some(2), Some(1)));
        assert!(
            !told.is_alone() && told.size == LaunchSize::AtLeast(2),
            "so that it is never one run of several"
        );
        assert_eq!(Launch::ALONE.with_numbers_of_user(None, None)?, Launch::ALONE);
        let of_srun =
            Launch { launcher: Launcher::Srun, size: LaunchSize::Known(8), rank: Some(5), ..Launch::ALONE };
        let told = of_srun.with_numbers_of_user(Some(1), Some(4))?;
        assert_eq!(
            (told.size, told.rank, told.local_rank),
            (LaunchSize::Known(8), Some(5), Some(1)),
            "srun knows the whole"
        );
        assert_eq!(
            Launch::ALONE.with_numbers_of_user(Some(2), Some(2)),
            Err(NoSuchRank { rank: 2, size: 2 })
        );

        Ok(())
    }
}
