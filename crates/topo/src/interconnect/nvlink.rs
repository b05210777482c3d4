//! How many NVLinks are between two GPUs.
//!
//! Direct links count by the address at their other end. Links into switches reach every GPU that has some
//! too: nvidia-smi shows NV18 where each of two GPUs has 18 links into switches (seen on H200 with driver
//! 580, where a virtual machine hides the switches' addresses). A file has bandwidths instead: hwloc writes
//! 20, 25 or 50 GB/s a link by NVLink's version, and the version follows from the GPU's architecture, so that
//! links can be counted again.

use super::matrices::Matrix;
use super::{Fabric, Fabrics, InterconnectSource, NvLinks};
use crate::gpu_class::NVIDIA;
use crate::model::{Gpu, Topology};
use crate::nvml::{NvGpu, Nvml, Remote};
use hwlocality::Topology as Hwloc;

/// Where NVLinks are.
pub(super) struct NvLinked {
    /// By the topology's order.
    pub(super) of_gpu: Vec<Option<NvLinks>>,
    pub(super) fabrics: Fabrics,
    pub(super) told: InterconnectSource,
}

/// What NVML says, else what hwloc wrote into the file.
pub(super) fn nvlinks(hwloc: &Hwloc, topology: &Topology, nvml: &Nvml) -> NvLinked {
    let gpus = || topology.gpus.iter().filter(|gpu| gpu.vendor_id == NVIDIA);
    let reason = match nvml {
        Nvml::Said(facts) => {
            let of_gpu = |gpu: &Gpu| facts.gpu(gpu.pci).filter(|said| !said.links.is_empty()).map(summary);
            let link_between = |one: &Gpu, other: &Gpu| by_links(facts.gpu(one.pci)?, facts.gpu(other.pci)?);
            return NvLinked {
                of_gpu: topology.gpus.iter().map(of_gpu).collect(),
                fabrics: Fabrics::of(gpus(), link_between),
                told: InterconnectSource::by(format!("NVML of driver {}", facts.driver)),
            };
        }
        Nvml::Absent(why) => why.clone(),
        Nvml::NotAsked => "NVML was not asked, and no file says it".to_owned(),
    };

    let matrix = Matrix::named(hwloc, "NVLinkBandwidth");
    let bandwidths = |one: &Gpu, other: &Gpu| by_bandwidth(matrix.as_ref()?, one, other);

    NvLinked {
        of_gpu: vec![None; topology.gpus.len()],
        fabrics: Fabrics::of(gpus(), bandwidths),
        told: if matrix.is_some() {
            InterconnectSource::by("hwloc's matrix NVLinkBandwidth")
        } else {
            InterconnectSource::not(reason)
        },
    }
}

fn by_links(one: &NvGpu, other: &NvGpu) -> Option<Fabric> {
    let count = |gpu: &NvGpu, remote: Remote| gpu.links.iter().filter(|link| link.remote == remote).count();
    // A link's two ends are one link: either GPU counts it.
    let direct = count(one, Remote::Pci(other.pci)).max(count(other, Remote::Pci(one.pci)));
    let switched = count(one, Remote::Switch).min(count(other, Remote::Switch));
    let links = u32::try_from(if direct > 0 { direct } else { switched }).ok().filter(|links| *links > 0)?;
    let each = one.link_mbytes_per_s.zip(other.link_mbytes_per_s).map(|(one, other)| one.min(other));
    let bytes_per_s = each.map(|mbytes| mbytes.saturating_mul(1_000_000).saturating_mul(links.into()));
    Some(Fabric::Nvlink { links: Some(links), bytes_per_s })
}

fn by_bandwidth(matrix: &Matrix, one: &Gpu, other: &Gpu) -> Option<Fabric> {
    let direct = matrix.between(one, other)?;
    let switched = matrix.to_switches(one).min(matrix.to_switches(other));
    let mbytes = if direct > 0 { direct } else { switched };
    let of_one = link_mbytes(one.device_id).filter(|each| mbytes % each == 0);
    let links = of_one.and_then(|each| u32::try_from(mbytes / each).ok());
    (mbytes > 0).then_some(Fabric::Nvlink { links, bytes_per_s: Some(mbytes.saturating_mul(1_000_000)) })
}

