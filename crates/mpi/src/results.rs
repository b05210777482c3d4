//! What came of the cases and operations so far.

use std::collections::BTreeMap;
use std::fmt;

use engine::ObservedPlacement;
use serde::{Deserialize, Serialize};
use stats::IdSet;
use stats::stop::StopReason;

use crate::carried::Carried;
use crate::case::MessageCase;
use crate::operation::{Attempt, DeviceOperation};

/// What is being done: the last word of a process that MPI ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageStep {
    /// A case's block, or the check of its bytes.
    Case {
        /// The two ranks.
        ranks: [usize; 2],
        /// The case.
        case: MessageCase,
    },
    /// An operation on device memory.
    Operation {
        /// The two ranks.
        ranks: [usize; 2],
        /// The operation.
        operation: DeviceOperation,
        /// Bytes of a message.
        bytes: usize,
    },
    /// Neither.
    #[default]
    Else,
}

impl fmt::Display for MessageStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |bytes: &usize| stats::units::size(*bytes as u64);
        match self {
            Self::Operation { operation, bytes, .. } => {
                write!(f, "MPI's {} of device memory ({})", operation.name(), size(bytes))
            }
            Self::Case { case, .. } => {
                let (path, pattern) = (case.path.in_documents(), case.pattern);
                write!(f, "{} {} of {}", path.name(), pattern.name(), size(&case.bytes))
            }
            Self::Else => f.write_str("what lies between the measurements"),
        }
    }
}

/// What is known of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseFound {
    /// The case.
    pub case: MessageCase,
    /// Of each block, nanoseconds a message.
    pub block_ns: Vec<f64>,
    /// Of each block of a case beside copies, what those of both ranks moved: bytes a second of one rank, the
    /// mean of the two.
    pub gpu_bytes_per_s: Vec<f64>,
    /// Rounds of a block.
    pub rounds: u32,
    /// Bytes that were compared with what was sent, both ways.
    pub verified_bytes: u64,
    /// Why no further block was measured; `None`: it still is.
    pub stop: Option<StopReason>,
    /// Why there is no figure, or none that counts.
    pub trouble: Option<String>,
}

/// Where a rank was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSeen {
    /// The PU that it ran on.
    pub pu: u32,
    /// The PUs that it could have run on.
    pub affinity: IdSet,
    /// Base pages of its host memory on each node.
    pub pages: BTreeMap<u32, u64>,
    /// What is not as asked.
    pub mismatch: Option<String>,
    /// The same of its threads that copy to the GPU.
    pub gpu_threads: Vec<RankSeen>,
}

impl RankSeen {
    /// What was seen of a thread and its memory.
    pub(crate) fn of(seen: ObservedPlacement, mismatch: Option<String>) -> Self {
        Self {
            pu: seen.pu,
            affinity: seen.affinity,
            pages: seen.pages.per_node,
            mismatch,
            gpu_threads: Vec::new(),
        }
    }
}

/// Bytes that went through a GPU's links since some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuLinkBytes {
    /// Out of and into the GPU by NVLink.
    pub nvlink: Option<[u64; 2]>,
    /// Out of and into the GPU by PCIe, modulo 2³².
    pub pcie: Option<[u64; 2]>,
}

impl GpuLinkBytes {
    /// What went through since `before`.
    pub fn since(self, before: Self) -> Self {
        let wrapping = |now: u64, then: u64| u64::from((now as u32).wrapping_sub(then as u32));
        let both = |now: Option<[u64; 2]>, then: Option<[u64; 2]>, less: &dyn Fn(u64, u64) -> u64| {
            let (now, then) = now.zip(then)?;
            Some([less(now[0], then[0]), less(now[1], then[1])])
        };
        Self {
            nvlink: both(self.nvlink, before.nvlink, &u64::saturating_sub),
            pcie: both(self.pcie, before.pcie, &wrapping),
        }
    }
}

/// What the links of both GPUs counted while device memory was sent one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedBytes {
    /// Bytes of all messages.
    pub bytes: u64,
    /// At the GPU that they came from.
    pub source: GpuLinkBytes,
    /// At the GPU that they went to.
    pub destination: GpuLinkBytes,
    /// At both in as long a time before, in which nothing was sent.
    pub idle: [GpuLinkBytes; 2],
}

impl CountedBytes {
    /// Whether any counter could be read.
    pub fn has_any(&self) -> bool {
        let both = [self.source, self.destination];
        both.iter().any(|bytes| bytes.nvlink.is_some() || bytes.pcie.is_some())
    }
}

/// What is known of two ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairFound {
    /// The two, the lower one first.
    pub ranks: [usize; 2],
    /// Of each case.
    pub cases: Vec<CaseFound>,
    /// Of each operation on device memory, in the order tried.
    pub attempts: Vec<Attempt>,
    /// What the links counted.
    pub counted: Option<CountedBytes>,
    /// What network adapters counted of cases that MPI itself moves; none within a host.
    pub carried: Vec<Carried>,
    /// Why there are no peer copies, or that the driver stages them.
    pub peer: Option<String>,
    /// Where both were seen before and after.
    pub placed: [[Option<RankSeen>; 2]; 2],
}

impl PairFound {
    /// Two ranks of which nothing is known yet.
    pub(crate) fn begun(ranks: [usize; 2]) -> Self {
        Self {
            ranks,
            cases: Vec::new(),
            attempts: Vec::new(),
            counted: None,
            carried: Vec::new(),
            peer: None,
            placed: [[None, None], [None, None]],
        }
    }
}

/// What is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageResults {
    /// Of each pair that was begun.
    pub pairs: Vec<PairFound>,
    /// A signal came.
    pub interrupted: bool,
    /// Why nothing more could be measured, where a call failed at one rank and left the others elsewhere.
    pub broken: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pcie_counter_that_wrapped_counts_on() {
        let before = GpuLinkBytes { nvlink: Some([10, 20]), pcie: Some([u64::from(u32::MAX) - 9, 5]) };
        let after = GpuLinkBytes { nvlink: Some([15, 20]), pcie: Some([90, 6]) };
        assert_eq!(after.since(before), GpuLinkBytes { nvlink: Some([5, 0]), pcie: Some([100, 1]) });
        assert_eq!(after.since(GpuLinkBytes::default()), GpuLinkBytes::default());
    }
}
