//! How many of its virtual CPUs the host runs at a time: a thread on each reads the clock for a moment, and
//! what is missing between two readings while the kernel did
//! nothing else there is what the host did not give.
//!
//! Steal time (`/proc/stat`) says the same where a hypervisor reports it, and many report none. On hardware
//! of its own nothing is missing but interrupts,
//! which are shorter than what counts here.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Barrier, RwLock};
use std::thread::{self, JoinHandle};

use crate::bound::Bound;
use crate::clock::now_ns;

/// How long the threads read the clock, and the shortest time between two readings that is missing.
const LASTING_NS: u64 = 30_000_000;
const HOLE_NS: u64 = 50_000;

/// What the host gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostShare {
    /// CPUs that were asked for at once.
    pub cpus: usize,
    /// How many of them the host ran at a time, in the mean.
    pub at_a_time: f64,
}

/// What a thread does.
type Measurement = Box<dyn FnOnce() -> Option<Missing> + Send>;

/// Asks for these PUs at once; `None` where one of them cannot be had, no further thread can be started (a
/// limit of processes), or a thread cannot say what the kernel did with it.
pub fn host_share(pus: impl IntoIterator<Item = u32>) -> Option<HostShare> {
    share_by(pus, |thread| thread::Builder::new().spawn(thread))
}

/// The same with threads that `spawn` starts.
fn share_by(
    pus: impl IntoIterator<Item = u32>,
    mut spawn: impl FnMut(Measurement) -> io::Result<JoinHandle<Option<Missing>>>,
) -> Option<HostShare> {
    let pus: BTreeSet<u32> = pus.into_iter().collect();
    // Whether all threads are there: the barrier would wait for one that cannot be started.
    let are_all = Arc::new(RwLock::new(false));
    let mut said = are_all.write().ok()?;
    let together = Arc::new(Barrier::new(pus.len()));
    let thread_on = |pu: u32| -> Measurement {
        let (are_all, together) = (Arc::clone(&are_all), Arc::clone(&together));
        Box::new(move || {
            let bound = Bound::to(pu);
            if !*are_all.read().ok()? {
                return None;
            }
            together.wait();
            bound.ok()?;
            missing()
        })
    };
    let asked: Vec<_> = pus.iter().map_while(|pu| spawn(thread_on(*pu)).ok()).collect();
    let is_all = asked.len() == pus.len();
    *said = is_all;
    drop(said);

    let found: Vec<Option<Missing>> = asked.into_iter().map(|thread| thread.join().ok().flatten()).collect();
    let found: Vec<Missing> = found.into_iter().collect::<Option<_>>().filter(|_| is_all)?;
    let at_a_time = found.iter().map(Missing::given).sum();
    Some(HostShare { cpus: found.len(), at_a_time })
}

/// What the CPUs of this machine did so far, in the kernel's ticks (proc_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTime {
    busy: u64,
    stolen: u64,
}

impl CpuTime {
    /// Up to now; `None` where the kernel does not say.
    pub fn now() -> Option<Self> {
        Self::of(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// By the text of `/proc/stat`, whose first line is `cpu user nice system idle iowait irq softirq steal
    /// …`.
    fn of(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let at = |column: usize| ticks.get(column).copied();
        let busy = [0, 1, 2, 5, 6].into_iter().map(at).sum::<Option<u64>>()?;
        Some(Self { busy, stolen: at(7)? })
    }

    /// The part of the time that was wanted since then that the host gave; `None` where none was wanted.
    pub fn given_since(self, earlier: Self) -> Option<f64> {
        let (busy, stolen) = (self.busy.checked_sub(earlier.busy)?, self.stolen.checked_sub(earlier.stolen)?);
        let wanted = busy + stolen;
        (wanted > 0).then(|| busy as f64 / wanted as f64)
    }
}

/// What is missing of the time of one thread, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Missing {
    /// The time that the thread was there for, less what other threads of its CPU took.
    own: u64,
    /// What the host did not give of it.
    host: u64,
}

impl Missing {
    /// The part of its own time that the host gave.
    fn given(&self) -> f64 {
        if self.own == 0 { 1.0 } else { 1.0 - self.host as f64 / self.own as f64 }
    }

    /// Adds a time between two readings in which the kernel has, or has not, `switched` to another thread.
    fn add(&mut self, ns: u64, switched: bool) {
        if !switched {
            self.own += ns;
            self.host += if ns >= HOLE_NS { ns } else { 0 };
        }
    }
}

fn missing() -> Option<Missing> {
    let (mut found, mut switches) = (Missing::default(), involuntary_switches()?);
    let began = now_ns();
    let mut last = began;
    while last - began < LASTING_NS {
        let now = now_ns();
        if now - last < HOLE_NS {
            found.add(now - last, false);
            last = now;
        } else {
            let since = involuntary_switches()?;
            found.add(now - last, since != switches);
            switches = since;
            // Asking took its time.
            last = now_ns();
        }
    }

    Some(found)
}

/// How often the kernel took the CPU from this thread.
fn involuntary_switches() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_other_thread_took_is_the_hosts() {
        let mut found = Missing::default();
        for (ns, switched) in [(100, false), (4_000_000, true), (HOLE_NS, false), (49_900, false)] {
            found.add(ns, switched);
        }
        assert_eq!(found, Missing { own: 2 * HOLE_NS, host: HOLE_NS });
        assert_eq!((found.given(), Missing::default().given()), (0.5, 1.0));
    }

    #[test]
    fn steal_time_is_what_the_host_did_not_give_of_what_was_wanted() {
        let before = CpuTime::of("cpu  10 0 10 500 0 1 1 5 0 0\ncpu0 1 2").expect("a line");
        let after = CpuTime::of("cpu  60 0 20 900 0 1 1 45 0 0").expect("a line");
        assert_eq!(after.given_since(before), Some(0.6));
        assert_eq!(
            (after.given_since(after), before.given_since(after), CpuTime::of("cpu 1 2")),
            (None, None, None)
        );
    }

    #[test]
    fn where_no_further_thread_can_be_started_nothing_is_said_and_nobody_waits() {
        for most in [0, 1, 2] {
            let mut started = 0;
            let spawn = |thread: Measurement| {
                started += 1;
                match started > most {
                    true => Err(io::Error::from(io::ErrorKind::WouldBlock)),
                    false => thread::Builder::new().spawn(thread),
                }
            };
            assert_eq!(share_by([0, 1, 2], spawn), None, "{most} threads");
        }
    }

    #[test]
    fn a_machine_gives_no_more_than_it_was_asked_for() -> Result<(), Box<dyn std::error::Error>> {
        let pus: Vec<u32> = topo::read()?.allowed.pus.iter().collect();
        let share = host_share(pus.iter().copied()).ok_or("a PU that is allowed cannot be had")?;
        assert_eq!(share.cpus, pus.len());
        assert!(share.at_a_time > 0.0 && share.at_a_time <= share.cpus as f64, "{share:?}");
        assert_eq!(host_share([8000]), None, "a PU that is not there");
        Ok(())
    }
}
