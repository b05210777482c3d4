//! A platform (driver) and its devices: who they are, how they are opened, what they lend a rank.

use std::any::Any;
use std::fmt;

use stats::PciAddress;

use crate::{
    Answerer, Buffer, Capabilities, Chaser, Computer, Copier, DeviceError, HostMemory, HostPair,
    KernelModule, MathLibrary, MemoryKind, PeerCopier, PeerEnd,
};

/// Which family of devices a platform drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlatformKind {
    /// NVIDIA GPUs through the CUDA driver API.
    Cuda,
    /// AMD GPUs through HIP.
    Hip,
    /// The memory of NUMA nodes: no GPU takes part.
    Host,
}

impl PlatformKind {
    /// As users type it and as documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Hip => "hip",
            Self::Host => "host",
        }
    }
}

/// What is known of a platform once it is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformFacts {
    /// The family.
    pub kind: PlatformKind,
    /// The version of the driver's API, e.g. `13.0` for CUDA; `None` where there is no such thing.
    pub api_version: Option<String>,
    /// Set when the devices are not real: what the driver itself says of the simulation. Shown in every
    /// output.
    pub simulated: Option<String>,
}

/// The identity of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceId {
    /// A GPU.
    Pci(PciAddress),
    /// A NUMA node's memory (host platform), by OS index.
    Node(u32),
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pci(address) => write!(f, "{address}"),
            Self::Node(node) => write!(f, "node {node}"),
        }
    }
}

/// Where a device's memory is, as far as its driver says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryHome {
    /// On the device, where the host's kernel knows no page of it.
    #[default]
    Device,
    /// It is a NUMA node of the host, of this OS index (Grace in NUMA mode).
    Node(u32),
    /// CPU and device share one memory (an APU).
    Shared,
}

/// What a platform says of a device without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Its identity.
    pub id: DeviceId,
    /// The marketing name, as the driver gives it.
    pub name: String,
    /// The UUID in the vendor's spelling (`GPU-…`), where there is one.
    pub uuid: Option<String>,
    /// The index the runtime uses in this process (it may differ from PCI order).
    pub runtime_index: Option<u32>,
    /// Memory in all, bytes.
    pub total_bytes: u64,
    /// The NUMA node the driver names as the device's host node, where it names one (never -1).
    pub host_node: Option<u32>,
    /// Where its memory is.
    pub memory_home: MemoryHome,
}

/// A device's memory at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Free bytes.
    pub free_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
}

/// A driver that was found and initialised.
pub trait Platform: Send + Sync {
    /// What is known of the platform.
    fn facts(&self) -> &PlatformFacts;

    /// The devices this process may use, in PCI order (nodes in index order): a user's index counts along
    /// this list.
    fn devices(&self) -> &[DeviceFacts];

    /// Opens a device for the calling thread, which must already be bound: the context, and every thread a
    /// driver may start for it, inherits where the caller stands.
    ///
    /// # Errors
    /// [`DeviceError::UnknownDevice`], or the call that failed.
    fn open(&self, id: DeviceId) -> Result<Box<dyn Device>, DeviceError>;

    /// The vendor's library of this kind, with its version where it tells.
    ///
    /// # Errors
    /// [`DeviceError::NoDriver`] where it is not on this machine, [`DeviceError::Unsupported`] for a platform
    /// that has none.
    fn math_library(&self, _library: MathLibrary) -> Result<String, DeviceError> {
        Err(DeviceError::Unsupported {
            what: "computing with a vendor's library",
            reason: "it is no GPU".to_owned(),
        })
    }
}

/// A device opened by, and used from, one thread.
pub trait Device: Any {
    /// What the platform said of it.
    fn facts(&self) -> &DeviceFacts;

    /// What it can do.
    fn capabilities(&self) -> &Capabilities;

    /// Free and total memory now.
    ///
    /// # Errors
    /// The call that failed.
    fn memory(&self) -> Result<MemoryInfo, DeviceError>;

    /// Turns memory the caller placed (and touched) into memory of `kind`: pageable is returned as it is,
    /// pinned is registered and unregisters itself on drop, system memory stays what it is and is reached by
    /// the device.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for a kind the capabilities lack, for [`MemoryKind::PinnedDriver`] and
    /// for [`MemoryKind::Managed`] (which only [`Device::allocate_pinned`] and [`Device::allocate_managed`]
    /// make), or the call that failed, e.g. for lack of lockable memory.
    fn adopt(
        &self,
        kind: MemoryKind,
        memory: Box<dyn HostMemory>,
    ) -> Result<Box<dyn HostMemory>, DeviceError>;

