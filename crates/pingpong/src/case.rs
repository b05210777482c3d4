//! A case: one point of the product order × memory × size × direction, and the clock it is timed with.

use device::{Capabilities, CopyBy, Direction, Latch, MemoryKind};
use engine::{Order, Timing};

use crate::config::{RunConfig, TimingChoice};

/// From this size on a pinned copy is timed by the device unless told otherwise: below it a user asks how
/// long one copy takes, above it how many bytes move in a second.
pub const DEVICE_TIMING_FROM_BYTES: usize = 1 << 20;

/// A case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyCase {
    /// Its position in the list of cases.
    pub index: usize,
    /// How ranks share the machine.
    pub order: Order,
    /// The kind of host memory.
    pub memory: MemoryKind,
    /// Which way bytes move.
    pub direction: Direction,
    /// The size of one copy, bytes.
    pub bytes: usize,
    /// What moves the bytes.
    pub by: CopyBy,
}

impl CopyCase {
    /// Every case of a run, in the order a reader expects them.
    pub fn all(config: &RunConfig) -> Vec<Self> {
        let mut cases = Vec::new();
        for &order in &config.orders {
            for &memory in &config.memory {
                for &bytes in &config.sizes {
                    for &direction in &config.directions {
                        cases.push(Self {
                            index: cases.len(),
                            order,
                            memory,
                            direction,
                            bytes,
                            by: config.by,
                        });
                    }
                }
            }
        }

        cases
    }

    /// Whether it is one of the small blocking copies whose figures queued copies would spoil: once a driver
    /// has queued a copy from the device, each later blocking copy of a few bytes in that process takes a
    /// microsecond longer (seen on an H200 with CUDA 13: 12.2 µs, then 13.4, for good). They are measured
    /// before anything is queued.
    pub(crate) fn needs_quiet_driver(&self, choice: TimingChoice) -> bool {
        self.bytes < DEVICE_TIMING_FROM_BYTES
            && choice != TimingChoice::Device
            && self.memory != MemoryKind::Pageable
            && self.direction != Direction::Bidirectional
    }

    /// The clock for this case on a device that can do this much; `shared`: by several ranks.
    ///
    /// Ranks that share a device at once are timed by the host unless told otherwise: a GPU's copy engine
    /// serves one stream's queue to its end before the next one's (seen on an H200: two queues of 128 MiB
    /// copies, one of them waited for all 4096 of the other), so queued copies would not contend, they would
    /// wait. Blocking copies take turns, as applications' do.
    ///
    /// # Errors
    /// Why the case cannot be timed as asked: it is skipped with that reason.
    pub(crate) fn timing(
        &self,
        choice: TimingChoice,
        can: &Capabilities,
        shared: bool,
    ) -> Result<Timing, String> {
        can.memory(self.memory)?;
        if self.direction == Direction::Bidirectional {
            can.bidirectional.clone()?;
            if self.memory == MemoryKind::Pageable {
                return Err("pageable memory is staged by the driver, one direction at a time".to_owned());
            }
        }

        let latched = match (&can.latch, self.memory) {
            (Latch::None { reason }, _) => Err(format!("there is no latch for device timing: {reason}")),
            (_, MemoryKind::Pageable) => {
                Err("pageable memory is staged by the driver: only host timing is possible".to_owned())
            }
            _ => Ok(Timing::Device),
        };

        match choice {
            TimingChoice::Host => Ok(Timing::Host),
            TimingChoice::Device => latched,
            TimingChoice::Auto if shared && self.order == Order::Simultaneous => Ok(Timing::Host),
            TimingChoice::Auto if self.bytes >= DEVICE_TIMING_FROM_BYTES => {
                Ok(latched.unwrap_or(Timing::Host))
            }
            TimingChoice::Auto => Ok(Timing::Host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn can(latch: Latch) -> Capabilities {
        let memory = MemoryKind::ALL.map(|kind| (kind, Ok(())));
        Capabilities { latch, patterns: Ok(()), loads: Ok(()), bidirectional: Ok(()), memory }
    }

    fn case(memory: MemoryKind, direction: Direction, bytes: usize) -> CopyCase {
        CopyCase { index: 0, order: Order::Alone, memory, direction, bytes, by: CopyBy::Engine }
    }

    #[test]
    fn large_pinned_copies_are_timed_by_the_device_and_everything_else_by_the_host() {
        let timing = |memory, bytes, latch| {
            case(memory, Direction::H2d, bytes).timing(TimingChoice::Auto, &can(latch), false)
        };
        assert_eq!(timing(MemoryKind::Pinned, 1 << 20, Latch::StreamWait), Ok(Timing::Device));
        assert_eq!(timing(MemoryKind::Pinned, (1 << 20) - 1, Latch::StreamWait), Ok(Timing::Host));
        assert_eq!(timing(MemoryKind::Pageable, 1 << 30, Latch::StreamWait), Ok(Timing::Host));
        assert_eq!(
            timing(MemoryKind::Pinned, 1 << 30, Latch::None { reason: String::new() }),
            Ok(Timing::Host)
        );
    }

    #[test]
    fn ranks_that_share_a_device_at_once_are_timed_by_the_host() {
        let together =
            CopyCase { order: Order::Simultaneous, ..case(MemoryKind::Pinned, Direction::H2d, 1 << 27) };
        let timing = |choice, shared| together.timing(choice, &can(Latch::StreamWait), shared);
        assert_eq!(timing(TimingChoice::Auto, true), Ok(Timing::Host));
        assert_eq!(timing(TimingChoice::Auto, false), Ok(Timing::Device));
        assert_eq!(timing(TimingChoice::Device, true), Ok(Timing::Device));
    }

    #[test]
    fn what_cannot_be_timed_as_asked_is_refused_with_a_reason() {
        let asked = |memory, direction, latch| {
            case(memory, direction, 4).timing(TimingChoice::Device, &can(latch), false)
        };
        let why = "old driver";
        let no_latch = Latch::None { reason: why.to_owned() };
        assert!(
            asked(MemoryKind::Pinned, Direction::H2d, no_latch).is_err_and(|reason| reason.contains(why))
        );
        assert!(asked(MemoryKind::Pageable, Direction::H2d, Latch::StreamWait).is_err());
        assert!(asked(MemoryKind::Pageable, Direction::Bidirectional, Latch::StreamWait).is_err());
        let mut lacking = can(Latch::StreamWait);
        lacking.memory[0].1 = Err("no driver".to_owned());
        let pinned = case(MemoryKind::Pinned, Direction::H2d, 4).timing(TimingChoice::Auto, &lacking, false);
        assert_eq!(pinned, Err("no driver".to_owned()));
    }
}
