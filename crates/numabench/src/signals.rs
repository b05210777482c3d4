//! Ctrl-C and SIGTERM: the first one ends the run with its results, the second one ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;
use crate::fault::Fault;

/// What was signalled since [`Signals::catch`].
pub struct Signals {
    /// Set by the first signal.
    pub interrupted: Arc<AtomicBool>,
    last: Arc<AtomicUsize>,
}

impl Signals {
    /// Catches both signals from now on.
    ///
    /// # Errors
    /// The kernel refuses a handler.
    pub fn catch() -> Result<Self, Fault> {
        let signals = Self { interrupted: Arc::default(), last: Arc::default() };
        let register = || -> std::io::Result<()> {
            for signal in [SIGINT, SIGTERM] {
                // In this order: the flag is still false when the first signal asks whether it is the second.
                flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&signals.interrupted))?;
                flag::register_usize(signal, Arc::clone(&signals.last), signal as usize)?;
                flag::register(signal, Arc::clone(&signals.interrupted))?;
            }
            Ok(())
        };
        register()
            .map_err(|error| Fault::new(Exit::NoResult, anyhow::Error::new(error).context("cannot catch signals")))?;
        Ok(signals)
    }

    /// The exit for the signal that came, if one did.
    pub fn exit(&self) -> Option<Exit> {
        let last = self.last.load(Ordering::Relaxed);
        if self.interrupted.load(Ordering::Relaxed) { u8::try_from(last).ok().map(Exit::Signal) } else { None }
    }
}
