//! What a run does, checked: every value here is one the run can use as it stands.

use std::time::Duration;

use device::{Direction, MemoryKind};
use stats::stop::Rule;

/// How ranks share the machine in one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// All ranks at once.
    Simultaneous,
    /// One rank after the other, the others waiting.
    Alone,
}

/// The clock asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimingChoice {
    /// Device timing for pinned copies of 1 MiB and more where there is a latch, host timing otherwise.
    Auto,
    /// The node's clock around blocking copies.
    Host,
    /// The device's clock around copies queued behind a latch.
    Device,
}

/// How often a case is repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many rounds, after so many that do not count; they are spread over ten blocks, or as many as it takes.
    Fixed {
        /// Rounds that count.
        reps: u64,
        /// Rounds before the first block of an allocation that do not.
        warmup: u64,
    },
    /// Blocks until the interval is narrow.
    Adaptive(Rule),
}

/// A fixed number of rounds is spread over so many blocks, or more where a block cannot take its share.
const FIXED_BLOCKS: u64 = 10;

/// The most rounds one block can be asked for by number, by either clock: half of what a batch of queued rounds may have, so
/// that a rank can go on while others have not theirs.
pub(crate) const FIXED_ROUNDS: usize = device::MAX_ROUNDS / 2;

/// How many blocks a fixed number of rounds makes.
pub(crate) fn fixed_blocks(reps: u64) -> u64 {
    reps.clamp(1, FIXED_BLOCKS).max(reps.div_ceil(FIXED_ROUNDS as u64))
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunConfig {
    /// Sizes of one copy in bytes, ascending, none 0.
    pub sizes: Vec<usize>,
    /// Kinds of host memory.
    pub memory: Vec<MemoryKind>,
    /// Directions.
    pub directions: Vec<Direction>,
    /// Orders; `Alone` only for a single rank, where the two are the same.
    pub orders: Vec<Order>,
    /// The clock.
    pub timing: TimingChoice,
    /// Whether host memory may use huge pages.
    pub huge_pages: bool,
    /// Whether the bytes that arrived are compared with those sent.
    pub verify: bool,
    /// The seed of the payload and of the order of blocks.
    pub seed: u64,
    /// How often a case is repeated.
    pub amount: Amount,
    /// No further pass begins after this time of measuring.
    pub max_time: Duration,
    /// The whole run is given up after this time.
    pub timeout: Option<Duration>,
}

impl RunConfig {
    /// The largest copy.
    pub fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0)
    }

    /// Whether any case moves both ways at once, which takes a second area on the device.
    pub fn bidirectional(&self) -> bool {
        self.directions.contains(&Direction::Bidirectional)
    }
}
