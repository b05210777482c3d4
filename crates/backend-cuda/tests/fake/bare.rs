//! A libcuda that has cuInit and nothing else; cuInit answers what `FAKE_CUINIT` says. Built by `tests/load.rs` as a cdylib.

use std::ffi::c_int;

fn from_environment() -> c_int {
    std::env::var("FAKE_CUINIT").ok().and_then(|code| code.parse().ok()).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: u32) -> c_int {
    from_environment()
}
