//! Queued copies: nothing starts before the latch opens, everything ends, and the marks say when.

use std::thread;
use std::time::{Duration, Instant};

use super::payload::{self, POISON};
use super::range::Range;
use super::{Check, Halt, Subject, expect, expect_unsupported, names};
use crate::{Area, Copier, Direction, HostPair, Marks, MemoryKind};

pub(super) const CHECKS: &[Check] = &[
    (names::NO_LATCH, no_latch),
    (names::PAGEABLE_NOT_QUEUED, pageable),
    (names::HELD_COPIES, held),
    (names::QUEUED_BYTES, same_bytes),
    (names::MARKS, marks),
    (names::NEXT_BATCH, batches),
    (names::READING_WAITS, reading_waits),
    (names::QUEUE_REFUSED, refused),
    (names::DROPPED_WHILE_HELD, dropped),
];

const MIB: usize = 1 << 20;

/// Long enough for any copy here to end if nothing held it.
pub(super) const HELD: Duration = Duration::from_millis(50);

fn no_latch(subject: &Subject) -> Result<(), Halt> {
    if subject.needs_latch().is_ok() {
        return Err(Halt::Skipped("there is a latch".to_owned()));
    }
    for kind in subject.kinds() {
        let mut copier = subject.copier(kind, 4096, false)?;
        expect_unsupported("holding without a latch", copier.hold())?;
        expect_unsupported("queueing without a latch", copier.enqueue(Direction::H2d, 4096, 1))?;
    }
    Ok(())
}

fn pageable(subject: &Subject) -> Result<(), Halt> {
    subject.needs_latch()?;
    if !subject.kinds().contains(&MemoryKind::Pageable) {
        return Err(Halt::Skipped("no pageable memory".to_owned()));
    }
    let mut copier = subject.copier(MemoryKind::Pageable, 4096, false)?;
    let queued = copier.hold().and_then(|()| copier.enqueue(Direction::H2d, 4096, 1));
    expect_unsupported("queueing pageable memory", queued)
}

fn held(subject: &Subject) -> Result<(), Halt> {
    subject.needs_latch()?;
    let bidirectional = subject.needs_bidirectional().is_ok();
    for kind in subject.pinned_kinds()? {
        for direction in [Direction::H2d, Direction::D2h, Direction::RoundTrip, Direction::Bidirectional] {
            if direction == Direction::Bidirectional && !bidirectional {
                continue;
            }
            let watched = Range::new(MIB)?;
            let destination = if kind == MemoryKind::Pinned {
                subject.device.adopt(kind, watched.lend()?)?
            } else {
                subject.host(kind, MIB)?
            };
            let pair = HostPair { source: Some(subject.host(kind, MIB)?), destination: Some(destination) };
            let mut copier = subject.device.copier(pair, bidirectional)?;
            payload::fill(copier.source(), 1);
            if bidirectional {
                copier.store(Area::B, 0, &payload::bytes(MIB, 1))?;
            }
            copier.round(Direction::H2d, MIB)?;
            copier.destination().fill(POISON);
            copier.hold()?;
            for _ in 0..3 {
                copier.enqueue(direction, MIB, 2)?;
            }
            thread::sleep(HELD);
            let early = copier.rounds_ended()?;
            expect(early == 0, || {
                format!("{direction}, {kind}: {early} rounds had ended before the release")
            })?;
            if kind == MemoryKind::Pinned {
                expect(!watched.differs_from(POISON), || {
                    format!("{direction}: the destination was written before it")
                })?;
            }
            copier.release()?;
            let mut marks = Marks::default();
            copier.finish(&mut marks)?;
            let late = copier.rounds_ended()?;
            expect(late == 3, || {
                format!("{direction}, {kind}: {late} of 3 rounds have ended after the finish")
            })?;
            if direction != Direction::H2d {
                payload::expect_payload(&format!("{direction}, {kind}"), copier.destination(), 1, 0)?;
            }
        }
    }

    Ok(())
}

/// One batch of `rounds` rounds; its marks.
fn batch(copier: &mut dyn Copier, direction: Direction, bytes: usize, rounds: usize) -> Result<Marks, Halt> {
    copier.hold()?;
    for _ in 0..rounds {
        copier.enqueue(direction, bytes, 1)?;
    }
    copier.release()?;
    let mut marks = Marks::default();
    copier.finish(&mut marks)?;
    Ok(marks)
}

