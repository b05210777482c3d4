//! What a run brings back when nothing goes wrong.

use std::collections::BTreeSet;
use std::time::Duration;

use device::{Direction, Latch, MemoryKind};
use pingpong::{Amount, EngineConfig, Order, RunConfig, RunEnd, Timing, TimingChoice, Trouble};
use stats::stop::StopReason;

use crate::harness::{A_BLOCK_BY_ITSELF, Outcome, config, engine, run, run_with, until_there_is_an_interval};
use crate::mock::{Fault, Mock};

const DIRECTIONS: [Direction; 4] =
    [Direction::H2d, Direction::D2h, Direction::RoundTrip, Direction::Bidirectional];
const KINDS: [MemoryKind; 3] = [MemoryKind::Pinned, MemoryKind::PinnedDriver, MemoryKind::Pageable];

#[test]
fn every_case_gets_its_blocks_and_says_why_it_stopped() -> Outcome {
    let config = RunConfig {
        memory: KINDS.to_vec(),
        directions: DIRECTIONS.to_vec(),
        engine: EngineConfig { amount: until_there_is_an_interval(), ..engine() },
        ..config()
    };
    let done = run(vec![vec![]; 2], &config)?;
    assert_eq!((done.state.end, done.state.passes), (RunEnd::Complete, 7));
    assert_eq!(done.state.cases.len(), 2 * 3 * 4);
    for (case, ranks) in done.results_where(|_| true) {
        for (number, rank) in ranks.iter().enumerate() {
            if case.memory == MemoryKind::Pageable && case.direction == Direction::Bidirectional {
                assert!(matches!(rank.trouble, Some(Trouble::Skipped(_))), "{case:?}: {:?}", rank.trouble);
                continue;
            }
            assert_eq!((rank.trouble.as_ref(), rank.stop), (None, Some(StopReason::Target)), "{case:?}");
            assert_eq!(rank.samples.len(), 7, "{case:?}");
            let allocations: Vec<u32> = rank.samples.iter().map(|sample| sample.block.allocation).collect();
            assert_eq!(allocations, [0, 0, 0, 0, 1, 1, 1]);
            let timing = if case.memory == MemoryKind::Pageable { Timing::Host } else { Timing::Device };
            for sample in &rank.samples {
                let legs = case.direction.legs();
                let bytes = case.bytes as u64;
                let block = &sample.block;
                assert_eq!(sample.timing, timing, "{case:?}");
                assert!(block.elapsed_ns > 0.0 && block.end_ns > block.start_ns, "{case:?}: {block:?}");
                if case.direction != Direction::Bidirectional {
                    let copies = u64::from(block.copies_per_round);
                    assert_eq!(block.bytes, block.rounds * copies * legs * bytes, "{case:?}");
                }
                let both = case.direction == Direction::Bidirectional;
                assert_eq!(sample.verified_bytes, Some(bytes * if both { 2 } else { 1 }), "{case:?}");
                assert_eq!(sample.overlap.is_some(), case.order == Order::Simultaneous);
                assert_eq!(sample.start_skew_ns.is_some(), case.order == Order::Simultaneous);
            }
            for seen in &rank.seen {
                let seen = seen.as_ref().ok_or("a result without proof of its placement")?;
                assert_eq!(seen.pu, done.pus[number]);
                assert_eq!(seen.affinity, [seen.pu].into_iter().collect());
            }
            let so_far = rank.so_far.as_ref().ok_or("blocks that say nothing")?;
            let rounds: u64 = rank.samples.iter().map(|sample| sample.block.rounds).sum();
            assert_eq!((so_far.summary.blocks, so_far.summary.rounds), (7, rounds));
        }
    }
    assert_eq!(done.mock.complaints(), [""; 0]);
    Ok(())
}

#[test]
fn small_copies_that_the_host_lays_out_and_large_ones_that_the_device_does_have_one_source() -> Outcome {
    let config = RunConfig {
        sizes: vec![4096, 1 << 20, 3 << 20],
        directions: DIRECTIONS.to_vec(),
        orders: vec![Order::Alone],
        timing: TimingChoice::Host,
        engine: EngineConfig { amount: until_there_is_an_interval(), ..engine() },
        ..config()
    };
    let done = run(vec![vec![]], &config)?;
    for (case, ranks) in done.results_where(|_| true) {
        let wrong =
            (&ranks[0].trouble, ranks[0].samples.iter().any(|sample| sample.verified_bytes.is_none()));
        assert_eq!(wrong, (&None, false), "{case:?}");
    }
    Ok(())
}

