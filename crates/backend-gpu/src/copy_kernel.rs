//! Kernels that copy in the place of the copy engines: one of loads and stores, and one that has the tensor
//! memory accelerator (TMA) copy through shared memory.
//!
//! Either reaches pinned memory and that of devices in reach, and no pageable memory. The second is loaded
//! when it is first asked for: older devices refuse its text.

use std::rc::Rc;

use device::{CallError, CopyBy, DeviceError};

use crate::driver::Driver;
use crate::kernel::{DriverKernel, LaunchGrid};
use crate::modules::{Kernels, Loaded, Parameter, Programs};
use crate::stream::Stream;
use crate::unsupported::unsupported;

/// The most threads of a kernel that copies while another one copies the other way: a kernel as wide as the
/// device has the other wait for its end (an H200 then moves 59.5 GB/s both ways together, and 71.7 with
/// these). Each has 64 bytes in flight, 2 MiB in all, many times what a link holds.
const AT_ONCE_THREADS: u64 = 1 << 15;

/// Bytes that a block of the accelerator's kernel moves at once (`PIECE` of `gpu/tma.cu`).
const PIECE: u64 = 8192;
/// The most blocks of that kernel: an H200 has room for five on each of its 132 multiprocessors.
const BLOCKS: u64 = 512;
/// The same while another one copies the other way. Each has 40 KiB in flight.
const AT_ONCE_BLOCKS: u64 = 64;

/// A kernel that copies, ready to be launched.
pub(crate) enum CopyKernel<D: Driver> {
    /// By loads and stores.
    Threads(Rc<Kernels<D>>),
    /// By the tensor memory accelerator.
    Tma(Rc<Loaded<D>>),
}

impl<D: Driver> CopyKernel<D> {
    /// The kernel that copies so, of the device's own or of its programs; none for the copy engines.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where the device has no such kernel, or the call that failed.
    pub(crate) fn new(
        kernels: &Result<Rc<Kernels<D>>, String>,
        programs: &Programs<D>,
        by: CopyBy,
    ) -> Result<Option<Self>, DeviceError> {
        if by == CopyBy::Engine {
            return Ok(None);
        }
        let kernels = kernels.as_ref().map_err(|reason| unsupported(by.what(), reason.clone()))?;
        if by == CopyBy::Kernel {
            return Ok(Some(Self::Threads(Rc::clone(kernels))));
        }

        let program = D::TMA.map_err(|reason| unsupported(by.what(), reason))?;
        match programs.get(program) {
            Ok(loaded) => Ok(Some(Self::Tma(loaded))),
            Err(DeviceError::Unsupported { reason, .. }) => {
                Err(unsupported(by.what(), format!("{reason}; copy with --engine sm or ce")))
            }
            Err(other) => Err(other),
        }
    }

    /// Queues a copy of so many bytes; `at_once` says that another kernel copies the other way meanwhile.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn launch(
        &self,
        [to, from]: [Parameter<'_, D>; 2],
        bytes: u64,
        at_once: bool,
        stream: &Stream<D>,
    ) -> Result<(), CallError> {
        let parameters = [to, from, Parameter::Number(bytes)];

        match self {
            Self::Threads(kernels) => {
                kernels.launch(DriverKernel::Copy, copy_threads(bytes, at_once), stream, parameters)
            }
            Self::Tma(loaded) => {
                let grid = LaunchGrid { blocks: copy_blocks(bytes, at_once), threads: 1 };
                loaded.launch(0, grid, stream, parameters.into_iter())
            }
        }
    }
}

/// How many threads of the kernel copy so many bytes: each moves 16 at a time, four times in flight.
fn copy_threads(bytes: u64, at_once: bool) -> u64 {
    let threads = bytes.div_ceil(64);
    if at_once { threads.min(AT_ONCE_THREADS) } else { threads }
}

/// How many blocks of the accelerator's kernel copy so many bytes.
fn copy_blocks(bytes: u64, at_once: bool) -> u32 {
    let most = if at_once { AT_ONCE_BLOCKS } else { BLOCKS };
    bytes.div_ceil(PIECE).clamp(1, most) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_kernels_at_once_leave_room_for_each_other_and_one_alone_takes_what_there_is() {
        assert_eq!((copy_threads(512 << 20, false), copy_threads(512 << 20, true)), (1 << 23, 1 << 15));
        assert_eq!(
            (copy_threads(4096, false), copy_threads(4096, true)),
            (64, 64),
            "small copies need fewer"
        );
        assert_eq!((copy_blocks(512 << 20, false), copy_blocks(512 << 20, true)), (512, 64));
        assert_eq!((copy_blocks(8193, false), copy_blocks(8193, true)), (2, 2), "small copies need fewer");
        assert_eq!(copy_blocks(1, false), 1, "the first block moves what is no whole line");
    }

    #[test]
    fn a_block_moves_what_the_kernel_says() {
        let source = include_str!("gpu/tma.cu");
        assert!(source.contains(&format!("#define PIECE {PIECE}\n")), "the source has another size");
    }
}
