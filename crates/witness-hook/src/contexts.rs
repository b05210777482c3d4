//! The contexts that copies are made in, and the PCI address of each one's GPU.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::driver;
use crate::layout::context::{AT, COUNT, PLATFORM, WORDS};
use crate::record::Record;

/// The handle of each context, 0 free, [`FILLING`], or [`GONE`].
static HANDLES: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];
/// How many are used.
static USED: AtomicU32 = AtomicU32::new(0);
const FILLING: usize = 1;
const GONE: usize = 2;

/// The place of the current context among those of the record.
pub fn place(record: &Record, handle: usize) -> Option<u64> {
    let used = USED.load(Ordering::Acquire) as usize;
    if let Some(at) = HANDLES.iter().take(used).position(|known| known.load(Ordering::Acquire) == handle) {
        return Some(at as u64);
    }
    add(record, handle)
}

fn add(record: &Record, handle: usize) -> Option<u64> {
    let mut words = [0_u64; WORDS];
    let api = driver::api_of(handle);
    let address = driver::device_of(handle).map(|device| driver::pci_address(api, device));
    for (word, bytes) in words.iter_mut().zip(address.unwrap_or_default().chunks_exact(8)) {
        *word = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
    }
    words[PLATFORM] = api as u64;

    // The place of a context of this GPU that has ended, or a free one. Two threads may both add a context:
    // it is then there twice, with the same GPU.
    let is_same =
        |at: usize| (0..WORDS).all(|word| words.get(word) == Some(&record.get(AT + at * WORDS + word)));
    let claim = |from: usize| {
        HANDLES.iter().enumerate().position(|(at, slot)| {
            (from == 0 || is_same(at))
                && slot.compare_exchange(from, FILLING, Ordering::AcqRel, Ordering::Acquire).is_ok()
        })
    };
    let at = claim(GONE).or_else(|| claim(0))?;
    for (word, value) in words.into_iter().enumerate() {
        record.set(AT + at * WORDS + word, value);
    }
    if let Some(slot) = HANDLES.get(at) {
        slot.store(handle, Ordering::Release);
    }
    USED.fetch_max(at as u32 + 1, Ordering::AcqRel);
    Some(at as u64)
}

/// Forgets a context that ends, or all: its handle may come again for another GPU.
pub fn forget(handle: Option<usize>) {
    for slot in &HANDLES {
        let known = slot.load(Ordering::Acquire);
        if known > GONE && handle.is_none_or(|handle| handle == known) {
            slot.store(GONE, Ordering::Release);
        }
    }
}

/// In a fork's child there are none.
pub fn reset() {
    HANDLES.iter().for_each(|slot| slot.store(0, Ordering::Release));
    USED.store(0, Ordering::Release);
}
