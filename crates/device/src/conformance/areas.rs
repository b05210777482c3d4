//! The device's areas, reached from the host a part at a time: stores and fetches.

use super::payload::{self, POISON};
use super::{Check, Halt, Subject, expect_unsupported, names};
use crate::{Area, Copier, Direction};

pub(super) const CHECKS: &[Check] = &[
    (names::AREA_PARTS, parts),
    (names::SAME_AREA, same_area),
    (names::AGAINST_THE_STREAM, against_the_stream),
    (names::AREA_REFUSED, refused),
];

const LEN: usize = (1 << 20) + 5;
/// From where, and how many bytes: odd ones, none, over a page's edge, and up to the end.
const PARTS: [(usize, usize); 6] = [(0, 1), (3, 0), (4095, 8), (8192, 4096), (LEN - 5, 5), (LEN, 0)];

fn areas(bidirectional: bool) -> &'static [Area] {
    if bidirectional { &[Area::A, Area::B] } else { &[Area::A] }
}

fn parts(subject: &Subject) -> Result<(), Halt> {
    let bidirectional = subject.needs_bidirectional().is_ok();
    for kind in subject.kinds() {
        let both = bidirectional && kind != crate::MemoryKind::Pageable;
        let mut copier = subject.copier(kind, LEN, both)?;
        for area in areas(both) {
            copier.store(*area, 0, &payload::bytes(LEN, 1))?;
        }
        for area in areas(both) {
            let what = |place: &str| format!("{area:?}, {kind}: {place}");
            let mut expected = payload::bytes(LEN, 1);
            for (offset, bytes) in PARTS {
                let part = payload::bytes(bytes, 2 + offset as u64);
                copier.store(*area, offset, &part)?;
                expected[offset..offset + bytes].copy_from_slice(&part);
                payload::expect_same(
                    &what("the part"),
                    &fetched(&mut *copier, *area, offset, bytes)?,
                    &part,
                )?;
            }
            payload::expect_same(&what("the whole"), &fetched(&mut *copier, *area, 0, LEN)?, &expected)?;
            // The other one stays as it was until it is its turn.
            if both && *area == Area::A {
                let other = fetched(&mut *copier, Area::B, 0, LEN)?;
                payload::expect_payload(&what("the other area"), &other, 1, 0)?;
            }
        }
    }

    Ok(())
}

/// These bytes of an area.
pub(super) fn fetched(
    copier: &mut dyn Copier,
    area: Area,
    offset: usize,
    bytes: usize,
) -> Result<Vec<u8>, Halt> {
    let mut into = vec![POISON; bytes];
    copier.fetch(area, offset, &mut into)?;
    Ok(into)
}

fn same_area(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.kinds() {
        let mut copier = subject.copier(kind, LEN, false)?;
        payload::fill(copier.source(), 1);
        copier.round(Direction::H2d, LEN)?;
        let copied = fetched(&mut *copier, Area::A, 0, LEN)?;
        payload::expect_payload(&format!("{kind}: H2D, then a fetch"), &copied, 1, 0)?;
        copier.store(Area::A, 0, &payload::bytes(LEN, 2))?;
        copier.round(Direction::D2h, LEN)?;
        payload::expect_payload(&format!("{kind}: a store, then D2H"), copier.destination(), 2, 0)?;
    }
    Ok(())
}

fn against_the_stream(subject: &Subject) -> Result<(), Halt> {
    let bidirectional = subject.needs_bidirectional().is_ok();
    for kind in subject.kinds() {
        let both = bidirectional && kind != crate::MemoryKind::Pageable;
        for bytes in [1, 4096, LEN - 3] {
            let mut copier = subject.copier(kind, LEN, both)?;
            for area in areas(both) {
                let what = |place: &str| format!("{area:?}, {bytes} bytes, {kind}: {place}");
                copier.store(*area, 0, &payload::bytes(LEN, 1))?;
                copier.source().fill(POISON);
                copier.destination().fill(POISON);
                copier.pull(*area, bytes)?;
                payload::expect_payload(&what("the source"), &copier.source()[..bytes], 1, 0)?;
                payload::expect_poison(&what("beyond the source's bytes"), &copier.source()[bytes..])?;
                payload::expect_poison(&what("the destination"), copier.destination())?;
                payload::fill(copier.destination(), 2);
                copier.push(*area, bytes)?;
                let all = fetched(&mut *copier, *area, 0, LEN)?;
                payload::expect_payload(&what("the area"), &all[..bytes], 2, 0)?;
                payload::expect_payload(&what("beyond the area's bytes"), &all[bytes..], 1, bytes)?;
            }
        }
    }

    Ok(())
}

fn refused(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.kinds() {
        let mut copier = subject.copier(kind, 4096, false)?;
        for (offset, bytes) in [(0, 4097), (4096, 1), (4090, 8), (usize::MAX, 2)] {
            let what = |act: &str| format!("{act} {bytes} bytes from {offset} on where there are 4096");
            expect_unsupported(&what("storing"), copier.store(Area::A, offset, &payload::bytes(bytes, 1)))?;
            expect_unsupported(&what("fetching"), copier.fetch(Area::A, offset, &mut vec![POISON; bytes]))?;
        }

        for bytes in [0, 4097] {
            expect_unsupported(
                &format!("pulling {bytes} bytes where there are 4096"),
                copier.pull(Area::A, bytes),
            )?;
            expect_unsupported(
                &format!("pushing {bytes} bytes where there are 4096"),
                copier.push(Area::A, bytes),
            )?;
        }

        expect_unsupported("pulling B, which is not there", copier.pull(Area::B, 4096))?;
        expect_unsupported("pushing to B, which is not there", copier.push(Area::B, 4096))?;
        expect_unsupported("storing in B, which is not there", copier.store(Area::B, 0, &[1]))?;
        expect_unsupported("fetching from B, which is not there", copier.fetch(Area::B, 0, &mut [POISON]))?;
    }
    Ok(())
}
