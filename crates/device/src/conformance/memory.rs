//! Host memory as the device makes it, and device memory that runs out.

use super::range::Range;
use super::{Check, Halt, KINDS, Subject, expect, expect_unsupported, names, payload};
use crate::{DeviceError, HostMemory, HostPair, MemoryKind};

pub(super) const CHECKS: &[Check] = &[
    (names::PAGEABLE_STAYS, pageable_stays),
    (names::MISSING_KINDS, missing_kinds),
    (names::MEMORY_LENGTHS, lengths),
    (names::MANAGED_MOVES, memory_that_moves),
    (names::UNPINNED_ON_DROP, unpinned_on_drop),
    (names::UNEQUAL_RANGES, unequal),
    (names::OUT_OF_MEMORY, out_of_memory),
];

fn memory_that_moves(subject: &Subject) -> Result<(), Halt> {
    const LEN: usize = (1 << 20) + 7;
    for kind in [MemoryKind::Managed, MemoryKind::System] {
        let made = match kind {
            MemoryKind::Managed => subject.device.allocate_managed(LEN),
            _ => subject.device.adopt(kind, payload::heap(LEN)?),
        };
        if subject.device.capabilities().memory(kind).is_err() {
            expect_unsupported(&format!("{kind} memory"), made)?;
            continue;
        }
        let mut memory = made?;
        let (len, is) = (memory.bytes().len(), memory.kind());
        expect((len, is) == (LEN, kind), || format!("{kind}: {len} of {LEN} bytes of {is} memory"))?;
        payload::fill(memory.bytes_mut(), 3);
        payload::expect_payload("after writing", memory.bytes(), 3, 0)?;
    }

    Ok(())
}

fn pageable_stays(subject: &Subject) -> Result<(), Halt> {
    let memory = payload::heap(4096)?;
    let before = memory.bytes().as_ptr();
    let after = subject.device.adopt(MemoryKind::Pageable, memory)?;
    let same = after.bytes().as_ptr() == before
        && after.bytes().len() == 4096
        && after.kind() == MemoryKind::Pageable;
    expect(same, || format!("{} bytes of {} memory came back", after.bytes().len(), after.kind()))
}

fn missing_kinds(subject: &Subject) -> Result<(), Halt> {
    for kind in KINDS {
        let missing = subject.device.capabilities().memory(kind).is_err();
        if missing || kind == MemoryKind::PinnedDriver {
            expect_unsupported(
                &format!("adopting as {kind}"),
                subject.device.adopt(kind, payload::heap(4096)?),
            )?;
        }
        if missing && kind == MemoryKind::PinnedDriver {
            expect_unsupported("allocating pinned memory", subject.device.allocate_pinned(4096))?;
        }
    }
    Ok(())
}

fn lengths(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.kinds() {
        for len in [1, 4096, (1 << 20) + 7] {
            let mut memory = subject.host(kind, len)?;
            expect(memory.bytes().len() == len, || {
                format!("{kind}: {} of {len} bytes", memory.bytes().len())
            })?;
            payload::fill(memory.bytes_mut(), 3);
            payload::expect_payload("after writing", memory.bytes(), 3, 0)?;
        }
    }
    Ok(())
}

fn unpinned_on_drop(subject: &Subject) -> Result<(), Halt> {
    subject.pinned_kinds()?;
    if subject.device.capabilities().memory(MemoryKind::Pinned).is_err() {
        return Err(Halt::Skipped("this device registers no memory".to_owned()));
    }
    // One range, pinned over and over: a driver refuses to register what still is.
    let range = Range::new(1 << 20)?;
    for turn in 1..=3 {
        let pinned = subject.device.adopt(MemoryKind::Pinned, range.lend()?);
        drop(pinned.map_err(|error| Halt::Failed(format!("adopting the range for time {turn}: {error}")))?);
    }
    Ok(())
}

fn pair(source: Box<dyn HostMemory>, destination: Box<dyn HostMemory>) -> HostPair {
    HostPair { source: Some(source), destination: Some(destination) }
}

fn unequal(subject: &Subject) -> Result<(), Halt> {
    let host = pair(payload::heap(4096)?, payload::heap(8192)?);
    expect_unsupported("4096 bytes to and 8192 bytes from the device", subject.device.copier(host, false))?;
    let nothing = pair(payload::heap(0)?, payload::heap(0)?);
    expect_unsupported("a copier of 0 bytes", subject.device.copier(nothing, false))?;
    expect_unsupported("a copier without host ranges", subject.device.copier(HostPair::default(), false))
}

fn out_of_memory(subject: &Subject) -> Result<(), Halt> {
    // Both areas on the device where there can be two: a host that has less memory than its GPU lends address
    // space for half of it more readily. No page of it is touched, and what does not fit is refused before
    // anything else is.
    let bidirectional = subject.device.capabilities().bidirectional.is_ok();
    let free = subject.device.memory()?.free_bytes;
    let asked = free + (64 << 20);
    let len = usize::try_from(if bidirectional { asked / 2 } else { asked })
        .map_err(|_| Halt::Skipped(format!("{asked} bytes are more than this program can address")))?;
    let host = pair(payload::heap(len)?, payload::heap(len)?);

    match subject.device.copier(host, bidirectional) {
        Err(DeviceError::OutOfMemory { asked_bytes, .. }) => expect(asked_bytes >= len as u64, || {
            format!("the error speaks of {asked_bytes} bytes, asked were {len}")
        }),
        Err(other) => Err(Halt::Failed(format!("refused, but not as out of memory: {other}"))),
        Ok(_) => Err(Halt::Failed(format!("{asked} bytes were lent where {free} are free"))),
    }
}
