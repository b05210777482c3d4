//! The latch: holds a stream back until the host says go.
//!
//! The host's word is a ticket number in pinned memory that the device can read. Closing takes the next ticket and queues a
//! wait for it; opening writes it. So no word is ever reset, and a wait that is late still sees an open latch.
//!
//! The wait is the driver's stream-memory wait where it works, else a kernel that spins. Which one works is found by trying:
//! attributes and versions have been wrong on both sides.

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{self, CUdeviceptr, CUfunction, CUmodule};
use device::{CallError, DeviceError};

use crate::context::Context;
use crate::stream::Stream;

/// `CU_STREAM_WAIT_VALUE_GEQ`: until (int32)(*address - value) >= 0.
const GREATER_OR_EQUAL: u32 = 0;
/// How long the spin kernel holds: longer than any batch takes to be queued, shorter than a user's patience.
pub(crate) const SPIN_LIMIT: Duration = Duration::from_secs(20);
/// How long a latch that was opened may take to let go when it is tried.
const TRIAL_LIMIT: Duration = Duration::from_secs(2);

const PTX: &str = concat!(include_str!("spin_kernel.ptx"), "\0");
const KERNEL: &CStr = c"numabench_hold";

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
#[derive(Clone)]
pub(crate) enum Mechanism {
    StreamWait,
    SpinKernel(Arc<SpinKernel>),
}

