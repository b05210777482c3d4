//! What a person calls the parts of a document: `H2D, 4 MiB, pinned, all GPUs at once` and not
//! `simultaneous/pinned/h2d/4194304`.

use analysis::matrix_analysis::row_sweep;
use analysis::words::{direction_in, memory};
use report::Document;
use report::case::{Case, Order};
use report::device::{Device, DeviceKind, name_on_node};
use report::document::PlatformKind;
use report::settings::{Direction, MemoryKind};
use stats::units::size;

/// A case: what is copied, how much, where host memory is from, and who else copies.
pub(crate) fn case(document: &Document, case: &Case) -> String {
    let mut parts = vec![direction_in(document, case.direction).to_owned()];
    match case.range_bytes {
        Some(range) => parts.push(format!("over {}", size(range))),
        None if case.direction == Direction::Kernel => {}
        None => parts.push(size(case.bytes)),
    }

    if case.range_bytes.is_none() && !matches!(case.memory, MemoryKind::Device | MemoryKind::Newer) {
        parts.push(memory(case.memory).to_owned());
    }

    match (&case.group, together(document, case.order, case.ranks.len())) {
        (Some(group), _) if case.order == Order::Simultaneous => parts.push(format!("{group} at once")),
        (Some(group), _) => parts.push(group.clone()),
        (None, Some(who)) => parts.push(who),
        (None, None) => {}
    }
    parts.join(", ")
}

/// `all GPUs at once`, `each GPU alone`; nothing where there is one only.
pub(crate) fn together(document: &Document, order: Order, ranks: usize) -> Option<String> {
    if ranks < 2 {
        return None;
    }
    let is_host = document.platform.kind == PlatformKind::Host;
    let noun = if is_host || document.ranks.len() > document.devices.len() { "rank" } else { "GPU" };
    match order {
        Order::Simultaneous => Some(format!("all {noun}s at once")),
        Order::Alone => Some(format!("each {noun} alone")),
        Order::Newer => None,
    }
}

/// A rank, by the GPU that is its own: `GPU 3`, `rank 5 (GPU 2)`, `rank 0 (node 1)`; with its host where
/// there are several.
pub(crate) fn rank(document: &Document, number: u32) -> String {
    let Some(rank) = document.ranks.iter().find(|rank| rank.rank == number) else {
        return format!("rank {number}");
    };
    let host = if document.nodes.len() > 1 { format!("{} ", rank.host) } else { String::new() };
    let shared = document.ranks.iter().filter(|other| other.asked.device == rank.asked.device).count() > 1;
    let device = document.devices.iter().find(|device| device.id == rank.asked.device);
    if let Some((device, row)) = device.zip(row_sweep::row_of(document, number)) {
        return format!("{host}{} from {row}", self::device(device));
    }

    match device {
        Some(device) if device.kind == DeviceKind::Gpu && !shared => format!("{host}GPU {}", device.index),
        Some(device) if device.kind == DeviceKind::Gpu => {
            format!("{host}rank {number} (GPU {})", device.index)
        }
        _ => format!("{host}rank {number} ({})", name_on_node(&rank.asked.device)),
    }
}

/// A device as a reader calls it.
pub(crate) fn device(device: &Device) -> String {
    match device.kind {
        DeviceKind::Gpu => format!("GPU {}", device.index),
        DeviceKind::HostMemory | DeviceKind::Newer => name_on_node(&device.id).to_owned(),
    }
}
