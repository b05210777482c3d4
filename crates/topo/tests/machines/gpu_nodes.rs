//! Nodes with GPUs as centres run them: the mappings of GPUs to cores that are published, in the shape of the
//! machine.
//!
//! Sizes and ids are those of the hardware; host names, serial numbers and UUIDs are made up.

use crate::object::{Machine, Object};
use crate::parts::{
    GIB, MIB, alone, bridge, cores, cores_of_two, gpu_library, group, host_bridge, interface, l3, node,
    package, pci, rdma,
};

/// LUMI-G and Frontier: one package, four NUMA nodes of two L3s, each GPU on the L3 that the board gives it.
/// In LUMI-G's low-noise mode the first core of each L3 is kept from jobs.
pub fn lumi_g(name: &'static str, low_noise: bool) -> Machine {
    /// The bus of the GPU on each L3.
    const BUSES: [u8; 8] = [0xd1, 0xd6, 0xc9, 0xce, 0xd9, 0xde, 0xc1, 0xc6];
    let complex = |number: u32| {
        let bus = BUSES[number as usize];
        // rocm-smi counts in PCI order.
        let index = BUSES.iter().filter(|other| **other < bus).count();
        let library = gpu_library(&format!("rsmi{index}"), "RSMI", "AMD Instinct MI250X");
        let library = library.info("AMDUUID", format!("00000000000000{bus:02x}"));
        let gpu = pci(&format!("0000:{bus:02x}:00.0"), 0x0380, 0x1002, 0x7408).holding([library]);
        let mut ports = vec![bridge(&format!("0000:{:02x}:01.1", bus - 2), bus, bus, [gpu])];
        // The second GPU of each module shares its L3 with a network adapter: hsn0 to 3 beside GPUs 1, 3, 5
        // and 7.
        if index % 2 == 1 {
            let adapter = pci(&format!("0000:{:02x}:00.0", bus - 1), 0x0200, 0x17db, 0x0501);
            let adapter = adapter.holding([interface(&format!("hsn{}", index / 2))]);
            ports.insert(0, bridge(&format!("0000:{:02x}:03.1", bus - 2), bus - 1, bus - 1, [adapter]));
        }
        let root = host_bridge(0, bus - 2, bus, ports);
        l3(32 * MIB, cores_of_two(number * 8..number * 8 + 8, 64)).holding([root])
    };
    let quarter = |number: u32| {
        let mut inside = vec![node(number, 128 * GIB), complex(2 * number), complex(2 * number + 1)];
        if number == 0 {
            let adapter = pci("0000:91:00.0", 0x0200, 0x8086, 0x1533).holding([interface("nmn0")]);
            inside.push(alone(adapter, 0, 0x91));
        }
        group(inside)
    };
    let machine = Machine::new(name, [package(0, "AMD EPYC 7A53 64-Core Processor", (0..4).map(quarter))])
        .info("DMIBoardName", "HPE CRAY EX235A")
        .info("Architecture", "x86_64")
        .info("HostName", name)
        .distances(0..4, |from, to| if from == to { 10 } else { 12 });
    if low_noise { machine.allowed((0..128).filter(|pu| pu % 8 != 0), 0..4) } else { machine }
}

