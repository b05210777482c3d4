//! Host ranges, one or two, and given back for the next copier.

use std::time::{Duration, Instant};

use super::payload::{self, POISON};
use super::{Check, Halt, Subject, expect, expect_unsupported, names};
use crate::{Area, Copier, Direction, HostPair, Marks, MemoryKind};

pub(super) const CHECKS: &[Check] = &[
    (names::ONE_RANGE, one_range),
    (names::RANGES_RETURNED, given_back),
    (names::ANOTHER_DEVICE, another_device),
    (names::HELD_RANGES, held),
];

const LEN: usize = (1 << 20) + 7;

fn one_range(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.kinds() {
        let mut to = subject
            .device
            .copier(HostPair { source: Some(subject.host(kind, LEN)?), destination: None }, false)?;
        expect(to.destination().is_empty(), || format!("{kind}: there is a destination that nobody gave"))?;
        payload::fill(to.source(), 1);
        to.round(Direction::H2d, LEN)?;
        payload::expect_payload("H2D alone", &super::areas::fetched(&mut *to, Area::A, 0, LEN)?, 1, 0)?;

        let only = |direction| HostPair { source: None, destination: direction };
        let mut from = subject.device.copier(only(Some(subject.host(kind, LEN)?)), false)?;
        expect(from.source().is_empty(), || format!("{kind}: there is a source that nobody gave"))?;
        from.store(Area::A, 0, &payload::bytes(LEN, 2))?;
        from.round(Direction::D2h, LEN)?;
        payload::expect_payload("D2H alone", from.destination(), 2, 0)?;
        expect_unsupported("pushing without a destination", to.push(Area::A, LEN))?;
        expect_unsupported("pulling without a source", from.pull(Area::A, LEN))?;

        for (copier, other) in [(&mut to, Direction::D2h), (&mut from, Direction::H2d)] {
            for direction in [other, Direction::RoundTrip, Direction::Bidirectional] {
                let what = format!("{kind}: {direction} without its host range");
                expect_unsupported(&what, copier.round(direction, LEN))?;
                if subject.needs_latch().is_ok() && kind != MemoryKind::Pageable {
                    copier.hold()?;
                    expect_unsupported(&format!("{what}, queued"), copier.enqueue(direction, LEN, 1))?;
                }
            }
        }

        let both = subject.device.copier(only(Some(subject.host(kind, LEN)?)), true);
        expect_unsupported("both directions with one host range", both)?;
    }
    Ok(())
}

/// Where the ranges lie, and what they are.
fn identities(host: &HostPair) -> Vec<(usize, usize, MemoryKind)> {
    host.ranges().map(|range| (range.bytes().as_ptr().addr(), range.bytes().len(), range.kind())).collect()
}

/// Moves bytes both ways, queued too where that is possible.
fn exercise(subject: &Subject, kind: MemoryKind, copier: &mut dyn Copier, seed: u64) -> Result<(), Halt> {
    let queued = subject.needs_latch().is_ok() && kind != MemoryKind::Pageable;
    for queued in if queued { &[false, true][..] } else { &[false] } {
        let seed = seed + u64::from(*queued);
        payload::fill(copier.source(), seed);
        copier.destination().fill(POISON);
        if *queued {
            copier.hold()?;
            copier.enqueue(Direction::RoundTrip, LEN, 1)?;
            copier.finish(&mut Marks::default())?;
        } else {
            copier.round(Direction::RoundTrip, LEN)?;
        }
        payload::expect_payload(&format!("{kind}, queued: {queued}"), copier.destination(), seed, 0)?;
    }
    Ok(())
}

fn given_back(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.kinds() {
        let mut host =
            HostPair { source: Some(subject.host(kind, LEN)?), destination: Some(subject.host(kind, LEN)?) };
        let before = identities(&host);
        for turn in 0..3 {
            let mut copier = subject.device.copier(host, false)?;
            exercise(subject, kind, &mut *copier, 10 * turn)?;
            payload::fill(copier.source(), turn);
            copier.round(Direction::RoundTrip, LEN)?;
            host = copier.into_host();
            let after = identities(&host);
            expect(after == before, || format!("{kind}: {before:x?} went in, {after:x?} came back"))?;
            for range in host.ranges() {
                payload::expect_payload(&format!("{kind}: the range given back"), range.bytes(), turn, 0)?;
            }
        }

        // One of them alone is enough for the next.
        let mut copier = subject.device.copier(HostPair { source: host.source, destination: None }, false)?;
        payload::fill(copier.source(), 7);
        copier.round(Direction::H2d, LEN)?;
        payload::expect_payload("one of them", &super::areas::fetched(&mut *copier, Area::A, 0, LEN)?, 7, 0)?;
    }
    Ok(())
}

fn another_device(subject: &Subject) -> Result<(), Halt> {
    let own = subject.device.facts().id;
    let mut others = subject.platform.devices().iter().map(|facts| facts.id).filter(|id| *id != own);
    let other = others.next().ok_or_else(|| Halt::Skipped("there is no other device".to_owned()))?;
    let other = subject.platform.open(other)?;
    let there = Subject { platform: subject.platform, device: &*other };
    for kind in subject.kinds().into_iter().filter(|kind| there.kinds().contains(kind)) {
        let mut copier = subject.copier(kind, LEN, false)?;
        exercise(subject, kind, &mut *copier, 1)?;
        let mut copier = other.copier(copier.into_host(), false)?;
        exercise(&there, kind, &mut *copier, 3)?;
        let mut copier = subject.device.copier(copier.into_host(), false)?;
        exercise(subject, kind, &mut *copier, 5)?;
    }
    Ok(())
}

fn held(subject: &Subject) -> Result<(), Halt> {
    subject.needs_latch()?;
    for kind in subject.pinned_kinds()? {
        let mut copier = subject.copier(kind, LEN, false)?;
        payload::fill(copier.source(), 1);
        copier.destination().fill(POISON);
        copier.hold()?;
        copier.enqueue(Direction::RoundTrip, LEN, 4)?;
        let start = Instant::now();
        let host = copier.into_host();
        let took = start.elapsed();
        expect(took < Duration::from_secs(5), || format!("{kind}: it took {took:?}"))?;
        expect(host.ranges().count() == 2, || format!("{kind}: {} ranges came back", host.ranges().count()))?;
        for range in host.ranges() {
            payload::expect_payload(&format!("{kind}: what was queued"), range.bytes(), 1, 0)?;
        }
    }

    Ok(())
}
