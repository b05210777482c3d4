//! Host memory that lies where it was told to: mapped, advised, bound strictly to one node, then touched by
//! the bound thread.
//!
//! The order matters: a page is placed when it is first touched, and a driver that pins a page pins it where
//! it lies. That the pages are where they should be is not assumed here but looked up, in
//! `observed_placement`.
//!
//! A strict binding holds whoever touches a page first, so large ranges are touched by several threads at
//! once: zeroing pages takes one core four times as long as it takes four.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

use stats::IdSet;
use stats::stage::Stage;
use sys::mapping::{HUGE_PAGE_BYTES, Mapping, Reserve};
use sys::policy::{MemoryNodes, NodeUse};
use topo::Topology;

use crate::bound::Bound;
use crate::failure::Failure;

/// Each thread that helps has at least so much to touch: less takes no longer than starting a thread.
const HELPED_BYTES: usize = 16 << 20;
/// More threads than these are not faster: the kernel's zeroing is then at the memory's own bandwidth.
const MOST_HELPERS: usize = 8;

/// A mapping of its own on one node.
#[derive(Debug)]
pub struct PlacedMemory(Mapping);

/// The PUs whose threads help to write large ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Helpers(pub IdSet);

/// How a run places host memory on this machine, whatever the range and its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacingRules {
    /// Who helps to touch and to write it.
    pub helpers: Helpers,
    /// Whether the machine has no other node, so that a kernel that refuses to bind memory does no harm.
    pub one_node: bool,
    /// Whether it may use huge pages.
    pub huge_pages: bool,
}

impl PlacingRules {
    /// On this machine: every PU that this process may use helps.
    pub fn on(topology: &Topology, huge_pages: bool) -> Self {
        let helpers = Helpers(topology.allowed.pus.clone());
        Self { helpers, one_node: topology.machine_has_one_node(), huge_pages }
    }
}

impl Helpers {
    /// How many threads help to touch this many bytes.
    fn threads(&self, len: usize) -> usize {
        self.0.iter().count().min(MOST_HELPERS).min(len / HELPED_BYTES).max(1)
    }

    /// Has every byte of a large range written: by threads on these PUs and the calling one, each of which is
    /// given parts with their offsets, multiples of `grain`.
    pub fn share(&self, bytes: &mut [u8], grain: usize, write: impl Fn(usize, &mut [u8]) + Sync) {
        let part = bytes.len().div_ceil(self.threads(bytes.len())).next_multiple_of(grain.max(1)).max(1);
        let parts: Vec<(usize, &mut [u8])> = (0..).step_by(part).zip(bytes.chunks_mut(part)).collect();
        let (helping, left) = (parts.len().saturating_sub(1), Mutex::new(parts.into_iter()));
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let write_all = || std::iter::from_fn(next).for_each(|(at, part)| write(at, part));

        thread::scope(|scope| {
            for _ in 0..helping {
                // Where no thread can be started (a limit of processes), those that are there do its part.
                let started = thread::Builder::new().spawn_scoped(scope, || {
                    // A helper that may not move there does its part all the same: the memory's binding holds
                    // for any thread.
                    let _ = sys::affinity::set(&self.0);
                    write_all();
                });
                if started.is_err() {
                    break;
                }
            }
            write_all();
        });
    }
}

impl PlacedMemory {
    /// `len` bytes on a node, or spread over several, every page touched.
    ///
    /// # Errors
    /// The kernel refused a step.
    pub fn new(
        _by: &Bound,
        len: usize,
        nodes: impl Into<MemoryNodes>,
        rules: &PlacingRules,
    ) -> Result<Self, Failure> {
        let nodes = nodes.into();
        let small = "ask for less memory or for fewer ranks";
        let mapping = Mapping::new(len, Reserve::Never);
        let mapping = mapping.map_err(|e| Failure::system(Stage::Allocate, "mmap", &e, small))?;

        // A kernel built without huge pages answers EINVAL; then there are none, on or off.
        match mapping.advise_huge_pages(rules.huge_pages) {
            Err(e) if e.raw_os_error() != Some(libc::EINVAL) => {
                return Err(Failure::system(Stage::Allocate, "madvise", &e, "forbid it huge pages"));
            }
            _ => {}
        }

        match mapping.bind(&nodes) {
            Err(error) if !(rules.one_node && refused(&error)) => {
                return Err(Failure::system(Stage::Allocate, "mbind", &error, &remedy(&nodes, &error)));
            }
            _ => {}
        }

        let mut memory = Self(mapping);
        memory.touch(&rules.helpers);
        Ok(memory)
    }

    /// `len` bytes that nobody has touched and nothing binds to a node: their pages come where they are first
    /// touched, and may move.
    ///
    /// # Errors
    /// The kernel has no such memory.
    pub fn untouched(len: usize, huge_pages: bool) -> Result<Self, Failure> {
        let small = "ask for less memory";
        let mapping = Mapping::new(len, Reserve::Never);
        let mapping = mapping.map_err(|e| Failure::system(Stage::Allocate, "mmap", &e, small))?;
        // A kernel without huge pages refuses; then there are none.
        let _ = mapping.advise_huge_pages(huge_pages);
        Ok(Self(mapping))
    }

