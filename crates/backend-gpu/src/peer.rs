//! Copies between the memories of two GPUs, or within one's, queued on a stream of the one that copies: by
//! its copy engine, or by a kernel (`copy_kernel`).
//!
//! Where that one can reach the other's memory, access is enabled first; elsewhere the driver stages the same
//! call through host memory. Dropping opens the latch and waits; what could not be waited for is leaked.

use std::rc::Rc;
use std::sync::Arc;

use device::{BytePattern, CallError, CopyBy, DeviceError, PeerCopier, PeerEnd, PeerPath, WrongByte};

use crate::context::Context;
use crate::copier::Tools;
use crate::copy_kernel::CopyKernel;
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::kept_areas::KeptAreas;
use crate::modules::Parameter;
use crate::own_queue::OwnQueue;
use crate::pattern_kernels::PatternKernels;
use crate::stream::Stream;
use crate::unsupported::unsupported;

/// How many bytes cross at once where the host fills or compares: whole pages.
const PIECE: usize = 1 << 20;

/// One of the two devices.
pub(crate) struct PeerDevice<'a, D: Driver> {
    /// Its context.
    pub(crate) context: &'a Arc<Context<D>>,
    /// What copies are made with.
    pub(crate) tools: &'a Tools<D>,
    /// Where its areas come from.
    pub(crate) kept: &'a KeptAreas<D>,
}

/// An area on one of the two devices.
struct Area<D: Driver> {
    memory: Rc<DeviceMemory<D>>,
    patterns: Result<Rc<PatternKernels<D>>, String>,
}

/// Areas on two devices, and the queue of the one that copies.
pub(crate) struct GpuPeerCopier<D: Driver> {
    source: Area<D>,
    destination: Area<D>,
    len: usize,
    path: PeerPath,
    /// Of the device that copies.
    queue: OwnQueue<D>,
    /// Of the device that copies.
    tools: Tools<D>,
    /// Its kernel that copies in the place of the copy engines.
    kernel: Option<CopyKernel<D>>,
}

impl<D: Driver> Area<D> {
    fn new(end: &PeerDevice<'_, D>, len: usize) -> Result<Self, DeviceError> {
        Ok(Self { memory: end.kept.area(end.context, len)?, patterns: end.tools.patterns.clone() })
    }

    fn fill(&self, pattern: BytePattern, bytes: usize) -> Result<(), DeviceError> {
        if let Ok(kernels) = &self.patterns {
            let words = bytes / 8;
            kernels.fill(&self.memory, pattern, words as u64)?;
            if !bytes.is_multiple_of(8) {
                self.memory.write(words * 8, &pattern.word(words as u64).to_le_bytes()[..bytes % 8])?;
            }
        } else {
            let mut piece = vec![0; bytes.min(PIECE)];
            for start in (0..bytes).step_by(PIECE) {
                let part = &mut piece[..(bytes - start).min(PIECE)];
                pattern.fill(start as u64, part);
                self.memory.write(start, part)?;
            }
        }

        // A driver may return when the bytes are staged; reading waits for all of them.
        Ok(self.memory.read(bytes - 1, &mut [0])?)
    }

    /// The first byte that differs.
    fn compare(&self, pattern: BytePattern, bytes: usize) -> Result<Option<WrongByte>, DeviceError> {
        let Some(offset) = self.first_wrong_word(pattern, bytes)? else { return Ok(None) };
        let mut got = [0; 8];
        let got = &mut got[..(bytes - offset as usize).min(8)];
        self.read(offset as usize, got)?;
        let expected = pattern.word(offset / 8).to_le_bytes();
        match got.iter().zip(expected).position(|(got, expected)| *got != expected) {
            Some(at) => {
                Ok(Some(WrongByte { offset: offset + at as u64, expected: expected[at], got: got[at] }))
            }
            None => Err(unsupported(
                "comparing on the device",
                format!("it found byte {offset} wrong, which reads back right"),
            )),
        }
    }

    fn first_wrong_word(&self, pattern: BytePattern, bytes: usize) -> Result<Option<u64>, DeviceError> {
        if let Ok(kernels) = &self.patterns {
            let words = bytes as u64 / 8;
            if let Some(word) = kernels.compare(&self.memory, pattern, words)? {
                return Ok(Some(word * 8));
            }
            let (expected, mut got) = (pattern.word(words).to_le_bytes(), [0; 8]);
            let rest = bytes % 8;
            self.read(bytes - rest, &mut got[..rest])?;
            return Ok((got[..rest] != expected[..rest]).then_some(words * 8));
        }

        let mut piece = vec![0; bytes.min(PIECE)];

        for start in (0..bytes).step_by(PIECE) {
            let part = &mut piece[..(bytes - start).min(PIECE)];
            self.read(start, part)?;
            if let Err(wrong) = pattern.compare(start as u64, part) {
                return Ok(Some(wrong.offset / 8 * 8));
            }
        }
        Ok(None)
    }

