//! Where the threads of this process may run, where the calling thread's memory comes from, how many pages
//! the process has and how they move, and a name that one process at a time can have: system calls for
//! `worker`.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

use crate::sys::errno;

/// Room for PUs in an affinity mask: the kernel's largest NR_CPUS is 8192.
pub type Pus = [u64; 128];
/// Room for nodes in a node mask: the kernel's MAX_NUMNODES is at most 1024.
pub type Nodes = [u64; 16];
/// The kernel reads one bit less of a node mask than it is told.
const NODE_BITS: usize = 16 * 64 + 1;

const MPOL_DEFAULT: c_int = 0;
const MPOL_PREFERRED: c_int = 1;
const MPOL_PREFERRED_MANY: c_int = 5;
/// Asks get_mempolicy(2) which nodes there may be memory from.
const MPOL_F_MEMS_ALLOWED: c_long = 1 << 2;
/// The bit of CAP_SYS_NICE, by which pages that are shared move as well, and the version of capget(2)'s
/// words.
const CAP_SYS_NICE: u32 = 1 << 23;
const CAPABILITY_VERSION: u32 = 0x2008_0522;
const EINVAL: c_int = 22;
const AF_UNIX: u16 = 1;
const SOCK_DGRAM_CLOEXEC: c_int = 0o2_000_002;
const O_CLOEXEC: c_int = 0o2_000_000;

#[cfg(target_arch = "x86_64")]
mod numbers {
    use core::ffi::c_long;
    pub const SCHED_SETAFFINITY: c_long = 203;
    pub const SCHED_GETAFFINITY: c_long = 204;
    pub const CAPGET: c_long = 125;
    pub const CAPSET: c_long = 126;
    pub const GETDENTS64: c_long = 217;
    pub const SET_MEMPOLICY: c_long = 238;
    pub const GET_MEMPOLICY: c_long = 239;
    pub const MIGRATE_PAGES: c_long = 256;
}
#[cfg(target_arch = "aarch64")]
mod numbers {
    use core::ffi::c_long;
    pub const SCHED_SETAFFINITY: c_long = 122;
    pub const SCHED_GETAFFINITY: c_long = 123;
    pub const CAPGET: c_long = 90;
    pub const CAPSET: c_long = 91;
    pub const GETDENTS64: c_long = 61;
    pub const SET_MEMPOLICY: c_long = 237;
    pub const GET_MEMPOLICY: c_long = 236;
    pub const MIGRATE_PAGES: c_long = 238;
}

#[repr(C)]
struct SocketName {
    family: u16,
    path: [u8; 108],
}

