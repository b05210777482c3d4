//! How long a run goes on, and by what it is drawn: every value here is one the run can use as it stands.

use std::time::Duration;

use stats::stop::{Patience, StopRule};

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

/// Rounds before a fixed number of rounds, where their number is not asked for: the case study's.
pub const WARMUP: u64 = 10;
/// The most blocks of a case where a precision is asked for: four times as many as usual halve an interval.
const MOST_BLOCKS_FOR_A_PRECISION: usize = 1000;

impl Amount {
    /// Blocks until the interval is within this part of the figure to either side, however long that takes.
    pub fn within(target_half_width: f64) -> Self {
        let (max_blocks, patience) = (MOST_BLOCKS_FOR_A_PRECISION, Patience::Asked);
        Self::Adaptive(StopRule { target_half_width, max_blocks, patience, ..StopRule::default() })
    }
}

impl Default for Amount {
    fn default() -> Self {
        Self::Adaptive(StopRule::default())
    }
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

/// What the engine is told of a run, whatever is measured. Who asks for a run fills it in, and it goes to the
/// engine as it is; a plan adds the limit that its number of cases needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineConfig {
    /// The seed of the payload and of the order of blocks.
    pub seed: u64,
    /// How often a case is repeated.
    pub amount: Amount,
    /// Whether works verify what they did: the bytes that arrived are compared with those sent.
    pub verify: bool,
    /// Whether host memory may use huge pages.
    pub huge_pages: bool,
    /// No further pass begins after this time of measuring; `None`: no limit, or the plan's.
    pub max_time: Option<Duration>,
    /// The whole run is given up after this time, whatever a device does.
    pub timeout: Option<Duration>,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            amount: Amount::default(),
            verify: true,
            huge_pages: true,
            max_time: None,
            timeout: None,
        }
    }
}
