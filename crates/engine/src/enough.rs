//! When a run has enough: asked after every pass, between measurements.

use std::time::Duration;

use stats::stop::{self, StopReason};

use crate::config::{self, Amount};
use crate::state::RunState;

/// Decides after each pass which cases need no further block.
pub trait Enough {
    /// Marks every case that is done ([`RunState::judge`], or one's own rule over all cases). `elapsed` is the time since the run began;
    /// `late` that the time for the cases under way is up.
    fn judge(&mut self, state: &mut RunState, elapsed: Duration, late: bool);
}

/// Each case by itself: until its interval is narrow, or it has the rounds asked for, or the time is up.
#[derive(Clone, Copy, Debug)]
pub struct PerCase(pub Amount);

impl Enough for PerCase {
    fn judge(&mut self, state: &mut RunState, _elapsed: Duration, late: bool) {
        let amount = self.0;
        state.judge(|values| match amount {
            Amount::Fixed { reps, .. } if values.len() as u64 >= config::fixed_blocks(reps) => Some(StopReason::Fixed),
            Amount::Fixed { .. } => late.then_some(StopReason::MaxTime),
            Amount::Adaptive(rule) => stop::decide(values, &rule).or(late.then_some(StopReason::MaxTime)),
        });
    }
}
