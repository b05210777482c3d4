//! What is asked of libc and the kernel, declared here: this library depends on nothing. glibc's `dlsym`, and
//! the driver's functions.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::gpu_api::GpuApi;

/// `RTLD_NEXT`.
pub const NEXT: *mut c_void = usize::MAX as *mut c_void;
const RTLD_LAZY: c_int = 1;
const RTLD_NOLOAD: c_int = 4;
const O_WRONLY: c_int = 1;
const O_RDWR: c_int = 2;
const O_CREAT: c_int = 0o100;
const O_TRUNC: c_int = 0o1000;
const O_APPEND: c_int = 0o2000;
const O_CLOEXEC: c_int = 0o2_000_000;
const PROT_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;
const RLIMIT_FSIZE: c_int = 1;
const SIG_SETMASK: c_int = 2;
const CLOCK_MONOTONIC: c_int = 1;
const PR_GET_NAME: c_int = 16;
const SC_PAGESIZE: c_int = 30;
const FUTEX_WAIT_PRIVATE: c_long = 128;
const FUTEX_WAKE_PRIVATE: c_long = 129;
const MPOL_F_NODE_ADDR: c_long = 3;

#[cfg(target_arch = "x86_64")]
mod numbers {
    use core::ffi::c_long;
    pub const MOVE_PAGES: c_long = 279;
    pub const GET_MEMPOLICY: c_long = 239;
    pub const FUTEX: c_long = 202;
}
#[cfg(target_arch = "aarch64")]
mod numbers {
    use core::ffi::c_long;
    pub const MOVE_PAGES: c_long = 239;
    pub const GET_MEMPOLICY: c_long = 236;
    pub const FUTEX: c_long = 98;
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    fn getpid() -> c_int;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(file: c_int) -> c_int;
    fn write(file: c_int, bytes: *const c_void, len: usize) -> isize;
    fn posix_fallocate(file: c_int, offset: i64, len: i64) -> c_int;
    fn mmap(
        at: *mut c_void,
        len: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn getrlimit(which: c_int, limit: *mut [u64; 2]) -> c_int;
    fn clock_gettime(clock: c_int, to: *mut Timespec) -> c_int;
    fn sched_yield() -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn sysconf(name: c_int) -> c_long;
    fn syscall(number: c_long, ...) -> c_long;
    fn __errno_location() -> *mut c_int;
    fn atexit(handler: extern "C" fn()) -> c_int;
    fn pthread_atfork(
        before: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
    fn pthread_create(
        thread: *mut usize,
        attributes: *const c_void,
        body: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_detach(thread: usize) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const [u64; 16], old: *mut [u64; 16]) -> c_int;
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dl_iterate_phdr(
        look: extern "C" fn(*const [*const c_char; 2], usize, *mut c_void) -> c_int,
        with: *mut c_void,
    ) -> c_int;
    fn dladdr(address: *const c_void, about: *mut [*const c_void; 4]) -> c_int;
    fn dlclose(handle: *mut c_void) -> c_int;
}

/// The number of the last error.
pub fn errno() -> c_int {
    // SAFETY: the address of this thread's own number.
    unsafe { *__errno_location() }
}

/// Keeps the program's `errno` over what is done meanwhile: a driver's caller may look at it.
pub fn with_errno_kept<T>(act: impl FnOnce() -> T) -> T {
    let before = errno();
    let done = act();
    // SAFETY: the address of this thread's own number.
    unsafe { *__errno_location() = before };
    done
}

/// A variable of the environment, as C text.
pub fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: a name that ends.
    let text = unsafe { getenv(name.as_ptr()) };
    // SAFETY: what is not null is a text that ends; programs that change it race with every getenv.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// This process.
pub fn pid() -> u32 {
    // SAFETY: it has no conditions.
    unsafe { getpid() }.cast_unsigned()
}

/// Adds a byte to a file that exists.
pub fn append_byte(path: &CStr) {
    // SAFETY: a path that ends.
    let file = unsafe { open(path.as_ptr(), O_WRONLY | O_APPEND | O_CLOEXEC) };
    if file >= 0 {
        // SAFETY: a byte that lives, and a file that is open.
        unsafe { write(file, b"1".as_ptr().cast(), 1) };
        // SAFETY: it is ours.
        unsafe { close(file) };
    }
}

/// Makes an empty file; whether that worked.
pub fn make_file(path: &CStr) -> bool {
    // SAFETY: a path that ends, and the mode that O_CREAT takes.
    let file = unsafe { open(path.as_ptr(), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) };
    if file >= 0 {
        // SAFETY: it is ours.
        unsafe { close(file) };
    }
    file >= 0
}

/// Says a line on standard error.
pub fn say(text: &[u8]) {
    // SAFETY: bytes that live.
    unsafe { write(2, text.as_ptr().cast(), text.len()) };
}

/// Maps a new file of this size whose blocks are reserved, so that no write to it can fail later; the
/// kernel's error otherwise.
pub fn map_new_file(path: &CStr, len: usize) -> Result<*mut u8, c_int> {
    let mut limit = [u64::MAX; 2];
    // SAFETY: room for the two numbers.
    unsafe { getrlimit(RLIMIT_FSIZE, &raw mut limit) };
    let [most, _] = limit;
    if most < len as u64 {
        // Beyond the limit the kernel sends a signal that ends the program.
        return Err(27);
    }

    // SAFETY: a path that ends, and the mode that O_CREAT takes.
    let file = unsafe { open(path.as_ptr(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600) };
    if file < 0 {
        return Err(errno());
    }

    // SAFETY: a file that is open.
    let reserved = unsafe { posix_fallocate(file, 0, len as i64) };
    let mapped = if reserved == 0 {
        // SAFETY: a new mapping of a file of this size.
        let at = unsafe { mmap(null_mut(), len, PROT_READ_WRITE, MAP_SHARED, file, 0) };
        if at.addr() == usize::MAX { Err(errno()) } else { Ok(at.cast()) }
    } else {
        Err(reserved)
    };

    // SAFETY: it is ours; a mapping stays without it.
    unsafe { close(file) };
    mapped
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn now_ns() -> u64 {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: room for the time.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &raw mut now) };
    now.seconds.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(now.nanoseconds.cast_unsigned())
}

/// Lets others run.
pub fn pause() {
    // SAFETY: it has no conditions.
    unsafe { sched_yield() };
}

/// This thread's name.
pub fn name() -> [u8; 16] {
    let mut name = [0_u8; 16];
    // SAFETY: room for the sixteen bytes that the kernel writes.
    unsafe { prctl(PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// Bytes of a page.
pub fn page_size() -> usize {
    // SAFETY: it has no conditions.
    usize::try_from(unsafe { sysconf(SC_PAGESIZE) })
        .ok()
        .filter(|size| size.is_power_of_two())
        .unwrap_or(4096)
}

/// Waits until the word is no longer `seen`, or for some milliseconds.
pub fn wait(word: &AtomicU32, seen: u32, milliseconds: u32) {
    let time = Timespec { seconds: 0, nanoseconds: i64::from(milliseconds) * 1_000_000 };
    // SAFETY: the word and the time live for the call.
    unsafe {
        syscall(numbers::FUTEX, word.as_ptr(), FUTEX_WAIT_PRIVATE, c_long::from(seen), &raw const time)
    };
}

/// Wakes the one that waits for a change of the word.
pub fn wake(word: &AtomicU32) {
    word.fetch_add(1, Ordering::AcqRel);
    // SAFETY: the word lives.
    unsafe { syscall(numbers::FUTEX, word.as_ptr(), FUTEX_WAKE_PRIVATE, 1 as c_long) };
}

/// The nodes of pages of this process: `status` gets a node or a negative error for each. The kernel's error
/// if it refuses.
pub fn nodes_of(pages: &[usize], status: &mut [c_int]) -> Result<(), c_int> {
    let count = pages.len().min(status.len());
    let nowhere: *const c_void = core::ptr::null();
    // SAFETY: both arrays have so many elements; without wanted nodes nothing is moved.
    let done = unsafe {
        syscall(
            numbers::MOVE_PAGES,
            0 as c_long,
            count,
            pages.as_ptr(),
            nowhere,
            status.as_mut_ptr(),
            0 as c_long,
        )
    };
    if done < 0 { Err(errno()) } else { Ok(()) }
}

/// The node of one page by the other call, for containers that forbid `move_pages`; negative if unknown. Not
/// for managed memory, whose page it would bring from the GPU.
pub fn node_at(address: usize) -> c_int {
    let mut node: c_int = -1;
    let none: *const c_void = core::ptr::null();
    // SAFETY: room for the node; the kernel may bring the page in, and changes none of its bytes.
    let done = unsafe {
        syscall(numbers::GET_MEMPOLICY, &raw mut node, none, 0 as c_long, address, MPOL_F_NODE_ADDR)
    };
    if done < 0 { -1 } else { node }
}

/// Has a function run at the program's end; whether it is registered.
pub fn at_exit(handler: extern "C" fn()) -> bool {
    // SAFETY: a function of this library, which is never unloaded: it is preloaded.
    unsafe { atexit(handler) == 0 }
}

/// Has a function run in every fork's child.
pub fn in_children(handler: extern "C" fn()) {
    // SAFETY: as for `at_exit`.
    unsafe { pthread_atfork(None, None, Some(handler)) };
}

/// Starts a thread that gets no signal; whether it runs.
pub fn start_thread(body: extern "C" fn(*mut c_void) -> *mut c_void) -> bool {
    let (all, mut before, mut thread) = ([u64::MAX; 16], [0_u64; 16], 0_usize);
    // SAFETY: both sets have the size of a sigset_t.
    unsafe { pthread_sigmask(SIG_SETMASK, &raw const all, &raw mut before) };
    // SAFETY: a function that takes nothing, and default attributes.
    let made = unsafe { pthread_create(&raw mut thread, core::ptr::null(), body, null_mut()) } == 0;
    // SAFETY: the set that was there.
    unsafe { pthread_sigmask(SIG_SETMASK, &raw const before, null_mut()) };
    if made {
        // SAFETY: a thread that nobody joins.
        unsafe { pthread_detach(thread) };
    }
    made
}

/// glibc's `dlsym`, once it is known.
pub static REAL_DLSYM: AtomicUsize = AtomicUsize::new(0);

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// glibc's own `dlsym`, by its oldest version.
pub fn real_dlsym() -> Dlsym {
    #[cfg(target_arch = "x86_64")]
    let version = c"GLIBC_2.2.5";
    #[cfg(target_arch = "aarch64")]
    let version = c"GLIBC_2.17";
    let mut address = REAL_DLSYM.load(Ordering::Acquire);
    if address == 0 {
        // SAFETY: names that end.
        address = unsafe { dlvsym(NEXT, c"dlsym".as_ptr(), version.as_ptr()) }.addr();
        REAL_DLSYM.store(address, Ordering::Release);
    }
    // SAFETY: glibc's dlsym: every glibc with this library's version has it.
    unsafe { core::mem::transmute::<usize, Dlsym>(address) }
}

/// The driver's function of this name, if its library is loaded.
pub fn driver_function(api: GpuApi, name: &CStr) -> Option<usize> {
    let real = real_dlsym();
    // SAFETY: a name that ends; the next library after this one that exports it.
    let next = unsafe { real(NEXT, name.as_ptr()) }.addr();
    if next != 0 {
        return Some(next);
    }
    let library = loaded_library(api.library());
    // SAFETY: a handle of a library that stays loaded.
    let found = if library.is_null() { 0 } else { unsafe { real(library, name.as_ptr()) }.addr() };
    (found != 0).then_some(found)
}

/// What is looked for among the loaded libraries, and the path where it is.
struct Search {
    file_name: &'static [u8],
    path: *const c_char,
}

extern "C" fn compare(about: *const [*const c_char; 2], _: usize, search: *mut c_void) -> c_int {
    // SAFETY: what the dynamic linker and `loaded_library` give; a library's path is the second word.
    let (Some([_, path]), Some(search)) =
        (unsafe { about.as_ref() }, unsafe { search.cast::<Search>().as_mut() })
    else {
        return 0;
    };
    // SAFETY: a path that ends.
    let text = unsafe { CStr::from_ptr(*path) }.to_bytes();
    let is_it =
        text.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(search.file_name));
    if is_it {
        search.path = *path;
    }
    c_int::from(is_it)
}

/// The handle of the library whose file's name begins so, if it is loaded; the program keeps it loaded.
fn loaded_library(file_name: &'static [u8]) -> *mut c_void {
    let mut search = Search { file_name, path: core::ptr::null() };
    // SAFETY: a function that takes what the dynamic linker gives, and room that lives for the call.
    unsafe { dl_iterate_phdr(compare, (&raw mut search).cast()) };
    if search.path.is_null() {
        return null_mut();
    }

    // SAFETY: a path that ends; nothing is loaded by it.
    let handle = unsafe { dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD) };
    if !handle.is_null() {
        // SAFETY: the count that this call added.
        unsafe { dlclose(handle) };
    }
    handle
}

/// Whether two addresses are of one library.
pub fn are_of_one_library(one: usize, other: usize) -> bool {
    let base = |address: usize| {
        let mut about = [core::ptr::null(); 4];
        // SAFETY: room for the four pointers of Dl_info; any address may be asked for.
        let known = unsafe { dladdr(address as *const c_void, &raw mut about) } != 0;
        let [_, base, _, _] = about;
        known.then_some(base.addr())
    };
    base(one).is_some() && base(one) == base(other)
}
