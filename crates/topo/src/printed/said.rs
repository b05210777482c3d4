//! What each tool printed, side by side.

use std::collections::BTreeMap;

use stats::IdSet;

use super::lscpu::{Lscpu, Row};
use super::numactl::Numactl;
use super::nvidia_matrix::{MatrixRow, NvidiaMatrix};
use super::nvidia_smi::NvidiaGpu;
use super::rocm_smi::RocmSmi;
use super::tool;
use super::tree::{Kind, Tree};

/// What each tool printed.
#[derive(Clone, Debug, Default)]
pub(super) struct Printed {
    pub(super) lscpu: Option<Lscpu>,
    pub(super) listed: Vec<Row>,
    pub(super) numactl: Option<Numactl>,
    pub(super) tree: Option<Tree>,
    pub(super) matrix: Option<NvidiaMatrix>,
    pub(super) nvidia: BTreeMap<u32, NvidiaGpu>,
    pub(super) rocm: Option<RocmSmi>,
}

impl Printed {
    /// The tools whose output was found.
    pub(super) fn tools(&self) -> Vec<&'static str> {
        let found = [
            (tool::LSCPU, self.lscpu.is_some()),
            (tool::LSCPU_LIST, !self.listed.is_empty()),
            (tool::NUMACTL, self.numactl.is_some()),
            (tool::LSTOPO, self.tree.is_some()),
            (tool::NVIDIA_MATRIX, self.matrix.is_some()),
            (tool::NVIDIA_SMI, !self.nvidia.is_empty()),
            (tool::ROCM_SMI, self.rocm.is_some()),
        ];
        found.into_iter().filter(|(_, is_found)| *is_found).map(|(tool, _)| tool).collect()
    }

    pub(super) fn cpu_model(&self) -> Option<&str> {
        self.lscpu.as_ref()?.model.as_deref()
    }

    /// nvidia-smi's numbers of GPUs, in all that it printed.
    pub(super) fn nvidia_numbers(&self) -> IdSet {
        let rows = self.matrix.iter().flat_map(|matrix| &matrix.rows);
        self.nvidia.keys().copied().chain(rows.filter_map(MatrixRow::gpu)).collect()
    }

    pub(super) fn matrix_row(&self, gpu: u32) -> Option<&MatrixRow> {
        self.matrix.as_ref()?.rows.iter().find(|row| row.gpu() == Some(gpu))
    }

    /// Whether a text describes the machine's CPUs, all of them.
    pub(super) fn says_cpus(&self) -> bool {
        self.lscpu.is_some() || !self.listed.is_empty() || self.numactl.is_some() || self.tree.is_some()
    }

    /// Whether nvidia-smi's rows say the same CPUs and nodes for every GPU.
    pub(super) fn rows_are_alike(&self) -> bool {
        let rows = self.matrix.iter().flat_map(|matrix| &matrix.rows).filter(|row| row.gpu().is_some());
        let near: Vec<_> = rows.map(|row| (&row.pus, &row.nodes)).collect();
        near.windows(2).all(|two| two[0] == two[1])
    }

    /// Whether a text says that the machine has one NUMA node.
    pub(super) fn has_one_node(&self) -> bool {
        let by_lscpu = self.lscpu.as_ref().is_some_and(|lscpu| lscpu.node_count == Some(1));
        by_lscpu || self.numactl.as_ref().is_some_and(|numactl| numactl.nodes.len() == 1)
    }

    /// Whether a text would name the machine's GPUs.
    pub(super) fn says_gpus(&self) -> bool {
        let shows_devices =
            |tree: &Tree| tree.objects.iter().any(|object| matches!(object.kind, Kind::Pci(_)));
        self.tree.as_ref().is_some_and(shows_devices)
            || self.rocm.is_some()
            || !self.nvidia_numbers().is_empty()
    }
}
