//! The time that everything here is stamped with: this machine's, or, where devices have described rates,
//! virtual time.
//!
//! Virtual time is the program's clock too, so that what the program times by itself and what its devices say
//! agree. That takes nothing of the program: this library exports `clock_gettime`, and where it is preloaded
//! (`LD_PRELOAD`) the program's own readings of CLOCK_MONOTONIC_RAW come here. Every other clock stays this
//! machine's, so that time limits hold. Described rates without that are refused: device times by one clock
//! and host times by another would be nonsense.
//!
//! A reading costs `READING`, and more for a thread that does nothing else: that is how one that spins until
//! a moment ever comes there. While somebody has yet to act on what happened at this moment, readings wait:
//! how long this machine takes for it must not show.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use crate::sys::{self, MONOTONIC_RAW, Timespec};
use crate::{actor, devices, flow, page, told};

/// What a reading costs, nanoseconds.
const READING: f64 = 50.0;
/// What it costs a thread that has read so often and done nothing else.
const SPINNING: f64 = 1000.0;
const SPINS: u32 = 16;
/// What the clock shows at the beginning: no reading is near zero.
const BEGIN: u64 = 1_000_000_000_000;
/// How long a reading waits that must not cost anything yet.
const MOMENT: Duration = Duration::from_micros(20);

/// Now, nanoseconds since some moment.
pub fn now() -> f64 {
    if is_virtual() { page::lock().now() } else { real() as f64 }
}

/// Whether time is virtual here.
pub fn is_virtual() -> bool {
    static VIRTUAL: OnceLock<bool> = OnceLock::new();
    *VIRTUAL.get_or_init(|| {
        let described = devices::all().has_rates();
        let own = clock_gettime as unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;
        if described && sys::global_function(c"clock_gettime") != own as usize {
            let why = "devices with rates need the program's clock too: name this library in LD_PRELOAD";
            told::wrong("LD_PRELOAD", &std::env::var("LD_PRELOAD").unwrap_or_default(), why);
        }
        described
    })
}

fn real() -> u64 {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { sys::clock_gettime(MONOTONIC_RAW, &raw mut now) };
    now.seconds as u64 * 1_000_000_000 + now.nanoseconds as u64
}

/// The C library's function, for whoever this library is preloaded to.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: c_int, to: *mut Timespec) -> c_int {
    if clock != MONOTONIC_RAW || !is_virtual() {
        return unsafe { sys::clock_gettime(clock, to) };
    }
    let shown = BEGIN + read() as u64;
    let (seconds, nanoseconds) = ((shown / 1_000_000_000) as i64, (shown % 1_000_000_000) as i64);
    unsafe { to.write(Timespec { seconds, nanoseconds }) };
    0
}

/// One reading of virtual time.
fn read() -> f64 {
    let (_inside, before) = actor::enter_to_read();
    let cost = if before < SPINS { READING } else { SPINNING };
    loop {
        let page = page::lock();
        if actor::anybody_acts(&page) {
            drop(page);
            thread::sleep(MOMENT);
            continue;
        }
        let end = page.now() + cost;
        flow::pass(&page, devices::all(), end);
        return page.now();
    }
}
