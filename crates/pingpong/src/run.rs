//! A run of copies, led or followed: the engine with each case judged by itself.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{Followed, Journal, PerCase, RunState, Suite, Workers};
use ranks::Communicator;

use crate::config::RunConfig;
use crate::suite::CopySuite;

/// Runs every case of `suite` on the ranks of `workers` and of the processes that [`follow`]; see
/// [`engine::lead`].
pub fn lead(
    config: &RunConfig,
    workers: Workers,
    suite: &Arc<CopySuite>,
    comm: &mut Communicator,
    interrupted: &Arc<AtomicBool>,
    journal: &mut dyn Journal,
) -> RunState {
    let suite = Arc::clone(suite) as Arc<dyn Suite>;
    let mut enough = PerCase::new(config.engine.amount);
    engine::lead(&config.engine, workers, &suite, comm, interrupted, &mut enough, journal)
}

/// Does this process's part of a run that rank 0 leads; see [`engine::follow`].
pub fn follow(
    config: &RunConfig,
    workers: Workers,
    suite: &Arc<CopySuite>,
    comm: &mut Communicator,
    interrupted: &Arc<AtomicBool>,
) -> Followed {
    let suite = Arc::clone(suite) as Arc<dyn Suite>;
    engine::follow(&config.engine, workers, &suite, comm, interrupted)
}
