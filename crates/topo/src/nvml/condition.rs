//! What NVML counts and reads of a GPU at work: how long its clocks were held down and by what, the clocks,
//! PCIe replays, the processes on it.
//!
//! The times are counters of the driver, so that two readings miss nothing that lay between them; a mask of
//! reasons would have to be read at the right moment. All of it is readable without privilege. On an H200
//! (driver 580, in a virtual machine) a reading takes 0.6 to 2 ms, most of it for the counters, and copies
//! under way are as fast as without (55.30 against 55.31 GB/s).

use std::collections::BTreeSet;
use std::ffi::OsStr;

use nvml_wrapper::Nvml as Library;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use stats::PciAddress;

use super::{LIBRARY, opened};
use crate::counted::Counted;

/// `NVML_FI_DEV_PERF_POLICY_POWER`, `_THERMAL`, `_SYNC_BOOST`, `_BOARD_LIMIT` and `_RELIABILITY`: ns for
/// which clocks were held down by each.
const HELD: [u32; 5] = [74, 75, 76, 77, 79];

/// NVML, opened to read one GPU.
pub(crate) struct Counter {
    library: Library,
    pci: PciAddress,
}

impl Counter {
    /// Opens NVML for the GPU at this address.
    ///
    /// # Errors
    /// Why it says nothing of it.
    pub(crate) fn open(pci: PciAddress) -> Result<Self, String> {
        Self::of(LIBRARY.as_ref(), pci)
    }

    pub(super) fn of(library: &OsStr, pci: PciAddress) -> Result<Self, String> {
        let name = library.to_string_lossy();
        let library = opened(library)?;
        let known = library.device_by_pci_bus_id(pci.to_string());
        known.map(drop).map_err(|error| format!("{name} does not know {pci}: {error}"))?;
        Ok(Self { library, pci })
    }

    /// What it says now.
    pub(crate) fn read(&self) -> Counted {
        let Ok(device) = self.library.device_by_pci_bus_id(self.pci.to_string()) else {
            return Counted::default();
        };
        // One with several contexts is listed several times.
        let processes = device.running_compute_processes().ok();
        let pids = |listed: Vec<ProcessInfo>| {
            listed.iter().map(|one| one.pid).collect::<BTreeSet<u32>>().len() as u32
        };
        Counted {
            held_ns: sys::nvml::values(&device, HELD.map(|field| (field, 0))),
            sm_mhz: device.clock_info(Clock::SM).ok(),
            memory_mhz: device.clock_info(Clock::Memory).ok(),
            replays: device.pcie_replay_counter().ok(),
            processes: processes.map(pids),
        }
    }
}
