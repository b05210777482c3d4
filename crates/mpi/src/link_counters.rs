//! The links' counters of two ranks' GPUs.

use stats::PciAddress;
use topo::LinkCounters;

use crate::results::GpuLinkBytes;

/// Counters of this rank's GPU, and of those of the others on its node.
pub(crate) struct PairCounters {
    counters: LinkCounters,
    own: PciAddress,
    /// By rank; `None` for one without a GPU here.
    others: Vec<Option<PciAddress>>,
}

impl PairCounters {
    /// Opens the counters of NVIDIA's management library, where there is one.
    pub fn open(own: Option<PciAddress>, others: Vec<Option<PciAddress>>) -> Option<Self> {
        Some(Self { own: own?, others, counters: LinkCounters::open()? })
    }

    /// What went through the links of this rank's GPU and of that of rank `with`, since some time in the
    /// past; nothing where it cannot be read.
    pub(crate) fn read(&self, with: usize) -> [GpuLinkBytes; 2] {
        let of = |pci: Option<PciAddress>| {
            let bytes = pci.map(|pci| self.counters.read(pci)).unwrap_or_default();
            GpuLinkBytes { nvlink: bytes.nvlink, pcie: bytes.pcie }
        };
        [of(Some(self.own)), of(self.others.get(with).copied().flatten())]
    }
}
