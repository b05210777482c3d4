//! Which processes use which GPUs, by the drivers' own lists: those of `nvidia-smi` and of `rocm-smi
//! --showpidgpus`.
//!
//! What a process may open and what its variables leave says which GPUs it *can* use; on which one it has a
//! context (NVML) or queues (amdkfd), only the driver knows. The lists have the process ids of the kernel's
//! first PID namespace, so inside of a container with one of its own nobody is found in them, which proves
//! nothing. Nothing is started on a GPU. Left out: graphics, and how busy a GPU is.

use std::path::Path;

use crate::fs_root::FsRoot;
use crate::gpu_class::{AMD, NVIDIA};
use crate::kfd;
use crate::model::{Topology, TopologySource};
use crate::nvml;

pub use crate::gpu_use::GpuUse;

/// What the drivers' lists say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuUsers {
    /// By driver, GPU and process.
    pub uses: Vec<GpuUse>,
    /// The drivers that gave a list, empty or not.
    pub asked: Vec<&'static str>,
    /// Why a driver whose GPU is here gave none.
    pub silent: Vec<String>,
    /// Whether the lists have the ids of another PID namespace: then who is not found in them may use a GPU
    /// all the same.
    pub are_of_host: bool,
}

/// What `/proc/self/ns/pid` links to in the first PID namespace (PROC_PID_INIT_INO, linux/proc_ns.h).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// Whether this process is in a PID namespace of its own, as far as /proc says so.
fn is_in_own_namespace() -> bool {
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link != Path::new(FIRST_NAMESPACE))
}

/// The drivers' lists on this machine; of a saved one there is none.
pub fn gpu_users(topology: &Topology) -> GpuUsers {
    if topology.source == TopologySource::ThisSystem {
        GpuUsers { are_of_host: is_in_own_namespace(), ..under(&FsRoot::default(), topology) }
    } else {
        GpuUsers::default()
    }
}

/// The processes that use AMD's GPUs, by amdkfd.
///
/// # Errors
/// It has no list.
pub fn amd_uses(root: &FsRoot) -> Result<Vec<GpuUse>, String> {
    kfd::uses(root)
}

fn under(root: &FsRoot, topology: &Topology) -> GpuUsers {
    let has = |vendor| topology.gpus.iter().any(|gpu| gpu.vendor_id == vendor);
    let nvidia = has(NVIDIA).then(|| ("NVML", nvml::uses()));
    let amd = has(AMD).then(|| ("KFD", amd_uses(root)));
    let mut users = GpuUsers::default();
    for (name, said) in nvidia.into_iter().chain(amd) {
        match said {
            Ok(uses) => {
                users.asked.push(name);
                users.uses.extend(uses);
            }
            Err(why) => users.silent.push(why),
        }
    }
    users
}

impl GpuUsers {
    /// The processes, each once, ascending.
    pub fn pids(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = self.uses.iter().map(|one| one.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// What this process uses; `None` where no driver gave a list, or where this machine's /proc does not
    /// know the processes of the lists, so that its ids are another namespace's.
    pub(crate) fn uses_of(&self, pid: u32, is_here: impl Fn(u32) -> bool) -> Option<Vec<GpuUse>> {
        let own: Vec<GpuUse> = self.uses.iter().filter(|one| one.pid == pid).cloned().collect();
        let told = !self.asked.is_empty() && !self.are_of_host && self.pids().into_iter().all(is_here);
        (told || !own.is_empty()).then_some(own)
    }
}

#[cfg(test)]
mod tests {
    use stats::PciAddress;

    use super::*;

    fn list(pids: &[u32]) -> GpuUsers {
        let pci = PciAddress { domain: 0, bus: 1, device: 0, function: 0 };
        let one = |pid: &u32| GpuUse { pid: *pid, pci, bytes: None, source: "NVML".to_owned() };
        GpuUsers { uses: pids.iter().map(one).collect(), asked: vec!["NVML"], ..GpuUsers::default() }
    }

    #[test]
    fn who_is_not_in_a_list_uses_no_gpu_unless_the_list_is_of_other_processes_than_those_here() {
        let both = list(&[7, 9]);
        assert_eq!(both.pids(), [7, 9]);
        assert_eq!(both.uses_of(8, |_| true), Some(Vec::new()));
        assert_eq!(both.uses_of(8, |pid| pid == 7), None, "9 is not here: the ids are another namespace's");
        assert_eq!(both.uses_of(7, |pid| pid == 7).map(|own| own.len()), Some(1));
        assert_eq!(GpuUsers::default().uses_of(7, |_| true), None, "nobody was asked");
        let in_container = GpuUsers { are_of_host: true, ..list(&[]) };
        assert_eq!(in_container.uses_of(7, |_| true), None, "an empty list of other ids proves nothing");
    }
}