    /// The whole range.
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// The whole range, to write. Its address and length are the same for the whole life of the value.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }

    /// The memory itself, for who takes it over: as a device does, or threads that share its words.
    pub fn into_mapping(self) -> Mapping {
        self.0
    }

    /// Writes to every page. The kernel kills a process that cannot get a page on the node it is bound to
    /// (there is no error to return from a touch), which is why the plan compares sizes with the node's
    /// memory beforehand.
    fn touch(&mut self, helpers: &Helpers) {
        helpers.share(self.bytes_mut(), HUGE_PAGE_BYTES, |_, part| touch(part));
    }
}

fn touch(part: &mut [u8]) {
    part.iter_mut().step_by(rustix::param::page_size()).for_each(|byte| *byte = 0);
    if let Some(last) = part.last_mut() {
        *last = 0;
    }
    // The compiler may not drop the writes: the range is reached through a pointer it knows nothing of.
    std::hint::black_box(part.as_mut_ptr());
}

/// The failure of a rank that is to use memory which it has not: the engine sets up before it asks for work.
pub fn no_memory() -> Failure {
    Failure::new(Stage::Allocate, "no memory was made")
}

/// Runs `allocate` with the calling thread's memory taken from these nodes: for memory that a driver
/// allocates itself. Afterwards the policy is what it was before:
/// `numactl`'s, where that started the process.
///
/// # Errors
/// The kernel refused the policy, or `allocate` failed.
pub fn with_memory_policy<T>(
    _by: &Bound,
    nodes: &MemoryNodes,
    one_node: bool,
    allocate: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    // Who may not ask for the policy may not set it either.
    let before = sys::policy::get();
    if let Err(error) = sys::policy::set(&nodes.nodes(), nodes.node_use) {
        if !(one_node && refused(&error)) {
            return Err(Failure::system(Stage::Allocate, "set_mempolicy", &error, &remedy(nodes, &error)));
        }
        return allocate();
    }

    let result = allocate();
    let restored = before.map_or_else(|_| sys::policy::lift(), |policy| sys::policy::restore(&policy));
    restored.map_err(|e| {
        Failure::system(
            Stage::Allocate,
            "set_mempolicy",
            &e,
            "the thread's memory policy could not be restored",
        )
    })?;
    result
}

/// Whether the kernel has no such call, or a container's filter forbids it.
fn refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS))
}

fn remedy(nodes: &MemoryNodes, error: &io::Error) -> String {
    if refused(error) {
        return "a container's seccomp filter forbids memory binding: run it with CAP_SYS_NICE (docker \
            --cap-add SYS_NICE)"
            .to_owned();
    }
    if nodes.node_use == NodeUse::WeightedInterleave && error.raw_os_error() == Some(libc::EINVAL) {
        return "the kernel has no interleaving by weight (Linux 6.9 and later have it): use interleave"
            .to_owned();
    }
    let nodes = nodes.nodes();
    let which = if nodes.len() == 1 { "node" } else { "one of nodes" };
    format!("{which} {nodes} may have no memory or not be allowed for this process; see numabench topo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::print_stdout, reason = "a test says what it leaves out")]
    fn the_policy_that_a_thread_had_is_there_again_after_a_driver_has_allocated() -> Result<(), Failure> {
        let pu = sys::affinity::current_pu().map_err(|e| Failure::system(Stage::Bind, "getcpu", &e, ""))?;
        thread::spawn(move || {
            let bound = Bound::to(pu)?;
            let node = IdSet::from_iter([0]);
            // As `numactl --membind=0` has it.
            if let Err(error) = sys::policy::set(&node, NodeUse::Bind) {
                println!("SKIPPED memory policies are not allowed here: {error}");
                return Ok(());
            }
            let read =
                || sys::policy::get().map_err(|e| Failure::system(Stage::Allocate, "get_mempolicy", &e, ""));
            let before = read()?;
            with_memory_policy(&bound, &0.into(), false, || Ok(()))?;
            assert_eq!(read()?, before);
            Ok(())
        })
        .join()
        .unwrap_or_else(|_| Err(Failure::new(Stage::Allocate, "the thread panicked")))
    }

    #[test]
    fn placed_memory_is_as_long_as_asked_and_writable_to_its_last_byte() -> Result<(), Failure> {
        let pu = sys::affinity::current_pu().map_err(|e| Failure::system(Stage::Bind, "getcpu", &e, ""))?;
        thread::spawn(move || {
            let bound = Bound::to(pu)?;
            let rules =
                PlacingRules { helpers: Helpers(IdSet::from_iter([pu])), one_node: true, huge_pages: true };
            for len in [1, 4096, (2 << 20) + 3, 3 * HELPED_BYTES + 5] {
                let mut memory = PlacedMemory::new(&bound, len, 0, &rules)?;
                memory.bytes_mut().fill(7);
                assert_eq!(memory.bytes().len(), len);
                assert!(memory.bytes().iter().all(|byte| *byte == 7));
            }
            Ok(())
        })
        .join()
        .unwrap_or_else(|_| Err(Failure::new(Stage::Allocate, "the thread panicked")))
    }
}
