//! Nodes that break a habit of thought: no GPU, nobody who tells where one is, CPUs missing, memory alone,
//! odd numbers.

use crate::object::Machine;
use crate::parts::{
    GIB, KIB, MIB, alone, bridge, core, cores, cores_of_two, group, host_bridge, interface, l2, l3, node,
    package, pci, rdma,
};

/// A Knights Landing in its mode of four clusters: fast memory as nodes without CPUs, four PUs a core, no L3.
pub fn knl() -> Machine {
    let cluster = |number: u32| {
        let tile = |number: u32| {
            let core = |number: u32| core(number, (0..4).map(|thread| number + thread * 16));
            l2(1024 * KIB, vec![core(2 * number), core(2 * number + 1)])
        };
        let fast = node(4 + number, 4 * GIB).with("subtype", "MCDRAM");
        group([node(number, 24 * GIB), fast, tile(2 * number), tile(2 * number + 1)].into())
    };
    Machine::new("knl", [package(0, "Intel(R) Xeon Phi(TM) CPU 7250 @ 1.40GHz", (0..4).map(cluster))])
        .info("Architecture", "x86_64")
        .info("HostName", "knl")
        .distances(0..8, |from, to| match (from == to, from / 4 == to / 4, from % 4 == to % 4) {
            (true, ..) => 10,
            (_, true, _) => 21,
            (_, _, true) => 31,
            _ => 41,
        })
}

/// A node for CPU jobs: two packages of two NUMA nodes, huge pages in reserve, an adapter on the second
/// package, no GPU.
pub fn cpu_only() -> Machine {
    let half = |number: u32| {
        let first = number * 8;
        let mut inside =
            vec![node(number, 64 * GIB).pages(4 * KIB, 16_252_928).pages(2 * MIB, 1024).pages(GIB, 0)];
        inside.extend([0, 1].map(|cache| l3(32 * MIB, cores(first + cache * 4..first + cache * 4 + 4))));
        if number == 3 {
            inside.push(alone(
                pci("0000:e1:00.0", 0x0207, 0x15b3, 0x101b).holding([interface("ib0"), rdma("mlx5_0")]),
                0,
                0xe1,
            ));
        }
        group(inside)
    };
    let socket = |number: u32| {
        package(number, "AMD EPYC 7F32 8-Core Processor", [half(2 * number), half(2 * number + 1)])
    };
    Machine::new("cpu-only", (0..2).map(socket))
        .info("Architecture", "x86_64")
        .info("HostName", "cpu-only")
        .distances(0..4, |from, to| match (from == to, from / 2 == to / 2) {
            (true, _) => 10,
            (_, true) => 12,
            _ => 32,
        })
}

/// A virtual machine of one node that says of no device where it is.
pub fn vm_one_node() -> Machine {
    let gpus = [5, 6].map(|slot| pci(&format!("0000:00:{slot:02x}.0"), 0x0302, 0x10de, 0x2330));
    let adapter = pci("0000:00:03.0", 0x0200, 0x1af4, 0x1041).holding([interface("eth0")]);
    let devices = host_bridge(0, 0, 0, [adapter].into_iter().chain(gpus));
    let package = package(
        0,
        "Intel Xeon Processor (SapphireRapids)",
        [node(0, 64 * GIB), l3(16 * MIB, cores_of_two(0..8, 8))],
    );
    Machine::new("vm-one-node", [package, devices])
        .info("Architecture", "x86_64")
        .info("HostName", "vm-one-node")
}

/// A virtual machine of two nodes that hangs its devices from the whole of it.
pub fn vm_two_nodes() -> Machine {
    let socket = |number: u32| {
        package(
            number,
            "AMD EPYC-Milan Processor",
            [node(number, 32 * GIB), l3(32 * MIB, cores(number * 4..number * 4 + 4))],
        )
    };
    let gpus = [5, 6, 7].map(|slot| pci(&format!("0000:00:{slot:02x}.0"), 0x0302, 0x10de, 0x2235));
    let adapter = pci("0000:00:03.0", 0x0200, 0x1af4, 0x1000).holding([interface("ens3")]);
    let devices = host_bridge(0, 0, 0, [adapter].into_iter().chain(gpus));
    Machine::new("vm-two-nodes", [socket(0), socket(1), devices])
        .info("Architecture", "x86_64")
        .info("HostName", "vm-two-nodes")
        .distances(0..2, |from, to| if from == to { 10 } else { 20 })
}

