//! The checks, checked: a sound device passes all of them, and each fault is found by the check that is there
//! for it.

#[path = "tests/mock.rs"]
mod mock;

use super::{CheckOutcome, CheckResult, check, check_chosen, names};
use mock::{Fault, Mock};

fn outcome_of<'a>(findings: &'a [CheckResult], check: &str) -> Option<&'a CheckOutcome> {
    findings.iter().find(|finding| finding.check == check).map(|finding| &finding.outcome)
}

#[test]
fn a_sound_device_passes_every_check() {
    let findings = check(&Mock::with(None));
    let not_passed: Vec<_> =
        findings.iter().filter(|finding| finding.outcome != CheckOutcome::Passed).collect();
    // All on each of the two devices; a sham runs no kernel, and the backends' own tests have those that need
    // one.
    let reached = super::reach::CHECKS.iter().map(|(check, _)| *check);
    let absent = [names::NO_LATCH, names::NO_PATTERNS];
    let absent: Vec<&str> = absent.into_iter().chain(reached).collect();
    assert_eq!(not_passed.len(), 2 * absent.len(), "{not_passed:#?}");
    assert!(not_passed.iter().all(|finding| absent.contains(&finding.check)), "{not_passed:#?}");
    assert!(findings.len() > 2 * 30, "only {} checks", findings.len());
}

#[test]
fn a_device_without_a_latch_skips_what_needs_one_and_says_why() {
    let findings = check(&Mock::with(Some(Fault::HasNoLatch)));
    assert_eq!(outcome_of(&findings, names::NO_LATCH), Some(&CheckOutcome::Passed));
    let held = outcome_of(&findings, names::HELD_COPIES);
    assert_eq!(held, Some(&CheckOutcome::Skipped("no latch: a mock without one".to_owned())));
    assert!(
        !findings.iter().any(|finding| matches!(finding.outcome, CheckOutcome::Failed(_))),
        "{findings:#?}"
    );
}

#[test]
fn a_device_without_patterns_skips_what_needs_them_and_says_why() {
    let findings = check(&Mock::with(Some(Fault::HasNoPatterns)));
    assert_eq!(outcome_of(&findings, names::NO_PATTERNS), Some(&CheckOutcome::Passed));
    let found = outcome_of(&findings, names::COMPARES);
    assert_eq!(found, Some(&CheckOutcome::Skipped("no patterns: a mock without them".to_owned())));
    assert!(
        !findings.iter().any(|finding| matches!(finding.outcome, CheckOutcome::Failed(_))),
        "{findings:#?}"
    );
}

#[test]
fn each_fault_is_found_by_the_check_that_is_there_for_it() {
    for (fault, check_name) in [
        (Fault::DevicesOutOfOrder, names::DEVICES_IN_ORDER),
        (Fault::DeviceListedTwice, names::DEVICES_UNIQUE),
        (Fault::OpensAnything, names::UNKNOWN_DEVICE),
        (Fault::CopiesPageable, names::PAGEABLE_STAYS),
        (Fault::ShortManaged, names::MANAGED_MOVES),
        (Fault::NeverUnpins, names::UNPINNED_ON_DROP),
        (Fault::NeverOutOfMemory, names::OUT_OF_MEMORY),
        (Fault::LosesLastByte, names::EXACT_BYTES),
        (Fault::CopiesOneTooMany, names::BYTES_BEYOND),
        (Fault::RoundTripReadsOnly, names::ROUND_TRIP),
        (Fault::BidirectionalReadsA, names::BIDIRECTIONAL),
        (Fault::TakesAnySize, names::COPY_REFUSED),
        (Fault::SharesOneArea, names::SHARED_DEVICE),
        (Fault::QueuesPageable, names::PAGEABLE_NOT_QUEUED),
        (Fault::LatchHoldsNothing, names::HELD_COPIES),
        (Fault::LatchHoldsMarksOnly, names::HELD_COPIES),
        (Fault::QueueForgetsCopies, names::QUEUED_BYTES),
        (Fault::MarksInMicroseconds, names::MARKS),
        (Fault::MarksFall, names::MARKS),
        (Fault::KeepsOldMarks, names::NEXT_BATCH),
        (Fault::ReadsWithoutWaiting, names::READING_WAITS),
        (Fault::TakesAnySize, names::QUEUE_REFUSED),
        (Fault::DropIsSlow, names::DROPPED_WHILE_HELD),
        (Fault::TakesUnequalRanges, names::UNEQUAL_RANGES),
        (Fault::StoresAtTheStart, names::AREA_PARTS),
        (Fault::FetchesFromTheStart, names::AREA_PARTS),
        (Fault::StoresInBothAreas, names::AREA_PARTS),
        (Fault::KeepsStoresToItself, names::SAME_AREA),
        (Fault::PullsToTheDestination, names::AGAINST_THE_STREAM),
        (Fault::PushesTheSource, names::AGAINST_THE_STREAM),
        (Fault::ReachesBeyond, names::AREA_REFUSED),
        (Fault::HidesPatterns, names::NO_PATTERNS),
        (Fault::FillsWithoutTheTail, names::FILLS),
        (Fault::FillsWithoutPageKeys, names::FILLS),
        (Fault::FillsWithoutInversion, names::FILLS),
        (Fault::FillsTooMuch, names::FILLS),
        (Fault::ComparesWithoutTheTail, names::COMPARES),
        (Fault::ComparesBytes, names::COMPARES),
        (Fault::ComparesPages, names::COMPARES),
        (Fault::ComparesTooMuch, names::COMPARES),
        (Fault::ComparesAnOldCopy, names::COMPARES),
        (Fault::LosesLastByte, names::PATTERNS_OF_COPIES),
        (Fault::PatternsOfAnySize, names::PATTERNS_REFUSED),
        (Fault::MakesUpARange, names::ONE_RANGE),
        (Fault::GivesOtherMemory, names::RANGES_RETURNED),
        (Fault::GivesUnpinned, names::RANGES_RETURNED),
        (Fault::OwnPinnedMemoryOnly, names::ANOTHER_DEVICE),
        (Fault::BufferStoresAtTheStart, names::BUFFER_RANGES),
        (Fault::BufferFetchesFromTheStart, names::BUFFER_RANGES),
        (Fault::BufferFetchesOneTooMany, names::BUFFER_RANGES),
        (Fault::BufferIsElsewhere, names::BUFFER_RANGES),
        (Fault::BufferShowsWithoutWaiting, names::BUFFER_RANGES),
        (Fault::BufferEndsEarly, names::BUFFER_ORDER),
        (Fault::BufferTakesAnyRange, names::BUFFER_REFUSED),
        (Fault::BufferTakesPageable, names::BUFFER_REFUSED),
        (Fault::GivesBackAtOnce, names::HELD_RANGES),
    ] {
        let findings = check_chosen(&Mock::with(Some(fault)), |check| check == check_name);
        let found = outcome_of(&findings, check_name);
        assert!(matches!(found, Some(CheckOutcome::Failed(_))), "{fault:?}: {check_name}: {found:?}");
    }
}
