//! A machine's devices as a topology file of NCCL (`NCCL_TOPO_FILE`), for a virtual machine that hides which
//! devices share a PCIe switch and a NUMA node.
//!
//! What such a file is for, in the words of NCCL's maintainers (NVIDIA/nccl issue 1843): a PCI tree that is
//! functionally equivalent to the host's, with switches whose bus ids do not exist in the guest; all else
//! NCCL finds by itself. So what there is here is a `cpu` for each NUMA node, a made-up switch for devices
//! that share one, the devices by their addresses, and the links of both where they are known, since a
//! guest's own ports show none that is true. NCCL reads the file by `src/graph/xml.cc`: a device of the file
//! keeps its place there, and attributes that are missing are read from the machine that NCCL runs on. The
//! cloud providers' files (Azure's for NDv4 and NDv5, Amazon's for p4d) have the same form.
//!
//! Left out on purpose: what NCCL reads on the machine itself (a CPU's vendor and PUs, NVLinks, devices'
//! numbers), and every device of which it is not known what is near: it is named, and NCCL then goes by what
//! the machine shows of it.

mod links;
mod tree;
mod write;

use std::collections::BTreeMap;

use stats::{IdSet, PciAddress};

use crate::gpu_class::NVIDIA;
use crate::interconnect::Endpoint;
use crate::link::lanes_times_rate;
use crate::model::{Link, Locality, Rung};
use crate::survey::Survey;

/// How a file is to be written.
#[derive(Clone, Debug, Default)]
pub struct NcclRequest {
    /// GPUs that were measured to share their way to the host, a list a group, beside what the machine shows.
    pub groups: Vec<Vec<PciAddress>>,
    /// Each device's address in the guest that the file is for; where there is any, other devices are left
    /// out.
    pub guest: BTreeMap<PciAddress, PciAddress>,
}

/// A topology file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NcclTopology {
    /// The file.
    pub xml: String,
    /// What a reader of it must know: devices that are left out, each with the reason, and what was taken for
    /// known.
    pub remarks: Vec<String>,
}

/// There is nothing to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NcclError {
    /// NCCL is a library for NVIDIA's GPUs.
    #[error("a topology file of NCCL is about NVIDIA GPUs, and this machine shows none")]
    NoGpu,
    /// The guest's addresses name a device that the machine does not have.
    #[error(
        "{0} is no GPU or network adapter of this machine: --guest takes HOST=GUEST, the machine's address \
         first"
    )]
    NoSuchDevice(PciAddress),
    /// The measured groups are of other GPUs.
    #[error(
        "the measured groups have GPU {0}, which this machine does not have: they are of another machine"
    )]
    NotTheMachine(PciAddress),
    /// Two devices would be at one address.
    #[error("two devices would be at {0} in the guest")]
    SameAddress(PciAddress),
    /// There are more switches than addresses for them.
    #[error("the file needs more PCIe switches than there are addresses that no device has")]
    NoFreeAddress,
    /// The file would put every device under one CPU, where NCCL puts it anyway.
    #[error(
        "a file would tell NCCL nothing new: no two devices are known to share a PCIe switch, and all are \
         near to one NUMA node. In a virtual machine give the host's file (--input HOST.xml), or groups that \
         topo --measure found (--with GROUPS.json)"
    )]
    NothingNew,
    /// Of no device it is known what is near.
    #[error("nothing is known that NCCL could be told: {0}")]
    NothingKnown(String),
}

/// A device on its way into the file.
#[derive(Clone, Debug)]
pub(crate) struct NcclDevice {
    /// Its place among the interconnect's devices.
    at: usize,
    /// Its address on this machine.
    pci: PciAddress,
    /// The address that the file gives it.
    written: PciAddress,
    /// What a user calls it.
    label: String,
    /// PCI class with the programming interface, which is 0 for GPUs and adapters.
    class: u32,
    /// Its link as far as its slot lets it.
    link: Option<Link>,
    /// The one NUMA node that it is near to; `Err` why there is none.
    node: Result<u32, String>,
}

/// The machine's NVIDIA GPUs and its adapters that move data for GPUs.
///
/// # Errors
/// [`NcclError`]: there is no GPU, an address of the guest is wrong, nothing is known, or there are more
/// switches than addresses for them.
pub fn nccl_topology(survey: &Survey, request: &NcclRequest) -> Result<NcclTopology, NcclError> {
    check_addresses(survey, request)?;
    let mut remarks = Vec::new();
    let devices = devices(survey, request, &mut remarks);
    if !survey.topology.gpus.iter().any(|gpu| gpu.vendor_id == NVIDIA) {
        return Err(NcclError::NoGpu);
    }

    let tree = tree::tree(survey, devices, &request.groups, &mut remarks);
    if tree.cpus.is_empty() {
        return Err(NcclError::NothingKnown(remarks.join("; ")));
    }
    if tree.cpus.len() == 1 && !tree.has_switch() {
        return Err(NcclError::NothingNew);
    }
    remarks.extend(tree.remarks());
    let taken =
        survey.interconnect.devices.iter().map(|device| device.pci).chain(request.guest.values().copied());
    let xml = write::xml(survey, &tree, &taken.collect(), &remarks)?;
    Ok(NcclTopology { xml, remarks })
}