unsafe extern "C" {
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn read(file: c_int, to: *mut c_void, len: usize) -> isize;
    fn close(file: c_int) -> c_int;
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn bind(socket: c_int, name: *const SocketName, len: u32) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

fn done(answer: c_long) -> Result<(), c_int> {
    if answer < 0 { Err(errno()) } else { Ok(()) }
}

/// The PUs that a thread may run on; 0 is the calling one.
pub fn affinity(thread: u32) -> Option<Pus> {
    let mut pus: Pus = [0; 128];
    let room = size_of::<Pus>();
    // SAFETY: room for as many bytes as are said.
    let answer = unsafe { syscall(numbers::SCHED_GETAFFINITY, thread, room, pus.as_mut_ptr()) };
    done(answer).is_ok().then_some(pus)
}

/// Binds a thread to these PUs; 0 is the calling one.
pub fn bind_thread(thread: u32, pus: &Pus) -> Result<(), c_int> {
    // SAFETY: as many bytes as are said.
    done(unsafe { syscall(numbers::SCHED_SETAFFINITY, thread, size_of::<Pus>(), pus.as_ptr()) })
}

/// Gives the id of each thread of this process.
pub fn each(mut take: impl FnMut(u32)) {
    /// A directory's entry: its length stands at byte 16, its name begins at byte 19.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let mut room = [0_u64; 256];
    let Some(file) = open_file(c"/proc/self/task") else { return };

    loop {
        // SAFETY: room for as many bytes as are said.
        let read = unsafe { syscall(numbers::GETDENTS64, file, room.as_mut_ptr(), size_of_val(&room)) };
        let Some(read) = usize::try_from(read).ok().filter(|read| *read > 0) else { break };

        let mut bytes = room.iter().flat_map(|word| word.to_ne_bytes()).take(read);
        loop {
            let mut head = [0_u8; NAME];
            head.iter_mut().for_each(|to| *to = bytes.next().unwrap_or(0));
            let [.., low, high, _] = head;
            let length = usize::from(u16::from_ne_bytes([low, high]));
            let Some(rest) = length.checked_sub(NAME).filter(|_| length > LENGTH) else { break };

            let mut thread = Some(0_u32);
            let mut is_name = true;
            for byte in bytes.by_ref().take(rest) {
                is_name &= byte != 0;
                if is_name {
                    let digit = char::from(byte).to_digit(10);
                    thread = thread.zip(digit).map(|(all, digit)| all.wrapping_mul(10).wrapping_add(digit));
                }
            }
            thread.into_iter().filter(|thread| *thread > 0).for_each(&mut take);
        }
    }
    close_file(file);
}

/// Where the calling thread's memory comes from.
#[derive(Clone, Copy)]
pub struct Policy {
    mode: c_int,
    nodes: Nodes,
}

impl Policy {
    /// The calling thread's.
    pub fn now() -> Option<Self> {
        let (mut mode, mut nodes): (c_int, Nodes) = (0, [0; 16]);
        let none: *const c_void = core::ptr::null();
        // SAFETY: room for the mode, and for as many bits as are said.
        let answer = unsafe {
            syscall(numbers::GET_MEMPOLICY, &raw mut mode, nodes.as_mut_ptr(), NODE_BITS, none, 0 as c_long)
        };
        done(answer).is_ok().then_some(Self { mode, nodes })
    }

    /// Whether it is the one that all begin with.
    pub fn is_default(&self) -> bool {
        self.mode == MPOL_DEFAULT
    }

    /// Whether it only prefers nodes.
    pub fn prefers(&self) -> bool {
        self.mode == MPOL_PREFERRED || self.mode == MPOL_PREFERRED_MANY
    }

    /// Makes it the calling thread's again.
    pub fn restore(&self) {
        // Without a policy there is to be no node.
        let bits = if self.is_default() { 0 } else { NODE_BITS };
        // SAFETY: the kernel reads so many bits of the mask.
        unsafe { syscall(numbers::SET_MEMPOLICY, self.mode, self.nodes.as_ptr(), bits) };
    }
}

/// Has the calling thread's memory come from these nodes as long as they have some; from the first of them
/// before Linux 5.15.
pub fn prefer(nodes: &Nodes) -> Result<(), c_int> {
    // SAFETY: the kernel reads so many bits of the mask.
    let set = |mode: c_int, nodes: &Nodes| unsafe {
        done(syscall(numbers::SET_MEMPOLICY, mode, nodes.as_ptr(), NODE_BITS))
    };
    match set(MPOL_PREFERRED_MANY, nodes) {
        Err(EINVAL) => {
            let mut first: Nodes = [0; 16];
            if let Some((to, from)) = first.iter_mut().zip(nodes).find(|(_, from)| **from != 0) {
                *to = *from & from.wrapping_neg();
            }
            set(MPOL_PREFERRED, &first)
        }
        other => other,
    }
}

/// Moves the pages that only this process has to these nodes; whether all are there.
pub fn move_pages_to(nodes: &Nodes) -> Result<bool, c_int> {
    let (mut mode, mut others): (c_int, Nodes) = (0, [0; 16]);
    let none: *const c_void = core::ptr::null();
    // SAFETY: room for the mode, and for as many bits as are said.
    done(unsafe {
        syscall(
            numbers::GET_MEMPOLICY,
            &raw mut mode,
            others.as_mut_ptr(),
            NODE_BITS,
            none,
            MPOL_F_MEMS_ALLOWED,
        )
    })?;
    others.iter_mut().zip(nodes).for_each(|(other, near)| *other &= !near);

    let nice = NiceCapability::laid_down()?;
    // SAFETY: the kernel reads so many bits of both masks.
    let left =
        unsafe { syscall(numbers::MIGRATE_PAGES, 0 as c_long, NODE_BITS, others.as_ptr(), nodes.as_ptr()) };
    let moved = done(left).map(|()| left == 0);
    drop(nice);
    moved
}

/// The calling thread without CAP_SYS_NICE, with which pages that others share would move too; has it again
/// when this is dropped.
struct NiceCapability {
    header: [u32; 2],
    before: [u32; 6],
}

impl NiceCapability {
    fn laid_down() -> Result<Self, c_int> {
        // Of this thread: effective, permitted and inheritable bits, the lower 32 and then the upper.
        let (mut header, mut before) = ([CAPABILITY_VERSION, 0], [0_u32; 6]);
        // SAFETY: room for both words of the header and six words of capabilities.
        done(unsafe { syscall(numbers::CAPGET, header.as_mut_ptr(), before.as_mut_ptr()) })?;
        let held = Self { header, before };
        let mut without = before;
        without[0] &= !CAP_SYS_NICE;
        held.set(&without)?;
        Ok(held)
    }

    fn set(&self, words: &[u32; 6]) -> Result<(), c_int> {
        if self.before[0] & CAP_SYS_NICE == 0 {
            return Ok(());
        }
        // SAFETY: two words of a header and six of capabilities, none of which the thread may not have.
        done(unsafe { syscall(numbers::CAPSET, self.header.as_ptr(), words.as_ptr()) })
    }
}

impl Drop for NiceCapability {
    fn drop(&mut self) {
        // A thread may always take up what it is permitted.
        let _taken_up = self.set(&self.before);
    }
}

/// Pages of this process that are in memory, and those of them that no file stands behind.
pub fn resident_pages() -> Option<(u64, u64)> {
    let mut text = [0_u8; 128];
    let file = open_file(c"/proc/self/statm")?;
    // SAFETY: room for as many bytes as are said; the last one stays zero.
    unsafe { read(file, text.as_mut_ptr().cast(), text.len() - 1) };
    close_file(file);
    let text = CStr::from_bytes_until_nul(&text).ok()?.to_str().ok()?;
    let mut numbers = text.split_whitespace().skip(1).map_while(|number| number.parse::<u64>().ok());
    let all = numbers.next()?;
    Some((all, all.checked_sub(numbers.next()?)?))
}

/// Takes a name that one process of this machine can have at a time, without a file; the open socket, or the
/// kernel's error.
pub fn take_name(text: &[u8]) -> Result<c_int, c_int> {
    let mut name = SocketName { family: AF_UNIX, path: [0; 108] };
    // An abstract name begins with a zero byte.
    name.path.iter_mut().skip(1).zip(text).for_each(|(to, from)| *to = *from);
    let len = (size_of::<u16>() + 1 + text.len().min(107)) as u32;
    // SAFETY: it has no conditions.
    let file = unsafe { socket(c_int::from(AF_UNIX), SOCK_DGRAM_CLOEXEC, 0) };
    if file < 0 {
        return Err(errno());
    }

    // SAFETY: a socket that is open, and a name of at least this length.
    if unsafe { bind(file, &raw const name, len) } == 0 {
        return Ok(file);
    }
    let error = errno();
    close_file(file);
    Err(error)
}

fn open_file(path: &CStr) -> Option<c_int> {
    // SAFETY: a path that ends.
    let file = unsafe { open(path.as_ptr(), O_CLOEXEC) };
    (file >= 0).then_some(file)
}

/// Closes a file that this library opened.
pub fn close_file(file: c_int) {
    // SAFETY: it is ours.
    unsafe { close(file) };
}