fn same_bytes(subject: &Subject) -> Result<(), Halt> {
    subject.needs_latch()?;
    let bidirectional = subject.needs_bidirectional().is_ok();
    for kind in subject.pinned_kinds()? {
        for bytes in [1, 4096, 65536, MIB + 7] {
            let what = |place: &str| format!("{bytes} bytes, {kind}: {place}");
            let all = bytes + 4096;
            let mut copier = subject.copier(kind, all, bidirectional)?;
            payload::fill(copier.source(), 1);
            copier.round(Direction::H2d, all)?;
            payload::fill(copier.source(), 2);
            batch(&mut *copier, Direction::H2d, bytes, 1)?;
            copier.destination().fill(POISON);
            batch(&mut *copier, Direction::D2h, bytes, 1)?;
            payload::expect_payload(&what("H2D, then D2H"), &copier.destination()[..bytes], 2, 0)?;
            payload::expect_poison(&what("beyond the destination's bytes"), &copier.destination()[bytes..])?;
            copier.round(Direction::D2h, all)?;
            payload::expect_payload(
                &what("beyond the device's bytes"),
                &copier.destination()[bytes..],
                1,
                bytes,
            )?;
            payload::fill(copier.source(), 3);
            copier.destination().fill(POISON);
            batch(&mut *copier, Direction::RoundTrip, bytes, 1)?;
            payload::expect_payload(&what("round trip"), &copier.destination()[..bytes], 3, 0)?;
            if bidirectional {
                copier.store(Area::B, 0, &payload::bytes(bytes, 3))?;
                payload::fill(copier.source(), 4);
                copier.destination().fill(POISON);
                batch(&mut *copier, Direction::Bidirectional, bytes, 1)?;
                payload::expect_payload(&what("both at once, B"), &copier.destination()[..bytes], 3, 0)?;
                copier.round(Direction::D2h, bytes)?;
                payload::expect_payload(&what("both at once, A"), &copier.destination()[..bytes], 4, 0)?;
            }
        }
    }

    Ok(())
}

fn marks(subject: &Subject) -> Result<(), Halt> {
    subject.needs_latch()?;
    let kind = first_pinned(subject)?;
    let bidirectional = subject.needs_bidirectional().is_ok();
    let mut copier = subject.copier(kind, 8 * MIB, bidirectional)?;

    for direction in [Direction::H2d, Direction::D2h, Direction::RoundTrip, Direction::Bidirectional] {
        if direction == Direction::Bidirectional && !bidirectional {
            continue;
        }
        // The host may lose its CPU for a moment between the two clocks' readings: one of three must be
        // plausible.
        let mut seen = Vec::new();
        for _ in 0..3 {
            let (marks, host_ns) = timed(&mut *copier, direction)?;
            let second = if direction == Direction::Bidirectional { 32 } else { 0 };
            let counts = (marks.first_ns.len(), marks.second_ns.len());
            expect(counts == (32, second), || {
                format!("{direction}: {counts:?} marks, expected (32, {second})")
            })?;
            for ends in [&marks.first_ns, &marks.second_ns] {
                let rising = ends.first().is_none_or(|first| *first > 0.0) && ends.is_sorted();
                expect(rising, || format!("{direction}: the marks do not rise from 0: {ends:?}"))?;
            }
            let last = marks.first_ns.iter().chain(&marks.second_ns).copied().fold(0.0, f64::max);
            seen.push((last, host_ns));
        }
        let plausible =
            seen.iter().any(|(last, host)| *last <= host * 1.01 + 10_000.0 && *last >= host * 0.5);
        expect(plausible, || format!("{direction}: last marks and the host's clock, in ns: {seen:?}"))?;
    }
    Ok(())
}

/// 32 rounds; their marks, and the host's time from the release to the finish in ns.
fn timed(copier: &mut dyn Copier, direction: Direction) -> Result<(Marks, f64), Halt> {
    let mut marks = Marks::default();
    copier.hold()?;
    for _ in 0..32 {
        copier.enqueue(direction, 8 * MIB, 2)?;
    }
    let start = Instant::now();
    copier.release()?;
    copier.finish(&mut marks)?;
    Ok((marks, start.elapsed().as_nanos() as f64))
}

