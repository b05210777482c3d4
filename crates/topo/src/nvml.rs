//! What NVIDIA's management library knows of the GPUs: NVLinks, affinities, indices, MIG instances.
//!
//! The library comes with the driver and is opened at run time, and only when it is asked for (`--matrix`,
//! `--identity`, `--json`, `--save`; by `doctor`, `check --all` and for the counters of links), where the
//! kernel does not say which NUMA node a GPU is near to, and to watch the GPUs that are measured: opening it
//! takes the time of a driver call per GPU. It is the library that nvidia-smi is made of: no CUDA context is
//! made, no device's state is changed, and every handle is matched by PCI address, or asked for by the index
//! that the device itself gives, so nothing depends on NVML's order.
//!
//! What it does not know of a GPU is `None`: older GPUs have no NVLink, older drivers no NUMA id. Left out:
//! temperatures.

mod condition;
mod facts;
mod health;
mod link_bytes;
#[cfg(test)]
mod tests;
mod users;

use std::ffi::OsStr;

use nvml_wrapper::device::Device;
use nvml_wrapper::enum_wrappers::device::TopologyLevel;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_NVLINK_GET_SPEED, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON,
};
use nvml_wrapper::{Nvml as Library, bitmasks::InitFlags};
use stats::{IdSet, PciAddress};

use crate::fs_root::FsRoot;
use crate::pci_path::PciLevel;
pub(crate) use condition::Counter;
pub(crate) use facts::{Facts, NvGpu, NvLink, Remote};
pub use health::health;
pub use link_bytes::{GpuLinkTraffic, LinkCounters};
pub(crate) use users::uses;

/// The name that every driver installs; without the version only its development package does.
const LIBRARY: &str = "libnvidia-ml.so.1";
/// More links than any GPU has (NVML_NVLINK_MAX_LINKS is 18, or 36 in newer headers).
const MOST_LINKS: u32 = 64;
/// 64-bit words of a CPU or node mask: 8192 of either, as many as Linux can be built for.
const MASK_WORDS: usize = 128;
/// `NVML_AFFINITY_SCOPE_NODE`: what is near, not what is in the same socket.
const SCOPE_NODE: u32 = 0;
/// The name under which the answer is kept for a saved file.
const KEPT: &str = "nvml";

/// Whether NVML was asked, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Nvml {
    /// Nobody asked.
    NotAsked,
    /// Why it said nothing.
    Absent(String),
    /// What it said.
    Said(Facts),
}

impl Nvml {
    /// What it said.
    pub(crate) fn facts(&self) -> Option<&Facts> {
        if let Self::Said(facts) = self { Some(facts) } else { None }
    }
}

/// What NVML says on this machine, or what a saved file kept of that.
pub(crate) fn asked(root: &FsRoot) -> Nvml {
    let said = root
        .kept_or(KEPT, || Some(asked_of(LIBRARY.as_ref()).map_or_else(absent, |facts| facts.to_string())));
    said.map_or(Nvml::NotAsked, |text| read(&text))
}

/// What a saved file kept of NVML's answer; on a live machine NVML is not asked.
pub(crate) fn kept(root: &FsRoot) -> Nvml {
    root.kept_or(KEPT, || None).map_or(Nvml::NotAsked, |text| read(&text))
}

const ABSENT: &str = "absent ";

fn absent(why: String) -> String {
    format!("{ABSENT}{why}")
}

fn read(text: &str) -> Nvml {
    match (text.strip_prefix(ABSENT), text.parse()) {
        (Some(why), _) => Nvml::Absent(why.to_owned()),
        (None, Ok(facts)) => Nvml::Said(facts),
        (None, Err(why)) => Nvml::Absent(format!("what the file keeps of NVML cannot be read: {why}")),
    }
}

/// Opens the library; or why not.
fn opened(library: &OsStr) -> Result<Library, String> {
    let name = library.to_string_lossy();
    sys::linker_path::may_be_named(&name).map_err(|refused| refused.to_string())?;
    // NO_GPUS: that there is none is an answer, not an error.
    Library::builder().lib_path(library).flags(InitFlags::NO_GPUS).init().map_err(|error| match error {
        NvmlError::LibloadingError(error) => format!("{name} cannot be loaded ({error})"),
        error => format!("{name} does not start: {error}"),
    })
}

