//! Many small pieces between places of pinned host memory and places of a device: where they lie, and what is
//! queued to send them by each way that there is. Nothing is touched here.
//!
//! Pieces lie in slots of a range with twice their room: the piece numbered i in slot i × step modulo the
//! slots, with steps that share no factor with them; or one behind the other. A range on each side is what is
//! sent, another one what arrives, a third one where pieces are packed.
//!
//! A round sends all pieces and is timed by the host's clock, from the first call to the end of the last
//! copy, packing included: what a program waits. A piece is one operation of the round, so times and rates
//! are a piece's.

use std::ops::Range;
use std::sync::Arc;

use device::{Argument, Batch, RoundStep};

/// A piece is a multiple of this.
pub const PIECE_GRAIN: usize = 4096;
/// A block of the kernel has so many threads; so many blocks are launched at most: more than any device runs
/// at once.
const THREADS: u32 = 256;
const MOST_BLOCKS: usize = 4096;
const PIECES_KERNEL: usize = 0;

/// How pieces are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransferMethod {
    /// An asynchronous copy of each.
    Loop,
    /// One call of the driver that queues all copies.
    Batch,
    /// One kernel that moves all of them.
    Kernel,
    /// One copy of all of them, packed: on the host by the rank's core, on the device by a kernel.
    Packed,
}

impl TransferMethod {
    /// All of them, the plainest first.
    pub const ALL: [Self; 4] = [Self::Loop, Self::Batch, Self::Kernel, Self::Packed];
}

/// On which sides pieces lie scattered; on the other one they lie one behind the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scattered {
    /// On both.
    #[default]
    Both,
    /// In host memory.
    Host,
    /// On the device.
    Device,
}

/// Pieces sent one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pieces {
    /// How.
    pub way: TransferMethod,
    /// To the device, or from it.
    pub to_device: bool,
    /// The length of a piece, bytes: a multiple of [`PIECE_GRAIN`].
    pub bytes: usize,
    /// How many.
    pub count: usize,
    /// Bytes of the largest set of pieces of the suite, which all of them have room for.
    pub room: usize,
    /// Where they lie scattered.
    pub scattered: Scattered,
}

impl Pieces {
    /// Bytes of host memory, and of the device's: what is sent, what arrives, and what is packed.
    pub fn memory_bytes(&self) -> usize {
        5 * self.room
    }

    fn slots(&self) -> usize {
        2 * self.count
    }

    /// The step from piece to piece, in slots, on the host and on the device.
    pub(crate) fn steps(&self) -> [usize; 2] {
        let [host, device] = [self.scattered != Scattered::Device, self.scattered != Scattered::Host];
        [if host { self.step(0.62) } else { 1 }, if device { self.step(0.27) } else { 1 }]
    }

    /// The next odd number from this part of the slots on that shares no factor with them: no two pieces lie
    /// in one slot.
    fn step(&self, part: f64) -> usize {
        let divisor = |mut a: usize, mut b: usize| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let mut step = (self.slots() as f64 * part) as usize | 1;
        while divisor(step, self.slots()) != 1 {
            step += 2;
        }
        step
    }

    /// The place of each piece in what is sent or what arrives, bytes from its beginning: on the host, and on
    /// the device.
    pub(crate) fn places(&self) -> Vec<(usize, usize)> {
        let [host, device] =
            self.steps().map(|step| move |number: usize| number * step % self.slots() * self.bytes);
        (0..self.count).map(|number| (host(number), device(number))).collect()
    }

    pub(crate) fn sent(&self) -> Range<usize> {
        0..2 * self.room
    }

    pub(crate) fn arrived(&self) -> Range<usize> {
        2 * self.room..4 * self.room
    }

    pub(crate) fn packed(&self) -> Range<usize> {
        let start = 4 * self.room;
        start..start + self.count * self.bytes
    }

    /// Where the host's and the device's ranges begin that take part.
    pub(crate) fn begins(&self) -> [usize; 2] {
        let [sent, arrived] = [self.sent().start, self.arrived().start];
        if self.to_device { [sent, arrived] } else { [arrived, sent] }
    }

