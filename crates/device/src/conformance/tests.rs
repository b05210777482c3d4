//! The checks, checked: a sound device passes all of them, and each fault is found by the check that is there for it.

#[path = "tests/sham.rs"]
mod sham;

use super::{Finding, Outcome, check, check_chosen};
use sham::{Fault, Sham};

fn outcome_of<'a>(findings: &'a [Finding], check: &str) -> Option<&'a Outcome> {
    findings.iter().find(|finding| finding.check == check).map(|finding| &finding.outcome)
}

#[test]
fn a_sound_device_passes_every_check() {
    let findings = check(&Sham::with(None));
    let not_passed: Vec<_> = findings.iter().filter(|finding| finding.outcome != Outcome::Passed).collect();
    assert_eq!(not_passed.len(), 2, "{not_passed:#?}");
    assert!(not_passed.iter().all(|finding| finding.check == "without a latch nothing is queued"));
    assert!(findings.len() > 2 * 20, "only {} checks", findings.len());
}

#[test]
fn a_device_without_a_latch_skips_what_needs_one_and_says_why() {
    let findings = check(&Sham::with(Some(Fault::HasNoLatch)));
    assert_eq!(outcome_of(&findings, "without a latch nothing is queued"), Some(&Outcome::Passed));
    let held = outcome_of(&findings, "held copies do not start before the release");
    assert_eq!(held, Some(&Outcome::Skipped("no latch: a sham without one".to_owned())));
    assert!(!findings.iter().any(|finding| matches!(finding.outcome, Outcome::Failed(_))), "{findings:#?}");
}

#[test]
fn each_fault_is_found_by_the_check_that_is_there_for_it() {
    for (fault, check_name) in [
        (Fault::DevicesOutOfOrder, "devices are in PCI or node order"),
        (Fault::DeviceListedTwice, "no two devices are the same"),
        (Fault::OpensAnything, "an unknown device does not open"),
        (Fault::CopiesPageable, "pageable memory is returned as it is"),
        (Fault::NeverUnpins, "pinned memory is unpinned on drop"),
        (Fault::NeverOutOfMemory, "more memory than the device has is refused"),
        (Fault::LosesLastByte, "bytes go to the device and come back the same"),
        (Fault::CopiesOneTooMany, "bytes beyond those asked for stay as they were"),
        (Fault::RoundTripReadsOnly, "a round trip brings the source's bytes to the destination"),
        (Fault::BidirectionalReadsA, "both at once: A takes the source, the destination takes what was preloaded to B"),
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
    ] {
        let findings = check_chosen(&Sham::with(Some(fault)), |check| check == check_name);
        let found = outcome_of(&findings, check_name);
        assert!(matches!(found, Some(Outcome::Failed(_))), "{fault:?}: {check_name}: {found:?}");
    }
}
