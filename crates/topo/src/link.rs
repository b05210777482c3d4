//! A device's PCIe link, as the kernel reads it from the PCI capability: generation and lanes, now and at
//! most.
//!
//! Idle GPUs train their link down, so "now" is worth something only while the link is loaded: the caller
//! reads it again then. AMD Instinct and Radeon GPUs sit behind a switch inside the package, whose inner link
//! always claims its maximum; the link to the host is that of the switch's upstream port (the kernel's amdgpu
//! driver skips the same ports). So the narrowest link from the GPU up to the last AMD bridge is reported,
//! and for everyone else the GPU's own.
//!
//! A file of lstopo's holds one number of all this, hwloc's `pci_link_speed`: what the link carried when the
//! file was written.
//!
//! Files: `current_link_speed`, `current_link_width`, `max_link_speed`, `max_link_width`
//! (Documentation/ABI/testing/sysfs-bus-pci).

use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::{ObjectAttributes, UpstreamAttributes};
use stats::PciAddress;

use crate::fs_root::FsRoot;
use crate::gpu_class;
use crate::model::Link;

/// The link of the device at `pci`, read now; `None` where the kernel shows none (many virtual machines).
pub(crate) fn under(root: &FsRoot, pci: PciAddress) -> Option<Link> {
    let device = root.target(&format!("/sys/bus/pci/devices/{pci}"))?;
    inner_path(root, device).iter().filter_map(|port| read(root, port)).min_by_key(lanes_times_rate)
}

/// The link of the bridge at `pci`, read now; `None` where the kernel shows none.
pub(crate) fn of_port(root: &FsRoot, pci: PciAddress) -> Option<Link> {
    read(root, &root.target(&format!("/sys/bus/pci/devices/{pci}"))?)
}

/// The device, and above it the bridges of its own package.
fn inner_path(root: &FsRoot, device: String) -> Vec<String> {
    let vendor = format!("{:#06x}", gpu_class::AMD); // as sysfs writes it
    let amd = |path: &str| root.text(&format!("{path}/vendor")).is_ok_and(|text| text == vendor);
    let parent = |path: &String| path.rsplit_once('/').map(|(parent, _)| parent.to_owned());
    let mut path = vec![device];
    while let Some(above) = path.last().filter(|port| amd(port)).and_then(parent).filter(|above| amd(above)) {
        path.push(above);
    }
    path
}

fn read(root: &FsRoot, port: &str) -> Option<Link> {
    let file = |name: &str| root.text(&format!("{port}/{name}")).ok();
    let width = |name| file(name).and_then(|text| text.parse().ok()).filter(|lanes| (1..=32).contains(lanes));
    let generation = |name| file(name).and_then(|text| generation(&text));
    let link = Link {
        generation: generation("current_link_speed"),
        width: width("current_link_width"),
        max_generation: generation("max_link_speed"),
        max_width: width("max_link_width"),
        slot_generation: None,
        bytes_per_s: None,
        source: format!("sysfs of {}", port.rsplit('/').next()?),
    };
    link.generation.or(link.width).or(link.max_generation).or(link.max_width)?;
    Some(Link { slot_generation: slot_generation(root, port, &link), ..link })
}

/// What the port above can. A virtual machine makes its ports up: QEMU's claim 32 lanes, older ones a single
/// lane or less than the link has.
fn slot_generation(root: &FsRoot, port: &str, link: &Link) -> Option<u8> {
    let (above, _) = port.rsplit_once('/')?;
    let most = |name: &str| root.text(&format!("{above}/{name}")).ok();
    let generation = generation(&most("max_link_speed")?)?;
    let lanes: u8 = most("max_link_width")?.parse().ok()?;
    let is_real = lanes <= 16 && link.width.is_none_or(|now| now <= lanes);
    (is_real && link.generation.is_none_or(|now| now <= generation)).then_some(generation)
}

/// The link of a device in a file of lstopo's; `None` where hwloc did not know it (it writes 0 then).
pub(crate) fn in_file(device: &TopologyObject) -> Option<Link> {
    let mut slowest = speed(device)?;
    let mut ports = device.ancestors().map_while(speed);
    if slowest.0 == gpu_class::AMD {
        while let Some(port) = ports.next().filter(|(vendor, _)| *vendor == gpu_class::AMD) {
            slowest = if port.1 > 0.0 && port.1 < slowest.1 { port } else { slowest };
        }
    }
    // hwloc computes in single precision: beyond the kilobyte its digits are noise.
    let bytes_per_s = ((f64::from(slowest.1) * 1e6).round() as u64).saturating_mul(1000);
    let source = "hwloc's pci_link_speed".to_owned();
    (bytes_per_s > 0).then_some(Link { bytes_per_s: Some(bytes_per_s), source, ..Link::default() })
}

/// The vendor and the link's GB/s of a PCI device or bridge.
fn speed(object: &TopologyObject) -> Option<(u16, f32)> {
    let pci = match object.attributes()? {
        ObjectAttributes::PCIDevice(pci) => pci,
        ObjectAttributes::Bridge(bridge) => match bridge.upstream_attributes()? {
            UpstreamAttributes::PCI(pci) => pci,
        },
        _ => return None,
    };
    Some((pci.vendor_id(), pci.link_speed()))
}

/// Orders links by what they carry now; each generation doubles the rate.
pub(crate) fn lanes_times_rate(link: &Link) -> u64 {
    match (link.generation, link.width) {
        (Some(generation), Some(lanes)) => u64::from(lanes) << generation.min(16),
        _ => u64::MAX,
    }
}