/// PUs 3, 6 and 7 are offline, one sibling and a whole core; so are the third package and its node.
pub fn offline() -> Machine {
    let first = [core(0, [0, 8]), core(1, [1, 9]), core(2, [2, 10]), core(3, [11])];
    let second = [core(0, [4, 12]), core(1, [5, 13]), core(3, [15])];
    let first = package(0, "A CPU", [node(0, 16 * GIB), l3(16 * MIB, first.into())]).offline([3]);
    let second = package(1, "A CPU", [node(1, 16 * GIB), l3(16 * MIB, second.into())]).offline([6, 14, 7]);
    let mut machine =
        Machine::new("offline", [first, second]).info("Architecture", "x86_64").info("HostName", "offline");
    machine.root = machine.root.offline(16..24).without_nodes([2]);
    machine
}

/// A job's share of a node, all of which the file shows: cores 8 to 11 and the second node's memory, and one
/// of its two GPUs.
pub fn job_share() -> Machine {
    let socket = |number: u32, bus: u8| {
        let gpu = alone(pci(&format!("0000:{bus:02x}:00.0"), 0x0302, 0x10de, 0x20f1), 0, bus);
        package(
            number,
            "A CPU",
            [node(number, 64 * GIB), l3(32 * MIB, cores(number * 8..number * 8 + 8)), gpu],
        )
    };
    Machine::new("job-share", [socket(0, 0x27), socket(1, 0xa3)])
        .info("Architecture", "x86_64")
        .info("HostName", "job-share")
        .allowed(8..12, [1])
        .distances(0..2, |from, to| if from == to { 10 } else { 32 })
}

/// The same job, as a plain `lstopo FILE.xml` in it writes it: what the job has not got is left out, and its
/// GPU's package is empty.
pub fn job_left_out() -> Machine {
    let gpu = |bus: u8| alone(pci(&format!("0000:{bus:02x}:00.0"), 0x0302, 0x10de, 0x20f1), 0, bus);
    let first = package(0, "A CPU", [gpu(0x27)]).offline(0..8).without_nodes([0]);
    let second =
        package(1, "A CPU", [node(1, 64 * GIB), l3(32 * MIB, cores(8..12)), gpu(0xa3)]).offline(12..16);
    Machine::new("job-left-out", [first, second])
        .info("Architecture", "x86_64")
        .info("HostName", "job-left-out")
}

/// Hyper-threads are switched off, which Linux shows as offline siblings.
pub fn smt_off() -> Machine {
    let socket = |number: u32| {
        let first = number * 6;
        package(
            number,
            "Intel(R) Xeon(R) Gold 6128 CPU @ 3.40GHz",
            [node(number, 96 * GIB), l3(19 * MIB, cores(first..first + 6))],
        )
        .offline(12 + first..18 + first)
    };
    Machine::new("smt-off", [socket(0), socket(1)])
        .info("Architecture", "x86_64")
        .info("HostName", "smt-off")
        .distances(0..2, |from, to| if from == to { 10 } else { 21 })
}

/// A laptop: eight cores of two PUs and eight of one, a GPU in the CPU and one beside it, both as near as
/// anything.
pub fn hybrid() -> Machine {
    let fast = (0..8).map(|number| core(number, [2 * number, 2 * number + 1]));
    let small = (0..2).map(|module| l2(4 * MIB, cores(16 + 4 * module..20 + 4 * module)));
    let wireless = pci("0000:00:14.3", 0x0280, 0x8086, 0x7a70).holding([interface("wlp0s20f3")]);
    let devices = host_bridge(
        0,
        0,
        1,
        [
            pci("0000:00:02.0", 0x0300, 0x8086, 0xa780)
                .info("PCIDevice", "Raptor Lake-S GT1 [UHD Graphics 770]"),
            bridge("0000:00:01.0", 1, 1, [pci("0000:01:00.0", 0x0300, 0x10de, 0x28a0)]),
            wireless,
        ],
    );
    let inside = [node(0, 32 * GIB), l3(36 * MIB, fast.chain(small).collect())];
    Machine::new("hybrid", [package(0, "13th Gen Intel(R) Core(TM) i9-13900HX", inside), devices])
        .info("Architecture", "x86_64")
        .info("HostName", "hybrid")
        .kind(16..24, ["CoreType", "IntelAtom"])
        .kind(0..16, ["CoreType", "IntelCore"])
}

