//! The variables that show a GPU runtime one device only.
//!
//! By UUID where a driver's files gave one, because it means the same whatever the order and whatever else is set; by the position in PCI order
//! where not, which CUDA takes with `CUDA_DEVICE_ORDER=PCI_BUS_ID` (CUDA C++ Programming Guide, "Environment variables") and which for ROCm is
//! only likely: ROCr counts in the driver's order, which this does not know.

use topo::model::Topology;

use crate::{Target, TargetId};

/// PCI vendor ids (pci.ids).
const NVIDIA: u16 = 0x10de;
const AMD: u16 = 0x1002;

/// Variables to set for a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visible {
    /// Name and value, in the order to set them.
    pub variables: Vec<(&'static str, String)>,
    /// Names to take away: what was meant for a longer list would hide the one that is left, since ROCr renumbers before HIP reads these.
    pub cleared: &'static [&'static str],
    /// What is not certain of it, or why there are none.
    pub remark: Option<String>,
}

/// What shows a rank its target and no other; no variables for what is no GPU, or nobody's that is known.
pub fn visible(topology: &Topology, target: &Target) -> Visible {
    let none = |why: String| Visible { remark: Some(why), ..Visible::default() };
    let TargetId::Gpu(pci) = target.id else {
        return none(format!("{} is no GPU: no variable shows it", target.id));
    };
    let Some(gpu) = topology.gpu_at(pci) else {
        return none(format!("this machine shows no GPU {pci}: no variable is set for it"));
    };
    let same_vendor = topology.gpus.iter().filter(|other| other.vendor_id == gpu.vendor_id && other.pci < pci).count();
    let uuid = target.uuid.as_ref().or(gpu.uuid.as_ref()).filter(|uuid| is_uuid(uuid));
    let value = uuid.cloned().unwrap_or_else(|| same_vendor.to_string());
    match gpu.vendor_id {
        NVIDIA => {
            let order = uuid.is_none().then(|| ("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned()));
            let variables = order.into_iter().chain([("CUDA_VISIBLE_DEVICES", value)]).collect();
            Visible { variables, ..Visible::default() }
        }
        AMD => Visible {
            variables: vec![("ROCR_VISIBLE_DEVICES", value)],
            cleared: &["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"],
            remark: uuid.is_none().then(|| {
                "no file gives the AMD GPUs' UUIDs: they are named by their place in PCI order, and ROCr's may differ (see rocminfo)".to_owned()
            }),
        },
        other => none(format!("GPU {pci} is of vendor {other:#06x}: which variable shows it is not known")),
    }
}

/// A saved file can say anything for a UUID, and this goes into a shell: `GPU-` or `MIG-` and what a UUID is made of.
fn is_uuid(text: &str) -> bool {
    let rest = text.strip_prefix("GPU-").or_else(|| text.strip_prefix("MIG-"));
    // The older names of MIG instances have a GPU's UUID and two numbers: MIG-GPU-…/1/0.
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '/');
    rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(fits))
}
