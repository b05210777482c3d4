//! What is asked of the kernel and of NVML that no other crate asks safely: one file a noun, each call once,
//! behind a safe function.
//!
//! What rustix has is asked of rustix, where it is needed. Raw system calls rather than hwloc or libnuma for
//! the rest, because each has a trap that must not be hidden: hwloc's area binding is only a preference
//! without STRICT, libc's `cpu_set_t` ends at PU 1023, and libnuma exits the process on some errors. Nothing
//! here decides anything.

pub mod affinity;
pub mod begun;
pub mod child;
pub mod clock;
pub mod environment;
pub mod file_ownership;
pub mod host_memory;
pub mod linker_path;
pub mod mapping;
pub mod nvml;
pub mod policy;
pub mod program;
pub mod shared;
pub mod signals;
pub mod word_sums;

mod mask;
mod memory_nodes;

pub use host_memory::{HeapMemory, HostMemory, MemoryKind};
pub use mapping::Mapping;

use std::io;

/// What a system call answered: its value, or its error.
fn checked(answer: libc::c_long) -> io::Result<libc::c_long> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}
