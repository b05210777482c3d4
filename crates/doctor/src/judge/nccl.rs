//! What NCCL can see of the PCI tree: in a virtual machine that shows none of the host's switches, a topology
//! file would say which devices share one.

use std::collections::BTreeSet;

use report::doctor::{Check, Part};
use stats::units::counted;
use topo::gpu_class::NVIDIA;

use super::HOST;
use super::peers::have_peers;
use super::probe::Probe;
use crate::facts::nccl::NcclFile;
use crate::facts::pci::{PciDevice, PciDeviceKind};
use crate::facts::{MachineKind, SystemFacts};

const TOPOLOGY: Probe = Probe {
    name: "pcie.nccl-topology",
    part: Part::Pcie,
    why: "NCCL lets a GPU and an adapter, or two GPUs without NVLink, reach each other directly only where \
        the PCI tree shows a switch above both",
    source: "NCCL user guide, GPU troubleshooting (Topology detection); NCCL, src/graph/paths.cc \
        (ncclTopoCheckGdr, ncclTopoCheckP2p)",
};

/// How a topology file is made.
const MAKE: &str = "on the host: numabench topo --save host.xml; then numabench topo --input host.xml --emit \
    nccl-topo --guest HOST=GUEST,... (each device's two addresses) > nccl.xml; then set NCCL_TOPO_FILE to \
    that file's absolute path";

pub(super) fn topology(facts: &SystemFacts<'_>) -> Option<Check> {
    // NCCL is NVIDIA's, and one device has nobody to reach.
    let has_nvidia = facts.survey.topology.gpus.iter().any(|gpu| gpu.vendor_id == NVIDIA);
    if !has_nvidia || !have_peers(facts) {
        return None;
    }

    // A file decides, whatever the machine shows.
    match &facts.nccl_file {
        NcclFile::Given(path) => return TOPOLOGY.ok(format!("NCCL reads {path}")),
        NcclFile::Missing(path) => {
            let seen = format!("NCCL_TOPO_FILE names {path}, which is not there: NCCL goes on without it");
            return TOPOLOGY.remark(seen, "name a file that is there, or unset NCCL_TOPO_FILE");
        }
        NcclFile::Relative(path) => {
            let seen = format!(
                "NCCL_TOPO_FILE names {path}, which each program looks for in the folder that it starts in"
            );
            return TOPOLOGY.unknown(
                seen,
                "the job that sets it: an absolute path is the same file wherever a rank starts",
            );
        }
        NcclFile::None => {}
    }

    match facts.platform() {
        MachineKind::Physical => TOPOLOGY.ok("no virtual machine: NCCL reads the PCI tree itself"),
        MachineKind::Unknown => TOPOLOGY.unknown("whether this is a virtual machine is not shown", HOST),
        MachineKind::Virtual if shares_switch(&facts.devices) => {
            TOPOLOGY.ok("this virtual machine shows PCIe switches above its devices")
        }
        MachineKind::Virtual => TOPOLOGY.remark(hidden(&facts.devices), MAKE),
    }
}

/// Whether a switch is above a GPU and a device in another slot: a bridge below their root port. Functions of
/// one card share their slot, whatever is above it.
fn shares_switch(devices: &[PciDevice]) -> bool {
    // The device itself stands first in its path, the root port last.
    let bridges = |device: &PciDevice| -> BTreeSet<String> {
        device.path.iter().skip(1).rev().skip(1).map(|port| port.address.clone()).collect()
    };
    let slot = |device: &PciDevice| (device.pci.domain, device.pci.bus, device.pci.device);
    let is_below_one = |gpu: &PciDevice, other: &PciDevice| {
        slot(gpu) != slot(other) && !bridges(gpu).is_disjoint(&bridges(other))
    };

    let mut gpus = devices.iter().filter(|device| device.kind == PciDeviceKind::Gpu);
    gpus.any(|gpu| devices.iter().any(|other| is_below_one(gpu, other)))
}

/// What is hidden, and what a file would change.
fn hidden(devices: &[PciDevice]) -> String {
    let of = |kind| devices.iter().filter(|device| device.kind == kind).count();
    let (gpus, adapters) = (counted(of(PciDeviceKind::Gpu), "GPU"), of(PciDeviceKind::Adapter));
    if adapters == 0 {
        return format!(
            "this virtual machine shows no PCIe switch above its {gpus}: a topology file would let NCCL copy \
             directly between those that share one, where no NVLink joins them"
        );
    }
    format!(
        "this virtual machine shows no PCIe switch above its {gpus} and {}: a topology file would let NCCL \
         use GPUDirect RDMA between a GPU and an adapter that share one",
        counted(adapters, "network adapter")
    )
}
