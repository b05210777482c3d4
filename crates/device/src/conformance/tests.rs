//! The checks, checked: a sound device passes all of them, and each fault is found by the check that is there for it.

#[path = "tests/mock.rs"]
mod mock;

use super::{CheckOutcome, CheckResult, check, check_chosen};
use mock::{Fault, Mock};

const PARTS: &str = "bytes stored in a part of an area are fetched the same, and no other byte changes";
const AGAINST_THE_STREAM: &str =
    "an area is pulled to the source, and the destination is pushed to an area, and no other byte changes";
const RANGES: &str = "a buffer's copies go between equal offsets, and no further";
const REFUSED: &str = "a buffer beside pageable memory, or a range beyond it, is refused";
const FILLS: &str = "a device fills an area with the host's bytes, and no other byte changes";
const COMPARES: &str = "a device that compares finds the first wrong word, and only that";

fn outcome_of<'a>(findings: &'a [CheckResult], check: &str) -> Option<&'a CheckOutcome> {
    findings.iter().find(|finding| finding.check == check).map(|finding| &finding.outcome)
}

#[test]
fn a_sound_device_passes_every_check() {
    let findings = check(&Mock::with(None));
    let not_passed: Vec<_> = findings.iter().filter(|finding| finding.outcome != CheckOutcome::Passed).collect();
    // All on each of the two devices; a sham runs no kernel, and the backends' own tests have those that need one.
    let reached = super::reach::CHECKS.iter().map(|(check, _)| *check);
    let absent = ["without a latch nothing is queued", "a device that has no patterns refuses them"];
    let absent: Vec<&str> = absent.into_iter().chain(reached).collect();
    assert_eq!(not_passed.len(), 2 * absent.len(), "{not_passed:#?}");
    assert!(not_passed.iter().all(|finding| absent.contains(&finding.check)), "{not_passed:#?}");
    assert!(findings.len() > 2 * 30, "only {} checks", findings.len());
}

#[test]
fn a_device_without_a_latch_skips_what_needs_one_and_says_why() {
    let findings = check(&Mock::with(Some(Fault::HasNoLatch)));
    assert_eq!(outcome_of(&findings, "without a latch nothing is queued"), Some(&CheckOutcome::Passed));
    let held = outcome_of(&findings, "held copies do not start before the release");
    assert_eq!(held, Some(&CheckOutcome::Skipped("no latch: a mock without one".to_owned())));
    assert!(!findings.iter().any(|finding| matches!(finding.outcome, CheckOutcome::Failed(_))), "{findings:#?}");
}

#[test]
fn a_device_without_patterns_skips_what_needs_them_and_says_why() {
    let findings = check(&Mock::with(Some(Fault::HasNoPatterns)));
    assert_eq!(outcome_of(&findings, "a device that has no patterns refuses them"), Some(&CheckOutcome::Passed));
    let found = outcome_of(&findings, "a device that compares finds the first wrong word, and only that");
    assert_eq!(found, Some(&CheckOutcome::Skipped("no patterns: a mock without them".to_owned())));
    assert!(!findings.iter().any(|finding| matches!(finding.outcome, CheckOutcome::Failed(_))), "{findings:#?}");
}

