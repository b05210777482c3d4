//! How findings say the values of a document's enumerations: the words that sentences here and tables in
//! `render` have in common.

pub use report::NEWER;

use report::Document;
use report::device::DeviceKind;
use report::document::{PlatformKind, Status};
use report::settings::{CopyEngine, Direction, Membind, MemoryKind};
use stats::IdSet;
use stats::units::counted;

/// A sentence's beginning: the first letter large.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What a direction is called.
pub fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::H2d => "H2D",
        Direction::D2h => "D2H",
        Direction::RoundTrip => "roundtrip",
        Direction::Bidirectional => "bidir",
        Direction::Read => "read",
        Direction::Write => "write",
        Direction::Copy => "copy",
        Direction::Load => "load",
        Direction::CoreToCore => "core to core",
        Direction::CoreToGpu => "core to GPU and back",
        Direction::Peer => "D2D",
        Direction::Kernel => "kernel",
        Direction::Newer => NEWER,
    }
}

/// The same in a document: where host memory stands in for the device its copies are copies, and go to no
/// device.
pub fn direction_in<B>(document: &Document<B>, way: Direction) -> &'static str {
    match (document.platform.kind, way) {
        (PlatformKind::Host, Direction::H2d) => "copy",
        (PlatformKind::Host, Direction::D2h) => "copy back",
        (PlatformKind::Host, Direction::RoundTrip) => "copy there and back",
        (_, way) => direction(way),
    }
}

/// Where host memory was asked to lie.
pub fn membind(asked: &Membind) -> String {
    let over = |nodes: &Option<IdSet>| nodes.as_ref().map_or("all nodes".into(), |on| format!("nodes {on}"));
    match asked {
        Membind::Local => "on the node of each PU".to_owned(),
        Membind::Node { node } => format!("on node {node}"),
        Membind::Interleave { nodes } => format!("interleaved over {}", over(nodes)),
        Membind::Weighted { nodes } => format!("interleaved by weight over {}", over(nodes)),
        Membind::Newer => NEWER.to_owned(),
    }
}

/// What a kind of memory is called.
pub fn memory(memory: MemoryKind) -> &'static str {
    match memory {
        MemoryKind::Pinned => "pinned",
        MemoryKind::PinnedDriver => "pinned-driver",
        MemoryKind::Pageable => "pageable",
        MemoryKind::Managed => "managed",
        MemoryKind::System => "system",
        MemoryKind::Device => "GPU",
        MemoryKind::Newer => NEWER,
    }
}

/// How a caption says what moved the bytes; nothing for copy engines, which is what everybody expects.
pub fn by(engine: CopyEngine) -> &'static str {
    match engine {
        CopyEngine::Ce => "",
        CopyEngine::Sm => ", by a kernel",
        CopyEngine::Tma => ", by TMA",
        CopyEngine::Newer => ", by an engine known to a newer numabench",
    }
}

/// How a run ended.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Complete => "complete",
        Status::Running => "STILL RUNNING (or killed)",
        Status::Partial => "PARTIAL",
        Status::Failed => "FAILED: no result",
        Status::Interrupted => "INTERRUPTED",
        Status::TimedOut => "TIMED OUT",
        Status::DataCorrupt => "DATA CORRUPT",
        Status::Newer => NEWER,
    }
}

/// `GPU 0-3,6` for the indices of some devices.
pub fn devices(kind: DeviceKind, indices: impl Iterator<Item = u32>) -> String {
    let indices: IdSet = indices.collect();
    match kind {
        DeviceKind::HostMemory => format!("device {indices}"),
        DeviceKind::Gpu | DeviceKind::Newer => format!("GPU {indices}"),
    }
}

/// `5 x16`: the generation and the lanes of a PCIe link; a question mark for what is not known.
pub fn lanes(generation: Option<u8>, width: Option<u8>) -> String {
    let part = |value: Option<u8>| value.map_or("?".to_owned(), |value| value.to_string());
    format!("{} x{}", part(generation), part(width))
}

/// `1 block`, `10 blocks`.
pub fn count(n: u64, noun: &str) -> String {
    counted(n as usize, noun)
}

/// Three digits of a number from one on: as many as intervals of rates carry.
pub(crate) fn three_digits(value: f64) -> String {
    match value {
        large if large >= 100.0 => format!("{large:.0}"),
        middle if middle >= 10.0 => format!("{middle:.1}"),
        small => format!("{small:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_stand_at_any_magnitude() {
        assert_eq!([2487.3, 49.71, 7.823, 0.6412].map(three_digits), ["2487", "49.7", "7.82", "0.64"]);
    }
}
