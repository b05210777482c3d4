//! The latch: holds a stream back until the host says go.
//!
//! The host's word is a ticket number in pinned memory that the device can read. Closing takes the next
//! ticket and queues a wait for it; opening writes it ([`Tickets`]).
//!
//! The wait is the driver's stream-memory wait where it works, else a kernel that spins. Which one works is
//! found by trying: attributes and versions have been wrong on both sides.

use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::thread;
use std::time::{Duration, Instant};

use device::DeviceError;

use crate::context::Context;
use crate::driver::Driver;
use crate::in_flight::InFlight;
use crate::modules::SpinKernel;
use crate::stream::Stream;
use crate::tickets::Tickets;

/// How long a latch that was opened may take to let go when it is tried.
const TRIAL_LIMIT: Duration = Duration::from_secs(2);

/// Which latch to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LatchChoice {
    /// The best that works: the stream-memory wait, else the spin kernel, else none.
    #[default]
    Auto,
    /// The stream-memory wait or none.
    StreamWait,
    /// The spin kernel or none.
    SpinKernel,
    /// None.
    None,
}

/// How a stream is made to wait.
pub(crate) enum Mechanism<D: Driver> {
    StreamWait,
    SpinKernel(Rc<SpinKernel<D>>),
}

// Derived, it would ask a driver to be Clone.
impl<D: Driver> Clone for Mechanism<D> {
    fn clone(&self) -> Self {
        match self {
            Self::StreamWait => Self::StreamWait,
            Self::SpinKernel(kernel) => Self::SpinKernel(Rc::clone(kernel)),
        }
    }
}

impl<D: Driver> Mechanism<D> {
    /// The first of the chosen mechanisms that works on this device, or why none does.
    pub(crate) fn choose(context: &Arc<Context<D>>, choice: LatchChoice) -> Result<Self, String> {
        let stream_wait = || {
            let can = context.enter().map_err(|error| error.to_string());
            can.and_then(|driver| driver.stream_can_wait(context.device()))
                .and_then(|()| works(context, Self::StreamWait))
                .map_err(|why| format!("the stream-memory wait: {why}"))
        };
        let spin_kernel = || {
            let kernel = SpinKernel::load(context).map_err(|error| error.to_string());
            kernel
                .and_then(|kernel| works(context, Self::SpinKernel(Rc::new(kernel))))
                .map_err(|why| format!("the spin kernel: {why}"))
        };

        match choice {
            LatchChoice::StreamWait => stream_wait(),
            LatchChoice::SpinKernel => spin_kernel(),
            LatchChoice::Auto => {
                stream_wait().or_else(|first| spin_kernel().map_err(|second| format!("{first}; {second}")))
            }
            LatchChoice::None => Err("it was asked for that none be used".to_owned()),
        }
    }
}

/// Tries a mechanism: it must hold, and it must let go.
fn works<D: Driver>(context: &Arc<Context<D>>, mechanism: Mechanism<D>) -> Result<Mechanism<D>, String> {
    let text = |error: DeviceError| error.to_string();
    let stream = Stream::new(context).map_err(|error| error.to_string())?;
    let mut latch = Latch::new(context, mechanism.clone()).map_err(text)?;
    let held = latch.close(&stream).and_then(|()| {
        thread::sleep(Duration::from_millis(2));
        Ok(!stream.is_idle()?)
    });
    latch.open();
    let deadline = Instant::now() + TRIAL_LIMIT;
    let ended = loop {
        match stream.is_idle() {
            Ok(false) if Instant::now() < deadline => thread::sleep(Duration::from_micros(50)),
            ended => break ended,
        }
    };

    match (held.map_err(text)?, ended) {
        (_, Ok(false)) => Err(format!("it did not let go within {} ms", TRIAL_LIMIT.as_millis())),
        (_, Err(error)) => Err(error.to_string()),
        (false, Ok(true)) => Err("it holds nothing".to_owned()),
        (true, Ok(true)) => Ok(mechanism),
    }
}

/// The words of one copier and how its stream waits for them.
pub(crate) struct Latch<D: Driver> {
    context: Arc<Context<D>>,
    mechanism: Mechanism<D>,
    // Word 0: the highest ticket that may go. Word 1: the last ticket whose wait gave up.
    words: NonNull<u32>,
    on_device: D::Address,
    tickets: Tickets,
    in_flight: InFlight,
}

impl<D: Driver> Latch<D> {
    /// An open latch.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn new(context: &Arc<Context<D>>, mechanism: Mechanism<D>) -> Result<Self, DeviceError> {
        let (words, on_device) = context.enter()?.words_alloc()?;
        let Some(words) = NonNull::new(words.cast::<u32>()) else {
            return Err(DeviceError::Unsupported {
                what: "a latch",
                reason: "the driver gave no memory for it".to_owned(),
            });
        };

        // From here on dropping frees the words.
        let latch = Self {
            context: Arc::clone(context),
            mechanism,
            words,
            on_device,
            tickets: Tickets::default(),
            in_flight: InFlight::default(),
        };

        // SAFETY: both words are inside the allocation, aligned, and not yet known to the device.
        unsafe { words.cast::<[u32; 2]>().write([0; 2]) };
        Ok(latch)
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        let word = self.words.as_ptr().wrapping_add(at);
        // SAFETY: `at` is 0 or 1; both words are aligned, live as long as `self`, and are only accessed as
        // atomics from `new` on. The device's accesses are single aligned words as well.
        unsafe { AtomicU32::from_ptr(word) }
    }

    /// Holds what is queued on the stream from here on.
    ///
    /// # Errors
    /// The call that failed; then nothing is held.
    pub(crate) fn close(&mut self, stream: &Stream<D>) -> Result<(), DeviceError> {
        let (ticket, moment) = (self.tickets.close(), stream.queues());
        self.in_flight.is_used(moment.clone());
        let queued = match &self.mechanism {
            Mechanism::StreamWait => self.context.enter().map_err(DeviceError::from).and_then(|driver| {
                // SAFETY: the stream lives, and the words are not freed before it was waited for
                // (`in_flight`).
                unsafe { driver.stream_wait_word(stream.handle(), self.on_device, ticket) }
            }),
            Mechanism::SpinKernel(kernel) => {
                // SAFETY: as above.
                unsafe { kernel.launch((stream, moment), self.on_device, ticket) }.map_err(DeviceError::from)
            }
        };

        if queued.is_err() {
            self.open();
        }
        queued
    }

    /// Lets go.
    pub(crate) fn open(&mut self) {
        self.tickets.open(self.word(0));
    }

    /// Whether the present ticket's wait ended by itself before the latch was opened.
    pub(crate) fn gave_up(&self) -> bool {
        self.tickets.gave_up(self.word(1))
    }
}

impl<D: Driver> Drop for Latch<D> {
    fn drop(&mut self) {
        if !self.in_flight.has_ended() {
            // The device may still read the words, in a context that therefore stays.
            std::mem::forget(Arc::clone(&self.context));
        } else if let Ok(driver) = self.context.enter() {
            // SAFETY: allocated in `new`, freed once, and no stream waits for the words any more.
            let _ = unsafe { driver.words_free(self.words.as_ptr().cast()) };
        }
    }
}
