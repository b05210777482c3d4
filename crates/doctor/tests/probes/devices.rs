//! PCIe, GPUs and adapters.

use topo::gpu_health::{ComputeMode, FabricState};
use topo::model::Rung;

use crate::node::{DEVICE, SWITCH_PORT, SWITCHES, config, folders};
use crate::{Case, Is, Outcome, tried};

/// A driver that does not answer.
fn silent(node: &mut crate::node::Node) -> std::io::Result<()> {
    node.nvidia = Some(Err("none".to_owned()));
    Ok(())
}

/// Bridges links and what lies between devices.
pub const PATHS: &[Case] = &[
    ("pcie.acs", Is::Well, "3 switch ports", |_| Ok(())),
    // As `lspci -vvv` shows a switch with redirection: SrcValid+ ReqRedir+ CmpltRedir+ UpstreamFwd+.
    ("pcie.acs", Is::Costly, "0000:17:00.0", |node| {
        node.bytes(&format!("{}/config", folders(0).0), &config(SWITCH_PORT, 0x1d, 1))
    }),
    ("pcie.acs", Is::Costly, "0000:17:00.0", |node| {
        node.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")?;
        node.bytes(&format!("{}/config", folders(0).0), &config(SWITCH_PORT, 0x1d, 1))
    }),
    // A root port's redirection sends nothing where it would not go anyway.
    ("pcie.acs", Is::Well, "switch ports", |node| {
        node.bytes("/sys/devices/pci0000:15/0000:15:01.0/config", &config(4, 0x1d, 1))
    }),
    ("pcie.acs", Is::Open, "ordinary user", |node| {
        node.bytes(&format!("{}/config", folders(0).0), &config(SWITCH_PORT, 0x1d, 1)[..64])
    }),
    ("pcie.acs", Is::Gone, "", |node| {
        node.survey.topology.gpus.truncate(1);
        node.survey.nics.clear();
        Ok(())
    }),
    ("pcie.iommu", Is::Well, "passes addresses through", |_| Ok(())),
    ("pcie.iommu", Is::Costly, "GPU 0", |node| node.file("/sys/kernel/iommu_groups/10/type", "DMA-FQ\n")),
    ("pcie.iommu", Is::Open, "not shown", |node| node.gone("/sys/kernel/iommu_groups/11/type")),
    ("pcie.iommu", Is::Open, "host", |node| {
        node.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")?;
        (0..3).try_for_each(|at| node.gone(&format!("{}/iommu_group", folders(at).1)))?;
        node.gone("/sys/class/iommu")
    }),
    ("pcie.iommu", Is::Well, "off", |node| {
        (0..3).try_for_each(|at| node.gone(&format!("{}/iommu_group", folders(at).1)))?;
        node.gone("/sys/class/iommu")
    }),
    // Grace's SMMU: the options of x86 mean nothing to it.
    ("pcie.iommu", Is::Costly, "GPU 0", |node| {
        node.file("/proc/sys/kernel/arch", "aarch64\n")?;
        node.file("/sys/kernel/iommu_groups/10/type", "DMA-FQ\n")
    }),
    ("pcie.iommu", Is::Open, "not shown", |node| node.gone("/sys")),
    ("pcie.nccl-topology", Is::Well, "no virtual machine", |_| Ok(())),
    // GPU 0 and the adapter are behind one switch that the guest is shown.
    ("pcie.nccl-topology", Is::Well, "shows PCIe switches", |node| {
        node.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")
    }),
    ("pcie.nccl-topology", Is::Odd, "2 GPUs: a topology file would let NCCL copy", |node| {
        node.survey.nics.clear();
        node.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")
    }),
    (
        "pcie.nccl-topology",
        Is::Odd,
        "2 GPUs and 1 network adapter: a topology file would let NCCL use GPUDirect",
        |node| {
            // The adapter stands where no bridge is above it.
            node.survey.nics[0].pci.bus = 0x77;
            node.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")
        },
    ),
    ("pcie.nccl-topology", Is::Well, "NCCL reads /etc/nccl-topo.xml", |node| {
        node.survey.nics.clear();
        node.variables.insert("NCCL_TOPO_FILE", "/etc/nccl-topo.xml".to_owned());
        node.file("/etc/nccl-topo.xml", "<system version=\"1\"/>")?;
        node.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")
    }),
    ("pcie.nccl-topology", Is::Well, "virtualTopology.xml", |node| {
        node.survey.nics.clear();
        node.file("/var/run/nvidia-topologyd/virtualTopology.xml", "<system version=\"1\"/>")?;
        node.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")
    }),
    ("pcie.nccl-topology", Is::Odd, "which is not there", |node| {
        node.variables.insert("NCCL_TOPO_FILE", "/etc/nccl-topo.xml".to_owned());
        Ok(())
    }),
    // Neither in the root nor in the folder of this process is where a rank looks.
    ("pcie.nccl-topology", Is::Unknown, "names nccl.xml, which each program looks for", |node| {
        node.variables.insert("NCCL_TOPO_FILE", "nccl.xml".to_owned());
        Ok(())
    }),
    // The adapter is a second function of the GPU's card: its bridges are no switch between devices.
    ("pcie.nccl-topology", Is::Odd, "no PCIe switch above its 2 GPUs and 1 network adapter", |node| {
        let (_, gpu) = folders(0);
        let second = gpu.replace("18:00.0", "18:00.1");
        node.survey.nics[0].pci = "0000:18:00.1".parse().map_err(std::io::Error::other)?;
        node.bytes(&format!("{second}/config"), &config(DEVICE, 0, 1))?;
        node.link("/sys/bus/pci/devices/0000:18:00.1", &second)?;
        node.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")
    }),
    ("pcie.nccl-topology", Is::Unknown, "not shown", |node| node.gone("/proc")),
    ("pcie.nccl-topology", Is::Gone, "", |node| {
        node.survey.topology.gpus.iter_mut().for_each(|gpu| gpu.vendor_id = 0x1002);
        Ok(())
    }),
    ("pcie.link", Is::Well, "generation 5", |_| Ok(())),
    // A GPU of generation 5 in a slot that can 3, of a machine with slots of 5.
    ("pcie.link", Is::Costly, "GPU 0: can generation 5, in a slot of generation 3", |node| {
        node.survey.topology.gpus[0].link.as_mut().expect("a link").generation = Some(1);
        node.file(&format!("{}/max_link_speed", folders(0).0), "8.0 GT/s PCIe\n")
    }),
    // The same where no slot of the machine can more: nothing that a setting changes.
    ("pcie.link", Is::Odd, "generation 3", |node| {
        (0..3)
            .try_for_each(|at| node.file(&format!("{}/max_link_speed", folders(at).0), "8.0 GT/s PCIe\n"))?;
        // A card's own switch is no slot.
        let inside = format!("{}/0000:99:00.0", folders(1).1);
        node.file(&format!("{inside}/class"), "0x060400\n")?;
        node.file(&format!("{inside}/max_link_speed"), "32.0 GT/s PCIe\n")?;
        node.link("/sys/bus/pci/devices/0000:99:00.0", &inside)?;
        node.survey.nics[0].link.as_mut().expect("a link").generation = Some(3);
        Ok(())
    }),
    // In a guest the port above is the hypervisor's, whatever slot the device is in.
    ("pcie.link", Is::Open, "hypervisor's", |node| {
        node.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")?;
        node.file(&format!("{}/max_link_speed", folders(0).0), "2.5 GT/s PCIe\n")?;
        node.file(&format!("{}/max_link_width", folders(0).0), "1\n")
    }),
    ("pcie.link", Is::Costly, "GPU 1: x8", |node| {
        node.survey.topology.gpus[1].link.as_mut().expect("a link").width = Some(8);
        Ok(())
    }),
    // An idle GPU's link is slow, an adapter's is not.
    ("pcie.link", Is::Well, "3 links", |node| {
        node.survey.topology.gpus[1].link.as_mut().expect("a link").generation = Some(1);
        Ok(())
    }),
    ("pcie.link", Is::Costly, "mlx5_0: generation 3", |node| {
        node.survey.nics[0].link.as_mut().expect("a link").generation = Some(3);
        Ok(())
    }),
    ("pcie.link", Is::Costly, "in a slot of x8", |node| {
        node.survey.topology.gpus[0].link.as_mut().expect("a link").width = Some(8);
        node.file(&format!("{}/max_link_width", folders(0).0), "8\n")
    }),
    ("pcie.link", Is::Open, "not in sysfs", |node| {
        node.survey.topology.gpus.iter_mut().for_each(|gpu| gpu.link = None);
        node.survey.nics[0].link = None;
        Ok(())
    }),
    ("pcie.payload", Is::Well, "256 bytes", |_| Ok(())),
    ("pcie.payload", Is::Costly, "GPU 0: payload of 128", |node| {
        node.bytes(&format!("{}/config", folders(0).1), &config(DEVICE, 0, 0))
    }),
    ("pcie.payload", Is::Open, "ordinary user", |node| {
        (0..3)
            .try_for_each(|at| node.bytes(&format!("{}/config", folders(at).1), &config(DEVICE, 0, 1)[..64]))
    }),
    // A guest of vfio, whose virtual device says 128 whatever the real one does.
    ("pcie.payload", Is::Open, "not the device's", |node| {
        node.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")?;
        node.bytes(&format!("{}/config", folders(0).1), &config(DEVICE, 0, 0))
    }),
    ("pcie.bar", Is::Well, "whole memory of 2", |_| Ok(())),
    ("pcie.bar", Is::Costly, "GPU 0: 256", |node| {
        node.file(
            &format!("{}/resource", folders(0).1),
            "0x00000000e0000000 0x00000000efffffff 0x000000000014220c\n",
        )
    }),
    ("pcie.bar", Is::Open, "128", |node| {
        node.nvidia = Some(Err("none".to_owned()));
        Ok(())
    }),
    ("pcie.peer-access", Is::Open, "none", silent),
    ("pcie.payload", Is::Open, "not shown", |node| node.gone("/sys")),
    ("pcie.peer-access", Is::Well, "all 1 pairs", |_| Ok(())),
    ("pcie.peer-access", Is::Costly, "ChipsetNotSupported", |node| {
        node.health().peers[0].refused = Some("ChipsetNotSupported".to_owned());
        Ok(())
    }),
];

