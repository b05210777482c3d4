//! The machine's GPUs: found among hwloc's PCI devices, named, and listed in PCI order.
//!
//! Virtual functions (SR-IOV) of this machine's own GPUs are left out where the kernel shows their physical
//! function: they belong to guests, and the order that users count in has only the functions they can use. In
//! a guest such a function is a GPU like any other, and a file cannot tell.

use hwlocality::Topology as Hwloc;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::attributes::PCIDeviceAttributes;
use hwlocality::object::types::ObjectType;
use stats::PciAddress;

use crate::bitmap::ids;
use crate::driver_files::{amd_uuid, driver_identity};
use crate::found::Found;
use crate::fs_root::FsRoot;
use crate::gpu_class::{is_gpu, is_hypervisors};
use crate::hwloc_object::{info, nodes_of, os_index, pus_of, text};
use crate::kfd;
use crate::link;
use crate::locality::{Attachment, Surroundings, locality};
use crate::model::{Gpu, GpuName};
use crate::partition;
use crate::partitions::divided;
use crate::wide_domain;

/// The GPUs that hwloc has, and on this machine those that it cannot have.
pub(crate) fn gpus(hwloc: &Hwloc, root: Option<&FsRoot>) -> Vec<Found> {
    let mut found: Vec<Found> = hwloc.pci_devices().filter_map(gpu).collect();
    if let Some(root) = root {
        found.retain(|gpu| !root.exists(&format!("/sys/bus/pci/devices/{}/physfn", gpu.pci)));
        found.extend(wide_domain::gpus(root));
    }
    let kfd = root.map(kfd::gpus).unwrap_or_default();
    let mut found = divided(found, |pci| rocm_smi(hwloc, pci), &kfd);
    found.sort_by_key(|gpu| gpu.pci);
    without_doubtful_uuids(&mut found);
    found
}

/// The name and UUID of each device of ROCm SMI that hangs from the GPU at this address.
fn rocm_smi(hwloc: &Hwloc, pci: PciAddress) -> Vec<(String, Option<String>)> {
    let children = device_at(hwloc, pci).into_iter().flat_map(|device| device.io_children());
    let named = children.filter_map(|child| Some((child.name().map(text)?, child)));
    let uuid = |child| info(child, "AMDUUID").map(|id| amd_uuid(&id));
    named.filter(|(name, _)| name.starts_with("rsmi")).map(|(name, child)| (name, uuid(child))).collect()
}

/// A UUID is an identity: one of zeroes, or of two devices, is none.
fn without_doubtful_uuids(found: &mut [Found]) {
    let digits = |uuid: &str| -> String { uuid.trim_start_matches("GPU-").replace('-', "") };
    let known: Vec<String> = found.iter().filter_map(|gpu| gpu.uuid.clone()).collect();
    let doubtful = |uuid: &String| {
        digits(uuid).trim_start_matches('0').is_empty()
            || known.iter().filter(|other| *other == uuid).count() > 1
    };
    for gpu in found.iter_mut().filter(|gpu| gpu.uuid.as_ref().is_some_and(doubtful)) {
        gpu.uuid = None;
    }
}

pub(crate) fn pci_of(object: &TopologyObject) -> Option<&PCIDeviceAttributes> {
    match object.attributes() {
        Some(ObjectAttributes::PCIDevice(pci)) => Some(pci),
        _ => None,
    }
}

fn gpu(object: &TopologyObject) -> Option<Found> {
    let pci = pci_of(object)?;
    if !is_gpu(pci.class_id(), pci.vendor_id(), pci.device_id()) {
        return None;
    }
    let os_devices: Vec<&TopologyObject> =
        object.io_children().filter(|child| child.object_type() == ObjectType::OSDevice).collect();
    let of_os_devices = |key: &str| os_devices.iter().find_map(|device| info(device, key));

    Some(Found {
        pci: address(pci),
        vendor_id: pci.vendor_id(),
        device_id: pci.device_id(),
        class_id: pci.class_id(),
        gpu_model: of_os_devices("GPUModel"),
        pci_name: info(object, "PCIDevice"),
        uuid: of_os_devices("NVIDIAUUID").or_else(|| of_os_devices("AMDUUID").map(|id| amd_uuid(&id))),
        os_devices: os_devices
            .iter()
            .filter_map(|device| device.name().map(text))
            .filter(|name| !is_drm(name))
            .collect(),
        attachment: attachment(object)?,
        partition: None,
        link: link::in_file(object),
    })
}

