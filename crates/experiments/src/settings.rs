//! What was asked for, in the words of documents.

use std::time::Duration;

use pingpong::{Amount, TimingChoice};
pub use place::membind_asked as membind;
use report::pieces::{Scattered, Way};
use report::settings::{CopyEngine, Direction, MemoryKind, Repetition, TimingAsked};

/// How often a case is repeated.
pub fn repetition(amount: Amount, max_time: Option<Duration>) -> Repetition {
    match amount {
        Amount::Fixed { reps, warmup } => Repetition::Fixed { reps, warmup },
        Amount::Adaptive(rule) => Repetition::Adaptive {
            target_half_width: rule.target_half_width,
            min_blocks: rule.min_blocks as u32,
            max_blocks: rule.max_blocks as u32,
            patience: rule.patience,
            max_time_s: max_time.map(|limit| limit.as_secs_f64()),
        },
    }
}

pub(crate) fn engine(by: device::CopyBy) -> CopyEngine {
    match by {
        device::CopyBy::Engine => CopyEngine::Ce,
        device::CopyBy::Kernel => CopyEngine::Sm,
        device::CopyBy::Tma => CopyEngine::Tma,
    }
}

pub(crate) fn way(way: kernels::TransferMethod) -> Way {
    match way {
        kernels::TransferMethod::Loop => Way::Loop,
        kernels::TransferMethod::Batch => Way::Batch,
        kernels::TransferMethod::Kernel => Way::Kernel,
        kernels::TransferMethod::Packed => Way::Packed,
    }
}

pub(crate) fn scattered(scattered: kernels::Scattered) -> Scattered {
    match scattered {
        kernels::Scattered::Both => Scattered::Both,
        kernels::Scattered::Host => Scattered::Host,
        kernels::Scattered::Device => Scattered::Device,
    }
}

pub(crate) fn timing(choice: TimingChoice) -> TimingAsked {
    match choice {
        TimingChoice::Auto => TimingAsked::Auto,
        TimingChoice::Host => TimingAsked::Host,
        TimingChoice::Device => TimingAsked::Device,
    }
}

pub(crate) fn direction(direction: device::Direction) -> Direction {
    match direction {
        device::Direction::H2d => Direction::H2d,
        device::Direction::D2h => Direction::D2h,
        device::Direction::RoundTrip => Direction::RoundTrip,
        device::Direction::Bidirectional => Direction::Bidirectional,
    }
}

/// The direction that documents give an access by the CPU.
pub(crate) fn direction_of(access: hostmem::Access) -> Direction {
    match access {
        hostmem::Access::Read => Direction::Read,
        hostmem::Access::Write => Direction::Write,
        hostmem::Access::Copy => Direction::Copy,
        hostmem::Access::Load => Direction::Load,
    }
}

pub(crate) fn memory(kind: device::MemoryKind) -> MemoryKind {
    match kind {
        device::MemoryKind::Pinned => MemoryKind::Pinned,
        device::MemoryKind::PinnedDriver => MemoryKind::PinnedDriver,
        device::MemoryKind::Pageable => MemoryKind::Pageable,
        device::MemoryKind::Managed => MemoryKind::Managed,
        device::MemoryKind::System => MemoryKind::System,
    }
}
