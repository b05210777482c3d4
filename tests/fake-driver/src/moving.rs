//! Memory whose pages go to whoever touches them. The bytes stay where they are; what is kept is whether the
//! device had them last: the first word that it saw tells, because whoever writes such memory in a test
//! writes all of it. A device that finds another word waits for a copy to the device of all bytes, and a
//! prefetch to the host for one to the host.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::code::{Answer, INVALID_VALUE};
use crate::flow::Direction;
use crate::stream::Stream;
use crate::{calls, devices, memory, traffic};

#[derive(Default)]
struct Ledger {
    allocated: BTreeMap<usize, Vec<u64>>,
    /// The first word of what the device had last, by its address.
    with_device: BTreeMap<usize, u64>,
}

fn ledger<T>(look: impl FnOnce(&mut Ledger) -> T) -> T {
    static LEDGER: Mutex<Option<Ledger>> = Mutex::new(None);
    look(LEDGER.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Ledger::default))
}

/// Memory of nobody yet.
pub fn allocate(len: usize) -> Answer<usize> {
    if len == 0 {
        return Err(INVALID_VALUE);
    }
    let mut own = vec![0_u64; len.div_ceil(8)];
    let address = own.as_mut_ptr() as usize;
    ledger(|ledger| {
        ledger.allocated.insert(address, own);
        calls::most("managed-at-most", ledger.allocated.values().map(|own| 8 * own.len()).sum());
    });
    Ok(address)
}

/// Gives it back; `None` of other memory.
pub fn free(address: usize) -> Option<()> {
    ledger(|ledger| {
        ledger.with_device.remove(&address);
        ledger.allocated.remove(&address).map(drop)
    })
}

/// The range that an address is in: its start and bytes.
pub fn range_of(address: usize) -> Option<(usize, usize)> {
    ledger(|ledger| {
        let (start, own) = ledger.allocated.range(..=address).next_back()?;
        (address < start + 8 * own.len()).then_some((*start, 8 * own.len()))
    })
}

/// How many ranges nobody gave back.
pub fn left() -> usize {
    ledger(|ledger| ledger.allocated.len())
}

/// Whether the device reaches so many bytes: they are managed, or ordinary memory where it reads that.
pub fn is_reached(device: usize, address: usize, len: usize) -> bool {
    let inside = |(start, own): (&usize, &Vec<u64>)| address + len <= start + 8 * own.len();
    let is_managed = ledger(|ledger| ledger.allocated.range(..=address).next_back().is_some_and(inside));
    is_managed || (devices::all().devices[device].system && memory::device_of(address, 1).is_none())
}

fn first_word(address: usize) -> u64 {
    unsafe { (address as *const u64).read() }
}

/// The device is about to touch these bytes: they come first, where they are not there.
pub fn comes(device: usize, address: usize, len: usize) {
    let word = first_word(address);
    if ledger(|ledger| ledger.with_device.get(&address) != Some(&word)) {
        traffic::carry(device, Direction::ToDevice, len);
    }
}

/// The device has touched them.
pub fn stays(address: usize) {
    let word = first_word(address);
    ledger(|ledger| ledger.with_device.insert(address, word));
}

/// Queues that they go to the device or to the host.
pub fn prefetch(device: usize, address: usize, len: usize, to_device: bool, stream: &Stream) -> Answer {
    if len == 0 || !is_reached(device, address, len) {
        return Err(INVALID_VALUE);
    }
    stream.push(move || {
        if to_device {
            comes(device, address, len);
            stays(address);
        } else if ledger(|ledger| ledger.with_device.remove(&address)).is_some() {
            traffic::carry(device, Direction::ToHost, len);
        }
    })
}
