//! What machines are put together from: packages, nodes, caches, cores, buses and devices.

use crate::object::Object;

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;

/// A NUMA node with this memory.
pub fn node(os_index: u32, bytes: u64) -> Object {
    Object::numbered("NUMANode", os_index).with("local_memory", bytes)
}

/// A core with these PUs.
pub fn core(os_index: u32, pus: impl IntoIterator<Item = u32>) -> Object {
    Object::numbered("Core", os_index).holding(pus.into_iter().map(|pu| Object::numbered("PU", pu)))
}

/// Cores of one PU each, core and PU with the same number.
pub fn cores(numbers: impl IntoIterator<Item = u32>) -> Vec<Object> {
    numbers.into_iter().map(|number| core(number, [number])).collect()
}

/// Cores of two PUs each, the siblings `apart` from each other, as Linux numbers them on x86.
pub fn cores_of_two(numbers: impl IntoIterator<Item = u32>, apart: u32) -> Vec<Object> {
    numbers.into_iter().map(|number| core(number, [number, number + apart])).collect()
}

/// An L3 around these cores.
pub fn l3(bytes: u64, inside: Vec<Object>) -> Object {
    Object::new("L3Cache").with("cache_size", bytes).with("depth", 3).with("cache_type", 0).holding(inside)
}

/// An L2 around these cores.
pub fn l2(bytes: u64, inside: Vec<Object>) -> Object {
    Object::new("L2Cache").with("cache_size", bytes).with("depth", 2).with("cache_type", 0).holding(inside)
}

/// hwloc's group, which holds a node that is neither a package nor a cache.
pub fn group(inside: Vec<Object>) -> Object {
    Object::new("Group").with("kind", 1001).holding(inside)
}

/// A package of this model.
pub fn package(os_index: u32, model: &str, inside: impl IntoIterator<Item = Object>) -> Object {
    Object::numbered("Package", os_index).info("CPUModel", model).holding(inside)
}

/// A host bridge with the buses from `first` to `last` of a domain.
pub fn host_bridge(domain: u32, first: u8, last: u8, inside: impl IntoIterator<Item = Object>) -> Object {
    let buses = format!("{domain:04x}:[{first:02x}-{last:02x}]");
    Object::new("Bridge")
        .with("bridge_type", "0-1")
        .with("depth", 0)
        .with("bridge_pci", buses)
        .holding(inside)
}

/// A PCI bridge at `at` (a root port, a switch's port) with the buses from `first` to `last`.
pub fn bridge(at: &str, first: u8, last: u8, inside: impl IntoIterator<Item = Object>) -> Object {
    let domain = at.split(':').next().unwrap_or("0000");
    let buses = format!("{domain}:[{first:02x}-{last:02x}]");
    let bridge = Object::new("Bridge").with("bridge_type", "1-1").with("depth", 1).with("bridge_pci", buses);
    bridge.with("pci_busid", at).with("pci_type", "0604 [1022:1483] [0000:0000] 00").holding(inside)
}

/// A PCI device: class, vendor and device id.
pub fn pci(at: &str, class: u16, vendor: u16, device: u16) -> Object {
    let ids = format!("{class:04x} [{vendor:04x}:{device:04x}] [{vendor:04x}:0000] 00");
    Object::new("PCIDev").with("pci_busid", at).with("pci_type", ids)
}

/// A PCI device alone on a host bridge of its own, as most tables of mappings see one.
pub fn alone(device: Object, domain: u32, bus: u8) -> Object {
    let port = format!("{domain:04x}:{:02x}:01.1", bus - 1);
    host_bridge(domain, bus - 1, bus, [bridge(&port, bus, bus, [device])])
}

/// What a GPU library calls a device (`rsmi0`, `nvml0`), with the model's name.
pub fn gpu_library(name: &str, subtype: &'static str, model: &str) -> Object {
    let device = Object::new("OSDev").with("name", name).with("osdev_type", 1);
    device.with("subtype", subtype).info("GPUModel", model)
}

/// A network interface (`hsn0`).
pub fn interface(name: &str) -> Object {
    Object::new("OSDev").with("name", name).with("osdev_type", 2)
}

/// An RDMA device (`mlx5_0`).
pub fn rdma(name: &str) -> Object {
    Object::new("OSDev").with("name", name).with("osdev_type", 3)
}
