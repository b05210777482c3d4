//! The thread of this library: it looks at pages and reads events, so that the program's threads do not wait.
//!
//! What it is to look at comes through a queue of fixed size, after Vyukov's bounded queue: many threads put,
//! one takes, nobody waits. What finds no room is counted.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::layout::head;
use crate::record::{self, Record};
use crate::span::Span;
use crate::{gate, pages, sys, timing};

const ROOM: usize = 1024;
/// How often the thread looks by itself, milliseconds.
const PAUSE: u32 = 50;
/// How long the program's end waits for the thread, nanoseconds.
const PATIENCE_NS: u64 = 300_000_000;

struct Slot {
    turn: AtomicUsize,
    entry: AtomicUsize,
    span: [AtomicUsize; 6],
}

static SLOTS: [Slot; ROOM] = [const {
    Slot { turn: AtomicUsize::new(0), entry: AtomicUsize::new(0), span: [const { AtomicUsize::new(0) }; 6] }
}; ROOM];
static PUT: AtomicUsize = AtomicUsize::new(0);
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static BELL: AtomicU32 = AtomicU32::new(0);
static STATE: AtomicU32 = AtomicU32::new(RUNS);

const RUNS: u32 = 0;
const ENDS: u32 = 1;
const ENDED: u32 = 2;
const NEVER: u32 = 3;

/// Starts the thread.
pub fn start() {
    if !sys::start_thread(run) {
        STATE.store(NEVER, Ordering::Release);
    }
}

/// A fork's child has no such thread.
pub fn reset() {
    gate::reset();
    for word in [&BELL, &STATE] {
        word.store(0, Ordering::Release);
    }
    for word in [&PUT, &TAKEN] {
        word.store(0, Ordering::Release);
    }
    SLOTS.iter().for_each(|slot| slot.turn.store(0, Ordering::Release));
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    let Some(record) = record::current() else { return null_mut() };
    loop {
        let rung = BELL.load(Ordering::Acquire);
        let ends = STATE.load(Ordering::Acquire) == ENDS;
        while let Some((entry, span)) = take() {
            pages::look(record, entry, &span);
            record.add(head::LOOKS_DONE, 1);
        }
        timing::read(record);
        if ends {
            STATE.store(ENDED, Ordering::Release);
            return null_mut();
        }
        sys::wait(&BELL, rung, PAUSE);
    }
}

/// The program ends: waits a moment until the queue is empty, then keeps the thread out of the driver.
pub fn finish() {
    if STATE.compare_exchange(RUNS, ENDS, Ordering::AcqRel, Ordering::Acquire).is_ok() {
        sys::wake(&BELL);
        let until = sys::now_ns().saturating_add(PATIENCE_NS);
        while STATE.load(Ordering::Acquire) != ENDED && sys::now_ns() < until {
            sys::pause();
        }
        gate::close();
        if let (ENDED, Some(record)) = (STATE.load(Ordering::Acquire), record::current()) {
            record.set(head::ENDED, 1);
        }
    }
}

/// Has the pages of a copy looked at; at once for the first copy of an entry, since memory may soon be freed.
pub fn look_at(record: &Record, entry: usize, span: &Span, at_once: bool) {
    record.add(head::LOOKS, 1);
    if !put(entry, span) {
        record.add(head::LOOKS_DROPPED, 1);
    }
    if at_once {
        sys::with_errno_kept(|| sys::wake(&BELL));
    }
}

/// A slot's turn is its lap × 2 when it is free, one more when it is full.
fn put(entry: usize, span: &Span) -> bool {
    let mut at = PUT.load(Ordering::Relaxed);
    loop {
        let (Some(slot), lap) = (SLOTS.get(at % ROOM), at / ROOM * 2) else { return false };
        let turn = slot.turn.load(Ordering::Acquire);
        if turn == lap {
            match PUT.compare_exchange_weak(at, at.wrapping_add(1), Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    slot.entry.store(entry, Ordering::Relaxed);
                    for (word, value) in slot.span.iter().zip(span.words()) {
                        word.store(value, Ordering::Relaxed);
                    }
                    slot.turn.store(lap + 1, Ordering::Release);
                    return true;
                }
                Err(now) => at = now,
            }
        } else if turn < lap {
            return false;
        } else {
            at = PUT.load(Ordering::Relaxed);
        }
    }
}

fn take() -> Option<(usize, Span)> {
    let at = TAKEN.load(Ordering::Relaxed);
    let slot = SLOTS.get(at % ROOM)?;
    let lap = at / ROOM * 2;
    if slot.turn.load(Ordering::Acquire) != lap + 1 {
        return None;
    }
    let entry = slot.entry.load(Ordering::Relaxed);
    let span = Span::from_words(slot.span.each_ref().map(|word| word.load(Ordering::Relaxed)));
    slot.turn.store(lap + 2, Ordering::Release);
    TAKEN.store(at.wrapping_add(1), Ordering::Relaxed);
    Some((entry, span))
}
