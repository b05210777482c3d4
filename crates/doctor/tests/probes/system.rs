//! Memory, cores, and what a container lets a program do.

use engine::CallFailure;
use topo::model::{Core, NodeKind, NumaNode, Rung, TopologySource};

use crate::node::{Node, node, set};
use crate::{Case, Is, Outcome, tried};

fn refused<T>() -> Result<T, CallFailure> {
    Err(CallFailure::Refused("Operation not permitted (os error 1)".to_owned()))
}

fn not_asked<T>() -> Result<T, CallFailure> {
    Err(CallFailure::NotAsked("Resource temporarily unavailable (os error 11)".to_owned()))
}

/// One NUMA node over all cores.
fn one_node(machine: &mut Node) {
    machine.survey.topology.packages.truncate(1);
    machine.survey.topology.nodes = vec![node(0, NodeKind::Normal, "0-15")];
    machine.survey.topology.allowed.nodes = set("0");
}

/// Eight cores of two threads, as a package of a machine with SMT numbers them.
fn two_threads(machine: &mut Node) {
    let core = |at: u32| Core { os_index: Some(at), pus: [at, at + 8].into_iter().collect() };
    machine.survey.topology.cores = (0..8).map(core).collect();
}

/// How the kernel manages memory.
pub const MEMORY: &[Case] = &[
    ("memory.numa-balancing", Is::Costly, "on (1)", |node| {
        node.file("/proc/sys/kernel/numa_balancing", "1\n")
    }),
    ("memory.numa-balancing", Is::Well, "one NUMA node", |node| {
        one_node(node);
        node.file("/proc/sys/kernel/numa_balancing", "1\n")
    }),
    ("memory.numa-balancing", Is::Open, "cannot be read", |node| node.gone("/proc")),
    // A kernel that is built without it.
    ("memory.numa-balancing", Is::Well, "not in this kernel", |node| {
        node.gone("/proc/sys/kernel/numa_balancing")
    }),
    ("memory.transparent-huge-pages", Is::Well, "madvise", |_| Ok(())),
    ("memory.transparent-huge-pages", Is::Open, "cannot be read", |node| node.gone("/sys/kernel/mm")),
    ("memory.transparent-huge-pages", Is::Costly, "never", |node| {
        node.file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n")
    }),
    ("memory.zone-reclaim", Is::Odd, "on (3)", |node| node.file("/proc/sys/vm/zone_reclaim_mode", "3\n")),
    ("memory.zone-reclaim", Is::Unknown, "cannot be read", |node| node.gone("/proc")),
    ("memory.memlock", Is::Well, "unlimited", |_| Ok(())),
    ("memory.memlock", Is::Open, "cannot be read", |node| node.gone("/proc/self/limits")),
    // A container of root's: the limit does not hold for who has CAP_IPC_LOCK (bit 14).
    ("memory.memlock", Is::Well, "CAP_IPC_LOCK", |node| {
        node.file("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n")?;
        node.file("/proc/self/limits", "Max locked memory  8388608  8388608  bytes\n")
    }),
    // Root of a user namespace: the kernel asks for the capability in the first one.
    ("memory.memlock", Is::Costly, "mlx5_0", |node| {
        node.file("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n")?;
        node.file("/proc/self/uid_map", "         0       1000          1\n")?;
        node.file("/proc/self/limits", "Max locked memory  8388608  8388608  bytes\n")
    }),
    ("memory.memlock", Is::Open, "capabilities", |node| {
        node.gone("/proc/self/status")?;
        node.file("/proc/self/limits", "Max locked memory  8388608  8388608  bytes\n")
    }),
    ("memory.memlock", Is::Open, "adapters", |node| {
        node.gone("/sys/class")?;
        node.file("/proc/self/limits", "Max locked memory  8388608  8388608  bytes\n")
    }),
    ("memory.memlock", Is::Costly, "mlx5_0", |node| {
        node.file("/proc/self/limits", "Max locked memory  8388608  8388608  bytes\n")
    }),
    ("memory.memlock", Is::Well, "no adapter", |node| {
        node.gone("/sys/class/infiniband")?;
        node.file("/proc/self/limits", "Max locked memory  8388608  8388608  bytes\n")
    }),
    ("memory.shm", Is::Well, "half of the memory", |_| Ok(())),
    // Docker's default.
    ("memory.shm", Is::Costly, "64", |node| {
        node.file("/proc/self/mountinfo", "700 690 0:99 / /dev/shm rw - tmpfs shm rw,size=65536k,inode64\n")
    }),
    ("memory.shm", Is::Costly, "nothing is mounted", |node| {
        node.file("/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 a rw\n")
    }),
    ("memory.shm", Is::Open, "cannot be read", |node| node.gone("/proc/self/mountinfo")),
    ("memory.swap", Is::Well, "none", |_| Ok(())),
    ("memory.swap", Is::Open, "cannot be read", |node| node.gone("/proc/meminfo")),
    ("memory.swap", Is::Costly, "in use", |node| {
        let lines = "MemTotal: 264000000 kB\nSwapTotal: 8388604 kB\nSwapFree: 1000000 kB\n";
        node.file("/proc/meminfo", lines)
    }),
    ("memory.huge-pages", Is::Odd, "NUMA node 0", |node| {
        let pages = &mut node.survey.huge_pages[0];
        (pages.total, pages.free) = (32768, Some(32768));
        Ok(())
    }),
    ("memory.huge-pages", Is::Unknown, "not shown", |node| {
        node.survey.huge_pages.clear();
        node.gone("/sys")
    }),
    ("memory.huge-pages", Is::Well, "reserved", |node| {
        let pages = &mut node.survey.huge_pages[0];
        (pages.total, pages.free) = (32768, Some(10));
        Ok(())
    }),
];

