//! Patterns, written and compared by the device itself: the same bytes as the host's, and every difference
//! found.

use super::areas::fetched;
use super::{Check, Halt, Subject, expect, expect_unsupported, names, payload};
use crate::{Area, BytePattern, Copier, Direction, MemoryKind};

pub(super) const CHECKS: &[Check] = &[
    (names::NO_PATTERNS, not_there),
    (names::FILLS, filled),
    (names::COMPARES, compared),
    (names::PATTERNS_OF_COPIES, copied),
    (names::PATTERNS_REFUSED, refused),
];

/// Odd ones, the edges of words and pages, and more words than a device has threads.
const SIZES: [usize; 8] = [1, 7, 8, 9, 4096, 4097, 4104 + 3, (4 << 20) + 5];

/// Those that differ in everything a pattern has.
const PATTERNS: [BytePattern; 4] = [
    BytePattern::new(0),
    BytePattern::new(0x5555_0000_ffff_1234),
    BytePattern::new(u64::MAX).with_page_key(1),
    BytePattern::new(1).with_page_key(1 << 63).inverted(),
];

/// Every pattern at every size, but one only at the largest, which takes its time.
fn cases() -> impl Iterator<Item = (usize, BytePattern)> {
    let largest = SIZES[SIZES.len() - 1];
    let all = SIZES.into_iter().flat_map(|bytes| PATTERNS.map(|pattern| (bytes, pattern)));
    all.filter(move |(bytes, pattern)| *bytes < largest || *pattern == PATTERNS[3])
}

/// Skips the check where the device has none.
fn needs_patterns(subject: &Subject) -> Result<(), Halt> {
    let can = &subject.device.capabilities().patterns;
    can.clone().map_err(|reason| Halt::Skipped(format!("no patterns: {reason}")))
}

fn not_there(subject: &Subject) -> Result<(), Halt> {
    if needs_patterns(subject).is_ok() {
        return Err(Halt::Skipped("there are patterns".to_owned()));
    }
    for kind in subject.kinds() {
        let mut copier = subject.copier(kind, 4096, false)?;
        expect_unsupported("filling", copier.fill(Area::A, PATTERNS[0], 4096))?;
        expect_unsupported("comparing", copier.compare(Area::A, PATTERNS[0], 4096))?;
    }
    Ok(())
}

/// The pattern's first bytes, by the host.
fn bytes_of(pattern: BytePattern, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    pattern.fill(0, &mut bytes);
    bytes
}

fn filled(subject: &Subject) -> Result<(), Halt> {
    needs_patterns(subject)?;
    let bidirectional = subject.needs_bidirectional().is_ok();
    for kind in subject.kinds() {
        let both = bidirectional && kind != MemoryKind::Pageable;
        for (bytes, pattern) in cases() {
            let mut copier = subject.copier(kind, bytes + 4096, both)?;
            for area in if both { &[Area::A, Area::B][..] } else { &[Area::A] } {
                copier.store(*area, 0, &payload::bytes(bytes + 4096, 1))?;
                copier.fill(*area, pattern, bytes)?;
                let what = |place: &str| format!("{area:?}, {bytes} bytes, {kind}, {pattern:?}: {place}");
                let all = fetched(&mut *copier, *area, 0, bytes + 4096)?;
                payload::expect_same(&what("the bytes"), &all[..bytes], &bytes_of(pattern, bytes))?;
                payload::expect_payload(&what("beyond them"), &all[bytes..], 1, bytes)?;
            }
        }
    }

    Ok(())
}

/// Ends the check as failed unless the comparison finds just this.
fn expect_found(
    copier: &mut dyn Copier,
    area: Area,
    pattern: BytePattern,
    bytes: usize,
    expected: Option<u64>,
    what: &str,
) -> Result<(), Halt> {
    let found = copier.compare(area, pattern, bytes)?;
    expect(found == expected, || {
        format!("{area:?}, {bytes} bytes, {pattern:?}, {what}: found {found:?}, not {expected:?}")
    })
}

fn compared(subject: &Subject) -> Result<(), Halt> {
    needs_patterns(subject)?;
    let kind = subject.kinds().first().copied().unwrap_or(MemoryKind::Pageable);
    let both = subject.needs_bidirectional().is_ok() && kind != MemoryKind::Pageable;
    let area = if both { Area::B } else { Area::A };

    for (bytes, pattern) in cases() {
        let mut copier = subject.copier(kind, bytes + 8, both)?;
        let right = bytes_of(pattern, bytes);
        copier.store(area, 0, &right)?;
        expect_found(&mut *copier, area, pattern, bytes, None, "nothing wrong")?;
        // From the end on, so that each is the first of those planted so far.
        let mut places = vec![bytes - 1, bytes / 2, 4096, 4096 + 11, 8, 5, 0];
        places.retain(|at| *at < bytes);
        places.sort_unstable();
        for at in places.into_iter().rev() {
            copier.store(area, at, &[right[at] ^ 0x80])?;
            let word = Some(at as u64 & !7);
            expect_found(&mut *copier, area, pattern, bytes, word, &format!("byte {at} wrong"))?;
        }
        copier.store(area, 0, &right)?;
        // What lies beyond is nobody's matter.
        copier.store(area, bytes, &[!pattern.word(bytes as u64 / 8).to_le_bytes()[bytes % 8]])?;
        expect_found(&mut *copier, area, pattern, bytes, None, "the byte beyond wrong")?;
        expect_found(
            &mut *copier,
            area,
            pattern.inverted(),
            bytes,
            Some(0),
            "compared with the inverted bytes",
        )?;
        let other_page_words = pattern.with_page_key(pattern.page_key ^ 2);
        expect_found(&mut *copier, area, other_page_words, bytes, Some(0), "compared with other page words")?;
        if bytes > 15 {
            let other_words = BytePattern { key: pattern.key ^ 2, ..pattern };
            expect_found(
                &mut *copier,
                area,
                other_words,
                bytes,
                Some(8),
                "compared with other words but the pages'",
            )?;
        }
    }
    Ok(())
}

fn copied(subject: &Subject) -> Result<(), Halt> {
    needs_patterns(subject)?;
    for (kind, bytes) in subject.kinds().into_iter().flat_map(|kind| SIZES.map(|bytes| (kind, bytes))) {
        let (there, back) = (PATTERNS[2], PATTERNS[3]);
        let mut copier = subject.copier(kind, bytes, false)?;
        there.fill(0, copier.source());
        copier.round(Direction::H2d, bytes)?;
        expect_found(&mut *copier, Area::A, there, bytes, None, "copied from the host")?;
        copier.fill(Area::A, back, bytes)?;
        copier.round(Direction::D2h, bytes)?;
        let wrong = back.compare(0, copier.destination());
        expect(wrong.is_ok(), || {
            format!("{bytes} bytes, {kind}, filled by the device and copied to the host: {wrong:?}")
        })?;
    }
    Ok(())
}

fn refused(subject: &Subject) -> Result<(), Halt> {
    needs_patterns(subject)?;
    for kind in subject.kinds() {
        let mut copier = subject.copier(kind, 4096, false)?;
        for bytes in [0, 4097] {
            expect_unsupported("filling what is not there", copier.fill(Area::A, PATTERNS[0], bytes))?;
            expect_unsupported("comparing what is not there", copier.compare(Area::A, PATTERNS[0], bytes))?;
        }
        expect_unsupported("filling B, which is not there", copier.fill(Area::B, PATTERNS[0], 4096))?;
        expect_unsupported("comparing B, which is not there", copier.compare(Area::B, PATTERNS[0], 4096))?;
    }
    Ok(())
}
