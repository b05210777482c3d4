//! What went through a GPU's links since some time in the past, as NVML counts it: who sends something
//! between two readings knows how much of it took which link.
//!
//! The counters are the device's, not a process's: others' traffic is in them. Readable without privilege, in
//! virtual machines too (seen on H200 with driver 580: NVLink exact to the KiB, without a lag). Left out:
//! `nvmlDeviceGetPcieThroughput`, which samples 20 ms and misses bursts.

use nvml_wrapper::Nvml as Library;
use stats::PciAddress;

use super::LIBRARY;

/// `NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX` and `_RX`: KiB over the links of the scope.
const NVLINK_KIB: [u32; 2] = [138, 139];
/// `NVML_FI_DEV_PCIE_COUNT_TX_BYTES` and `_RX_BYTES` (nvml.h of CUDA 12.3 and later): bytes, 32 bits wide.
const PCIE_BYTES: [u32; 2] = [197, 198];
/// All links together.
const ALL_LINKS: u32 = u32::MAX;

/// Bytes out of and into a GPU, by its links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuLinkTraffic {
    /// By NVLink; `None` where that is not counted.
    pub nvlink: Option<[u64; 2]>,
    /// By PCIe, modulo 2³²; `None` where that is not counted.
    pub pcie: Option<[u64; 2]>,
}

/// NVML, opened to read these counters.
pub struct LinkCounters {
    library: Library,
    gpus: Vec<(PciAddress, u32)>,
}

impl LinkCounters {
    /// Opens NVML; `None` where there is none, or no GPU.
    pub fn open() -> Option<Self> {
        sys::linker_path::may_be_named(LIBRARY).ok()?;
        let library = Library::builder().lib_path(LIBRARY.as_ref()).init().ok()?;
        let count = library.device_count().ok()?;
        let pci = |index| library.device_by_index(index).ok()?.pci_info().ok()?.bus_id.parse().ok();
        let gpus: Vec<(PciAddress, u32)> =
            (0..count).filter_map(|index| Some((pci(index)?, index))).collect();
        (!gpus.is_empty()).then_some(Self { library, gpus })
    }

    /// What went through the links of the GPU at this address.
    pub fn read(&self, pci: PciAddress) -> GpuLinkTraffic {
        let index = self.gpus.iter().find(|(known, _)| *known == pci).map(|(_, index)| *index);
        let Some(device) = index.and_then(|index| self.library.device_by_index(index).ok()) else {
            return GpuLinkTraffic::default();
        };
        // PCIe's counters have no scope.
        let fields =
            [(NVLINK_KIB[0], ALL_LINKS), (NVLINK_KIB[1], ALL_LINKS), (PCIE_BYTES[0], 0), (PCIE_BYTES[1], 0)];
        let [nvlink_out, nvlink_in, pcie_out, pcie_in] = sys::nvml::values(&device, fields);
        let both = |out: Option<u64>, into: Option<u64>| out.zip(into).map(|(out, into)| [out, into]);
        let nvlink = both(nvlink_out, nvlink_in).map(|kib| kib.map(|kib| kib.saturating_mul(1024)));
        GpuLinkTraffic { nvlink, pcie: both(pcie_out, pcie_in) }
    }
}
