//! One worker: a rank's thread, its PU, and its view of the ranks of its node.
//!
//! Apart from `workers`, which starts the threads: a rank and a kind of work know their worker, and not how
//! it came to be.

use std::sync::Arc;

use ranks::Ranks;

/// One rank: a thread, bound for life to one PU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Its number in the run.
    pub rank: usize,
    /// Its PU.
    pub pu: u32,
}

/// A rank's view of its node's group.
pub type Group = Arc<dyn Ranks + Send + Sync>;
