//! The record: where it is, when it begins, and how its words are added to.
//!
//! It begins with the process's first copy, so that a program without copies leaves nothing but a byte in the
//! file `loaded`. A fork's child has a record of its own, if it copies. Its blocks are reserved before it is
//! mapped: a full disk is found here and not by a signal at some later write. Why nothing is counted is the name
//! of an empty file, or a line on standard error if not even that can be made.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::layout::{ALL, FOLDER, LOADED, MAGIC, VERSION, WORDS, entry, head};
use crate::{contexts, graphs, helper, hooks, sys, timing};

/// The words of the mapped file.
pub struct Record;

static WORDS_AT: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
static STATE: AtomicU32 = AtomicU32::new(UNBEGUN);
static WANTED: AtomicU8 = AtomicU8::new(0);
static ALL_OF: AtomicU8 = AtomicU8::new(0);
static OTHER_DRIVER: AtomicU64 = AtomicU64::new(0);

const UNBEGUN: u32 = 0;
const BEGINNING: u32 = 1;
const WATCHING: u32 = 2;
const PASSIVE: u32 = 3;

/// The longest path of a record.
const PATH: usize = 4096;

/// Runs before the program does.
#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: extern "C" fn() = load;

extern "C" fn load() {
    sys::with_errno_kept(|| {
        let mut path = [0_u8; PATH];
        if let Some(path) = path_of(&mut path, format_args!("{LOADED}")) {
            WANTED.store(1, Ordering::Release);
            sys::append_byte(path);
            sys::in_children(in_child);
        }
        let asked = |letter: u8| variable(ALL).is_some_and(|text| text.to_bytes().contains(&letter));
        ALL_OF.store(u8::from(asked(b't')) | (u8::from(asked(b'p')) << 1), Ordering::Release);
    });
}

/// A variable of the layout.
fn variable(name: &str) -> Option<&'static CStr> {
    let mut text = [0_u8; 64];
    text.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    sys::variable(CStr::from_bytes_until_nul(&text).ok()?)
}

/// A fork's child begins again, if it copies.
extern "C" fn in_child() {
    WORDS_AT.store(core::ptr::null_mut(), Ordering::Release);
    if STATE.load(Ordering::Acquire) != PASSIVE {
        STATE.store(UNBEGUN, Ordering::Release);
    }
    contexts::reset();
    timing::reset();
    helper::reset();
    graphs::reset();
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

/// The record, begun if it is not.
pub fn begun() -> Option<&'static Record> {
    loop {
        match STATE.load(Ordering::Acquire) {
            WATCHING => return current(),
            PASSIVE => return None,
            BEGINNING => sys::pause(),
            _ if !is_wanted() => return None,
            _ => {
                if STATE.compare_exchange(UNBEGUN, BEGINNING, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                    let begun = sys::with_errno_kept(begin);
                    STATE.store(if begun { WATCHING } else { PASSIVE }, Ordering::Release);
                }
            }
        }
    }
}

/// The record, if there is one.
pub fn current() -> Option<&'static Record> {
    static RECORD: Record = Record;
    (!WORDS_AT.load(Ordering::Acquire).is_null()).then_some(&RECORD)
}

fn begin() -> bool {
    let mut path = [0_u8; PATH];
    let Some(path) = path_of(&mut path, format_args!("{}.record", sys::pid())) else { return false };
    let mapped = match sys::map_new_file(path, WORDS * 8) {
        Ok(mapped) => mapped,
        Err(error) => {
            be_passive(error);
            return false;
        }
    };
    // A mapping begins at a page, so it is aligned for words.
    WORDS_AT.store(mapped.cast(), Ordering::Release);
    let Some(record) = current() else { return false };
    record.set(head::VERSION, VERSION);
    record.set(head::PID, u64::from(sys::pid()));
    record.set(head::BEGAN_NS, sys::now_ns());
    record.set(head::PAGE, sys::page_size() as u64);
    record.set(head::OTHER_DRIVER, OTHER_DRIVER.load(Ordering::Acquire));
    record.set(head::SIMULATED, u64::from(hooks::is_simulated()));
    let name = sys::name();
    let (first, last) = name.split_at(8);
    record.set(head::NAME, u64::from_ne_bytes(first.try_into().unwrap_or_default()));
    record.set(head::NAME + 1, u64::from_ne_bytes(last.try_into().unwrap_or_default()));
    record.set(head::MAGIC, MAGIC);
    // Registered now: the driver is loaded, so this runs before the driver ends.
    sys::at_exit(end);
    helper::start();
    true
}

/// The program ends: what is queued is done as far as a moment allows, and the driver is not called again.
extern "C" fn end() {
    if STATE.load(Ordering::Acquire) == WATCHING {
        helper::finish();
    }
}

fn be_passive(error: i32) {
    let mut path = [0_u8; PATH];
    let made = path_of(&mut path, format_args!("{}.passive.{error}", sys::pid())).is_some_and(sys::make_file);
    if !made {
        sys::say(b"numabench: no copies are counted: the record cannot be written (is its disk full?)\n");
    }
}

/// A file of the record's folder, as C text in this room.
fn path_of<'r>(room: &'r mut [u8; PATH], name: core::fmt::Arguments<'_>) -> Option<&'r CStr> {
    struct Text<'r>(&'r mut [u8], usize);
    impl core::fmt::Write for Text<'_> {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            let end = self.1.saturating_add(text.len());
            self.0.get_mut(self.1..end).ok_or(core::fmt::Error)?.copy_from_slice(text.as_bytes());
            self.1 = end;
            Ok(())
        }
    }
    let folder = variable(FOLDER)?.to_str().ok()?;
    // The last byte stays zero.
    let end = room.len().checked_sub(1)?;
    let mut text = Text(room.get_mut(..end)?, 0);
    core::fmt::Write::write_fmt(&mut text, format_args!("{folder}/{name}")).ok()?;
    CStr::from_bytes_until_nul(room).ok()
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
        if let Some(word) = self.word(at) {
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
