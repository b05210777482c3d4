//! What each GPU is called by whom: PCI address, UUID, the runtime's index, the management library's, device
//! files, OS devices.
//!
//! The runtime's index is predicted (`visibility`); no runtime is started for it. A device file is the one
//! that the driver's own number names (`Device Minor` of `/proc/driver/nvidia/gpus/*/information`, the DRM
//! nodes of the PCI device), and whether it is here: a container or a job has often fewer of them than the
//! machine.

use hwlocality::Topology as Hwloc;
use hwlocality::object::types::ObjectType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PciAddress;

use crate::devices::{device_at, is_drm};
use crate::driver_files;
use crate::fs_root::FsRoot;
use crate::hwloc_object::text;
use crate::model::{Gpu, Topology};
use crate::nvml::Nvml;
use crate::partition::in_order;
use crate::visibility::{Runtime, Visibility};

/// What one GPU is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Its index in PCI order.
    pub index: u32,
    /// Its identity.
    pub pci: PciAddress,
    /// Its UUID, where somebody says it.
    pub uuid: Option<String>,
    /// The runtime that drives it; null for a vendor that numabench knows none of.
    pub runtime: Option<Runtime>,
    /// The indices that the runtime would give it, predicted: none where it is hidden, several where it is
    /// divided; null where that is not known (`visibility` says why).
    pub runtime_indices: Option<Vec<u32>>,
    /// Its index in nvidia-smi or rocm-smi; null where nobody says.
    pub smi_index: Option<u32>,
    /// Who says so, or why nobody does.
    pub smi_source: String,
    /// Its device files.
    pub device_files: Vec<DeviceFile>,
    /// What the operating system and libraries call it (`card1`, `renderD128`, `nvml0`, `rsmi2`, `cuda0`).
    pub os_devices: Vec<String>,
}

/// A file in `/dev`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFile {
    /// Its path.
    pub path: String,
    /// Whether it is here.
    pub present: bool,
}

/// What the GPUs of the topology are called.
pub(crate) fn identities(
    hwloc: &Hwloc,
    topology: &Topology,
    nvml: &Nvml,
    visibility: &[Visibility],
    root: Option<&FsRoot>,
) -> Vec<Identity> {
    let one = |gpu: &Gpu| {
        let os_devices = match gpu.partition {
            Some(_) => gpu.os_devices.clone(),
            None => os_devices(hwloc, gpu.pci, root),
        };
        let said = nvml.facts().and_then(|facts| facts.gpu(gpu.pci));
        let (smi_index, smi_source) = match said {
            Some(said) => (Some(said.smi_index), "NVML".to_owned()),
            None => smi_index(&os_devices, Runtime::of_vendor(gpu.vendor_id), nvml),
        };
        let runtime = Runtime::of_vendor(gpu.vendor_id);
        let minor = said.and_then(|said| said.minor).or_else(|| driver_files::nvidia_minor(root?, gpu.pci));

        Identity {
            index: gpu.index,
            pci: gpu.pci,
            uuid: gpu.uuid.clone().or_else(|| said?.uuid.clone()),
            runtime,
            runtime_indices: runtime.and_then(|runtime| runtime_indices(gpu.pci, runtime, visibility)),
            smi_index,
            smi_source,
            device_files: device_files(minor, &os_devices, root),
            os_devices,
        }
    };

    topology.gpus.iter().map(one).collect()
}

fn runtime_indices(pci: PciAddress, runtime: Runtime, visibility: &[Visibility]) -> Option<Vec<u32>> {
    let devices = visibility.iter().find(|one| one.runtime == runtime)?.devices.as_ref()?;
    // Any GPU may be the one that a part without an address belongs to.
    if devices.iter().any(|device| device.pci.is_none()) {
        return None;
    }
    Some((0..).zip(devices).filter(|(_, device)| device.pci == Some(pci)).map(|(index, _)| index).collect())
}

/// hwloc's names for the device, and the kernel's DRM nodes.
fn os_devices(hwloc: &Hwloc, pci: PciAddress, root: Option<&FsRoot>) -> Vec<String> {
    let named = device_at(hwloc, pci).into_iter().flat_map(|device| device.io_children());
    let named = named.filter(|child| child.object_type() == ObjectType::OSDevice);
    let mut names: Vec<String> = named.filter_map(|child| child.name().map(text)).collect();
    let folder = format!("/sys/bus/pci/devices/{pci}/drm");
    if let Some(root) = root {
        let nodes = root.names(&folder).into_iter();
        // Looked at one by one, so that a saved file keeps them.
        names.extend(nodes.filter(|name| is_drm(name) && root.exists(&format!("{folder}/{name}"))));
    }
    names.sort_by_key(|name| in_order(name));
    names.dedup();
    names
}

/// The index behind the name of a library's device: hwloc numbers `nvml2` and `rsmi2` as their libraries do.
fn smi_index(os_devices: &[String], runtime: Option<Runtime>, nvml: &Nvml) -> (Option<u32>, String) {
    let (prefix, not_asked) = match (runtime, nvml) {
        (Some(Runtime::Cuda), Nvml::Absent(why)) => ("nvml", why.clone()),
        (Some(Runtime::Cuda), Nvml::Said(_)) => ("nvml", "NVML does not list this GPU".to_owned()),
        (Some(Runtime::Cuda), Nvml::NotAsked) => {
            ("nvml", "NVML was not asked, and no file says it".to_owned())
        }
        (Some(Runtime::Hip), _) => {
            ("rsmi", "rocm-smi's library is not asked, and no file says it".to_owned())
        }
        (None, _) => return (None, "no management library of this vendor is known here".to_owned()),
    };
    let number = os_devices.iter().find_map(|name| name.strip_prefix(prefix)?.parse().ok());
    (number, if number.is_some() { "hwloc".to_owned() } else { not_asked })
}

fn device_files(minor: Option<u32>, os_devices: &[String], root: Option<&FsRoot>) -> Vec<DeviceFile> {
    let nvidia = minor.map(|minor| format!("/dev/nvidia{minor}"));
    let render =
        os_devices.iter().filter(|name| name.starts_with("renderD")).map(|name| format!("/dev/dri/{name}"));
    let present = |path: String| DeviceFile { present: root.is_some_and(|root| root.exists(&path)), path };
    nvidia.into_iter().chain(render).map(present).collect()
}