#[test]
fn each_fault_is_found_by_the_check_that_is_there_for_it() {
    for (fault, check_name) in [
        (Fault::DevicesOutOfOrder, "devices are in PCI or node order"),
        (Fault::DeviceListedTwice, "no two devices are the same"),
        (Fault::OpensAnything, "an unknown device does not open"),
        (Fault::CopiesPageable, "pageable memory is returned as it is"),
        (Fault::ShortManaged, super::memory::MOVES),
        (Fault::NeverUnpins, "pinned memory is unpinned on drop"),
        (Fault::NeverOutOfMemory, "more memory than the device has is refused"),
        (Fault::LosesLastByte, "bytes go to the device and come back the same"),
        (Fault::CopiesOneTooMany, "bytes beyond those asked for stay as they were"),
        (Fault::RoundTripReadsOnly, "a round trip brings the source's bytes to the destination"),
        (Fault::BidirectionalReadsA, "both at once: A takes the source, the destination takes what was stored in B"),
        (Fault::TakesAnySize, "what the copier has no room or no second area for is refused"),
        (Fault::SharesOneArea, "two threads share the device"),
        (Fault::QueuesPageable, "pageable memory is not queued"),
        (Fault::LatchHoldsNothing, "held copies do not start before the release"),
        (Fault::LatchHoldsMarksOnly, "held copies do not start before the release"),
        (Fault::QueueForgetsCopies, "queued copies move the bytes that blocking ones move"),
        (Fault::MarksInMicroseconds, "every round has a mark, in order, by a plausible clock"),
        (Fault::MarksFall, "every round has a mark, in order, by a plausible clock"),
        (Fault::KeepsOldMarks, "a batch forgets the one before, and goes on after the release"),
        (Fault::ReadsWithoutWaiting, "reading the destination waits for what is queued"),
        (Fault::TakesAnySize, "what cannot be queued is refused"),
        (Fault::DropIsSlow, "a copier that is dropped while its latch holds lets go"),
        (Fault::TakesUnequalRanges, "host ranges of different lengths, of no bytes, and none at all are refused"),
        (Fault::StoresAtTheStart, PARTS),
        (Fault::FetchesFromTheStart, PARTS),
        (Fault::StoresInBothAreas, PARTS),
        (Fault::KeepsStoresToItself, "A is what H2D writes and D2H reads, to stores and fetches too"),
        (Fault::PullsToTheDestination, AGAINST_THE_STREAM),
        (Fault::PushesTheSource, AGAINST_THE_STREAM),
        (Fault::ReachesBeyond, "stores and fetches beyond an area, or of one that is not there, are refused"),
        (Fault::HidesPatterns, "a device that has no patterns refuses them"),
        (Fault::FillsWithoutTheTail, FILLS),
        (Fault::FillsWithoutPageKeys, FILLS),
        (Fault::FillsWithoutInversion, FILLS),
        (Fault::FillsTooMuch, FILLS),
        (Fault::ComparesWithoutTheTail, COMPARES),
        (Fault::ComparesBytes, COMPARES),
        (Fault::ComparesPages, COMPARES),
        (Fault::ComparesTooMuch, COMPARES),
        (Fault::ComparesAnOldCopy, COMPARES),
        (Fault::LosesLastByte, "a device compares what was copied to it, and fills what is copied from it"),
        (Fault::PatternsOfAnySize, "patterns of lengths and areas that are not there are refused"),
        (Fault::MakesUpARange, "a copier of one host range moves that direction and refuses the others"),
        (Fault::GivesOtherMemory, "host ranges come back as they are, for the next copier"),
        (Fault::GivesUnpinned, "host ranges come back as they are, for the next copier"),
        (Fault::OwnPinnedMemoryOnly, "host ranges of one device serve another"),
        (Fault::BufferStoresAtTheStart, RANGES),
        (Fault::BufferFetchesFromTheStart, RANGES),
        (Fault::BufferFetchesOneTooMany, RANGES),
        (Fault::BufferIsElsewhere, RANGES),
        (Fault::BufferShowsWithoutWaiting, RANGES),
        (Fault::BufferEndsEarly, "a buffer's first copies have ended while later ones wait their turn"),
        (Fault::BufferTakesAnyRange, REFUSED),
        (Fault::BufferTakesPageable, REFUSED),
        (Fault::GivesBackAtOnce, "host ranges come back from a copier whose latch holds"),
    ] {
        let findings = check_chosen(&Mock::with(Some(fault)), |check| check == check_name);
        let found = outcome_of(&findings, check_name);
        assert!(matches!(found, Some(CheckOutcome::Failed(_))), "{fault:?}: {check_name}: {found:?}");
    }
}
