//! What a device reaches by itself: host memory by a kernel's copies and loads, its own memory, and other
//! devices'.

use super::payload::{self, POISON};
use super::{Check, Halt, Subject, expect, expect_unsupported, names};
use crate::answerer::QUESTION_BYTES;
use crate::{
    Area, BytePattern, Chaser, CopyBy, Device, DeviceError, Direction, Marks, MemoryKind, PeerCopier,
    PeerEnd, PeerPath,
};

pub(super) const CHECKS: &[Check] = &[
    (names::KERNEL_COPIES, |subject| copied(subject, CopyBy::Kernel)),
    (names::TMA_COPIES, |subject| copied(subject, CopyBy::Tma)),
    (names::SAYS_LOADS, says_loads),
    (names::CHAIN, chased),
    (names::CHAIN_HANDED_ON, handed_on),
    (names::HELD_LOADS, held_loads),
    (names::CHAIN_BETWEEN, chased_between),
    (names::ANSWERS, answered),
    (names::BETWEEN, between),
    (names::HELD_BETWEEN, held_between),
    (names::TOO_LONG_BETWEEN, too_long),
    (names::WITHIN, within),
];

/// Less than a kernel's step, its edges, and more than all its threads take at once.
const SIZES: [usize; 6] = [1, 15, 16, 4096 + 3, (1 << 20) + 7, (24 << 20) + 16];
/// Less than the largest of [`SIZES`] that copies between devices have.
const HELD_BYTES: usize = 1 << 20;
const LINE: usize = 64;
const LINES: usize = 4096;
const ROUNDS: u32 = 3;

/// Skips the check where the device does not do this.
fn needed<T>(result: Result<T, DeviceError>) -> Result<T, Halt> {
    match result {
        Err(DeviceError::Unsupported { reason, .. }) => Err(Halt::Skipped(reason)),
        other => Ok(other?),
    }
}

/// Copies of [`SIZES`] from pinned memory and back by a kernel.
fn copied(subject: &Subject, by: CopyBy) -> Result<(), Halt> {
    for kind in subject.pinned_kinds()? {
        for bytes in SIZES {
            let what = |place: &str| format!("{bytes} bytes, {kind}: {place}");
            let mut copier = subject.copier(kind, bytes + 64, false)?;
            needed(copier.copy_by(by))?;
            copier.store(Area::A, 0, &vec![POISON; bytes + 64])?;
            payload::fill(copier.source(), 7);
            copier.round(Direction::H2d, bytes)?;
            let mut got = vec![0; bytes + 64];
            copier.fetch(Area::A, 0, &mut got)?;
            payload::expect_payload(&what("written"), &got[..bytes], 7, 0)?;
            payload::expect_poison(&what("after what was written"), &got[bytes..])?;
            copier.destination().fill(POISON);
            if subject.needs_latch().is_ok() {
                copier.hold()?;
                copier.enqueue(Direction::D2h, bytes, 2)?;
                copier.release()?;
                copier.finish(&mut Marks::default())?;
            } else {
                copier.round(Direction::D2h, bytes)?;
            }
            payload::expect_payload(&what("read"), &copier.destination()[..bytes], 7, 0)?;
            payload::expect_poison(&what("after what was read"), &copier.destination()[bytes..])?;
        }
    }

    if subject.kinds().contains(&MemoryKind::Pageable) {
        let mut copier = subject.copier(MemoryKind::Pageable, 4096, false)?;
        expect_unsupported("a kernel's copies of pageable memory", copier.copy_by(by))?;
    }
    Ok(())
}

/// A chain over all lines in an order that no stride predicts, and the offset that so many steps from its
/// beginning lead to.
fn chain(memory: &mut [u8], steps: usize) -> u64 {
    // An odd multiplier and an odd increment walk all of a power of two (Knuth 3.2.1.2, theorem A).
    let next = |line: usize| (line * 5 + 1237) % LINES;
    for line in 0..LINES {
        memory[line * LINE..][..8].copy_from_slice(&((next(line) * LINE) as u64).to_le_bytes());
    }
    ((0..steps).fold(0, |line, _| next(line)) * LINE) as u64
}

