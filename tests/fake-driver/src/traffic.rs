//! How long a copy takes on a described device: its latency, then its bytes at the rate that the links leave it among the copies
//! that are in flight at the same time.
//!
//! Copies in flight are entries of a table, one for each thread that copies. The table is this process's own, or, where
//! `FAKE_SHARED` names a file, one for all processes that name it: the ranks of a node. Rates are looked at anew every
//! two milliseconds of a copy, by the clock of its stream.

use std::cell::RefCell;
use std::env;
use std::ffi::{c_int, c_void};
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::copy::{Copy, Direction};
use crate::devices::{self, Described};
use crate::{place, share, told};

const SHARED: &str = "FAKE_SHARED";
/// How often rates are looked at anew.
const SLICE: Duration = Duration::from_millis(2);
/// The end of a sleep is spun: a kernel's timers are that late, and later.
const SPIN: Duration = Duration::from_micros(100);

/// A thread's place in the table.
#[derive(Default)]
#[repr(C)]
struct Slot {
    /// The process, or 0.
    owner: AtomicU32,
    /// The copy in flight, packed, or 0.
    flow: AtomicU32,
}

const SLOTS: usize = 512;

/// What of a copy others need to know.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Flow {
    device: usize,
    direction: Direction,
    remote: bool,
}

impl Flow {
    fn pack(self) -> u32 {
        let flags = 1 | u32::from(self.direction == Direction::ToHost) << 1 | u32::from(self.remote) << 2;
        (self.device as u32) << 3 | flags
    }

    fn unpack(word: u32) -> Option<Self> {
        let direction = if word & 2 != 0 { Direction::ToHost } else { Direction::ToDevice };
        (word & 1 != 0).then_some(Self { device: (word >> 3) as usize, direction, remote: word & 4 != 0 })
    }

    /// The links it passes: the shared ones, and its own direction of its own device, which come after them.
    fn path(self, described: &Described) -> share::Path {
        let over = described.devices[self.device].over.iter();
        let over = over.filter(|over| over.remote.is_none_or(|remote| remote == self.remote));
        let own = described.links.len() + 2 * self.device + usize::from(self.direction == Direction::ToHost);
        over.map(|over| (over.link, over.weight)).chain([(own, 1.0)]).collect()
    }
}

/// All links' rates in the order that [`Flow::path`] counts them.
fn links(described: &Described) -> Vec<f64> {
    let own = described.devices.iter().flat_map(|device| [device.h2d, device.d2h]);
    let own = own.map(|speed| speed.map_or(f64::INFINITY, |speed| speed.rate));
    described.links.iter().map(|link| link.rate).chain(own).collect()
}

/// The time at which a copy that begins at `start` ends; returns when it is that late.
pub fn carry(copy: &Copy, start: Instant) -> Instant {
    let described = devices::all();
    let device = &described.devices[copy.device];
    let speed = if copy.direction == Direction::ToDevice { device.h2d } else { device.d2h };
    let Some(speed) = speed else { return Instant::now() };
    let remote = place::node().zip(device.host_node).is_some_and(|(memory, device)| memory != device);
    let flow = Flow { device: copy.device, direction: copy.direction, remote };
    announce(flow.pack());
    let mut at = start + speed.latency;
    let mut left = copy.len as f64;
    loop {
        let rate = rate(flow, described);
        let end = at + Duration::from_nanos((left / rate).ceil() as u64);
        if end <= at + SLICE {
            sleep_until(end);
            return end;
        }
        at += SLICE;
        left -= rate * SLICE.as_nanos() as f64;
        // Late or not: only the end is to be met.
        thread::sleep(at.saturating_duration_since(Instant::now()));
    }
}

/// The flow's rate among all that are in flight, itself included.
fn rate(flow: Flow, described: &Described) -> f64 {
    let own = process::id();
    let mine = SLOT.with_borrow(|claim| claim.0.map(|slot| &raw const *slot));
    let others = table().iter().filter(|slot| mine != Some(&raw const **slot)).filter_map(|slot| {
        let owner = slot.owner.load(Ordering::Acquire);
        let flow = Flow::unpack(slot.flow.load(Ordering::Acquire))?;
        let lives = owner == own || (owner != 0 && Path::new("/proc").join(owner.to_string()).exists());
        (lives && flow.device < described.devices.len()).then_some(flow)
    });
    let paths: Vec<share::Path> = [flow].into_iter().chain(others).map(|flow| flow.path(described)).collect();
    share::max_min(&paths, &links(described))[0]
}

/// The calling thread's copies are over for now.
pub fn rest() {
    SLOT.with_borrow(|claim| {
        if let Some(slot) = claim.0 {
            slot.flow.store(0, Ordering::Release);
        }
    });
}

/// The calling thread's slot, given back when it ends.
struct Claim(Option<&'static Slot>);

thread_local! {
    static SLOT: RefCell<Claim> = const { RefCell::new(Claim(None)) };
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot.flow.store(0, Ordering::Release);
            slot.owner.store(0, Ordering::Release);
        }
    }
}

fn announce(flow: u32) {
    SLOT.with_borrow_mut(|claim| {
        let slot = claim.0.get_or_insert_with(|| {
            let own = process::id();
            let free = table().iter().find(|slot| {
                let owner = slot.owner.load(Ordering::Acquire);
                let gone = owner != 0 && !Path::new("/proc").join(owner.to_string()).exists();
                (owner == 0 || gone)
                    && slot.owner.compare_exchange(owner, own, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            });
            free.unwrap_or_else(|| told::wrong(SHARED, "", "too many threads copy at once"))
        });
        slot.flow.store(flow, Ordering::Release);
    });
}

fn table() -> &'static [Slot] {
    static TABLE: OnceLock<&'static [Slot]> = OnceLock::new();
    TABLE.get_or_init(|| match env::var(SHARED) {
        Ok(path) => shared(&path).unwrap_or_else(|error| told::wrong(SHARED, &path, &error.to_string())),
        Err(_) => Box::leak((0..SLOTS).map(|_| Slot::default()).collect()),
    })
}

/// The table in a file. It begins as zeros, which is a table of free slots.
fn shared(path: &str) -> std::io::Result<&'static [Slot]> {
    unsafe extern "C" {
        fn mmap(at: *mut c_void, len: usize, rights: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    }
    const READ_WRITE: c_int = 3;
    const MAP_SHARED: c_int = 1;
    let len = SLOTS * size_of::<Slot>();
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    file.set_len(len as u64)?;
    let start = unsafe { mmap(std::ptr::null_mut(), len, READ_WRITE, MAP_SHARED, file.as_raw_fd(), 0) };
    if start.addr() == usize::MAX {
        return Err(std::io::Error::last_os_error());
    }
    Ok(unsafe { std::slice::from_raw_parts(start.cast::<Slot>(), SLOTS) })
}

fn sleep_until(end: Instant) {
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        if left > 2 * SPIN { thread::sleep(left - SPIN) } else { thread::yield_now() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_survives_being_packed() {
        for device in [0, 7, 4095] {
            for direction in [Direction::ToDevice, Direction::ToHost] {
                for remote in [false, true] {
                    let flow = Flow { device, direction, remote };
                    assert_eq!(Flow::unpack(flow.pack()), Some(flow));
                }
            }
        }
        assert_eq!(Flow::unpack(0), None);
    }
}