#[test]
fn how_the_kernel_manages_memory() -> Outcome {
    tried(MEMORY)
}

/// What the nodes are.
pub const NODES: &[Case] = &[
    ("memory.nodes-per-package", Is::Open, "whether this is a virtual machine is not shown", |machine| {
        // This machine's files say nothing of a saved one.
        machine.survey.topology.source = TopologySource::XmlFile { path: "a.xml".into() };
        Ok(())
    }),
    ("memory.nodes-per-package", Is::Odd, "SNC1", |_| Ok(())),
    ("memory.nodes-per-package", Is::Well, "2 NUMA nodes a package (NPS2)", |machine| {
        let quarters = [(0, "0-3"), (1, "4-7"), (2, "8-11"), (3, "12-15")];
        machine.survey.topology.nodes =
            quarters.map(|(index, pus)| node(index, NodeKind::Normal, pus)).into();
        let packages = &mut machine.survey.topology.packages;
        packages.iter_mut().for_each(|package| package.cpu_model = Some("AMD EPYC 9654 96-Core".to_owned()));
        Ok(())
    }),
    // As a board with the memory modules of half a package out.
    ("memory.nodes-per-package", Is::Costly, "between 1 and 2", |machine| {
        let parts = [(0, "0-3"), (1, "4-7"), (2, "8-15")];
        machine.survey.topology.nodes = parts.map(|(index, pus)| node(index, NodeKind::Normal, pus)).into();
        Ok(())
    }),
    ("memory.nodes-per-package", Is::Open, "virtual machine", |node| {
        node.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")
    }),
    // An arm64 machine, whose CPUs have no flag for it, as the firmware of a guest names itself.
    ("memory.nodes-per-package", Is::Open, "virtual machine", |node| {
        node.file("/proc/cpuinfo", "CPU implementer\t: 0x41\nFeatures\t: fp asimd\n")?;
        node.file("/sys/class/dmi/id/product_name", "KVM Virtual Machine\n")?;
        node.file("/sys/class/dmi/id/sys_vendor", "QEMU\n")
    }),
    // The same on bare metal, and where nothing says which of both it is.
    ("memory.nodes-per-package", Is::Odd, "SNC1", |node| {
        node.file("/proc/cpuinfo", "CPU implementer\t: 0x41\nFeatures\t: fp asimd\n")?;
        node.file("/sys/class/dmi/id/product_name", "ARS-111GL-NHR\n")?;
        node.file("/sys/class/dmi/id/sys_vendor", "Supermicro\n")
    }),
    ("memory.nodes-per-package", Is::Open, "virtual machine", |node| {
        node.file("/proc/cpuinfo", "CPU implementer\t: 0x41\nFeatures\t: fp asimd\n")
    }),
    ("memory.nodes-without-cpus", Is::Gone, "", |_| Ok(())),
    ("memory.nodes-without-cpus", Is::Open, "not shown", |node| node.gone("/sys")),
    ("memory.nodes-without-cpus", Is::Costly, "2 have memory and no cores", |machine| {
        machine.survey.topology.nodes.push(node(2, NodeKind::MemoryOnly, ""));
        Ok(())
    }),
    ("memory.nodes-without-cpus", Is::Well, "may not allocate", |machine| {
        machine.survey.topology.nodes.push(node(2, NodeKind::MemoryOnly, ""));
        machine.survey.topology.nodes[2].allowed = false;
        Ok(())
    }),
    ("memory.nodes-without-cpus", Is::Unknown, "leaves out PUs 2", |machine| {
        // A file that was written in a job.
        let topology = &mut machine.survey.topology;
        topology.source = TopologySource::XmlFile { path: "a.xml".into() };
        topology.cores.retain(|core| !core.pus.contains(2));
        topology.nodes.push(node(2, NodeKind::MemoryOnly, ""));
        Ok(())
    }),
    ("memory.nodes-without-cpus", Is::Unknown, "leaves out PUs above 15", |machine| {
        // The job had the lowest PUs, so that no gap tells that there are more.
        let topology = &mut machine.survey.topology;
        topology.source = TopologySource::XmlFile { path: "a.xml".into() };
        topology.nodes.push(NumaNode { cpus_not_shown: true, ..node(2, NodeKind::MemoryOnly, "") });
        Ok(())
    }),
    ("memory.nodes-without-memory", Is::Well, "each NUMA node", |_| Ok(())),
    ("memory.nodes-without-memory", Is::Open, "not shown", |node| node.gone("/sys")),
    ("memory.nodes-without-memory", Is::Costly, "no memory", |machine| {
        machine.survey.topology.nodes[1].kind = NodeKind::CpuOnly;
        Ok(())
    }),
    ("memory.gpu-memory-mode", Is::Gone, "", |_| Ok(())),
    // GH200: the GPU's memory is a node, or with CDMM none.
    ("memory.gpu-memory-mode", Is::Odd, "NUMA mode", |machine| {
        let gpu = &mut machine.survey.topology.gpus[0];
        (gpu.device_id, gpu.locality.nodes) = (0x2342, set("0,4"));
        machine.survey.topology.nodes.push(node(4, NodeKind::GpuMemory, ""));
        Ok(())
    }),
    // A file of lstopo's leaves such nodes out.
    ("memory.gpu-memory-mode", Is::Unknown, "CDMM mode, or", |machine| {
        machine.survey.topology.gpus[0].device_id = 0x2342;
        machine.survey.topology.source = TopologySource::XmlFile { path: "node.xml".to_owned() };
        Ok(())
    }),
    ("memory.gpu-memory-mode", Is::Well, "CDMM", |machine| {
        machine.survey.topology.gpus[0].device_id = 0x2342;
        Ok(())
    }),
];

