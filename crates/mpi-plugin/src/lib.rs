//! The MPI plug-in: messages between the processes of a launch, behind the C interface of `plugin::abi`.
//!
//! It is a library that is linked with the site's MPI and opened by numabench at run time, so that one binary
//! runs without MPI and under any. It calls MPI's C functions through rsmpi's raw layer: errors come back as
//! values, and nothing here waits for another process, except in starting and leaving, as MPI itself does.
//!
//! This file is the exported table. Each function catches panics, which must not cross the interface, and
//! finds the launch in its own thread: the one thread that MPI is called from.

mod exchange;
mod launch;
mod mail;
mod words;

use std::cell::RefCell;
use std::ffi::{c_int, c_uint};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use plugin::abi::{DONE, FAILED, FunctionTable, NOTHING, RawPlace, VERSION};

use crate::launch::Launch;
use crate::words::Trouble;

thread_local! {
    // Never dropped: MPI may still write to a message's buffer while the process ends.
    static LAUNCH: RefCell<Option<ManuallyDrop<Launch>>> = const { RefCell::new(None) };
    static TROUBLE: RefCell<String> = const { RefCell::new(String::new()) };
}

static TABLE: FunctionTable = FunctionTable {
    version: VERSION,
    bytes: size_of::<FunctionTable>() as c_uint,
    library,
    trouble,
    start,
    post,
    collect,
    take,
    abort,
    leave,
    send,
    receive,
    start_send,
    start_receive,
    wait_all,
    operate,
    said,
};

/// The plug-in's table.
#[unsafe(no_mangle)]
pub extern "C" fn numabench_mpi_v1() -> *const FunctionTable {
    &raw const TABLE
}

/// Runs a function of the interface: what fails is kept for `trouble`, and so is a panic.
fn guarded(act: impl FnOnce() -> Result<c_int, Trouble>) -> c_int {
    let panicked = |_| Err(Trouble::new("the MPI plug-in", "panicked; see standard error"));
    let ended = catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(panicked);
    ended.unwrap_or_else(|trouble| {
        TROUBLE.set(trouble.to_string());
        FAILED
    })
}

/// Runs `act` on the launch of this thread.
fn launched<T>(act: impl FnOnce(&mut Launch) -> Result<T, Trouble>) -> Result<T, Trouble> {
    LAUNCH.with_borrow_mut(|launch| match launch {
        Some(launch) => act(launch),
        None => Err(Trouble::new("the MPI plug-in", "MPI was not started in this thread")),
    })
}

/// # Safety
/// `buffer` is valid for writes of `capacity` bytes.
unsafe fn give(text: &str, buffer: *mut u8, capacity: usize) -> usize {
    // SAFETY: the text is at least as long as what is copied, the buffer too as the caller promises, and they
    // are apart.
    unsafe { buffer.copy_from_nonoverlapping(text.as_ptr(), text.len().min(capacity)) };
    text.len()
}

unsafe extern "C" fn library(buffer: *mut u8, capacity: usize) -> usize {
    let version = catch_unwind(words::library_version).unwrap_or_default();
    // SAFETY: the interface asks for such a buffer.
    unsafe { give(&version, buffer, capacity) }
}

unsafe extern "C" fn trouble(buffer: *mut u8, capacity: usize) -> usize {
    // SAFETY: the interface asks for such a buffer.
    TROUBLE.with_borrow(|text| unsafe { give(text, buffer, capacity) })
}

unsafe extern "C" fn start(place: *mut RawPlace) -> c_int {
    guarded(|| {
        if LAUNCH.with_borrow(Option::is_some) {
            return Err(Trouble::new("the MPI plug-in", "MPI was started already"));
        }
        // SAFETY: the interface asks for a place with the level that is wanted.
        let wanted = unsafe { (*place).thread_level };
        let launch = Launch::start(wanted)?;
        // SAFETY: the interface asks for a place to be written to.
        unsafe { place.write(launch.place()) };
        LAUNCH.set(Some(ManuallyDrop::new(launch)));
        Ok(DONE)
    })
}

unsafe extern "C" fn post(to: u32, bytes: *const u8, length: usize) -> c_int {
    guarded(|| {
        // SAFETY: the interface asks for `length` readable bytes. (A pointer to none is not null: Rust's
        // slices have no null.)
        let bytes = unsafe { slice::from_raw_parts(bytes, length) };
        launched(|launch| launch.post(to, bytes))?;
        Ok(DONE)
    })
}

unsafe extern "C" fn collect(from: *mut u32, length: *mut usize) -> c_int {
    guarded(|| {
        let Some((sender, bytes)) = launched(Launch::collect)? else { return Ok(NOTHING) };
        // SAFETY: the interface asks for a place to be written to.
        unsafe { from.write(sender) };
        // SAFETY: as above.
        unsafe { length.write(bytes) };
        Ok(DONE)
    })
}

unsafe extern "C" fn take(buffer: *mut u8, capacity: usize) -> c_int {
    guarded(|| {
        let bytes = launched(|launch| Ok(launch.take()))?;
        let Some(bytes) = bytes.filter(|bytes| bytes.len() == capacity) else {
            return Err(Trouble::new("take", "no message of this length is at hand"));
        };
        // SAFETY: the interface asks for `capacity` writable bytes, and the message has as many.
        unsafe { buffer.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(DONE)
    })
}

unsafe extern "C" fn abort(code: c_int) {
    guarded(|| {
        launched(|launch| {
            launch.abort(code);
            Ok(DONE)
        })
    });
}

unsafe extern "C" fn leave() -> c_int {
    guarded(|| {
        launched(Launch::leave)?;
        Ok(DONE)
    })
}

/// The result of a measured call: nothing is done where it went well.
fn return_code(result: Result<(), Trouble>) -> c_int {
    match result {
        Ok(()) => DONE,
        Err(trouble) => {
            TROUBLE.set(trouble.to_string());
            FAILED
        }
    }
}

// What is measured calls MPI at once: no launch is looked up and no panic caught, of which there is none to
// be had (`exchange`).

unsafe extern "C" fn send(to: u32, address: usize, bytes: usize) -> c_int {
    // SAFETY: the interface asks for so many bytes at the address.
    return_code(unsafe { exchange::send(to, address, bytes) })
}

unsafe extern "C" fn receive(from: u32, address: usize, bytes: usize) -> c_int {
    // SAFETY: as above.
    return_code(unsafe { exchange::receive(from, address, bytes) })
}

unsafe extern "C" fn start_send(to: u32, address: usize, bytes: usize) -> c_int {
    // SAFETY: as above, until `wait_all`.
    return_code(unsafe { exchange::start_send(to, address, bytes) })
}

unsafe extern "C" fn start_receive(from: u32, address: usize, bytes: usize) -> c_int {
    // SAFETY: as above, until `wait_all`.
    return_code(unsafe { exchange::start_receive(from, address, bytes) })
}

unsafe extern "C" fn wait_all() -> c_int {
    return_code(exchange::wait_all())
}

unsafe extern "C" fn operate(operation: u32, with: u32, out: usize, into: usize, bytes: usize) -> c_int {
    guarded(|| {
        // SAFETY: the interface asks for so many bytes at both addresses.
        launched(|launch| unsafe { launch.pairs().operate(operation, with, out, into, bytes) })?;
        Ok(DONE)
    })
}

unsafe extern "C" fn said(buffer: *mut u8, capacity: usize) -> usize {
    let lines = catch_unwind(|| words::of_gpus().join("\n")).unwrap_or_default();
    // SAFETY: the interface asks for such a buffer.
    unsafe { give(&lines, buffer, capacity) }
}
