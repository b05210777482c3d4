//! One copy between a host range and a device, or between two devices: what may go wrong with it, its bytes,
//! and when it ends.
//!
//! Where `repeats skip` is told, a copy whose bytes seem to be there already takes its time but is not made
//! again: eight GPUs that move 20 GB/s each are more than a small machine's memory can follow.

use crate::code::{Answer, INVALID_HANDLE, INVALID_VALUE};
use crate::flow::Direction;
use crate::stream::Stream;
use crate::{actor, context, devices, faults, memory, traffic};

/// Bytes that are looked at together, and how far apart.
const LINE: usize = 64;
const LOOK_EVERY: usize = 1 << 18;

/// What is to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    pub device: usize,
    pub direction: Direction,
    pub to: usize,
    pub from: usize,
    pub len: usize,
}

impl Copy {
    /// A copy whose device range is memory of this device.
    pub fn new(device: usize, direction: Direction, to: usize, from: usize, len: usize) -> Answer<Self> {
        let copy = Self { device, direction, to, from, len };
        let (area, host) = copy.sides();
        let in_bounds = len > 0 && memory::device_of(area, len) == Some(device);
        if in_bounds && host != 0 { Ok(copy) } else { Err(INVALID_VALUE) }
    }

    /// A copy between two devices' memories, or within one's, made by one of them. Where that one cannot
    /// reach the other, it is staged, and takes the time of a copy from the source to the host.
    pub fn between(
        device: usize,
        (to_device, to): (usize, usize),
        (from_device, from): (usize, usize),
        len: usize,
    ) -> Answer<Self> {
        let there = |device, address| memory::device_of(address, len) == Some(device);
        if len == 0
            || !there(to_device, to)
            || !there(from_device, from)
            || ![to_device, from_device].contains(&device)
        {
            return Err(INVALID_VALUE);
        }
        let other = if device == to_device { from_device } else { to_device };
        let (device, direction) = match device == other {
            true => (device, Direction::Within),
            false if context::reaches(device, other) => (device, Direction::Peer),
            false => (from_device, Direction::ToHost),
        };
        Ok(Self { device, direction, to, from, len })
    }

    /// The same by addresses alone, as a kernel's loads and stores are made: the host's side is pinned, and
    /// another device is one that can be reached.
    pub fn by_kernel(device: usize, to: usize, from: usize, len: usize) -> Answer<Self> {
        let len = if faults::kernels().copies_short { len.saturating_sub(1).max(1) } else { len };
        let (writes, reads) =
            (memory::device_of(to, len) == Some(device), memory::device_of(from, len) == Some(device));
        match (writes, reads) {
            (true, false) if memory::is_pinned(from, len) => {
                Self::new(device, Direction::ToDevice, to, from, len)
            }
            (false, true) if memory::is_pinned(to, len) => {
                Self::new(device, Direction::ToHost, to, from, len)
            }
            _ => match (memory::device_of(to, len), memory::device_of(from, len)) {
                (Some(there), Some(here))
                    if there == here
                        || context::reaches(device, if there == device { here } else { there }) =>
                {
                    Self::between(device, (there, to), (here, from), len)
                }
                _ => Err(INVALID_VALUE),
            },
        }
    }

