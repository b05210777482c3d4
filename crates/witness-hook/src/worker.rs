//! A worker of an engine that `numabench exec --workers` started: bound to the cores and the memory of the
//! GPU that it opens first.
//!
//! Once a process: later devices change nothing. All threads with the calling thread's affinity are bound;
//! the others have bound themselves, and stay. The memory policy is the calling thread's, since the kernel
//! has no call for another's, and prefers nodes: memory never runs out by it. Pages that only this process
//! has by then are moved to these nodes, if it has few enough for that not to be noticed.
//!
//! Nothing is bound in the engine itself (the process that `exec` became), in a process that numactl or
//! torchrun's `--numa-binding` bound or that bound itself, and for a GPU that the table does not have: its
//! affinity must be the engine's or a worker's, and the one that it began with. A fork's child begins anew. A
//! device that can't be opened after all leaves affinity and policy as they were; pages stay where they are.

use core::ffi::{CStr, c_int};
use core::fmt::Arguments;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use crate::gpu_api::GpuApi;
use crate::table::{self, AffinityOwner, GpuCores, Table, address_of, set_of};
use crate::text::Text;
use crate::threads::{self, Policy, Pus};
use crate::{driver, sys};

static STATE: AtomicU32 = AtomicU32::new(UNWANTED);
const UNWANTED: u32 = 0;
const UNDECIDED: u32 = 1;
const DECIDED: u32 = 2;
/// The PCI addresses of the device that decided, and of the last other one that was said.
static DEVICE: AtomicU64 = AtomicU64::new(NO_DEVICE);
static OTHER: AtomicU64 = AtomicU64::new(NO_DEVICE);
const NO_DEVICE: u64 = u64::MAX;
/// The affinity that this process began with, or was given here.
static GIVEN: [AtomicU64; 128] = [const { AtomicU64::new(0) }; 128];
/// The socket whose name stands for this worker's part of its GPU's cores.
static NAME: AtomicI32 = AtomicI32::new(-1);

/// A process with so many bytes in memory has nothing moved: that would take seconds.
const MOST_MOVED: u64 = 1 << 30;
/// Looks for threads that begin meanwhile.
const ROUNDS: usize = 4;
const EADDRINUSE: c_int = 98;

/// Keeps what `exec --workers` says, before the program runs.
pub fn load() {
    if table::keep() {
        threads::affinity(0).iter().for_each(keep_given);
        STATE.store(UNDECIDED, Ordering::Release);
        sys::in_children(in_child);
    }
}

fn keep_given(affinity: &Pus) {
    GIVEN.iter().zip(affinity).for_each(|(to, word)| to.store(*word, Ordering::Release));
}

fn is_given(affinity: &Pus) -> bool {
    GIVEN.iter().zip(affinity).all(|(given, word)| given.load(Ordering::Acquire) == *word)
}

/// A fork's child opens a device of its own, and the name is its parent's.
extern "C" fn in_child() {
    STATE.store(UNDECIDED, Ordering::Release);
    forget_name();
    for device in [&DEVICE, &OTHER] {
        device.store(NO_DEVICE, Ordering::Release);
    }
}

/// Whether this process is an engine's, or its worker.
pub fn is_wanted() -> bool {
    STATE.load(Ordering::Relaxed) != UNWANTED
}

/// Whether no device was opened yet.
pub fn is_undecided() -> bool {
    STATE.load(Ordering::Relaxed) == UNDECIDED
}

/// What the first call that opens a device did here.
pub struct Opening {
    bound: Option<Bound>,
}

/// What a call that failed takes back.
struct Bound {
    before: Pus,
    now: Pus,
    /// The memory policy that was replaced.
    policy: Option<Policy>,
}

/// Binds this process to the device that it opens, if it is the first one.
pub fn open(api: GpuApi, device: impl FnOnce() -> Option<c_int>) -> Option<Opening> {
    if !is_wanted() {
        return None;
    }
    sys::with_errno_kept(|| {
        let table = table::kept()?;
        // A program allocates often, and the driver is not asked once nothing can come of it.
        if !is_undecided() && !table.reports() {
            return None;
        }
        let device = device()?;
        let text = driver::pci_address(api, device);
        let address = CStr::from_bytes_until_nul(&text).ok()?.to_str().ok()?;
        let number = address_of(address)?;
        if STATE.compare_exchange(UNDECIDED, DECIDED, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            say_other(table, number, address);
            return None;
        }

        DEVICE.store(number, Ordering::Release);
        let placed = place(table, address, number);
        if let Err(why) = &placed {
            say(table, format_args!("GPU {address}: left as it was: {why}"));
        }
        Some(Opening { bound: placed.ok() })
    })
}

/// The device could not be opened: another one may be the first.
pub fn give_up(opening: Option<Opening>) {
    let Some(Opening { bound }) = opening else { return };
    sys::with_errno_kept(|| {
        if let Some(Bound { before, now, policy }) = bound {
            bind(&now, &before);
            keep_given(&before);
            policy.iter().for_each(Policy::restore);
            forget_name();
        }
        STATE.store(UNDECIDED, Ordering::Release);
    });
}

