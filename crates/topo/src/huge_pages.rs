//! Huge pages that NUMA nodes keep in reserve (hugetlb): what `cudaHostAlloc`-like allocations and HPC
//! runtimes take from.
//!
//! From the kernel's `nodeN/hugepages/hugepages-<KiB>kB/` on this machine
//! (Documentation/admin-guide/mm/hugetlbpage.rst); from hwloc's page counts in a file that lstopo wrote,
//! which does not say how many are free. Transparent huge pages are another thing, without reserve: see the
//! environment's probes.

use hwlocality::Topology as Hwloc;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::ObjectType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fs_root::FsRoot;
use crate::hwloc_object::os_index;
use crate::model::Topology;

/// The huge pages of one size on one node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct HugePages {
    /// The node, OS index.
    pub node: u32,
    /// The size of one, bytes.
    pub page_bytes: u64,
    /// How many are in the reserve.
    pub total: u64,
    /// How many of them are free; null where nobody says.
    pub free: Option<u64>,
}

/// Every node's, by node and size; sizes without a page too.
pub(crate) fn reserved(hwloc: &Hwloc, topology: &Topology, root: Option<&FsRoot>) -> Vec<HugePages> {
    let mut all: Vec<HugePages> = match root {
        Some(root) => topology.nodes.iter().flat_map(|node| of_kernel(root, node.os_index)).collect(),
        None => of_hwloc(hwloc),
    };
    all.sort();
    all
}

fn of_kernel(root: &FsRoot, node: u32) -> Vec<HugePages> {
    let directory = format!("/sys/devices/system/node/node{node}/hugepages");
    let size = |name: String| {
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let number = |file: &str| root.text(&format!("{directory}/{name}/{file}")).ok()?.parse().ok();
        let page_bytes = kib.checked_mul(1024)?;
        Some(HugePages { node, page_bytes, total: number("nr_hugepages")?, free: number("free_hugepages") })
    };
    root.names(&directory).into_iter().filter_map(size).collect()
}

/// The pages that are not of the node's smallest size.
fn of_hwloc(hwloc: &Hwloc) -> Vec<HugePages> {
    let mut all = Vec::new();
    for object in hwloc.objects_with_type(ObjectType::NUMANode) {
        let (Some(node), Some(ObjectAttributes::NUMANode(memory))) = (os_index(object), object.attributes())
        else {
            continue;
        };
        let smallest = memory.page_types().iter().map(|pages| pages.size()).min();
        for pages in memory.page_types().iter().filter(|pages| Some(pages.size()) != smallest) {
            all.push(HugePages { node, page_bytes: pages.size().get(), total: pages.count(), free: None });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodes_reserve_is_read_by_size_from_the_disk_and_from_what_was_saved() -> std::io::Result<()> {
        let disk = tempfile::tempdir()?;
        for (size, total, free) in
            [("2048kB", "512\n", "400\n"), ("1048576kB", "0\n", "0\n"), ("odd", "1\n", "1\n")]
        {
            let directory =
                disk.path().join(format!("sys/devices/system/node/node3/hugepages/hugepages-{size}"));
            std::fs::create_dir_all(&directory)?;
            std::fs::write(directory.join("nr_hugepages"), total)?;
            std::fs::write(directory.join("free_hugepages"), free)?;
        }

        let root = FsRoot::at(disk.path());
        let mut found = of_kernel(&root, 3);
        found.sort();
        let wanted = [
            HugePages { node: 3, page_bytes: 2 << 20, total: 512, free: Some(400) },
            HugePages { node: 3, page_bytes: 1 << 30, total: 0, free: Some(0) },
        ];
        assert_eq!(found, wanted);
        let mut saved = of_kernel(&FsRoot::saved(root.seen()), 3);
        saved.sort();
        assert_eq!(saved, wanted);
        assert_eq!(of_kernel(&root, 4), []);
        Ok(())
    }
}
