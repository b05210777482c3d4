//! Nodes as `numabench topo --save` writes them: hwloc's own, and the text of the kernel's and drivers' files
//! beside it.
//!
//! Only such a file says which nodes hwloc hides, how much memory is free, how wide a link came up, and what
//! the process that wrote it was bound to. Sizes and ids are those of the hardware; host names and UUIDs are
//! made up.

use crate::object::{Machine, Object};
use crate::parts::{
    GIB, MIB, alone, bridge, cores, gpu_library, host_bridge, interface, l3, node, package, pci, rdma,
};

/// Alps and JUPITER: four superchips. hwloc hides the nodes of the GPUs' memory, and the kernel shows 36, of
/// which four are a GPU's and 28 are spare; so this one is as `topo --save` writes it, with the kernel's
/// files.
pub fn gh200_quad() -> Machine {
    let superchip = |number: u32| {
        let domain = number * 0x10 + 9;
        let gpu = pci(&format!("{domain:04x}:01:00.0"), 0x0302, 0x10de, 0x2342);
        let adapter = pci(&format!("{:04x}:01:00.0", domain - 8), 0x0200, 0x17db, 0x0501);
        let cores = l3(114 * MIB, cores(number * 72..number * 72 + 72));
        package(
            number,
            "",
            [
                node(number, 120 * GIB),
                cores,
                host_bridge(domain, 0, 1, [bridge(&format!("{domain:04x}:00:00.0"), 1, 1, [gpu])]),
                alone(adapter.holding([interface(&format!("hsn{number}"))]), domain - 8, 1),
            ],
        )
    };
    let mut machine = Machine::new("gh200-quad", (0..4).map(superchip)).info("Architecture", "aarch64");
    machine = machine.info("HostName", "gh200-quad").file("/proc/sys/kernel/hostname", "gh200-quad");
    machine = machine.file("/proc/self/status", "Cpus_allowed_list:\t0-287\nMems_allowed_list:\t0-35");
    machine =
        machine.file("/proc/self/numa_maps", "aaaac0000000 default file=/usr/bin/numabench mapped=91 N0=91");
    machine = machine.file("/sys/devices/system/node/online", "0-35");
    let owner = |node: u32| if node < 4 { node } else { (node - 4) / 8 };
    for id in 0..36 {
        let directory = format!("/sys/devices/system/node/node{id}");
        let (cpus, gib) = match id {
            0..4 => (format!("{}-{}", id * 72, id * 72 + 71), 120),
            _ if (id - 4) % 8 == 0 => (String::new(), 96),
            _ => (String::new(), 0),
        };
        // The GPUs' memory is far from everything, another superchip's the farthest.
        let distance = |to: u32| match (id == to, owner(id) == owner(to), id < 4 && to < 4) {
            (true, ..) => 10,
            (_, _, true) => 40,
            (_, true, _) => 80,
            _ => 120,
        };
        let row: Vec<String> = (0..36).map(|to| distance(to).to_string()).collect();
        let (kib, free) = (gib * 1024 * 1024, gib * 1000 * 1024);
        machine = machine
            .file(&format!("{directory}/cpulist"), &cpus)
            .file(&format!("{directory}/distance"), &row.join(" "));
        let memory = format!("Node {id} MemTotal:       {kib} kB\nNode {id} MemFree:        {free} kB");
        machine = machine.file(&format!("{directory}/meminfo"), &memory);
    }
    for gpu in 0..4_u32 {
        let (address, directory) = (format!("{:04x}:01:00.0", gpu * 0x10 + 9), "/proc/driver/nvidia/gpus");
        let information =
            format!("Model: \t\t NVIDIA GH200 120GB\nGPU UUID: \t GPU-{gpu:08x}-0000-0000-0000-000000000000");
        machine = machine.file(&format!("{directory}/{address}/information"), &information);
        machine = machine.file(
            &format!("{directory}/{address}/numa_status"),
            &format!("Node:    {}\nStatus:  online", 4 + 8 * gpu),
        );
        machine = machine.file(&format!("/sys/bus/pci/devices/{address}/numa_node"), &gpu.to_string());
    }
    machine
}

