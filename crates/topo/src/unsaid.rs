//! What the texts of other tools leave open, and which tool would say it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of the machine that no text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unsaid {
    /// Any PU or NUMA node.
    Cpus,
    /// Which PUs share a core.
    Cores,
    /// Which PUs are in a package.
    Packages,
    /// Which PUs share an L3.
    L3s,
    /// Which PUs are near to which memory.
    Nodes,
    /// How much memory each node has.
    MemorySizes,
    /// How far the nodes are from each other.
    Distances,
    /// Which PUs and nodes a job may use: lists of all CPUs have the reserved ones too.
    Allowed,
    /// Any GPU.
    Gpus,
    /// Whether display controllers and accelerators without a library's device are GPUs.
    Displays,
    /// The PCI addresses of GPUs, so that their numbers are the tool's.
    GpuAddresses,
    /// Which row of `nvidia-smi topo -m` is which device of lstopo.
    MatrixRows,
}

/// What is asked needs a fact that the texts do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not possible with these texts, which do not say {}: give the output of {} too, with another \
    --input", .0.words(), .0.said_by())]
pub struct UnsaidError(pub Unsaid);

impl Unsaid {
    /// It in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Cpus => "CPUs and NUMA nodes",
            Self::Cores => "which PUs share a core",
            Self::Packages => "which PUs are in a package",
            Self::L3s => "which PUs share an L3",
            Self::Nodes => "NUMA nodes",
            Self::MemorySizes => "memory sizes",
            Self::Distances => "node distances",
            Self::Allowed => "which of these PUs and nodes a job may use, as reserved cores are listed too",

            Self::Gpus => "GPUs",
            Self::Displays => "whether a display controller or accelerator without a driver's name is a GPU",
            Self::GpuAddresses => "PCI addresses of the GPUs, whose numbers here are the tool's",
            Self::MatrixRows => {
                "which PCI device each row of nvidia-smi topo -m is, so that its cells are left out"
            }
        }
    }

    /// The commands that say it.
    pub fn said_by(self) -> &'static str {
        match self {
            Self::Cpus => "lscpu -e and numactl -H, or lstopo",
            Self::Cores | Self::Packages | Self::L3s => "lscpu -e or lstopo",
            Self::Nodes | Self::MemorySizes | Self::Distances => "numactl -H",
            Self::Allowed => "lstopo or numabench topo --save in the job",
            Self::Gpus => "nvidia-smi topo -m, rocm-smi --showtopo or lstopo",
            Self::Displays => "lstopo -v",
            Self::GpuAddresses => "nvidia-smi -q, rocm-smi --showbus",
            Self::MatrixRows => "nvidia-smi -q",
        }
    }
}

/// Several in one sentence, those that the same command says together; `None` where nothing is left open.
pub(crate) fn sentence(unsaid: &[Unsaid]) -> Option<String> {
    let groups = unsaid.chunk_by(|one, other| one.said_by() == other.said_by());
    let group = |group: &[Unsaid]| {
        let words: Vec<&str> = group.iter().map(|one| one.words()).collect();
        format!("{} ({})", words.join(", "), group[0].said_by())
    };
    let groups: Vec<String> = groups.map(group).collect();
    (!groups.is_empty()).then(|| groups.join("; "))
}