/// Binds this process to the GPU at this address; otherwise says why not.
fn place(table: &Table, address: &str, number: u64) -> Result<Bound, &'static str> {
    if table.parent() == sys::pid() {
        return Err("this is the engine itself");
    }
    let share = table.gpu(number).ok_or("exec --workers has no cores for it")?;
    let before = threads::affinity(0).ok_or("its affinity is not known")?;
    let owner = table.owner_of(&before);
    if owner == AffinityOwner::Foreign || !is_given(&before) {
        return Err("it has an affinity of its own");
    }

    let (part, name) = part_of(table, address, share);
    if threads::bind_thread(0, &part).is_err() {
        forget_name();
        return Err("the kernel refuses to bind it");
    }
    // The cpuset may have lost PUs since the engine began.
    let now = threads::affinity(0).unwrap_or(part);
    bind(&before, &now);
    keep_given(&now);

    let (policy, memory) = place_memory(share, owner);
    let fewer = if now == part { "" } else { " (fewer: the cpuset has not got all)" };
    say(table, format_args!("GPU {address}: PUs {name}{fewer}; {memory}"));
    Ok(Bound { before, now, policy })
}

/// Binds the threads that have one affinity to another: also those that begin meanwhile, by one that is not
/// bound yet.
fn bind(from: &Pus, to: &Pus) {
    for _ in 0..ROUNDS {
        let mut bound = 0_u32;
        threads::each(|thread| {
            if from != to && threads::affinity(thread).as_ref() == Some(from) {
                bound += u32::from(threads::bind_thread(thread, to).is_ok());
            }
        });
        if bound == 0 {
            return;
        }
    }
}

/// This worker's part of a GPU's cores: the first that no other worker has; all of them if each is taken.
fn part_of<'t>(table: &Table, address: &str, share: GpuCores<'t>) -> (Pus, &'t str) {
    let whole = (share.all(), share.parts);
    if share.each().count() < 2 {
        return whole;
    }

    let token = table.token();
    for (number, part) in share.each().enumerate() {
        let name = Text::<96>::of(format_args!("numabench-workers-{token}-{address}-{number}"));
        let taken = name.map_or(Err(0), |name| threads::take_name(name.bytes()));

        match taken {
            Ok(socket) => NAME.store(socket, Ordering::Release),
            Err(EADDRINUSE) => continue,
            Err(_) => break,
        }
        return set_of(part).map_or(whole, |pus| (pus, part));
    }
    whole
}

fn forget_name() {
    let socket = NAME.swap(-1, Ordering::AcqRel);
    if socket >= 0 {
        threads::close_file(socket);
    }
}

/// Has memory come from the nodes near a GPU; the policy that was replaced, and what was done, in words.
fn place_memory(share: GpuCores<'_>, owner: AffinityOwner) -> (Option<Policy>, Text<256>) {
    let text = |words: Arguments<'_>| Text::of(words).unwrap_or_default();
    let Some(nodes) = share.node_mask() else { return (None, text(format_args!("memory as it was"))) };
    let Some(before) = Policy::now() else {
        return (None, text(format_args!("memory as it was: the kernel tells no policy")));
    };
    if !(before.is_default() || before.prefers() && owner == AffinityOwner::Worker) {
        return (None, text(format_args!("memory as it was: it has a policy of its own")));
    }
    if let Err(error) = threads::prefer(&nodes) {
        return (None, text(format_args!("memory as it was: the kernel refuses the policy ({error})")));
    }

    let bytes = |pages: u64| pages.saturating_mul(sys::page_size() as u64);
    let (all, own) = threads::resident_pages().map_or((u64::MAX, 0), |(all, own)| (bytes(all), bytes(own)));
    let preferred = format_args!("memory preferred on node {}", share.nodes);
    let words = match all {
        MOST_MOVED.. => text(format_args!("{preferred}, what it has stays")),
        _ => match threads::move_pages_to(&nodes) {
            Ok(true) => text(format_args!("{preferred}, its own {} MiB are there", own >> 20)),
            Ok(false) => {
                text(format_args!("{preferred}, some of its own {} MiB stay where they are", own >> 20))
            }
            Err(_) => text(format_args!("{preferred}, what it has stays")),
        },
    };
    (Some(before), words)
}

/// Says that a second device is opened, once.
fn say_other(table: &Table, device: u64, address: &str) {
    if DEVICE.load(Ordering::Acquire) != device && OTHER.swap(device, Ordering::AcqRel) != device {
        say(table, format_args!("GPU {address} is opened too: nothing changes"));
    }
}

/// Says a line, if lines are wanted.
fn say(table: &Table, what: Arguments<'_>) {
    if !table.reports() {
        return;
    }
    let name = sys::name();
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default().to_str().unwrap_or_default();
    if let Some(line) = Text::<4096>::of(format_args!("numabench: worker {} ({name}): {what}\n", sys::pid()))
    {
        sys::say(line.bytes());
    }
}