/// HGX H100 (DGX H100's buses): two packages, a PCIe switch for each GPU and its InfiniBand adapter, and two
/// adapters for storage. As `topo --save` writes it on one package's cores, with links, huge pages and an
/// interleaving policy.
pub fn hgx_h100() -> Machine {
    // GPU, its adapter, and the first bus of the root they are below.
    const PAIRS: [(u8, u8, u8); 8] = [
        (0x1b, 0x18, 0x15),
        (0x43, 0x40, 0x3d),
        (0x52, 0x4f, 0x4c),
        (0x61, 0x5e, 0x5b),
        (0x9d, 0x9a, 0x97),
        (0xc3, 0xc0, 0xbd),
        (0xd1, 0xce, 0xcb),
        (0xdf, 0xdc, 0xd9),
    ];
    // Adapters are numbered in PCI order, those for storage among them.
    let rdma_number = |number: usize| number + usize::from(number > 0) + usize::from(number > 4);
    let pair = |number: usize| {
        let (gpu, adapter, first) = PAIRS[number];
        let at = |bus: u8, device: u8| format!("0000:{bus:02x}:{device:02x}.0");
        let library = gpu_library(&format!("nvml{number}"), "NVML", "NVIDIA H100 80GB HBM3");
        let gpu_device = pci(&at(gpu, 0), 0x0302, 0x10de, 0x2330).holding([library]);
        let adapter_device = pci(&at(adapter, 0), 0x0207, 0x15b3, 0x1021)
            .holding([rdma(&format!("mlx5_{}", rdma_number(number)))]);
        host_bridge(
            0,
            first,
            gpu,
            [bridge(
                &at(first, 1),
                first + 1,
                gpu,
                [bridge(
                    &at(first + 1, 0),
                    first + 2,
                    gpu,
                    [
                        bridge(&at(first + 2, 0), adapter, adapter, [adapter_device]),
                        bridge(&at(first + 2, 4), gpu, gpu, [gpu_device]),
                    ],
                )],
            )],
        )
    };
    let storage = |bus: u8, name: &str| {
        alone(pci(&format!("0000:{bus:02x}:00.0"), 0x0207, 0x15b3, 0x1021).holding([rdma(name)]), 0, bus)
    };
    let socket = |number: u32, storage: Object| {
        let first = number * 48;
        let mut inside =
            vec![node(u32::from(number > 0), 1024 * GIB), l3(105 * MIB, cores(first..first + 48))];
        inside.push(storage);
        inside.extend((number as usize * 4..number as usize * 4 + 4).map(pair));
        package(number, "Intel(R) Xeon(R) Platinum 8468", inside)
    };
    let mut machine =
        Machine::new("hgx-h100", [socket(0, storage(0x29, "mlx5_1")), socket(1, storage(0xaa, "mlx5_6"))])
            .info("Architecture", "x86_64")
            .file("/proc/sys/kernel/hostname", "hgx-h100")
            .file("/proc/self/status", "Cpus_allowed_list:\t48-95\nMems_allowed_list:\t0-1")
            .file("/proc/self/cgroup", "0::/slurm/job_4711/step_0")
            .file(
                "/proc/self/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate",
            )
            .file("/sys/fs/cgroup/slurm/job_4711/step_0", "")
            .file("/sys/fs/cgroup/slurm/job_4711/cpuset.cpus.effective", "0-95")
            .file("/sys/fs/cgroup/slurm/job_4711/cpuset.mems.effective", "0-1")
            .file("/sys/fs/cgroup/slurm/job_4711/memory.max", &(512 * GIB).to_string())
            .file(
                "/proc/self/numa_maps",
                "55d0c8a00000 interleave:0-1 file=/usr/bin/numabench mapped=91 N0=91",
            )
            .file("/sys/devices/system/node/online", "0-1")
            .distances(0..2, |from, to| if from == to { 10 } else { 21 });
    for id in 0..2_u32 {
        let directory = format!("/sys/devices/system/node/node{id}");
        machine = machine
            .file(&format!("{directory}/cpulist"), &format!("{}-{}", id * 48, id * 48 + 47))
            .file(
                &format!("{directory}/meminfo"),
                &format!("Node {id} MemTotal: {} kB\nNode {id} MemFree: {} kB", 1024 << 20, 900 << 20),
            )
            .file(&format!("{directory}/hugepages/hugepages-1048576kB/nr_hugepages"), &(id * 16).to_string())
            .file(
                &format!("{directory}/hugepages/hugepages-1048576kB/free_hugepages"),
                &(id * 12).to_string(),
            )
            .file(&format!("{directory}/hugepages/hugepages-2048kB/nr_hugepages"), "512")
            .file(&format!("{directory}/hugepages/hugepages-2048kB/free_hugepages"), "512");
    }
    for (number, (gpu, adapter, first)) in PAIRS.into_iter().enumerate() {
        // GPU 3 came up on half of its lanes; an idle GPU trains down.
        let (gpus_speed, gpus_lanes) =
            if number == 3 { ("2.5 GT/s PCIe", 8) } else { ("32.0 GT/s PCIe", 16) };
        for (bus, speed, lanes) in [(gpu, gpus_speed, gpus_lanes), (adapter, "32.0 GT/s PCIe", 16)] {
            let (device, at) = (
                format!("/sys/devices/pci0000:{first:02x}/0000:{bus:02x}:00.0"),
                format!("/sys/bus/pci/devices/0000:{bus:02x}:00.0"),
            );
            machine = machine
                .file(&at, &device)
                .file(&format!("{at}/numa_node"), &(number / 4).to_string())
                .file(&format!("{device}/vendor"), if bus == gpu { "0x10de" } else { "0x15b3" })
                .file(&format!("{device}/current_link_speed"), speed)
                .file(&format!("{device}/current_link_width"), &lanes.to_string())
                .file(&format!("{device}/max_link_speed"), "32.0 GT/s PCIe")
                .file(&format!("{device}/max_link_width"), "16");
        }
        let information = format!(
            "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-{number:08x}-0000-0000-0000-000000000000"
        );
        machine =
            machine.file(&format!("/proc/driver/nvidia/gpus/0000:{gpu:02x}:00.0/information"), &information);
    }
    machine
}
