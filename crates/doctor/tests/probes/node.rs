//! A node that is as it should be, written as a table of files: two packages of an HGX H100 board, each with
//! a GPU behind a PCIe switch, one with an adapter beside it.
//!
//! Addresses and the way of the bridges are those of a DGX H100; sizes are small. A test changes one thing of
//! it. What files hold is as Linux 6.1 writes it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};

use doctor::{FactSources, SystemFacts, checks};
use engine::PlacingCalls;
use report::doctor::Check;
use stats::{IdSet, PciAddress};
use tempfile::TempDir;
use topo::fs_root::FsRoot;
use topo::gpu_health::{ComputeMode, FabricState, GpuHealth, OneGpu, PeerAccess};
use topo::interconnect::Interconnect;
use topo::model::{
    Allowed, Core, Gpu, GpuName, L3, Link, Locality, NodeKind, NumaNode, Package, Pu, PuStatus, Rung,
    Topology, TopologySource,
};
use topo::process::{MemoryPolicy, PolicyMode, ProcessBinding};
use topo::{Cgroup, Nic, NicKind, Survey};

/// Its folder in /sys/devices, and what stands there of each device's link.
pub const SWITCHES: [&str; 2] = [
    "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0",
    "/sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0",
];
/// The devices: the folder of the port above, and the address.
const DEVICES: [(usize, &str, &str); 3] = [
    (0, "0000:17:00.0", "0000:18:00.0"),
    (0, "0000:17:01.0", "0000:19:00.0"),
    (1, "0000:99:00.0", "0000:9a:00.0"),
];

/// Kinds of a port in the PCI Express capability.
pub const DEVICE: u16 = 0;
pub const SWITCH_PORT: u16 = 6;

const FILES: [(&str, &str); 46] = [
    ("/proc/cpuinfo", "model name\t: Intel(R) Xeon(R) Platinum 8480C\nflags\t\t: fpu vme\n"),
    ("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 intel_iommu=on iommu=pt\n"),
    (
        "/proc/meminfo",
        "MemTotal:       264000000 kB\nMemFree: 1 kB\nSwapTotal:             0 kB\n\
         SwapFree:              0 kB\n",
    ),
    ("/proc/sys/kernel/osrelease", "6.1.0-13-amd64\n"),
    ("/proc/sys/kernel/numa_balancing", "0\n"),
    ("/proc/sys/vm/zone_reclaim_mode", "0\n"),
    (
        "/proc/self/limits",
        "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  unlimited  unlimited  bytes\n",
    ),
    ("/proc/self/mountinfo", "29 23 0:25 / /dev/shm rw,nosuid,nodev shared:3 - tmpfs tmpfs rw,inode64\n"),
    ("/proc/self/cgroup", "0::/user.slice\n"),
    ("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n"),
    ("/proc/self/uid_map", "         0          0 4294967295\n"),
    ("/proc/2/comm", "kthreadd\n"),
    ("/proc/sys/kernel/arch", "x86_64\n"),
    (
        "/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release\n",
    ),
    ("/proc/irq/50/effective_affinity_list", "1\n"),
    ("/proc/irq/51/effective_affinity_list", "2\n"),
    ("/proc/irq/52/effective_affinity_list", "9\n"),
    ("/proc/irq/53/effective_affinity_list", "9\n"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_driver", "intel_pstate\n"),
    ("/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference", "performance\n"),
    ("/sys/devices/system/cpu/isolated", "\n"),
    ("/sys/devices/system/cpu/nohz_full", "(null)\n"),
    ("/sys/devices/system/cpu/smt/control", "off\n"),
    ("/sys/class/iommu/dmar0/intel-iommu/version", "5:0\n"),
    ("/sys/kernel/iommu_groups/10/type", "identity\n"),
    ("/sys/kernel/iommu_groups/11/type", "identity\n"),
    ("/sys/kernel/iommu_groups/12/type", "identity\n"),
    ("/sys/class/infiniband/mlx5_0/node_type", "1: CA\n"),
    ("/sys/class/infiniband/mlx5_0/device/uevent", "DRIVER=mlx5_core\nPCI_CLASS=20700\n"),
    ("/sys/module/nvidia_peermem/version", "580.65.06\n"),
    (
        "/etc/slurm/slurm.conf",
        "GresTypes=gpu\nTaskPlugin=task/cgroup,task/affinity # both\nNodeName=n0 Gres=gpu:2\n",
    ),
    ("/etc/slurm/cgroup.conf", "ConstrainCores=yes\nConstrainDevices=yes\n"),
    ("/etc/slurm/gres.conf", "Name=gpu File=/dev/nvidia0 Cores=0-7\nName=gpu File=/dev/nvidia1 Cores=8-15\n"),
    ("0/max_link_speed", "32.0 GT/s PCIe\n"),
    ("0/max_link_width", "16\n"),
    ("1/max_link_speed", "32.0 GT/s PCIe\n"),
    ("1/max_link_width", "16\n"),
    ("2/max_link_speed", "32.0 GT/s PCIe\n"),
    ("2/max_link_width", "16\n"),
    ("0/DEV/resource", "0x0 0x0 0x0\n0x0000210000000000 0x0000211fffffffff 0x000000000014220c\n"),
    ("2/DEV/resource", "0x0000220000000000 0x0000221fffffffff 0x000000000014220c\n"),
    ("0/DEV/msi_irqs/50", "msix\n"),
    ("1/DEV/msi_irqs/51", "msix\n"),
    ("1/DEV/msi_irqs/52", "msix\n"),
];

/// A node.
pub struct Node {
    folder: TempDir,
    pub survey: Survey,
    pub variables: BTreeMap<&'static str, String>,
    pub nvidia: Option<Result<GpuHealth, String>>,
    pub calls: PlacingCalls,
}

pub fn set(text: &str) -> IdSet {
    text.parse().unwrap_or_default()
}

fn pci(text: &str) -> PciAddress {
    text.parse().unwrap_or(PciAddress { domain: 0, bus: 0, device: 0, function: 0 })
}

/// The folder of the port above the device at this place, and the device's own.
pub fn folders(at: usize) -> (String, String) {
    let (switch, port, device) = DEVICES[at];
    let port = format!("{}/{port}", SWITCHES[switch]);
    let device = format!("{port}/{device}");
    (port, device)
}

/// A configuration space with a PCI Express capability of this kind, and access control services with this
/// control register.
pub fn config(kind: u16, acs: u16, payload: u16) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[0x06] = 0x10;
    bytes[0x34] = 0x40;
    bytes[0x40..0x44].copy_from_slice(&[0x10, 0, 2 | (kind << 4) as u8, 0]);
    bytes[0x44] = 1; // 256 bytes at most
    bytes[0x48..0x4a].copy_from_slice(&(payload << 5 | 2 << 12).to_le_bytes());
    bytes[0x100..0x104].copy_from_slice(&(0x000d_u32 | 1 << 16).to_le_bytes());
    bytes[0x106..0x108].copy_from_slice(&acs.to_le_bytes());
    bytes
}

