//! The compute nodes of AMD's kernel driver: the order in which ROCm counts GPUs, and the xGMI links between
//! them.
//!
//! `/sys/class/kfd/kfd/topology/nodes/N` is what ROCr itself reads (libhsakmt's topology.c): a node with
//! SIMDs is a GPU, and ROCr's index counts along the nodes. `io_links/M/properties` has the links to other
//! nodes; type 11 is xGMI, and its weight is 15 a hop (`KFD_CRAT_XGMI_WEIGHT` in the kernel's
//! amdkfd/kfd_crat.c), or 13 inside one socket. Several nodes may have one PCI address: the partitions of a
//! GPU, which are given functions of their own (`partition`).

mod users;

use stats::PciAddress;

use crate::fs_root::FsRoot;
use crate::partition::LAST;
pub(crate) use users::uses;

const NODES: &str = "/sys/class/kfd/kfd/topology/nodes";
/// HSA_IOLINKTYPE_XGMI (hsakmttypes.h).
const XGMI: u64 = 11;
const WEIGHT_OF_A_HOP: u64 = 15;
const WEIGHT_INSIDE_A_SOCKET: u64 = 13;

/// A GPU (or a partition of one), in ROCr's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KfdGpu {
    /// The number of its node.
    pub(crate) node: u32,
    pub(crate) pci: PciAddress,
    /// As ROCR_VISIBLE_DEVICES takes it; `None` for a GPU without one.
    pub(crate) uuid: Option<String>,
    pub(crate) links: Vec<KfdLink>,
}

/// An xGMI link from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KfdLink {
    pub(crate) to_node: u32,
    /// `None` for a weight that is not a number of hops.
    pub(crate) hops: Option<u32>,
    /// The bandwidth that the driver states, bytes/s; `None` where it states none.
    pub(crate) least_bytes_per_s: Option<u64>,
    pub(crate) most_bytes_per_s: Option<u64>,
}

/// The GPUs, in ROCr's order; empty where the driver is not loaded, or shows none to this process.
pub(crate) fn gpus(root: &FsRoot) -> Vec<KfdGpu> {
    let mut gpus: Vec<KfdGpu> = root.numbers(NODES).into_iter().filter_map(|node| gpu(root, node)).collect();
    tell_apart(&mut gpus);
    gpus
}

/// Gives the second and further devices of one address the functions that follow, as long as there are any.
fn tell_apart(gpus: &mut [KfdGpu]) {
    for at in 1..gpus.len() {
        let (before, rest) = gpus.split_at_mut(at);
        let Some(own) = rest.first_mut() else { return };
        let free = (own.pci.function..=LAST).map(|function| PciAddress { function, ..own.pci });
        let free = free.into_iter().find(|pci| before.iter().all(|other| other.pci != *pci));
        own.pci = free.unwrap_or(own.pci);
    }
}

fn gpu(root: &FsRoot, node: u32) -> Option<KfdGpu> {
    let text = root.text(&format!("{NODES}/{node}/properties")).ok()?;
    let property = |name| property(&text, name);
    if property("simd_count").is_none_or(|count| count == 0) {
        return None;
    }
    let (location, domain) = (property("location_id")?, property("domain").unwrap_or(0));
    let pci = PciAddress {
        domain: u32::try_from(domain).ok()?,
        bus: (location >> 8 & 0xff) as u8,
        device: (location >> 3 & 0x1f) as u8,
        function: (location & 7) as u8,
    };
    let uuid = property("unique_id").filter(|id| *id != 0).map(|id| format!("GPU-{id:016x}"));
    let links = format!("{NODES}/{node}/io_links");
    let links =
        root.numbers(&links).into_iter().filter_map(|number| link(root, &format!("{links}/{number}")));

    Some(KfdGpu { node, pci, uuid, links: links.collect() })
}

