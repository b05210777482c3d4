//! What a run does, checked: every value here is one the run can use as it stands.

use std::time::Duration;

use device::{CopyBy, Direction, MemoryKind};
use engine::{Amount, EngineConfig, Order};

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
    /// How many blocks each rank has alone, where that is a short pass beside the ranks at once; `None`: as
    /// many as the rule wants.
    pub alone_blocks: Option<usize>,
    /// The clock.
    pub timing: TimingChoice,
    /// What moves the bytes of every case.
    pub by: CopyBy,
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

#[cfg(test)]
impl RunConfig {
    /// A short run of copies of a page and of 1 MiB, for tests of what is checked before a run.
    pub(crate) fn short(directions: &[Direction], memory: &[MemoryKind]) -> Self {
        Self {
            sizes: vec![4 << 10, 1 << 20],
            memory: memory.to_vec(),
            directions: directions.to_vec(),
            orders: vec![Order::Alone],
            alone_blocks: None,
            timing: TimingChoice::Auto,
            by: CopyBy::default(),
            huge_pages: false,
            verify: true,
            seed: 0,
            amount: Amount::Fixed { reps: 1, warmup: 1 },
            max_time: Duration::MAX,
            timeout: None,
        }
    }
}

impl RunConfig {
    /// What the engine is told.
    pub fn engine(&self) -> EngineConfig {
        let Self { seed, amount, verify, max_time, timeout, .. } = *self;
        EngineConfig { seed, amount, verify, max_time, timeout }
    }

    /// The largest copy.
    pub fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0)
    }

    /// Whether any case reads host memory.
    pub fn needs_source(&self) -> bool {
        self.directions.iter().any(|direction| *direction != Direction::D2h)
    }

    /// Whether any case writes host memory.
    pub fn needs_destination(&self) -> bool {
        self.directions.iter().any(|direction| *direction != Direction::H2d)
    }

    /// Whether any case moves both ways at once, which takes a second area on the device.
    pub fn bidirectional(&self) -> bool {
        self.directions.contains(&Direction::Bidirectional)
    }
}