/// DGX A100: eight NUMA nodes, of which four have two GPUs and two adapters each: GPUs 0-1 node 3, 2-3 node
/// 1, 4-5 node 7, 6-7 node 5, as its user guide has it.
pub fn dgx_a100() -> Machine {
    /// The two GPUs and two adapters of a node.
    fn devices(node: u32) -> Option<([u8; 2], [u8; 2])> {
        match node {
            3 => Some(([0x07, 0x0f], [0x0c, 0x12])),
            1 => Some(([0x47, 0x4e], [0x4b, 0x54])),
            7 => Some(([0x87, 0x90], [0x8d, 0x94])),
            5 => Some(([0xb7, 0xbd], [0xba, 0xcc])),
            _ => None,
        }
    }
    let name = |adapter: u8| match adapter {
        0x0c => "mlx5_0",
        0x12 => "mlx5_1",
        0x4b => "mlx5_2",
        0x54 => "mlx5_3",
        0x8d => "mlx5_4",
        0x94 => "mlx5_5",
        0xba => "mlx5_6",
        _ => "mlx5_7",
    };
    let at = |bus: u8| format!("0000:{bus:02x}:00.0");
    let quarter = |number: u32| {
        let first = number * 16;
        let caches =
            (0..4).map(|cache| l3(16 * MIB, cores_of_two(first + cache * 4..first + cache * 4 + 4, 128)));
        let mut inside = vec![node(number, 128 * GIB)];
        inside.extend(caches);
        if let Some((gpus, adapters)) = devices(number) {
            // One switch: a port up, and one down for each device.
            let low = gpus[0] - 6;
            let port = |nth: u8| format!("0000:{:02x}:{:02x}.0", low + 2, 4 * nth);
            let gpu =
                |nth: u8, bus: u8| bridge(&port(nth), bus, bus, [pci(&at(bus), 0x0302, 0x10de, 0x20b0)]);
            let adapter = |nth: u8, bus: u8| {
                bridge(
                    &port(nth),
                    bus,
                    bus,
                    [pci(&at(bus), 0x0207, 0x15b3, 0x101b).holding([rdma(name(bus))])],
                )
            };
            let down = [gpu(0, gpus[0]), adapter(1, adapters[0]), gpu(2, gpus[1]), adapter(3, adapters[1])];
            let up = bridge(&format!("0000:{:02x}:00.0", low + 1), low + 2, adapters[1], down);
            let switch = bridge(&format!("0000:{low:02x}:01.1"), low + 1, adapters[1], [up]);
            inside.push(host_bridge(0, low, adapters[1], [switch]));
        }
        group(inside)
    };
    let socket = |number: u32| {
        package(number, "AMD EPYC 7742 64-Core Processor", (number * 4..number * 4 + 4).map(quarter))
    };
    Machine::new("dgx-a100", (0..2).map(socket))
        .info("Architecture", "x86_64")
        .info("HostName", "dgx-a100")
        .distances(0..8, |from, to| match (from == to, from / 4 == to / 4) {
            (true, _) => 10,
            (_, true) => 12,
            _ => 32,
        })
}

/// Leonardo Booster: one package in two NUMA nodes under one L3, and all four GPUs near the first.
pub fn leonardo() -> Machine {
    let at = |bus: u8| format!("0000:{bus:02x}:00.0");
    let gpus = [0x1d, 0x56, 0x8f, 0xc8].map(|bus| alone(pci(&at(bus), 0x0302, 0x10de, 0x20b3), 0, bus));
    let adapters = [(0x22, "mlx5_0"), (0x5b, "mlx5_1"), (0x94, "mlx5_2"), (0xcd, "mlx5_3")];
    let adapters = adapters
        .map(|(bus, name)| alone(pci(&at(bus), 0x0207, 0x15b3, 0x101b).holding([rdma(name)]), 0, bus));
    let near =
        group([node(0, 256 * GIB)].into_iter().chain(cores(0..16)).chain(gpus).chain(adapters).collect());
    let far = group([node(1, 256 * GIB)].into_iter().chain(cores(16..32)).collect());
    Machine::new(
        "leonardo",
        [package(0, "Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz", [l3(48 * MIB, vec![near, far])])],
    )
    .info("Architecture", "x86_64")
    .info("HostName", "leonardo")
    .distances(0..2, |from, to| if from == to { 10 } else { 11 })
}

/// A node of the Pascal years: two packages, both GPUs behind a switch on the first, and adapters on both.
pub fn pascal() -> Machine {
    let gpu = |port: &str, bus: u8| {
        bridge(port, bus, bus, [pci(&format!("0000:{bus:02x}:00.0"), 0x0302, 0x10de, 0x15f8)])
    };
    let switch = bridge(
        "0000:00:02.0",
        2,
        7,
        [bridge("0000:02:00.0", 3, 7, [gpu("0000:03:08.0", 4), gpu("0000:03:10.0", 7)])],
    );
    let two_ports = [0, 1].map(|port| {
        pci(&format!("0000:01:00.{port}"), 0x0200, 0x8086, 0x1521)
            .holding([interface(&format!("eno{}", port + 1))])
    });
    let devices = host_bridge(0, 0, 7, [bridge("0000:00:01.0", 1, 1, two_ports), switch]);
    let omni_path = alone(
        pci("0000:81:00.0", 0x0208, 0x8086, 0x24f0).holding([interface("ib0"), rdma("hfi1_0")]),
        0,
        0x81,
    );
    let socket = |number: u32, devices: Object| {
        let caches = l3(45 * MIB, cores_of_two(number * 18..number * 18 + 18, 36));
        package(
            number,
            "Intel(R) Xeon(R) CPU E5-2695 v4 @ 2.10GHz",
            [node(number, 128 * GIB), caches, devices],
        )
    };
    Machine::new("pascal", [socket(0, devices), socket(1, omni_path)])
        .info("Architecture", "x86_64")
        .info("HostName", "pascal")
        .distances(0..2, |from, to| if from == to { 10 } else { 21 })
}

