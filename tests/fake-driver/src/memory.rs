//! Memory of devices, pinned memory, and how many other objects live.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::code::{ALREADY_REGISTERED, Answer, INVALID_VALUE, NOT_REGISTERED, OUT_OF_MEMORY};
use crate::{calls, devices, sys};

/// What is in memory that nobody has written.
const UNWRITTEN: u8 = 0xEE;

/// Streams, events and modules that are alive.
pub static OBJECTS: AtomicI32 = AtomicI32::new(0);

struct Area {
    device: usize,
    bytes: Vec<u8>,
}

#[derive(Default)]
struct Ledger {
    on_device: BTreeMap<usize, Area>,
    registered: BTreeMap<usize, usize>,
    allocated: BTreeMap<usize, Vec<u64>>,
}

fn ledger<T>(look: impl FnOnce(&mut Ledger) -> T) -> T {
    static LEDGER: Mutex<Option<Ledger>> = Mutex::new(None);
    look(LEDGER.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Ledger::default))
}

impl Ledger {
    fn used(&self, device: usize) -> usize {
        self.on_device.values().filter(|area| area.device == device).map(|area| area.bytes.len()).sum()
    }

    /// Tells how much there is now.
    fn counted(&self) {
        calls::most("areas-at-most", self.on_device.values().map(|area| area.bytes.len()).sum());
        let allocated: usize = self.allocated.values().map(|own| own.len() * 8).sum();
        calls::most("pinned-at-most", allocated + self.registered.values().sum::<usize>());
    }
}

/// Free and total bytes of a device.
pub fn info(device: usize) -> (usize, usize) {
    let of = &devices::all().devices[device];
    (of.memory - of.taken - ledger(|ledger| ledger.used(device)), of.memory)
}

/// Memory of a device.
pub fn allocate(device: usize, len: usize) -> Answer<usize> {
    let (free, _) = info(device);
    if len == 0 {
        return Err(INVALID_VALUE);
    }
    let block = devices::all().devices[device].block.unwrap_or(free);
    if len > free.min(block) {
        return Err(OUT_OF_MEMORY);
    }
    let mut bytes = sys::filled(UNWRITTEN, len);
    let address = bytes.as_mut_ptr() as usize;
    ledger(|ledger| {
        ledger.on_device.insert(address, Area { device, bytes });
        ledger.counted();
    });
    Ok(address)
}

/// Whether an address is in a device's memory: for a stand-in MPI that mishandles such addresses.
#[unsafe(no_mangle)]
extern "C" fn numabench_is_device_memory(address: usize) -> i32 {
    let inside = |(start, area): (&usize, &Area)| address - start < area.bytes.len();
    i32::from(ledger(|ledger| ledger.on_device.range(..=address).next_back().is_some_and(inside)))
}

/// Gives it back.
pub fn free(address: usize) -> Answer {
    ledger(|ledger| ledger.on_device.remove(&address).map(drop)).ok_or(INVALID_VALUE)
}

/// The device whose memory this range is in.
pub fn device_of(address: usize, len: usize) -> Option<usize> {
    ledger(|ledger| {
        let (start, area) = ledger.on_device.range(..=address).next_back()?;
        (address + len <= start + area.bytes.len()).then_some(area.device)
    })
}

/// Pinned host memory.
pub fn allocate_host(len: usize) -> Answer<usize> {
    if len == 0 {
        return Err(INVALID_VALUE);
    }
    let mut own = vec![u64::from_ne_bytes([UNWRITTEN; 8]); len.div_ceil(8)];
    let address = own.as_mut_ptr() as usize;
    ledger(|ledger| {
        ledger.allocated.insert(address, own);
        ledger.counted();
    });
    Ok(address)
}

/// Gives it back.
pub fn free_host(address: usize) -> Answer {
    ledger(|ledger| ledger.allocated.remove(&address).map(drop)).ok_or(INVALID_VALUE)
}

/// Pins memory of the caller's.
pub fn register(address: usize, len: usize) -> Answer {
    if len == 0 {
        return Err(INVALID_VALUE);
    }
    ledger(|ledger| {
        let overlaps = |(start, size): (&usize, &usize)| *start < address + len && address < start + size;
        if ledger.registered.iter().any(overlaps) {
            return Err(ALREADY_REGISTERED);
        }
        ledger.registered.insert(address, len);
        ledger.counted();
        Ok(())
    })
}

/// Lets it go.
pub fn unregister(address: usize) -> Answer {
    ledger(|ledger| ledger.registered.remove(&address).map(drop)).ok_or(NOT_REGISTERED)
}

/// Whether an address is in memory of the caller's that was pinned.
pub fn is_registered(address: usize) -> bool {
    ledger(|ledger| {
        let before = ledger.registered.range(..=address).next_back();
        before.is_some_and(|(start, len)| address - start < *len)
    })
}

/// Whether the whole range is pinned.
pub fn is_pinned(address: usize, len: usize) -> bool {
    let inside = |start: usize, size: usize| address >= start && address + len <= start + size;
    ledger(|ledger| {
        ledger.registered.range(..=address).next_back().is_some_and(|(start, size)| inside(*start, *size))
            || ledger
                .allocated
                .range(..=address)
                .next_back()
                .is_some_and(|(start, own)| inside(*start, own.len() * 8))
    })
}

/// Where the pinned range or the area ends that an address is in.
pub fn end_of(address: usize) -> Option<usize> {
    range_of(address).map(|(start, len)| start + len)
}

/// The pinned range or the area that an address is in: its start and bytes.
pub fn range_of(address: usize) -> Option<(usize, usize)> {
    ledger(|ledger| {
        let areas = ledger.on_device.iter().map(|(start, area)| (*start, area.bytes.len()));
        let registered = ledger.registered.iter().map(|(start, len)| (*start, *len));
        let allocated = ledger.allocated.iter().map(|(start, own)| (*start, own.len() * 8));
        let mut ranges = areas.chain(registered).chain(allocated);
        ranges.find(|(start, len)| *start <= address && address < *start + *len)
    })
}

/// Says on stderr what nobody gave back; so many ranges of managed memory are among it.
pub fn say_what_is_left(managed: usize) {
    let objects = OBJECTS.load(Ordering::Acquire);
    let (areas, registered, allocated) =
        ledger(|ledger| (ledger.on_device.len(), ledger.registered.len(), ledger.allocated.len() + managed));
    if (objects, areas, registered, allocated) != (0, 0, 0, 0) {
        eprintln!(
            "left over: {objects} objects, {areas} areas, {registered} registered, {allocated} allocated"
        );
    }
}
