//! When a run has enough: asked after every pass, between measurements.

use std::time::Duration;

use stats::stop::{self, StopReason};

use crate::config::{self, Amount};
use crate::patience;
use crate::state::RunState;

/// Decides after each pass which cases need no further block.
pub trait Enough {
    /// Marks every case that is done ([`RunState::judge`], or one's own rule over all cases). `elapsed` is
    /// the time since the run began; `late` that the time for the cases under way is up.
    fn judge(&mut self, state: &mut RunState, elapsed: Duration, late: bool);
}

/// Each case by itself: until its interval is narrow, or it has the rounds asked for, or the time is up, or a
/// narrow interval would take longer than the rule waits for it.
#[derive(Clone, Copy, Debug)]
pub struct PerCase {
    amount: Amount,
    phase: PhaseTime,
    /// When the latest pass ended.
    latest: Duration,
}

/// When the cases of one phase began, and when each had its least blocks.
#[derive(Clone, Copy, Debug, Default)]
struct PhaseTime {
    number: Option<u8>,
    began: Duration,
    least: Option<Duration>,
}

impl PerCase {
    /// Nothing judged yet.
    pub fn new(amount: Amount) -> Self {
        Self { amount, phase: PhaseTime::default(), latest: Duration::ZERO }
    }
}

impl Enough for PerCase {
    fn judge(&mut self, state: &mut RunState, elapsed: Duration, late: bool) {
        let amount = self.amount;
        let phase = state.phase();
        state.judge(|values| match amount {
            Amount::Fixed { reps, .. } if values.len() as u64 >= config::fixed_blocks(reps) => {
                Some(StopReason::Fixed)
            }
            Amount::Fixed { .. } => late.then_some(StopReason::MaxTime),
            Amount::Adaptive(rule) => stop::decide(values, &rule).or(late.then_some(StopReason::MaxTime)),
        });

        if self.phase.number != phase {
            self.phase = PhaseTime { number: phase, began: self.latest, least: None };
        }
        self.latest = elapsed;
        let (Amount::Adaptive(rule), Some(number)) = (amount, phase) else { return };
        let PhaseTime { began, least, .. } = &mut self.phase;
        if least.is_none() && patience::have_their_least(state, number, &rule) {
            *least = Some(elapsed);
        }
        let Some(least) = *least else { return };
        let Some(patience) = rule.patience.after(least - *began) else { return };
        let left = (least + patience).saturating_sub(elapsed);

        for case in patience::too_costly(state, number, &rule, elapsed - *began, left) {
            state.stop(case, StopReason::Costly);
        }
    }
}
