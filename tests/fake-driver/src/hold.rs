//! Holding a stream back: by its wait for a value of a word, and by a kernel. Kernels are loaded, found and
//! launched here.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::answer::Answers;
use crate::chase::Chase;
use crate::code::{Answer, INVALID_IMAGE, INVALID_VALUE};
use crate::compute::{self, Launch};
use crate::copy::Copy;
use crate::faults::{self, Wait};
use crate::pattern::Kernel;
use crate::stream::Stream;
use crate::wait_word::{self, Rule, WaitWord};
use crate::{actor, memory};

/// The handles of the modules (the spin kernel's, and that of the others) and of their functions.
const SPIN: usize = 0x77;
const KERNELS: usize = 0x7a;
const HOLD: usize = 0x78;
const FILL: usize = 0x7b;
const COMPARE: usize = 0x7c;
const COPY: usize = 0x7d;
const CHASE: usize = 0x7e;
const ANSWER: usize = 0x7f;
/// The module of the kernel that has the tensor memory accelerator copy, and that kernel.
const TMA: usize = 0x73;
const TMA_COPY: usize = 0x74;
/// The module of kernels that compute; theirs are the handles from the next number on.
const COMPUTE: usize = 0x80;
const FIRST_COMPUTE: usize = 0x81;
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
    let wait = WaitWord { word, value, rule, limit: None };
    stream.push(move || wait_for(&wait))
}

/// Waits, as the stream's thread. The word's address is what those who change it tell of.
fn wait_for(wait: &WaitWord) {
    let start = Instant::now();
    let is_late = || wait.limit.is_some_and(|limit| start.elapsed() > limit);
    wait_word::while_held(wait, || actor::watch(wait.word, || wait.is_over() || is_late()));
    if !wait.is_over() {
        unsafe { AtomicU32::from_ptr((wait.word as *mut u32).add(1)) }.store(wait.value, Ordering::Release);
    }
}

/// The text must be one of the two, whole: it declares the entries and ends.
pub unsafe fn load(image: *const c_char) -> Answer<usize> {
    let text = unsafe { CStr::from_ptr(image) }.to_string_lossy();
    let has =
        |entry: &str| text.contains(&format!(".visible .entry {entry}(")) && text.trim_end().ends_with('}');
    let module = match () {
        () if has("numabench_hold") => SPIN,
        () if ["fill", "compare", "copy", "chase", "answer"]
            .iter()
            .all(|kernel| has(&format!("numabench_{kernel}"))) =>
        {
            KERNELS
        }
        () if has("numabench_tma_copy") => TMA,
        () if compute::NAMES.iter().any(|name| has(&name.to_string_lossy())) => COMPUTE,
        () => return Err(INVALID_IMAGE),
    };
    memory::OBJECTS.fetch_add(1, Ordering::AcqRel);
    Ok(module)
}

/// Forgets it.
pub fn unload(module: usize) -> Answer {
    if ![SPIN, KERNELS, TMA, COMPUTE].contains(&module) {
        return Err(INVALID_VALUE);
    }
    memory::OBJECTS.fetch_sub(1, Ordering::AcqRel);
    Ok(())
}

/// A kernel by its name.
pub unsafe fn function(module: usize, name: *const c_char) -> Answer<usize> {
    let text = unsafe { CStr::from_ptr(name) };
    if module == COMPUTE {
        let known = compute::NAMES.iter().position(|known| *known == text);
        return known.map(|at| FIRST_COMPUTE + at).ok_or(INVALID_VALUE);
    }
    match (module, unsafe { Kernel::named(name) }) {
        (SPIN, None) if text == KERNEL => Ok(HOLD),
        (KERNELS, None) if text == c"numabench_copy" => Ok(COPY),
        (TMA, None) if text == c"numabench_tma_copy" => Ok(TMA_COPY),
        (KERNELS, None) if text == c"numabench_chase" => Ok(CHASE),
        (KERNELS, None) if text == c"numabench_answer" => Ok(ANSWER),
        (KERNELS, Some(Kernel::Fill)) => Ok(FILL),
        (KERNELS, Some(Kernel::Compare)) => Ok(COMPARE),
        _ => Err(INVALID_VALUE),
    }
}

/// Queues the kernel that holds, that which copies, follows loads or answers on a stream of the caller's, or
/// runs one of the others on the default stream. The parameters of that which holds are a word's address, a
/// value, and a limit in nanoseconds.
pub unsafe fn launch(
    device: usize,
    function: usize,
    blocks: u32,
    stream: usize,
    parameters: *mut *mut c_void,
) -> Answer {
    if parameters.is_null() {
        return Err(INVALID_VALUE);
    }
    match (function, stream) {
        (FILL, 0) => return unsafe { Kernel::Fill.run(device, parameters) },
        (COMPARE, 0) => return unsafe { Kernel::Compare.run(device, parameters) },
        _ => {}
    }
    let stream = unsafe { Stream::of(stream) }?;
    if let Some(kernel) = function.checked_sub(FIRST_COMPUTE) {
        let launch = unsafe { Launch::new(device, kernel, blocks, parameters) }?;
        return stream.push(move || launch.run());
    }
    match function {
        HOLD => {}
        COPY | TMA_COPY => {
            let parameter = |at: usize| unsafe { *(*parameters.add(at)).cast::<u64>() } as usize;
            let copy = Copy::by_kernel(device, parameter(0), parameter(1), parameter(2))?;
            return copy.queue_on(stream, device);
        }
        CHASE => {
            let chase = unsafe { Chase::new(device, parameters) }?;
            return stream.push(move || chase.run());
        }
        ANSWER => {
            let answers = unsafe { Answers::new(device, parameters) }?;
            return stream.push(move || answers.run());
        }
        _ => return Err(INVALID_VALUE),
    }
    let (word, value, limit) = unsafe {
        (
            *(*parameters).cast::<u64>() as usize,
            *(*parameters.add(1)).cast::<u32>(),
            *(*parameters.add(2)).cast::<u64>(),
        )
    };
    let limit = Some(Duration::from_nanos(limit));
    let wait = WaitWord { word, value, rule: Rule::Difference, limit };
    stream.push(move || wait_for(&wait))
}