fn says_loads(subject: &Subject) -> Result<(), Halt> {
    let kind = subject
        .pinned_kinds()?
        .first()
        .copied()
        .ok_or_else(|| Halt::Skipped("no pinned memory".to_owned()))?;
    let made = subject.device.chaser(subject.host(kind, 4096)?).map(drop);
    match &subject.device.capabilities().loads {
        Ok(()) => Ok(made?),
        Err(reason) => {
            expect_unsupported("a chain where there is said to be none", made)?;
            Err(Halt::Skipped(reason.clone()))
        }
    }
}

fn chased(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.pinned_kinds()? {
        let mut chaser = needed(subject.device.chaser(subject.host(kind, LINES * LINE)?))?;
        let steps = [1, 1000, 2 * LINES as u64 + 5];
        let mut taken = 0;
        for steps in steps {
            taken += steps;
            let leads_to = chain(chaser.memory(), taken as usize);
            chaser.round(steps)?;
            let at = chaser.at()?;
            expect(at == leads_to, || format!("{kind}: {taken} steps led to {at}, not to {leads_to}"))?;
        }
    }

    if subject.kinds().contains(&MemoryKind::Pageable) {
        let made = subject.device.chaser(subject.host(MemoryKind::Pageable, 4096)?).map(drop);
        expect_unsupported("a chain in pageable memory", made)?;
    }
    Ok(())
}

fn answered(subject: &Subject) -> Result<(), Halt> {
    for kind in subject.pinned_kinds()? {
        let mut answerer = needed(subject.device.answerer(subject.host(kind, 4096)?))?;
        for (offset, trips) in [(0, 1), (4096 - QUESTION_BYTES, 1000), (0, 3)] {
            answerer.start(offset)?;
            expect(answerer.memory().is_empty(), || {
                format!("{kind}: memory is lent while the device answers")
            })?;
            answerer.trips(trips)?;
            answerer.trips(2)?;
            let last = answerer.stop()?;
            let asked = u64::from(trips) + 2;
            expect(last == asked, || {
                format!("{kind}: {asked} questions were asked, and {last} was answered last")
            })?;
        }
        expect_unsupported("a question beyond the range", answerer.start(4096 - QUESTION_BYTES + 8))?;
        expect_unsupported("a question to a device that does not answer", answerer.trips(1))?;
        expect(answerer.into_host().is_some(), || format!("{kind}: the memory did not come back"))?;
    }

    if subject.kinds().contains(&MemoryKind::Pageable) {
        let made = subject.device.answerer(subject.host(MemoryKind::Pageable, 4096)?).map(drop);
        expect_unsupported("answers over pageable memory", made)?;
    }
    Ok(())
}

fn handed_on(subject: &Subject) -> Result<(), Halt> {
    let own = subject.device.facts().id;
    let ids = subject.platform.devices().iter().map(|facts| facts.id).filter(|id| *id != own);
    let others = ids.map(|id| subject.platform.open(id)).collect::<Result<Vec<_>, _>>()?;
    for kind in subject.pinned_kinds()? {
        let mut memory = subject.host(kind, LINES * LINE)?;
        let leads_to: Vec<u64> = [100, 300].map(|steps| chain(memory.bytes_mut(), steps)).into();
        for device in others.iter().map(|other| &**other).chain([subject.device]) {
            let mut chaser = needed(device.chaser(memory))?;
            let what = |what: &str| format!("{kind}, by {}: {what}", device.facts().id);
            chaser.start_at(leads_to[0])?;
            let told = chaser.at()?;
            expect(told == leads_to[0], || what(&format!("it is at {told}, and was told {}", leads_to[0])))?;
            chaser.round(200)?;
            let at = chaser.at()?;
            expect(at == leads_to[1], || what(&format!("it went to {at}, not to {}", leads_to[1])))?;
            memory = chaser.into_host().ok_or_else(|| Halt::Failed(what("the memory did not come back")))?;
            expect(memory.kind() == kind, || what(&format!("the memory came back {}", memory.kind())))?;
        }
    }

    Ok(())
}

