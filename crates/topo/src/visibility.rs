//! Which GPUs a program started here would see, and under which index: the effect of the visible-devices
//! variables, predicted.
//!
//! Pure: the variables' values and the machine's GPUs in, the runtimes' lists out; no runtime is started.
//! What a runtime does with odd values is its own, so there is a file for each: `cuda` and `rocm`, which cite
//! what they follow. Not here: what a cgroup or a container keeps away, which no variable says.

mod cuda;
mod rocm;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PciAddress;

use crate::fs_root::FsRoot;
use crate::gpu_class::{AMD, NVIDIA};
use crate::kfd::KfdGpu;
use crate::model::{Gpu, Topology};
use crate::nvml::Nvml;

/// The variables that are looked at.
const VARIABLES: [&str; 5] = [
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
];

/// What a runtime would list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Visibility {
    /// The runtime.
    pub runtime: Runtime,
    /// The variables that it reads and that are set.
    pub variables: BTreeMap<String, String>,
    /// Its devices in its order, predicted; null where that is not known.
    pub devices: Option<Vec<Visible>>,
    /// Why it is not known; null where it is.
    pub reason: Option<String>,
    /// What is worth knowing of it.
    pub notes: Vec<String>,
}

/// A runtime that lists GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Runtime {
    /// NVIDIA's.
    Cuda,
    /// AMD's.
    Hip,
}

impl Runtime {
    /// Its name as people write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Cuda => "CUDA",
            Self::Hip => "HIP",
        }
    }

    /// The runtime of a vendor's GPUs.
    pub fn of_vendor(vendor_id: u16) -> Option<Self> {
        match vendor_id {
            NVIDIA => Some(Self::Cuda),
            AMD => Some(Self::Hip),
            _ => None,
        }
    }
}

/// A device in a runtime's list; its index is its place there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Visible {
    /// The GPU; null for a part of one whose GPU nobody says.
    pub pci: Option<PciAddress>,
    /// The part of a GPU that it is, as the variable names it (a MIG instance); null for a whole GPU.
    pub part: Option<String>,
}

impl Visible {
    fn whole(pci: PciAddress) -> Self {
        Self { pci: Some(pci), part: None }
    }
}

/// A list, or why there is none.
type Listed = Result<Vec<Visible>, String>;

/// The variables that are set, of this process or of the one that wrote the file.
pub(crate) fn variables(root: &FsRoot) -> BTreeMap<String, String> {
    let value = |name: &str| {
        root.kept_or(&format!("env:{name}"), || Some(std::env::var_os(name)?.to_string_lossy().into_owned()))
    };
    VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?))).collect()
}

/// Whether a variable of this name is looked at.
pub(crate) fn is_read(name: &str) -> bool {
    VARIABLES.contains(&name)
}

/// What each runtime that has GPUs here would list.
pub(crate) fn visibility(
    topology: &Topology,
    nvml: &Nvml,
    kfd: &[KfdGpu],
    variables: &BTreeMap<String, String>,
) -> Vec<Visibility> {
    let nvidia: Vec<&Gpu> = topology.gpus.iter().filter(|gpu| gpu.vendor_id == NVIDIA).collect();
    let cuda = (!nvidia.is_empty()).then(|| cuda::visibility(&nvidia, nvml, variables));
    let has_amd = topology.gpus.iter().any(|gpu| gpu.vendor_id == AMD);
    let hip = has_amd.then(|| rocm::visibility(kfd, variables));
    cuda.into_iter().chain(hip).collect()
}

/// What CUDA would list of these GPUs, in PCI order, where no driver was asked.
pub fn of_cuda(gpus: &[&Gpu], variables: &BTreeMap<String, String>) -> Visibility {
    cuda::visibility(gpus, &Nvml::NotAsked, variables)
}

/// What HIP would list of these GPUs if ROCr counts them in this order.
pub fn of_hip(gpus: &[&Gpu], variables: &BTreeMap<String, String>) -> Visibility {
    let agent = |gpu: &&Gpu| KfdGpu { node: 0, pci: gpu.pci, uuid: gpu.uuid.clone(), links: Vec::new() };
    rocm::visibility(&gpus.iter().map(agent).collect::<Vec<_>>(), variables)
}

/// The result for a runtime that reads these variables.
fn of_runtime(
    runtime: Runtime,
    read: &[&str],
    set: &BTreeMap<String, String>,
    listed: Listed,
    notes: Vec<String>,
) -> Visibility {
    let variables = set.iter().filter(|(name, _)| read.contains(&name.as_str()));
    let reason = listed.as_ref().err().cloned();
    Visibility {
        runtime,
        variables: variables.map(|(name, value)| (name.clone(), value.clone())).collect(),
        devices: listed.ok(),
        reason,
        notes,
    }
}
