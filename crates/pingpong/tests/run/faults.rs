//! A rank that fails, a byte that is wrong, a thread that is not where it should be: each is that rank's
//! result, said as what it is, and the others' results are what they were.

use std::time::Duration;

use device::{Direction, MemoryKind};
use pingpong::{
    Amount, EngineConfig, Failure, Order, RankCase, RunConfig, RunEnd, Stage, TimingChoice, Trouble,
    WrongByte,
};
use stats::stop::StopReason;

use crate::harness::{
    A_BLOCK_BY_ITSELF, Done, Outcome, allowed_pus, config, engine, run, run_with, until_there_is_an_interval,
};
use crate::mock::{Fault, Legs, Misdeed, Mock};

fn stage(rank: &RankCase) -> Option<Stage> {
    match &rank.trouble {
        Some(Trouble::Failed(Failure { stage, call, code, message })) => {
            assert_eq!((call.as_deref(), *code), (Some("mockCall"), Some(719)), "{message}");
            assert!(message.contains("MOCK_TOLD_TO"), "{message}");
            Some(*stage)
        }
        _ => None,
    }
}

/// Rank 1 of two has this fault.
fn second_rank_with(fault: Fault, config: &RunConfig) -> Result<Done, Box<dyn std::error::Error>> {
    run(vec![vec![], vec![fault]], config)
}

#[test]
fn a_rank_that_fails_says_where_and_the_other_is_not_called_simultaneous() -> Outcome {
    let both = RunConfig { memory: vec![MemoryKind::Pinned, MemoryKind::Pageable], ..config() };
    let h2d = |nth| Fault::Round(Direction::H2d, nth, Misdeed::Fails);
    for (fault, config, want) in [
        (Fault::OpenFails, both.clone(), Stage::Open),
        (Fault::AdoptFails, both.clone(), Stage::Allocate),
        (Fault::CopierFails, both, Stage::Allocate),
        (h2d(1), RunConfig { orders: vec![Order::Simultaneous], ..config() }, Stage::WarmUp),
        // What a queue loads lazily is loaded by warming up.
        (Fault::EnqueueFails, config(), Stage::WarmUp),
        (
            Fault::Batch(1, Misdeed::Fails),
            RunConfig { orders: vec![Order::Simultaneous], ..config() },
            Stage::Measure,
        ),
        // One warm-up and one round that does not count come before those that do.
        (
            h2d(5),
            RunConfig { timing: TimingChoice::Host, orders: vec![Order::Simultaneous], ..config() },
            Stage::Measure,
        ),
        (
            Fault::Verify(Misdeed::Fails),
            RunConfig { orders: vec![Order::Simultaneous], ..config() },
            Stage::Verify,
        ),
    ] {
        let done = second_rank_with(fault.clone(), &config)?;
        assert_eq!(done.state.end, RunEnd::Complete, "{fault:?}");
        for (case, ranks) in done.results_where(|_| true) {
            let (other, failed) = (&ranks[0], &ranks[1]);
            assert_eq!(stage(failed), Some(want), "{fault:?} {case:?}: {:?}", failed.trouble);
            assert!(failed.samples.is_empty(), "{fault:?} {case:?}");
            assert_eq!(failed.stop, Some(StopReason::Error));
            // Alone, the other has every block it was asked for; at once, nobody goes on without the one that
            // failed.
            let ended = if case.order == Order::Alone { StopReason::Fixed } else { StopReason::Error };
            assert_eq!(other.stop, Some(ended), "{fault:?} {case:?}");
            match case.order {
                // Its copies were simultaneous; that the other's cannot be verified does not change that.
                Order::Simultaneous if want == Stage::Verify => assert_eq!(other.samples.len(), 1),
                Order::Simultaneous => {
                    assert_eq!(other.trouble, Some(Trouble::AnotherFailed), "{fault:?} {case:?}");
                    assert!(other.samples.is_empty(), "{fault:?} {case:?}");
                }
                Order::Alone => {
                    assert_eq!(other.trouble, None, "{fault:?} {case:?}");
                    assert_eq!(other.samples.len(), 10, "{fault:?} {case:?}");
                }
            }
        }
        assert_eq!(done.mock.complaints(), [""; 0], "{fault:?}");
    }
    Ok(())
}

