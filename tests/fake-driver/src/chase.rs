//! The kernel that follows a chain of loads through pinned memory, or through that of a device that can be
//! reached.

use std::ffi::c_void;

use crate::code::{Answer, INVALID_VALUE};
use crate::{context, faults, memory, traffic};

/// What is to be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chase {
    device: usize,
    base: usize,
    steps: u64,
    state: usize,
}

impl Chase {
    /// By the kernel's parameters: where the chain begins, how many steps, and the address of the word that
    /// says where to go on.
    pub unsafe fn new(device: usize, parameters: *mut *mut c_void) -> Answer<Self> {
        let parameter = |at: usize| unsafe { *(*parameters.add(at)).cast::<u64>() };
        let chase =
            Self { device, base: parameter(0) as usize, steps: parameter(1), state: parameter(2) as usize };
        let there = memory::device_of(chase.state, 8) == Some(device) && chase.reaches();
        if there { Ok(chase) } else { Err(INVALID_VALUE) }
    }

    /// Whether the device reaches where the chain begins.
    fn reaches(&self) -> bool {
        let is_reached = |owner| owner == self.device || context::reaches(self.device, owner);
        memory::is_pinned(self.base, 8) || memory::device_of(self.base, 8).is_some_and(is_reached)
    }

    /// Follows it, and returns when that has taken its time. An offset that leads out of the memory loses the
    /// device, as a fault of a kernel does.
    pub fn run(&self) {
        const ILLEGAL_ADDRESS: i32 = 700;
        if context::alive(self.device).is_err() {
            return;
        }
        let state = self.state as *mut u64;
        let mut at = unsafe { *state };
        let end = memory::end_of(self.base).unwrap_or(0);
        let is_in = |line: &usize| line.checked_add(8).is_some_and(|after| after <= end);
        for _ in 0..self.steps - u64::from(faults::kernels().stops_early && self.steps > 0) {
            let Some(line) = self.base.checked_add(at as usize).filter(is_in) else {
                return context::lose(self.device, ILLEGAL_ADDRESS);
            };
            at = unsafe { (line as *const u64).read_unaligned() };
        }
        unsafe { *state = at };
        match memory::device_of(self.base, 8) {
            Some(owner) if owner != self.device => traffic::peer_load(self.device, self.steps),
            _ => traffic::load(self.device, self.steps),
        }
    }
}
