//! How much memory a node has free.
//!
//! The kernel gives no "available" figure per node, so it is what is free and what the page cache would give
//! back, as /proc/meminfo's MemAvailable is at its core (kernel documentation, filesystems/proc.rst). A
//! cgroup's memory limit is not in it.

use std::fs;

use device::{DeviceError, MemoryInfo};

/// Free and total memory of a node.
///
/// # Errors
/// [`DeviceError::Unsupported`] where the kernel does not say.
pub(crate) fn of_node(node: u32, only_node: bool) -> Result<MemoryInfo, DeviceError> {
    let of_node = fs::read_to_string(format!("/sys/devices/system/node/node{node}/meminfo")).ok();
    let of_machine = || fs::read_to_string("/proc/meminfo").ok().filter(|_| only_node);
    let info = of_node
        .and_then(|text| node_info(&text))
        .or_else(|| of_machine().and_then(|text| machine_info(&text)));
    info.ok_or_else(|| DeviceError::Unsupported {
        what: "reading a node's free memory",
        reason: format!(
            "/sys/devices/system/node/node{node}/meminfo is not there or has no MemTotal and MemFree"
        ),
    })
}

/// The value of `key` in bytes; lines read `[Node N ]Key: 123 kB`.
fn value(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.split_whitespace().next_back() == Some(key)).then_some(value)
    })?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

fn node_info(text: &str) -> Option<MemoryInfo> {
    let total_bytes = value(text, "MemTotal")?;
    let cache =
        ["Active(file)", "Inactive(file)"].into_iter().filter_map(|key| value(text, key)).sum::<u64>();
    let free_bytes = value(text, "MemFree")?.saturating_add(cache).min(total_bytes);
    Some(MemoryInfo { free_bytes, total_bytes })
}

fn machine_info(text: &str) -> Option<MemoryInfo> {
    let total_bytes = value(text, "MemTotal")?;
    Some(MemoryInfo { free_bytes: value(text, "MemAvailable")?.min(total_bytes), total_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodes_free_memory_is_what_is_free_and_what_the_page_cache_gives_back() {
        let text = "\nNode 1 MemTotal:       1000 kB\nNode 1 MemFree:         300 kB\n\
            Node 1 Active(file):     20 kB\n\
            Node 1 Inactive(file):   10 kB\nNode 1 Inactive(anon):  500 kB\n";
        assert_eq!(node_info(text), Some(MemoryInfo { free_bytes: 330 * 1024, total_bytes: 1000 * 1024 }));
        assert_eq!(node_info("Node 1 MemTotal: 5 kB\n"), None);
    }

    #[test]
    fn without_nodes_the_machines_available_memory_counts() {
        let text = "MemTotal:       24684092 kB\nMemFree:        23613912 kB\nMemAvailable:   24280008 kB\n";
        assert_eq!(machine_info(text).map(|info| info.free_bytes), Some(24_280_008 * 1024));
    }
}
