//! An area whose address other libraries take: what is copied between it and its host memory, and in which order.

use super::payload::{self, POISON};
use super::{Check, Halt, Subject, expect, expect_unsupported};
use crate::{Buffer, DeviceError, MemoryKind};

pub(super) const CHECKS: &[Check] = &[
    ("a buffer's copies go between equal offsets, and no further", ranges),
    ("a buffer's first copies have ended while later ones wait their turn", in_order),
    ("a buffer beside pageable memory, or a range beyond it, is refused", refused),
];

const LEN: usize = (4 << 20) + 4096;
const PARTS: usize = 8;

fn buffer(subject: &Subject, kind: MemoryKind) -> Result<Box<dyn Buffer>, Halt> {
    match subject.device.buffer(subject.host(kind, LEN)?) {
        Err(DeviceError::Unsupported { reason, .. }) => Err(Halt::Skipped(reason)),
        other => Ok(other?),
    }
}

fn ranges(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.pinned_kinds()? {
        let mut buffer = buffer(subject, kind)?;
        expect(buffer.len() == LEN && buffer.address() != 0, || "no address, or another length".to_owned())?;
        let host = buffer.host()?.as_ptr().addr();
        expect(host == buffer.host_address(), || "the host memory is elsewhere than its address says".to_owned())?;
        payload::fill(buffer.host()?, 3);
        buffer.queue_to_device(0..LEN)?;
        buffer.host()?.fill(POISON);
        buffer.queue_to_host(4096..LEN - 1)?;
        let host = buffer.host()?;
        payload::expect_poison("before the range", &host[..4096])?;
        payload::expect_poison("after the range", &host[LEN - 1..])?;
        let mut expected = vec![0; LEN];
        payload::fill(&mut expected, 3);
        expect(host[4096..LEN - 1] == expected[4096..LEN - 1], || "the range is not what was sent".to_owned())?;
    }
    Ok(())
}

fn in_order(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.pinned_kinds()? {
        let mut buffer = buffer(subject, kind)?;
        payload::fill(buffer.host()?, 5);
        buffer.queue_to_device(0..LEN)?;
        buffer.host()?.fill(POISON);
        let part = LEN / PARTS;
        for at in 0..PARTS {
            buffer.queue_to_host(at * part..(at + 1) * part)?;
        }
        let mut expected = vec![0; LEN];
        payload::fill(&mut expected, 5);
        for at in 0..PARTS {
            buffer.wait_for(at + 1)?;
        }
        buffer.settle()?;
        expect(buffer.host()? == expected, || "the parts are not what was sent".to_owned())?;
    }
    Ok(())
}

fn refused(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.pinned_kinds()? {
        let mut buffer = buffer(subject, kind)?;
        expect_unsupported("a range beyond the end", buffer.queue_to_host(4096..LEN + 1))?;
    }
    if subject.kinds().contains(&MemoryKind::Pageable) && !subject.pinned_kinds()?.is_empty() {
        expect_unsupported("pageable memory", subject.device.buffer(subject.host(MemoryKind::Pageable, LEN)?))?;
    }
    Ok(())
}
