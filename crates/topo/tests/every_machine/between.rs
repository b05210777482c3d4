//! What lies between devices: by the bridges that both hang from in the file, by its matrices, by what is
//! near each.

use std::error::Error;

use stats::{IdSet, PciAddress};
use topo::interconnect::Fabric;
use topo::model::{Locality, NodeKind, Rung};
use topo::pci_path::PciLevel;

use crate::devices::gpus;
use crate::file::{MachineAndFile, Object, Outcome, address, counted, each, os_devices, pci_ids};

/// A row of the matrix: its label, its device, its name where it is an adapter, what is near it.
struct MatrixEnd<'x> {
    label: String,
    pci: PciAddress,
    device: Object<'x>,
    name: Option<&'x str>,
    locality: &'x Locality,
}

/// GPUs, then adapters that move data for them: RDMA devices by name, then Cray's and those of fast networks
/// that have none.
fn rows<'x>(machine: &MachineAndFile<'x>) -> Result<Vec<MatrixEnd<'x>>, Box<dyn Error>> {
    let survey = machine.survey;
    let mut rows = Vec::new();
    for (gpu, known) in gpus(machine)?.into_iter().zip(&survey.topology.gpus) {
        let label = format!("GPU{}", known.index);
        rows.push(MatrixEnd {
            label,
            pci: gpu.pci,
            device: gpu.device,
            name: None,
            locality: &known.locality,
        });
    }
    let mut adapters = Vec::new();
    for nic in &survey.nics {
        let mut devices = machine.objects("PCIDev");
        let device = devices.find(|device| address(*device).ok() == Some(nic.pci)).ok_or("no device")?;
        let of_type = |wanted: &'static str| {
            let found = os_devices(device).filter(move |found| found.attribute("osdev_type") == Some(wanted));
            found.filter_map(|found| found.attribute("name")).collect::<Vec<_>>()
        };
        let (rdma, mut network) = (of_type("3"), of_type("2"));
        let (class, vendor, _) = pci_ids(device).ok_or("no ids")?;
        let fast = matches!(class, 0x0207 | 0x0208) || vendor == 0x17db;
        network.truncate(usize::from(fast && rdma.is_empty()));
        adapters.extend(rdma.into_iter().map(|name| (false, name, device, nic)));
        adapters.extend(network.into_iter().map(|name| (true, name, device, nic)));
    }
    adapters.sort_by_key(|(without_rdma, name, ..)| (*without_rdma, counted(name)));
    for (number, (_, name, device, nic)) in adapters.into_iter().enumerate() {
        let label = format!("NIC{number}");
        rows.push(MatrixEnd { label, pci: nic.pci, device, name: Some(name), locality: &nic.locality });
    }
    Ok(rows)
}

#[test]
fn the_matrix_has_a_row_for_each_gpu_and_each_fast_adapter_with_what_is_near_it() -> Outcome {
    each(|machine| {
        let (devices, rows) = (&machine.survey.interconnect.devices, rows(machine)?);
        let listed: Vec<_> =
            devices.iter().map(|end| (end.label.clone(), end.pci, end.name.as_deref())).collect();
        let expected: Vec<_> = rows.iter().map(|row| (row.label.clone(), row.pci, row.name)).collect();
        assert_eq!(listed, expected, "{}", machine.name);
        for (device, row) in devices.iter().zip(&rows) {
            assert_eq!(device.affinity.is_some(), row.name.is_none(), "{} {}", machine.name, row.label);
            let Some(affinity) = device.affinity.as_ref().filter(|affinity| affinity.source != "NVML") else {
                continue;
            };
            let (local, topology) = (row.locality, &machine.survey.topology);
            let (own, host): (Vec<u32>, Vec<u32>) = local
                .nodes
                .iter()
                .partition(|node| topology.node(*node).is_some_and(|node| node.kind == NodeKind::GpuMemory));
            let known = (local.rung != Rung::Unknown)
                .then(|| (local.pus.clone(), host.into_iter().collect::<IdSet>()));
            assert_eq!(
                affinity.pus.clone().zip(affinity.nodes.clone()),
                known,
                "{} {}",
                machine.name,
                row.label
            );
            assert_eq!(
                affinity.memory_node,
                own.first().copied().filter(|_| own.len() == 1),
                "{}",
                machine.name
            );
            assert_eq!(affinity.source, local.reason, "{} {}", machine.name, row.label);
        }
        Ok(())
    })
}

fn is_pci_bridge(object: &Object<'_>) -> bool {
    object.attribute("type") == Some("Bridge") && object.attribute("bridge_type") == Some("1-1")
}

fn is_host_bridge(object: &Object<'_>) -> bool {
    object.attribute("type") == Some("Bridge") && object.attribute("bridge_type") == Some("0-1")
}

