//! GPUs that were throttled, shared, or behind a narrow link: what the first lines say of them, and that it
//! is taken for the cause of a low figure.

use analysis::throttling::sentences;
use report::conditions::{Conditions, HeldBack};
use report::device::{Coherence, ReadWhen};
use report::{Document, Known};
use stats::clock_limit::Limit;

use crate::samples;

fn under(limit: Limit, percent: u64, other_processes: u32) -> Conditions {
    Conditions {
        elapsed_ns: 1_000_000,
        readings: 3,
        held_back: vec![HeldBack { limit, ns: percent * 10_000 }],
        sm_clock_mhz: None,
        memory_clock_mhz: None,
        replays: Some(0),
        other_processes: Some(other_processes),
        lowest_link: None,
    }
}

/// Eight GPUs of which these were under these conditions.
fn with(conditions: &[(usize, Conditions)]) -> Document {
    let mut document = samples::eight_ranks();
    for (at, conditions) in conditions {
        document.devices[*at].conditions = Some(Known::value(conditions.clone(), "NVML, sysfs"));
    }
    document
}

#[test]
fn a_throttled_and_a_shared_gpu_are_named_with_the_cause_and_one_that_was_neither_is_not() {
    let document = with(&[
        (2, under(Limit::Thermal, 25, 0)),
        (3, under(Limit::Power, 0, 1)),
        (4, under(Limit::Power, 0, 0)),
    ]);
    insta::assert_snapshot!(sentences(&document).join("\n"), @"
    GPU 2 was throttled for 25 % of the time, by its temperature.
    Another process computed on GPU 3 meanwhile: `nvidia-smi` names it.
    ");
    let state = |at: usize| document.devices[at].state();
    insta::assert_snapshot!([2, 3, 4].map(|at| format!("{:?}", state(at))).join("\n"), @r#"
    Err("it was throttled for 25 % of the time, by its temperature")
    Err("another process computed on it meanwhile")
    Ok("its link is as it should be")
    "#);
}

#[test]
fn a_link_of_fewer_lanes_is_said_where_it_was_read_under_load_and_bounds_the_copies() {
    let mut document = with(&[]);
    let narrow = |document: &mut Document, read_when: ReadWhen| {
        if let Some(link) = &mut document.devices[5].link.value {
            (link.width, link.read_when) = (Some(8), read_when);
        }
        sentences(document)
    };
    assert_eq!(narrow(&mut document, ReadWhen::UnderLoad), ["GPU 5: its link has 8 of 16 lanes."]);
    assert!(narrow(&mut document, ReadWhen::Idle).is_empty(), "links of idle GPUs train down");
    document.devices[5].coherence = Some(Coherence::NvlinkC2c);
    assert!(narrow(&mut document, ReadWhen::UnderLoad).is_empty(), "no copy goes over it");
}

#[test]
fn more_than_four_are_counted() {
    let all: Vec<(usize, Conditions)> = (0..8).map(|at| (at, under(Limit::Power, 50, 0))).collect();
    let said = sentences(&with(&all));
    assert_eq!(said.len(), 5);
    assert_eq!(said[4], "4 more like these: `devices` in the document has all.");
}