impl Mechanism {
    /// The first of the chosen mechanisms that works on this device, or why none does.
    pub(crate) fn choose(context: &Arc<Context>, choice: LatchChoice) -> Result<Self, String> {
        let stream_wait = || works(context, Self::StreamWait).map_err(|why| format!("the stream-memory wait: {why}"));
        let spin_kernel = || {
            let kernel = SpinKernel::load(context).map_err(|error| error.to_string());
            kernel
                .and_then(|kernel| works(context, Self::SpinKernel(Arc::new(kernel))))
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
fn works(context: &Arc<Context>, mechanism: Mechanism) -> Result<Mechanism, String> {
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
        (_, Ok(false)) => {
            // The device may still read the words and run the wait: nothing of them may be freed, ever.
            std::mem::forget((stream, latch));
            Err(format!("it did not let go within {} ms", TRIAL_LIMIT.as_millis()))
        }
        (_, Err(error)) => Err(error.to_string()),
        (false, Ok(true)) => Err("it holds nothing".to_owned()),
        (true, Ok(true)) => Ok(mechanism),
    }
}

/// The words of one copier and how its stream waits for them. The stream must have been waited for before this is dropped.
pub(crate) struct Latch {
    context: Arc<Context>,
    mechanism: Mechanism,
    // Word 0: the highest ticket that may go. Word 1: the last ticket whose wait gave up.
    words: NonNull<u32>,
    on_device: CUdeviceptr,
    ticket: u32,
}

impl Latch {
    /// An open latch.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn new(context: &Arc<Context>, mechanism: Mechanism) -> Result<Self, DeviceError> {
        let api = context.enter()?;
        let mut words: *mut c_void = ptr::null_mut();
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: `words` is valid to write.
        unsafe { api.mem_host_alloc(&raw mut words, 2 * size_of::<u32>(), flags) }?;
        let Some(words) = NonNull::new(words.cast::<u32>()) else {
            return Err(DeviceError::Unsupported {
                what: "a latch",
                reason: "the driver gave no memory for it".to_owned(),
            });
        };
        // From here on dropping frees the words.
        let mut latch = Self { context: Arc::clone(context), mechanism, words, on_device: 0, ticket: 0 };
        // SAFETY: both words are inside the allocation, aligned, and not yet known to the device.
        unsafe { words.write(0) };
        // SAFETY: as above.
        unsafe { words.add(1).write(0) };
        // SAFETY: `words` is mapped host memory of this context; `on_device` is valid to write; the flags must be 0.
        unsafe { api.mem_host_get_device_pointer(&raw mut latch.on_device, words.as_ptr().cast(), 0) }?;
        Ok(latch)
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `at` is 0 or 1; both words are aligned, live as long as `self`, and are only accessed as atomics from
        // `new` on. The device's accesses are single aligned words as well.
        unsafe { AtomicU32::from_ptr(self.words.add(at).as_ptr()) }
    }

    /// Holds what is queued on the stream from here on.
    ///
    /// # Errors
    /// The call that failed; then nothing is held.
    pub(crate) fn close(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        self.ticket = self.ticket.wrapping_add(1);
        let queued = match &self.mechanism {
            Mechanism::StreamWait => self.context.enter().map_err(DeviceError::from).and_then(|api| {
                // SAFETY: the stream lives, and the word is mapped and outlives the wait (see the type).
                unsafe { api.stream_wait_value32(stream.handle(), self.on_device, self.ticket, GREATER_OR_EQUAL) }
            }),
            Mechanism::SpinKernel(kernel) => {
                kernel.launch(stream, self.on_device, self.ticket).map_err(DeviceError::from)
            }
        };
        if queued.is_err() {
            self.open();
        }
        queued
    }

    /// Lets go.
    pub(crate) fn open(&mut self) {
        self.word(0).store(self.ticket, Ordering::Release);
    }

    /// Whether the present ticket's wait ended by itself before the latch was opened.
    pub(crate) fn gave_up(&self) -> bool {
        self.word(1).load(Ordering::Acquire) == self.ticket
    }
}

impl Drop for Latch {
    fn drop(&mut self) {
        if let Ok(api) = self.context.enter() {
            // SAFETY: allocated in `new`, freed once, and no stream waits for the words any more (see the type).
            let _ = unsafe { api.mem_free_host(self.words.as_ptr().cast()) };
        }
    }
}

/// The kernel that spins, loaded from its PTX text: the driver compiles it for whatever the device is.
pub(crate) struct SpinKernel {
    context: Arc<Context>,
    module: CUmodule,
    function: CUfunction,
}

impl SpinKernel {
    fn load(context: &Arc<Context>) -> Result<Self, CallError> {
        let api = context.enter()?;
        let mut module: CUmodule = ptr::null_mut();
        // SAFETY: PTX text that ends with a zero byte; `module` is valid to write.
        unsafe { api.module_load_data(&raw mut module, PTX.as_ptr().cast()) }?;
        let mut kernel = Self { context: Arc::clone(context), module, function: ptr::null_mut() };
        // SAFETY: the module was just loaded; the name ends with a zero byte; `function` is valid to write.
        unsafe { api.module_get_function(&raw mut kernel.function, module, KERNEL.as_ptr()) }?;
        Ok(kernel)
    }

    fn launch(&self, stream: &Stream, words: CUdeviceptr, ticket: u32) -> Result<(), CallError> {
        let (mut words, mut ticket, mut limit_ns) = (words, ticket, SPIN_LIMIT.as_nanos() as u64);
        let mut parameters: [*mut c_void; 3] =
            [(&raw mut words).cast(), (&raw mut ticket).cast(), (&raw mut limit_ns).cast()];
        // SAFETY: the function takes a u64, a u32 and a u64, in this order; the driver copies them before it returns.
        unsafe {
            let (parameters, extra) = (parameters.as_mut_ptr(), ptr::null_mut());
            self.context.enter()?.launch_kernel(self.function, 1, 1, 1, 1, 1, 1, 0, stream.handle(), parameters, extra)
        }
    }
}

// SAFETY: the handles are tokens for the driver, whose functions may be called by any thread; nothing changes after `load`.
unsafe impl Send for SpinKernel {}
// SAFETY: as above.
unsafe impl Sync for SpinKernel {}

impl Drop for SpinKernel {
    fn drop(&mut self) {
        if let Ok(api) = self.context.enter() {
            // SAFETY: loaded once, unloaded once; whoever launched it has waited for it.
            let _ = unsafe { api.module_unload(self.module) };
        }
    }
}