#[test]
fn a_copy_that_is_a_block_by_itself_is_warmed_up_by_the_queued_one_and_has_no_round_before_it_on_whatever_memory()
-> Outcome {
    let rounds = |copy_time, faults: Vec<Fault>| {
        let engine = EngineConfig { amount: until_there_is_an_interval(), ..engine() };
        let config = RunConfig { orders: vec![Order::Alone], engine, ..config() };
        let done = run_with(Mock::new(vec![faults], copy_time), &config, |_| false)?;
        let rank = &done.only(|_| true)[0];
        assert_eq!((&rank.trouble, rank.samples.len()), (&None, 7));
        Ok::<u64, Box<dyn std::error::Error>>(done.mock.rounds(0, Direction::H2d))
    };
    // The memory of the fifth block is new.
    assert_eq!(rounds(A_BLOCK_BY_ITSELF, vec![])?, 0, "the host waits for none but those that are timed");
    assert!(rounds(Duration::from_millis(3), vec![])? >= 7, "shorter ones have one before each block");
    assert!(rounds(A_BLOCK_BY_ITSELF, vec![Fault::LacksPatterns])? >= 7, "as those that a core lays out");
    Ok(())
}

#[test]
fn the_state_after_each_pass_holds_what_is_there_so_far() -> Outcome {
    let done = run(vec![vec![]; 2], &config())?;
    let passes: Vec<u64> = done.journal.iter().map(|state| state.passes).collect();
    assert_eq!(passes, (1..=10).collect::<Vec<u64>>());
    for state in &done.journal {
        assert_eq!(state.end, RunEnd::Running);
        assert!(state.results.iter().flatten().all(|rank| rank.samples.len() as u64 == state.passes));
    }
    let threads: BTreeSet<_> = done.state.ranks.iter().map(|rank| rank.thread_id).collect();
    assert_eq!(threads.len(), 2, "each rank is a thread of its own: {threads:?}");
    assert!(
        done.state
            .ranks
            .iter()
            .all(|rank| rank.latch.as_ref().is_some_and(|latch| *latch == Latch::StreamWait))
    );
    Ok(())
}

#[test]
fn a_fixed_number_of_rounds_is_that_number_whatever_it_is() -> Outcome {
    for timing in [TimingChoice::Host, TimingChoice::Device] {
        for reps in [1, 7, 10, 23, 25_000] {
            let config = RunConfig {
                sizes: vec![4096],
                orders: vec![Order::Alone],
                timing,
                engine: EngineConfig { amount: Amount::Fixed { reps, warmup: 1 }, ..engine() },
                ..config()
            };
            let done = run_with(Mock::new(vec![vec![]], Duration::ZERO), &config, |_| false)?;
            let rank = &done.only(|_| true)[0];
            let counted: u64 = rank.samples.iter().map(|sample| sample.block.rounds).sum();
            assert_eq!((counted, rank.stop), (reps, Some(StopReason::Fixed)), "{timing:?}");
            assert!(
                rank.samples.len() as u64 >= reps.min(10),
                "{} blocks of {reps} rounds",
                rank.samples.len()
            );
            assert_eq!(done.mock.complaints(), [""; 0]);
        }
    }
    Ok(())
}

