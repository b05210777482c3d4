//! GPUs and network adapters on PCI, each with the bridges above it, as sysfs shows them.
//!
//! A device's folder in /sys/devices lies inside of those of the bridges above it, so that its path names
//! them all. Files: Documentation/ABI/testing/sysfs-bus-pci.

use stats::PciAddress;
use topo::fs_root::FsRoot;
use topo::link;
use topo::model::{Link, Locality};
use topo::{NicKind, Survey};

use super::config_space::ConfigSpace;

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PciDeviceKind {
    /// A GPU.
    Gpu,
    /// A network adapter.
    Adapter,
}

/// A GPU or an adapter.
#[derive(Clone, Debug)]
pub struct PciDevice {
    /// What it is.
    pub kind: PciDeviceKind,
    /// What it is called in sentences: `GPU 0`, `mlx5_0`.
    pub name: String,
    /// Its address.
    pub pci: PciAddress,
    /// Its link, where the kernel shows one and it is what copies go over.
    pub link: Option<Link>,
    /// What the port above its link can do at most: generation and lanes.
    pub above: (Option<u8>, Option<u8>),
    /// Its configuration space and those of the bridges above it, nearest first.
    pub path: Vec<Port>,
    /// The number of its IOMMU group, and how addresses are translated there.
    pub group: Option<(u32, Option<String>)>,
    /// The largest window of its memory on the bus, bytes.
    pub window_bytes: Option<u64>,
    /// What is local to it.
    pub locality: Locality,
}

/// A bridge or device on the way.
#[derive(Clone, Debug)]
pub struct Port {
    /// Its address, as sysfs names it.
    pub address: String,
    /// What its configuration space shows.
    pub config: ConfigSpace,
}

/// An adapter with fewer lanes carries no program's messages: a management port, or a virtual machine's own.
const LEAST_LANES: u8 = 8;

/// Whether messages of programs may go over this adapter.
fn carries_messages(nic: &topo::Nic) -> bool {
    let is_wide = nic.link.as_ref().and_then(|link| link.max_width).is_some_and(|lanes| lanes >= LEAST_LANES);
    is_wide || matches!(nic.kind, NicKind::Infiniband | NicKind::Fabric)
}

/// The devices of this machine, GPUs first; without adapters that carry no messages of programs.
pub fn devices(root: &FsRoot, survey: &Survey) -> Vec<PciDevice> {
    let topology = &survey.topology;
    let gpu = |gpu: &topo::model::Gpu| {
        // Copies of a GPU that hangs on its CPU otherwise do not use the PCIe link that it shows.
        let link = gpu.link.clone().filter(|_| topology.host_link(gpu).is_none());
        device(root, PciDeviceKind::Gpu, format!("GPU {}", gpu.index), gpu.pci, link, &gpu.locality)
    };
    let adapter = |nic: &topo::Nic| {
        let name = nic.os_devices.first().cloned().unwrap_or_else(|| format!("adapter {}", nic.pci));
        device(root, PciDeviceKind::Adapter, name, nic.pci, nic.link.clone(), &nic.locality)
    };
    let whole = topology.gpus.iter().filter(|gpu| gpu.partition.is_none_or(|part| part.number == 0));
    let adapters = survey.nics.iter().filter(|nic| carries_messages(nic));
    whole.map(gpu).chain(adapters.map(adapter)).collect()
}

/// The best generation of this machine's root ports, and of those that its devices are plugged into; `None`
/// where none says. Other bridges are parts of switches, which may be a card's own.
///
/// Asked only where a device can more than the port above it, since it reads files of every device.
pub fn best_port_generation(root: &FsRoot, devices: &[PciDevice]) -> Option<u8> {
    /// The class of bridges between PCI buses, as sysfs writes it.
    const BRIDGE: &str = "0x0604";
    const BUS: &str = "/sys/bus/pci/devices";
    devices.iter().find(|device| device.is_above_its_slot())?;
    let names = root.names(BUS);
    let above = devices.iter().filter_map(|device| device.above.0);
    let bridges = names.iter().filter(|name| {
        let is_root_port =
            || root.target(&format!("{BUS}/{name}")).is_some_and(|folder| folders(&folder).len() == 1);
        root.text(&format!("{BUS}/{name}/class")).is_ok_and(|class| class.starts_with(BRIDGE))
            && is_root_port()
    });
    let speed = |name: &String| link::generation(&root.text(&format!("{BUS}/{name}/max_link_speed")).ok()?);
    bridges.filter_map(speed).chain(above).max()
}

impl PciDevice {
    /// Whether it can a higher generation than the port above it.
    pub fn is_above_its_slot(&self) -> bool {
        let own = self.link.as_ref().and_then(|link| link.max_generation);
        matches!((own, self.above.0), (Some(own), Some(above)) if above < own)
    }
}

fn device(
    root: &FsRoot,
    kind: PciDeviceKind,
    name: String,
    pci: PciAddress,
    link: Option<Link>,
    locality: &Locality,
) -> PciDevice {
    let folder = format!("/sys/bus/pci/devices/{pci}");
    let folders = folders(&root.target(&folder).unwrap_or_default());
    let ends_at = |folder: &&String| link.as_ref().is_some_and(|link| link.source.ends_with(last(folder)));
    let above = folders.iter().position(|folder| ends_at(&folder)).and_then(|at| folders.get(at + 1));
    let most = |file: &str| root.text(&format!("{}/{file}", above?)).ok();
    let group = root.target(&format!("{folder}/iommu_group")).and_then(|group| {
        let number = last(&group).parse().ok()?;
        Some((number, root.text(&format!("/sys/kernel/iommu_groups/{number}/type")).ok()))
    });
    let port = |folder: &String| Port {
        address: last(folder).to_owned(),
        config: ConfigSpace::of(&root.bytes(&format!("{folder}/config")).unwrap_or_default()),
    };

    PciDevice {
        kind,
        name,
        pci,
        above: (
            most("max_link_speed").and_then(|speed| link::generation(&speed)),
            most("max_link_width")
                .and_then(|lanes| lanes.parse().ok())
                .filter(|lanes| (1..=32).contains(lanes)),
        ),
        path: folders.iter().map(port).collect(),
        group,
        window_bytes: root.text(&format!("{folder}/resource")).ok().and_then(|text| largest(&text)),
        locality: locality.clone(),
        link,
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The folders of the device and of the bridges above it, nearest first.
fn folders(device: &str) -> Vec<String> {
    let mut folders = Vec::new();
    let mut rest = device;
    while last(rest).parse::<PciAddress>().is_ok() {
        folders.push(rest.to_owned());
        let Some((above, _)) = rest.rsplit_once('/') else { break };
        rest = above;
    }
    folders
}

/// The size of the largest prefetchable window: a line is `first last flags`, in hexadecimal, and bit 13 of
/// the flags means prefetchable (IORESOURCE_PREFETCH in the kernel's include/linux/ioport.h).
fn largest(resource: &str) -> Option<u64> {
    const PREFETCH: u64 = 0x2000;
    let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let size = |line: &str| {
        let words: Vec<u64> = line.split_whitespace().filter_map(number).collect();
        match words[..] {
            [first, last, flags] if flags & PREFETCH != 0 && last > first => Some(last - first + 1),
            _ => None,
        }
    };
    resource.lines().filter_map(size).max()
}
