//! Adapters that reach memory by themselves (RDMA), and what lets them reach a GPU's: their own driver, a
//! kernel module, or DMA-BUF.
//!
//! Slingshot's driver takes NVIDIA's pages itself (HPE Slingshot Host Software, CXI core driver), and so does
//! Amazon's for EFA, which says so in a file of the device (`p2p`, or `gdr` of older ones: amzn-drivers,
//! efa_sysfs.c). Others get the pages from a module that registers with the RDMA core, or as DMA-BUFs, which
//! NVIDIA's driver exports from its open kernel modules only (GPUDirect RDMA documentation); amdgpu does so
//! by itself.

use topo::fs_root::{FsRoot, value_of};

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RdmaAdapters {
    /// InfiniBand and RoCE devices (`mlx5_0`), EFA's, and Slingshot's (`cxi0`); `None` where sysfs is not
    /// shown.
    pub rdma: Option<Vec<RdmaAdapter>>,
    /// The module that hands NVIDIA's memory to RDMA, where one is loaded.
    pub peer_module: Option<&'static str>,
    /// Whether NVIDIA's kernel modules are the open ones; `None` where the driver's files are not shown.
    pub is_open_driver: Option<bool>,
    /// The kernel's version, as in 6.1.
    pub kernel: Option<(u32, u32)>,
}

/// An adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdmaAdapter {
    /// The kernel's name for it.
    pub name: String,
    /// The driver of its PCI device (`mlx5_core`, `efa`, `cxi_ss1`); `None` where the kernel does not say.
    pub driver: Option<String>,
    /// Whether its driver says that it takes NVIDIA's memory by itself.
    pub takes_gpu_memory: bool,
}

impl RdmaAdapters {
    /// The names of the adapters; none also where they are not known.
    pub fn names(&self) -> Vec<&str> {
        self.rdma.iter().flatten().map(|adapter| adapter.name.as_str()).collect()
    }
}

/// Modules that hand NVIDIA's memory to RDMA: the driver's own, and Mellanox's older one.
const PEER_MODULES: [&str; 2] = ["nvidia_peermem", "nv_peer_mem"];

/// Reads it.
pub fn adapters(root: &FsRoot) -> RdmaAdapters {
    let of_class = |class: &str| -> Vec<RdmaAdapter> {
        let names = root.names(&format!("/sys/class/{class}"));
        names.into_iter().map(|name| adapter(root, class, name)).collect()
    };
    let is_shown = !root.names("/sys/class").is_empty();
    let loaded = |module: &&&str| root.exists(&format!("/sys/module/{module}"));
    let release = root.text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse().ok());

    RdmaAdapters {
        rdma: is_shown.then(|| ["infiniband", "cxi"].map(of_class).concat()),
        peer_module: PEER_MODULES.iter().find(loaded).copied(),
        is_open_driver: root
            .text("/proc/driver/nvidia/version")
            .ok()
            .map(|text| text.contains("Open Kernel Module")),
        kernel: numbers.next().zip(numbers.next()),
    }
}

fn adapter(root: &FsRoot, class: &str, name: String) -> RdmaAdapter {
    let file = |file: &str| root.text(&format!("/sys/class/{class}/{name}/device/{file}")).ok();
    let driver = file("uevent").and_then(|text| Some(value_of(&text, "DRIVER")?.to_owned()));
    let takes_gpu_memory = class == "cxi"
        || file("p2p").is_some_and(|provider| provider.eq_ignore_ascii_case("nvidia"))
        || file("gdr").as_deref() == Some("1");
    RdmaAdapter { driver, takes_gpu_memory, name }
}