fn batches(subject: &Subject) -> Result<(), Halt> {
    subject.needs_latch()?;
    let mut copier = subject.copier(first_pinned(subject)?, MIB, false)?;
    let mut marks = Marks::default();
    for rounds in [2, 3, 1] {
        copier.hold()?;
        let before = copier.rounds_ended()?;
        expect(before == 0, || format!("a new batch starts with {before} rounds ended"))?;
        copier.enqueue(Direction::H2d, MIB, 1)?;
        copier.release()?;
        for _ in 1..rounds {
            copier.enqueue(Direction::H2d, MIB, 1)?;
        }
        copier.finish(&mut marks)?;
        let counts = (marks.first_ns.len(), marks.second_ns.len());
        expect(counts == (rounds, 0), || format!("{counts:?} marks after a batch of {rounds} rounds"))?;
    }

    // A finish without a release opens the latch by itself.
    copier.hold()?;
    copier.enqueue(Direction::H2d, MIB, 1)?;
    copier.finish(&mut marks)?;

    expect(marks.first_ns.len() == 1, || {
        format!("{} marks after an unreleased batch of 1", marks.first_ns.len())
    })
}

fn reading_waits(subject: &Subject) -> Result<(), Halt> {
    subject.needs_latch()?;
    let mut copier = subject.copier(first_pinned(subject)?, 8 * MIB, false)?;
    for released in [true, false] {
        let seed = 10 + u64::from(released);
        payload::fill(copier.source(), seed);
        copier.destination().fill(POISON);
        copier.hold()?;
        for _ in 0..8 {
            copier.enqueue(Direction::RoundTrip, 8 * MIB, 1)?;
        }
        if released {
            copier.release()?;
        }
        payload::expect_payload("the destination, read at once", copier.destination(), seed, 0)?;
    }

    Ok(())
}

fn refused(subject: &Subject) -> Result<(), Halt> {
    subject.needs_latch()?;
    let mut copier = subject.copier(first_pinned(subject)?, 4096, false)?;
    expect_unsupported("queueing without a hold", copier.enqueue(Direction::H2d, 4096, 1))?;
    let requests = [
        ("queueing 4097 bytes with room for 4096", Direction::H2d, 4097, 1),
        ("queueing 0 bytes", Direction::H2d, 0, 1),
        ("queueing 0 copies", Direction::H2d, 4096, 0),
        ("queueing both directions at once without B", Direction::Bidirectional, 4096, 1),
    ];
    for (what, direction, bytes, copies) in requests {
        copier.hold()?;
        expect_unsupported(what, copier.enqueue(direction, bytes, copies))?;
    }

    // After all these the copier is as good as new.
    let marks = batch(&mut *copier, Direction::RoundTrip, 4096, 2)?;
    expect(marks.first_ns.len() == 2, || format!("{} marks after a batch of 2", marks.first_ns.len()))
}

fn dropped(subject: &Subject) -> Result<(), Halt> {
    subject.needs_latch()?;
    let kind = first_pinned(subject)?;
    let bidirectional = subject.needs_bidirectional().is_ok();
    let mut copier = subject.copier(kind, MIB, bidirectional)?;
    copier.hold()?;
    let direction = if bidirectional { Direction::Bidirectional } else { Direction::RoundTrip };
    copier.enqueue(direction, MIB, 4)?;
    let start = Instant::now();
    drop(copier);
    let took = start.elapsed();
    expect(took < Duration::from_secs(5), || format!("dropping it took {took:?}"))?;
    let mut next = subject.copier(kind, MIB, false)?;
    payload::fill(next.source(), 5);
    batch(&mut *next, Direction::RoundTrip, MIB, 1)?;
    payload::expect_payload("the next copier", next.destination(), 5, 0)
}

fn first_pinned(subject: &Subject) -> Result<MemoryKind, Halt> {
    let kinds = subject.pinned_kinds()?;
    kinds.first().copied().ok_or_else(|| Halt::Skipped("no pinned memory".to_owned()))
}
