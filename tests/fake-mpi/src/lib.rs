//! An MPI that mishandles device memory, for tests: preloaded before a real MPI, whose functions it passes
//! everything on to, but for what it was told to do wrong with memory of the stand-in driver. Some 420
//! lines because each function that is passed on stands here once.
//!
//! `FAKE_MPI` says it: a behaviour and an operation, with `;` between them. `crash OPERATION` is a SIGSEGV,
//! as of a library that reads a device's address; `hang` never returns (`crash@1 OPERATION`: at rank 1
//! alone); `zeros` sends zeros in place of the bytes, or receives them; `error` returns an error code;
//! `wears` does so after a hundred calls;
//! `steals` leaves the thread without a device. `cray` in place of these is Cray MPICH's start: with
//! MPICH_GPU_SUPPORT_ENABLED=1 it ends the process unless its library for the GPU (`GTL`) is there. `watches`
//! says in MPI_Finalize, or where a process ends without, how many ranges of host memory of a page or more
//! were given to nonblocking calls, and of how many the pages are gone: an MPI may use what it was given
//! until it is left. `deaf` closes standard input in MPI_Init, never returns from it, and has an exit handler
//! that waits. `late` lets rank 0 rest for a third of a second after each message that it has sent. `rereads`
//! lets the MPI_Test fail that comes next after the third short message was begun, looks at each call whether
//! those that it may still read, as far as anybody was told (no MPI_Test said that they are sent), are what
//! they were, and says of one that it has changed.
//!
//! `FAKE_MPI_FAILS` says which call answers an error in place of being done: `MPI_Isend 3`, the third of a
//! process; `MPI_Isend@1 3`, at rank 1 alone. `FAKE_MPI_CALLS` names the beginning of a file's name to which
//! each process adds its number and writes how often it made each call.
//!
//! Real functions are called by their profiling names (PMPI_…), which every MPI has. Arguments are passed on
//! as words: handles are pointers in one MPI and integers in another.

#![allow(
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::print_stderr,
    clippy::too_many_arguments,
    reason = "a C library's names, conditions and place to complain"
)]

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

type Word = usize;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn abort() -> !;
    fn close(file: c_int) -> c_int;
    fn atexit(act: extern "C" fn()) -> c_int;
    fn mincore(address: *mut c_void, bytes: usize, resident: *mut u8) -> c_int;
}

/// The page size of most machines; on others a range is longer than it must be.
const PAGE: usize = 4096;
const RTLD_LAZY: c_int = 1;
/// The library that comes after this one.
const RTLD_NEXT: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);
const RTLD_NOLOAD: c_int = 4;
/// How many calls `wears` does before it fails: more than the operation is tried with, and links are counted
/// by.
const WORN: usize = 100;
/// `MPI_ERR_OTHER` of both families is small and not 0.
const ERROR: c_int = 15;

fn symbol(name: &CStr) -> *mut c_void {
    unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) }
}

/// What was told of an operation.
fn told(operation: &str) -> Option<&'static str> {
    static TOLD: OnceLock<Vec<(String, String)>> = OnceLock::new();
    let told = TOLD.get_or_init(|| {
        let text = std::env::var("FAKE_MPI").unwrap_or_default();
        let pair = |part: &str| {
            part.trim().split_once(' ').map(|(how, what)| (how.to_owned(), what.trim().to_owned()))
        };
        text.split(';').filter_map(pair).collect()
    });
    let (how, _) = told.iter().find(|(_, what)| what == operation)?;
    match how.split_once('@') {
        None => Some(how),
        Some((how, rank)) => is_rank(rank).then_some(how),
    }
}

/// How often each call was made.
static COUNTS: Mutex<BTreeMap<&str, usize>> = Mutex::new(BTreeMap::new());