/// Twenty-four packages of one node each in a ring, node numbers running backwards, a GPU on two of them.
pub fn ring_of_24() -> Machine {
    let blade = |number: u32| {
        let mut inside =
            vec![node(23 - number, 32 * GIB), l3(8 * MIB, cores_of_two(number * 2..number * 2 + 2, 48))];
        if number == 5 || number == 17 {
            inside.push(alone(pci(&format!("{number:04x}:02:00.0"), 0x0302, 0x10de, 0x102d), number, 2));
        }
        package(number, "A CPU", inside)
    };
    Machine::new("ring-of-24", (0..24).map(blade))
        .info("Architecture", "x86_64")
        .info("HostName", "ring-of-24")
        .distances(0..24, |from, to| {
            let apart = from.abs_diff(to);
            10 + 5 * apart.min(24 - apart)
        })
}

/// PUs counted across two packages: the even ones on the first, the odd ones on the second.
pub fn interleaved() -> Machine {
    let socket = |number: u32, bus: u8| {
        let cores = (0..6).map(|nth| core(nth, [2 * nth + number, 12 + 2 * nth + number])).collect();
        let gpu = alone(pci(&format!("0000:{bus:02x}:00.0"), 0x0302, 0x10de, 0x06d2), 0, bus);
        package(
            number,
            "Intel(R) Xeon(R) CPU X5650 @ 2.67GHz",
            [node(number, 24 * GIB), l3(12 * MIB, cores), gpu],
        )
    };
    Machine::new("interleaved", [socket(0, 6), socket(1, 0x14)])
        .info("Architecture", "x86_64")
        .info("HostName", "interleaved")
        .distances(0..2, |from, to| if from == to { 10 } else { 20 })
}

/// A node for CXL memory near the first package, one for the whole machine, and a package whose own node has
/// no memory.
pub fn memory_apart() -> Machine {
    let first = package(
        0,
        "A CPU",
        [node(0, 64 * GIB), node(2, 128 * GIB).with("subtype", "CXL-DRAM"), l3(32 * MIB, cores(0..4))],
    );
    let gpu = alone(pci("0000:81:00.0", 0x0302, 0x1002, 0x738c), 0, 0x81);
    let second = package(1, "A CPU", [node(1, 0), l3(32 * MIB, cores(4..8)), gpu]);
    Machine::new("memory-apart", [node(3, 256 * GIB), first, second])
        .info("Architecture", "x86_64")
        .info("HostName", "memory-apart")
        .distances(0..4, |from, to| if from == to { 10 } else { 10 + 7 * from.abs_diff(to) })
}

/// Names that a terminal would obey, that forge lines, or that never end.
pub fn hostile_names() -> Machine {
    // C1's CSI, which XML allows and a terminal takes for the start of a sequence; then marks that turn text
    // around.
    let csi = "\u{9b}31mred\u{9b}0m \u{202e}lanigiro\u{202c}\u{2066}\u{200f}";
    let gpu = pci("0000:81:00.0", 0x0302, 0x10de, 0x2330)
        .info("PCIDevice", format!("a\n  1  0000:ff:00.0  forged\t{csi}"));
    let adapter = pci("0000:82:00.0", 0x0200, 0x15b3, 0x1021)
        .holding([interface(&format!("eth0{csi}")), interface(&"x".repeat(5000))]);
    let node = node(0, 8 * GIB).with("subtype", format!("odd\u{85}{csi}"));
    let devices = host_bridge(
        0,
        0x80,
        0x82,
        [bridge("0000:80:01.0", 0x81, 0x81, [gpu]), bridge("0000:80:02.0", 0x82, 0x82, [adapter])],
    );
    let package = package(
        0,
        &format!("A CPU {csi} of a very long name {}", "y".repeat(5000)),
        [node, l3(8 * MIB, cores(0..2)), devices],
    );
    Machine::new("hostile-names", [package])
        .info("Architecture", "x86_64")
        .info("HostName", &format!("host\n{csi}"))
}