/// Every device that is asked for is one of the machine's, and every address of the guest is one device's.
fn check_addresses(survey: &Survey, request: &NcclRequest) -> Result<(), NcclError> {
    let is_here = |pci: &PciAddress| survey.interconnect.devices.iter().any(|device| device.pci == *pci);
    if let Some(missing) = request.guest.keys().find(|pci| !is_here(pci)) {
        return Err(NcclError::NoSuchDevice(*missing));
    }
    if let Some(other) = request.groups.iter().flatten().find(|pci| !is_here(pci)) {
        return Err(NcclError::NotTheMachine(*other));
    }
    let mut written: Vec<PciAddress> = request.guest.values().copied().collect();
    written.sort_unstable();
    let twice = written.windows(2).find(|pair| pair[0] == pair[1]);
    twice.map_or(Ok(()), |pair| Err(NcclError::SameAddress(pair[0])))
}

/// The devices that have an address, each once; others are named in `remarks`.
fn devices(survey: &Survey, request: &NcclRequest, remarks: &mut Vec<String>) -> Vec<NcclDevice> {
    let mut devices: Vec<NcclDevice> = Vec::new();
    for (at, endpoint) in survey.interconnect.devices.iter().enumerate() {
        let Some(device) = device(survey, request, at, endpoint) else { continue };
        if !device.pci.is_known() {
            remarks.push(format!("{} is left out: its PCI address is not said", device.label));
        } else if !request.guest.is_empty() && !request.guest.contains_key(&device.pci) {
            remarks.push(format!(
                "{} ({}) is left out: it has no address in the guest",
                device.label, device.pci
            ));
        } else if devices.iter().all(|other| other.pci != device.pci) {
            devices.push(device);
        }
    }
    devices
}

/// One device; `None` for a GPU of another vendor.
fn device(survey: &Survey, request: &NcclRequest, at: usize, endpoint: &Endpoint) -> Option<NcclDevice> {
    let written = request.guest.get(&endpoint.pci).copied().unwrap_or(endpoint.pci);
    let slot = endpoint.bridges.last().and_then(|port| port.link.as_ref());
    let of = |class_id: u16, link: Option<&Link>, node: Result<u32, String>, label: String| NcclDevice {
        at,
        pci: endpoint.pci,
        written,
        label,
        class: u32::from(class_id) << 8,
        link: link.map(|link| slower(link, slot)),
        node,
    };

    if let Some(affinity) = &endpoint.affinity {
        let gpu = survey.topology.gpus.iter().find(|gpu| gpu.pci == endpoint.pci)?;
        // A driver's text does not say the class: that of a GPU without a display is the usual one.
        let class_id = if gpu.class_id == 0 { CONTROLLER_3D } else { gpu.class_id };
        let node = single_node(survey, affinity.nodes.as_ref(), &gpu.locality);
        let label = format!("GPU {}", gpu.index);
        return (gpu.vendor_id == NVIDIA).then(|| of(class_id, gpu.link.as_ref(), node, label));
    }
    let name = endpoint.name.clone().unwrap_or_else(|| endpoint.label.clone());
    let Some(nic) = survey.nics.iter().find(|nic| nic.pci == endpoint.pci) else {
        let node = Err("nobody says what is near to it".to_owned());
        return Some(of(NETWORK, None, node, name));
    };
    let nodes = (nic.locality.rung != Rung::Unknown).then(|| nic.locality.all_nodes());
    let node = single_node(survey, nodes.as_ref(), &nic.locality);
    Some(of(nic.class_id, nic.link.as_ref(), node, name))
}

/// PCI class of a GPU without a display.
const CONTROLLER_3D: u16 = 0x0302;
/// PCI class of a network adapter of an unknown kind.
const NETWORK: u16 = 0x0200;

/// The one NUMA node with cores among `nodes`, or of a machine that has one.
fn single_node(survey: &Survey, nodes: Option<&IdSet>, locality: &Locality) -> Result<u32, String> {
    let machine = &survey.topology;
    let places: IdSet = machine.places().map(|node| node.os_index).collect();
    let is_part = machine.allowed.missing_nodes.iter().any(|node| machine.node(node).is_none());
    if let (1, Some(only), false) = (places.len(), places.first(), is_part) {
        return Ok(only);
    }
    // Texts without the CPUs name nodes that they do not list.
    let of_places = |nodes: &IdSet| if places.is_empty() { nodes.clone() } else { nodes.and(&places) };
    let near = nodes.map(of_places).unwrap_or_default();
    match (near.len(), near.first()) {
        (1, Some(only)) => Ok(only),
        (0, _) => Err(locality.reason.clone()),
        _ => Err(format!("it is near to NUMA nodes {near}, and NCCL's file takes one")),
    }
}

/// What a device's link carries in this slot: the slower one of what the device can and what the port above
/// it can.
fn slower(link: &Link, slot: Option<&Link>) -> Link {
    let at_most = |link: &Link| Link {
        generation: link.max_generation.or(link.generation),
        // Lanes do not train down on an idle link; generations do.
        width: link.width.or(link.max_width),
        ..link.clone()
    };
    let (device, slot) = (at_most(link), slot.map(at_most));
    // A file of lstopo's has what an idle link carried: NCCL asks for itself then.
    let known = |link: &Link| link.generation.is_some() && link.width.is_some();
    slot.filter(|slot| known(slot) && lanes_times_rate(slot) < lanes_times_rate(&device)).unwrap_or(device)
}
