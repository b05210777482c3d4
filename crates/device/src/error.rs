//! What can go wrong between a rank and its device, in the words of the one who must mend it.
//!
//! A driver's result code crosses as the integer it is: codes newer than any binding exist (a fault of one of
//! them is a result, not undefined behaviour), and the name and text are whatever the driver itself says of
//! it.

/// A driver call that returned a failure code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed with code {code} ({name}): {text}")]
pub struct CallError {
    /// The function as the driver's manual spells it, e.g. `cuMemHostRegister`.
    pub call: &'static str,
    /// The raw result code.
    pub code: i64,
    /// The code's name as the driver gives it, or `unknown to this driver`.
    pub name: String,
    /// The driver's own description, or why there is none.
    pub text: String,
}

/// Why a platform or a device could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The driver library is not on this machine (or not loadable).
    #[error("no {library} could be loaded: {reason}")]
    NoDriver {
        /// The library looked for, e.g. `libcuda.so.1`.
        library: &'static str,
        /// Why, and what to do.
        reason: String,
    },
    /// The library that was loaded is the toolkit's link-time stub, not a driver.
    #[error(
        "the {library} that was loaded is a toolkit stub, not a driver: take the toolkit's stubs folder out \
         of LD_LIBRARY_PATH"
    )]
    StubDriver {
        /// The library, e.g. `libcuda.so.1`.
        library: &'static str,
    },
    /// The driver answers, and it shows no device.
    #[error("the {driver} driver shows no device: {reason}")]
    NoDevice {
        /// The driver, e.g. `CUDA`.
        driver: &'static str,
        /// Why that may be, and what to do.
        reason: String,
    },
    /// A symbol that this driver lacks.
    #[error("the driver library has no {symbol}: it is older than numabench needs ({needs})")]
    MissingSymbol {
        /// The symbol.
        symbol: &'static str,
        /// Since which version of the driver it exists.
        needs: &'static str,
    },
    /// The device asked for is not among this platform's.
    #[error("there is no device {asked} here; there are: {present}")]
    UnknownDevice {
        /// What was asked for.
        asked: String,
        /// The devices there are.
        present: String,
    },
    /// The device cannot do this, and its [`crate::Capabilities`] say so.
    #[error("{what} is not possible on this device: {reason}")]
    Unsupported {
        /// What was asked.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// More memory asked for than there is.
    #[error(
        "{asked_bytes} bytes do not fit {place}: {free_bytes} of {total_bytes} bytes are free; ask for a \
         smaller --size"
    )]
    OutOfMemory {
        /// Where, e.g. `GPU 0000:c1:00.0`.
        place: String,
        /// Bytes asked for.
        asked_bytes: u64,
        /// Bytes free.
        free_bytes: u64,
        /// Bytes in all.
        total_bytes: u64,
    },
    /// Host memory could not be pinned.
    #[error(
        "pinning {asked_bytes} bytes of host memory failed: {call}; {remedy}, ask for a smaller --size, or \
         use --memory pageable"
    )]
    Pinning {
        /// Bytes asked for.
        asked_bytes: u64,
        /// What may bound it, and how to have more.
        remedy: String,
        /// What the driver said.
        call: CallError,
    },
    /// A latch was not let go, or a copy did not end, in time.
    #[error("{what} did not end within {limit_ms} ms")]
    TimedOut {
        /// What was waited for.
        what: &'static str,
        /// The limit in milliseconds.
        limit_ms: u64,
    },
    /// The device stopped answering because nobody asked.
    #[error(
        "the device stopped answering: it looked {looks} times for the next question, and this process asked \
         none meanwhile (it was stopped, or had no CPU)"
    )]
    NotAsked {
        /// How often it looked.
        looks: u64,
    },
    /// A driver call failed.
    #[error(transparent)]
    Call(#[from] CallError),
}
