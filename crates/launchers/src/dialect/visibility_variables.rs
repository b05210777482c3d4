//! The variables that show a GPU runtime one device only.
//!
//! By the position in PCI order, because these words are for every node of a kind and a UUID is of one: CUDA
//! takes it with `CUDA_DEVICE_ORDER=PCI_BUS_ID` (CUDA C++ Programming Guide, "Environment variables"); for
//! ROCm it is only likely, since ROCr counts in the driver's order, which this does not know. A MIG instance
//! has a UUID and no position: it is named so, and [`VisibilityVariables::host_only`] says it.

use topo::gpu_class::{AMD, NVIDIA};
use topo::model::Topology;

use placement::{Target, TargetId};

/// Variables to set for a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisibilityVariables {
    /// Name and value, in the order to set them.
    pub variables: Vec<(&'static str, String)>,
    /// Names to take away: what was meant for a longer list would hide the one that is left, since ROCr
    /// renumbers before HIP reads these.
    pub cleared: &'static [&'static str],
    /// It names a device of this one host: on another it would name none.
    pub host_only: bool,
    /// What is not certain of it, or why there are none.
    pub remark: Option<String>,
}

/// What shows a rank its target and no other; no variables for what is no GPU, or nobody's that is known.
pub fn visible(topology: &Topology, target: &Target) -> VisibilityVariables {
    let none = |why: String| VisibilityVariables { remark: Some(why), ..VisibilityVariables::default() };
    let TargetId::Gpu(pci) = target.id else {
        return none(format!("{} is not a GPU: no variable selects it", target.id));
    };
    let Some(gpu) = topology.gpu_at(pci) else {
        return none(format!("this machine shows no GPU {pci}: no variable is set for it"));
    };
    let same_vendor =
        topology.gpus.iter().filter(|other| other.vendor_id == gpu.vendor_id && other.pci < pci).count();
    let mig = target.uuid.as_ref().filter(|uuid| is_mig(uuid));
    let host_only = mig.is_some();

    match gpu.vendor_id {
        NVIDIA => {
            let order = (!host_only).then(|| ("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned()));
            let value = mig.cloned().unwrap_or_else(|| same_vendor.to_string());
            let variables = order.into_iter().chain([("CUDA_VISIBLE_DEVICES", value)]).collect();
            VisibilityVariables { variables, host_only, ..VisibilityVariables::default() }
        }
        AMD => VisibilityVariables {
            variables: vec![("ROCR_VISIBLE_DEVICES", same_vendor.to_string())],
            cleared: &["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"],
            host_only: false,
            remark: Some(
                "AMD GPUs are numbered in PCI order here: compare ROCr's order with rocminfo once".to_owned(),
            ),
        },
        other => none(format!("GPU {pci} is of vendor {other:#06x}: which variable shows it is not known")),
    }
}

/// A saved file can say anything for a UUID, and this goes into a shell: `MIG-` and what a UUID is made of.
fn is_mig(text: &str) -> bool {
    // The older names of MIG instances have a GPU's UUID and two numbers: MIG-GPU-…/1/0.
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '/');
    text.strip_prefix("MIG-").is_some_and(|rest| !rest.is_empty() && rest.chars().all(fits))
}