#[test]
fn what_the_nodes_are() -> Outcome {
    tried(NODES)
}

const GOVERNOR: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
const DRIVER: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver";
const PREFERENCE: &str = "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference";
/// A platform that says of no GPU where it is.
pub fn nothing_local(node: &mut Node) -> std::io::Result<()> {
    node.survey.topology.gpus.iter_mut().for_each(|gpu| gpu.locality.rung = Rung::Unknown);
    Ok(())
}

/// A speed that is set by hand.
fn userspace(node: &mut Node, speed: &str) -> std::io::Result<()> {
    node.file(GOVERNOR, "userspace\n")?;
    node.file(DRIVER, "acpi-cpufreq\n")?;
    node.file("/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "3800000\n")?;
    node.file("/sys/devices/system/cpu/cpufreq/policy0/scaling_setspeed", speed)
}

/// Cores and what this process has of them.
pub const CORES: &[Case] = &[
    ("cpu.governor", Is::Well, "performance", |_| Ok(())),
    ("cpu.governor", Is::Well, "preferring performance", |node| node.file(GOVERNOR, "powersave\n")),
    ("cpu.governor", Is::Costly, "balance_power", |node| {
        node.file(GOVERNOR, "powersave\n")?;
        node.file(PREFERENCE, "balance_power\n")
    }),
    ("cpu.governor", Is::Costly, "ondemand", |node| {
        node.file(GOVERNOR, "ondemand\n")?;
        node.file(DRIVER, "acpi-cpufreq\n")
    }),
    // The passive mode of intel_pstate: its powersave is the lowest frequency, whatever the load
    // (admin-guide/pm/intel_pstate).
    ("cpu.governor", Is::Costly, "lowest", |node| {
        node.file(GOVERNOR, "powersave\n")?;
        node.gone(PREFERENCE)?;
        node.file(DRIVER, "intel_cpufreq\n")
    }),
    ("cpu.governor", Is::Well, "performance (intel_cpufreq)", |node| {
        node.gone(PREFERENCE)?;
        node.file(DRIVER, "intel_cpufreq\n")
    }),
    // Active without HWP: frequencies follow the load, and no preference is shown.
    ("cpu.governor", Is::Odd, "follows the load", |node| {
        node.file(GOVERNOR, "powersave\n")?;
        node.gone(PREFERENCE)
    }),
    // As a number: 192 is balance_power.
    ("cpu.governor", Is::Costly, "192", |node| {
        node.file(GOVERNOR, "powersave\n")?;
        node.file(PREFERENCE, "192\n")
    }),
    // One core that is set otherwise than all others.
    ("cpu.governor", Is::Costly, "powersave (acpi-cpufreq)", |node| {
        node.file(&GOVERNOR.replace("policy0", "policy1"), "powersave\n")?;
        node.file(&DRIVER.replace("policy0", "policy1"), "acpi-cpufreq\n")
    }),
    ("cpu.governor", Is::Odd, "1.5 of 3.8 GHz", |node| {
        node.file("/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "1500000\n")?;
        node.file("/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "3800000\n")
    }),
    // srun --cpu-freq=high sets a speed.
    ("cpu.governor", Is::Well, "userspace", |node| userspace(node, "3800000")),
    ("cpu.governor", Is::Costly, "userspace", |node| userspace(node, "1500000")),
    ("cpu.governor", Is::Well, "no frequency control", |node| node.gone("/sys/devices/system/cpu/cpufreq")),
    ("cpu.governor", Is::Open, "not shown", |node| node.gone("/sys")),
    ("cpu.governor", Is::Open, "virtual machine or not", |node| {
        node.gone("/proc")?;
        node.gone("/sys/devices/system/cpu/cpufreq")
    }),
    ("cpu.governor", Is::Open, "virtual machine", |node| {
        node.gone("/sys/devices/system/cpu/cpufreq")?;
        node.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")
    }),
    ("cpu.isolated", Is::Costly, "PUs 12-15", |node| {
        node.file("/sys/devices/system/cpu/isolated", "12-15\n")
    }),
    ("cpu.isolated", Is::Well, "none of them", |node| {
        node.survey.topology.allowed.pus = set("0-7");
        node.file("/sys/devices/system/cpu/isolated", "12-15\n")
    }),
    // Without a tick and not isolated: nothing is kept off these, and they are this process's.
    ("cpu.isolated", Is::Well, "none isolated; PUs 1-15 run without a tick", |node| {
        node.file("/sys/devices/system/cpu/nohz_full", "1-15\n")
    }),
    ("cpu.isolated", Is::Open, "not shown", |node| node.gone("/sys/devices/system/cpu/isolated")),
    ("cpu.threads", Is::Well, "1 PU a core (SMT off)", |_| Ok(())),
    ("cpu.threads", Is::Open, "not shown", |node| node.gone("/sys")),
    ("cpu.threads", Is::Well, "2 PUs a core", |machine| {
        two_threads(machine);
        Ok(())
    }),
    // A scheduler that gives out PUs: cores 0 and 8 are whole, of core 1 the other thread is somebody else's.
    (
        "cpu.threads",
        Is::Costly,
        "1 of 2 cores of this job have threads outside of it: PUs 9 may",
        |machine| {
            two_threads(machine);
            let allowed = &mut machine.survey.topology.allowed;
            (allowed.pus, allowed.not_in_cgroup_pus) = (set("0,8,1"), set("2-7,9-15"));
            Ok(())
        },
    ),
    // srun --hint=nomultithread.
    ("cpu.threads", Is::Odd, "every core of this job has threads outside of it: PUs 8-11 may", |machine| {
        two_threads(machine);
        let allowed = &mut machine.survey.topology.allowed;
        (allowed.pus, allowed.not_in_cgroup_pus) = (set("0-3"), set("4-15"));
        Ok(())
    }),
    // A rank that is bound to one thread of a core that is its job's.
    ("cpu.threads", Is::Well, "2 PUs a core", |machine| {
        two_threads(machine);
        let allowed = &mut machine.survey.topology.allowed;
        (allowed.pus, allowed.not_in_affinity_pus) = (set("0"), set("1-15"));
        Ok(())
    }),
    ("cpu.memory-nodes", Is::Well, "0-1", |_| Ok(())),
    ("cpu.memory-nodes", Is::Well, "NUMA nodes 0: those of its cores", |machine| {
        let bare = &mut machine.survey.topology.nodes[1];
        (bare.kind, bare.total_bytes) = (NodeKind::CpuOnly, 0);
        Ok(())
    }),
    ("cpu.memory-nodes", Is::Costly, "PUs 8-15", |node| {
        node.survey.topology.allowed.nodes = set("0");
        Ok(())
    }),
    ("cpu.memory-nodes", Is::Open, "cannot be read", |node| {
        node.survey.process.as_mut().expect("a process").memory_nodes = None;
        Ok(())
    }),
    ("cpu.near-gpus", Is::Well, "each of its GPUs", |_| Ok(())),
    ("cpu.near-gpus", Is::Open, "not reported", nothing_local),
    ("cpu.near-gpus", Is::Costly, "GPU 1", |node| {
        node.survey.topology.allowed.pus = set("0-7");
        node.survey.topology.allowed.not_in_cgroup_pus = set("8-15");
        Ok(())
    }),
];

#[test]
fn cores_and_what_this_process_has_of_them() -> Outcome {
    tried(CORES)
}

/// What a container refuses.
pub const CONTAINERS: &[Case] = &[
    ("container.affinity", Is::Costly, "sched_setaffinity", |node| {
        node.calls.affinity = refused();
        Ok(())
    }),
    ("container.memory-policy", Is::Costly, "set_mempolicy", |node| {
        node.calls.memory_policy = refused();
        Ok(())
    }),
    ("container.page-nodes", Is::Costly, "move_pages", |node| {
        node.calls.page_nodes = refused();
        Ok(())
    }),
    ("container.affinity", Is::Open, "could not be tried", |node| {
        node.calls.affinity = not_asked();
        Ok(())
    }),
    ("container.memory-policy", Is::Open, "could not be tried", |node| {
        node.calls.memory_policy = not_asked();
        Ok(())
    }),
    ("container.page-nodes", Is::Open, "could not be tried", |node| {
        node.calls.page_nodes = not_asked();
        Ok(())
    }),
    ("container.page-nodes", Is::Well, "without NUMA", |node| {
        one_node(node);
        node.calls.page_nodes =
            Err(CallFailure::Refused("Function not implemented (os error 38)".to_owned()));
        Ok(())
    }),
];

#[test]
fn what_a_container_refuses() -> Outcome {
    tried(CONTAINERS)
}
