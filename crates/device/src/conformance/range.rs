//! Host memory that outlives its lending, so that a check can lend the same range twice, or look at a byte
//! that a held copy must not have written.
//!
//! A look while the range is lent goes through the kernel (/proc/self/mem, proc(5)): its borrower owns the
//! bytes meanwhile, and a driver may write them.

use std::fs::File;
use std::os::unix::fs::FileExt;

use sys::host_memory::Lender;

use super::{Halt, expect};
use crate::{HeapMemory, HostMemory};

/// A range that is lent to one copier at a time.
pub(super) struct Range {
    lender: Lender,
    start: u64,
    len: usize,
    memory: File,
}

impl Range {
    /// `len` zero bytes.
    pub(super) fn new(len: usize) -> Result<Self, Halt> {
        let memory = HeapMemory::try_new(len)
            .ok_or_else(|| Halt::Skipped(format!("this system lends no {len} bytes")))?;
        let own = File::open("/proc/self/mem");
        let own =
            own.map_err(|error| Halt::Skipped(format!("/proc/self/mem, to look at lent memory: {error}")))?;
        let start = memory.bytes().as_ptr().expose_provenance() as u64;
        Ok(Self { lender: Lender::new(memory), start, len, memory: own })
    }

    /// Lends the range; fails the check when it has not come back from the last time.
    pub(super) fn lend(&self) -> Result<Box<dyn HostMemory>, Halt> {
        let lent = self.lender.lend();
        expect(lent.is_some(), || "the memory lent before was not given back".to_owned())?;
        lent.ok_or_else(|| Halt::Skipped("no memory".to_owned()))
    }

    /// Whether some byte is not `value` now, also while the range is lent.
    pub(super) fn differs_from(&self, value: u8) -> bool {
        self.now(0, self.len).is_none_or(|bytes| bytes.iter().any(|byte| *byte != value))
    }

    /// Whether the bytes from `from` on are these now, also while the range is lent and a copy of other bytes
    /// of it is under way.
    pub(super) fn has(&self, from: usize, bytes: &[u8]) -> bool {
        assert!(from + bytes.len() <= self.len, "bytes beyond the range");
        self.now(from, bytes.len()).is_some_and(|now| now == bytes)
    }

    fn now(&self, from: usize, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.memory.read_exact_at(&mut bytes, self.start + from as u64).is_ok().then_some(bytes)
    }
}
