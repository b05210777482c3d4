//! The record: how the words of its mapped file are added to. Each is an atomic, so threads do not wait for
//! each other.

use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

use crate::layout::{WORDS, entry, head};
use crate::sys;

/// The words of the mapped file.
pub struct Record;

static WORDS_AT: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
static WANTED: AtomicU8 = AtomicU8::new(0);
static ALL_OF: AtomicU8 = AtomicU8::new(0);
static OTHER_DRIVER: AtomicU64 = AtomicU64::new(0);

/// Says that numabench asks for a record, and for how much of it.
pub fn set_wanted(times_all: bool, looks_at_all: bool) {
    WANTED.store(1, Ordering::Release);
    ALL_OF.store(u8::from(times_all) | (u8::from(looks_at_all) << 1), Ordering::Release);
}

/// Where the words are from now on; null where there are none.
pub fn set_words(words: *mut u8) {
    // A mapping begins at a page, so it is aligned for words.
    WORDS_AT.store(words.cast(), Ordering::Release);
}

/// The kept number of functions of a second driver.
pub fn other_driver() -> u64 {
    OTHER_DRIVER.load(Ordering::Acquire)
}

/// Whether numabench asks for a record.
pub fn is_wanted() -> bool {
    WANTED.load(Ordering::Acquire) == 1
}

/// Whether every copy is to be timed.
pub fn times_all() -> bool {
    ALL_OF.load(Ordering::Acquire) & 1 != 0
}

/// Whether every page is to be looked at.
pub fn looks_at_all() -> bool {
    ALL_OF.load(Ordering::Acquire) & 2 != 0
}

/// Says that a function of a second driver stays as it is.
pub fn count_other_driver() {
    OTHER_DRIVER.fetch_add(1, Ordering::AcqRel);
    if let Some(record) = current() {
        record.set(head::OTHER_DRIVER, OTHER_DRIVER.load(Ordering::Acquire));
    }
}

/// The record, if there is one.
pub fn current() -> Option<&'static Record> {
    static RECORD: Record = Record;
    (!WORDS_AT.load(Ordering::Acquire).is_null()).then_some(&RECORD)
}

impl Record {
    fn word(&self, at: usize) -> Option<&AtomicU64> {
        let words = WORDS_AT.load(Ordering::Acquire);
        if words.is_null() || at >= WORDS {
            return None;
        }
        // SAFETY: inside the mapping, which has so many words and is never unmapped; others only use atomics.
        Some(unsafe { &*words.add(at) })
    }

    /// The value of a word.
    pub fn get(&self, at: usize) -> u64 {
        self.word(at).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Sets a word.
    pub fn set(&self, at: usize, value: u64) {
        if let Some(word) = self.word(at) {
            word.store(value, Ordering::Release);
        }
    }

    /// Adds to a word; what it was.
    pub fn add(&self, at: usize, value: u64) -> u64 {
        self.word(at).map_or(0, |word| word.fetch_add(value, Ordering::AcqRel))
    }

    /// Makes a word at least this.
    pub fn at_least(&self, at: usize, value: u64) {
        if let Some(word) = self.word(at).filter(|word| word.load(Ordering::Acquire) < value) {
            word.fetch_max(value, Ordering::AcqRel);
        }
    }

    /// The first word of the entry for this address and key, made if there is none.
    pub fn entry(&self, address: u64, key: u64) -> Option<usize> {
        // The last entries are kept for copies that find none of their own.
        const SHARED: usize = 256;
        const TRIES: usize = 48;
        let hash = (address ^ key.rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let own = entry::COUNT - SHARED;
        let (from, room, tries) = match address {
            0 => (own, SHARED, SHARED),
            _ => (0, own, TRIES),
        };

        for step in 0..tries {
            let at = entry::AT + (from + (hash as usize).wrapping_add(step) % room) * entry::WORDS;
            if self.is_entry(at, address, key) {
                return Some(at);
            }
        }
        if address == 0 { None } else { self.entry(0, key) }
    }

    /// Whether the entry there is this one, or has become it now.
    fn is_entry(&self, at: usize, address: u64, key: u64) -> bool {
        let Some(state) = self.word(at + entry::STATE) else { return false };
        if state.load(Ordering::Acquire) == 0
            && state.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).is_ok()
        {
            self.set(at + entry::ADDRESS, address);
            self.set(at + entry::KEY, key);
            state.store(2, Ordering::Release);
            return true;
        }
        while state.load(Ordering::Acquire) == 1 {
            sys::pause();
        }
        self.get(at + entry::ADDRESS) == address && self.get(at + entry::KEY) == key
    }
}
