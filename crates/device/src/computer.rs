//! Programs of kernels on a device, between pinned host memory and an area of the device's own: what a round
//! does is a list of steps.
//!
//! The caller says in each step which bytes go where and what is launched; the device keeps the order.
//! Offsets instead of addresses: what the host range has at an offset goes to the same offset of the area,
//! and a kernel's arguments name the area by offset too, so that no address leaves the backend.

use std::ffi::CStr;
use std::ops::Range;
use std::sync::Arc;

use crate::{DeviceError, HostMemory};

/// A vendor's library that computes what some kernels do, with routines that are launched as kernels are; its
/// handles are those of one stream at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MathLibrary {
    /// Dense matrices: routine 0 in single precision and 1 in double, with the addresses of A, B and C = A B
    /// by rows and their edge.
    Blas,
    /// Fourier transforms of 512 points: routine 0 in single precision and 1 in double, with the addresses of
    /// input and result and how many transforms.
    Fft,
}

/// Kernels of one source, in the form that each family of devices takes. Every parameter of every kernel is a
/// word of 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct KernelModule {
    /// What it is called in messages.
    pub name: &'static str,
    /// PTX texts for CUDA, each with the least compute capability that it is for (ten times the major number
    /// and the minor one), the least first.
    pub ptx: &'static [(u32, &'static CStr)],
    /// The source, for HIP.
    pub source: &'static CStr,
    /// Its kernels; steps name them by their number here.
    pub kernels: &'static [&'static CStr],
    /// The library whose routines these are, in place of a source.
    pub library: Option<MathLibrary>,
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The address of this offset of the device's area.
    Area(usize),
    /// The address by which the device reaches this offset of the pinned host memory.
    Host(usize),
    /// A number.
    Number(u64),
}

/// A part of a round. Each begins when the one before it has ended; only those of [`RoundStep::Overlapped`]
/// go on at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoundStep {
    /// Copies these bytes of the host range to the area.
    ToDevice(Range<usize>),
    /// Copies these bytes of the area to the host range.
    ToHost(Range<usize>),
    /// Copies these bytes of the host range to this offset of the area.
    ToDeviceAt(Range<usize>, usize),
    /// Copies to these bytes of the host range from this offset of the area.
    ToHostFrom(Range<usize>, usize),
    /// Copies these parts, in no order, in one call of the driver: see [`Batch`].
    Batch(Arc<Batch>),
    /// Moves the pages of bytes of the host range, which must be memory that moves.
    Prefetch {
        /// The bytes.
        range: Range<usize>,
        /// To the device, or to the host.
        to_device: bool,
    },
    /// Runs a kernel.
    Launch {
        /// Its number in the program.
        kernel: usize,
        /// Blocks, in one dimension.
        blocks: u32,
        /// Threads of each.
        threads: u32,
        /// Its arguments, [`MOST_ARGUMENTS`] at most.
        arguments: Vec<Argument>,
    },
    /// Steps that go on at once as far as they can: a launch waits for the copies to the device that stand
    /// before it, a copy to the host for the launches before it, copies of one direction for each other. The
    /// launches must not need one another. What follows waits for all of them. None of the steps is
    /// overlapped itself.
    Overlapped(Vec<Self>),
}

/// Many copies of one direction and one length that are queued by one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// To the device, or from it.
    pub to_device: bool,
    /// The length of each, bytes.
    pub bytes: usize,
    /// Where each begins: in the host memory, and in the area.
    pub at: Vec<(usize, usize)>,
}

impl RoundStep {
    /// How many operations are queued for it, with those that hold overlapped steps together.
    pub fn count(&self) -> usize {
        match self {
            Self::Overlapped(steps) => 2 * steps.len(),
            _ => 1,
        }
    }
}

/// The most arguments that a step can give a kernel.
pub const MOST_ARGUMENTS: usize = 8;

/// A device with a program, pinned host memory and an area of its own memory.
///
/// Beside batches with a latch there is work that is started and waited for, as an application does: `start`,
/// `wait_for`, `settle`. A library that is to read or write the area gets its address, and that of the host
/// range; the two never change, and nobody else touches what it uses meanwhile.
///
/// A batch is `hold`, `enqueue`s, `release`, further `enqueue`s, `finish`, as in [`crate::Copier`]; what its
/// steps need is made before the latch closes: behind a closed one a driver may wait for it to open. Steps
/// must lie inside host range and area, and arguments be what the kernels take: a kernel that writes
/// elsewhere faults the device.
pub trait Computer {
    /// The host range. Waits for what is queued; empty where that failed.
    fn host(&mut self) -> &mut [u8];

    /// Gives the host memory back, pinned as it is; `None` where what is queued could not be waited for.
    fn into_host(self: Box<Self>) -> Option<Box<dyn HostMemory>>;

    /// The address of the area's first byte, as the driver's own calls take it.
    fn address(&self) -> usize;

    /// The address of the host range's first byte.
    fn host_address(&self) -> usize;

    /// Another library that knows the device was called by this thread since: it may have made another device
    /// the thread's, so the next call makes sure that it is this one.
    fn shared_thread(&mut self) {}

    /// Whether it takes [`RoundStep::Batch`].
    ///
    /// # Errors
    /// Why not.
    fn can_batch(&self) -> Result<(), String>;

    /// Queues these steps behind those that were started before, and does not wait.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for steps outside of the memory, or the call that failed.
    fn start(&mut self, steps: &[RoundStep]) -> Result<(), DeviceError>;

    /// Waits until so many of the calls of [`Computer::start`] since the last [`Computer::settle`] have had
    /// their steps done.
    ///
    /// # Errors
    /// The call that failed.
    fn wait_for(&mut self, starts: usize) -> Result<(), DeviceError>;

    /// Waits for everything that was started.
    ///
    /// # Errors
    /// The call that failed.
    fn settle(&mut self) -> Result<(), DeviceError>;

    /// These steps, waited for.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for steps outside of the memory, or the call that failed.
    fn round(&mut self, steps: &[RoundStep]) -> Result<(), DeviceError>;

    /// Makes what these steps need, and closes the latch.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without a latch, or the call that failed.
    fn hold(&mut self, steps: &[RoundStep]) -> Result<(), DeviceError>;

    /// Queues these steps `rounds` times, and a mark at their end.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without a `hold` before, for steps outside of the memory or such that
    /// overlap where those of `hold` did not, or the call that failed. Opens the latch.
    fn enqueue(&mut self, steps: &[RoundStep], rounds: u32) -> Result<(), DeviceError>;

    /// Opens the latch.
    ///
    /// # Errors
    /// The call that failed.
    fn release(&mut self) -> Result<(), DeviceError>;

    /// How many marks have been reached. Does not block.
    ///
    /// # Errors
    /// The call that failed.
    fn rounds_ended(&mut self) -> Result<usize, DeviceError>;

    /// Waits for everything queued, and writes when each mark was reached, nanoseconds after the release.
    ///
    /// # Errors
    /// [`DeviceError::TimedOut`] when the latch gave up before the release; or the call that failed.
    fn finish(&mut self, ends_ns: &mut Vec<f64>) -> Result<(), DeviceError>;
}
