//! Which device a thread uses, who uses a device, and whether it is lost.
//!
//! CUDA's threads have no device until a context is made current; HIP's have the first. A device that is lost
//! stays lost, as a context does in which a sticky error has occurred: every call on it answers the same
//! code.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::code::{Answer, INVALID_CONTEXT, INVALID_DEVICE, PEER_ALREADY_ENABLED, PEER_UNSUPPORTED};
use crate::{actor, calls, devices, faults, memory, moving};

thread_local! {
    static CURRENT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Of one device.
#[derive(Default)]
struct State {
    users: AtomicI32,
    lost: AtomicI32,
    /// The devices whose memory it was let reach.
    reaches: Mutex<BTreeSet<usize>>,
}

fn states() -> &'static [State] {
    static STATES: OnceLock<Vec<State>> = OnceLock::new();
    STATES.get_or_init(|| devices::all().devices.iter().map(|_| State::default()).collect())
}

/// Makes a device, or none, the calling thread's.
pub fn set_current(device: Option<usize>) {
    CURRENT.set(device);
}

/// The calling thread's device.
pub fn current() -> Option<usize> {
    CURRENT.get()
}

/// Does a call that needs no device, unless it is to fail.
pub fn outside(call: &'static str, act: impl FnOnce() -> Answer) -> c_int {
    faults::stall(call);
    answered(call, act)
}

fn answered(call: &'static str, act: impl FnOnce() -> Answer) -> c_int {
    let _inside = actor::enter();
    calls::count(call);
    faults::call(call).unwrap_or_else(|| crate::code::of(act()))
}

/// Does a call on the thread's device, unless it is to fail or the device is lost.
pub fn on_device(call: &'static str, act: impl FnOnce(usize) -> Answer) -> c_int {
    faults::stall(call);
    let _inside = actor::enter_as_actor();
    answered(call, || act(alive(current().ok_or(INVALID_CONTEXT)?)?))
}

/// Does a call that gives something back on the thread's device, unless it is to fail: also on a device that
/// is lost, whose code it then answers, as the manuals have it of errors of earlier calls.
pub fn giving_back(call: &'static str, act: impl FnOnce() -> Answer) -> c_int {
    outside(call, || {
        let device = current().ok_or(INVALID_CONTEXT)?;
        let given = act();
        alive(device)?;
        given
    })
}

/// The device, if it is not lost.
pub fn alive(device: usize) -> Answer<usize> {
    match states()[device].lost.load(Ordering::Acquire) {
        0 => Ok(device),
        code => Err(code),
    }
}

/// From now on every call on the device answers this.
pub fn lose(device: usize, code: c_int) {
    states()[device].lost.store(code, Ordering::Release);
}

fn reached<T>(device: usize, look: impl FnOnce(&mut BTreeSet<usize>) -> T) -> T {
    look(&mut states()[device].reaches.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Lets a device reach another's memory from now on.
pub fn enable_reach(device: usize, other: usize) -> Answer {
    if !devices::all().devices.get(device).ok_or(INVALID_DEVICE)?.peers.contains(&other) {
        return Err(PEER_UNSUPPORTED);
    }
    if reached(device, |others| others.insert(other)) { Ok(()) } else { Err(PEER_ALREADY_ENABLED) }
}

/// Whether it was let reach it.
pub fn reaches(device: usize, other: usize) -> bool {
    reached(device, |others| others.contains(&other))
}

/// One user more; the first one's context is made.
pub fn retain(device: usize) {
    if states()[device].users.fetch_add(1, Ordering::AcqRel) == 0 {
        calls::count("contexts");
    }
}

/// Whether anyone uses the device.
pub fn is_used(device: usize) -> bool {
    states()[device].users.load(Ordering::Acquire) > 0
}

/// One user less; the last one's leftovers are said. What is left on a device that was lost could not be
/// given back.
pub fn release(device: usize) -> Answer {
    let left = states()[device].users.fetch_sub(1, Ordering::AcqRel) - 1;
    if left == 0 && states().iter().all(|state| state.users.load(Ordering::Acquire) == 0) && !any_lost() {
        memory::say_what_is_left(moving::left());
    }
    if left < 0 { Err(INVALID_CONTEXT) } else { Ok(()) }
}

/// Whether any device is lost.
pub fn any_lost() -> bool {
    states().iter().any(|state| state.lost.load(Ordering::Acquire) != 0)
}