/// Counts the call; whether this is the one that fails.
fn fails(call: &'static str) -> bool {
    reread();
    if std::env::var("FAKE_MPI").is_ok_and(|told| told.trim() == "late") && is_rank("0") {
        static SENT: AtomicBool = AtomicBool::new(false);
        if SENT.swap(call == "MPI_Isend", Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
    }
    static TOLD: OnceLock<Option<(String, usize)>> = OnceLock::new();
    let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let count = counts.entry(call).or_insert(0);
    *count += 1;
    let told = TOLD.get_or_init(|| {
        let text = std::env::var("FAKE_MPI_FAILS").ok()?;
        let (call, number) = text.split_once(' ')?;
        let (call, rank) = call.split_once('@').unwrap_or((call, ""));
        (rank.is_empty() || is_rank(rank)).then(|| Some((call.to_owned(), number.parse().ok()?)))?
    });
    let fails = told.as_ref().is_some_and(|(name, number)| name == call && count == number);
    if call == "MPI_Finalize" {
        write_counts(&counts);
    }
    fails
}

/// Writes how often each call was made, where a file is named for it.
fn write_counts(counts: &BTreeMap<&str, usize>) {
    if let Ok(file) = std::env::var("FAKE_MPI_CALLS")
        && !counts.is_empty()
    {
        let lines: String = counts.iter().map(|(call, count)| format!("{call} {count}\n")).collect();
        let _ = std::fs::write(format!("{file}{}", std::process::id()), lines);
    }
}

/// The end of a process that leaves MPI without MPI_Finalize.
#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(code: c_int) -> ! {
    say_what_is_gone();
    write_counts(&COUNTS.lock().unwrap_or_else(PoisonError::into_inner));
    let real = unsafe { dlsym(RTLD_NEXT, c"_exit".as_ptr()) };
    let real: unsafe extern "C" fn(c_int) -> ! = unsafe { std::mem::transmute(real) };
    unsafe { real(code) }
}

/// The ranges that are watched.
static WATCHED: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// Watches a range of bytes that a nonblocking call was given.
fn watch(address: Word, count: Word) {
    let count = count & 0xffff_ffff;
    if count >= PAGE && std::env::var("FAKE_MPI").is_ok_and(|told| told == "watches") && !is_device(address) {
        WATCHED.lock().unwrap_or_else(PoisonError::into_inner).insert(address, count);
    }
}

/// Short messages that nobody was told to be sent: by request where they lie, how long they are, and a number
/// of their bytes.
static UNSENT: Mutex<BTreeMap<u32, (usize, usize, u64)>> = Mutex::new(BTreeMap::new());

/// How many were begun, and whether the next test is to fail: that of the third.
static BEGUN: AtomicUsize = AtomicUsize::new(0);
static TEST_FAILS: AtomicBool = AtomicBool::new(false);

/// What a request begins with: a whole handle of one MPI, and half of the other's, which tells it from
/// others.
unsafe fn handle(request: Word) -> u32 {
    unsafe { (request as *const u32).read() }
}