/// Queues 2 rounds of 300 steps behind the latch: none begins before the release, and they lead to
/// `leads_to`.
fn held_chase(chaser: &mut dyn Chaser, leads_to: u64, what: &str) -> Result<(), Halt> {
    chaser.hold()?;
    (0..2).try_for_each(|_| chaser.enqueue(100, ROUNDS))?;
    std::thread::sleep(super::batches::HELD);
    let early = chaser.rounds_ended()?;
    expect(early == 0, || format!("{what}: {early} rounds had ended before the release"))?;
    chaser.release()?;
    let mut ends_ns = Vec::new();
    chaser.finish(&mut ends_ns)?;
    expect(ends_ns.len() == 2 && ends_ns[0] <= ends_ns[1], || format!("{what}: the marks are {ends_ns:?}"))?;
    let at = chaser.at()?;
    expect(at == leads_to, || format!("{what}: the loads led to {at}, not to {leads_to}"))
}

/// The steps of [`held_chase`].
const HELD_STEPS: usize = 2 * ROUNDS as usize * 100;

fn held_loads(subject: &Subject) -> Result<(), Halt> {
    subject.needs_latch()?;
    for kind in subject.pinned_kinds()? {
        let mut chaser = needed(subject.device.chaser(subject.host(kind, LINES * LINE)?))?;
        let leads_to = chain(chaser.memory(), HELD_STEPS);
        held_chase(&mut *chaser, leads_to, &kind.to_string())?;
    }
    Ok(())
}

fn chased_between(subject: &Subject) -> Result<(), Halt> {
    let own = subject.device.facts().id;
    let others: Vec<_> =
        subject.platform.devices().iter().map(|facts| facts.id).filter(|id| *id != own).collect();
    if others.is_empty() {
        return Err(Halt::Skipped("there is one device only".to_owned()));
    }
    let mut memory = vec![0; LINES * LINE];

    for id in others {
        let other = subject.platform.open(id)?;
        let mut taken = 0;
        let first = chain(&mut memory, 1000);
        let mut chaser = needed(subject.device.peer_chaser(&*other, &memory))?;
        expect(chaser.memory().is_empty(), || format!("the memory of {id} is lent as the host's"))?;
        for steps in [1000, LINES as u64 + 7] {
            taken += steps;
            let leads_to = chain(&mut memory, taken as usize);
            chaser.round(steps)?;
            let at = chaser.at()?;
            expect(at == leads_to, || format!("{id}: {taken} steps led to {at}, not to {leads_to}"))?;
        }
        chaser.start_at(first)?;
        let leads_to = chain(&mut memory, 1000 + HELD_STEPS);
        if subject.needs_latch().is_ok() {
            held_chase(&mut *chaser, leads_to, &id.to_string())?;
        }
        expect(chaser.into_host().is_none(), || format!("the memory of {id} is given as the host's"))?;
    }
    Ok(())
}

/// Does something with a copier from the device under check to each other one, by either of them.
fn with_others(
    subject: &Subject,
    len: usize,
    act: impl Fn(&mut dyn PeerCopier, &str) -> Result<(), Halt>,
) -> Result<(), Halt> {
    let own = subject.device.facts().id;
    let others: Vec<_> =
        subject.platform.devices().iter().map(|facts| facts.id).filter(|id| *id != own).collect();
    if others.is_empty() {
        return Err(Halt::Skipped("there is one device only".to_owned()));
    }
    others.into_iter().try_for_each(|id| with(subject, &*subject.platform.open(id)?, len, &act))
}