#[test]
fn ranks_measured_at_once_are_at_work_at_once() -> Outcome {
    let config = RunConfig {
        orders: vec![Order::Simultaneous],
        directions: vec![Direction::H2d, Direction::RoundTrip],
        memory: vec![MemoryKind::Pinned, MemoryKind::Pageable],
        engine: EngineConfig { amount: until_there_is_an_interval(), ..engine() },
        ..config()
    };
    for ranks in [2, 3] {
        let done = run_with(Mock::new(vec![vec![]; ranks], Duration::from_millis(1)), &config, |_| false)?;
        assert_eq!(done.state.end, RunEnd::Complete);
        for (case, results) in done.results_where(|_| true) {
            let overlaps: Vec<f64> =
                results.iter().flat_map(|rank| &rank.samples).filter_map(|sample| sample.overlap).collect();
            assert_eq!(overlaps.len(), ranks * 7, "{case:?}");
            assert!(overlaps.iter().all(|overlap| (0.95..=1.0).contains(overlap)), "{case:?}: {overlaps:?}");
            for (at, sample) in results[0].samples.iter().enumerate() {
                assert!(results.iter().all(|rank| rank.samples[at].block.rounds > 0));
                let windows = results.iter().map(|rank| &rank.samples[at].block);
                let (latest, earliest) = windows.fold((0, u64::MAX), |(start, end), block| {
                    (block.start_ns.max(start), block.end_ns.min(end))
                });
                assert!(latest < earliest, "{case:?}: counted rounds never met: {:?}", sample.block);
            }
        }
        assert_eq!(done.mock.complaints(), [""; 0]);
    }
    Ok(())
}

#[test]
fn nobody_copies_while_another_ranks_queue_is_warmed_up() -> Outcome {
    let slow = Fault::HoldsSlowly(Duration::from_millis(5));
    let config = RunConfig { orders: vec![Order::Simultaneous], ..config() };
    let done = run(vec![vec![slow], vec![]], &config)?;
    assert_eq!(done.mock.complaints(), [""; 0]);
    assert!(done.only(|_| true).iter().all(|rank| rank.trouble.is_none()));
    Ok(())
}

#[test]
fn ranks_measured_alone_never_meet() -> Outcome {
    let config = RunConfig { orders: vec![Order::Alone], ..config() };
    let done = run(vec![vec![]; 3], &config)?;
    let ranks = done.only(|_| true);
    let mut spans: Vec<(u64, u64)> =
        ranks.iter().flat_map(|r| &r.samples).map(|s| (s.block.start_ns, s.block.end_ns)).collect();
    spans.sort_unstable();
    assert_eq!(spans.len(), 30);
    assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{spans:?}");
    Ok(())
}

#[test]
fn what_a_device_cannot_do_is_skipped_with_its_reason_and_the_rest_is_measured() -> Outcome {
    let config = RunConfig {
        memory: KINDS.to_vec(),
        timing: TimingChoice::Device,
        orders: vec![Order::Alone],
        ..config()
    };
    let done = run(vec![vec![Fault::LacksMemory(MemoryKind::PinnedDriver)]], &config)?;
    assert_eq!(done.state.end, RunEnd::Complete);
    let of = |kind| &done.only(|case| case.memory == kind)[0];
    assert_eq!((of(MemoryKind::Pinned).samples.len(), &of(MemoryKind::Pinned).trouble), (10, &None));
    let why = |kind| match &of(kind).trouble {
        Some(Trouble::Skipped(reason)) => reason.clone(),
        other => format!("not skipped: {other:?}"),
    };
    assert_eq!(why(MemoryKind::PinnedDriver), "a test double without such memory");
    assert!(
        why(MemoryKind::Pageable).contains("only host timing is possible"),
        "{}",
        why(MemoryKind::Pageable)
    );

    let done = run(
        vec![vec![Fault::LacksLatch]],
        &RunConfig { memory: vec![MemoryKind::Pinned], ..config.clone() },
    )?;
    let trouble = &done.only(|_| true)[0].trouble;
    assert!(
        matches!(trouble, Some(Trouble::Skipped(reason)) if reason.contains("a test double without a latch")),
        "{trouble:?}"
    );
    let auto = RunConfig { memory: vec![MemoryKind::Pinned], timing: TimingChoice::Auto, ..config };
    let done = run(vec![vec![Fault::LacksLatch]], &auto)?;
    assert!(done.only(|_| true)[0].samples.iter().all(|sample| sample.timing == Timing::Host));
    Ok(())
}

#[test]
fn without_verification_no_block_claims_any() -> Outcome {
    let engine = EngineConfig { verify: false, ..engine() };
    let config = RunConfig { engine, directions: DIRECTIONS.to_vec(), ..config() };
    let done = run(vec![vec![Fault::FlipsBitAt(0)]], &config)?;
    for (case, ranks) in done.results_where(|_| true) {
        assert_eq!(ranks[0].trouble, None, "{case:?}");
        assert!(ranks[0].samples.iter().all(|sample| sample.verified_bytes.is_none()), "{case:?}");
    }
    Ok(())
}