/// What hwloc writes for one link of a GPU with this PCI device id, MB/s (its topology-nvml.c, by NVLink's
/// version: 20 GB/s for 1.0, 25 for 2.0 to 4.0, 50 for 5.0). The ids grow with the architectures (pci.ids):
/// Pascal with NVLink has 15f0 to 15ff, Volta to Hopper are below 2900, Blackwell begins there.
fn link_mbytes(device_id: u16) -> Option<u64> {
    match device_id {
        0x15f0..=0x15ff => Some(20_000),
        0x1d80..=0x28ff => Some(25_000),
        0x2900.. => Some(50_000),
        _ => None,
    }
}

fn summary(gpu: &NvGpu) -> NvLinks {
    let mut versions = gpu.links.iter().map(|link| link.version);
    let first = versions.next().flatten().filter(|first| versions.all(|version| version == Some(*first)));
    NvLinks {
        links: u32::try_from(gpu.links.len()).unwrap_or(u32::MAX),
        version: first.and_then(version).map(str::to_owned),
        bytes_per_s_each: gpu.link_mbytes_per_s.map(|mbytes| mbytes.saturating_mul(1_000_000)),
    }
}

/// The version behind NVML's code (`NVML_NVLINK_VERSION_*` in nvml.h).
fn version(code: u32) -> Option<&'static str> {
    Some(match code {
        1 => "1.0",
        2 => "2.0",
        3 => "2.2",
        4 => "3.0",
        5 => "3.1",
        6 => "4.0",
        7 => "5.0",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use stats::PciAddress;

    use super::*;
    use crate::nvml::NvLink;

    fn gpu(bus: u8, remotes: &[(Remote, u32)]) -> NvGpu {
        let links = remotes.iter().flat_map(|(remote, count)| (0..*count).map(|number| (number, *remote)));
        NvGpu {
            pci: at(bus),
            smi_index: 0,
            minor: None,
            uuid: None,
            pus: None,
            nodes: None,
            memory_node: None,
            mig: Vec::new(),
            link_mbytes_per_s: Some(25_000),
            links: links.map(|(number, remote)| NvLink { number, version: Some(4), remote }).collect(),
        }
    }

    fn at(bus: u8) -> PciAddress {
        PciAddress { domain: 0, bus, device: 0, function: 0 }
    }

    fn count(one: &NvGpu, other: &NvGpu) -> Option<u32> {
        match by_links(one, other) {
            Some(Fabric::Nvlink { links, bytes_per_s }) => {
                assert_eq!(bytes_per_s, links.map(|links| u64::from(links) * 25_000_000_000));
                links
            }
            _ => None,
        }
    }

    #[test]
    fn links_into_switches_join_all_who_have_some_and_direct_ones_only_two() {
        let switched = |bus, links| gpu(bus, &[(Remote::Switch, links)]);
        assert_eq!(count(&switched(1, 18), &switched(2, 18)), Some(18));
        assert_eq!(count(&switched(1, 18), &switched(2, 17)), Some(17), "one link is down");
        let first = gpu(1, &[(Remote::Pci(at(2)), 4), (Remote::Pci(at(3)), 2), (Remote::Cpu, 2)]);
        assert_eq!(count(&first, &gpu(2, &[(Remote::Pci(at(1)), 4)])), Some(4));
        assert_eq!(count(&first, &gpu(3, &[])), Some(2), "the other end says nothing");
        assert_eq!(
            count(&first, &gpu(4, &[(Remote::Cpu, 2)])),
            None,
            "both on the CPU is not with each other"
        );
        assert_eq!(count(&gpu(1, &[(Remote::Unknown, 6)]), &gpu(2, &[(Remote::Unknown, 6)])), None);
    }

    #[test]
    fn a_gpus_links_are_summed_up_and_versions_that_differ_are_none() {
        let mut one = gpu(1, &[(Remote::Switch, 2)]);
        assert_eq!(summary(&one).version.as_deref(), Some("3.0"));
        one.links[1].version = Some(6);
        assert_eq!((summary(&one).links, summary(&one).version), (2, None));
        one.links.truncate(1);
        one.links[0].version = Some(99);
        assert_eq!(summary(&one).version, None, "a version newer than this program");
    }
}