/// The generation of a speed such as `16.0 GT/s PCIe`, by the transfer rates of the PCIe base specification.
pub fn generation(speed: &str) -> Option<u8> {
    let (rate, _) = speed.split_once(" GT/s")?;
    match rate.trim_end_matches(".0") {
        "2.5" => Some(1),
        "5" => Some(2),
        "8" => Some(3),
        "16" => Some(4),
        "32" => Some(5),
        "64" => Some(6),
        "128" => Some(7),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn port(directory: &Path, vendor: &str, speed: &str, width: &str) -> std::io::Result<()> {
        std::fs::create_dir_all(directory)?;
        for (name, text) in [
            ("vendor", vendor),
            ("current_link_speed", speed),
            ("current_link_width", width),
            ("max_link_speed", "32.0 GT/s PCIe"),
            ("max_link_width", "16"),
        ] {
            std::fs::write(directory.join(name), format!("{text}\n"))?;
        }
        Ok(())
    }

    #[test]
    fn a_slot_of_an_older_generation_is_told_and_one_that_a_virtual_machine_makes_up_is_not()
    -> std::io::Result<()> {
        let slot_of = |slot: &str, lanes: &str| -> std::io::Result<Option<u8>> {
            let root = tempfile::tempdir()?;
            let above = root.path().join("sys/devices/pci0000:00/0000:00:01.0");
            let gpu = above.join("0000:03:00.0");
            port(&gpu, "0x10de", "16.0 GT/s PCIe", "16")?;
            port(&above, "0x8086", "16.0 GT/s PCIe", "16")?;
            std::fs::write(above.join("max_link_speed"), format!("{slot}\n"))?;
            std::fs::write(above.join("max_link_width"), format!("{lanes}\n"))?;
            bus(root.path(), &gpu)?;
            Ok(under(&FsRoot::at(root.path()), PCI).and_then(|link| link.slot_generation))
        };

        assert_eq!(slot_of("16.0 GT/s PCIe", "16")?, Some(4));
        assert_eq!(slot_of("32.0 GT/s PCIe", "16")?, Some(5));
        assert_eq!(slot_of("16.0 GT/s PCIe", "32")?, None, "QEMU's");
        assert_eq!(slot_of("2.5 GT/s PCIe", "16")?, None, "the link has more");
        assert_eq!(slot_of("16.0 GT/s PCIe", "1")?, None, "the link has more");
        assert_eq!(slot_of("Unknown", "255")?, None);
        Ok(())
    }

    fn bus(root: &Path, target: &Path) -> std::io::Result<()> {
        let devices = root.join("sys/bus/pci/devices");
        std::fs::create_dir_all(&devices)?;
        std::os::unix::fs::symlink(target, devices.join("0000:03:00.0"))
    }

    const PCI: PciAddress = PciAddress { domain: 0, bus: 3, device: 0, function: 0 };

    #[test]
    fn speeds_are_generations() {
        let table = [
            ("2.5 GT/s PCIe", 1),
            ("5.0 GT/s PCIe", 2),
            ("8.0 GT/s PCIe", 3),
            ("16.0 GT/s PCIe", 4),
            ("32.0 GT/s PCIe", 5),
        ];
        for (speed, want) in table {
            assert_eq!(generation(speed), Some(want), "{speed}");
        }
        assert_eq!(generation("64.0 GT/s PCIe"), Some(6));
        assert_eq!(generation("Unknown"), None);
    }

    #[test]
    fn a_gpus_own_link_is_reported_whatever_is_above_it() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        let above = root.path().join("sys/devices/pci0000:00/0000:00:01.0");
        let gpu = above.join("0000:03:00.0");
        port(&gpu, "0x10de", "2.5 GT/s PCIe", "16")?;
        port(&above, "0x8086", "2.5 GT/s PCIe", "1")?;
        bus(root.path(), &gpu)?;
        let link = under(&FsRoot::at(root.path()), PCI).ok_or_else(|| std::io::Error::other("no link"))?;
        assert_eq!(
            (link.generation, link.width, link.max_generation, link.max_width),
            (Some(1), Some(16), Some(5), Some(16))
        );
        assert_eq!(link.source, "sysfs of 0000:03:00.0");
        Ok(())
    }

    #[test]
    fn an_amd_gpus_link_is_that_of_its_packages_upstream_port() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        let upstream = root.path().join("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0");
        let gpu = upstream.join("0000:02:00.0/0000:03:00.0");
        port(&gpu, "0x1002", "32.0 GT/s PCIe", "16")?;
        port(&upstream.join("0000:02:00.0"), "0x1002", "32.0 GT/s PCIe", "16")?;
        port(&upstream, "0x1002", "16.0 GT/s PCIe", "8")?;
        port(&root.path().join("sys/devices/pci0000:00/0000:00:01.0"), "0x1022", "2.5 GT/s PCIe", "1")?;
        bus(root.path(), &gpu)?;
        let disk = FsRoot::at(root.path());
        let link = under(&disk, PCI).ok_or_else(|| std::io::Error::other("no link"))?;
        assert_eq!((link.generation, link.width), (Some(4), Some(8)));
        assert_eq!(link.source, "sysfs of 0000:01:00.0");
        assert_eq!(under(&FsRoot::saved(disk.seen()), PCI), Some(link), "a saved file says the same");
        Ok(())
    }

    #[test]
    fn a_device_without_link_files_has_no_link() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        let gpu = root.path().join("sys/devices/pci0000:00/0000:03:00.0");
        std::fs::create_dir_all(&gpu)?;
        bus(root.path(), &gpu)?;
        assert_eq!(under(&FsRoot::at(root.path()), PCI), None);
        Ok(())
    }
}
