//! Copies between the memories of two GPUs, or within one's, queued on a stream of the one that copies: by its copy engine, or by a kernel.
//!
//! Where that one can reach the other's memory, access is enabled first; elsewhere the driver stages the same call through host memory.
//! Dropping opens the latch and waits; what could not be waited for is leaked.

use std::mem;
use std::rc::Rc;
use std::sync::Arc;

use device::{CallError, CopyBy, DeviceError, Difference, Pattern, PeerCopier, PeerEnd, PeerPath};

use crate::areas::{copy_threads, unsupported};
use crate::context::Context;
use crate::copier::Tools;
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::kernel::Kernel;
use crate::kernels::Kernels;
use crate::own_queue::OwnQueue;
use crate::pattern_kernels::PatternKernels;
use crate::stream::Stream;

/// How many bytes cross at once where the host fills or compares: whole pages.
const PIECE: usize = 1 << 20;

/// An area on one of the two devices.
struct Area<D: Driver> {
    context: Arc<Context<D>>,
    memory: DeviceMemory<D>,
    patterns: Result<Rc<PatternKernels<D>>, String>,
}

/// Areas on two devices, and the queue of the one that copies.
pub(crate) struct GpuPeerCopier<D: Driver> {
    // None once they were leaked.
    source: Option<Area<D>>,
    destination: Option<Area<D>>,
    len: usize,
    path: PeerPath,
    /// Of the device that copies.
    queue: OwnQueue<D>,
    /// The kernels of the device that copies, or why it has none.
    kernels: Result<Rc<Kernels<D>>, String>,
    by: CopyBy,
}

impl<D: Driver> Area<D> {
    fn new(context: &Arc<Context<D>>, tools: &Tools<D>, len: usize) -> Result<Self, DeviceError> {
        let memory = DeviceMemory::new(context, len)?;
        Ok(Self { context: Arc::clone(context), memory, patterns: tools.patterns.clone() })
    }

