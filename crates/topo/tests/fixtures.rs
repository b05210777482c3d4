//! The project's own small files, which say what a machine can look like: each fact of them comes out of the
//! reader.

use std::error::Error;
use std::path::Path;

use topo::model::{NodeKind, PuStatus, Rung, Topology, TopologySource};

type Outcome = Result<(), Box<dyn Error>>;

fn load(name: &str) -> Result<Topology, topo::TopoError> {
    topo::from_xml(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
}

#[test]
fn a_file_says_where_it_is_from_and_whose_it_is() -> Outcome {
    let topology = load("two-packages-gpus.xml")?;
    assert!(
        matches!(&topology.source, TopologySource::XmlFile { path } if path.ends_with("two-packages-gpus.xml"))
    );
    assert_eq!(topology.hostname.as_deref(), Some("fixture01"));
    assert!(topology.hwloc_version.starts_with(|c: char| c.is_ascii_digit()), "{}", topology.hwloc_version);
    Ok(())
}

#[test]
fn gpus_are_listed_in_pci_order_without_the_management_vga_and_the_network() -> Outcome {
    let topology = load("two-packages-gpus.xml")?;
    let listed: Vec<String> = topology.gpus.iter().map(|gpu| format!("{} {}", gpu.index, gpu.pci)).collect();
    assert_eq!(listed, ["0 0000:03:00.0", "1 0000:83:00.0", "2 0000:c3:00.0"]);
    Ok(())
}

#[test]
fn each_gpus_name_and_identity_come_with_their_source() -> Outcome {
    let topology = load("two-packages-gpus.xml")?;
    let names: Vec<_> =
        topology.gpus.iter().map(|gpu| (gpu.name.value.as_deref(), gpu.name.source.as_str())).collect();
    assert_eq!(
        names,
        [(Some("NVIDIA H100 80GB HBM3"), "hwloc"), (Some("Aldebaran/MI200"), "pci-ids"), (None, "none")]
    );
    assert_eq!(topology.gpus[0].os_devices, ["nvml0"], "card1 is the kernel's number");
    let uuid = "GPU-11111111-2222-3333-4444-555555555555";
    assert_eq!(topology.gpu_with_uuid(uuid).map(|gpu| gpu.index), Some(0));
    Ok(())
}

#[test]
fn the_three_rungs_that_a_file_can_hold_are_told_apart() -> Outcome {
    let topology = load("two-packages-gpus.xml")?;
    let rungs: Vec<Rung> = topology.gpus.iter().map(|gpu| gpu.locality.rung).collect();
    assert_eq!(rungs, [Rung::L3, Rung::PciLocalCpus, Rung::Unknown]);
    let first: Vec<Option<u32>> = topology.gpus.iter().map(|gpu| topology.first_local_pu(gpu)).collect();
    assert_eq!(first, [Some(4), Some(8), None]);
    Ok(())
}

#[test]
fn reserved_and_hidden_pus_are_named_for_what_they_are() -> Outcome {
    let topology = load("two-packages-gpus.xml")?;
    assert_eq!(topology.allowed.pus.to_string(), "2-15");
    assert_eq!(topology.pu(0).map(|pu| pu.status), Some(PuStatus::NotInCgroup));
    assert_eq!(topology.pu(16).map(|pu| pu.status), Some(PuStatus::Offline));
    assert_eq!(topology.distances.map(|distances| distances.rows), Some(vec![vec![10, 32], vec![32, 10]]));
    Ok(())
}

#[test]
fn the_memory_of_a_superchips_gpu_is_no_place_for_host_buffers() -> Outcome {
    let topology = load("superchips.xml")?;
    let kinds: Vec<NodeKind> = topology.nodes.iter().map(|node| node.kind).collect();
    assert_eq!(kinds, [NodeKind::Normal, NodeKind::GpuMemory, NodeKind::Normal, NodeKind::GpuMemory]);
    let local: Vec<String> = topology.gpus.iter().map(|gpu| gpu.locality.nodes.to_string()).collect();
    assert_eq!(local, ["0-1", "2-3"]);
    let host: Vec<String> = topology.gpus.iter().map(|gpu| topology.host_nodes(gpu).to_string()).collect();
    assert_eq!(host, ["0", "2"]);
    Ok(())
}
