//! Adapters that reach memory by themselves (RDMA), and what lets them reach a GPU's: a kernel module, or DMA-BUF.
//!
//! NVIDIA's driver exports DMA-BUFs from its open kernel modules only (GPUDirect RDMA documentation), on Linux 5.12 and newer; amdgpu does so by itself.

use topo::fs_root::FsRoot;

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RdmaAdapters {
    /// InfiniBand and RoCE devices (`mlx5_0`), and Slingshot's (`cxi0`).
    pub rdma: Vec<String>,
    /// The module that hands NVIDIA's memory to RDMA, where one is loaded.
    pub peer_module: Option<&'static str>,
    /// Whether NVIDIA's kernel modules are the open ones; `None` without the driver.
    pub is_open_driver: Option<bool>,
    /// The kernel's version, as in 6.1.
    pub kernel: Option<(u32, u32)>,
}

/// Modules that hand NVIDIA's memory to RDMA: the driver's own, and Mellanox's older one.
const PEER_MODULES: [&str; 2] = ["nvidia_peermem", "nv_peer_mem"];

/// Reads it.
pub fn adapters(root: &FsRoot) -> RdmaAdapters {
    let names = ["infiniband", "cxi"].map(|class| root.names(&format!("/sys/class/{class}")));
    let loaded = |module: &&&str| root.exists(&format!("/sys/module/{module}"));
    let release = root.text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse().ok());
    RdmaAdapters {
        rdma: names.concat(),
        peer_module: PEER_MODULES.iter().find(loaded).copied(),
        is_open_driver: root.text("/proc/driver/nvidia/version").ok().map(|text| text.contains("Open Kernel Module")),
        kernel: numbers.next().zip(numbers.next()),
    }
}
