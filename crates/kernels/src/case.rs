//! What is measured: a kernel's problem with its transfers or on data that stays on the device, the two
//! copies by which losses are predicted, and where.

use placement::TargetId;

use crate::kernel::Kernel;
use crate::pieces::Pieces;

/// What a round does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GpuRound {
    /// Copies to the device.
    ToDevice,
    /// Copies from the device.
    ToHost,
    /// The input to the device, `iterations` runs there, the result back.
    WithTransfers {
        /// The kernel.
        kernel: Kernel,
        /// How many runs.
        iterations: u32,
    },
    /// One run on data that stays on the device.
    Resident {
        /// The kernel.
        kernel: Kernel,
    },
    /// Small pieces, all of them.
    Pieces(Pieces),
}

impl GpuRound {
    /// The kernel; a copy has none.
    pub fn kernel(self) -> Option<Kernel> {
        match self {
            Self::ToDevice | Self::ToHost | Self::Pieces(_) => None,
            Self::WithTransfers { kernel, .. } | Self::Resident { kernel } => Some(kernel),
        }
    }
}

/// A case on a GPU: a rank, whose PU and memory node never change, and a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuCase {
    /// What is done.
    pub what: GpuRound,
    /// The rank.
    pub rank: usize,
    /// The device.
    pub target: TargetId,
}

/// A case on CPUs: threads that run a kernel at once, each on its own data in the memory of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadCase {
    /// The kernel.
    pub kernel: Kernel,
    /// The NUMA node of the data, OS index.
    pub node: u32,
    /// The ranks.
    pub ranks: Vec<usize>,
}
