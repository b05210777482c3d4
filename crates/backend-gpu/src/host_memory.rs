//! Pinned host memory: registered with the driver, or allocated by it.
//!
//! Both are portable: pinned for every context, so that it does not matter which thread drops them. Neither
//! is ever write-combined: reading such memory from a CPU is slower by orders of magnitude, and D2H writes it
//! for a CPU to read.

use std::ffi::c_void;
use std::fs;
use std::ptr::NonNull;
use std::sync::Arc;

use device::{CallError, DeviceError, HostMemory, MemoryKind};

use crate::context::Context;
use crate::device_memory::out_of_memory;
use crate::driver::Driver;
use crate::unsupported::unsupported;

/// Memory of someone else's making, registered with the driver as long as this value lives.
pub(crate) struct Registered<D: Driver> {
    // Some until drop, which must unregister before the memory goes.
    memory: Box<dyn HostMemory>,
    context: Arc<Context<D>>,
}

impl<D: Driver> Registered<D> {
    /// Registers the whole range.
    ///
    /// # Errors
    /// [`DeviceError::Pinning`] for lack of memory that may be locked, or the call that failed.
    pub(crate) fn new(
        context: &Arc<Context<D>>,
        mut memory: Box<dyn HostMemory>,
    ) -> Result<Self, DeviceError> {
        let range = memory.bytes_mut();
        let (start, len) = (range.as_mut_ptr().cast::<c_void>(), range.len());
        // SAFETY: the range is valid, exclusively this value's, and stays until it is unregistered on drop.
        unsafe { context.enter()?.host_register(start, len) }
            .map_err(|error| pinning_error::<D>(len, error))?;
        Ok(Self { memory, context: Arc::clone(context) })
    }
}

// SAFETY: the range is the wrapped memory's, which keeps the contract; it is registered as long as this value
// lives.
unsafe impl<D: Driver> HostMemory for Registered<D> {
    fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.bytes_mut()
    }

    fn kind(&self) -> MemoryKind {
        MemoryKind::Pinned
    }
}

impl<D: Driver> Drop for Registered<D> {
    fn drop(&mut self) {
        if let Ok(driver) = self.context.enter() {
            let start = self.memory.bytes_mut().as_mut_ptr().cast::<c_void>();
            // SAFETY: registered in `new`, unregistered once. The memory itself goes after this.
            let _ = unsafe { driver.host_unregister(start) };
        }
    }
}

/// Memory that the driver allocated: pinned, or such whose pages it moves to whoever touches them.
pub(crate) struct Allocated<D: Driver> {
    context: Arc<Context<D>>,
    start: NonNull<u8>,
    len: usize,
    kind: MemoryKind,
}

impl<D: Driver> Allocated<D> {
    /// `len` zero bytes, pinned.
    ///
    /// # Errors
    /// [`DeviceError::Pinning`] for lack of memory that may be locked, or the call that failed.
    pub(crate) fn pinned(context: &Arc<Context<D>>, len: usize) -> Result<Self, DeviceError> {
        let start = context.enter()?.host_alloc(len).map_err(|error| pinning_error::<D>(len, error))?;
        let allocated =
            Self::at(context, (start, len), MemoryKind::PinnedDriver, "allocating pinned memory")?;
        // SAFETY: the allocation is `len` bytes and nobody else knows it. Bytes must be initialised before
        // they are lent.
        unsafe { allocated.start.write_bytes(0, len) };
        Ok(allocated)
    }

    /// `len` bytes that nobody has touched, whose pages move.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] where the device has less free: more would be moved to and fro without
    /// end. Or the call that failed.
    pub(crate) fn managed(context: &Arc<Context<D>>, len: usize) -> Result<Self, DeviceError> {
        if len as u64 > context.memory()?.free_bytes {
            return Err(out_of_memory(context, len as u64)?);
        }
        let start = context.enter()?.managed_alloc(len)?;
        Self::at(context, (start, len), MemoryKind::Managed, "allocating managed memory")
    }

    fn at(
        context: &Arc<Context<D>>,
        (start, len): (*mut c_void, usize),
        kind: MemoryKind,
        what: &'static str,
    ) -> Result<Self, DeviceError> {
        let start = NonNull::new(start.cast::<u8>());
        let start = start.ok_or_else(|| unsupported(what, "the driver gave no address for it"))?;
        Ok(Self { context: Arc::clone(context), start, len, kind })
    }
}

