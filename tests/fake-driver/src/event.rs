//! Events: recorded on a stream, reached when the stream comes there, with the time then.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::code::{Answer, INVALID_HANDLE, INVALID_VALUE, NOT_READY};
use crate::stream::{QUERY, Stream};
use crate::{actor, clock, faults, memory};

/// A time stamp to be taken.
#[derive(Default)]
pub struct Event {
    recorded: AtomicU32,
    /// The number of the last recording that was reached, and the time then.
    reached: Mutex<(u32, f64)>,
}

impl Event {
    /// A new one's handle. Handles are `Arc::into_raw`: what a stream still has to record outlives the
    /// event's destruction.
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
        on.push(move || self.reach(number))
    }

    /// Lets what is queued on the stream from here on wait for what has been recorded.
    pub fn hold_back(self: Arc<Self>, stream: &Stream) -> Answer {
        let number = self.recorded.load(Ordering::Acquire);
        stream.push(move || self.wait_for(number))
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn last_reached(&self) -> (u32, f64) {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream is there.
    fn reach(&self, number: u32) {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = (number, clock::now());
        actor::stir(self.address());
    }

    /// Waits for a recording.
    fn wait_for(&self, number: u32) {
        actor::wait(self.address(), None, || self.last_reached().0 >= number);
    }

    /// Whether the last recording has been reached.
    pub fn query(&self) -> Answer {
        let reached = || self.last_reached().0 == self.recorded.load(Ordering::Acquire);
        let is_reached =
            reached() || (clock::is_virtual() && actor::wait(self.address(), Some(QUERY), reached));
        if is_reached { Ok(()) } else { Err(NOT_READY) }
    }

    /// Milliseconds from one event to another.
    pub fn elapsed(start: &Self, end: &Self) -> Answer<f32> {
        let at = |event: &Self| {
            event.query()?;
            let (number, at) = event.last_reached();
            if number > 0 { Ok(at) } else { Err(INVALID_VALUE) }
        };
        let span_ns = at(end)? - at(start)?;
        Ok(faults::time().unwrap_or((span_ns / 1e6) as f32))
    }
}
