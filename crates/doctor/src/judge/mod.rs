//! From facts to checks: pure, and one check a setting, whatever it is a setting of.
//!
//! A check *costs* only where the source that it names says that this setting takes placement or bandwidth
//! away on a node like this one; what is merely unusual is worth a look and decides no exit code. What this
//! node has no such thing for gives no check.

mod adapters;
mod container;
mod cores;
mod gpu_memory_nodes;
mod gpus;
mod links;
mod memory;
mod nccl;
mod nodes;
mod peers;
mod probe;
mod repairs;
mod share;
mod slurm;

use report::doctor::Check;

use crate::facts::SystemFacts;

/// Who knows what this user is not shown.
const ROOT: &str = "root";
/// Who knows what a guest is not shown.
const HOST: &str = "the administrator of the virtual machine's host";
/// Who knows what NVML would say.
const NVML: &str = "NVIDIA's libnvidia-ml.so.1 (nvidia-smi -q)";

/// Who knows a file of the kernel that cannot be read here.
const UNREADABLE: &str = "a user outside of this container";

/// Every check that applies here, part by part.
pub fn checks(facts: &SystemFacts<'_>) -> Vec<Check> {
    let all: [fn(&SystemFacts<'_>) -> Option<Check>; 44] = [
        peers::acs,
        peers::iommu,
        links::link,
        links::payload,
        links::window,
        peers::peer_access,
        nccl::topology,
        nodes::nodes_per_package,
        nodes::gpu_locality,
        nodes::grace_mode,
        nodes::without_memory,
        nodes::without_cpus,
        gpu_memory_nodes::host_use,
        memory::numa_balancing,
        memory::transparent_huge_pages,
        memory::zone_reclaim,
        memory::memlock,
        memory::shm,
        memory::swap,
        memory::huge_pages,
        cores::governor,
        cores::isolated,
        cores::threads,
        cores::interrupts,
        share::cpus,
        share::memory_nodes,
        share::near_gpus,
        gpus::persistence,
        gpus::mig,
        gpus::ecc,
        repairs::repairs,
        gpus::confidential,
        gpus::shared_use,
        gpus::fabric,
        gpus::power,
        gpus::processes,
        adapters::gpu_memory,
        container::affinity,
        container::memory_policy,
        container::page_nodes,
        slurm::gres_cores,
        slurm::binding,
        slurm::cgroup,
        slurm::sockets,
    ];
    all.iter().filter_map(|check| check(facts)).chain(share::pod(facts)).collect()
}
