//! A range of host memory that calls which are queued read and write: lent to nobody while it is in flight,
//! and kept for ever where that never ended.

use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

use device::{CallError, DeviceError, HostMemory, MemoryKind};

use crate::context::Context;
use crate::driver::Driver;
use crate::in_flight::{InFlight, Moment};
use crate::stream::Stream;
use crate::unsupported::unsupported;

/// The range.
pub(crate) struct HostRange {
    // None once it was given back.
    memory: Option<Box<dyn HostMemory>>,
    start: *mut u8,
    len: usize,
    /// Where the device of the context that was asked last has it.
    on_device: Cell<Option<u64>>,
    in_flight: InFlight,
}

impl HostRange {
    /// Of this memory.
    pub(crate) fn new(mut memory: Box<dyn HostMemory>) -> Self {
        let range = memory.bytes_mut();
        let (start, len) = (range.as_mut_ptr(), range.len());
        Self { memory: Some(memory), start, len, on_device: Cell::new(None), in_flight: InFlight::default() }
    }

    /// How many bytes it has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether a driver can reach it by itself.
    pub(crate) fn is_pinned(&self) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.kind() != MemoryKind::Pageable)
    }

    /// Whether its pages go to whoever touches them.
    pub(crate) fn moves(&self) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.kind().moves())
    }

    /// Queues that the pages of a part go to the device of a context, or to the host.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn queue_prefetch<D: Driver>(
        &self,
        part: Range<usize>,
        to_device: bool,
        (context, stream): (&Context<D>, &Stream<D>),
    ) -> Result<(), CallError> {
        let driver = context.enter()?;
        let (len, to) = (part.len(), to_device.then(|| context.device()));
        let start = self.queued(part, stream.queues());
        // SAFETY: the part lies in the range, which is kept until the stream was waited for.
        unsafe { driver.prefetch_async((start, len), to, stream.handle()) }
    }

    /// The address of its first byte in this process.
    pub(crate) fn address(&self) -> usize {
        self.start.expose_provenance()
    }

    /// Its bytes; none while it is in flight.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Some(memory) if self.in_flight.has_ended() => memory.bytes_mut(),
            _ => &mut [],
        }
    }

    /// Gives the memory back, unless it is in flight.
    pub(crate) fn take(&mut self) -> Option<Box<dyn HostMemory>> {
        if self.in_flight.has_ended() { self.memory.take() } else { None }
    }

    /// A part of it as a call takes it that is queued now.
    ///
    /// # Panics
    /// The part does not lie in it, or the memory is not pinned.
    pub(crate) fn queued(&self, part: Range<usize>, moment: Moment) -> *mut c_void {
        assert!(
            part.start <= part.end && part.end <= self.len && self.is_pinned(),
            "{part:?} of {} bytes",
            self.len
        );
        self.in_flight.is_used(moment);
        self.start.wrapping_add(part.start).cast()
    }

    /// Asks where the device has it, once: a range stays with one device.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for pageable memory, or the call that failed.
    pub(crate) fn reach<D: Driver>(
        &self,
        what: &'static str,
        context: &Context<D>,
    ) -> Result<(), DeviceError> {
        if !self.is_pinned() {
            return Err(unsupported(what, "the memory is pageable, and a device reaches pinned memory only"));
        }
        if self.on_device.get().is_some() {
            return Ok(());
        }
        if self.moves() {
            self.on_device.set(Some(self.address() as u64));
            return Ok(());
        }
        let driver = context.enter()?;
        // SAFETY: the range is pinned for every device, and this value's.
        let address = unsafe { driver.host_on_device(self.start.cast()) }?;
        self.on_device.set(Some(D::word(address)));
        Ok(())
    }

    /// Where the device has the byte at `offset`, as a kernel takes it that is queued now; `None` where it
    /// was not asked.
    ///
    /// # Panics
    /// There is no such byte.
    pub(crate) fn queued_on_device(&self, offset: usize, moment: Moment) -> Option<u64> {
        assert!(offset < self.len, "byte {offset} of {}", self.len);
        let start = self.on_device.get()?;
        self.in_flight.is_used(moment);
        Some(start + offset as u64)
    }

    /// The word at `offset`, which the device may read and write meanwhile; `None` where there is none.
    pub(crate) fn word(&self, offset: usize) -> Option<&AtomicU64> {
        let is_in = offset.is_multiple_of(align_of::<AtomicU64>())
            && offset.checked_add(size_of::<AtomicU64>()).is_some_and(|end| end <= self.len)
            && self.memory.is_some();
        // SAFETY: the word lies in the range, aligned, which is this value's and lent to nobody while `self`
        // is shared; a kernel reads and writes it as a whole word, as another thread would.
        is_in.then(|| unsafe { AtomicU64::from_ptr(self.start.wrapping_add(offset).cast()) })
    }
}

impl Drop for HostRange {
    fn drop(&mut self) {
        if !self.in_flight.has_ended() {
            // A driver may still read and write it, and nothing will tell when it has ended.
            std::mem::forget(self.memory.take());
        }
    }
}
