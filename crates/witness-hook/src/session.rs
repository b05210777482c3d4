//! A process's record from its beginning to its end.
//!
//! It begins with the process's first copy, so that a program without copies leaves nothing but a byte in the
//! file `loaded`. A fork's child has a record of its own, if it copies. Its blocks are reserved before it is
//! mapped: a full disk is found here and not by a signal at some later write. Why nothing is counted is the
//! name of an empty file, or a line on standard error if not even that can be made: the folder is gone where
//! this process outlived the run.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::gpu_api::GpuApi;
use crate::layout::{ALL, FOLDER, LOADED, MAGIC, VERSION, WORDS, head};
use crate::record::{self, Record};
use crate::text::Text;
use crate::{contexts, graphs, helper, sys, timing, worker};

static STATE: AtomicU32 = AtomicU32::new(UNBEGUN);

/// The kernel's error for a folder that is not there, ENOENT.
const NO_SUCH_FILE: i32 = 2;

const UNBEGUN: u32 = 0;
const BEGINNING: u32 = 1;
const WATCHING: u32 = 2;
const PASSIVE: u32 = 3;

/// The path of a record.
type Path = Text<4096>;

/// Runs before the program does.
#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: extern "C" fn() = load;

extern "C" fn load() {
    sys::with_errno_kept(|| {
        let path = path_of(format_args!("{LOADED}"));
        if let Some(path) = path.as_ref().and_then(Path::c_text) {
            let all = variable(ALL).map(CStr::to_bytes).unwrap_or_default();
            record::set_wanted(all.contains(&b't'), all.contains(&b'p'));
            sys::append_byte(path);
            sys::in_children(in_child);
        }
        worker::load();
    });
}

/// A variable of the layout.
fn variable(name: &str) -> Option<&'static CStr> {
    sys::variable(Text::<64>::of(format_args!("{name}"))?.c_text()?)
}

/// A fork's child begins again, if it copies.
extern "C" fn in_child() {
    record::set_words(core::ptr::null_mut());
    if STATE.load(Ordering::Acquire) != PASSIVE {
        STATE.store(UNBEGUN, Ordering::Release);
    }
    contexts::reset();
    timing::reset();
    helper::reset();
    graphs::reset();
}

/// The record, begun if it is not.
pub fn begun() -> Option<&'static Record> {
    loop {
        match STATE.load(Ordering::Acquire) {
            WATCHING => return record::current(),
            PASSIVE => return None,
            BEGINNING => sys::pause(),
            _ if !record::is_wanted() => return None,
            _ => {
                if STATE.compare_exchange(UNBEGUN, BEGINNING, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                    let begun = sys::with_errno_kept(begin);
                    STATE.store(if begun { WATCHING } else { PASSIVE }, Ordering::Release);
                }
            }
        }
    }
}

fn begin() -> bool {
    let path = path_of(format_args!("{}.record", sys::pid()));
    let Some(path) = path.as_ref().and_then(Path::c_text) else { return false };
    let mapped = match sys::map_new_file(path, WORDS * 8) {
        Ok(mapped) => mapped,
        Err(error) => {
            be_passive(error);
            return false;
        }
    };

    record::set_words(mapped);
    let Some(record) = record::current() else { return false };
    let says_so = |api: &GpuApi| sys::driver_function(*api, c"numabench_simulation").is_some();
    let is_simulated = GpuApi::ALL.iter().any(says_so);
    record.set(head::VERSION, VERSION);
    record.set(head::PID, u64::from(sys::pid()));
    record.set(head::BEGAN_NS, sys::now_ns());
    record.set(head::PAGE, sys::page_size() as u64);
    record.set(head::OTHER_DRIVER, record::other_driver());
    record.set(head::SIMULATED, u64::from(is_simulated));
    let name = sys::name();
    let (first, last) = name.split_at(8);
    record.set(head::NAME, u64::from_ne_bytes(first.try_into().unwrap_or_default()));
    record.set(head::NAME + 1, u64::from_ne_bytes(last.try_into().unwrap_or_default()));
    record.set(head::MAGIC, MAGIC);

    // Registered now: the driver is loaded, so this runs before the driver ends.
    sys::at_exit(end);
    helper::start();
    true
}

/// The program ends: what is queued is done as far as a moment allows, and the driver is not called again.
extern "C" fn end() {
    if STATE.load(Ordering::Acquire) == WATCHING {
        helper::finish();
    }
}

fn be_passive(error: i32) {
    let path = path_of(format_args!("{}.passive.{error}", sys::pid()));
    if path.as_ref().and_then(Path::c_text).is_some_and(sys::make_file) {
        return;
    }
    sys::say(match error {
        NO_SUCH_FILE => &b"numabench: no copies are counted: the program that witness ran has ended\n"[..],
        _ => b"numabench: no copies are counted: the record cannot be written (is its disk full?)\n",
    });
}

/// A file of the record's folder.
fn path_of(name: core::fmt::Arguments<'_>) -> Option<Path> {
    let folder = variable(FOLDER)?.to_str().ok()?;
    Text::of(format_args!("{folder}/{name}"))
}
