//! The links' counters of two ranks' GPUs, as exchanges ask for them.

use exchange::{LinkBytes, Traffic};
use stats::PciAddress;
use topo::LinkCounters;

/// Counters of this rank's GPU, and of those of the others on its node.
pub struct Counters {
    counters: LinkCounters,
    own: PciAddress,
    /// By rank; `None` for one without a GPU here.
    others: Vec<Option<PciAddress>>,
}

impl Counters {
    /// Opens the counters of NVIDIA's management library, where there is one.
    pub fn open(own: Option<PciAddress>, others: Vec<Option<PciAddress>>) -> Option<Self> {
        Some(Self { own: own?, others, counters: LinkCounters::open()? })
    }
}

impl Traffic for Counters {
    fn read(&self, with: usize) -> [LinkBytes; 2] {
        let of = |pci: Option<PciAddress>| {
            let bytes = pci.map(|pci| self.counters.read(pci)).unwrap_or_default();
            LinkBytes { nvlink: bytes.nvlink, pcie: bytes.pcie }
        };
        [of(Some(self.own)), of(self.others.get(with).copied().flatten())]
    }
}