/// A number of these bytes, which may have been given back.
fn number(address: usize, count: usize) -> u64 {
    let byte = |at: usize| unsafe { ((address + at) as *const u8).read_volatile() };
    (0..count).fold(0xcbf2_9ce4_8422_2325, |sum: u64, at| {
        (sum ^ u64::from(byte(at))).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Keeps a message in mind that was begun.
unsafe fn begun(address: Word, count: Word, request: Word) {
    let count = count & 0xffff_ffff;
    if (1..PAGE).contains(&count) && std::env::var("FAKE_MPI").is_ok_and(|told| told == "rereads") {
        TEST_FAILS.store(BEGUN.fetch_add(1, Ordering::Relaxed) == 2, Ordering::Relaxed);
        let mut unsent = UNSENT.lock().unwrap_or_else(PoisonError::into_inner);
        unsent.insert(unsafe { handle(request) }, (address, count, number(address, count)));
    }
}

/// Says which of them have changed.
fn reread() {
    let mut unsent = UNSENT.lock().unwrap_or_else(PoisonError::into_inner);
    unsent.retain(|_, (address, count, was)| {
        let is_same = number(*address, *count) == *was;
        if !is_same {
            let line = format!("fake MPI: a message of {count} bytes that it may still read has changed\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        }
        is_same
    });
}

/// Says what has become of them.
fn say_what_is_gone() {
    let watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_gone = |(address, count): &(&usize, &usize)| {
        let start = **address / PAGE * PAGE;
        let mut resident = vec![0; (**address - start + **count).div_ceil(PAGE)];
        unsafe { mincore(std::ptr::with_exposed_provenance_mut(start), **count, resident.as_mut_ptr()) != 0 }
    };
    if !watched.is_empty() {
        let gone = watched.iter().filter(is_gone).count();
        // In one piece: another rank's may come between two.
        let line =
            format!("fake MPI: {} ranges were given to it, of {gone} the pages are gone\n", watched.len());
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    }
}

/// Whether the launcher gave this process that number.
fn is_rank(number: &str) -> bool {
    let named = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"].map(std::env::var);
    named.into_iter().find_map(Result::ok).is_some_and(|rank| rank == number)
}

/// Whether the stand-in driver gave this address as a device's.
fn is_device(address: Word) -> bool {
    // The backend opens the driver for itself alone, so it is asked for by its own name.
    let drivers = [c"libcuda.so.1", c"libamdhip64.so.7"];
    let open = drivers.map(|name| unsafe { dlopen(name.as_ptr(), RTLD_LAZY | RTLD_NOLOAD) });
    let Some(driver) = open.into_iter().find(|driver| !driver.is_null()) else { return false };
    let ask = unsafe { dlsym(driver, c"numabench_is_device_memory".as_ptr()) };
    if ask.is_null() {
        return false;
    }
    let ask: extern "C" fn(usize) -> c_int = unsafe { std::mem::transmute(ask) };
    ask(address) != 0
}

/// Leaves the thread without a device, as an MPI that works with contexts of its own and does not put back
/// what was there.
fn steal_context() {
    let driver = unsafe { dlopen(c"libcuda.so.1".as_ptr(), RTLD_LAZY | RTLD_NOLOAD) };
    let set = unsafe { dlsym(driver, c"cuCtxSetCurrent".as_ptr()) };
    if driver.is_null() || set.is_null() {
        return;
    }
    let set: unsafe extern "C" fn(*mut c_void) -> c_int = unsafe { std::mem::transmute(set) };
    unsafe { set(std::ptr::null_mut()) };
}

/// Does what was told of an operation on these addresses; what it returns is the call's result.
fn wrong(operation: &str, addresses: &[Word]) -> Option<&'static str> {
    let told = told(operation)?;
    if !addresses.iter().any(|address| is_device(*address)) {
        return None;
    }
    match told {
        "crash" => {
            unsafe { std::ptr::with_exposed_provenance_mut::<u8>(8).write_volatile(0) };
        }
        "steals" => {
            steal_context();
            return None;
        }
        "hang" => loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        },
        "wears" => {
            static CALLS: AtomicUsize = AtomicUsize::new(0);
            return (CALLS.fetch_add(1, Ordering::Relaxed) >= WORN).then_some("error");
        }
        _ => {}
    }
    Some(told)
}

/// As many zeros as any test sends, which last as long as the process.
fn zeros() -> Word {
    static ZEROS: OnceLock<&'static [u8]> = OnceLock::new();
    ZEROS.get_or_init(|| vec![0; 64 << 20].leak()).as_ptr() as Word
}

/// A function that passes its arguments on to the real one unless it was told to do wrong; `$sent` is the
/// argument that zeros replace.
macro_rules! pass_on {
    ($name:ident, $real:literal, $operation:literal, [$($argument:ident),*], [$($address:ident),*], $sent:ident $(, $before:expr, $after:expr)?) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: Word),*) -> c_int {
            let real = symbol($real);
            if real.is_null() {
                return ERROR;
            }
            $($before;)?
            let real: unsafe extern "C" fn($(pass_on!(@word $argument)),*) -> c_int = unsafe { std::mem::transmute(real) };
            if fails(stringify!($name)) {
                return ERROR;
            }
            #[allow(unused_mut, reason = "one of them may be replaced")]
            let mut $sent = $sent;
            match wrong($operation, &[$($address),*]) {
                Some("error") => return ERROR,
                Some("zeros") => $sent = zeros(),
                _ => {}
            }
            let code = unsafe { real($($argument),*) };
            $(unsafe { $after };)?
            code
        }
    };
    (@word $argument:ident) => { Word };
}

pass_on!(MPI_Send, c"PMPI_Send", "send", [buffer, count, kind, to, tag, comm], [buffer], buffer);
pass_on!(
    MPI_Isend,
    c"PMPI_Isend",
    "isend",
    [buffer, count, kind, to, tag, comm, request],
    [buffer],
    buffer,
    watch(buffer, count),
    begun(buffer, count, request)
);
pass_on!(
    MPI_Sendrecv,
    c"PMPI_Sendrecv",
    "sendrecv",
    [out, out_count, out_kind, to, out_tag, into, into_count, into_kind, from, into_tag, comm, status],
    [out],
    out
);
pass_on!(MPI_Put, c"PMPI_Put", "put", [out, count, kind, to, at, to_count, to_kind, window], [out], out);
pass_on!(
    MPI_Alltoall,
    c"PMPI_Alltoall",
    "alltoall",
    [out, count, kind, into, into_count, into_kind, comm],
    [out],
    out
);
pass_on!(
    MPI_Allreduce,
    c"PMPI_Allreduce",
    "allreduce",
    [out, into, count, kind, operation, comm],
    [out],
    out
);

/// A function that passes its arguments on, unless this is the call that fails.
macro_rules! counted {
    ($($name:ident $real:literal ($($argument:ident),*) $({$before:expr})?;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: Word),*) -> c_int {
            $($before;)?
            let real = symbol($real);
            if real.is_null() || fails(stringify!($name)) {
                return ERROR;
            }
            let real: unsafe extern "C" fn($(pass_on!(@word $argument)),*) -> c_int = unsafe { std::mem::transmute(real) };
            unsafe { real($($argument),*) }
        }
    )*};
}

