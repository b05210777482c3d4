//! What a run does, checked: every value here is one the run can use as it stands.

use device::{CopyBy, Direction, MemoryKind};
use engine::{EngineConfig, Order};

/// The clock asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimingChoice {
    /// Device timing for pinned copies of 1 MiB and more where there is a latch, host timing otherwise.
    #[default]
    Auto,
    /// The node's clock around blocking copies.
    Host,
    /// The device's clock around copies queued behind a latch.
    Device,
}

/// A run; of no copies by default.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// How it is measured.
    pub engine: EngineConfig,
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
            engine: EngineConfig { huge_pages: false, ..EngineConfig::default() },
        }
    }
}

impl RunConfig {
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
