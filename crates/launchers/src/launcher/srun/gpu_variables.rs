//! Variables that show GPUs and that Slurm writes itself.
//!
//! Its plug-in overwrites or unsets them for each task of a step with GPUs (`gres_common_gpu_set_env`; seen
//! with 22.05). A job without any keeps what it has (LLNL's mpibind tutorial, cug23, module 3), and a line
//! that asks for no GPUs does not say which job it is.

use std::collections::BTreeMap;

use topo::Topology;
use topo::gpu_class::{AMD, INTEL, NVIDIA};

use crate::unknown::UNKNOWN;

const CUDA: &str = "CUDA_VISIBLE_DEVICES";

/// The variables that Slurm writes for tasks on GPUs of a vendor; CUDA's is read by HIP too.
const OWN_VARIABLES: [(u16, &str); 4] =
    [(NVIDIA, CUDA), (AMD, "ROCR_VISIBLE_DEVICES"), (AMD, CUDA), (INTEL, "ZE_AFFINITY_MASK")];

/// Takes away from what a task is passed on what Slurm overwrites; `has_gpus`: whether the step has GPUs of
/// Slurm's for certain.
pub(super) fn withhold(
    has_gpus: bool,
    topology: &Topology,
    passed: &mut BTreeMap<String, String>,
    notes: &mut Vec<String>,
) {
    let is_here = |vendor: u16| topology.gpus.iter().any(|gpu| gpu.vendor_id == vendor);

    for (vendor, name) in OWN_VARIABLES.into_iter().filter(|(vendor, _)| is_here(*vendor)) {
        let Some(value) = passed.get(name) else { continue };
        // With AutoDetect=rsmi Slurm leaves CUDA's as it is.
        if has_gpus && (vendor, name) != (AMD, CUDA) {
            notes.push(format!(
                "Slurm overwrites {name} for its tasks, so {name}={value} does not count: choose GPUs by \
                 --gpu-bind=map:LIST, or set it behind srun"
            ));
            passed.remove(name);
        } else {
            notes.push(format!(
                "Slurm overwrites {name} for tasks of a job with GPUs, which the line does not ask for: \
                 write --gpus-per-node=N where it has them, or set {name} behind srun"
            ));
            passed.insert(name.to_owned(), UNKNOWN.to_string());
        }
    }
}
