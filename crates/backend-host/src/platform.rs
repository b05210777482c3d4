//! The nodes as devices.

use std::fs;

use device::{
    Capabilities, Copier, Device, DeviceError, DeviceFacts, DeviceId, HostMemory, HostPair, Latch,
    MemoryHome, MemoryInfo, MemoryKind, Platform, PlatformFacts, PlatformKind,
};
use stats::IdSet;

use crate::copier::HostCopier;
use crate::free;
use crate::node_memory::NodeMemory;

const NO_DRIVER: &str = "no driver to register memory with: host copies use pageable memory";

/// A node that can be a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    /// The node, OS index. It must have memory that this process may use.
    pub node: u32,
    /// Its memory in all, bytes.
    pub total_bytes: u64,
}

/// The memory of NUMA nodes.
pub struct HostPlatform {
    facts: PlatformFacts,
    devices: Vec<DeviceFacts>,
}

/// These nodes as devices, in index order; a node given twice counts once.
pub fn platform(nodes: &[NodeFacts]) -> HostPlatform {
    let mut nodes = nodes.to_vec();
    nodes.sort_by_key(|node| node.node);
    nodes.dedup_by_key(|node| node.node);
    let device = |node: NodeFacts| DeviceFacts {
        id: DeviceId::Node(node.node),
        name: format!("host memory of NUMA node {}", node.node),
        uuid: None,
        runtime_index: None,
        total_bytes: node.total_bytes,
        host_node: Some(node.node),
        memory_home: MemoryHome::Node(node.node),
    };

    HostPlatform {
        facts: PlatformFacts { kind: PlatformKind::Host, api_version: None, simulated: None },
        devices: nodes.into_iter().map(device).collect(),
    }
}

impl Platform for HostPlatform {
    fn facts(&self) -> &PlatformFacts {
        &self.facts
    }

    fn devices(&self) -> &[DeviceFacts] {
        &self.devices
    }

    fn open(&self, id: DeviceId) -> Result<Box<dyn Device>, DeviceError> {
        let known = self.devices.iter().find(|facts| facts.id == id);
        let (Some(facts), DeviceId::Node(node)) = (known, id) else {
            let present: Vec<String> = self.devices.iter().map(|facts| facts.id.to_string()).collect();
            return Err(DeviceError::UnknownDevice { asked: id.to_string(), present: present.join(", ") });
        };
        let missing = || Err(NO_DRIVER.to_owned());
        let capabilities = Capabilities {
            latch: Latch::None { reason: "host copies are done by the calling thread itself".to_owned() },
            patterns: Ok(()),
            loads: Err("host memory runs no kernel; the CPU's own loads are measured instead".to_owned()),
            bidirectional: Err("one thread copies in one direction at a time".to_owned()),
            memory: [
                (MemoryKind::Pinned, missing()),
                (MemoryKind::PinnedDriver, missing()),
                (MemoryKind::Pageable, Ok(())),
                (MemoryKind::Managed, missing()),
                (MemoryKind::System, missing()),
            ],
        };

        Ok(Box::new(HostDevice { facts: facts.clone(), node, only_node: only_node(), capabilities }))
    }
}

/// Whether the machine has one node, so that memory cannot lie anywhere else. A kernel without NUMA has no
/// such file.
fn only_node() -> bool {
    match fs::read_to_string("/sys/devices/system/node/has_memory") {
        Ok(nodes) => nodes.parse::<IdSet>().is_ok_and(|nodes| nodes.len() <= 1),
        Err(_) => true,
    }
}

/// A node, opened.
struct HostDevice {
    facts: DeviceFacts,
    node: u32,
    only_node: bool,
    capabilities: Capabilities,
}

impl Device for HostDevice {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn memory(&self) -> Result<MemoryInfo, DeviceError> {
        free::of_node(self.node, self.only_node)
    }

    fn adopt(
        &self,
        kind: MemoryKind,
        memory: Box<dyn HostMemory>,
    ) -> Result<Box<dyn HostMemory>, DeviceError> {
        match kind {
            MemoryKind::Pageable => Ok(memory),
            MemoryKind::Pinned | MemoryKind::PinnedDriver | MemoryKind::Managed | MemoryKind::System => {
                Err(DeviceError::Unsupported {
                    what: "memory that a driver knows",
                    reason: NO_DRIVER.to_owned(),
                })
            }
        }
    }

    fn allocate_pinned(&self, _len: usize) -> Result<Box<dyn HostMemory>, DeviceError> {
        Err(DeviceError::Unsupported { what: "pinning memory", reason: NO_DRIVER.to_owned() })
    }

    fn copier(&self, host: HostPair, bidirectional: bool) -> Result<Box<dyn Copier>, DeviceError> {
        if bidirectional && let Err(reason) = &self.capabilities.bidirectional {
            return Err(DeviceError::Unsupported {
                what: "moving both directions at once",
                reason: reason.clone(),
            });
        }
        let len = host.common_len()?;
        // Found here, because a strictly bound allocation that does not fit ends the process when it is
        // touched.
        let MemoryInfo { free_bytes, total_bytes } = self.memory()?;
        if len as u64 > free_bytes {
            let place = format!("NUMA node {}", self.node);
            return Err(DeviceError::OutOfMemory { place, asked_bytes: len as u64, free_bytes, total_bytes });
        }
        Ok(Box::new(HostCopier::new(NodeMemory::new(self.node, self.only_node, len)?, host)))
    }
}