/// Opens the library and asks it everything.
fn asked_of(library: &OsStr) -> Result<Facts, String> {
    let name = library.to_string_lossy();
    let nvml = opened(library)?;
    let failed = |what: &str, error: NvmlError| format!("{name} does not say {what}: {error}");
    let devices = devices(&nvml).map_err(|error| failed("how many GPUs there are", error))?;
    let described = |(pci, device)| Some((gpu(pci, &device)?, device));
    let gpus: Vec<(NvGpu, Device<'_>)> = devices.into_iter().filter_map(described).collect();
    let mut paths = Vec::new();

    for (at, (one, device)) in gpus.iter().enumerate() {
        for (other, _) in &gpus[at + 1..] {
            // The call takes the other device by value: another handle of it.
            let handle = nvml.device_by_index(other.smi_index).ok();
            let level = handle.and_then(|handle| device.topology_common_ancestor(handle).ok()).map(level);
            paths.extend(level.map(|level| (one.pci, other.pci, level)));
        }
    }

    let driver = nvml.sys_driver_version().unwrap_or_else(|_| "unknown".to_owned());
    Ok(Facts { driver, gpus: gpus.into_iter().map(|(gpu, _)| gpu).collect(), paths })
}

/// The GPUs that the library lists, by their addresses, in its order.
fn devices(library: &Library) -> Result<Vec<(PciAddress, Device<'_>)>, NvmlError> {
    let device = |index| {
        let device = library.device_by_index(index).ok()?;
        Some((device.pci_info().ok()?.bus_id.parse().ok()?, device))
    };
    Ok((0..library.device_count()?).filter_map(device).collect())
}

fn gpu(pci: PciAddress, device: &Device<'_>) -> Option<NvGpu> {
    let set = |words: Result<Vec<std::ffi::c_ulong>, NvmlError>| {
        words.ok().map(|words| bits(&words)).filter(has_bits)
    };
    Some(NvGpu {
        pci,
        smi_index: device.index().ok()?,
        minor: device.minor_number().ok(),
        uuid: device.uuid().ok(),
        pus: set(device.cpu_affinity_within_scope(MASK_WORDS, SCOPE_NODE)),
        nodes: set(device.memory_affinity(MASK_WORDS, SCOPE_NODE)),
        memory_node: device.numa_node_id().ok(),
        mig: mig(device),
        link_mbytes_per_s: link_mbytes_per_s(device),
        links: (0..MOST_LINKS).map_while(|number| link(device, number)).flatten().collect(),
    })
}

fn has_bits(set: &IdSet) -> bool {
    !set.is_empty()
}

/// The numbers of the bits that are set.
fn bits(words: &[std::ffi::c_ulong]) -> IdSet {
    let set = |(at, word): (u32, &std::ffi::c_ulong)| {
        let word = *word;
        (0..std::ffi::c_ulong::BITS)
            .filter(move |bit| word >> bit & 1 == 1)
            .map(move |bit| at * std::ffi::c_ulong::BITS + bit)
    };
    (0..).zip(words).flat_map(set).collect()
}

/// UUIDs of the MIG instances; none where MIG is off or unknown.
fn mig(device: &Device<'_>) -> Vec<String> {
    let most = device.mig_device_count().unwrap_or(0);
    (0..most).filter_map(|index| device.mig_device_by_index(index).ok()?.uuid().ok()).collect()
}

/// The line rate of one link in one direction, MB/s, with what its protocol takes (26562 for the 25 GB/s of
/// NVLink 4). A driver of today says it link by link, and nvml-wrapper asks for link 0; H200s answer "not
/// supported" to the older field for all links.
fn link_mbytes_per_s(device: &Device<'_>) -> Option<u64> {
    let fields = [NVML_FI_DEV_NVLINK_GET_SPEED, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON].map(FieldId);
    let samples = device.field_values_for(&fields).ok()?;
    let mbytes = |value: SampleValue| match value {
        SampleValue::U32(mbytes) => Some(u64::from(mbytes)),
        SampleValue::U64(mbytes) => Some(mbytes),
        _ => None,
    };
    let mut known = samples.into_iter().filter_map(|sample| mbytes(sample.ok()?.value.ok()?));
    known.find(|mbytes| *mbytes > 0)
}

/// The link of this number: `None` where the GPU has no such link, `Some(None)` where it is not active.
fn link(device: &Device<'_>, number: u32) -> Option<Option<NvLink>> {
    let link = device.link_wrapper_for(number);
    if !link.is_active().ok()? {
        return Some(None);
    }
    let pci = link.remote_pci_info().ok().and_then(|pci| pci.bus_id.parse::<PciAddress>().ok());
    let remote = match (sys::nvml::remote_kind(device, number), pci) {
        (Some(REMOTE_SWITCH), _) => Remote::Switch,
        (Some(REMOTE_CPU), _) => Remote::Cpu,
        // Older drivers do not tell the kind: then the address does, where it is a GPU's.
        (_, Some(pci)) => Remote::Pci(pci),
        (_, None) => Remote::Unknown,
    };
    Some(Some(NvLink { number, version: link.version().ok(), remote }))
}

/// `NVML_NVLINK_DEVICE_TYPE_IBMNPU` and `_SWITCH`.
const REMOTE_CPU: u32 = 1;
const REMOTE_SWITCH: u32 = 2;

fn level(level: TopologyLevel) -> PciLevel {
    match level {
        TopologyLevel::Internal | TopologyLevel::Single => PciLevel::Pix,
        TopologyLevel::Multiple => PciLevel::Pxb,
        TopologyLevel::HostBridge => PciLevel::Phb,
        TopologyLevel::Node => PciLevel::Node,
        TopologyLevel::System => PciLevel::Sys,
    }
}