fn link(root: &FsRoot, folder: &str) -> Option<KfdLink> {
    let text = root.text(&format!("{folder}/properties")).ok()?;
    let property = |name| property(&text, name);
    // The kernel's "mbs" are megabytes a second: 50000 for a link that is sold as 50 GB/s.
    let bytes_per_s =
        |name| property(name).filter(|mbytes| *mbytes > 0).map(|mbytes| mbytes.saturating_mul(1_000_000));
    let hops = |weight: u64| match weight {
        WEIGHT_INSIDE_A_SOCKET => Some(1),
        weight if weight > 0 && weight % WEIGHT_OF_A_HOP == 0 => u32::try_from(weight / WEIGHT_OF_A_HOP).ok(),
        _ => None,
    };
    (property("type") == Some(XGMI)).then_some(())?;

    Some(KfdLink {
        to_node: u32::try_from(property("node_to")?).ok()?,
        hops: property("weight").and_then(hops),
        least_bytes_per_s: bytes_per_s("min_bandwidth"),
        most_bytes_per_s: bytes_per_s("max_bandwidth"),
    })
}

/// The value of a line `name value`.
fn property(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root_with(files: &[(&str, &str)]) -> std::io::Result<tempfile::TempDir> {
        let root = tempfile::tempdir()?;
        for (path, text) in files {
            let path = root.path().join(NODES.trim_start_matches('/')).join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(root.path()))?;
            std::fs::write(path, text)?;
        }
        Ok(root)
    }

    #[test]
    fn gpus_come_in_the_order_of_their_nodes_with_address_uuid_and_xgmi_links() -> std::io::Result<()> {
        let root = root_with(&[
            ("0/properties", "cpu_cores_count 64\nsimd_count 0\nlocation_id 0\n"),
            ("10/properties", "simd_count 440\nlocation_id 49408\ndomain 0\nunique_id 0\n"),
            (
                "2/properties",
                "simd_count 440\nsimd_count_x 1\nlocation_id 50688\ndomain 1\n\
                 unique_id 16740318455539648881\n",
            ),
            ("2/io_links/0/properties", "type 2\nnode_to 0\nweight 20\nmax_bandwidth 32000\n"),
            (
                "2/io_links/1/properties",
                "type 11\nnode_from 2\nnode_to 10\nweight 30\nmin_bandwidth 50000\nmax_bandwidth 200000\n",
            ),
            ("2/io_links/2/properties", "type 11\nnode_to 0\nweight 13\nmin_bandwidth 0\nmax_bandwidth 0\n"),
        ])?;

        let gpus = gpus(&FsRoot::at(root.path()));
        let shown: Vec<_> =
            gpus.iter().map(|gpu| (gpu.node, gpu.pci.to_string(), gpu.uuid.as_deref())).collect();
        assert_eq!(
            shown,
            [
                (2, "0001:c6:00.0".to_owned(), Some("GPU-e8518ef0f95b4971")),
                (10, "0000:c1:00.0".to_owned(), None)
            ]
        );

        let between_gpus = KfdLink {
            to_node: 10,
            hops: Some(2),
            least_bytes_per_s: Some(50_000_000_000),
            most_bytes_per_s: Some(200_000_000_000),
        };
        let to_cpu = KfdLink { to_node: 0, hops: Some(1), least_bytes_per_s: None, most_bytes_per_s: None };
        assert_eq!(gpus[0].links, [between_gpus, to_cpu]);
        Ok(())
    }

    #[test]
    fn without_the_driver_there_is_none() -> std::io::Result<()> {
        assert_eq!(gpus(&FsRoot::at(root_with(&[])?.path())), []);
        Ok(())
    }

    fn gpu_of_node(node: u32, pci: &str) -> Option<KfdGpu> {
        Some(KfdGpu { node, pci: pci.parse().ok()?, uuid: None, links: Vec::new() })
    }

    #[test]
    fn nodes_of_one_address_are_partitions_in_their_order() {
        let addresses = ["0000:02:00.0", "0000:02:00.0", "0001:02:00.0", "0001:02:00.1"];
        let mut gpus: Vec<KfdGpu> =
            (4..).zip(addresses).filter_map(|(node, pci)| gpu_of_node(node, pci)).collect();
        tell_apart(&mut gpus);
        let told: Vec<String> = gpus.iter().map(|gpu| gpu.pci.to_string()).collect();
        assert_eq!(told, ["0000:02:00.0", "0000:02:00.1", "0001:02:00.0", "0001:02:00.1"]);
    }
}
