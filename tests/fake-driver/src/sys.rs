//! The few calls of the kernel and the C library that std has no name for: shared memory, sleeping on a word
//! of it, the real clock, and whose `clock_gettime` this process calls. Without a crate for them, because
//! tests build this library with rustc alone.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_long, c_void};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// The kernel's numbers of calls differ by architecture (asm/unistd.h).
#[cfg(target_arch = "x86_64")]
mod number {
    pub const FUTEX: std::ffi::c_long = 202;
    pub const GETTID: std::ffi::c_long = 186;
    pub const CLOCK_GETTIME: std::ffi::c_long = 228;
}
#[cfg(target_arch = "powerpc64")]
mod number {
    pub const FUTEX: std::ffi::c_long = 221;
    pub const GETTID: std::ffi::c_long = 207;
    pub const CLOCK_GETTIME: std::ffi::c_long = 246;
}
#[cfg(not(any(target_arch = "x86_64", target_arch = "powerpc64")))]
mod number {
    pub const FUTEX: std::ffi::c_long = 98;
    pub const GETTID: std::ffi::c_long = 178;
    pub const CLOCK_GETTIME: std::ffi::c_long = 113;
}

/// Of `clock_gettime`.
pub const MONOTONIC_RAW: c_int = 4;

/// As C has it on 64-bit Linux.
#[repr(C)]
pub struct Timespec {
    pub seconds: i64,
    pub nanoseconds: c_long,
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn mmap(
        at: *mut c_void,
        len: usize,
        rights: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn madvise(at: *mut c_void, len: usize, advice: c_int) -> c_int;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Maps `len` bytes that begin as zeros: of the file, which is made where it is not there, or of this process
/// alone. Never unmapped.
pub fn map(file: Option<&str>, len: usize) -> io::Result<*mut c_void> {
    const READ_WRITE: c_int = 3;
    const SHARED: c_int = 1;
    const PRIVATE_ANONYMOUS: c_int = 0x22;
    let file = match file {
        Some(path) => {
            Some(OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?)
        }
        None => None,
    };
    let (flags, descriptor) = match &file {
        Some(file) => {
            file.set_len(len as u64)?;
            (SHARED, file.as_raw_fd())
        }
        None => (PRIVATE_ANONYMOUS, -1),
    };
    let start = unsafe { mmap(ptr::null_mut(), len, READ_WRITE, flags, descriptor, 0) };
    if start.addr() == usize::MAX { Err(io::Error::last_os_error()) } else { Ok(start) }
}

/// So many bytes of this value, on huge pages where the system has them, so that few of them are asked for.
pub fn filled(value: u8, len: usize) -> Vec<u8> {
    const HUGE_PAGE: c_int = 14;
    const PAGE: usize = 4096;
    let mut bytes = Vec::with_capacity(len);
    let start: *mut u8 = bytes.as_mut_ptr();
    let skipped = start.align_offset(PAGE);
    if skipped < len {
        // Only advice: where it is not taken, the pages are small ones.
        unsafe { madvise(start.add(skipped).cast(), (len - skipped) / PAGE * PAGE, HUGE_PAGE) };
    }
    bytes.resize(len, value);
    bytes
}

/// The calling thread's id.
pub fn thread_id() -> u32 {
    thread_local! {
        static ID: Cell<u32> = const { Cell::new(0) };
    }
    if ID.get() == 0 {
        ID.set(unsafe { syscall(number::GETTID) as u32 });
    }
    ID.get()
}

/// Sleeps until somebody wakes the word's sleepers, at most this long; not at all if the word is another
/// already.
pub fn sleep_on(word: &AtomicU32, value: u32, limit: Duration) {
    const WAIT: c_int = 0;
    let limit =
        Timespec { seconds: limit.as_secs() as i64, nanoseconds: c_long::from(limit.subsec_nanos() as i32) };
    unsafe { syscall(number::FUTEX, word.as_ptr(), WAIT, value, &raw const limit) };
}

/// Wakes whoever sleeps on the word, in any process.
pub fn wake(word: &AtomicU32) {
    const WAKE: c_int = 1;
    unsafe { syscall(number::FUTEX, word.as_ptr(), WAKE, c_int::MAX) };
}

/// The kernel's own answer to `clock_gettime`.
pub unsafe fn clock_gettime(clock: c_int, to: *mut Timespec) -> c_int {
    unsafe { syscall(number::CLOCK_GETTIME, c_long::from(clock), to) as c_int }
}

/// The function that the programs of this process get by this name.
pub fn global_function(name: &std::ffi::CStr) -> usize {
    unsafe { dlsym(ptr::null_mut(), name.as_ptr()).addr() }
}