    /// As [`DeviceMemory::read`]; nothing is read into an empty range.
    fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), CallError> {
        if into.is_empty() { Ok(()) } else { self.memory.read(offset, into) }
    }
}

impl<D: Driver> GpuPeerCopier<D> {
    /// Takes both areas and enables access where there is any; queues nothing.
    ///
    /// # Errors
    /// See [`device::Device::peer_copier`].
    pub(crate) fn new(
        source: PeerDevice<'_, D>,
        destination: PeerDevice<'_, D>,
        by: PeerEnd,
        len: usize,
    ) -> Result<Self, DeviceError> {
        if len == 0 {
            return Err(unsupported("a copier of 0 bytes", "a copy has at least one"));
        }
        let (own, other) = match by {
            PeerEnd::Source => (&source, &destination),
            PeerEnd::Destination => (&destination, &source),
        };
        let path = if own.context.reach(other.context)? { PeerPath::Direct } else { PeerPath::Staged };

        Ok(Self {
            source: Area::new(&source, len)?,
            destination: Area::new(&destination, len)?,
            len,
            path,
            queue: OwnQueue::new(own.context, own.tools, "queueing copies"),
            tools: own.tools.clone(),
            kernel: None,
        })
    }

    fn check(&self, bytes: usize) -> Result<(), DeviceError> {
        if bytes == 0 || bytes > self.len {
            let reason = format!("{bytes} bytes were asked for; this copier moves 1 to {} bytes", self.len);
            return Err(unsupported("this copy", reason));
        }
        Ok(())
    }

    fn area(&self, end: PeerEnd) -> &Area<D> {
        if end == PeerEnd::Source { &self.source } else { &self.destination }
    }
}

/// What queues one copy of so many bytes on a stream: by this kernel, or by the copy engine.
fn copy<'a, D: Driver>(
    (from, to): (&'a Area<D>, &'a Area<D>),
    kernel: Option<&'a CopyKernel<D>>,
    context: Arc<Context<D>>,
    bytes: usize,
) -> impl Fn(&Stream<D>) -> Result<(), CallError> + use<'a, D> {
    let (from, to) = (&from.memory, &to.memory);
    move |stream: &Stream<D>| match kernel {
        Some(kernel) => {
            let ends = [Parameter::Area(to, 0), Parameter::Area(from, 0)];
            kernel.launch(ends, bytes as u64, false, stream)
        }
        None => from.queue_copy(to, bytes, (&context, stream)),
    }
}

impl<D: Driver> PeerCopier for GpuPeerCopier<D> {
    fn path(&self) -> PeerPath {
        self.path
    }

    fn copy_by(&mut self, by: CopyBy) -> Result<(), DeviceError> {
        self.queue.settle()?;
        self.kernel = None;
        let kernel = CopyKernel::new(&self.tools.kernels, &self.tools.programs, by)?;
        if kernel.is_some() && self.path == PeerPath::Staged {
            let reason = "the device that copies cannot reach the other one's memory";
            return Err(unsupported(by.what(), reason));
        }
        self.kernel = kernel;
        Ok(())
    }

    fn fill(&mut self, end: PeerEnd, pattern: BytePattern, bytes: usize) -> Result<(), DeviceError> {
        self.check(bytes)?;
        self.queue.settle()?;
        self.area(end).fill(pattern, bytes)
    }

    fn compare(&mut self, pattern: BytePattern, bytes: usize) -> Result<Option<WrongByte>, DeviceError> {
        self.check(bytes)?;
        self.queue.settle()?;
        self.destination.compare(pattern, bytes)
    }

    fn round(&mut self, bytes: usize) -> Result<(), DeviceError> {
        self.check(bytes)?;
        let context = Arc::clone(self.queue.context());
        self.queue.round(copy((&self.source, &self.destination), self.kernel.as_ref(), context, bytes))
    }

    fn hold(&mut self) -> Result<(), DeviceError> {
        self.queue.hold()
    }

    fn enqueue(&mut self, bytes: usize, copies: u32) -> Result<(), DeviceError> {
        self.check(bytes).inspect_err(|_| self.queue.release())?;
        let context = Arc::clone(self.queue.context());
        self.queue
            .enqueue(copies, copy((&self.source, &self.destination), self.kernel.as_ref(), context, bytes))
    }

    fn release(&mut self) -> Result<(), DeviceError> {
        self.queue.release();
        Ok(())
    }

    fn rounds_ended(&mut self) -> Result<usize, DeviceError> {
        self.queue.rounds_ended()
    }

    fn finish(&mut self, ends_ns: &mut Vec<f64>) -> Result<(), DeviceError> {
        self.queue.finish(ends_ns)
    }
}

impl<D: Driver> Drop for GpuPeerCopier<D> {
    fn drop(&mut self) {
        // Before the areas go. What could not be waited for is kept (`in_flight`).
        let _ = self.queue.settle();
    }
}