// SAFETY: the allocation stays where it is until drop, and only this value reaches it. Pinned memory is
// initialised; of managed memory the kernel's own driver gives the pages of each first touch: bytes of no
// program, which are initialised before this process sees them.
unsafe impl<D: Driver> HostMemory for Allocated<D> {
    fn bytes(&self) -> &[u8] {
        // SAFETY: see the impl.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: see the impl, and `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    fn kind(&self) -> MemoryKind {
        self.kind
    }
}

// SAFETY: the allocation is this value's alone, and portable or of every context: any thread that enters one
// may free it.
unsafe impl<D: Driver> Send for Allocated<D> {}

impl<D: Driver> Drop for Allocated<D> {
    fn drop(&mut self) {
        let Ok(driver) = self.context.enter() else { return };
        let start = self.start.as_ptr().cast();
        let _ = match self.kind {
            // SAFETY: allocated in `managed`, freed once; a range that may be in use is leaked, not dropped
            // (`HostRange`).
            MemoryKind::Managed => unsafe { driver.managed_free(start) },
            // SAFETY: allocated in `pinned`, freed once.
            _ => unsafe { driver.host_free(start) },
        };
    }
}

/// Ordinary memory that the device reaches by itself.
pub(crate) struct Reached(pub(crate) Box<dyn HostMemory>);

// SAFETY: the range is the wrapped memory's, which keeps the contract; who makes this knows that the device
// reaches it.
unsafe impl HostMemory for Reached {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }

    fn kind(&self) -> MemoryKind {
        MemoryKind::System
    }
}

/// Lack of memory that can be pinned shows as one of few codes; any other is what it is.
fn pinning_error<D: Driver>(len: usize, call: CallError) -> DeviceError {
    if !is_for_lack(D::NOT_LOCKABLE, call.code) {
        return call.into();
    }
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let remedy = remedy(D::HEEDS_MEMLOCK, &lockable(&limits));
    DeviceError::Pinning { asked_bytes: len as u64, remedy, call }
}

fn is_for_lack(codes: &[i64], code: i64) -> bool {
    codes.contains(&code)
}

fn remedy(heeds_memlock: bool, lockable: &str) -> String {
    if heeds_memlock {
        return format!(
            "this process may lock {lockable}: raise that limit (ulimit -l unlimited; for Slurm jobs \
             LimitMEMLOCK of slurmd)"
        );
    }
    format!(
        "so much may not be free, or not allowed to this job (free -m, --mem of a Slurm job); that this \
         process may lock {lockable} does not bound this driver: leave more memory free"
    )
}

/// RLIMIT_MEMLOCK's soft limit in words, from the text of /proc/self/limits (see proc_pid_limits(5)).
fn lockable(limits: &str) -> String {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    match line.and_then(|columns| columns.split_whitespace().next()) {
        Some("unlimited") => "any amount".to_owned(),
        Some(bytes) => format!("{bytes} bytes"),
        None => "an unknown amount".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
                          Max processes             94012                94012                processes \n\
                          Max locked memory         8388608              unlimited            bytes     \n";

    #[test]
    fn the_locked_memory_limit_is_the_soft_one() {
        assert_eq!(lockable(LIMITS), "8388608 bytes");
        assert_eq!(lockable(&LIMITS.replace("8388608  ", "unlimited")), "any amount");
        assert_eq!(lockable(""), "an unknown amount");
    }

    #[test]
    fn a_code_that_is_no_lack_of_memory_stays_what_it_is() {
        assert!(is_for_lack(&[2, 304], 2) && !is_for_lack(&[2, 304], 712));
    }

    #[test]
    fn lack_of_memory_names_the_limit_where_the_driver_heeds_it_and_what_is_free_else() {
        let heeded = remedy(true, "8388608 bytes");
        assert!(
            heeded.starts_with("this process may lock 8388608 bytes: raise that limit (ulimit -l"),
            "{heeded}"
        );
        let free = remedy(false, "any amount");
        assert!(free.contains("free -m") && !free.contains("ulimit"), "{free}");
    }
}
