//! How often each call was made, for tests that hold what a run costs: `FAKE_CALLS` names a file that is
//! written at the process's end.
//!
//! ```text
//! CALL NUMBER               as the manual spells it, without _v2; calls that failed count
//! contexts NUMBER           contexts that were made: a context that somebody uses is not made again
//! pinned-at-most BYTES      pinned host memory at one moment
//! areas-at-most BYTES       memory of all devices at one moment
//! ```

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::fmt::Write;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{env, fs};

const VARIABLE: &str = "FAKE_CALLS";

static COUNTS: Mutex<BTreeMap<&str, usize>> = Mutex::new(BTreeMap::new());

/// The file, where one is asked for. The first to ask sees to it that it is written.
fn file() -> Option<&'static str> {
    unsafe extern "C" {
        fn atexit(act: extern "C" fn()) -> c_int;
    }
    static FILE: OnceLock<Option<String>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let file = env::var(VARIABLE).ok()?;
        unsafe { atexit(write) };
        Some(file)
    });
    file.as_deref()
}

extern "C" fn write() {
    let Some(file) = file() else { return };
    let counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = counts.iter().fold(String::new(), |mut lines, (name, count)| {
        let _ = writeln!(lines, "{name} {count}");
        lines
    });
    if let Err(error) = fs::write(file, lines) {
        eprintln!("fake driver: {VARIABLE}: {file}: {error}");
    }
}

fn at(name: &'static str, change: impl FnOnce(&mut usize)) {
    if file().is_some() {
        change(COUNTS.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert(0));
    }
}

/// One more of these.
pub fn count(name: &'static str) {
    at(name, |count| *count += 1);
}

/// So much of these at this moment.
pub fn most(name: &'static str, now: usize) {
    at(name, |most| *most = now.max(*most));
}
