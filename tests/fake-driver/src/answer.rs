//! The kernel that answers over flags in pinned memory: as a thread of the device's stream, which looks at
//! the question without a pause.
//!
//! It looks in real time, and so does whoever asks: a test of it has the machine's own clock.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::code::{Answer, INVALID_VALUE};
use crate::{context, faults, memory};

/// What ends it, and what it leaves when it gives up.
const STOP: u64 = u64::MAX;
const GAVE_UP: u64 = u64::MAX - 1;

/// Over which words, and after how many looks it gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    device: usize,
    question: usize,
    answer: usize,
    looks: u64,
}

impl Answers {
    /// By the kernel's parameters.
    pub unsafe fn new(device: usize, parameters: *mut *mut c_void) -> Answer<Self> {
        let parameter = |at: usize| unsafe { *(*parameters.add(at)).cast::<u64>() };
        let answers = Self {
            device,
            question: parameter(0) as usize,
            answer: parameter(1) as usize,
            looks: parameter(2),
        };
        let is_pinned = |word: usize| word.is_multiple_of(8) && memory::is_pinned(word, 8);
        if is_pinned(answers.question) && is_pinned(answers.answer) {
            Ok(answers)
        } else {
            Err(INVALID_VALUE)
        }
    }

    /// Answers until it is told to stop, or nothing new has come for so many looks. With the fault
    /// `answers-stop` it ends after 100 answers.
    pub fn run(&self) {
        if context::alive(self.device).is_err() {
            return;
        }
        let word = |at: usize| unsafe { AtomicU64::from_ptr(at as *mut u64) };
        let (mut last, mut left, mut given) = (0, self.looks, 0);
        while left > 0 && !(faults::kernels().answers_stop && given >= 100) {
            let seen = word(self.question).load(Ordering::Acquire);
            if seen == STOP {
                return;
            }
            left -= 1;
            if seen == last {
                // The other thread may need this very PU.
                std::thread::yield_now();
            } else {
                word(self.answer).store(seen, Ordering::Release);
                (last, left, given) = (seen, self.looks, given + 1);
            }
        }
        word(self.answer).store(GAVE_UP, Ordering::Release);
    }
}
