//! The contract between those who measure and those who move bytes: no GPU code, no timing policy.
//!
//! * [`Platform`] is a family of devices this process can reach (CUDA, HIP, host memory);
//! * [`Device`] is one of them, opened by the thread that will use it;
//! * [`Copier`] owns one rank's buffers on both sides and moves bytes between them;
//! * [`PeerCopier`] moves bytes between two devices, [`Chaser`] follows a chain of loads through host memory;
//! * [`Computer`] runs a program's kernels between pinned host memory and the device's own;
//! * [`Buffer`] is an area whose address other libraries take;
//! * [`BytePattern`] is known bytes, the same on host and device;
//! * [`HostMemory`] is memory a copier may own: placed and proven by its maker, pinned by a device;
//! * [`conformance`] holds the checks that every backend's tests run.
//!
//! A trait here holds only what every implementor truly does. What some cannot do is in [`Capabilities`] with
//! its reason, and the plan consults it before anything runs.

#![cfg_attr(not(test), forbid(unsafe_code))]

pub mod answerer;
pub mod buffer;
pub mod capability;
pub mod chase;
pub mod computer;
pub mod conformance;
pub mod copier;
pub mod error;
pub mod host_pair;
pub mod pattern;
pub mod peer;
pub mod platform;

pub use answerer::Answerer;
pub use buffer::Buffer;
pub use capability::Capabilities;
pub use chase::Chaser;
pub use computer::{Argument, Batch, Computer, KernelModule, MOST_ARGUMENTS, MathLibrary, RoundStep};
pub use copier::{Area, Copier, CopyBy, Direction, MAX_ROUNDS, Marks};
pub use error::{CallError, DeviceError};
pub use host_pair::HostPair;
pub use pattern::BytePattern;
pub use peer::{PeerCopier, PeerEnd, PeerPath};
pub use platform::{
    Device, DeviceFacts, DeviceId, MemoryHome, MemoryInfo, Platform, PlatformFacts, PlatformKind,
};
pub use stats::latch::Latch;
pub use stats::wrong_byte::WrongByte;
pub use sys::{HeapMemory, HostMemory, MemoryKind};
