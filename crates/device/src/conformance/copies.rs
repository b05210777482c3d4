//! Blocking copies: every byte arrives, no other byte changes, and two ranks can share a device.

use std::thread;

use super::payload::{self, POISON};
use super::{Check, Halt, Subject, expect_unsupported, names};
use crate::{Area, Direction, MemoryKind};

pub(super) const CHECKS: &[Check] = &[
    (names::EXACT_BYTES, exact),
    (names::BYTES_BEYOND, beyond),
    (names::ROUND_TRIP, round_trip),
    (names::BIDIRECTIONAL, both_at_once),
    (names::COPY_REFUSED, refused),
    (names::SHARED_DEVICE, shared),
];

/// Odd ones, the edges of a page, and the 64 KiB at which drivers change how they copy.
const SIZES: [usize; 7] = [1, 3, 4, 4095, 4096, 65536, (1 << 20) + 7];

fn exact(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.kinds() {
        for bytes in SIZES {
            let mut copier = subject.copier(kind, bytes, false)?;
            payload::fill(copier.source(), 1);
            copier.destination().fill(POISON);
            copier.round(Direction::H2d, bytes)?;
            copier.source().fill(0);
            copier.round(Direction::D2h, bytes)?;
            payload::expect_payload(&format!("{bytes} bytes, {kind}"), copier.destination(), 1, 0)?;
        }
    }
    Ok(())
}

fn beyond(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.kinds() {
        for bytes in SIZES {
            let what = |place: &str| format!("{bytes} bytes, {kind}: {place}");
            let all = bytes + 4096;
            let mut copier = subject.copier(kind, all, false)?;

            // The device holds payload 1 everywhere, then payload 2 in the first bytes.
            payload::fill(copier.source(), 1);
            copier.round(Direction::H2d, all)?;
            payload::fill(copier.source(), 2);
            copier.round(Direction::H2d, bytes)?;
            copier.destination().fill(POISON);
            copier.round(Direction::D2h, bytes)?;

            payload::expect_payload(&what("the source"), copier.source(), 2, 0)?;
            payload::expect_payload(&what("the destination"), &copier.destination()[..bytes], 2, 0)?;
            payload::expect_poison(&what("beyond the destination's bytes"), &copier.destination()[bytes..])?;
            copier.round(Direction::D2h, all)?;
            payload::expect_payload(
                &what("beyond the device's bytes"),
                &copier.destination()[bytes..],
                1,
                bytes,
            )?;
        }
    }
    Ok(())
}

fn round_trip(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.kinds() {
        for bytes in SIZES {
            let mut copier = subject.copier(kind, bytes, false)?;
            payload::fill(copier.source(), 1);
            copier.round(Direction::H2d, bytes)?;
            payload::fill(copier.source(), 2);
            copier.destination().fill(POISON);
            copier.round(Direction::RoundTrip, bytes)?;
            payload::expect_payload(&format!("{bytes} bytes, {kind}"), copier.destination(), 2, 0)?;
        }
    }
    Ok(())
}

fn both_at_once(subject: &Subject) -> Result<(), Halt> {
    subject.needs_bidirectional()?;
    for kind in subject.pinned_kinds()? {
        for bytes in SIZES {
            let what = |place: &str| format!("{bytes} bytes, {kind}: {place}");
            let mut copier = subject.copier(kind, bytes, true)?;
            copier.store(Area::B, 0, &payload::bytes(bytes, 1))?;
            payload::fill(copier.source(), 2);
            for turn in 1..=2 {
                copier.destination().fill(POISON);
                copier.round(Direction::Bidirectional, bytes)?;
                payload::expect_payload(&what(&format!("B, time {turn}")), copier.destination(), 1, 0)?;
            }
            copier.round(Direction::D2h, bytes)?;
            payload::expect_payload(&what("A"), copier.destination(), 2, 0)?;
        }
    }

    Ok(())
}

fn refused(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.kinds() {
        let mut copier = subject.copier(kind, 4096, false)?;
        for direction in [Direction::H2d, Direction::D2h, Direction::RoundTrip] {
            expect_unsupported("a round of 4097 bytes with room for 4096", copier.round(direction, 4097))?;
            expect_unsupported("a round of 0 bytes", copier.round(direction, 0))?;
        }
        expect_unsupported("a bidirectional round without B", copier.round(Direction::Bidirectional, 4096))?;
    }
    Ok(())
}

fn shared(subject: &Subject) -> Result<(), Halt> {
    let kind = subject.kinds().first().copied().unwrap_or(MemoryKind::Pageable);
    let (platform, id) = (subject.platform, subject.device.facts().id);
    // Each thread opens the device for itself, as ranks do. Nobody waits for the other, so a failure cannot
    // hang.
    let rank = |seed: u64| -> Result<(), Halt> {
        let device = platform.open(id)?;
        let own = Subject { platform, device: &*device };
        let mut copier = own.copier(kind, 1 << 20, false)?;
        for turn in 0..32 {
            // Half of the rounds as a rank alone would run them, half as ranks do that know of each other.
            if turn == 16 {
                copier.take_turns();
            }
            payload::fill(copier.source(), seed + turn);
            copier.round(Direction::H2d, 1 << 20)?;
            copier.round(Direction::D2h, 1 << 20)?;
            payload::expect_payload(
                &format!("rank {seed}, two ways {turn}"),
                copier.destination(),
                seed + turn,
                0,
            )?;
            payload::fill(copier.source(), seed - turn);
            copier.round(Direction::RoundTrip, 1 << 20)?;
            payload::expect_payload(
                &format!("rank {seed}, round {turn}"),
                copier.destination(),
                seed - turn,
                0,
            )?;
        }
        Ok(())
    };

    thread::scope(|scope| {
        let ranks: Vec<_> = [1000, 2000].into_iter().map(|seed| scope.spawn(move || rank(seed))).collect();
        ranks.into_iter().try_for_each(|rank| {
            rank.join().unwrap_or_else(|_| Err(Halt::Failed("a rank's thread panicked".to_owned())))
        })
    })
}
