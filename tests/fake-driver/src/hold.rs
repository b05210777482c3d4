//! Holding a stream back: by its wait for a value of a word, and by the one kernel there is.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::code::{Answer, INVALID_IMAGE, INVALID_VALUE};
use crate::faults::{self, Wait};
use crate::stream::{Op, Rule, Stream, WaitWord};
use crate::{actor, memory};

/// The handles of the only module and function.
const MODULE: usize = 0x77;
const FUNCTION: usize = 0x78;
const KERNEL: &CStr = c"numabench_hold";

/// The waits at which streams of this process are.
static HELD: Mutex<Vec<WaitWord>> = Mutex::new(Vec::new());

/// Does something while a stream is at this wait.
pub fn while_held(wait: &WaitWord, act: impl FnOnce()) {
    let held = || HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held().push(*wait);
    act();
    held().retain(|other| other.word != wait.word || other.value != wait.value);
}

/// Tells the streams whose wait is over: a program that opens a latch writes a word and calls nothing.
pub fn look() {
    let over: Vec<usize> = {
        let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().filter(|wait| wait.is_over()).map(|wait| wait.word).collect()
    };
    over.into_iter().for_each(actor::stir);
}

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
