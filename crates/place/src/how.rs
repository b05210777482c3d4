//! How candidates are measured: the size and memory of their copies, and the run that it comes to.

use device::{Direction, MemoryKind};
use pingpong::{EngineConfig, Order, RunConfig};
use placement::Membind;
use report::settings;
use stats::memory_nodes::NodeUse;

/// How candidates are measured.
#[derive(Clone, Debug)]
pub struct How {
    /// The size of one copy, bytes.
    pub bytes: usize,
    /// The kind of host memory.
    pub memory: MemoryKind,
    /// The seed of everything drawn, and the limits: no round of turns begins after the time for
    /// measuring.
    pub engine: EngineConfig,
}

/// Where host memory was asked to lie, as documents have it.
pub fn membind_asked(asked: &Membind) -> settings::Membind {
    match asked {
        Membind::Local => settings::Membind::Local,
        Membind::Node(node) => settings::Membind::Node { node: *node },
        Membind::Spread(NodeUse::WeightedInterleave, nodes) => {
            settings::Membind::Weighted { nodes: nodes.clone() }
        }
        Membind::Spread(NodeUse::Interleave | NodeUse::Bind, nodes) => {
            settings::Membind::Interleave { nodes: nodes.clone() }
        }
    }
}

impl How {
    /// The run of a candidate with so many ranks.
    pub(crate) fn config(&self, ranks: usize) -> RunConfig {
        RunConfig {
            sizes: vec![self.bytes],
            memory: vec![self.memory],
            directions: vec![Direction::H2d, Direction::D2h],
            orders: vec![if ranks == 1 { Order::Alone } else { Order::Simultaneous }],
            engine: self.engine,
            ..RunConfig::default()
        }
    }
}
