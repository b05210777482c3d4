//! How long a run goes on, and by what it is drawn: every value here is one the run can use as it stands.

use std::time::Duration;

use stats::stop::StopRule;

/// How often a case is repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many rounds, after so many that do not count; they are spread over ten blocks, or as many as it
    /// takes.
    Fixed {
        /// Rounds that count.
        reps: u64,
        /// Rounds before the first block of an allocation that do not.
        warmup: u64,
    },
    /// Blocks until the interval is narrow.
    Adaptive(StopRule),
}

/// The most rounds one block may queue.
pub const MAX_ROUNDS: usize = 4096;
/// A fixed number of rounds is spread over so many blocks, or more where a block cannot take its share.
const FIXED_BLOCKS: u64 = 10;
/// The most rounds one block can be asked for by number, by either clock: half of what a batch of queued
/// rounds may have, so that a rank can go on while others have not theirs.
pub(crate) const FIXED_ROUNDS: usize = MAX_ROUNDS / 2;

/// How many blocks a fixed number of rounds makes.
pub fn fixed_blocks(reps: u64) -> u64 {
    reps.clamp(1, FIXED_BLOCKS).max(reps.div_ceil(FIXED_ROUNDS as u64))
}

/// What the engine is told of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineConfig {
    /// The seed of the order of blocks.
    pub seed: u64,
    /// How often a case is repeated.
    pub amount: Amount,
    /// Whether works verify what they did.
    pub verify: bool,
    /// No further pass begins after this time of measuring.
    pub max_time: Duration,
    /// The whole run is given up after this time.
    pub timeout: Option<Duration>,
}
