//! One copy between a host range and a device: what may go wrong with it, its bytes, and when it ends.

use std::thread;
use std::time::Instant;

use crate::code::{Answer, INVALID_HANDLE, INVALID_VALUE};
use crate::stream::{Op, Stream};
use crate::{context, faults, memory, traffic};

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    ToDevice,
    ToHost,
}

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

    /// The addresses on the device and on the host.
    fn sides(&self) -> (usize, usize) {
        match self.direction {
            Direction::ToDevice => (self.to, self.from),
            Direction::ToHost => (self.from, self.to),
        }
    }

    /// Moves the bytes before it returns.
    pub fn block(&self) -> Answer {
        self.run(Instant::now(), false);
        traffic::rest();
        context::alive(self.device).map(drop)
    }

    /// Queues it, or, from or to memory that is not pinned, moves the bytes before it returns.
    pub fn queue(self, stream: &Stream) -> Answer {
        if stream.device() != self.device {
            return Err(INVALID_HANDLE);
        }
        if memory::is_pinned(self.sides().1, self.len) { stream.push(Op::Copy(self)) } else { self.block() }
    }

    /// Does it, begun at `start`; when it ended. The bytes of a repeat are there already.
    pub fn run(&self, start: Instant, repeat: bool) -> Instant {
        let fate = faults::copy();
        if fate.hangs {
            traffic::rest();
            loop {
                thread::park();
            }
        }
        if let Some(code) = fate.lost {
            context::lose(self.device, code);
        }
        if context::alive(self.device).is_err() {
            return start;
        }
        if !repeat {
            // As memmove: nothing keeps a caller from lending overlapping ranges.
            unsafe { std::ptr::copy(self.from as *const u8, self.to as *mut u8, self.len) };
        }
        if let Some(offset) = fate.corrupt.filter(|offset| *offset < self.len) {
            // Not the same change twice: there and back would look whole.
            let byte = unsafe { &mut *((self.to + offset) as *mut u8) };
            *byte = byte.wrapping_add(1);
        }
        traffic::carry(self, start)
    }

    /// Whether the copy writes what the other one reads or writes.
    pub fn disturbs(&self, other: &Self) -> bool {
        let meets = |start: usize| self.to < start + other.len && start < self.to + self.len;
        meets(other.to) || meets(other.from)
    }
}