    fn fill(&self, pattern: Pattern, bytes: usize) -> Result<(), DeviceError> {
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
    fn compare(&self, pattern: Pattern, bytes: usize) -> Result<Option<Difference>, DeviceError> {
        let Some(offset) = self.first_wrong_word(pattern, bytes)? else { return Ok(None) };
        let mut got = [0; 8];
        let got = &mut got[..(bytes - offset as usize).min(8)];
        self.read(offset as usize, got)?;
        let expected = pattern.word(offset / 8).to_le_bytes();
        match got.iter().zip(expected).position(|(got, expected)| *got != expected) {
            Some(at) => Ok(Some(Difference { offset: offset + at as u64, expected: expected[at], got: got[at] })),
            None => Err(unsupported(
                "comparing on the device",
                format!("it found byte {offset} wrong, which reads back right"),
            )),
        }
    }

    fn first_wrong_word(&self, pattern: Pattern, bytes: usize) -> Result<Option<u64>, DeviceError> {
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
    /// Allocates both areas and enables access where there is any; queues nothing.
    ///
    /// # Errors
    /// See [`device::Device::peer_copier`].
    pub(crate) fn new(
        (source, from_tools): (&Arc<Context<D>>, &Tools<D>),
        (destination, to_tools): (&Arc<Context<D>>, &Tools<D>),
        by: PeerEnd,
        len: usize,
    ) -> Result<Self, DeviceError> {
        if len == 0 {
            return Err(unsupported("a copier of 0 bytes", "a copy has at least one"));
        }
        let (context, other, tools) = match by {
            PeerEnd::Source => (source, destination, from_tools),
            PeerEnd::Destination => (destination, source, to_tools),
        };
        let path = if context.reach(other)? { PeerPath::Direct } else { PeerPath::Staged };
        Ok(Self {
            source: Some(Area::new(source, from_tools, len)?),
            destination: Some(Area::new(destination, to_tools, len)?),
            len,
            path,
            queue: OwnQueue::new(context, tools, "queueing copies"),
            kernels: tools.kernels.clone(),
            by: CopyBy::Engine,
        })
    }

    fn check(&self, bytes: usize) -> Result<(), DeviceError> {
        if bytes == 0 || bytes > self.len {
            let reason = format!("{bytes} bytes were asked for; this copier moves 1 to {} bytes", self.len);
            return Err(unsupported("this copy", reason));
        }
        Ok(())
    }

    fn area(&self, end: PeerEnd) -> Result<&Area<D>, DeviceError> {
        let area = if end == PeerEnd::Source { &self.source } else { &self.destination };
        area.as_ref().ok_or_else(|| unsupported("this copy", "its memory was given up after a failure"))
    }

    /// What queues one copy on a stream.
    fn copy(&self, bytes: usize) -> Result<impl Fn(&Stream<D>) -> Result<(), CallError> + use<D>, DeviceError> {
        self.check(bytes)?;
        let end = |end| self.area(end).map(|area| (area.memory.address(), Arc::clone(&area.context)));
        let (from, to) = (end(PeerEnd::Source)?, end(PeerEnd::Destination)?);
        let context = Arc::clone(self.queue.context());
        let kernels = self.kernels.as_ref().ok().filter(|_| self.by == CopyBy::Kernel).cloned();
        Ok(move |stream: &Stream<D>| {
            if let Some(kernels) = &kernels {
                let parameters = [D::word(to.0), D::word(from.0), bytes as u64];
                // SAFETY: both areas have so many bytes, which the copying device reaches; they live as below.
                return unsafe { kernels.launch(Kernel::Copy, copy_threads(bytes as u64), Some(stream), parameters) };
            }
            let (to, from) = ((to.0, to.1.handle()), (from.0, from.1.handle()));
            // SAFETY: both areas have so many bytes; they and the stream live until the queue has been waited for, or are leaked.
            unsafe { context.enter()?.copy_peer_async(to, from, bytes, stream.handle()) }
        })
    }
}

impl<D: Driver> PeerCopier for GpuPeerCopier<D> {
    fn path(&self) -> PeerPath {
        self.path
    }

    fn copy_by(&mut self, by: CopyBy) -> Result<(), DeviceError> {
        const WHAT: &str = "copies by a kernel";
        self.queue.settle()?;
        if by == CopyBy::Kernel {
            if let Err(reason) = &self.kernels {
                return Err(unsupported(WHAT, reason.clone()));
            }
            if self.path == PeerPath::Staged {
                return Err(unsupported(WHAT, "the device that copies cannot reach the other one's memory"));
            }
        }
        self.by = by;
        Ok(())
    }

    fn fill(&mut self, end: PeerEnd, pattern: Pattern, bytes: usize) -> Result<(), DeviceError> {
        self.check(bytes)?;
        self.queue.settle()?;
        self.area(end)?.fill(pattern, bytes)
    }

    fn compare(&mut self, pattern: Pattern, bytes: usize) -> Result<Option<Difference>, DeviceError> {
        self.check(bytes)?;
        self.queue.settle()?;
        self.area(PeerEnd::Destination)?.compare(pattern, bytes)
    }

    fn round(&mut self, bytes: usize) -> Result<(), DeviceError> {
        let copy = self.copy(bytes)?;
        self.queue.round(copy)
    }

    fn hold(&mut self) -> Result<(), DeviceError> {
        self.queue.hold()
    }

    fn enqueue(&mut self, bytes: usize, copies: u32) -> Result<(), DeviceError> {
        let copy = self.copy(bytes).inspect_err(|_| self.queue.release());
        self.queue.enqueue(copies, copy?)
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
        if self.queue.settle().is_err() {
            // The kernels too: one may still run, and the last one who has them would unload them.
            mem::forget((self.source.take(), self.destination.take(), self.kernels.clone()));
            self.queue.leak();
        }
    }
}