#[test]
fn bridges_links_and_what_lies_between_devices() -> Outcome {
    tried(PATHS)?;
    assert_eq!(SWITCHES.len(), 2);
    Ok(())
}

/// What the driver says of gpus.
pub const DRIVER: &[Case] = &[
    ("gpu.persistence", Is::Odd, "GPU 1", |node| {
        node.health().gpus[1].persistent = Some(false);
        Ok(())
    }),
    ("gpu.persistence", Is::Unknown, "cannot be loaded", |node| {
        node.nvidia = Some(Err("libnvidia-ml.so.1 cannot be loaded".to_owned()));
        Ok(())
    }),
    ("gpu.persistence", Is::Gone, "", |node| {
        node.nvidia = None;
        Ok(())
    }),
    ("gpu.mig", Is::Well, "on: GPU 0", |node| {
        node.health().gpus[0].mig = Some((true, true));
        Ok(())
    }),
    ("gpu.mig", Is::Odd, "next reset", |node| {
        node.health().gpus[0].mig = Some((false, true));
        Ok(())
    }),
    ("gpu.ecc", Is::Odd, "off on GPU 0", |node| {
        node.health().gpus[0].ecc = Some((false, false));
        Ok(())
    }),
    ("gpu.ecc", Is::Odd, "changes at its next reset", |node| {
        node.health().gpus[1].ecc = Some((true, false));
        Ok(())
    }),
    ("gpu.ecc", Is::Odd, "3 errors of memory, not corrected, on GPU 1", |node| {
        node.health().gpus[1].uncorrected = Some(3);
        Ok(())
    }),
    ("gpu.repairs", Is::Odd, "next reset", |node| {
        node.health().gpus[0].repair_pending = Some(true);
        Ok(())
    }),
    ("gpu.repairs", Is::Odd, "could not be replaced", |node| {
        node.health().gpus[1].repair_failed = Some(true);
        Ok(())
    }),
    ("gpu.confidential", Is::Costly, "on", |node| {
        node.health().confidential = Some(true);
        Ok(())
    }),
    ("gpu.sharing", Is::Odd, "GPU 0", |node| {
        node.health().gpus[0].compute_mode = Some(ComputeMode::One);
        Ok(())
    }),
    ("gpu.sharing", Is::Odd, "no process may use GPU 1", |node| {
        node.health().gpus[1].compute_mode = Some(ComputeMode::Prohibited);
        node.file("/tmp/nvidia-mps/control", "")?;
        node.file("/proc/4711/comm", "nvidia-cuda-mps\n")?;
        node.file("/tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "4711\n")
    }),
    // The daemon's own files, and the process that they name.
    ("gpu.sharing", Is::Well, "an MPS daemon runs here", |node| {
        node.health().gpus[0].compute_mode = Some(ComputeMode::One);
        node.file("/tmp/nvidia-mps/control", "")?;
        node.file("/proc/4711/comm", "nvidia-cuda-mps\n")?;
        node.file("/tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "4711\n")
    }),
    // A container with a process table of its own, to which the folder and the network namespace are lent.
    ("gpu.sharing", Is::Well, "an MPS daemon runs here", |node| {
        node.file("/tmp/nvidia-mps/control", "")?;
        node.gone("/proc/2/comm")?;
        let head = "Num       RefCount Protocol Flags    Type St Inode Path\n";
        let line = "0000000000000000: 00000002 00000000 00010000 0001 01 31337 /tmp/nvidia-mps/control\n";
        node.file("/proc/net/unix", &format!("{head}{line}"))
    }),
    // What a daemon that was killed leaves behind.
    ("gpu.sharing", Is::Odd, "left over", |node| {
        node.file("/tmp/nvidia-mps/control", "")?;
        node.file("/tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "4711\n")
    }),
    ("gpu.sharing", Is::Unknown, "whether its daemon runs", |node| {
        node.file("/tmp/nvidia-mps/control", "")?;
        node.gone("/proc")
    }),
    ("gpu.mig", Is::Unknown, "none", silent),
    ("gpu.ecc", Is::Unknown, "none", silent),
    ("gpu.repairs", Is::Unknown, "none", silent),
    ("gpu.confidential", Is::Open, "none", silent),
    ("gpu.fabric", Is::Open, "none", silent),
    ("gpu.power", Is::Unknown, "none", silent),
    ("gpu.processes", Is::Open, "none", silent),
    ("gpu.fabric", Is::Costly, "GPU 1", |node| {
        node.health().gpus[1].fabric = Some(FabricState::NotJoined);
        Ok(())
    }),
    ("gpu.fabric", Is::Gone, "", |node| {
        node.health().gpus.iter_mut().for_each(|gpu| gpu.fabric = None);
        Ok(())
    }),
    ("gpu.power", Is::Odd, "GPU 0: 350 W of 700 W", |node| {
        node.health().gpus[0].power_mw = Some((350_000, 700_000));
        Ok(())
    }),
    ("gpu.power", Is::Well, "400-700 W, the default or more", |node| {
        node.health().gpus[0].power_mw = Some((400_000, 400_000));
        Ok(())
    }),
    ("gpu.power", Is::Well, "the default or more; not known of 1 of 2 GPUs", |node| {
        node.health().gpus[0].power_mw = None;
        Ok(())
    }),
    ("gpu.persistence", Is::Well, "on; not known of 1 of 2 GPUs", |node| {
        node.health().gpus[0].persistent = None;
        Ok(())
    }),
    ("gpu.ecc", Is::Well, "on; not known of 1 of 2 GPUs", |node| {
        node.health().gpus[1].ecc = None;
        Ok(())
    }),
    ("gpu.mig", Is::Well, "off; not known of 1 of 2 GPUs", |node| {
        node.health().gpus[1].mig = None;
        Ok(())
    }),
    ("gpu.processes", Is::Well, "nobody computes on a GPU; not known of 1 of 2 GPUs", |node| {
        node.health().gpus[1].processes = None;
        Ok(())
    }),
    ("pcie.bar", Is::Well, "the whole memory of 1 GPU; not known of 1 of 2 GPUs", |node| {
        node.health().gpus[1].memory_bytes = None;
        Ok(())
    }),
    ("gpu.processes", Is::Costly, "GPU 1 (4711)", |node| {
        node.health().gpus[1].processes = Some(vec![4711]);
        Ok(())
    }),
    ("gpu.adapter-access", Is::Well, "nvidia_peermem", |_| Ok(())),
    ("gpu.adapter-access", Is::Well, "DMA-BUF", |node| node.gone("/sys/module/nvidia_peermem")),
    ("gpu.adapter-access", Is::Costly, "mlx5_0", |node| {
        node.gone("/sys/module/nvidia_peermem")?;
        node.file(
            "/proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.86.10\n",
        )
    }),
    ("gpu.adapter-access", Is::Gone, "", |node| node.gone("/sys/class/infiniband")),
    ("gpu.adapter-access", Is::Open, "not shown", |node| node.gone("/sys")),
    ("gpu.adapter-access", Is::Open, "not shown", |node| {
        node.gone("/sys/module/nvidia_peermem")?;
        node.gone("/proc/driver")
    }),
    // Slingshot: its driver takes the GPU's pages itself (HPE Slingshot Host Software, CXI core driver).
    ("gpu.adapter-access", Is::Well, "cxi0", |node| {
        closed_driver(node)?;
        node.gone("/sys/class/infiniband")?;
        node.file("/sys/class/cxi/cxi0/device/uevent", "DRIVER=cxi_ss1\n")
    }),
    // EFA says of itself whether it does.
    ("gpu.adapter-access", Is::Well, "rdmap16s27", |node| efa(node, "device/p2p", "NVIDIA\n")),
    ("gpu.adapter-access", Is::Well, "rdmap16s27", |node| efa(node, "device/gdr", "1\n")),
    ("gpu.adapter-access", Is::Open, "rdmap16s27", |node| efa(node, "node_type", "4: usNIC UDP\n")),
    // A driver that nobody here knows.
    ("gpu.adapter-access", Is::Open, "xyz0", |node| {
        closed_driver(node)?;
        node.gone("/sys/class/infiniband")?;
        node.file("/sys/class/infiniband/xyz0/device/uevent", "DRIVER=xyz\n")
    }),
    ("memory.gpu-locality", Is::Open, "GPU 0", |node| {
        node.survey.topology.gpus[0].locality.rung = Rung::Unknown;
        Ok(())
    }),
    ("cpu.interrupts", Is::Well, "2 devices", |_| Ok(())),
    ("cpu.interrupts", Is::Costly, "mlx5_0", |node| node.file("/proc/irq/51/effective_affinity_list", "8\n")),
    ("cpu.interrupts", Is::Odd, "GPU 0", |node| node.file("/proc/irq/50/effective_affinity_list", "15\n")),
    ("cpu.interrupts", Is::Well, "1 device arrive on near cores too; not known of 1 of 2 devices", |node| {
        node.gone("/proc/irq/50")
    }),
    ("cpu.interrupts", Is::Open, "/proc/irq", |node| node.gone("/proc/irq")),
];

#[test]
fn what_the_driver_says_of_gpus() -> Outcome {
    tried(DRIVER)
}

/// A node whose driver hands out no DMA-BUF, and without a module for it.
pub fn closed_driver(node: &crate::node::Node) -> std::io::Result<()> {
    node.gone("/sys/module/nvidia_peermem")?;
    node.file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.86.10\n")
}

/// A node of that kind with an adapter of Amazon's, of which one file says something.
fn efa(node: &crate::node::Node, file: &str, text: &str) -> std::io::Result<()> {
    closed_driver(node)?;
    node.gone("/sys/class/infiniband")?;
    node.file("/sys/class/infiniband/rdmap16s27/device/uevent", "DRIVER=efa\nPCI_CLASS=20000\n")?;
    node.file(&format!("/sys/class/infiniband/rdmap16s27/{file}"), text)
}
