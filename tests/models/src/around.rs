//! Plain stand-ins for what the modelled files name of their crates.

use std::io;

/// A device by its number of good copies: the one after them fails.
#[derive(Clone, Copy, Debug)]
pub struct DeviceId(pub u32);

/// A thread in its place.
pub struct Bound;

impl Bound {
    /// Every PU is there.
    pub fn to(_: u32) -> Result<Self, Failure> {
        Ok(Self)
    }
}

/// What the kernel refused.
#[derive(Debug)]
pub struct Failure;

impl Failure {
    /// One of a call.
    pub fn system(_: Stage, _: &str, _: &io::Error, _: &str) -> Self {
        Self
    }
}

/// When it did.
pub enum Stage {
    /// Before a thread is in its place.
    Bind,
}

/// How a place is looked at.
#[derive(Clone, Copy)]
pub struct PageCheck;

/// The node's clock.
pub mod clock {
    /// It stands still.
    pub fn now_ns() -> u64 {
        0
    }
}

/// What opens devices.
pub trait Platform: Sync {
    /// Opens one.
    fn open(&self, id: DeviceId) -> Result<Box<DeviceId>, fault::ExchangeFault>;
}

/// What is measured.
pub mod case {
    /// Bytes of a copy.
    pub const COPY_BYTES: usize = 1;

    /// Where the thread runs.
    #[derive(Clone, Copy, Debug)]
    pub struct GpuThreadAt;
}

/// What goes wrong.
pub mod fault {
    use super::Failure;
    use super::exit::Exit;

    /// An exchange.
    #[derive(Debug)]
    pub enum ExchangeFault {
        /// The kernel.
        Kernel,
        /// The device.
        Device,
        /// The other thread.
        Protocol(String),
    }

    impl From<Failure> for ExchangeFault {
        fn from(_: Failure) -> Self {
            Self::Kernel
        }
    }

    /// A command.
    #[derive(Debug)]
    pub struct Fault;

    impl Fault {
        /// One.
        pub fn new(_: Exit, _: String) -> Self {
            Self
        }
    }
}

/// Exit codes.
pub mod exit {
    /// Those that are named.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Exit {
        /// No thread more.
        NoResult,
        /// The limit.
        TimedOut,
    }
}

/// How a process ends.
pub mod ending {
    use std::cell::Cell;

    use super::exit::Exit;

    thread_local! {
        /// Whether the process was ended: all threads of a model are coroutines of one.
        pub static ENDED: Cell<bool> = const { Cell::new(false) };
    }

    /// Ends it: in a model this is noted, after a step in which others go on.
    pub fn at_once(_: Exit) {
        shuttle::thread::yield_now();
        ENDED.set(true);
    }
}

/// Where a thread was seen.
pub mod results {
    /// A place.
    pub struct RankSeen;

    impl RankSeen {
        /// It.
        pub fn of(_: (), _: Option<String>) -> Self {
            Self
        }
    }
}

/// A rank's memory.
pub mod memory {
    use std::ops::Range;

    use super::fault::ExchangeFault;
    use super::{Bound, DeviceId, PageCheck};

    /// So many copies are left that are good.
    pub struct MessageMemory(u32);

    impl MessageMemory {
        /// Of this device.
        pub fn new(
            _: &Bound,
            device: Option<&DeviceId>,
            _: [u32; 2],
            _: bool,
            _: usize,
        ) -> Result<Self, ExchangeFault> {
            device.map(|device| Self(device.0)).ok_or(ExchangeFault::Device)
        }

        /// Where what comes back lies.
        pub fn half(&self) -> usize {
            1
        }

        /// The device.
        pub fn device(&mut self) -> Result<&mut Self, ExchangeFault> {
            Ok(self)
        }

        /// Where it is.
        pub fn look(&mut self, _: PageCheck) -> Result<((), Option<String>), ExchangeFault> {
            Ok(((), None))
        }

        /// A copy there.
        pub fn queue_to_device(&mut self, _: Range<usize>) -> Result<(), ExchangeFault> {
            self.0 = self.0.checked_sub(1).ok_or(ExchangeFault::Device)?;
            Ok(())
        }

        /// A copy back.
        pub fn queue_to_host(&mut self, _: Range<usize>) -> Result<(), ExchangeFault> {
            Ok(())
        }

        /// The end of both; others go on meanwhile.
        pub fn settle(&mut self) -> Result<(), ExchangeFault> {
            shuttle::thread::yield_now();
            Ok(())
        }
    }
}
