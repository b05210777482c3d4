//! A slow disk, to be preloaded: every write of a block or more takes 20 ms, bringing a file to the disk 300
//! ms, and with SLOW_RENAME in the environment giving a file another name 300 ms.
//!
//! What a run loses when it is killed depends on how long its document takes to write. A disk that is slow
//! everywhere and for everybody needs a device of its own; this needs a compiler. Compiled by `cargo xtask
//! campaign` as one file, so that it uses the C library by name and nothing else. Left out: reading, and
//! folders that are slow to look into.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};

const BLOCK: usize = 4096;
const WRITE_US: c_uint = 20_000;
const SYNC_US: c_uint = 300_000;
const RENAME_US: c_uint = 300_000;

#[cfg(target_arch = "x86_64")]
const CALLS: [c_long; 4] = [1, 74, 75, 264];
#[cfg(not(target_arch = "x86_64"))]
const CALLS: [c_long; 4] = [64, 82, 83, 38];

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn usleep(us: c_uint) -> c_int;
    fn getenv(name: *const c_char) -> *const c_char;
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(file: c_int, bytes: *const c_void, count: usize) -> isize {
    if count >= BLOCK {
        // SAFETY: it takes a number.
        unsafe { usleep(WRITE_US) };
    }
    // SAFETY: the kernel checks what it is given.
    unsafe { syscall(CALLS[0], file, bytes, count) as isize }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(file: c_int) -> c_int {
    // SAFETY: it takes a number, and the kernel checks the file.
    unsafe {
        usleep(SYNC_US);
        syscall(CALLS[1], file) as c_int
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(file: c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        usleep(SYNC_US);
        syscall(CALLS[2], file) as c_int
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    const HERE: c_int = -100;
    // SAFETY: it takes a number, and the kernel checks the names.
    unsafe {
        if !getenv(c"SLOW_RENAME".as_ptr()).is_null() {
            usleep(RENAME_US);
        }
        let result = syscall(CALLS[3], HERE, from, HERE, to);
        result as c_int
    }
}
