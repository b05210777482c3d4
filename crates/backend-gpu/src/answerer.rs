//! A GPU that answers the CPU over flags in pinned host memory, with one thread of one kernel.
//!
//! The kernel ends at the last question, and by itself after some ten million looks without a new one (10 s
//! and more over PCIe), so that a process that is killed leaves no GPU that looks for ever. Dropping stops it
//! and waits; what could not be waited for is leaked.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use device::answerer::{ANSWER_BEHIND, QUESTION_BYTES};
use device::{Answerer, DeviceError, HostMemory};

use crate::context::Context;
use crate::copier::Tools;
use crate::driver::Driver;
use crate::host_range::HostRange;
use crate::kernel::DriverKernel;
use crate::modules::{Kernels, Parameter};
use crate::stream::Stream;
use crate::unsupported::unsupported;

const WHAT: &str = "answers of a device";
/// The last question. No count gets there.
const STOP: u64 = u64::MAX;
/// What a kernel that gave up leaves for an answer.
const GAVE_UP: u64 = u64::MAX - 1;
/// Looks without a new question after which a kernel gives up.
const LOOKS: u64 = 10_000_000;
/// How long an answer is waited for, and how many looks lie between two readings of the clock: many more than
/// a GPU's answer takes.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOKS_A_READING: u32 = 1 << 14;

/// The flags, and the GPU that answers over them.
pub(crate) struct GpuAnswerer<D: Driver> {
    kernels: Rc<Kernels<D>>,
    stream: Stream<D>,
    // None once it was given back.
    memory: Option<HostRange>,
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
        let memory = HostRange::new(memory);
        memory.reach(WHAT, context)?;
        let stream = Stream::new(context)?;
        Ok(Self { kernels: Rc::clone(kernels), stream, memory: Some(memory), asking: None })
    }

    fn range(&self) -> Result<&HostRange, DeviceError> {
        self.memory.as_ref().ok_or_else(|| unsupported(WHAT, "its memory was given back"))
    }

    /// The question and the answer at `offset`.
    fn question_and_answer(&self, offset: usize) -> Result<[&AtomicU64; 2], DeviceError> {
        let memory = self.range()?;
        let is_in = offset.checked_add(QUESTION_BYTES).is_some_and(|end| end <= memory.len());
        let answer = offset.checked_add(ANSWER_BEHIND).and_then(|offset| memory.word(offset));
        match (memory.word(offset), answer) {
            (Some(question), Some(answer)) if is_in => Ok([question, answer]),
            _ => Err(unsupported(WHAT, format!("offset {offset} has no room for a question and its answer"))),
        }
    }

    fn not_asking() -> DeviceError {
        unsupported(WHAT, "the device was not started")
    }
}

/// Waits until the answer is this one.
///
/// # Errors
/// [`DeviceError::TimedOut`] after [`PATIENCE`]; [`DeviceError::NotAsked`] where the kernel has given up.
fn answered(answer: &AtomicU64, wanted: u64) -> Result<(), DeviceError> {
    let mut began = None;

    loop {
        for _ in 0..LOOKS_A_READING {
            let given = answer.load(Ordering::Acquire);
            if given == wanted {
                return Ok(());
            }
            if given == GAVE_UP {
                return Err(DeviceError::NotAsked { looks: LOOKS });
            }
        }
        if began.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            let limit_ms = PATIENCE.as_millis() as u64;
            return Err(DeviceError::TimedOut { what: "the device's answer", limit_ms });
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
        self.memory.as_mut()?.take()
    }

    fn start(&mut self, offset: usize) -> Result<(), DeviceError> {
        if self.asking.is_some() {
            return Err(unsupported(WHAT, "the device answers already"));
        }
        for word in self.question_and_answer(offset)? {
            word.store(0, Ordering::Release);
        }
        let memory = self.range()?;
        let [question, answer] = [0, ANSWER_BEHIND].map(|behind| Parameter::Host(memory, offset + behind));

        // The CPU touches both as atomic words only, until the kernel has ended.
        self.kernels.launch(
            DriverKernel::Answer,
            1,
            &self.stream,
            [question, answer, Parameter::Number(LOOKS)],
        )?;
        self.asking = Some((offset, 0));
        Ok(())
    }

    fn trips(&mut self, count: u32) -> Result<(), DeviceError> {
        let (offset, mut asked) = self.asking.ok_or_else(Self::not_asking)?;
        let [question, answer] = self.question_and_answer(offset)?;
        let mut all = Ok(());

        for _ in 0..count {
            asked += 1;
            question.store(asked, Ordering::Release);
            all = answered(answer, asked);
            if all.is_err() {
                break;
            }
        }
        self.asking = Some((offset, asked));
        all
    }

    fn stop(&mut self) -> Result<u64, DeviceError> {
        let Some((offset, _)) = self.asking else { return Ok(0) };
        self.question_and_answer(offset)?[0].store(STOP, Ordering::Release);
        self.stream.synchronize()?;
        self.asking = None;
        Ok(self.question_and_answer(offset)?[1].load(Ordering::Acquire))
    }
}

impl<D: Driver> Drop for GpuAnswerer<D> {
    fn drop(&mut self) {
        // What could not be waited for is kept (`in_flight`).
        let _ = self.stop();
    }
}