    /// The kernel's launch between the device's range and another one with this step.
    fn launch(&self, other: Argument, other_step: usize) -> RoundStep {
        let [_, area] = self.begins();
        let [_, area_step] = self.steps();
        let parts = self.count * (self.bytes / PIECE_GRAIN);
        let numbers =
            [self.bytes, self.count, area_step, other_step, self.slots(), usize::from(self.to_device)];
        let numbers = numbers.map(|number| Argument::Number(number as u64));
        RoundStep::Launch {
            kernel: PIECES_KERNEL,
            blocks: parts.min(MOST_BLOCKS) as u32,
            threads: THREADS,
            arguments: [Argument::Area(area), other].into_iter().chain(numbers).collect(),
        }
    }

    /// What is queued for all of them.
    pub(crate) fn queued(&self, places: &[(usize, usize)]) -> Vec<RoundStep> {
        let ([host, device], [host_step, device_step]) = (self.begins(), self.steps());
        let at = |(in_host, in_area): &(usize, usize)| (host + in_host, device + in_area);
        let one = |place| {
            let (in_host, in_area) = at(place);
            let range = in_host..in_host + self.bytes;
            if self.to_device {
                RoundStep::ToDeviceAt(range, in_area)
            } else {
                RoundStep::ToHostFrom(range, in_area)
            }
        };

        match self.way {
            TransferMethod::Loop => places.iter().map(one).collect(),
            TransferMethod::Batch => {
                let (to_device, bytes) = (self.to_device, self.bytes);
                vec![RoundStep::Batch(Arc::new(Batch {
                    to_device,
                    bytes,
                    at: places.iter().map(at).collect(),
                }))]
            }
            TransferMethod::Kernel => vec![self.launch(Argument::Host(host), host_step)],
            TransferMethod::Packed => {
                let packed = self.packed();
                let all = |begin: usize| begin..begin + packed.len();
                let in_host = if host_step == 1 { all(host) } else { packed.clone() };
                let in_area = if device_step == 1 { device } else { packed.start };
                let copy = if self.to_device {
                    RoundStep::ToDeviceAt(in_host, in_area)
                } else {
                    RoundStep::ToHostFrom(in_host, in_area)
                };
                let spread = (device_step != 1).then(|| self.launch(Argument::Area(packed.start), 1));
                let mut steps: Vec<RoundStep> = [Some(copy), spread].into_iter().flatten().collect();
                if !self.to_device {
                    steps.reverse();
                }
                steps
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_pieces_lie_in_one_slot_and_none_beyond_the_last() {
        for count in [1, 2, 3, 15, 64, 105, 1000, 16384] {
            for scattered in [Scattered::Both, Scattered::Host, Scattered::Device] {
                let room = count * PIECE_GRAIN;
                let pieces = Pieces {
                    way: TransferMethod::Loop,
                    to_device: true,
                    bytes: PIECE_GRAIN,
                    count,
                    room,
                    scattered,
                };
                let places = pieces.places();
                for of in [|place: &(usize, usize)| place.0, |place: &(usize, usize)| place.1] {
                    let slots: BTreeSet<usize> = places.iter().map(of).collect();
                    assert_eq!(slots.len(), count, "{count} pieces, {scattered:?}");
                    assert!(
                        slots.iter().all(|at| at + PIECE_GRAIN <= 2 * room),
                        "{count} pieces, {scattered:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_side_that_is_not_scattered_has_them_one_behind_the_other() {
        let pieces = Pieces {
            way: TransferMethod::Loop,
            to_device: true,
            bytes: 8192,
            count: 100,
            room: 100 * 8192,
            scattered: Scattered::Device,
        };
        assert!(pieces.places().iter().enumerate().all(|(number, (in_host, _))| *in_host == number * 8192));
        let distant = pieces.places().windows(2).filter(|two| two[0].1.abs_diff(two[1].1) > 8192).count();
        assert!(distant > 90, "{distant}");
    }
}
