//! Whether standard output was closed (`>&-`) when this process began.
//!
//! Rust's runtime opens /dev/null in its place before `main`, so that nothing else is written to by mistake, and from then on every write succeeds: a result that nobody can have would count as printed.
//! So it is looked before, by an initialiser of the program, which only asks the kernel and keeps one bit.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

#[used]
// SAFETY: the section holds pointers to functions without arguments that the loader calls once before `main`; this one makes one system call, and allocates nothing.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = {
    extern "C" fn look() {
        CLOSED.store(rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err(), Ordering::Relaxed);
    }
    look
};

/// Whether it was.
pub fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}
