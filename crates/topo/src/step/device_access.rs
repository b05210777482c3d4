//! Whether this process may open a GPU's device file, asked without opening it: opening would wake the GPU.
//!
//! access(2) asks the device cgroup too (`devcgroup_inode_permission` in the kernel's `inode_permission`),
//! and a refusal of the cgroup's is EPERM where one of the file's mode is EACCES. So a GPU that a scheduler
//! has hidden from a step is told from one that the user may not use.

use rustix::fs::{Access as Mode, access};
use rustix::io::Errno;
use stats::PciAddress;

use crate::driver_files;
use crate::fs_root::FsRoot;
use crate::kfd::{self, KfdGpu};

/// What came of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It may be opened.
    Open,
    /// The device cgroup refuses it.
    Refused,
    /// There is no such file here, though its driver has the GPU: a container that was given only some.
    Missing,
    /// No driver says which file it has, or something else is in the way.
    Unknown,
}

/// Whether the file of the GPU at `pci` may be opened.
pub(crate) fn device_access(root: &FsRoot, pci: PciAddress) -> Access {
    let Some(file) = device_file(root, pci) else { return Access::Unknown };
    match access(file, Mode::READ_OK | Mode::WRITE_OK) {
        Ok(()) => Access::Open,
        Err(Errno::PERM) => Access::Refused,
        Err(Errno::NOENT) => Access::Missing,
        Err(_) => Access::Unknown,
    }
}

/// AMD's GPUs as ROCm counts them: libhsakmt passes over a node whose render device is not there or refused.
pub(crate) fn open_agents(root: &FsRoot) -> Vec<KfdGpu> {
    let is_closed = |pci| matches!(device_access(root, pci), Access::Refused | Access::Missing);
    kfd::gpus(root).into_iter().filter(|agent| !is_closed(agent.pci)).collect()
}

/// The GPU's own device file: NVIDIA's by the minor number that its driver shows, AMD's the render node.
pub(crate) fn device_file(root: &FsRoot, pci: PciAddress) -> Option<String> {
    if driver_files::is_nvidias(root, pci) {
        return Some(format!("/dev/nvidia{}", driver_files::nvidia_minor(root, pci)?));
    }
    let nodes = root.names(&format!("/sys/bus/pci/devices/{pci}/drm"));
    nodes.into_iter().find(|name| name.starts_with("renderD")).map(|name| format!("/dev/dri/{name}"))
}