/// The device that hwloc has at this address.
pub(crate) fn device_at(hwloc: &Hwloc, pci: PciAddress) -> Option<&TopologyObject> {
    hwloc.pci_devices().find(|object| pci_of(object).is_some_and(|found| address(found) == pci))
}

/// Where a PCI device is.
pub(crate) fn address(pci: &PCIDeviceAttributes) -> PciAddress {
    PciAddress {
        domain: pci.domain().into(),
        bus: pci.bus_id(),
        device: pci.bus_device(),
        function: pci.function(),
    }
}

/// Whether this is a node of the kernel's display subsystem in /dev/dri, whose numbers no GPU runtime uses.
pub(crate) fn is_drm(name: &str) -> bool {
    ["card", "renderD", "controlD"].iter().any(|prefix| name.starts_with(prefix))
}

/// What hwloc hangs the device from: the nearest object that is not a bridge or a device.
pub(crate) fn attachment(device: &TopologyObject) -> Option<Attachment> {
    let place = device.first_non_io_ancestor()?;
    Some(Attachment {
        object: place.object_type().to_string(),
        os_index: os_index(place),
        pus: pus_of(place),
        complete_pus: place.complete_cpuset().map(ids).unwrap_or_default(),
        nodes: nodes_of(place),
    })
}

/// What proves that this is a virtual machine, in words; `None` where nothing does.
pub(crate) fn virtual_machine(hwloc: &Hwloc, root: Option<&FsRoot>) -> Option<String> {
    let cpuinfo = root.and_then(|root| root.lines("/proc/cpuinfo", &["flags"]).ok()).unwrap_or_default();
    let flagged = cpuinfo.lines().find(|line| line.starts_with("flags")).is_some_and(|line| {
        line.split_whitespace().any(|flag| flag == "hypervisor") // x86 only: CPUID leaf 1, ECX bit 31
    });
    if flagged {
        return Some("the CPU reports a hypervisor".to_owned());
    }
    let vendor = hwloc
        .pci_devices()
        .filter_map(pci_of)
        .map(PCIDeviceAttributes::vendor_id)
        .find(|id| is_hypervisors(*id))?;
    Some(format!("it has devices of the hypervisor vendor {vendor:04x}"))
}

/// The model's GPUs in PCI order, which is the order users count in.
pub(crate) fn listed(found: Vec<Found>, surroundings: &Surroundings, root: Option<&FsRoot>) -> Vec<Gpu> {
    let gpu = |(index, found): (u32, Found)| {
        let on_bus = partition::on_bus(found.pci, found.partition);
        let mut driver = root.map(|root| driver_identity(root, on_bus)).unwrap_or_default();
        // The driver's file has the UUID of the whole GPU.
        driver.uuid = driver.uuid.filter(|_| found.partition.is_none());
        let kernels_node = root.and_then(|root| kernels_node(root, on_bus));
        let memory_node = root.and_then(|root| crate::driver_files::nvidia_memory_node(root, on_bus));
        Gpu {
            index,
            pci: found.pci,
            vendor_id: found.vendor_id,
            device_id: found.device_id,
            class_id: found.class_id,
            name: name(driver.name, found.gpu_model, found.pci_name),
            uuid: driver.uuid.or(found.uuid),
            os_devices: found.os_devices,
            locality: locality(&found.attachment, kernels_node, memory_node, surroundings),
            link: root.map_or(found.link, |root| link::under(root, on_bus)),
            partition: found.partition,
        }
    };

    (0..).zip(found).map(gpu).collect()
}

/// The kernel's `numa_node` of the device; -1 is its "not told".
pub(crate) fn kernels_node(root: &FsRoot, pci: PciAddress) -> Option<i64> {
    root.text(&format!("/sys/bus/pci/devices/{pci}/numa_node")).ok()?.parse().ok()
}

fn name(driver: Option<String>, gpu_model: Option<String>, pci_name: Option<String>) -> GpuName {
    let candidates = [(driver, "driver"), (gpu_model, "hwloc"), (pci_name, "pci-ids")];
    let known = candidates.into_iter().find(|(value, _)| value.is_some());
    let (value, source) = known.unwrap_or((None, "none"));
    GpuName { value, source: source.to_owned() }
}
