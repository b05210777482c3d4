//! The xGMI links between AMD GPUs: from the kernel driver's nodes, else from the matrices that hwloc's RSMI
//! component wrote.

use hwlocality::Topology as Hwloc;

use super::matrices::Matrix;
use super::{Fabric, Fabrics, InterconnectSource};
use crate::kfd::KfdGpu;
use crate::model::{Gpu, Topology};

/// What the driver's nodes say, else what hwloc wrote into the file.
pub(super) fn xgmi(hwloc: &Hwloc, topology: &Topology, kfd: &[KfdGpu]) -> (Fabrics, InterconnectSource) {
    if !kfd.is_empty() {
        return (by_nodes(kfd), InterconnectSource::by("KFD"));
    }
    let (hops, bandwidth) = (Matrix::named(hwloc, "XGMIHops"), Matrix::named(hwloc, "XGMIBandwidth"));
    if hops.is_none() && bandwidth.is_none() {
        let why = "there are no nodes of the amdgpu driver in /sys/class/kfd, and no matrix of hwloc's";
        return (Fabrics::default(), InterconnectSource::not(why));
    }
    let between = |one: &Gpu, other: &Gpu| {
        let value =
            |matrix: &Option<Matrix>| matrix.as_ref()?.between(one.pci, other.pci).filter(|value| *value > 0);
        let hops = value(&hops);
        hops.or(value(&bandwidth))?;
        // hwloc writes 100 GB/s for every link: a constant of its source, no reading.
        let (least_bytes_per_s, most_bytes_per_s) = (None, None);
        let hops = hops.and_then(|hops| u32::try_from(hops).ok());
        Some(Fabric::Xgmi { hops, least_bytes_per_s, most_bytes_per_s })
    };
    let told = InterconnectSource::by("hwloc's matrices XGMIHops and XGMIBandwidth");

    (Fabrics::of(topology.gpus.iter(), between), told)
}

fn by_nodes(kfd: &[KfdGpu]) -> Fabrics {
    let mut between = Fabrics::default();
    for gpu in kfd {
        for link in &gpu.links {
            // Links to CPUs lead to nodes that are no GPU.
            let other = kfd.iter().find(|other| other.node == link.to_node);
            let fabric = Fabric::Xgmi {
                hops: link.hops,
                least_bytes_per_s: link.least_bytes_per_s,
                most_bytes_per_s: link.most_bytes_per_s,
            };
            between.0.extend(other.map(|other| (gpu.pci, other.pci, fabric)));
        }
    }
    between
}
