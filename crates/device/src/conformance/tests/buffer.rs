//! The mock's buffer: what is queued is a list, which runs when it is waited for.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::{Fault, Shared, unsupported};
use crate::{Buffer, DeviceError, HostMemory};

pub struct MockBuffer {
    shared: Arc<Shared>,
    device: Vec<u8>,
    host: Box<dyn HostMemory>,
    /// To the host, and which bytes.
    queue: VecDeque<(bool, Range<usize>)>,
    ended: usize,
}

impl MockBuffer {
    pub fn new(shared: &Arc<Shared>, host: Box<dyn HostMemory>) -> Self {
        let device = vec![0; host.bytes().len()];
        Self { shared: Arc::clone(shared), device, host, queue: VecDeque::new(), ended: 0 }
    }

    fn is(&self, fault: Fault) -> bool {
        self.shared.is(fault)
    }

    fn queue(&mut self, to_host: bool, range: Range<usize>) -> Result<(), DeviceError> {
        if range.end > self.len() && !self.is(Fault::BufferTakesAnyRange) {
            return Err(unsupported("this copy"));
        }
        self.queue.push_back((to_host, range.start..range.end.min(self.len())));
        Ok(())
    }

    fn run(&mut self, copies: usize) {
        while self.ended < copies {
            let Some((to_host, range)) = self.queue.pop_front() else { return };
            self.ended += 1;
            match to_host {
                true => {
                    let start = if self.is(Fault::BufferFetchesFromTheStart) { 0 } else { range.start };
                    let more = usize::from(self.is(Fault::BufferFetchesOneTooMany) && range.end < self.len());
                    let from = &self.device[start..start + range.len() + more];
                    self.host.bytes_mut()[range.start..range.end + more].copy_from_slice(from);
                }
                false => {
                    let start = if self.is(Fault::BufferStoresAtTheStart) { 0 } else { range.start };
                    self.device[start..start + range.len()].copy_from_slice(&self.host.bytes()[range]);
                }
            }
        }
    }
}

impl Buffer for MockBuffer {
    fn address(&self) -> usize {
        self.device.as_ptr().addr()
    }

    fn host_address(&self) -> usize {
        self.host.bytes().as_ptr().addr() + usize::from(self.is(Fault::BufferIsElsewhere))
    }

    fn len(&self) -> usize {
        self.device.len()
    }

    fn host(&mut self) -> Result<&mut [u8], DeviceError> {
        if !self.is(Fault::BufferShowsWithoutWaiting) {
            self.settle()?;
        }
        Ok(self.host.bytes_mut())
    }

    fn queue_to_host(&mut self, range: Range<usize>) -> Result<(), DeviceError> {
        self.queue(true, range)
    }

    fn queue_to_device(&mut self, range: Range<usize>) -> Result<(), DeviceError> {
        self.queue(false, range)
    }

    fn wait_for(&mut self, copies: usize) -> Result<(), DeviceError> {
        if !self.is(Fault::BufferEndsEarly) {
            self.run(copies);
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), DeviceError> {
        self.run(usize::MAX);
        self.ended = 0;
        Ok(())
    }
}