/// An AC922: POWER9 counts its nodes 0 and 8 and its GPUs' memory down from 255; the first core of each
/// package is the system's.
pub fn power9() -> Machine {
    let gpu = |at: &str| {
        let (domain, bus) =
            (u32::from_str_radix(&at[..4], 16).unwrap_or(0), u8::from_str_radix(&at[5..7], 16).unwrap_or(0));
        (domain, bridge(&format!("{domain:04x}:00:00.0"), bus, bus, [pci(at, 0x0302, 0x10de, 0x1db5)]))
    };
    let socket = |number: u32, node_id: u32, gpu_nodes: [u32; 2], gpus: [&str; 2], adapter: &str| {
        let first = number * 16;
        let caches = (0..2).map(|pair| {
            let core = |nth: u32| crate::parts::core(first / 4 + nth, first + nth * 4..first + nth * 4 + 4);
            l3(10 * MIB, vec![core(2 * pair), core(2 * pair + 1)])
        });
        let mut inside = vec![node(node_id, 128 * GIB)];
        inside.extend(gpu_nodes.map(|id| node(id, 16 * GIB)));
        inside.extend(caches);
        let [(domain, one), (_, two)] = gpus.map(gpu);
        inside.push(host_bridge(domain, 0, 5, [one, two]));
        let domain = u32::from_str_radix(&adapter[..4], 16).unwrap_or(0);
        let name = format!("mlx5_{number}");
        inside.push(host_bridge(
            domain,
            0,
            1,
            [bridge(
                &format!("{domain:04x}:00:00.0"),
                1,
                1,
                [pci(adapter, 0x0207, 0x15b3, 0x1019).holding([rdma(&name)])],
            )],
        ));
        package(node_id, "POWER9, altivec supported", inside)
    };
    Machine::new(
        "power9",
        [
            socket(0, 0, [254, 255], ["0004:04:00.0", "0004:05:00.0"], "0003:01:00.0"),
            socket(1, 8, [252, 253], ["0035:03:00.0", "0035:04:00.0"], "0033:01:00.0"),
        ],
    )
    .info("Architecture", "ppc64le")
    .info("HostName", "power9")
    .allowed((0..32).filter(|pu| pu % 16 >= 4), [0, 8, 252, 253, 254, 255])
    .distances([0, 8, 252, 253, 254, 255], |from, to| match (from == to, from < 9 && to < 9) {
        (true, _) => 10,
        (_, true) => 40,
        _ => 80,
    })
}

/// Four APUs (MI300A): the GPU is of class 1200, in the package, and has the node's memory for its own.
pub fn mi300a(name: &'static str, partitions: u32) -> Machine {
    let apu = |number: u32| {
        let first = number * 24;
        let mut inside = vec![node(number, 128 * GIB)];
        inside.extend((0..3).map(|cache| l3(32 * MIB, cores(first + cache * 8..first + cache * 8 + 8))));
        // ROCm SMI counts the partitions of all of them on.
        let parts = number * partitions..(number + 1) * partitions;
        let libraries =
            parts.map(|index| gpu_library(&format!("rsmi{index}"), "RSMI", "AMD Instinct MI300A"));
        inside.push(alone(
            pci(&format!("000{number}:01:00.0"), 0x1200, 0x1002, 0x74a0).holding(libraries),
            number,
            1,
        ));
        inside.push(alone(
            pci(&format!("000{number}:91:00.0"), 0x0200, 0x17db, 0x0501)
                .holding([interface(&format!("hsn{number}"))]),
            number,
            0x91,
        ));
        package(number, "AMD Instinct MI300A Accelerator", inside)
    };
    Machine::new(name, (0..4).map(apu))
        .info("Architecture", "x86_64")
        .info("HostName", name)
        .distances(0..4, |from, to| if from == to { 10 } else { 32 })
}
