//! The C interface between numabench and the MPI plug-in: one exported function, which gives a table of
//! functions.
//!
//! An MPI has no binary interface in common with another one: Open MPI's handles are pointers, MPICH's are
//! integers. So what calls MPI is built against the site's own, as a library that is opened at run time, and
//! between the two there is only this: integers, bytes, text.
//!
//! Both sides may come from different builds. The symbol's name holds the major version; a table says its
//! version and its own size, and one that grows at its end stays readable for those who know less of it.
//!
//! All functions of the table are called from one thread, the one that called `start`. `library` and
//! `trouble` may be called before it.

use std::ffi::{CStr, c_int, c_uint};

/// The version of this interface.
pub const VERSION: c_uint = 1;

/// The exported function: of type [`Entry`].
pub const SYMBOL: &CStr = c"numabench_mpi_v1";

/// What the plug-in's file is called.
pub const FILE_NAME: &str = "libnumabench_mpi.so";

/// It was done.
pub const DONE: c_int = 0;
/// There is nothing (yet).
pub const NOTHING: c_int = 1;
/// It failed; `trouble` says how.
pub const FAILED: c_int = -1;

/// The exported function. The table it gives lives as long as the library is open.
pub type Entry = unsafe extern "C" fn() -> *const FunctionTable;

/// Where this process stands in its launch, and how MPI was started.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RawPlace {
    /// Number in the launch.
    pub rank: u32,
    /// Processes in the launch.
    pub size: u32,
    /// Number of its node.
    pub node: u32,
    /// Nodes.
    pub nodes: u32,
    /// Number on its node.
    pub node_rank: u32,
    /// Processes on its node.
    pub node_size: u32,
    /// The thread level MPI gave: 0 single, 1 funneled, 2 serialized, 3 multiple. (MPI's own numbers differ.)
    /// Before the start the one that is wanted, plus one; 0 is serialized.
    pub thread_level: u32,
}

/// The plug-in's functions. All integers they return are [`DONE`], [`NOTHING`] or [`FAILED`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FunctionTable {
    /// [`VERSION`] of the plug-in's build.
    pub version: c_uint,
    /// Bytes of the table in the plug-in's build.
    pub bytes: c_uint,

    /// Writes the MPI library's own version text, UTF-8 without a NUL and cut to `capacity` bytes; returns
    /// its full length.
    pub library: unsafe extern "C" fn(buffer: *mut u8, capacity: usize) -> usize,

    /// Writes what failed last, as `library` does: the call, a newline, and what it said.
    pub trouble: unsafe extern "C" fn(buffer: *mut u8, capacity: usize) -> usize,

    /// MPI_Init_thread with the level that `raw` wants, and finds this process's place. Collective.
    pub start: unsafe extern "C" fn(raw: *mut RawPlace) -> c_int,

    /// Sends `length` bytes to rank `to` without waiting; they are copied.
    pub post: unsafe extern "C" fn(to: u32, bytes: *const u8, length: usize) -> c_int,

    /// Moves all messages along. [`DONE`]: one is at hand, `from` and `length` say whose and how long, and
    /// `take` comes next.
    pub collect: unsafe extern "C" fn(from: *mut u32, length: *mut usize) -> c_int,

    /// Writes the message at hand, whose length is `capacity`, to `buffer`, and forgets it.
    pub take: unsafe extern "C" fn(buffer: *mut u8, capacity: usize) -> c_int,

    /// MPI_Abort of the whole launch. May return.
    pub abort: unsafe extern "C" fn(code: c_int),

    /// Waits for what was posted to be received and for everybody to come here (for seconds at most, then it
    /// fails), and MPI_Finalize.
    pub leave: unsafe extern "C" fn() -> c_int,

    /// MPI_Send of `bytes` bytes at an address, which may be a device's. Blocks.
    pub send: unsafe extern "C" fn(to: u32, address: usize, bytes: usize) -> c_int,

    /// MPI_Recv of as many to an address. Blocks.
    pub receive: unsafe extern "C" fn(from: u32, address: usize, bytes: usize) -> c_int,

    /// MPI_Isend: the bytes stay as they are until `wait_all`.
    pub start_send: unsafe extern "C" fn(to: u32, address: usize, bytes: usize) -> c_int,

    /// MPI_Irecv: nobody looks at the bytes before `wait_all`.
    pub start_receive: unsafe extern "C" fn(from: u32, address: usize, bytes: usize) -> c_int,

    /// MPI_Waitall of what was started.
    pub wait_all: unsafe extern "C" fn() -> c_int,

    /// An [`PairOperation`] of this rank and `with`, which both call. Blocks.
    pub operate:
        unsafe extern "C" fn(operation: u32, with: u32, out: usize, into: usize, bytes: usize) -> c_int,

    /// Writes what the library says of its own support of GPUs, a line each, as `library` does.
    pub said: unsafe extern "C" fn(buffer: *mut u8, capacity: usize) -> usize,
}

/// What two ranks do together beside sending and receiving. The lower one is the one with the lower number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum PairOperation {
    /// MPI_Sendrecv: each one's `out` to the other's `into`.
    Sendrecv = 0,
    /// MPI_Bcast: the lower one's `out` to the other's `into`.
    Broadcast = 1,
    /// MPI_Allreduce, sums of 32-bit floats: both get the sums of both `out` in `into`.
    Allreduce = 2,
    /// MPI_Alltoall: half of each one's `out` to each one's `into`.
    Alltoall = 3,
    /// MPI_Put: the lower one's `out` to the other's `into`.
    Put = 4,
    /// MPI_Get: the lower one's `into` from the other's `out`.
    Get = 5,
}

impl PairOperation {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Sendrecv, Self::Broadcast, Self::Allreduce, Self::Alltoall, Self::Put, Self::Get];
}
