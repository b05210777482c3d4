//! Events: recorded on a stream, reached when the stream comes there, with the time by the stream's own clock.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::code::{Answer, INVALID_HANDLE, INVALID_VALUE, NOT_READY};
use crate::stream::{Op, Stream};
use crate::{devices, faults, memory};

/// How long a query of an event that is not reached sleeps, where devices have described rates.
const POLITE: Duration = Duration::from_micros(200);

/// A time stamp to be taken.
#[derive(Default)]
pub struct Event {
    recorded: AtomicU32,
    reached: Mutex<(u32, Option<Instant>)>,
    changed: Condvar,
}

impl Event {
    /// A new one's handle. Handles are `Arc::into_raw`: what a stream still has to record outlives the event's destruction.
    pub fn create() -> usize {
        memory::OBJECTS.fetch_add(1, Ordering::AcqRel);
        Arc::into_raw(Arc::<Self>::default()) as usize
    }

    /// Gives the handle back.
    pub unsafe fn destroy(handle: usize) -> Answer {
        if handle == 0 {
            return Err(INVALID_HANDLE);
        }
        memory::OBJECTS.fetch_sub(1, Ordering::AcqRel);
        drop(unsafe { Arc::from_raw(handle as *const Self) });
        Ok(())
    }

    /// The event of a handle.
    pub unsafe fn of(handle: usize) -> Answer<Arc<Self>> {
        if handle == 0 {
            return Err(INVALID_HANDLE);
        }
        unsafe { Arc::increment_strong_count(handle as *const Self) };
        Ok(unsafe { Arc::from_raw(handle as *const Self) })
    }

    /// Queues the time stamp.
    pub fn record(self: Arc<Self>, on: &Stream) -> Answer {
        let number = self.recorded.fetch_add(1, Ordering::AcqRel) + 1;
        on.push(Op::Record(self, number))
    }

    /// Lets what is queued on the stream from here on wait for what has been recorded.
    pub fn hold_back(self: Arc<Self>, stream: &Stream) -> Answer {
        let number = self.recorded.load(Ordering::Acquire);
        stream.push(Op::WaitEvent(self, number))
    }

    /// The stream is there.
    pub fn reach(&self, number: u32, at: Instant) {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = (number, Some(at));
        self.changed.notify_all();
    }

    /// Waits for a recording; the time it was taken.
    pub fn wait_for(&self, number: u32) -> Option<Instant> {
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        while reached.0 < number {
            reached = self.changed.wait(reached).unwrap_or_else(PoisonError::into_inner);
        }
        reached.1
    }

    /// Whether the last recording has been reached.
    pub fn query(&self) -> Answer {
        let reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner).0;
        if reached == self.recorded.load(Ordering::Acquire) {
            return Ok(());
        }
        // Described devices serve ranks that are more than this machine's processors, and all of them poll.
        if devices::all().has_rates() {
            thread::sleep(POLITE);
        }
        Err(NOT_READY)
    }

    /// Milliseconds from one event to another.
    pub fn elapsed(start: &Self, end: &Self) -> Answer<f32> {
        let at = |event: &Self| {
            event.query()?;
            event.reached.lock().unwrap_or_else(PoisonError::into_inner).1.ok_or(INVALID_VALUE)
        };
        let (start, end) = (at(start)?, at(end)?);
        let ms = match end.checked_duration_since(start) {
            Some(span) => span.as_secs_f64() * 1e3,
            None => -start.duration_since(end).as_secs_f64() * 1e3,
        };
        Ok(faults::time().unwrap_or(ms as f32))
    }
}