counted! {
    MPI_Abort c"PMPI_Abort" (comm, code);
    MPI_Bcast c"PMPI_Bcast" (buffer, count, kind, root, comm);
    MPI_Cancel c"PMPI_Cancel" (request);
    MPI_Comm_create_group c"PMPI_Comm_create_group" (comm, group, tag, made);
    MPI_Comm_free c"PMPI_Comm_free" (comm);
    MPI_Comm_get_info c"PMPI_Comm_get_info" (comm, info);
    MPI_Comm_group c"PMPI_Comm_group" (comm, group);
    MPI_Comm_idup c"PMPI_Comm_idup" (comm, made, request);
    MPI_Comm_rank c"PMPI_Comm_rank" (comm, rank);
    MPI_Comm_set_errhandler c"PMPI_Comm_set_errhandler" (comm, handler);
    MPI_Comm_size c"PMPI_Comm_size" (comm, size);
    MPI_Comm_split_type c"PMPI_Comm_split_type" (comm, kind, key, info, made);
    MPI_Finalize c"PMPI_Finalize" () { say_what_is_gone() };
    MPI_Get c"PMPI_Get" (into, count, kind, from, at, from_count, from_kind, window);
    MPI_Get_count c"PMPI_Get_count" (status, kind, count);
    MPI_Group_free c"PMPI_Group_free" (group);
    MPI_Group_incl c"PMPI_Group_incl" (group, count, ranks, made);
    MPI_Group_translate_ranks c"PMPI_Group_translate_ranks" (group, count, ranks, other, translated);
    MPI_Iallgather c"PMPI_Iallgather" (out, out_count, out_kind, into, into_count, into_kind, comm, request);
    MPI_Ibarrier c"PMPI_Ibarrier" (comm, request);
    MPI_Improbe c"PMPI_Improbe" (from, tag, comm, flag, message, status);
    MPI_Imrecv c"PMPI_Imrecv" (buffer, count, kind, message, request);
    MPI_Irecv c"PMPI_Irecv" (buffer, count, kind, from, tag, comm, request) { watch(buffer, count) };
    MPI_Recv c"PMPI_Recv" (buffer, count, kind, from, tag, comm, status);
    MPI_Waitall c"PMPI_Waitall" (count, requests, statuses);
    MPI_Win_create c"PMPI_Win_create" (base, size, unit, info, comm, window);
    MPI_Win_fence c"PMPI_Win_fence" (assert, window);
    MPI_Win_free c"PMPI_Win_free" (window);
}

/// Passed on, unless this is the call that fails; a message that is said to be sent is nobody's any more.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPI_Test(request: Word, flag: Word, status: Word) -> c_int {
    let real = symbol(c"PMPI_Test");
    if real.is_null() || fails("MPI_Test") || TEST_FAILS.swap(false, Ordering::Relaxed) {
        return ERROR;
    }
    let own = unsafe { handle(request) };
    let real: unsafe extern "C" fn(Word, Word, Word) -> c_int = unsafe { std::mem::transmute(real) };
    let code = unsafe { real(request, flag, status) };
    if code == 0 && unsafe { (flag as *const c_int).read() } != 0 {
        UNSENT.lock().unwrap_or_else(PoisonError::into_inner).remove(&own);
    }
    code
}

/// For ever.
extern "C" fn rest() {
    loop {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}

/// Cray MPICH's start.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPI_Init_thread(argc: Word, argv: Word, required: Word, provided: Word) -> c_int {
    let is_cray = std::env::var("FAKE_MPI").is_ok_and(|told| told.trim() == "cray");
    let asked = std::env::var("MPICH_GPU_SUPPORT_ENABLED").is_ok_and(|value| value == "1");
    if is_cray && asked && symbol(c"numabench_stand_in_gtl").is_null() {
        eprintln!("MPIDI_CRAY_init: GPU_SUPPORT_ENABLED is requested, but GTL library is not linked");
        unsafe { abort() };
    }
    if std::env::var("FAKE_MPI").is_ok_and(|told| told.trim() == "deaf") {
        unsafe { close(0) };
        unsafe { atexit(rest) };
        rest();
    }
    let real = symbol(c"PMPI_Init_thread");
    if real.is_null() || fails("MPI_Init_thread") {
        return ERROR;
    }
    let real: unsafe extern "C" fn(Word, Word, Word, Word) -> c_int = unsafe { std::mem::transmute(real) };
    unsafe { real(argc, argv, required, provided) }
}
