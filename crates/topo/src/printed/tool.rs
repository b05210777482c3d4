//! The names of the tools whose output is read, as a machine's source has them.

/// `lscpu`, its summary.
pub(crate) const LSCPU: &str = "lscpu";
/// lscpu's list of CPUs.
pub(crate) const LSCPU_LIST: &str = "lscpu -e or -p";
/// numactl's list of nodes.
pub(crate) const NUMACTL: &str = "numactl -H";
/// hwloc's tool.
pub(crate) const LSTOPO: &str = "lstopo";
/// The matrix of NVIDIA's tool.
pub(crate) const NVIDIA_MATRIX: &str = "nvidia-smi topo -m";
/// All else that NVIDIA's tool prints.
pub(crate) const NVIDIA_SMI: &str = "nvidia-smi";
/// AMD's tool.
pub(crate) const ROCM_SMI: &str = "rocm-smi";
