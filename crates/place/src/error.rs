//! Why ranks cannot be placed, or places not be measured.

use launchers::Dialect;
use pingpong::{BudgetError, SpreadError};
use placement::{RecommendError, SelectionError};

use crate::own_map::OwnMapError;

/// What was asked does not fit the machine.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// GPUs that cannot be had.
    #[error(transparent)]
    Gpus(#[from] SelectionError),
    /// The texts that describe the machine do not say enough.
    #[error(transparent)]
    Unsaid(#[from] topo::model::UnsaidError),
    /// A map that cannot be had.
    #[error(transparent)]
    Map(#[from] OwnMapError),
    /// No place can be given.
    #[error(transparent)]
    NoPlace(#[from] RecommendError),
    /// Ranks without a GPU are to be measured.
    #[error(
        "ranks without a GPU copy to none, so there is nothing to measure: leave --measure or --gpus none out"
    )]
    NoGpu,
    /// A way that cannot be measured.
    #[error("{way}: a rank has no memory or no device to copy to")]
    Incomplete {
        /// Its name.
        way: String,
    },
    /// Variables are asked for where the words have no place for them.
    #[error(
        "--nic near: {dialect} has no place for a rank's variables; ask for --emit wrapper, or start the \
         program by numabench exec --nic near"
    )]
    NoVariables {
        /// The words.
        dialect: Dialect,
    },
    /// Words that would not work if they were pasted.
    #[error("{} is not possible here: {why} (its line would be: {text})", dialect.name())]
    NotPossible {
        /// The words.
        dialect: Dialect,
        /// Why, and what to do instead.
        why: String,
        /// The line.
        text: String,
    },
    /// The memory that copies need is not there.
    #[error(transparent)]
    Memory(#[from] BudgetError),
    /// Copies are too small for their memory to lie on all nodes asked for.
    #[error(transparent)]
    Spread(#[from] SpreadError),
    /// Memory cannot lie where it is asked for.
    #[error(transparent)]
    Membind(#[from] placement::RankPlanError),
}