    /// Queues many copies of one direction, which take the latency of one of them and the time of all their
    /// bytes.
    pub unsafe fn batch(
        device: usize,
        (to, from, sizes): (*const usize, *const usize, *const usize),
        count: usize,
        stream: &Stream,
    ) -> Answer {
        let of = |at: usize| unsafe { (*to.add(at), *from.add(at), *sizes.add(at)) };
        let copy = |at: usize| {
            let (to, from, len) = of(at);
            let to_device = memory::device_of(to, len) == Some(device);
            let direction = if to_device { Direction::ToDevice } else { Direction::ToHost };
            let copy = Self::new(device, direction, to, from, len)?;
            if memory::is_pinned(copy.sides().1, len) { Ok(copy) } else { Err(INVALID_VALUE) }
        };
        let copies = (0..count).map(copy).collect::<Answer<Vec<Self>>>()?;
        let (Some(first), all) = (copies.first().copied(), copies.iter().map(|copy| copy.len).sum()) else {
            return Err(INVALID_VALUE);
        };
        if stream.device() != device {
            return Err(INVALID_HANDLE);
        }
        stream.push(move || {
            let fate = faults::copy();
            if fate.hangs {
                actor::wait(0, None, || false);
            }
            if let Some(code) = fate.lost {
                context::lose(device, code);
            }
            if context::alive(device).is_err() {
                return;
            }
            for Self { to, from, len, .. } in copies {
                unsafe { std::ptr::copy(from as *const u8, to as *mut u8, len) };
            }
            if let Some(offset) = fate.corrupt.filter(|offset| *offset < first.len) {
                let byte = unsafe { &mut *((first.to + offset) as *mut u8) };
                *byte = byte.wrapping_add(1);
            }
            traffic::carry(device, first.direction, all);
        })
    }

    /// The addresses on the device and on the host.
    fn sides(&self) -> (usize, usize) {
        match self.direction {
            Direction::ToDevice => (self.to, self.from),
            Direction::ToHost | Direction::Peer | Direction::Within => (self.from, self.to),
        }
    }

    /// Moves the bytes before it returns.
    pub fn block(&self) -> Answer {
        self.run();
        context::alive(self.device).map(drop)
    }

    /// Queues it, or, from or to memory that is not pinned, moves the bytes before it returns.
    pub fn queue(self, stream: &Stream) -> Answer {
        if stream.device() != self.device {
            return Err(INVALID_HANDLE);
        }
        if memory::is_pinned(self.sides().1, self.len) {
            stream.push(move || self.run())
        } else {
            self.block()
        }
    }

    /// Queues it on a stream of this device, whichever device's time it takes.
    pub fn queue_on(self, stream: &Stream, device: usize) -> Answer {
        if stream.device() == device { stream.push(move || self.run()) } else { Err(INVALID_HANDLE) }
    }

    /// Does it, and returns when it has ended.
    pub fn run(&self) {
        let fate = faults::copy();
        if fate.hangs {
            actor::wait(0, None, || false);
        }
        if let Some(code) = fate.lost {
            context::lose(self.device, code);
        }
        if context::alive(self.device).is_err() {
            return;
        }
        if !(devices::all().skip_repeats && self.is_there()) {
            // As memmove: nothing keeps a caller from lending overlapping ranges.
            unsafe { std::ptr::copy(self.from as *const u8, self.to as *mut u8, self.len) };
        }
        if let Some(offset) = fate.corrupt.filter(|offset| *offset < self.len) {
            // Not the same change twice: there and back would look whole.
            let byte = unsafe { &mut *((self.to + offset) as *mut u8) };
            *byte = byte.wrapping_add(1);
        }
        traffic::carry(self.device, self.direction, self.carried_bytes());
    }

    /// The bytes whose time it takes: memory that is not pinned may take more than its own.
    fn carried_bytes(&self) -> usize {
        let weight = devices::all().devices[self.device].pageable;
        let with_host = matches!(self.direction, Direction::ToDevice | Direction::ToHost);
        if weight > 0.0 && with_host && !memory::is_pinned(self.sides().1, self.len) {
            (self.len as f64 * weight) as usize
        } else {
            self.len
        }
    }

    /// Whether the bytes are where they belong, as far as one line in [`LOOK_EVERY`] bytes shows: a program
    /// that fills a buffer, or wipes it, between two copies shows it in every line.
    fn is_there(&self) -> bool {
        let lines = (0..self.len.saturating_sub(LINE)).step_by(LOOK_EVERY);
        self.len >= LOOK_EVERY
            && lines.into_iter().all(|at| {
                let line =
                    |start: usize| unsafe { std::slice::from_raw_parts((start + at) as *const u8, LINE) };
                line(self.to) == line(self.from)
            })
    }
}
