//! An area whose address other libraries take: what is copied between it and its host memory, and in which
//! order.

use super::payload::{self, POISON};
use super::range::Range;
use super::{Check, Halt, Subject, expect, expect_unsupported, names};
use crate::{Buffer, DeviceError, HostMemory, MemoryKind};

pub(super) const CHECKS: &[Check] =
    &[(names::BUFFER_RANGES, ranges), (names::BUFFER_ORDER, in_order), (names::BUFFER_REFUSED, refused)];

const LEN: usize = (4 << 20) + 4096;
const PARTS: usize = 8;

fn buffer(subject: &Subject, kind: MemoryKind) -> Result<Box<dyn Buffer>, Halt> {
    made(subject, subject.host(kind, LEN)?)
}

fn made(subject: &Subject, memory: Box<dyn HostMemory>) -> Result<Box<dyn Buffer>, Halt> {
    match subject.device.buffer(memory) {
        Err(DeviceError::Unsupported { reason, .. }) => Err(Halt::Skipped(reason)),
        other => Ok(other?),
    }
}

fn ranges(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.pinned_kinds()? {
        let mut buffer = buffer(subject, kind)?;
        expect(buffer.len() == LEN && buffer.address() != 0, || "no address, or another length".to_owned())?;
        let host = buffer.host()?.as_ptr().addr();
        expect(host == buffer.host_address(), || {
            "the host memory is elsewhere than its address says".to_owned()
        })?;

        payload::fill(buffer.host()?, 3);
        buffer.queue_to_device(0..4096 + 8)?;
        buffer.queue_to_device(4096 + 8..LEN)?;
        buffer.host()?.fill(POISON);
        buffer.queue_to_host(4096..LEN - 1)?;

        let host = buffer.host()?;
        payload::expect_poison("before the range", &host[..4096])?;
        payload::expect_poison("after the range", &host[LEN - 1..])?;
        let mut expected = vec![0; LEN];
        payload::fill(&mut expected, 3);
        expect(host[4096..LEN - 1] == expected[4096..LEN - 1], || {
            "the range is not what was sent".to_owned()
        })?;
    }
    Ok(())
}

fn in_order(subject: &Subject) -> Result<(), Halt> {
    if !subject.pinned_kinds()?.contains(&MemoryKind::Pinned) {
        return Err(Halt::Skipped("no memory that is lent can be pinned".to_owned()));
    }
    let range = Range::new(LEN)?;
    let mut buffer = made(subject, subject.device.adopt(MemoryKind::Pinned, range.lend()?)?)?;
    let (part, expected) = (LEN / PARTS, payload::bytes(LEN, 5));
    buffer.host()?.copy_from_slice(&expected);
    buffer.queue_to_device(0..LEN)?;
    buffer.host()?.fill(POISON);
    for at in 0..PARTS {
        buffer.queue_to_host(at * part..(at + 1) * part)?;
    }

    for at in 0..PARTS {
        buffer.wait_for(at + 1)?;
        let has = range.has(at * part, &expected[at * part..(at + 1) * part]);
        expect(has, || format!("part {at} was not there when its copy was said to have ended"))?;
    }

    buffer.settle()?;
    expect(buffer.host()? == expected, || "the parts are not what was sent".to_owned())
}

fn refused(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.pinned_kinds()? {
        let mut buffer = buffer(subject, kind)?;
        expect_unsupported("a range beyond the end", buffer.queue_to_host(4096..LEN + 1))?;
    }
    if subject.kinds().contains(&MemoryKind::Pageable) && !subject.pinned_kinds()?.is_empty() {
        expect_unsupported(
            "pageable memory",
            subject.device.buffer(subject.host(MemoryKind::Pageable, LEN)?),
        )?;
    }
    Ok(())
}