#[test]
fn a_block_that_failed_leaves_the_next_ones_of_other_cases_as_they_are() -> Outcome {
    for (timing, fault) in [
        (TimingChoice::Host, Fault::Round(Direction::RoundTrip, 5, Misdeed::Fails)),
        (TimingChoice::Device, Fault::Batch(1, Misdeed::Fails)),
    ] {
        let config = RunConfig {
            timing,
            orders: vec![Order::Simultaneous],
            directions: vec![Direction::RoundTrip, Direction::H2d, Direction::D2h],
            ..config()
        };
        let done = second_rank_with(fault.clone(), &config)?;
        let failed: Vec<_> = done
            .results_where(|_| true)
            .into_iter()
            .filter(|(_, ranks)| stage(&ranks[1]).is_some())
            .collect();
        assert_eq!(failed.len(), 1, "{fault:?}");
        for (case, ranks) in done.results_where(|case| *case != failed[0].0) {
            for rank in ranks {
                assert_eq!((rank.trouble.as_ref(), rank.samples.len()), (None, 10), "{case:?}");
                // Each goes on until the other has its rounds. After a missing arrival one would go on to its
                // limit, 16 or 64 times as long, and the other would not.
                let overlaps = rank.samples.iter().filter_map(|sample| sample.overlap);
                let best = overlaps.clone().fold(0.0, f64::max);
                assert!(best > 0.5, "{fault:?} {case:?}: {:?}", overlaps.collect::<Vec<_>>());
            }
        }
    }
    Ok(())
}

#[test]
fn a_fault_in_one_kind_of_memory_leaves_the_others() -> Outcome {
    let config = RunConfig { memory: vec![MemoryKind::PinnedDriver, MemoryKind::Pageable], ..config() };
    let done = second_rank_with(Fault::LacksMemory(MemoryKind::PinnedDriver), &config)?;
    for (case, ranks) in done.results_where(|case| case.memory == MemoryKind::Pageable) {
        assert!(ranks.iter().all(|rank| rank.samples.len() == 10 && rank.trouble.is_none()), "{case:?}");
    }
    for (case, ranks) in done.results_where(|case| case.memory == MemoryKind::PinnedDriver) {
        assert!(matches!(ranks[1].trouble, Some(Trouble::Skipped(_))), "{case:?}: {:?}", ranks[1].trouble);
    }
    Ok(())
}

#[test]
fn a_wrong_byte_is_found_where_it_is_in_every_direction_and_by_either_clock() -> Outcome {
    let directions = [Direction::H2d, Direction::D2h, Direction::RoundTrip, Direction::Bidirectional];
    let size = (1 << 20) + 5;
    for offset in [0, 4095, 4096, 700_001, size - 1] {
        for (timing, patterns) in [
            (TimingChoice::Host, true),
            (TimingChoice::Device, true),
            (TimingChoice::Host, false),
            (TimingChoice::Device, false),
        ] {
            for direction in directions {
                let config = RunConfig {
                    sizes: vec![size],
                    directions: vec![direction],
                    orders: vec![Order::Alone],
                    timing,
                    ..config()
                };
                let mut faults = vec![Fault::FlipsBitAt(offset)];
                faults.extend((!patterns).then_some(Fault::LacksPatterns));
                let mock = Mock::new(vec![vec![], faults], Duration::ZERO);
                let done = run_with(mock, &config, |_| false)?;
                let ranks = done.only(|_| true);
                let flipped =
                    done.mock.flipped.lock().ok().and_then(|last| *last).ok_or("no byte was flipped")?;
                let mismatch = WrongByte { offset: flipped.0, expected: flipped.1, got: flipped.2 };
                assert_eq!(flipped.0, offset as u64);
                assert_eq!(
                    ranks[1].trouble,
                    Some(Trouble::Corrupt(mismatch)),
                    "{direction:?} {timing:?} {patterns} {offset}"
                );
                assert!(ranks[1].samples.is_empty() && ranks[1].stop == Some(StopReason::Error));
                assert_eq!((&ranks[0].trouble, ranks[0].samples.is_empty()), (&None, false));
            }
        }
    }
    Ok(())
}

#[test]
fn a_byte_beyond_the_copy_is_nobodys_business() -> Outcome {
    let done =
        run(vec![vec![Fault::FlipsBitAt(1 << 20)]], &RunConfig { orders: vec![Order::Alone], ..config() })?;
    assert_eq!(done.only(|_| true)[0].trouble, None);
    Ok(())
}

