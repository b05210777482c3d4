//! One copy, as it is counted: which host memory, which way, how many bytes, and how long the program waited.

use core::cell::Cell;
use core::ffi::c_int;

use crate::gpu_api::GpuApi;
use crate::hook::Call;
use crate::layout::{direction, entry, head};
use crate::record::{self, Record};
use crate::span::{Copy, On, Span, Way};
use crate::{captures, contexts, driver, helper, memory_kind, session, sys, timing};

/// Copies of less are timed by the host's clock one in [`CLOCK_EVERY`]: two readings cost 2 % of 4 KiB.
const SMALL: u64 = 64 << 10;
const CLOCK_EVERY: u64 = 16;

thread_local! {
    /// Whether this thread is in a call that is counted: what the driver calls by itself is not.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Does `act` with the record; in a call that is counted already, only makes the call.
pub fn outermost(call: Call<'_>, act: impl FnOnce(&Record, Call<'_>) -> c_int) -> c_int {
    let Some(record) = session::begun().filter(|_| !INSIDE.get()) else { return call() };
    INSIDE.set(true);
    let code = act(record, call);
    INSIDE.set(false);
    code
}

/// Makes the copy by `call`, and counts it if it succeeds; without what it copies it is not counted.
pub fn copy(what: impl FnOnce() -> Option<Copy>, on: On, call: Call<'_>) -> c_int {
    outermost(call, |record, call| {
        if !captures::is_captured(on.api, on.stream) {
            return match what() {
                Some(what) => made(record, what, on, call),
                None => call(),
            };
        }
        let code = call();
        record.add(head::CAPTURED, u64::from(code == 0));
        code
    })
}

/// Makes many copies by one call; none is timed.
pub fn copies(what: impl Iterator<Item = Copy>, on: On, call: Call<'_>) -> c_int {
    outermost(call, |record, call| {
        let captured = captures::is_captured(on.api, on.stream);
        let code = call();
        if code != 0 {
            record.add(head::REFUSED, 1);
        } else if captured {
            record.add(head::CAPTURED, 1);
        } else {
            what.for_each(|copy| count(record, &copy, on));
        }
        code
    })
}

fn made(record: &Record, what: Copy, on: On, call: Call<'_>) -> c_int {
    let context = driver::context(on.api, on.stream);
    let Some(at) = entry_of(record, &what, context) else {
        let code = call();
        if code == 0 {
            count_apart(record, &what);
        } else {
            record.add(head::REFUSED, 1);
        }
        return code;
    };
    let (bytes, number) = (what.span.bytes(), record.get(at + entry::COPIES));
    let timed = timing::begin(record, context, on.stream, bytes, number);
    let began = (on.blocks && (bytes >= SMALL || number % CLOCK_EVERY == 0)).then(sys::now_ns);

    let code = call();

    if code != 0 {
        record.add(head::REFUSED, 1);
        timing::give_up(timed);
        return code;
    }
    if let Some(began) = began {
        record.add(at + entry::WAITED, 1);
        record.add(at + entry::WAITED_BYTES, bytes);
        record.add(at + entry::WAITED_NS, sys::now_ns().saturating_sub(began));
    }
    if on.blocks {
        record.add(at + entry::BLOCKING_BYTES, bytes);
    }
    timing::end(record, timed, on.stream, at, bytes);
    count_at(record, at, on.api, &what.span);
    code
}

/// Counts a copy that was made without being asked for here: one of a batch, or of a graph.
pub fn count(record: &Record, what: &Copy, on: On) {
    match entry_of(record, what, driver::context(on.api, on.stream)) {
        Some(at) => count_at(record, at, on.api, &what.span),
        None => count_apart(record, what),
    }
}

/// The entry of a copy between a device and host memory.
fn entry_of(record: &Record, what: &Copy, context: usize) -> Option<usize> {
    let way = match what.way {
        Way::ToDevice => direction::TO_DEVICE,
        Way::ToHost => direction::TO_HOST,
        Way::Devices | Way::Host => return None,
    };
    if context == 0 {
        return None;
    }
    let kind = memory_kind::of(driver::api_of(context), what.span.address);
    let key = (contexts::place(record, context)? << 16) | (way << 8) | kind;
    record.entry(what.span.address as u64, key)
}

fn count_at(record: &Record, at: usize, api: GpuApi, span: &Span) {
    let number = record.add(at + entry::COPIES, 1);
    record.add(at + entry::BYTES, span.bytes());
    record.at_least(at + entry::END, span.end() as u64);
    if number == 0 {
        let (start, bytes) = memory_kind::range(api, span.address);
        record.set(at + entry::RANGE, start);
        record.set(at + entry::RANGE_BYTES, bytes);
    }
    if number == 0 || number.is_power_of_two() || number.is_multiple_of(1024) || record::looks_at_all() {
        helper::look_at(record, at, span, number == 0);
    }
}

/// Counts a copy without an entry.
fn count_apart(record: &Record, what: &Copy) {
    let (copies, bytes) = match what.way {
        Way::Devices => (head::DEVICE_COPIES, head::DEVICE_BYTES),
        Way::Host => (head::HOST_COPIES, head::HOST_BYTES),
        Way::ToDevice | Way::ToHost => (head::LOST, head::LOST_BYTES),
    };
    record.add(copies, 1);
    record.add(bytes, what.span.bytes());
}
