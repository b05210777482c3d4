//! Whether host memory is pinned, managed or unknown to the driver (pageable).
//!
//! The driver is asked once for an address, and again after every call that pins, unpins, allocates or frees
//! such memory: each of these begins a new generation, in which nothing is known. Answers are kept in one
//! word each (address, generation, api, kind), so that no reader sees half of one.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::driver::{self, pointer_attribute as attribute};
use crate::gpu_api::GpuApi;
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
pub fn of(api: GpuApi, address: usize) -> u64 {
    let generation = GENERATION.load(Ordering::Acquire) & 0xfff;
    let wanted = ((address as u64) << 16) | (generation << 4) | ((api as u64 & 1) << 3);
    let hash = (address as u64 >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    let Some(answer) = KNOWN.get(hash as usize & (ANSWERS - 1)) else { return kind(api, address) };
    let known = answer.load(Ordering::Acquire);
    if known & !7 == wanted && known != 0 {
        return known & 7;
    }
    let kind = kind(api, address);
    answer.store(wanted | kind, Ordering::Release);
    kind
}

fn kind(api: GpuApi, address: usize) -> u64 {
    match ask(api, address) {
        Some(Known::Managed) => memory::MANAGED,
        Some(Known::Pinned) => memory::PINNED,
        Some(Known::Device) | None => memory::PAGEABLE,
    }
}

/// Memory that the driver knows.
#[derive(PartialEq, Eq)]
enum Known {
    Managed,
    Pinned,
    Device,
}

fn ask(api: GpuApi, address: usize) -> Option<Known> {
    match api {
        GpuApi::Cuda => {
            let kind = attribute(MEMORY_TYPE, address)? & 0xffff_ffff;
            match (attribute(IS_MANAGED, address), kind) {
                (Some(managed), _) if managed & 0xff == 1 => Some(Known::Managed),
                (_, HOST) => Some(Known::Pinned),
                (_, DEVICE) => Some(Known::Device),
                _ => None,
            }
        }
        GpuApi::Hip => match driver::hip_pointer(address)? {
            (_, _, true) => Some(Known::Managed),
            (0, 0, false) => None,
            (_, 0, false) => Some(Known::Device),
            (_, _, false) => Some(Known::Pinned),
        },
    }
}

/// Whether an address is a device's: memory that is managed is not.
pub fn is_on_device(api: GpuApi, address: usize) -> bool {
    ask(api, address) == Some(Known::Device)
}

/// The allocation that an address is in, as the driver knows it: start and bytes.
pub fn range(api: GpuApi, address: usize) -> (u64, u64) {
    let range = match api {
        GpuApi::Cuda => attribute(RANGE_START, address).zip(attribute(RANGE_BYTES, address)),
        GpuApi::Hip => driver::hip_range(address),
    };
    range.unwrap_or((0, 0))
}