const TO_DEVICE: Legs = Legs { to_device: true, to_host: false };
const TO_HOST: Legs = Legs { to_device: false, to_host: true };
/// Each leg that copies in a direction have.
const STOPS: [(Direction, Legs); 6] = [
    (Direction::H2d, TO_DEVICE),
    (Direction::D2h, TO_HOST),
    (Direction::RoundTrip, TO_DEVICE),
    (Direction::RoundTrip, TO_HOST),
    (Direction::Bidirectional, TO_DEVICE),
    (Direction::Bidirectional, TO_HOST),
];

#[test]
fn copies_that_stop_when_the_clock_starts_are_found() -> Outcome {
    for (direction, legs) in STOPS {
        for patterns in [true, false] {
            for bytes in [4, 1 << 20] {
                // Ten rounds are ten blocks of one: after the warm-up and the round that does not count, the
                // third is the first timed. Until then everything is moved, and is in place when the clock
                // starts.
                let nth = 3;
                for (timing, fault) in [
                    (TimingChoice::Host, Fault::Round(direction, nth, Misdeed::Loses(legs))),
                    (TimingChoice::Device, Fault::Batch(1, Misdeed::Loses(legs))),
                ] {
                    let config = RunConfig {
                        sizes: vec![bytes],
                        directions: vec![direction],
                        orders: vec![Order::Alone],
                        timing,
                        engine: EngineConfig { amount: Amount::Fixed { reps: 10, warmup: 2 }, ..engine() },
                        ..config()
                    };
                    let mut faults = vec![fault.clone()];
                    faults.extend((!patterns).then_some(Fault::LacksPatterns));
                    let done = run(vec![faults], &config)?;
                    let rank = &done.only(|_| true)[0];
                    let found = matches!(rank.trouble, Some(Trouble::Corrupt(WrongByte { offset: 0, .. })));
                    assert!(
                        found && rank.samples.is_empty(),
                        "{fault:?} {patterns} {bytes}: {:?}",
                        rank.trouble
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn copies_that_stop_where_no_round_goes_before_a_block_are_found() -> Outcome {
    for (direction, legs) in STOPS {
        // The first batch warms the queue up, the second is the first block; before the second block
        // everything had been delivered once.
        let fault = Fault::Batch(3, Misdeed::Loses(legs));
        let config = RunConfig {
            directions: vec![direction],
            orders: vec![Order::Alone],
            timing: TimingChoice::Device,
            engine: EngineConfig { amount: until_there_is_an_interval(), ..engine() },
            ..config()
        };
        let done = run_with(Mock::new(vec![vec![fault]], A_BLOCK_BY_ITSELF), &config, |_| false)?;
        let rank = &done.only(|_| true)[0];
        let found = matches!(rank.trouble, Some(Trouble::Corrupt(WrongByte { offset: 0, .. })));
        assert!(found, "{direction:?} {legs:?}: {:?}", rank.trouble);
        assert!(
            done.mock.rounds(0, direction) <= 2,
            "{direction:?}: those that warm up, and none before the second block"
        );
    }
    Ok(())
}

#[test]
#[allow(clippy::print_stderr)]
fn a_thread_that_was_moved_is_misplaced_and_measures_nothing_that_counts() -> Outcome {
    let pus = allowed_pus()?;
    let [_, second, ..] = pus[..] else {
        eprintln!("SKIPPED a thread that was moved: this process may use one PU only ({pus:?})");
        return Ok(());
    };
    let h2d = RunConfig { orders: vec![Order::Alone], ..config() };
    // Moved while it opens, and while it verifies the first block.
    for (fault, when) in [
        (Fault::OpenMovesTo(second), "asked for PU"),
        (Fault::Verify(Misdeed::MovesTo(second)), "after measuring: asked for PU"),
    ] {
        let done = run(vec![vec![fault.clone()]], &h2d)?;
        let rank = &done.only(|_| true)[0];
        let want = format!("asked for PU {}, ran on PU {second}", pus[0]);
        let said = matches!(&rank.trouble, Some(Trouble::Misplaced(why)) if why.contains(&want) && why.starts_with(when));
        assert!(said && rank.samples.is_empty(), "{fault:?}: {rank:?}");
        assert_eq!((done.state.end, rank.stop), (RunEnd::Complete, Some(StopReason::Error)));
    }
    Ok(())
}
