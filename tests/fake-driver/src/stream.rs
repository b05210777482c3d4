//! Streams: each a thread that does what is queued, one after the other.
//!
//! An operation takes the time that the device is described to take (`traffic`), or, without a description,
//! as long as this machine moves bytes.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use crate::code::{Answer, INVALID_HANDLE, NOT_READY};
use crate::{actor, clock, devices, memory, wait_word};

/// What is queued: it is done on the stream's thread, and returns when it has ended.
type Op = Box<dyn FnOnce() + Send>;

/// How long a query waits, of this machine's time, for what has not come, where time is virtual: it goes on
/// only while somebody waits.
pub const QUERY: Duration = Duration::from_millis(1);

/// A queue of a device.
pub struct Stream {
    device: usize,
    line: Arc<Line>,
}

/// What is queued, and whether there will be more.
#[derive(Default)]
struct Line(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    ops: VecDeque<Op>,
    /// Of those queued, how many have not ended: one more than are still in `ops`, while one is being done.
    left: usize,
    closed: bool,
}

impl Line {
    /// Looks at it or changes it.
    fn with<T>(&self, act: impl FnOnce(&mut Queue) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes it, and tells who waits for it.
    fn change(&self, act: impl FnOnce(&mut Queue)) {
        self.with(act);
        actor::stir(self.address());
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Does everything that is queued, until it is closed: the stream's thread.
    fn work(&self) {
        loop {
            actor::wait(self.address(), None, || self.with(|queue| queue.closed || !queue.ops.is_empty()));
            let Some(op) = self.with(|queue| queue.ops.pop_front()) else { return };
            op();
            self.change(|queue| queue.left -= 1);
        }
    }

    fn is_idle(&self) -> bool {
        self.with(|queue| queue.left == 0)
    }
}

impl Stream {
    /// A new one's handle.
    pub fn create(device: usize) -> usize {
        // As CUDA's driver does from some tens of streams on.
        if devices::all().devices[device].few_channels {
            wait_word::none_held();
        }
        memory::OBJECTS.fetch_add(1, Ordering::AcqRel);
        let line = Arc::<Line>::default();
        let worked = Arc::clone(&line);
        // Virtual time does not wait for a thread that it does not know: other streams would be done before
        // this one begins.
        let (begins, begun) = mpsc::channel::<()>();
        thread::spawn(move || {
            actor::me();
            drop(begins);
            worked.work();
        });
        let _ = begun.recv();
        Box::into_raw(Box::new(Self { device, line })) as usize
    }

    /// Gives the handle back; what is queued is still done.
    pub unsafe fn destroy(handle: usize) -> Answer {
        if handle == 0 {
            return Err(INVALID_HANDLE);
        }
        memory::OBJECTS.fetch_sub(1, Ordering::AcqRel);
        let stream = unsafe { Box::from_raw(handle as *mut Self) };
        stream.line.change(|queue| queue.closed = true);
        Ok(())
    }

    /// The stream of a handle. The default stream is none of these.
    pub unsafe fn of<'a>(handle: usize) -> Answer<&'a Self> {
        unsafe { (handle as *const Self).as_ref() }.ok_or(INVALID_HANDLE)
    }

    /// The device whose stream it is.
    pub fn device(&self) -> usize {
        self.device
    }

    /// Queues.
    pub fn push(&self, op: impl FnOnce() + Send + 'static) -> Answer {
        self.line.change(|queue| {
            queue.ops.push_back(Box::new(op));
            queue.left += 1;
        });
        Ok(())
    }

    /// Waits for everything queued.
    pub fn wait(&self) {
        actor::wait(self.line.address(), None, || self.line.is_idle());
    }

    /// Whether everything queued has ended.
    pub fn query(&self) -> Answer {
        let idle = || self.line.is_idle();
        let is_idle = idle() || (clock::is_virtual() && actor::wait(self.line.address(), Some(QUERY), idle));
        if is_idle { Ok(()) } else { Err(NOT_READY) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page;

    #[test]
    fn a_stream_takes_part_in_time_as_soon_as_it_is_there() {
        for before in 0..20 {
            assert_eq!(page::lock().actors().count(), before);
            Stream::create(0);
        }
    }
}
