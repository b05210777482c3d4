//! Result codes. CUDA's driver and HIP number those used here alike (cuda.h, hip_runtime_api.h).

use std::ffi::c_int;

pub const INVALID_VALUE: c_int = 1;
pub const OUT_OF_MEMORY: c_int = 2;
pub const NO_DEVICE: c_int = 100;
pub const INVALID_DEVICE: c_int = 101;
pub const INVALID_CONTEXT: c_int = 201;
pub const PEER_UNSUPPORTED: c_int = 217;
pub const INVALID_IMAGE: c_int = 218;
pub const INVALID_HANDLE: c_int = 400;
pub const NOT_FOUND: c_int = 500;
pub const NOT_READY: c_int = 600;
pub const PEER_ALREADY_ENABLED: c_int = 704;
pub const ALREADY_REGISTERED: c_int = 712;
pub const NOT_REGISTERED: c_int = 713;
pub const NOT_SUPPORTED: c_int = 801;

/// What a call comes to: a value, or a code.
pub type Answer<T = ()> = Result<T, c_int>;

/// The code of an answer.
pub fn of(answer: Answer) -> c_int {
    answer.err().unwrap_or(0)
}

/// Writes an answer's value where the caller wants it.
pub fn give<T>(to: *mut T, answer: Answer<T>) -> Answer {
    let value = answer?;
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    unsafe { to.write(value) };
    Ok(())
}

/// Writes a text, cut to what fits, into a caller's buffer of `len` bytes.
pub fn give_text(text: &str, to: *mut std::ffi::c_char, len: c_int) -> Answer {
    let room = usize::try_from(len).unwrap_or(0);
    if to.is_null() || room == 0 {
        return Err(INVALID_VALUE);
    }
    let kept = text.len().min(room - 1);
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, kept) };
    unsafe { to.add(kept).write(0) };
    Ok(())
}
