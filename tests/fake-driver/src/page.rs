//! What all who take part in a simulation share: virtual time, and a place for each thread that uses a
//! device. It is this process's own, or, where `FAKE_SHARED` names a file, one for all processes that name
//! it: the ranks of a node.
//!
//! Whoever reads or changes anything holds the page's lock. A process that is killed while it holds it loses
//! it to the next one; what it had half changed are numbers of its own place.

use std::cell::Cell;
use std::env;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use crate::{sys, told};

const SHARED: &str = "FAKE_SHARED";
/// Threads that use devices at the same time, over all processes.
const ACTORS: usize = 512;

/// The page. It begins as zeros: time 0, and free places.
#[repr(C)]
pub struct Page {
    /// The id of the thread that holds the lock, or 0.
    lock: AtomicU32,
    now: Cell<f64>,
    /// How many places, the first ones, have ever been taken: what is looked through at each event.
    ever_taken: Cell<usize>,
    actors: [Actor; ACTORS],
}

/// Outside of the driver. Zero is also what a free place has.
pub const OUTSIDE: u32 = 0;
/// In the driver, at work.
pub const ACTING: u32 = 1;
/// In the driver, waiting.
pub const WAITING: u32 = 2;
/// Reading the clock.
pub const READING: u32 = 3;

/// A thread that uses a device: a rank's, or a stream's.
#[repr(C)]
pub struct Actor {
    /// Its process, or 0 where the place is free.
    pub process: Cell<u32>,
    pub thread: Cell<u32>,
    /// What it does (one of the four above); changed under the lock, but for its own coming and going.
    pub state: AtomicU32,
    /// The copy it has in flight, packed, or 0 (see `flow`).
    pub flow: Cell<u32>,
    /// What it waits for.
    pub object: Cell<usize>,
    /// How often it has read the clock since it last did anything else in the driver.
    pub readings: Cell<u32>,
    /// Of its copy: nanoseconds before the first byte, and bytes.
    pub latency: Cell<f64>,
    pub bytes: Cell<f64>,
}

impl Actor {
    /// Its thread is gone: the place is free.
    pub fn leave(&self) {
        self.flow.set(0);
        self.state.store(OUTSIDE, Ordering::Release);
        self.process.set(0);
    }

    /// It has something to do again.
    pub fn rouse(&self) {
        self.state.store(ACTING, Ordering::Release);
        sys::wake(&self.state);
    }

    /// What the kernel says that its thread does: a letter, as in /proc/PID/stat; `None` where there is no
    /// such thread.
    fn seen(&self) -> Option<char> {
        let file = format!("/proc/{}/task/{}/stat", self.process.get(), self.thread.get());
        // The state comes early in the line; it is often asked for, so in one read.
        let mut text = [0_u8; 128];
        let read = File::open(file).and_then(|mut file| file.read(&mut text)).ok()?;
        let state = text[..read].windows(3).rev().find_map(|part| part.strip_prefix(b") "))?[0];
        (!matches!(state, b'Z' | b'X')).then_some(char::from(state))
    }

    /// The same; the place of a thread that is gone is free.
    pub fn seen_or_gone(&self) -> Option<char> {
        let seen = self.seen();
        if seen.is_none() {
            self.leave();
        }
        seen
    }
}

/// The page, with the lock held.
pub struct Locked(&'static Page);

impl Locked {
    pub fn now(&self) -> f64 {
        self.0.now.get()
    }

    pub fn set_now(&self, now: f64) {
        self.0.now.set(now);
    }

    /// The places that are taken.
    pub fn actors(&self) -> impl Iterator<Item = &'static Actor> {
        self.0.actors[..self.0.ever_taken.get()].iter().filter(|actor| actor.process.get() != 0)
    }

    /// A place that nobody has.
    pub fn free_place(&self) -> &'static Actor {
        let free = self.0.actors.iter().position(|actor| actor.process.get() == 0);
        let free = free.unwrap_or_else(|| told::wrong(SHARED, "", "too many threads use devices at once"));
        self.0.ever_taken.set(self.0.ever_taken.get().max(free + 1));
        &self.0.actors[free]
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.lock.store(0, Ordering::Release);
    }
}

/// Waits for the lock. It is held for microseconds, but its holder may wait for a processor: asleep, because
/// whoever yields instead waits for a whole turn of every busy thread of the machine.
pub fn lock() -> Locked {
    const LOOK_EVERY: u32 = 1 << 14;
    let page = page();
    let me = sys::thread_id();
    let mut tries = 0_u32;
    loop {
        match page.lock.compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Locked(page),
            Err(holder) if holder != 0 && tries % LOOK_EVERY == LOOK_EVERY - 1 && !lives(holder) => {
                let _ = page.lock.compare_exchange(holder, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
            Err(_) => thread::sleep(Duration::from_micros(50)),
        }
        tries = tries.wrapping_add(1);
    }
}

/// Whether there is such a thread, of any process.
fn lives(thread: u32) -> bool {
    Path::new("/proc").join(thread.to_string()).exists()
}

fn page() -> &'static Page {
    struct Shared(*const Page);
    unsafe impl Send for Shared {}
    unsafe impl Sync for Shared {}
    static PAGE: OnceLock<Shared> = OnceLock::new();
    let page = PAGE.get_or_init(|| {
        let file = env::var(SHARED).ok();
        let start = sys::map(file.as_deref(), size_of::<Page>());
        let start = start.unwrap_or_else(|error| {
            told::wrong(SHARED, file.as_deref().unwrap_or_default(), &error.to_string());
        });
        Shared(start.cast())
    });
    unsafe { &*page.0 }
}