impl Node {
    /// The node as it should be.
    pub fn right() -> io::Result<Self> {
        let health = |address: &str| OneGpu {
            pci: pci(address),
            persistent: Some(true),
            mig: Some((false, false)),
            ecc: Some((true, true)),
            uncorrected: Some(0),
            repair_pending: Some(false),
            repair_failed: Some(false),
            compute_mode: Some(ComputeMode::Any),
            power_mw: Some((700_000, 700_000)),
            memory_bytes: Some(80 << 30),
            fabric: Some(FabricState::Ended(0)),
            processes: Some(Vec::new()),
        };
        let gpus = [DEVICES[0].2, DEVICES[2].2];
        let node = Self {
            folder: tempfile::tempdir()?,
            survey: survey(),
            variables: BTreeMap::new(),
            nvidia: Some(Ok(GpuHealth {
                confidential: Some(false),
                gpus: gpus.map(health).into(),
                peers: vec![PeerAccess { one: pci(gpus[0]), other: pci(gpus[1]), refused: None }],
            })),
            calls: PlacingCalls { affinity: Ok(()), memory_policy: Ok(()), page_nodes: Ok("move_pages(2)") },
        };
        for (at, (switch, ..)) in DEVICES.iter().enumerate() {
            let (port, device) = folders(at);
            node.bytes(&format!("{device}/config"), &config(DEVICE, 0, 1))?;
            node.bytes(&format!("{port}/config"), &config(SWITCH_PORT, 0x11, 1))?;
            node.bytes(&format!("{}/config", SWITCHES[*switch]), &config(5, 0, 1))?;
            let root_port = SWITCHES[*switch].rsplit_once('/').map_or("", |(above, _)| above);
            node.bytes(&format!("{root_port}/config"), &config(4, 0, 1))?;
            let bus = node.path("/sys/bus/pci/devices");
            fs::create_dir_all(&bus)?;
            std::os::unix::fs::symlink(node.path(&device), bus.join(DEVICES[at].2))?;
            std::os::unix::fs::symlink(
                node.path(&format!("/sys/kernel/iommu_groups/{}", 10 + at)),
                node.path(&device).join("iommu_group"),
            )?;
        }
        for (path, text) in FILES {
            let path = match path.split_once('/') {
                Some((at, file)) if !at.is_empty() => {
                    let (port, device) = folders(at.parse().unwrap_or_default());
                    file.strip_prefix("DEV/")
                        .map_or(format!("{port}/{file}"), |file| format!("{device}/{file}"))
                }
                _ => path.to_owned(),
            };
            node.file(&path, text)?;
        }
        Ok(node)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path.trim_start_matches('/'))
    }

    /// Writes a file.
    pub fn file(&self, path: &str, text: &str) -> io::Result<()> {
        self.bytes(path, text.as_bytes())
    }

    /// Writes a file of bytes.
    pub fn bytes(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap_or(self.folder.path()))?;
        fs::write(path, bytes)
    }

    /// A link to another path of the node.
    pub fn link(&self, path: &str, target: &str) -> io::Result<()> {
        std::os::unix::fs::symlink(self.path(target), self.path(path))
    }

    /// Takes a file or a folder away.
    pub fn gone(&self, path: &str) -> io::Result<()> {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
    }

    /// What NVML says.
    pub fn health(&mut self) -> &mut GpuHealth {
        self.nvidia.get_or_insert_with(|| Ok(GpuHealth::default())).as_mut().expect("the driver answers")
    }

    /// All checks.
    pub fn checks(&self) -> Vec<Check> {
        let root = FsRoot::at(self.folder.path());
        let variable = |name: &str| self.variables.get(name).cloned();
        let asked = FactSources {
            survey: &self.survey,
            root: &root,
            variable: &variable,
            nvidia: self.nvidia.clone(),
            calls: self.calls.clone(),
            // A busy machine gives a thread its turn late.
            patience: Duration::from_secs(30),
        };
        checks(&SystemFacts::read(asked))
    }
}

