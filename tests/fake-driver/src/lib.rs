//! A GPU driver of threads and heap memory: `libcuda.so.1`, `libnvidia-ml.so.1` and `libamdhip64.so` in one
//! library, for machines without a GPU.
//!
//! `cuda` and `hip` (with `hiprtc`, its kernels) are the two interfaces, as far as the backends use them:
//! they turn arguments and result codes, and know nothing else. What they do is done once: `devices`
//! (described by a file), `context` (which device a thread uses, and whether it is lost), `memory`, `copy`,
//! `stream` and `event` (each stream a thread), `hold` (the latch's kernel; `wait_word` the word it waits
//! for), `pattern` (those that fill and compare), `chase` (that which follows loads), `answer` (that which
//! answers the CPU), `compute` (those that compute, which `math` runs for the vendors' libraries). `unified`
//! and `hip_unified` are what only other programs ask (`capture`: streams captured into graphs). `nvml` is
//! what the management library says of the same devices. `faults` says what goes wrong, by another file.
//! `traffic` gives a copy the time that the described links allow (`flow` lets it pass, `share` divides
//! them), in virtual time (`clock`) that all threads (`actor`) of all processes of a run share (`page`);
//! `place` says where a rank is pretended to run. A stream knows nothing of what is queued on it: each is a
//! function to call.
//!
//! It is strict where a real driver is: calls without a context, memory registered twice, addresses it did
//! not give, copies out of bounds, and a stream of another device are errors; an asynchronous copy of memory
//! that is not pinned is done before the call returns. What is left over at the end is printed to stderr, and
//! `calls` counts what was called.
//!
//! It always says that it simulates (`numabench_simulation`), and there is nothing to tell it not to.
//!
//! The environment: `FAKE_DEVICES` and `FAKE_FAULTS` (a file's absolute path, or its lines with `;` between
//! them), `FAKE_PUS` (see `place`), `FAKE_SHARED` (see `page`), `FAKE_CALLS` (see `calls`). As the real ones
//! do, it leaves out the devices that `CUDA_VISIBLE_DEVICES` or `HIP_VISIBLE_DEVICES` does not name.
//!
//! Left out: kernels but these, the default stream's order.

#![allow(
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::print_stderr,
    clippy::not_unsafe_ptr_arg_deref,
    reason = "a C library's names, conditions and place to complain: every pointer is its caller's word"
)]

mod actor;
mod answer;
mod calls;
mod capture;
mod chase;
mod clock;
mod code;
mod compute;
mod context;
mod copy;
mod cuda;
mod devices;
mod event;
mod faults;
mod flow;
mod hip;
mod hip_unified;
mod hiprtc;
mod hold;
mod math;
mod memory;
mod moving;
mod nvml;
mod page;
mod pattern;
mod place;
mod share;
mod stream;
mod sys;
mod told;
mod traffic;
mod unified;
mod wait_word;

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

/// What the driver says of itself: that it is none.
#[unsafe(no_mangle)]
extern "C" fn numabench_simulation() -> *const c_char {
    static TEXT: OnceLock<CString> = OnceLock::new();
    TEXT.get_or_init(|| {
        let says = &devices::all().says;
        let more = if says.is_empty() { String::new() } else { format!(": {says}") };
        CString::new(format!("a fake driver of threads and heap memory{more}")).unwrap_or_default()
    })
    .as_ptr()
}
