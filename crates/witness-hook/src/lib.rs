//! The hook of `numabench witness` and `numabench exec --workers`: preloaded into a program, it counts the
//! copies that a GPU's driver makes for it, and where the host memory of these copies lies; or it binds the
//! workers of an engine to the GPU that each opens first.
//!
//! The driver is NVIDIA's, or AMD's library (`gpu_api`). A call comes here in one of three ways: the
//! program is linked with the function (`cuda` and `hip` export their names; `hook` is one of them), it
//! asks `dlsym` for it (`lookup`), or the driver itself (`asked`; the CUDA runtime does). Each wrapper
//! (`hooks`) calls the driver, and `watch` adds what was copied (`span`) to the `record`: a mapped file,
//! which outlives the program however it ends (`session` begins and ends it). Of HIP on top of CUDA's
//! driver the program's own calls count, and not those that they become. What takes longer is done by a
//! thread of this library (`helper`): it finds the NUMA nodes of pages (`pages`) and reads the time between
//! events (`timing`), in the driver only while the `gate` is open. `driver` is what this library asks the
//! driver; `contexts` says which GPU a context is of, `memory_kind` whether memory is pinned, `captures`
//! whether a stream is being captured, `graphs` which copies a launched graph makes.
//!
//! Workers (`worker`) are bound by the first of the driver's calls that opens a device (`openings`), as a
//! variable says it (`table`), by system calls (`threads`).
//!
//! Rules: the program's results and return codes are the driver's own, and so is what HIP keeps as a thread's
//! last error. Nothing allocates, nothing takes a lock that the program can hold, and nothing can panic. If
//! something is not as expected, the hook counts nothing and leaves a file that says why (`session`).
//!
//! The layout of the record is that of the crate `witness`, the words of the variable are those of `exec`;
//! both are included here, since this library has no dependency.

#![allow(
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::multiple_unsafe_ops_per_block,
    reason = "the driver's names, its conditions, and its structures read field by field"
)]

mod captures;
mod contexts;
#[macro_use]
mod hook;
mod asked;
mod cuda;
mod driver;
mod gate;
mod gpu_api;
mod graphs;
mod helper;
mod hip;
mod hooks;
#[path = "../../witness/src/layout.rs"]
#[allow(dead_code, reason = "the reader uses the rest")]
mod layout;
mod lookup;
mod memory_kind;
mod openings;
mod pages;
mod record;
mod session;
mod span;
mod sys;
mod table;
mod text;
mod threads;
mod timing;
mod volume;
mod watch;
mod worker;
#[path = "../../exec/src/worker_table.rs"]
mod worker_table;