fn locality(nodes: &str, pus: &str) -> Locality {
    Locality {
        rung: Rung::PciLocalCpus,
        reason: String::new(),
        attached_to: "Package".to_owned(),
        pus: set(pus),
        nodes: set(nodes),
        outside_pus: IdSet::default(),
        outside_nodes: IdSet::default(),
        l3_pus: None,
    }
}

fn link(address: &str) -> Option<Link> {
    Some(Link {
        generation: Some(5),
        width: Some(16),
        max_generation: Some(5),
        max_width: Some(16),
        slot_generation: None,
        bytes_per_s: None,
        source: format!("sysfs of {address}"),
    })
}

/// A process that is bound to nothing.
pub fn process() -> ProcessBinding {
    let policy = MemoryPolicy { mode: Some(PolicyMode::Default), ..MemoryPolicy::default() };
    let cgroup = Cgroup {
        pus: None,
        nodes: None,
        source: None,
        reason: None,
        memory_bytes: None,
        memory_source: None,
    };
    ProcessBinding { affinity: Some(set("0-15")), memory_nodes: Some(set("0-1")), policy, cgroup }
}

fn survey() -> Survey {
    let halves = [(0_u32, "0-7"), (1, "8-15")];
    let all = set("0-15");
    let gpu = |index: u32, address: &str| Gpu {
        index,
        pci: pci(address),
        vendor_id: 0x10de,
        device_id: 0x2330,
        class_id: 0x0302,
        name: GpuName { value: Some("NVIDIA H100 80GB HBM3".to_owned()), source: "driver".to_owned() },
        uuid: None,
        os_devices: Vec::new(),
        locality: locality(&index.to_string(), halves[index as usize].1),
        link: link(address),
        partition: None,
    };
    let topology = Topology {
        source: TopologySource::ThisSystem,
        hostname: Some("n0".to_owned()),
        hwloc_version: "2.9.0".to_owned(),
        packages: halves
            .map(|(index, pus)| Package {
                os_index: Some(index),
                cpu_model: Some("Intel(R) Xeon(R) Platinum 8480C".to_owned()),
                pus: set(pus),
                nodes: set(&index.to_string()),
            })
            .into(),
        nodes: halves.map(|(index, pus)| node(index, NodeKind::Normal, pus)).into(),
        distances: None,
        l3s: halves.map(|(index, pus)| L3 { os_index: Some(index), size_bytes: None, pus: set(pus) }).into(),
        cores: all.iter().map(|pu| Core { os_index: Some(pu), pus: [pu].into_iter().collect() }).collect(),
        pus: all
            .iter()
            .map(|pu| Pu { os_index: pu, status: PuStatus::Allowed, nodes: vec![pu / 8] })
            .collect(),
        allowed: Allowed { pus: all, nodes: set("0-1"), ..Allowed::default() },
        gpus: vec![gpu(0, DEVICES[0].2), gpu(1, DEVICES[2].2)],
        slow: None,
    };
    Survey {
        topology,
        virtual_machine: None,
        huge_pages: vec![topo::HugePages { node: 0, page_bytes: 2 << 20, total: 0, free: Some(0) }],
        nics: vec![Nic {
            pci: pci(DEVICES[1].2),
            vendor_id: 0x15b3,
            device_id: 0x1021,
            class_id: 0x0207,
            kind: NicKind::Infiniband,
            name: None,
            os_devices: vec!["mlx5_0".to_owned()],
            locality: locality("0", "0-7"),
            link: link(DEVICES[1].2),
        }],
        process: Some(process()),
        step: None,
        interconnect: Interconnect { devices: Vec::new(), pairs: Vec::new(), nvlink: None, xgmi: None },
        identities: Vec::new(),
        visibility: Vec::new(),
        settings: Vec::new(),
    }
}

/// A NUMA node of this kind.
pub fn node(os_index: u32, kind: NodeKind, pus: &str) -> NumaNode {
    NumaNode {
        os_index,
        kind,
        total_bytes: 128 << 30,
        free_bytes: None,
        pus: set(pus),
        allowed: true,
        subtype: None,
        cpus_not_shown: false,
    }
}
