//! The file that the hook of `numabench witness` writes for each process: words of 64 bits in the machine's
//! byte order, at fixed places.
//!
//! The hook maps the file and adds to its words, so what was counted is there even if the program crashes.
//! This file has no dependency: the hook's crate includes it, and both sides agree by construction. A change
//! of it is a new [`VERSION`].

/// The first word of a record.
pub const MAGIC: u64 = 0x6e75_6d61_7769_7431;
/// The second word.
pub const VERSION: u64 = 2;
/// The folder's file that each process with the hook adds a byte to.
pub const LOADED: &str = "loaded";
/// The variable that names the folder.
pub const FOLDER: &str = "NUMABENCH_WITNESS";
/// The variable that asks for more than samples: letters of `t` (time every copy) and `p` (look at every
/// page).
pub const ALL: &str = "NUMABENCH_WITNESS_ALL";

/// Words of the head.
pub mod head {
    /// [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// [`super::VERSION`].
    pub const VERSION: usize = 1;
    /// The process.
    pub const PID: usize = 2;
    /// `CLOCK_MONOTONIC` at the first copy, nanoseconds.
    pub const BEGAN_NS: usize = 3;
    /// 1 after the exit handler has run: nothing is left in the queues.
    pub const ENDED: usize = 4;
    /// Copies whose pages were to be looked at, those without room in the queue, and those looked at.
    pub const LOOKS: usize = 5;
    /// See [`LOOKS`].
    pub const LOOKS_DROPPED: usize = 6;
    /// See [`LOOKS`].
    pub const LOOKS_DONE: usize = 7;
    /// Copies that events were recorded around, and those whose time was read.
    pub const TIMINGS: usize = 8;
    /// See [`TIMINGS`].
    pub const TIMINGS_READ: usize = 9;
    /// Copies between devices or within one: count and bytes.
    pub const DEVICE_COPIES: usize = 10;
    /// See [`DEVICE_COPIES`].
    pub const DEVICE_BYTES: usize = 11;
    /// Prefetches of managed memory: count and bytes.
    pub const PREFETCHES: usize = 12;
    /// See [`PREFETCHES`].
    pub const PREFETCH_BYTES: usize = 13;
    /// Copies from host memory to host memory: count and bytes.
    pub const HOST_COPIES: usize = 14;
    /// See [`HOST_COPIES`].
    pub const HOST_BYTES: usize = 15;
    /// Launches of graphs whose copies were counted.
    pub const GRAPHS: usize = 16;
    /// Launches of graphs whose copies were not counted: nodes were changed after the graph was instantiated,
    /// or there was no room to keep them.
    pub const GRAPHS_UNSEEN: usize = 17;
    /// Copies that the driver refused.
    pub const REFUSED: usize = 18;
    /// Copies that found no entry: count and bytes.
    pub const LOST: usize = 19;
    /// See [`LOST`].
    pub const LOST_BYTES: usize = 20;
    /// 1 if the driver says that it simulates devices.
    pub const SIMULATED: usize = 21;
    /// The kernel's error of `move_pages`, if it refused.
    pub const PAGES_ERROR: usize = 22;
    /// Functions of a second driver in the process, which are not watched.
    pub const OTHER_DRIVER: usize = 23;
    /// Copies recorded into a graph by a stream's capture: they happen when the graph is launched.
    pub const CAPTURED: usize = 24;
    /// The page size in bytes.
    pub const PAGE: usize = 25;
    /// The length of the program's name, then its bytes (at most 16).
    pub const NAME: usize = 26;
    /// How many words.
    pub const WORDS: usize = 32;
}

/// Contexts that copies were made in.
pub mod context {
    /// Where they begin.
    pub const AT: usize = super::head::WORDS;
    /// How many there can be.
    pub const COUNT: usize = 64;
    /// Words of each: the PCI address as text, with a zero byte at its end, and [`PLATFORM`].
    pub const WORDS: usize = 5;
    /// Whose driver the context is of.
    pub const PLATFORM: usize = 4;
    /// NVIDIA's.
    pub const CUDA: u64 = 1;
    /// AMD's HIP.
    pub const HIP: u64 = 2;
}

/// Entries: one for a host address, a context, a direction and a kind of memory.
pub mod entry {
    /// Where they begin.
    pub const AT: usize = super::context::AT + super::context::COUNT * super::context::WORDS;
    /// How many there can be.
    pub const COUNT: usize = 4096;
    /// Words of each.
    pub const WORDS: usize = 96;
    /// 0 empty, 1 being filled, 2 filled.
    pub const STATE: usize = 0;
    /// The host address; 0 for all addresses that found no entry of their own.
    pub const ADDRESS: usize = 1;
    /// The context's place × 65536 + direction × 256 + kind of memory.
    pub const KEY: usize = 2;
    /// Copies.
    pub const COPIES: usize = 3;
    /// Their bytes.
    pub const BYTES: usize = 4;
    /// The end of the largest copy.
    pub const END: usize = 5;
    /// The allocation that the driver knows there: its start and bytes.
    pub const RANGE: usize = 6;
    /// See [`RANGE`].
    pub const RANGE_BYTES: usize = 7;
    /// Bytes of copies that blocked, how many of these were timed by the host's clock, their bytes and the
    /// time.
    pub const BLOCKING_BYTES: usize = 8;
    /// See [`BLOCKING_BYTES`].
    pub const WAITED: usize = 9;
    /// See [`BLOCKING_BYTES`].
    pub const WAITED_BYTES: usize = 10;
    /// See [`BLOCKING_BYTES`].
    pub const WAITED_NS: usize = 11;
    /// Copies timed by events, their bytes and the time.
    pub const TIMED: usize = 12;
    /// See [`TIMED`].
    pub const TIMED_BYTES: usize = 13;
    /// See [`TIMED`].
    pub const TIMED_NS: usize = 14;
    /// Bytes on pages that were looked at without a node: not there any more, or never written.
    pub const NOWHERE: usize = 15;
    /// Bytes that were looked at on nodes of a higher number than there are words for.
    pub const HIGHER_NODES: usize = 16;
    /// Bytes that were looked at on each node.
    pub const NODES: usize = 32;
    /// How many nodes.
    pub const NODE_COUNT: usize = WORDS - NODES;
}

/// Directions, as keys have them.
pub mod direction {
    /// From host memory to a device.
    pub const TO_DEVICE: u64 = 1;
    /// From a device to host memory.
    pub const TO_HOST: u64 = 2;
}

/// Kinds of host memory, as keys have them.
pub mod memory {
    /// Memory that the driver does not know.
    pub const PAGEABLE: u64 = 1;
    /// Pinned.
    pub const PINNED: u64 = 2;
    /// Managed.
    pub const MANAGED: u64 = 3;
}

/// Words of a whole record.
pub const WORDS: usize = entry::AT + entry::COUNT * entry::WORDS;
