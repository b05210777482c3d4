//! Whether host memory is pinned, managed or unknown to the driver (pageable).
//!
//! The driver is asked once for an address, and again after every call that pins, unpins, allocates or frees
//! such memory: each of these begins a new generation, in which nothing is known. Answers are kept in one
//! word each (address, generation, kind), so that no reader sees half of one.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::driver::pointer_attribute as attribute;
use crate::layout::memory;

/// Kept answers.
const ANSWERS: usize = 4096;
static KNOWN: [AtomicU64; ANSWERS] = [const { AtomicU64::new(0) }; ANSWERS];
static GENERATION: AtomicU64 = AtomicU64::new(1);

const MEMORY_TYPE: i32 = 2;
const IS_MANAGED: i32 = 8;
const RANGE_START: i32 = 11;
const RANGE_BYTES: i32 = 12;
/// `CU_MEMORYTYPE_HOST` and `_DEVICE`.
const HOST: u64 = 1;
const DEVICE: u64 = 2;

/// Says that memory was pinned, unpinned, allocated or freed.
pub fn begin_generation() {
    let now = GENERATION.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
    if now & 0xfff == 0 {
        // The number in an answer begins again: no old one may be taken for new.
        KNOWN.iter().for_each(|answer| answer.store(0, Ordering::Release));
    }
}

/// The kind of host memory at this address.
pub fn of(address: usize) -> u64 {
    let generation = GENERATION.load(Ordering::Acquire) & 0xfff;
    let wanted = ((address as u64) << 16) | (generation << 4);
    let hash = (address as u64 >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    let Some(answer) = KNOWN.get(hash as usize & (ANSWERS - 1)) else { return ask(address) };
    let known = answer.load(Ordering::Acquire);
    if known & !0xf == wanted && known != 0 {
        return known & 0xf;
    }
    let kind = ask(address);
    answer.store(wanted | kind, Ordering::Release);
    kind
}

/// Asks the driver. Memory that it does not know is an error there.
fn ask(address: usize) -> u64 {
    if attribute(IS_MANAGED, address).is_some_and(|managed| managed & 0xff == 1) {
        return memory::MANAGED;
    }
    match attribute(MEMORY_TYPE, address).map(|kind| kind & 0xffff_ffff) {
        Some(HOST) => memory::PINNED,
        _ => memory::PAGEABLE,
    }
}

/// Whether an address is a device's: memory that is managed is not.
pub fn is_on_device(address: usize) -> bool {
    attribute(MEMORY_TYPE, address).is_some_and(|kind| kind & 0xffff_ffff == DEVICE)
        && attribute(IS_MANAGED, address).is_none_or(|managed| managed & 0xff == 0)
}

/// The allocation that an address is in, as the driver knows it: start and bytes.
pub fn range(address: usize) -> (u64, u64) {
    match (attribute(RANGE_START, address), attribute(RANGE_BYTES, address)) {
        (Some(start), Some(bytes)) => (start, bytes),
        _ => (0, 0),
    }
}