/// The same with a copier to this one.
fn with(
    subject: &Subject,
    other: &dyn Device,
    len: usize,
    act: &impl Fn(&mut dyn PeerCopier, &str) -> Result<(), Halt>,
) -> Result<(), Halt> {
    let id = other.facts().id;
    for by in [PeerEnd::Source, PeerEnd::Destination] {
        let mut copier = needed(subject.device.peer_copier(other, by, len))?;
        act(&mut *copier, &format!("to {id} by the {by:?}"))?;
        // Staged copies, and devices without such kernels.
        for (kernel, name) in [(CopyBy::Kernel, "a kernel"), (CopyBy::Tma, "TMA")] {
            match copier.copy_by(kernel) {
                Err(DeviceError::Unsupported { .. }) => {}
                Err(other) => return Err(other.into()),
                Ok(()) => act(&mut *copier, &format!("to {id} by {name} of the {by:?}"))?,
            }
        }
    }
    Ok(())
}

fn between(subject: &Subject) -> Result<(), Halt> {
    with_others(subject, SIZES[4] + 64, arrives)
}

/// Copies of [`SIZES`] to the last byte and not beyond it; the copier has room for 64 bytes more than the
/// largest.
fn arrives(copier: &mut dyn PeerCopier, what: &str) -> Result<(), Halt> {
    for (seed, bytes) in (1..).zip(&SIZES[..5]) {
        let (sent, before) = (BytePattern::new(seed), BytePattern::new(seed).inverted());
        copier.fill(PeerEnd::Destination, before, bytes + 64)?;
        copier.fill(PeerEnd::Source, sent, bytes + 64)?;
        let early = copier.compare(sent, *bytes)?;
        expect(early.is_some_and(|found| found.offset == 0), || {
            format!("{what}: the bytes are there before they were copied: {early:?}")
        })?;
        copier.round(*bytes)?;
        let wrong = copier.compare(sent, *bytes)?;
        expect(wrong.is_none(), || format!("{what}: {bytes} bytes differ at {wrong:?}"))?;
        let beyond = copier.compare(sent, bytes + 64)?;
        expect(beyond.is_some(), || format!("{what}: more than {bytes} bytes were copied"))?;
    }
    Ok(())
}

fn held_between(subject: &Subject) -> Result<(), Halt> {
    subject.needs_latch()?;
    with_others(subject, HELD_BYTES, waits)
}

/// Held copies of [`HELD_BYTES`].
fn waits(copier: &mut dyn PeerCopier, what: &str) -> Result<(), Halt> {
    let (sent, before) = (BytePattern::new(11), BytePattern::new(11).inverted());
    copier.fill(PeerEnd::Destination, before, HELD_BYTES)?;
    copier.fill(PeerEnd::Source, sent, HELD_BYTES)?;
    copier.hold()?;
    (0..3).try_for_each(|_| copier.enqueue(HELD_BYTES, 2))?;
    std::thread::sleep(super::batches::HELD);
    let early = copier.rounds_ended()?;
    expect(early == 0, || format!("{what}: {early} rounds had ended before the release"))?;
    copier.release()?;
    let mut ends_ns = Vec::new();
    copier.finish(&mut ends_ns)?;
    let rising = ends_ns.len() == 3 && ends_ns.is_sorted() && ends_ns[0] >= 0.0;
    expect(rising, || format!("{what}: the marks are {ends_ns:?}"))?;
    let wrong = copier.compare(sent, HELD_BYTES)?;
    expect(wrong.is_none(), || format!("{what}: the bytes differ at {wrong:?}"))
}

fn within(subject: &Subject) -> Result<(), Halt> {
    with(subject, subject.device, SIZES[4] + 64, &|copier: &mut dyn PeerCopier, what: &str| {
        let path = copier.path();
        expect(path == PeerPath::Direct, || format!("{what}: the device's own memory is {}", path.name()))?;
        arrives(copier, what)?;
        if subject.needs_latch().is_ok() { waits(copier, what) } else { Ok(()) }
    })
}

fn too_long(subject: &Subject) -> Result<(), Halt> {
    with_others(subject, 4096, |copier, what| {
        expect_unsupported(what, copier.round(4097))?;
        expect_unsupported(what, copier.round(0))?;
        expect_unsupported(what, copier.fill(PeerEnd::Source, BytePattern::new(1), 4097))
    })
}
