//! The time of a share of copies, between two events of the driver around them on their stream.
//!
//! The program's thread only records the events; the helper reads them later without blocking. Of large
//! copies more are timed than of small ones, because an event costs about a microsecond. While a stream is
//! being captured nothing is timed: an event there would become part of the program's graph; and nothing is
//! read. An event of HIP's knows the stream that it was recorded on, and looks at it when it is queried
//! (ROCm 6.2): none is read after its stream's end, nor recorded on a thread's own stream, which ends with
//! the thread.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::gpu_api::GpuApi;
use crate::hook::THREADS_OWN;
use crate::layout::{entry, head};
use crate::record::{self, Record};
use crate::{captures, driver, gate};

const ROOM: usize = 512;

/// Two events of a context, used again for the next copy there.
pub struct Slot {
    state: AtomicUsize,
    context: AtomicUsize,
    /// The stream that the events were recorded on last.
    stream: AtomicUsize,
    events: [AtomicUsize; 2],
    entry: AtomicUsize,
    bytes: AtomicU64,
}

const FREE: usize = 0;
const TAKEN: usize = 1;
const PENDING: usize = 2;

static SLOTS: [Slot; ROOM] = [const {
    Slot {
        state: AtomicUsize::new(FREE),
        context: AtomicUsize::new(0),
        stream: AtomicUsize::new(0),
        events: [const { AtomicUsize::new(0) }; 2],
        entry: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
    }
}; ROOM];
/// Where the next free slot is looked for.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Whether the copy of this number and size is timed.
fn is_sampled(bytes: u64, number: u64) -> bool {
    match bytes {
        _ if record::times_all() => true,
        0x0100_0000.. => true,
        0x0010_0000.. => number.is_multiple_of(8),
        _ => number % 1024 == 128,
    }
}

/// Records the first event, if this copy is timed.
pub fn begin(
    record: &Record,
    context: usize,
    stream: usize,
    bytes: u64,
    number: u64,
) -> Option<&'static Slot> {
    let ends_unseen = stream == THREADS_OWN && driver::api_of(context) == GpuApi::Hip;
    if !is_sampled(bytes, number) || captures::is_any_captured() || ends_unseen {
        return None;
    }

    let tried = if record::times_all() { ROOM } else { 8 };
    let from = NEXT.fetch_add(1, Ordering::AcqRel);
    let slot = (0..tried)
        .filter_map(|step| SLOTS.get(from.wrapping_add(step) % ROOM))
        .find(|slot| slot.state.compare_exchange(FREE, TAKEN, Ordering::AcqRel, Ordering::Acquire).is_ok());
    record.add(head::TIMINGS, 1);
    let slot = slot?;
    let is_ready = slot.make(context) && slot.record(0, stream);
    if !is_ready {
        slot.state.store(FREE, Ordering::Release);
    }
    is_ready.then_some(slot)
}

/// Records the second event.
pub fn end(record: &Record, slot: Option<&'static Slot>, stream: usize, at: usize, bytes: u64) {
    let Some(slot) = slot else { return };
    slot.entry.store(at, Ordering::Release);
    slot.bytes.store(bytes, Ordering::Release);
    let recorded = !record.get(head::MAGIC).eq(&0) && slot.record(1, stream);
    slot.state.store(if recorded { PENDING } else { FREE }, Ordering::Release);
}

/// Takes the first event back: the copy was refused.
pub fn give_up(slot: Option<&'static Slot>) {
    if let Some(slot) = slot {
        slot.state.store(FREE, Ordering::Release);
    }
}

impl Slot {
    /// Whether it has events of this context.
    fn make(&self, context: usize) -> bool {
        if self.context.load(Ordering::Acquire) == context {
            return true;
        }
        // Events of another context stay there: destroying them would be a call for that context.
        self.context.store(0, Ordering::Release);
        for event in &self.events {
            let Some(handle) = driver::create_event(context) else { return false };
            event.store(handle, Ordering::Release);
        }
        self.context.store(context, Ordering::Release);
        true
    }

    fn api(&self) -> GpuApi {
        driver::api_of(self.context.load(Ordering::Acquire))
    }

    fn record(&self, which: usize, stream: usize) -> bool {
        self.stream.store(stream, Ordering::Release);
        self.events
            .get(which)
            .is_some_and(|event| driver::record_event(self.api(), event.load(Ordering::Acquire), stream))
    }

    /// The time between the events; `None` while the copy runs.
    fn elapsed_ns(&self) -> Option<Result<u64, c_int>> {
        let [first, last] = self.events.each_ref().map(|event| event.load(Ordering::Acquire));
        match driver::is_reached(self.api(), last) {
            Ok(false) => None,
            Ok(true) => Some(driver::elapsed_ns(self.api(), first, last)),
            Err(code) => Some(Err(code)),
        }
    }
}

/// Reads what was reached: by the helper.
pub fn read(record: &Record) {
    for slot in SLOTS.iter().filter(|slot| slot.state.load(Ordering::Acquire) == PENDING) {
        let read = gate::enter(|| {
            // A context's end may have freed it before the gate was passed, or a capture begun.
            if slot.state.load(Ordering::Acquire) == PENDING
                && !captures::is_any_captured()
                && driver::enter_context(slot.context.load(Ordering::Acquire))
            {
                slot.elapsed_ns()
            } else {
                None
            }
        });
        let Some(Some(time)) = read else { continue };
        if let Ok(time_ns) = time {
            let at = slot.entry.load(Ordering::Acquire);
            record.add(at + entry::TIMED, 1);
            record.add(at + entry::TIMED_BYTES, slot.bytes.load(Ordering::Acquire));
            record.add(at + entry::TIMED_NS, time_ns);
            record.add(head::TIMINGS_READ, 1);
        }
        slot.state.store(FREE, Ordering::Release);
    }
}

/// Forgets the events of a context that ends, or all; with the gate closed.
pub fn forget(context: Option<usize>) {
    for slot in &SLOTS {
        let of = slot.context.load(Ordering::Acquire);
        if of != 0 && context.is_none_or(|context| context == of) {
            slot.context.store(0, Ordering::Release);
            slot.state.store(FREE, Ordering::Release);
        }
    }
}

/// Forgets what was recorded on a stream that ends; with the gate closed.
pub fn forget_stream(api: GpuApi, stream: usize) {
    let is_of = |slot: &&Slot| slot.api() == api && slot.stream.load(Ordering::Acquire) == stream;
    for slot in SLOTS.iter().filter(is_of) {
        let _ = slot.state.compare_exchange(PENDING, FREE, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// In a fork's child there are none.
pub fn reset() {
    for slot in &SLOTS {
        slot.context.store(0, Ordering::Release);
        slot.state.store(FREE, Ordering::Release);
    }
}