    /// Memory pinned by the driver, `len` bytes, never write-combined. Where it lies is for the caller to
    /// arrange (thread memory policy) and to prove.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`], or the call that failed.
    fn allocate_pinned(&self, len: usize) -> Result<Box<dyn HostMemory>, DeviceError>;

    /// Memory whose pages the driver moves to whoever touches them, `len` bytes that nobody has touched.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`], [`DeviceError::OutOfMemory`] where the device has less memory free, or
    /// the call that failed.
    fn allocate_managed(&self, len: usize) -> Result<Box<dyn HostMemory>, DeviceError> {
        let _ = len;
        let reason = format!("{} moves no pages", self.facts().id);
        Err(DeviceError::Unsupported { what: "allocating managed memory", reason })
    }

    /// Takes over host ranges and allocates as much memory on the device (twice as much with `bidirectional`,
    /// which needs both ranges). Queues nothing: see [`Copier::hold`]. Host memory that another device of the
    /// same platform pinned is pinned for this one too.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], [`DeviceError::Unsupported`], or the call that failed.
    fn copier(&self, host: HostPair, bidirectional: bool) -> Result<Box<dyn Copier>, DeviceError>;

    /// Allocates `len` bytes here and as many on another device of the same platform, opened by the same
    /// thread, for copies from here to there by the copy engine of one of the two. The other may be this one:
    /// its copies are then within its memory.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where devices of this kind do not copy to each other,
    /// [`DeviceError::OutOfMemory`], or the call that failed.
    fn peer_copier(
        &self,
        destination: &dyn Device,
        by: PeerEnd,
        len: usize,
    ) -> Result<Box<dyn PeerCopier>, DeviceError> {
        let _ = (destination, by, len);
        let reason = format!("{} has no memory of its own that another device copies from", self.facts().id);
        Err(DeviceError::Unsupported { what: "copies between devices", reason })
    }

    /// Whether areas of copiers between devices stay here when their copier is dropped, for the next one of
    /// the same length, in place of being given back; `false`, as it is at first, gives back those that
    /// stayed. Where devices reach each other an allocation is slow.
    fn keep_areas(&self, keeps: bool) {
        let _ = keeps;
    }

    /// Takes over pinned host memory that holds a chain, for this device to follow.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where this device runs no kernel, or the memory is not pinned; or the
    /// call that failed.
    fn chaser(&self, memory: Box<dyn HostMemory>) -> Result<Box<dyn Chaser>, DeviceError> {
        let _ = memory;
        let reason = format!("{} runs no kernel that could follow a chain", self.facts().id);
        Err(DeviceError::Unsupported { what: "the latency of a device's loads", reason })
    }

    /// Takes over pinned host memory, over which this device answers the CPU.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where this device runs no kernel, or the memory is not pinned; or the
    /// call that failed.
    fn answerer(&self, memory: Box<dyn HostMemory>) -> Result<Box<dyn Answerer>, DeviceError> {
        let _ = memory;
        let reason = format!("{} runs no kernel that could answer", self.facts().id);
        Err(DeviceError::Unsupported { what: "answers of a device", reason })
    }

    /// Allocates memory on another device of the same platform, opened by the same thread, and writes a chain
    /// to it, for this device to follow.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where this device runs no kernel or cannot reach the other one's memory,
    /// [`DeviceError::OutOfMemory`], or the call that failed.
    fn peer_chaser(&self, owner: &dyn Device, chain: &[u8]) -> Result<Box<dyn Chaser>, DeviceError> {
        let _ = (owner, chain);
        let reason = format!("{} runs no kernel that could follow a chain", self.facts().id);
        Err(DeviceError::Unsupported { what: "the latency of loads between devices", reason })
    }

    /// Takes over host memory that is not pageable, allocates `bytes` on the device, and loads a program.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where this device runs no kernel or the memory is pageable,
    /// [`DeviceError::OutOfMemory`], or the call that failed.
    fn computer(
        &self,
        program: &KernelModule,
        host: Box<dyn HostMemory>,
        bytes: usize,
    ) -> Result<Box<dyn Computer>, DeviceError> {
        let _ = (program, host, bytes);
        let reason = format!("{} runs no kernels", self.facts().id);
        Err(DeviceError::Unsupported { what: "a computation on the device", reason })
    }

    /// Takes over pinned host memory and allocates as much on the device, under an address that other
    /// libraries take.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where the device has no memory of its own or the memory is not pinned,
    /// [`DeviceError::OutOfMemory`], or the call that failed.
    fn buffer(&self, host: Box<dyn HostMemory>) -> Result<Box<dyn Buffer>, DeviceError> {
        let _ = host;
        let reason =
            format!("{} has no memory of its own that could be handed to a library", self.facts().id);
        Err(DeviceError::Unsupported { what: "a buffer on a device", reason })
    }
}
