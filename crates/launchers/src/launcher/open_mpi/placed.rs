//! What one version of mpirun does with a line: each rank's place, or why there is none.

use stats::IdSet;

use crate::layout::{Layout, Start};

/// A rank, in the order of local numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Its PUs; `None`: nothing binds it.
    pub pus: Option<IdSet>,
    /// Which of the objects it is mapped to.
    pub object: usize,
    /// Its number in the launch.
    pub world: usize,
}

/// Why a version puts no rank anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// It has no such option or word.
    NoOption(String),
    /// It refuses the line on this machine.
    Refused(String),
    /// What it does is not modelled.
    NotFollowed(String),
}

impl NoPlace {
    /// `--bind-to numa` beside `PE=2`.
    pub fn binding_beside_pe() -> Self {
        Self::Refused("another --bind-to than core or hwthread beside PE=N is refused by Open MPI".into())
    }

    /// `--cpu-list 0,1 --map-by core`.
    pub fn mapping_beside_list() -> Self {
        Self::Refused("a list of CPUs (--cpu-list, --cpu-set) beside --map-by is refused by Open MPI".into())
    }
}

/// What a version does.
pub(crate) type Outcome = Result<Vec<Placed>, NoPlace>;

/// Ranks bound to these, in order; each is an object of its own.
pub(crate) fn in_order(pus: impl IntoIterator<Item = IdSet>) -> Vec<Placed> {
    let one = |(at, pus)| Placed { pus: Some(pus), object: at, world: at };
    pus.into_iter().enumerate().map(one).collect()
}

/// The layout of these ranks.
pub(crate) fn layout_of(placed: &[Placed]) -> Layout {
    let start = |(at, rank): (usize, &Placed)| Start {
        pus: rank.pus.clone().map(Ok),
        world: (rank.world != at).then_some(rank.world),
        ..Start::FREE
    };
    Layout::certain(placed.iter().enumerate().map(start).collect())
}
