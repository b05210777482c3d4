//! Who takes part in virtual time, and when it may go on.
//!
//! An actor is a thread that uses a device: a rank's thread, or a stream's. Virtual time stands while anybody
//! has something to do, and goes on, to the end of the next copy, once all wait: for a copy, for what another
//! one does, or, outside of the driver, for anything at all (asleep, by the kernel's word: in a barrier, for
//! a message). So nothing depends on how long this machine takes for it, or on how late it wakes anybody:
//! what a program does between two calls takes no time, and what it queued follows without a gap.
//!
//! This is a discrete-event simulation whose processes are real threads, run conservatively (Fujimoto,
//! *Parallel and Distributed Simulation Systems*, 2000, chapter 3).

use std::cell::Cell;
use std::process;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::page::{self, ACTING, Actor, Locked, OUTSIDE, READING, WAITING};
use crate::{devices, flow, sys, wait_word};

/// How often somebody looks by itself: nobody says so when a thread falls asleep outside, or a program
/// changes a word of memory.
const LOOK: Duration = Duration::from_micros(500);
/// How often whoever is told looks all the same.
const LONG: Duration = Duration::from_millis(250);

thread_local! {
    static PLACE: Place = const { Place(Cell::new(None)) };
}

/// The calling thread's place, given back when it ends.
struct Place(Cell<Option<&'static Actor>>);

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(actor) = self.0.get() {
            let _page = page::lock();
            actor.leave();
        }
    }
}

/// The calling thread as an actor, which it becomes by its first use of a device.
pub fn me() -> &'static Actor {
    PLACE.with(|place| {
        place.0.get().unwrap_or_else(|| {
            let page = page::lock();
            let actor = page.free_place();
            actor.thread.set(sys::thread_id());
            actor.flow.set(0);
            actor.state.store(ACTING, Ordering::Release);
            actor.process.set(process::id());
            place.0.set(Some(actor));
            actor
        })
    })
}

/// While this is there, the calling thread is in the driver, if it is an actor.
pub struct Inside(Option<(&'static Actor, u32)>);

/// Comes into the driver to do something.
pub fn enter() -> Inside {
    let inside = enter_as(ACTING);
    if let Some((actor, _)) = inside.0 {
        actor.readings.set(0);
    }
    inside
}

/// Comes to read the clock. Also how often it did so already, and nothing else.
pub fn enter_to_read() -> (Inside, u32) {
    let inside = enter_as(READING);
    let before =
        inside.0.map_or(0, |(actor, _)| actor.readings.replace(actor.readings.get().saturating_add(1)));
    (inside, before)
}

fn enter_as(state: u32) -> Inside {
    let own = PLACE.try_with(|place| place.0.get()).ok().flatten();
    Inside(own.map(|actor| (actor, actor.state.swap(state, Ordering::AcqRel))))
}

impl Drop for Inside {
    fn drop(&mut self) {
        if let Some((actor, before)) = self.0 {
            actor.state.store(before, Ordering::Release);
        }
    }
}

/// The same of a thread that is an actor from now on.
pub fn enter_as_actor() -> Inside {
    let actor = me();
    actor.state.store(ACTING, Ordering::Release);
    Inside(Some((actor, OUTSIDE)))
}

/// Waits until `over`, which depends on `object` (an address, of which [`stir`] tells), while virtual time
/// goes on; at most `limit` of this machine's time. Whether it is over.
pub fn wait(object: usize, limit: Option<Duration>, over: impl Fn() -> bool) -> bool {
    wait_looking(object, limit, limit.unwrap_or(LONG), over)
}

/// The same of what changes without anybody telling, with no limit.
pub fn watch(object: usize, over: impl Fn() -> bool) {
    wait_looking(object, None, LOOK, over);
}

fn wait_looking(object: usize, limit: Option<Duration>, look: Duration, over: impl Fn() -> bool) -> bool {
    let (me, began) = (me(), Instant::now());
    // A program that opens a latch writes a word and calls nothing: its streams are told here.
    wait_word::over().into_iter().for_each(stir);
    loop {
        let in_flight = {
            let page = page::lock();
            let is_over = over();
            if is_over || limit.is_some_and(|limit| began.elapsed() >= limit) {
                me.state.store(ACTING, Ordering::Release);
                return is_over;
            }
            me.object.set(object);
            me.state.store(WAITING, Ordering::Release);
            while me.state.load(Ordering::Acquire) == WAITING && all_wait(&page) {
                if !flow::pass(&page, devices::all(), f64::INFINITY) {
                    break;
                }
            }
            me.flow.get() != 0
        };
        // Of those who wait, whoever has a copy in flight sees to it that time goes on.
        sys::sleep_on(&me.state, WAITING, if in_flight { LOOK } else { look });
    }
}

/// Something about `object` has changed: those of this process who wait for it look again.
pub fn stir(object: usize) {
    let page = page::lock();
    let own = process::id();
    let waits = |actor: &&Actor| {
        actor.process.get() == own
            && actor.object.get() == object
            && actor.flow.get() == 0
            && actor.state.load(Ordering::Acquire) == WAITING
    };
    page.actors().filter(waits).for_each(Actor::rouse);
}

/// Whether anybody has something to do in the driver before virtual time goes on.
pub fn anybody_acts(page: &Locked) -> bool {
    page.actors().any(|actor| actor.state.load(Ordering::Acquire) == ACTING && actor.seen_or_gone().is_some())
}

/// Whether nobody has anything to do before virtual time goes on.
fn all_wait(page: &Locked) -> bool {
    // Asking the kernel costs more than all the rest, so it is asked last.
    let nobody_acts = page.actors().all(|actor| match actor.state.load(Ordering::Acquire) {
        WAITING | OUTSIDE => true,
        _ => actor.seen_or_gone().is_none(),
    });
    // One that came in meanwhile may sleep for the lock of the page, which is held here.
    let sleeps = |actor: &Actor| actor.seen_or_gone().is_none_or(|state| matches!(state, 'S' | 'T' | 't'));
    let is_outside = |actor: &Actor| actor.state.load(Ordering::Acquire) == OUTSIDE;
    nobody_acts
        && page.actors().all(|actor| match actor.state.load(Ordering::Acquire) {
            WAITING => true,
            OUTSIDE => sleeps(actor) && is_outside(actor),
            _ => false,
        })
}
