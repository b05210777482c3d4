//! Holding a stream back: by its wait for a value of a word, and by the one kernel there is.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::code::{Answer, INVALID_IMAGE, INVALID_VALUE};
use crate::faults::{self, Wait};
use crate::memory;
use crate::stream::{Op, Rule, Stream, WaitWord};

/// The handles of the only module and function.
const MODULE: usize = 0x77;
const FUNCTION: usize = 0x78;
const KERNEL: &CStr = c"numabench_hold";

/// Queues a wait for a pinned word.
pub fn wait_value(stream: &Stream, word: usize, value: u32, rule: Rule) -> Answer {
    if !memory::is_pinned(word, 4) {
        return Err(INVALID_VALUE);
    }
    let rule = match faults::wait() {
        Wait::Works => rule,
        Wait::HoldsNothing => return Ok(()),
        Wait::NeverEnds => Rule::Never,
    };
    stream.push(Op::WaitWord(WaitWord { word, value, rule, limit: None }))
}

/// The text must be the spin kernel's, whole: it declares the entry and ends.
pub unsafe fn load(image: *const c_char) -> Answer<usize> {
    let text = unsafe { CStr::from_ptr(image) }.to_string_lossy();
    if text.contains(".visible .entry numabench_hold(") && text.trim_end().ends_with('}') {
        memory::OBJECTS.fetch_add(1, Ordering::AcqRel);
        return Ok(MODULE);
    }
    Err(INVALID_IMAGE)
}

/// Forgets it.
pub fn unload(module: usize) -> Answer {
    if module != MODULE {
        return Err(INVALID_VALUE);
    }
    memory::OBJECTS.fetch_sub(1, Ordering::AcqRel);
    Ok(())
}

/// The kernel by its name.
pub unsafe fn function(module: usize, name: *const c_char) -> Answer<usize> {
    if module == MODULE && unsafe { CStr::from_ptr(name) } == KERNEL { Ok(FUNCTION) } else { Err(INVALID_VALUE) }
}

/// Queues it; its parameters are a word's address, a value, and a limit in nanoseconds.
pub unsafe fn launch(function: usize, stream: &Stream, parameters: *mut *mut c_void) -> Answer {
    if function != FUNCTION || parameters.is_null() {
        return Err(INVALID_VALUE);
    }
    let (word, value, limit) = unsafe {
        (
            *(*parameters).cast::<u64>() as usize,
            *(*parameters.add(1)).cast::<u32>(),
            *(*parameters.add(2)).cast::<u64>(),
        )
    };
    let limit = Some(Duration::from_nanos(limit));
    stream.push(Op::WaitWord(WaitWord { word, value, rule: Rule::Difference, limit }))
}
