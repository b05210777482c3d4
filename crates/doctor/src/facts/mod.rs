//! What is read of a node before anything is judged: plain values, each absent where nobody says it.
//!
//! Everything is read under one root (`/`, or a test's), so that every probe has a tree of files in which it
//! is right and one in which it is wrong. Nothing is written, no GPU's device file is opened by this crate,
//! and no command is run. NVML's answer and the answers of system calls come in from outside.

pub mod adapters;
pub mod config_space;
pub mod cpu;
pub mod gpu;
pub mod gpu_memory_nodes;
pub mod interrupts;
pub mod iommu;
pub mod memory;
pub mod mps;
pub mod nccl;
pub mod pci;
pub mod pod;
pub mod slurm;

use std::time::Duration;

use engine::PlacingCalls;
use topo::Survey;
use topo::environment::{self, Environment, NO_SIGN, ProbeValue, VIRTUAL_MACHINE};
use topo::fs_root::FsRoot;
use topo::gpu_health::GpuHealth;
use topo::model::TopologySource;

/// What is known from elsewhere than files.
pub struct FactSources<'a> {
    /// The machine.
    pub survey: &'a Survey,
    /// Where files are read.
    pub root: &'a FsRoot,
    /// This process's environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// NVML's word on the GPUs; `None` where there is no NVIDIA GPU.
    pub nvidia: Option<Result<GpuHealth, String>>,
    /// What the calls that place a thread answered.
    pub calls: PlacingCalls,
    /// How long it may be looked whose memory lies in a GPU's.
    pub patience: Duration,
}

/// What is known of a node.
pub struct SystemFacts<'a> {
    /// The machine.
    pub survey: &'a Survey,
    /// What a measurement depends on, as results carry it.
    pub environment: Environment,
    /// GPUs and network adapters with the bridges above them.
    pub devices: Vec<pci::PciDevice>,
    /// The kind of CPU.
    pub architecture: Architecture,
    /// How device addresses are translated.
    pub iommu: iommu::Iommu,
    /// Memory.
    pub memory: memory::MemorySettings,
    /// Cores.
    pub cpu: cpu::Cpu,
    /// Where devices' interrupts go.
    pub interrupts: Vec<interrupts::Interrupts>,
    /// NVML's word on the GPUs.
    pub nvidia: Option<Result<GpuHealth, String>>,
    /// AMD GPUs, by their driver's files.
    pub amd: Vec<gpu::AmdGpu>,
    /// NVIDIA's multi-process service.
    pub mps: mps::Mps,
    /// The topology file that NCCL would read.
    pub nccl_file: nccl::NcclFile,
    /// What of the host's is in the memory of GPUs.
    pub gpu_memory_nodes: Vec<gpu_memory_nodes::GpuMemoryNode>,
    /// The best generation of a port of this machine, where a device can more than the port above it.
    pub best_port_generation: Option<u8>,
    /// Adapters that can reach GPU memory by themselves, and what the kernel has for that.
    pub adapters: adapters::RdmaAdapters,
    /// What the calls that place a thread answered.
    pub calls: PlacingCalls,
    /// Slurm's configuration; `None` where there is no Slurm.
    pub slurm: Option<slurm::Slurm>,
    /// The Kubernetes pod that this process is in.
    pub pod: Option<pod::Pod>,
}

/// The kind of machine that the kernel runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineKind {
    /// Hardware, without a hypervisor.
    Physical,
    /// A virtual machine.
    Virtual,
    /// Nothing here says which.
    Unknown,
}

/// A kind of CPU whose kernel has boot options of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// Intel's and AMD's.
    X86,
    /// Arm's, with 64 bits.
    Arm,
    /// Another one.
    Other,
}

/// The kind of CPU: as the kernel names it (proc_sys_kernel(5), `arch`, from Linux 6.1 on), else that of this
/// program.
fn architecture(root: &FsRoot) -> Architecture {
    match root.text("/proc/sys/kernel/arch").as_deref().unwrap_or(std::env::consts::ARCH) {
        "aarch64" => Architecture::Arm,
        "x86_64" => Architecture::X86,
        _ => Architecture::Other,
    }
}

impl<'a> SystemFacts<'a> {
    /// Reads them.
    pub fn read(asked: FactSources<'a>) -> Self {
        let FactSources { survey, root, variable, nvidia, calls, patience } = asked;
        let devices = pci::devices(root, survey);

        Self {
            survey,
            environment: environment::probe_under(root, variable),
            architecture: architecture(root),
            iommu: iommu::iommu(root, &devices),
            memory: memory::memory(root),
            cpu: cpu::cpu(root),
            interrupts: interrupts::interrupts(root, &devices),
            amd: gpu::amd(root, survey),
            mps: mps::mps(root, variable),
            nccl_file: nccl::nccl_file(root, variable),
            gpu_memory_nodes: gpu_memory_nodes::gpu_memory_nodes(root, survey, patience),
            best_port_generation: pci::best_port_generation(root, &devices),
            adapters: adapters::adapters(root),
            slurm: slurm::slurm(root, variable),
            pod: pod::pod(root, variable),
            devices,
            nvidia,
            calls,
        }
    }

    /// The text of a probe of the environment, numbers too.
    pub fn probe(&self, name: &str) -> Option<String> {
        let probe = self.environment.probes.iter().find(|probe| probe.name == name)?;
        Some(match probe.value.as_ref()? {
            ProbeValue::Number(number) => number.to_string(),
            ProbeValue::Text(text) => text.clone(),
        })
    }

    /// Whether this is a virtual machine; of a saved one this machine's settings do not say it.
    pub fn platform(&self) -> MachineKind {
        if self.survey.topology.source != TopologySource::ThisSystem {
            return MachineKind::Unknown;
        }
        match self.probe(VIRTUAL_MACHINE).as_deref() {
            None => MachineKind::Unknown,
            Some(NO_SIGN) => MachineKind::Physical,
            Some(_) => MachineKind::Virtual,
        }
    }

    /// Whether the platform says that this is a virtual machine.
    pub fn is_virtual(&self) -> bool {
        self.platform() == MachineKind::Virtual
    }

    /// What a GPU of the topology is called in sentences.
    pub fn gpu_name(&self, pci: stats::PciAddress) -> String {
        match self.survey.topology.gpus.iter().find(|gpu| gpu.pci == pci) {
            Some(gpu) => format!("GPU {}", gpu.index),
            None => format!("GPU {pci}"),
        }
    }
}