/// By the lowest object that both are in: a PCI bridge, with at most one more on either side or with several,
/// a host bridge, a place.
fn level(
    machine: &MachineAndFile<'_>,
    one: &MatrixEnd<'_>,
    other: &MatrixEnd<'_>,
) -> Result<Option<PciLevel>, Box<dyn Error>> {
    let mut above = one.device.ancestors().skip(1);
    let common =
        above.find(|above| other.device.ancestors().any(|its| its == *above)).ok_or("in no machine")?;
    if is_pci_bridge(&common) {
        let below = |device: Object<'_>| {
            device.ancestors().take_while(|above| *above != common).filter(is_pci_bridge).count()
        };
        let most = below(one.device).max(below(other.device));
        return Ok(Some(if most <= 1 { PciLevel::Pix } else { PciLevel::Pxb }));
    }
    if is_host_bridge(&common) {
        return Ok(Some(PciLevel::Phb));
    }
    let topology = &machine.survey.topology;
    if topology.nodes.len() == 1 && topology.allowed.missing_nodes.is_empty() {
        return Ok(Some(PciLevel::Node));
    }
    if [one, other].iter().any(|row| row.locality.rung == Rung::Unknown) {
        return Ok(None);
    }
    let nodes = |row: &MatrixEnd<'_>| row.locality.nodes.or(&row.locality.outside_nodes);
    let same = !nodes(one).and(&nodes(other)).is_empty();
    Ok(Some(if same { PciLevel::Node } else { PciLevel::Sys }))
}

#[test]
fn between_every_two_devices_is_what_the_bridges_of_the_file_say() -> Outcome {
    each(|machine| {
        let (between, rows) = (&machine.survey.interconnect, rows(machine)?);
        let mut pairs = between.pairs.iter();
        for (at, one) in rows.iter().enumerate() {
            for other in &rows[at + 1..] {
                let (pair, at) = (
                    pairs.next().ok_or("no pair")?,
                    format!("{}: {}-{}", machine.name, one.label, other.label),
                );
                assert_eq!((&pair.from, &pair.to), (&one.label, &other.label), "{at}");
                // NVML's word counts more in the one file that has it, which is kept word for word.
                if pair.pci_source == "NVML" {
                    assert!(machine.kept("nvml").is_some(), "{at}");
                    continue;
                }
                assert_eq!(
                    (pair.pci, pair.pci_source.as_str()),
                    (level(machine, one, other)?, "PCI bridges"),
                    "{at}"
                );
                let why = "they are under different host bridges, and the NUMA nodes of these are not known";
                assert_eq!(pair.reason.as_deref(), pair.pci.is_none().then_some(why), "{at}");
            }
        }
        assert!(pairs.next().is_none(), "{}", machine.name);
        Ok(())
    })
}

#[test]
fn links_between_gpus_are_those_of_the_file_and_no_others() -> Outcome {
    each(|machine| {
        let between = &machine.survey.interconnect;
        let vendors: Vec<u16> = machine.survey.topology.gpus.iter().map(|gpu| gpu.vendor_id).collect();
        assert_eq!(between.nvlink.is_some(), vendors.contains(&0x10de), "{}", machine.name);
        assert_eq!(between.xgmi.is_some(), vendors.contains(&0x1002), "{}", machine.name);
        let linked: Vec<(&str, &str, Fabric)> =
            between.pairs.iter().filter_map(|pair| Some((&*pair.from, &*pair.to, pair.fabric?))).collect();
        let nvlink =
            |told: &str| between.nvlink.as_ref().is_some_and(|nvlink| nvlink.source.as_deref() == Some(told));
        match machine.name {
            // Two GPUs have two links of 150 GB/s to switches each, and so has the third; the fourth has
            // none.
            "nvlink-matrix" => {
                let links = Fabric::Nvlink { links: Some(12), bytes_per_s: Some(300_000_000_000) };
                let expected = [("GPU0", "GPU1", links), ("GPU0", "GPU2", links), ("GPU1", "GPU2", links)];
                assert_eq!(linked, expected);
                assert!(nvlink("hwloc's matrix NVLinkBandwidth"));
            }
            "eight-gpus-nvswitch" => assert_eq!(linked.len(), 28),
            "four-gcds-xgmi" => assert_eq!(linked.len(), 6),
            name => {
                assert_eq!(linked, [], "{name}");
                let silent = |told: &Option<topo::interconnect::InterconnectSource>, why: &str| {
                    told.as_ref()
                        .is_none_or(|told| told.source.is_none() && told.reason.as_deref() == Some(why))
                };
                assert!(silent(&between.nvlink, "NVML was not asked, and no file says it"), "{name}");
                let why =
                    "there are no nodes of the amdgpu driver in /sys/class/kfd, and no matrix of hwloc's";
                assert!(silent(&between.xgmi, why), "{name}");
            }
        }
        let of_gpus = between.devices.iter().filter(|device| device.nvlinks.is_some()).count();
        assert_eq!(of_gpus, if machine.kept("nvml").is_some() { 8 } else { 0 }, "{}", machine.name);
        Ok(())
    })
}
