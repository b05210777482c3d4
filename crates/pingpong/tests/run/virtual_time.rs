//! The time that the double's copies take, and the clock that ranks time them by: virtual, so that neither
//! depends on how busy this machine is.
//!
//! It is a discrete-event simulation whose processes are the ranks' threads: time stands while any of them
//! has something to do, and goes on to the next end of a copy once all wait, for a copy or, asleep by the
//! kernel's word, for one another. This program has a `clock_gettime` of its own, which answers for
//! CLOCK_MONOTONIC_RAW; time limits are by other clocks and stay real. The stand-in driver does the same over
//! several processes (`tests/fake-driver`).

use std::cell::Cell;
use std::ffi::c_int;
use std::fs;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// What a reading of the clock takes, and what it takes whoever has read so often and waited for no copy: it
/// spins until a moment.
const READING_NS: u64 = 50;
const SPINNING_NS: u64 = 1000;
const SPINS: u64 = 16;
/// No reading is near zero.
const BEGIN_NS: u64 = 1_000_000_000_000;
/// How often a waiter looks whether the others wait: nobody says when a thread falls asleep.
const LOOK: Duration = Duration::from_micros(200);

/// Virtual time, and the threads that have waited for a copy.
struct World {
    now_ns: u64,
    actors: Vec<(libc::pid_t, Doing)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Doing {
    /// Whatever the kernel says.
    Else,
    Reading,
    WaitsUntil(u64),
}

static WORLD: Mutex<World> = Mutex::new(World { now_ns: BEGIN_NS, actors: Vec::new() });
static CHANGED: Condvar = Condvar::new();

thread_local! {
    static ACTOR: Actor = const { Actor { thread: Cell::new(0), readings: Cell::new(0) } };
}

/// The calling thread, which is no actor any more when it ends.
struct Actor {
    thread: Cell<libc::pid_t>,
    readings: Cell<u64>,
}

impl Drop for Actor {
    fn drop(&mut self) {
        world().actors.retain(|(thread, _)| *thread != self.thread.get());
        CHANGED.notify_all();
    }
}

/// The world, without sleeping for it: who sleeps is taken to have nothing to do.
fn world() -> MutexGuard<'static, World> {
    loop {
        match WORLD.try_lock() {
            Ok(world) => return world,
            Err(TryLockError::Poisoned(world)) => return world.into_inner(),
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    }
}

impl World {
    fn does(&mut self, thread: libc::pid_t, doing: Doing) {
        match self.actors.iter_mut().find(|(other, _)| *other == thread) {
            Some(actor) => actor.1 = doing,
            None => self.actors.push((thread, doing)),
        }
    }

    /// The first moment that anybody waits for.
    fn next(&self) -> Option<u64> {
        let until = self.actors.iter().filter_map(|(_, doing)| match doing {
            Doing::WaitsUntil(until) => Some(*until),
            _ => None,
        });
        until.min()
    }

    /// Whether nobody has anything to do before the next moment comes.
    fn all_wait(&self) -> bool {
        self.actors.iter().all(|(thread, doing)| match doing {
            Doing::WaitsUntil(until) => *until > self.now_ns,
            Doing::Reading => false,
            Doing::Else => sleeps(*thread),
        })
    }
}

/// Whether the kernel says that a thread of this process sleeps, or that there is none.
fn sleeps(thread: libc::pid_t) -> bool {
    let state = fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    state.map_or(true, |text| {
        text.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with(['S', 'T', 't', 'Z']))
    })
}

/// Now, nanoseconds.
pub fn now_ns() -> u64 {
    world().now_ns
}

/// Waits until this moment.
pub fn wait_until(until_ns: u64) {
    wait(until_ns, None);
}

/// The same, but no longer than a moment of this machine's time: for who looks at something else meanwhile.
pub fn look_until(until_ns: u64) {
    wait(until_ns, Some(Duration::from_millis(1)));
}

fn wait(until_ns: u64, limit: Option<Duration>) {
    let began = Instant::now();
    let thread = ACTOR.with(|actor| {
        // SAFETY: takes nothing and cannot fail.
        actor.thread.set(unsafe { libc::gettid() });
        actor.readings.set(0);
        actor.thread.get()
    });
    let mut world = world();
    world.does(thread, Doing::WaitsUntil(until_ns));
    while world.now_ns < until_ns && limit.is_none_or(|limit| began.elapsed() < limit) {
        if world.all_wait()
            && let Some(next) = world.next()
        {
            world.now_ns = next;
            CHANGED.notify_all();
        } else {
            world = CHANGED.wait_timeout(world, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
    world.does(thread, Doing::Else);
}

/// A reading: what takes time when nobody does anything else.
fn read() -> u64 {
    let (thread, before) = ACTOR
        .try_with(|actor| (actor.thread.get(), actor.readings.replace(actor.readings.get() + 1)))
        .unwrap_or((0, 0));
    let cost_ns = if before < SPINS { READING_NS } else { SPINNING_NS };
    let mut world = world();
    // Who has come to its moment acts first.
    while world.next().is_some_and(|next| next <= world.now_ns) {
        if thread != 0 {
            world.does(thread, Doing::Reading);
        }
        drop(world);
        thread::sleep(Duration::from_micros(20));
        world = self::world();
    }
    let end = world.now_ns + cost_ns;
    world.now_ns = world.next().map_or(end, |next| next.min(end));
    if thread != 0 {
        world.does(thread, Doing::Else);
    }
    world.now_ns
}

/// The C library's, for this program.
///
/// # Safety
/// As that one: `to` is where a timespec may be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, to: *mut libc::timespec) -> c_int {
    if clock != libc::CLOCK_MONOTONIC_RAW {
        // SAFETY: the caller's promise, passed on.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, clock, to) } as c_int;
    }
    let now_ns = read();
    let now =
        libc::timespec { tv_sec: (now_ns / 1_000_000_000) as i64, tv_nsec: (now_ns % 1_000_000_000) as i64 };
    // SAFETY: the caller's promise.
    unsafe { to.write(now) };
    0
}
