//! HIP's runtime interface over the CUDA driver: a `libamdhip64.so` that makes the HIP backend move real
//! bytes on an NVIDIA GPU, so that its whole way (pinning, copies, latch, events) can be measured beside the
//! CUDA backend's. For tests only; results say so (`numabench_simulation`).
//!
//! Each call is one of the driver's (`driver` finds them, `hip` maps them): result codes are those of CUDA,
//! whose numbers HIP shares. A device's context is its primary one, retained when a thread first chooses the
//! device and never released. Signal memory, which HIP's wait for a value needs, is pinned memory. Kernels
//! are compiled from HIP's source by CUDA's compiler at run time (`hiprtc`). UUIDs are CUDA's 16 bytes, so
//! that both backends name a device alike.
//!
//! Built by `tests/fake-driver/stand_in.rs` or by hand: `rustc --edition 2024 --crate-type cdylib -O -o
//! FOLDER/libamdhip64.so.7 tests/hip-over-cuda/src/lib.rs`; then `LD_LIBRARY_PATH=FOLDER numabench pingpong
//! --backend hip`.
//!
//! Left out: what the HIP backend does not call, and masks in waits for a value.

#![allow(
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::not_unsafe_ptr_arg_deref,
    reason = "a C library's names and conditions: every pointer is its caller's word"
)]

mod driver;
mod hip;
mod hiprtc;

use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;

/// What the results say of their origin; a driver beneath that is itself a stand-in is named too.
#[unsafe(no_mangle)]
extern "C" fn numabench_simulation() -> *const c_char {
    static TEXT: OnceLock<CString> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut text = "hip over cuda (test shim)".to_owned();
        if let Some(beneath) = driver::driver().and_then(|driver| driver.simulation) {
            let said = unsafe { CStr::from_ptr(beneath()) };
            text.push_str(&format!(", over {}", said.to_string_lossy()));
        }
        CString::new(text).unwrap_or_default()
    })
    .as_ptr()
}
