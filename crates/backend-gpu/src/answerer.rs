//! A GPU that answers the CPU over flags in pinned host memory, with one thread of one kernel.
//!
//! The kernel ends at the last question, and by itself after some ten million looks without a new one (10 s and more over PCIe), so that a process that
//! is killed leaves no GPU that looks for ever. Dropping stops it and waits; what could not be waited for is leaked.

use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use device::answerer::{ANSWER_BEHIND, QUESTION_BYTES};
use device::{Answerer, DeviceError, HostMemory, MemoryKind};

use crate::areas::unsupported;
use crate::context::Context;
use crate::copier::Tools;
use crate::driver::Driver;
use crate::kernel::Kernel;
use crate::kernels::Kernels;
use crate::stream::Stream;

const WHAT: &str = "answers of a device";
/// The last question. No count gets there.
const STOP: u64 = u64::MAX;
/// What a kernel that gave up leaves for an answer.
const GAVE_UP: u64 = u64::MAX - 1;
/// Looks without a new question after which a kernel gives up.
const LOOKS: u64 = 10_000_000;
/// How long an answer is waited for, and how many looks lie between two readings of the clock: many more than a GPU's answer takes.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOKS_A_READING: u32 = 1 << 14;

/// The flags, and the GPU that answers over them.
pub(crate) struct GpuAnswerer<D: Driver> {
    context: Arc<Context<D>>,
    kernels: Rc<Kernels<D>>,
    // None once they were leaked or given back.
    memory: Option<Box<dyn HostMemory>>,
    stream: Option<Stream<D>>,
    /// Where the question is, while the kernel runs, and the last one asked.
    asking: Option<(usize, u64)>,
}

impl<D: Driver> GpuAnswerer<D> {
    /// Takes over pinned host memory; queues nothing.
    ///
    /// # Errors
    /// See [`device::Device::answerer`].
    pub(crate) fn new(
        context: &Arc<Context<D>>,
        tools: &Tools<D>,
        memory: Box<dyn HostMemory>,
    ) -> Result<Self, DeviceError> {
        let kernels = tools.kernels.as_ref().map_err(|reason| unsupported(WHAT, reason.clone()))?;
        if memory.kind() == MemoryKind::Pageable {
            return Err(unsupported(WHAT, "the memory is pageable, and a device reaches pinned memory only"));
        }
        let stream = Some(Stream::new(context)?);
        let kernels = Rc::clone(kernels);
        Ok(Self { context: Arc::clone(context), kernels, memory: Some(memory), stream, asking: None })
    }

    /// The address of the question at `offset`, which has room for an answer behind it.
    fn address(&mut self, offset: usize) -> Result<*mut u8, DeviceError> {
        let gone = || unsupported(WHAT, "its memory was given up after a failure");
        let bytes = self.memory.as_mut().ok_or_else(gone)?.bytes_mut();
        let is_in = offset.is_multiple_of(align_of::<AtomicU64>())
            && offset.checked_add(QUESTION_BYTES).is_some_and(|end| end <= bytes.len());
        match bytes.get_mut(offset..).filter(|_| is_in) {
            Some(words) => Ok(words.as_mut_ptr()),
            None => Err(unsupported(WHAT, format!("offset {offset} has no room for a question and its answer"))),
        }
    }

    /// The question and the answer at `offset`.
    fn words(&mut self, offset: usize) -> Result<[&AtomicU64; 2], DeviceError> {
        let question: *mut AtomicU64 = self.address(offset)?.cast();
        // SAFETY: both words are in the range, which this value owns and lends to nobody meanwhile, and aligned (`address`); the kernel reads and writes
        // them as whole words, as another thread would.
        Ok(unsafe { [&*question, &*question.byte_add(ANSWER_BEHIND)] })
    }

    fn not_asking() -> DeviceError {
        unsupported(WHAT, "the device was not started")
    }

    /// Waits for the kernel.
    fn wait(&mut self) -> Result<(), DeviceError> {
        self.stream.as_ref().map_or(Ok(()), |stream| Ok(stream.synchronize()?))
    }
}

/// Waits until the answer is this one, or the kernel has given up.
fn is_answered(answer: &AtomicU64, wanted: u64) -> bool {
    let mut began = None;
    loop {
        for _ in 0..LOOKS_A_READING {
            let given = answer.load(Ordering::Acquire);
            if given == wanted {
                return true;
            }
            if given == GAVE_UP {
                return false;
            }
        }
        if began.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            return false;
        }
        // What answers may be a thread that needs this PU: a stand-in for a GPU is.
        std::thread::yield_now();
    }
}

impl<D: Driver> Answerer for GpuAnswerer<D> {
    fn memory(&mut self) -> &mut [u8] {
        match (&self.asking, &mut self.memory) {
            (None, Some(memory)) => memory.bytes_mut(),
            _ => &mut [],
        }
    }

    fn into_host(mut self: Box<Self>) -> Option<Box<dyn HostMemory>> {
        self.stop().ok()?;
        self.memory.take()
    }

    fn start(&mut self, offset: usize) -> Result<(), DeviceError> {
        if self.asking.is_some() {
            return Err(unsupported(WHAT, "the device answers already"));
        }
        for word in self.words(offset)? {
            word.store(0, Ordering::Release);
        }
        let address = self.address(offset)?;
        // SAFETY: the range is pinned for every device, and this value owns it.
        let question = D::word(unsafe { self.context.enter()?.host_on_device(address.cast()) }?);
        let stream = self.stream.as_ref().ok_or_else(Self::not_asking)?;
        let parameters = [question, question + ANSWER_BEHIND as u64, LOOKS];
        // SAFETY: both words live until the stream has been waited for, or are leaked; the CPU touches them as atomic words only.
        unsafe { self.kernels.launch(Kernel::Answer, 1, Some(stream), parameters) }?;
        self.asking = Some((offset, 0));
        Ok(())
    }

    fn trips(&mut self, count: u32) -> Result<(), DeviceError> {
        let (offset, mut asked) = self.asking.ok_or_else(Self::not_asking)?;
        let [question, answer] = self.words(offset)?;
        let mut missed = false;
        for _ in 0..count {
            asked += 1;
            question.store(asked, Ordering::Release);
            if !is_answered(answer, asked) {
                missed = true;
                break;
            }
        }
        self.asking = Some((offset, asked));
        if missed {
            Err(DeviceError::TimedOut { what: "the device's answer", limit_ms: PATIENCE.as_millis() as u64 })
        } else {
            Ok(())
        }
    }

    fn stop(&mut self) -> Result<u64, DeviceError> {
        let Some((offset, _)) = self.asking else { return Ok(0) };
        self.words(offset)?[0].store(STOP, Ordering::Release);
        self.wait()?;
        self.asking = None;
        Ok(self.words(offset)?[1].load(Ordering::Acquire))
    }
}

impl<D: Driver> Drop for GpuAnswerer<D> {
    fn drop(&mut self) {
        if self.stop().is_err() {
            // The kernel too: it may still run, and the last one who has it would unload it.
            mem::forget((self.memory.take(), self.stream.take(), Rc::clone(&self.kernels)));
        }
    }
}
