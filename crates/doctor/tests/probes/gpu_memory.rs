//! What the host keeps in the memory of GPUs.

use topo::model::NodeKind;

use crate::node::{Node, node, set};
use crate::{Case, Is, Outcome, tried};

/// A GH200 whose GPU memory is node 4, with so much of it in cached files, files in memory and processes,
/// MiB.
fn superchip(machine: &mut Node, cache: u64, shared: u64, processes: u64) -> std::io::Result<()> {
    let gpu = &mut machine.survey.topology.gpus[0];
    (gpu.device_id, gpu.locality.nodes) = (0x2342, set("0,4"));
    machine.survey.topology.nodes.push(node(4, NodeKind::GpuMemory, ""));
    count(machine, 4, cache, shared, processes)
}

/// What the kernel counts in a node of 96 GiB.
fn count(machine: &Node, node: u32, cache: u64, shared: u64, processes: u64) -> std::io::Result<()> {
    let line = |key: &str, mib: u64| format!("Node {node} {key}: {:>14} kB\n", mib << 10);
    let text = [
        line("MemTotal", 96 << 10),
        line("FilePages", cache + shared),
        line("AnonPages", processes),
        line("Shmem", shared),
        line("Unevictable", 0),
    ];
    machine.file(&format!("/sys/devices/system/node/node{node}/meminfo"), &text.concat())
}

/// An MI300A, or another GPU that has the CPU's memory by its name.
fn apu(machine: &mut Node, name: &str, cache: u64) -> std::io::Result<()> {
    machine.survey.topology.gpus.truncate(1);
    machine.survey.topology.gpus[0].name.value = Some(name.to_owned());
    count(machine, 0, cache, 200, 30 << 10)
}

/// What of the host's is in a GPU's memory.
pub const GPU_NODES: &[Case] = &[
    ("memory.gpu-node-use", Is::Gone, "", |_| Ok(())),
    ("memory.gpu-node-use", Is::Well, "next to nothing", |node| superchip(node, 300, 5, 200)),
    ("memory.gpu-node-use", Is::Costly, "(memory of GPU 0) holds 40 GiB of file cache of 96 GiB", |node| {
        superchip(node, 40 << 10, 0, 0)
    }),
    // Whose it is: the control group that most of it was charged to, the deepest.
    ("memory.gpu-node-use", Is::Costly, "control group /system.slice/job7.scope", |node| {
        superchip(node, 40 << 10, 0, 0)?;
        for (group, gib) in [("system.slice", 39_u64), ("system.slice/job7.scope", 38), ("user.slice", 1)] {
            let text = format!("anon N0=0 N4=0\nfile N0=4096 N4={}\nshmem N0=0 N4=0\n", gib << 30);
            node.file(&format!("/sys/fs/cgroup/{group}/memory.numa_stat"), &text)?;
        }
        Ok(())
    }),
    ("memory.gpu-node-use", Is::Costly, "8 GiB of processes (python 4711: 8 GiB)", |node| {
        superchip(node, 10, 0, 8 << 10)?;
        node.file("/proc/4711/comm", "python\n")?;
        node.file("/proc/4711/statm", "3000000 2200000 0 0 0 0 0\n")?;
        node.file(
            "/proc/4711/numa_maps",
            "7f0000000000 default anon=2097152 N4=2097152 kernelpagesize_kB=4\n",
        )
    }),
    ("memory.gpu-node-use", Is::Costly, "whose is not shown", |node| {
        superchip(node, 10, 0, 8 << 10)?;
        node.file("/proc/4711/statm", "3000000 2200000 0 0 0 0 0\n")
    }),
    ("memory.gpu-node-use", Is::Costly, "3 GiB of files in memory", |node| superchip(node, 0, 3 << 10, 0)),
    ("memory.gpu-node-use", Is::Open, "not shown", |node| {
        superchip(node, 0, 0, 0)?;
        node.gone("/sys/devices/system/node")
    }),
    // Where CPU and GPU have one memory, programs belong there and a little cache does too.
    ("memory.gpu-node-use", Is::Well, "memory of CPU and GPU 0", |node| {
        apu(node, "AMD Instinct MI300A", 5 << 10)
    }),
    ("memory.gpu-node-use", Is::Odd, "20 GiB of file cache", |node| apu(node, "NVIDIA GB10", 20 << 10)),
    ("memory.gpu-node-use", Is::Costly, "60 GiB of file cache", |node| {
        apu(node, "AMD Instinct MI300A", 60 << 10)
    }),
];

#[test]
fn what_of_the_hosts_is_in_a_gpus_memory() -> Outcome {
    tried(GPU_NODES)
}
