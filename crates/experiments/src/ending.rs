//! How a process ends: as every process does, or at once where a thread of it hangs in a library.
//!
//! `exit` runs the exit handlers of every library, and one whose call does not return may wait in its own for
//! that very call (a lock, a thread that it joins). So a time limit that ends the process ends it as the
//! kernel does, and so does `main` where a thread had to be left.

use std::io::Write;
use std::process::ExitCode;

use crate::exit::Exit;

/// Ends the process: nothing of it runs any more.
pub fn at_once(exit: Exit) -> ! {
    signal_hook::low_level::exit(exit.code().into())
}

/// What `main` returns, unless a thread was left in a call that does not return.
pub fn of_main(exit: Exit) -> ExitCode {
    if engine::is_abandoned() {
        // All that was printed was flushed, and its failure said; this is for what a library wrote.
        drop(std::io::stdout().flush());
        at_once(exit);
    }
    exit.into()
}
