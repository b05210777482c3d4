//! The machine of the samples: a node of LUMI-G's shape with NVIDIA H200s in the places of its GPUs.

use report::Known;
use report::device::{Device, DeviceKind, Latch, Link, ReadWhen};
use report::environment::{Environment, NodeKind, NumaNode, Package, Probe, Timer, Topology};
use report::node::{Node, NodeFacts, NodeGpu};
use stats::IdSet;

pub fn environment() -> Environment {
    let nodes = (0..4).map(|node| NumaNode {
        os_index: node,
        kind: NodeKind::Normal,
        total_bytes: 128 << 30,
        pus: (16 * node..16 * node + 16).collect(),
    });
    Environment {
        hostname: "nid005123".into(),
        probes: vec![
            Probe {
                name: "kernel.numa_balancing".into(),
                value: Some(0.into()),
                source: "/proc/sys/kernel/numa_balancing".into(),
                reason: None,
            },
            Probe {
                name: "cpu.governor".into(),
                value: None,
                source: "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor".into(),
                reason: Some("the file does not exist".into()),
            },
        ],
        variables: [("SLURM_JOB_ID".to_owned(), "4711".to_owned())].into(),
        timer: Timer { clock: "CLOCK_MONOTONIC_RAW".into(), resolution_ns: 10.0, cost_ns: 21.3 },
        topology: Topology {
            packages: vec![Package {
                os_index: Some(0),
                cpu_model: Some("AMD EPYC 7A53 64-Core Processor".into()),
                pus: (0..64).collect(),
                nodes: (0..4).collect(),
            }],
            nodes: nodes.collect(),
            distances: None,
            allowed_pus: (0..64).filter(|pu| pu % 8 != 0).collect(),
            allowed_nodes: (0..4).collect(),
        },
    }
}

/// A node of LUMI-G's shape without ranks.
pub fn node(index: u32, host: &str) -> Node {
    let Environment { probes, timer, .. } = environment();
    let link = device(0, 0xc1, 3).link.value;
    let facts = NodeFacts {
        probes,
        api_version: Some("13.0".into()),
        timer,
        cpu_models: vec![Some("AMD EPYC 7A53 64-Core Processor".into())],
        numa_nodes: 4,
        memory_bytes: 512 << 30,
        gpus: vec![NodeGpu { name: Some("NVIDIA H200".into()), link }; 8],
        topology_digest: Known::value("5f8a61b0".into(), "hwloc"),
    };
    Node { index, host: host.into(), ranks: IdSet::default(), facts, differs: Vec::new() }
}

pub fn device(index: u32, bus: u8, node: u32) -> Device {
    Device {
        id: format!("0000:{bus:02x}:00.0"),
        node: 0,
        pci_address: format!("{bus:02x}:00.0").parse().ok(),
        kind: DeviceKind::Gpu,
        index,
        runtime_index: Some(index),
        name: "NVIDIA H200".into(),
        uuid: Some(format!("GPU-1f0c3a7e-52d1-9c43-8be0-64a1f2c0d5{bus:02x}")),
        total_bytes: 150_121_545_728,
        numa_node: Known::value(node, "PCI local CPUs"),
        link: Known::value(
            Link {
                generation: Some(5),
                width: Some(16),
                max_generation: Some(5),
                max_width: Some(16),
                slot_generation: None,
                read_when: ReadWhen::UnderLoad,
            },
            "sysfs",
        ),
        coherence: None,
        host_link: None,
        memory_node: None,
        conditions: None,
        bound_bytes_per_s: Known::value(63.015e9, "PCIe 5 x16, before packet overhead"),
        latch: Known::value(Latch::StreamWait, "cuStreamWaitValue32"),
    }
}
