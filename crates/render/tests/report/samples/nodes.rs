//! Runs over several nodes of LUMI-G's shape, launched by srun.

use analysis::difference::differences;
use report::Document;
use report::case::Order;
use report::device;
use report::launch::Launch;
use report::settings::{Direction, MemoryKind};

use super::{MIB, case, device, empty, node, rank};

/// PU, memory node and bus of the GPU of each rank of a node.
pub const PLACES: [(u32, u32, u8); 8] = [
    (49, 3, 0xc1),
    (57, 3, 0xc6),
    (17, 1, 0xc9),
    (25, 1, 0xce),
    (1, 0, 0xd1),
    (9, 0, 0xd6),
    (33, 2, 0xd9),
    (41, 2, 0xde),
];

/// Nodes, devices and ranks, no case.
pub fn launched(nodes: u32, per_node: u32) -> Document {
    let mut document = empty();
    let hosts: Vec<String> = (0..nodes).map(|node| format!("nid{:06}", 1001 + node)).collect();
    document.nodes = (0..).zip(&hosts).map(|(index, host)| node(index, host)).collect();
    document.environment.hostname = hosts[0].clone();
    for (index, host) in (0..).zip(&hosts) {
        for (local, (pu, memory, bus)) in (0..per_node).zip(PLACES) {
            let mut device = device(local, bus, memory);
            device.node = index;
            device.id = device::id(&hosts, index as usize, &device.id);
            device.uuid = device.uuid.map(|uuid| format!("{}{index:03x}", &uuid[..uuid.len() - 3]));
            let number = index * per_node + local;
            let mut rank = rank(number, pu, memory, &device.id);
            (rank.node, rank.node_rank, rank.host) = (index, local, host.clone());
            rank.process_id = 4242 + number;
            document.nodes[index as usize].ranks.0.insert(number);
            document.devices.push(device);
            document.ranks.push(rank);
        }
    }
    document.launch = Some(Launch {
        launcher: "srun".into(),
        tasks: nodes * per_node,
        nodes,
        mpi_library: Some("MPICH 4.1 (Cray MPICH 8.1.29)".into()),
    });
    document.settings.sizes_bytes = vec![256 * MIB];
    document.argv =
        ["numabench", "pingpong", "--cpus", "49,57,17,25,1,9,33,41", "--gpus", "0-7", "--size", "256MiB"]
            .map(String::from)
            .to_vec();
    document
}

/// H2D at once; rank `node_rank` of `node` takes `round_ns(node, node_rank)` a round.
pub fn on_nodes(nodes: u32, per_node: u32, round_ns: &dyn Fn(u32, u32) -> f64) -> Document {
    let mut document = launched(nodes, per_node);
    add(&mut document, Direction::H2d, round_ns);
    document
}

/// All three directions at once, with a few per mille between the nodes; from five nodes on the fourth is
/// slow, and differs in its driver, its memory and one link.
pub fn several_nodes(nodes: u32, per_node: u32) -> Document {
    let mut document = launched(nodes, per_node);
    if nodes >= 5 {
        let odd = &mut document.nodes[3].facts;
        odd.memory_bytes -= 32 << 30;
        if let Some(link) = &mut odd.gpus[5].link {
            link.width = Some(8);
        }
        let version = |name: &str, value: &str| report::environment::Probe {
            name: name.into(),
            value: Some(value.into()),
            source: "/proc/driver/nvidia/version".into(),
            reason: None,
        };
        for node in &mut document.nodes {
            let driver = if node.index == 3 { "570.124.06" } else { "580.95.05" };
            node.facts.probes.push(version("driver.nvidia", driver));
        }
    }
    let facts: Vec<_> = document.nodes.iter().map(|node| node.facts.clone()).collect();
    for (node, differs) in document.nodes.iter_mut().zip(differences(&facts)) {
        node.differs = differs;
    }
    for (direction, ns) in [(Direction::H2d, 9.9e6), (Direction::D2h, 17.9e6), (Direction::RoundTrip, 27.7e6)]
    {
        add(&mut document, direction, &|node, local| {
            let slow = if nodes >= 5 && (node, local) == (3, 5) { 1.7 } else { 1.0 };
            let far = if local < 4 { 1.35 } else { 1.0 };
            ns * far * slow * (1.0 + 0.001 * f64::from(node % 7))
        });
    }
    document
}

fn add(document: &mut Document, direction: Direction, round_ns: &dyn Fn(u32, u32) -> f64) {
    let times: Vec<f64> = document.ranks.iter().map(|rank| round_ns(rank.node, rank.node_rank)).collect();
    let made = case(document, direction, 256 * MIB, MemoryKind::Pinned, Order::Simultaneous, &times);
    document.cases.push(made);
}
