//! The locality of NVIDIA GPUs by their driver's library, where the kernel does not know it.
//!
//! Firmware that does not say which NUMA node a PCIe slot belongs to leaves the kernel's `numa_node` at -1.
//! NVIDIA's driver may still know: NVML answers with the GPU's memory affinity
//! (`nvmlDeviceGetMemoryAffinity`; seen on such hosts, NVIDIA/cuCascade pull request 119). The kernel comes
//! first where it knows; all nodes of a machine are no answer, and neither is the only node, which NVML names
//! in a virtual machine too.

use stats::IdSet;

use crate::gpu_class::NVIDIA;
use crate::model::{Gpu, Locality, Rung, Topology};
use crate::nvml::{NvGpu, Nvml};

/// Whether there is a GPU whose locality only NVML may know.
pub(crate) fn is_needed(topology: &Topology) -> bool {
    topology.places().count() > 1 && topology.gpus.iter().any(is_open)
}

/// Takes NVML's word on the GPUs that the kernel does not place.
pub(crate) fn complete(topology: &mut Topology, nvml: &Nvml) {
    let Some(facts) = nvml.facts() else { return };
    let mut gpus = std::mem::take(&mut topology.gpus);
    for gpu in gpus.iter_mut().filter(|gpu| is_open(gpu)) {
        if let Some(said) = facts.gpu(gpu.pci) {
            take(topology, gpu, said);
        }
    }
    topology.gpus = gpus;
}

fn is_open(gpu: &Gpu) -> bool {
    gpu.vendor_id == NVIDIA && gpu.locality.rung == Rung::Unknown && gpu.partition.is_none()
}

/// Places one GPU by what is said of it, if that is a part of the machine.
fn take(topology: &Topology, gpu: &mut Gpu, said: &NvGpu) {
    let places: IdSet = topology.places().map(|node| node.os_index).collect();
    let near = said.nodes.as_ref().map(|nodes| nodes.and(&places)).unwrap_or_default();
    if near.is_empty() || places.is_subset(&near) {
        return;
    }
    let own = topology.places().filter(|node| near.contains(node.os_index));
    let pus: IdSet = own.flat_map(|node| node.own_pus().0).collect();

    let locality = Locality {
        rung: Rung::Driver,
        reason: format!("NVML says NUMA node {near} (memory affinity); {}", gpu.locality.reason),
        pus,
        nodes: near,
        ..gpu.locality.clone()
    };
    gpu.locality = locality.cut_to_cpuset(topology);
    gpu.locality.nodes.0.extend(said.memory_node);
}

#[cfg(test)]
mod tests {
    use stats::PciAddress;

    use super::*;
    use crate::nvml::Facts;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn machine(name: &str) -> Result<Topology, crate::TopoError> {
        crate::from_xml(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
    }

    fn said(pci: PciAddress, nodes: &str) -> Result<NvGpu, Box<dyn std::error::Error>> {
        let nodes = (nodes != "-").then(|| nodes.parse()).transpose()?;
        Ok(NvGpu {
            pci,
            smi_index: 0,
            minor: None,
            uuid: None,
            pus: None,
            nodes,
            memory_node: None,
            mig: Vec::new(),
            link_mbytes_per_s: None,
            links: Vec::new(),
        })
    }

    /// The first GPU's locality where NVML says these nodes.
    fn completed(name: &str, nodes: &str) -> Result<Locality, Box<dyn std::error::Error>> {
        let mut machine = machine(name)?;
        let gpus = vec![said(machine.gpus[0].pci, nodes)?];
        complete(&mut machine, &Nvml::Said(Facts { driver: "1".to_owned(), gpus, paths: Vec::new() }));
        Ok(machine.gpus[0].locality.clone())
    }

    #[test]
    fn a_gpu_without_a_place_by_the_kernel_has_the_one_that_nvml_says() -> Outcome {
        assert!(is_needed(&machine("vm-two-nodes.xml")?));
        let found = completed("vm-two-nodes.xml", "1")?;
        assert_eq!((found.rung, found.nodes.to_string().as_str()), (Rung::Driver, "1"));
        let machine = machine("vm-two-nodes.xml")?;
        assert_eq!(Some(&found.pus), machine.node(1).map(|node| &node.pus));
        assert!(found.reason.starts_with("NVML says NUMA node 1 (memory affinity); "), "{}", found.reason);
        Ok(())
    }

    #[test]
    fn all_nodes_none_and_a_node_that_is_not_here_are_no_answer() -> Outcome {
        for nodes in ["0-1", "-", "7"] {
            let found = completed("vm-two-nodes.xml", nodes)?;
            assert!(
                found.rung == Rung::Unknown && !found.reason.contains("NVML"),
                "{nodes}: {}",
                found.reason
            );
        }
        Ok(())
    }

    #[test]
    fn the_only_node_and_a_place_that_the_kernel_knows_stay_as_they_are() -> Outcome {
        assert_eq!(completed("vm-one-node.xml", "0")?.rung, Rung::Unknown);
        assert!(!is_needed(&machine("vm-one-node.xml")?) && !is_needed(&machine("hgx-h100.xml")?));
        let known = machine("hgx-h100.xml")?.gpus[0].locality.clone();
        assert_eq!(completed("hgx-h100.xml", "1")?, known);
        Ok(())
    }
}
