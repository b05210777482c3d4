//! GPUs in PCI domains above 0xffff, read from sysfs, because hwloc 2 drops them (its domains have 16 bits).
//!
//! Linux gives such domains to buses behind Intel VMD and to some virtual PCI hosts. The rules are the same
//! as for hwloc's devices; the attachment is what hwloc would make of the kernel's `local_cpulist`.

use stats::{IdSet, PciAddress};

use crate::found::Found;
use crate::fs_root::FsRoot;
use crate::gpu_class::is_gpu;
use crate::locality::Attachment;

/// The GPUs that hwloc cannot have.
pub(crate) fn gpus(root: &FsRoot) -> Vec<Found> {
    let addresses =
        root.names("/sys/bus/pci/devices").into_iter().filter_map(|name| name.parse::<PciAddress>().ok());
    addresses.filter(|pci| pci.domain > 0xffff).filter_map(|pci| gpu(root, pci)).collect()
}

fn gpu(root: &FsRoot, pci: PciAddress) -> Option<Found> {
    let file = |name: &str| root.text(&format!("/sys/bus/pci/devices/{pci}/{name}")).ok();
    let hex = |name: &str| u32::from_str_radix(file(name)?.strip_prefix("0x")?, 16).ok();
    let (vendor_id, device_id) = (u16::try_from(hex("vendor")?).ok()?, u16::try_from(hex("device")?).ok()?);
    let class_id = u16::try_from(hex("class")? >> 8).ok()?; // the low byte is the programming interface
    if !is_gpu(class_id, vendor_id, device_id) || file("physfn/vendor").is_some() {
        return None;
    }
    let pus: IdSet = file("local_cpulist").and_then(|list| list.parse().ok()).unwrap_or_default();
    let node = file("numa_node").and_then(|node| node.parse::<u32>().ok());

    Some(Found {
        pci,
        vendor_id,
        device_id,
        class_id,
        gpu_model: None,
        pci_name: None,
        uuid: None,
        os_devices: Vec::new(),
        attachment: Attachment {
            object: if node.is_some() { "NUMANode".to_owned() } else { "Machine".to_owned() },
            os_index: node,
            complete_pus: pus.clone(),
            pus,
            nodes: node.into_iter().collect(),
        },
        partition: None,
        link: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_behind_a_32_bit_domain_is_found_and_a_disk_is_not() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        let write = |device: &str, class: &str| -> std::io::Result<()> {
            let directory = root.path().join("sys/bus/pci/devices").join(device);
            std::fs::create_dir_all(&directory)?;
            for (name, text) in [
                ("vendor", "0x10de"),
                ("device", "0x2335"),
                ("class", class),
                ("local_cpulist", "4-7"),
                ("numa_node", "1"),
            ] {
                std::fs::write(directory.join(name), format!("{text}\n"))?;
            }
            Ok(())
        };

        write("10000:01:00.0", "0x030200")?;
        write("10000:02:00.0", "0x010802")?;
        write("0000:03:00.0", "0x030200")?; // hwloc has this one
        let found = gpus(&FsRoot::at(root.path()));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].pci.to_string(), "10000:01:00.0");
        assert_eq!((found[0].vendor_id, found[0].device_id, found[0].class_id), (0x10de, 0x2335, 0x0302));
        assert_eq!(found[0].attachment.pus.to_string(), "4-7");
        assert_eq!(found[0].attachment.nodes.to_string(), "1");
        Ok(())
    }
}
