//! Signals, time limits, devices that hang and ranks that panic: every run ends, says how, and keeps what it
//! had.

use std::time::{Duration, Instant};

use device::Direction;
use pingpong::{Amount, EngineConfig, Order, RunConfig, RunEnd, RunState, Stage, TimingChoice, Trouble};
use stats::stop::{Patience, StopReason, StopRule};

use crate::harness::{Outcome, config, engine, run, run_with};
use crate::mock::{Fault, Misdeed, Mock};

/// Blocks without end: the interval never gets this narrow.
fn endless() -> Amount {
    Amount::Adaptive(StopRule {
        min_blocks: usize::MAX,
        max_blocks: usize::MAX,
        target_half_width: 0.0,
        patience: Patience::Long,
    })
}

#[test]
fn a_signal_keeps_the_finished_cases_and_marks_the_others() -> Outcome {
    // By the device's pretend clock H2D takes the same time in every block and D2H does not, so that one is
    // known at once.
    let amount = Amount::Adaptive(StopRule {
        min_blocks: 7,
        max_blocks: usize::MAX,
        target_half_width: 0.01,
        patience: Patience::Long,
    });
    let config = RunConfig {
        directions: vec![Direction::H2d, Direction::D2h],
        orders: vec![Order::Alone],
        engine: EngineConfig { amount, ..engine() },
        ..config()
    };
    let unsteady = Mock::new(vec![vec![Fault::Unsteady(Direction::D2h)]; 2], Duration::from_micros(100));
    let one_is_finished = |state: &RunState| state.results.iter().flatten().any(|rank| rank.stop.is_some());
    let done = run_with(unsteady, &config, one_is_finished)?;
    assert_eq!(done.state.end, RunEnd::Interrupted);
    for rank in done.only(|case| case.direction == Direction::H2d) {
        assert_eq!((rank.stop, rank.trouble.as_ref()), (Some(StopReason::Target), None));
        assert!(rank.samples.len() >= 7);
    }
    for rank in done.only(|case| case.direction == Direction::D2h) {
        assert_eq!((rank.stop, rank.trouble.as_ref()), (Some(StopReason::Signal), None));
        assert_eq!(rank.samples.len() as u64, done.state.passes);
    }
    assert_eq!(done.mock.complaints(), [""; 0]);
    Ok(())
}

#[test]
fn a_signal_inside_a_block_makes_no_block_and_no_fault() -> Outcome {
    for order in [Order::Simultaneous, Order::Alone] {
        for timing in [TimingChoice::Host, TimingChoice::Device] {
            // The time for measuring is up as well: that is not why there is no block.
            let engine = EngineConfig { max_time: Some(Duration::ZERO), ..engine() };
            let config = RunConfig { orders: vec![order], timing, engine, ..config() };
            // The first rank's first timed round or batch: then there is no whole round in both ranks' common
            // time.
            let faults = vec![
                Fault::Round(Direction::H2d, 3, Misdeed::Interrupts),
                Fault::Batch(1, Misdeed::Interrupts),
            ];
            let mock = Mock::new(vec![faults, vec![]], Duration::from_millis(20));
            let done = run_with(mock, &config, |_| false)?;
            assert_eq!(done.state.end, RunEnd::Interrupted, "{order:?} {timing:?}");
            for rank in done.only(|_| true) {
                assert_eq!(
                    (rank.trouble.as_ref(), rank.stop),
                    (None, Some(StopReason::Signal)),
                    "{order:?} {timing:?}"
                );
            }
            assert!(done.took < Duration::from_secs(10), "{:?}", done.took);
            assert_eq!(done.mock.complaints(), [""; 0]);
        }
    }
    Ok(())
}

#[test]
fn a_signal_before_the_run_measures_nothing() -> Outcome {
    let mock = Mock::new(vec![vec![]; 2], Duration::from_micros(100));
    mock.state.interrupted.store(true, std::sync::atomic::Ordering::SeqCst);
    let done = run_with(mock, &config(), |_| false)?;
    assert_eq!(done.state.end, RunEnd::Interrupted);
    let untouched =
        |rank: &pingpong::RankCase| rank.samples.is_empty() && rank.stop == Some(StopReason::Signal);
    assert!(done.state.results.iter().flatten().all(untouched), "{:?}", done.state.results);
    Ok(())
}

#[test]
fn a_signal_while_a_device_hangs_ends_the_run_without_it() -> Outcome {
    let hangs = Misdeed::HangsFor(Duration::from_secs(45));
    let faults = vec![
        vec![Fault::Round(Direction::H2d, 1, Misdeed::Interrupts)],
        vec![Fault::Round(Direction::H2d, 1, hangs)],
    ];
    let done = run(faults, &RunConfig { orders: vec![Order::Simultaneous], ..config() })?;
    assert_eq!(done.state.end, RunEnd::Interrupted);
    assert!(done.took < Duration::from_secs(20), "{:?}", done.took);
    Ok(())
}

#[test]
fn a_device_that_hangs_is_left_when_the_time_is_up() -> Outcome {
    let hangs = || Misdeed::HangsFor(Duration::from_secs(30));
    for (fault, timing) in [
        (Fault::Round(Direction::H2d, 1, hangs()), TimingChoice::Host),
        (Fault::Round(Direction::H2d, 8, hangs()), TimingChoice::Host),
        (Fault::Batch(2, hangs()), TimingChoice::Device),
    ] {
        // The other rank copies on for a while before it waits.
        let limit = Duration::from_secs(3);
        let engine = EngineConfig { timeout: Some(limit), amount: endless(), ..engine() };
        let config = RunConfig { timing, engine, ..config() };
        let began = Instant::now();
        let done = run(vec![vec![], vec![fault.clone()]], &config)?;
        assert_eq!(done.state.end, RunEnd::TimedOut, "{fault:?}");
        let named: Vec<bool> = done.state.ranks.iter().map(|rank| rank.lost.is_some()).collect();
        assert_eq!(named, [false, true], "{fault:?}");
        assert!(
            began.elapsed() >= limit && done.took < Duration::from_secs(10),
            "{fault:?}: {:?}",
            done.took
        );
        assert!(done.state.results.iter().flatten().all(|rank| rank.stop == Some(StopReason::Error)));
    }
    Ok(())
}

#[test]
fn the_time_limit_holds_also_where_every_pass_is_short() -> Outcome {
    let config = RunConfig {
        orders: vec![Order::Alone],
        engine: EngineConfig {
            timeout: Some(Duration::from_secs(1)),
            amount: endless(),
            max_time: Some(Duration::from_secs(20)),
            ..engine()
        },
        ..config()
    };
    let done = run(vec![vec![]], &config)?;
    assert_eq!(done.state.end, RunEnd::TimedOut);
    assert!(done.took < Duration::from_secs(5), "{:?}", done.took);
    let rank = &done.only(|_| true)[0];
    assert!(rank.samples.len() > 1 && rank.trouble.is_none(), "{rank:?}");
    Ok(())
}

#[test]
fn the_time_for_measuring_ends_a_run_in_good_order() -> Outcome {
    let limit = Some(Duration::from_millis(300));
    let engine = EngineConfig { max_time: limit, amount: endless(), ..engine() };
    let config = RunConfig { engine, ..config() };
    let done = run(vec![vec![]; 2], &config)?;
    assert_eq!(done.state.end, RunEnd::Complete);
    for rank in done.state.results.iter().flatten() {
        assert_eq!((rank.stop, rank.trouble.as_ref()), (Some(StopReason::MaxTime), None));
        assert_eq!(rank.samples.len() as u64, done.state.passes);
    }
    Ok(())
}

#[test]
fn a_rank_that_panics_is_named_and_nobody_waits_for_it() -> Outcome {
    let panics = |nth| Fault::Round(Direction::H2d, nth, Misdeed::Panics);
    for (fault, order, timing) in [
        (panics(1), Order::Simultaneous, TimingChoice::Host),
        (panics(5), Order::Simultaneous, TimingChoice::Host),
        (panics(5), Order::Alone, TimingChoice::Host),
        (Fault::Batch(1, Misdeed::Panics), Order::Simultaneous, TimingChoice::Device),
        (Fault::Batch(3, Misdeed::Panics), Order::Alone, TimingChoice::Device),
    ] {
        for lost in [0, 1, 2] {
            let mut faults = vec![vec![]; 3];
            faults[lost].push(fault.clone());
            let done = run(faults, &RunConfig { orders: vec![order], timing, ..config() })?;
            assert_eq!(done.state.end, RunEnd::RankLost, "{fault:?}");
            for (number, rank) in done.only(|_| true).iter().enumerate() {
                let named = matches!(&rank.trouble, Some(Trouble::Failed(failure))
                    if failure.stage == Stage::Measure && failure.message.contains(&format!("rank {number} \
                        ")));
                assert_eq!(
                    named,
                    number == lost,
                    "{fault:?} in rank {lost}: rank {number}: {:?}",
                    rank.trouble
                );
                assert_eq!(rank.stop, Some(StopReason::Error));
            }
            assert!(done.took < Duration::from_secs(10), "{fault:?}: {:?}", done.took);
        }
    }
    Ok(())
}

#[test]
fn a_rank_that_panics_beside_one_that_hangs_does_not_outlast_the_time_limit() -> Outcome {
    let hangs = Misdeed::HangsFor(Duration::from_secs(30));
    let faults = vec![
        vec![Fault::Round(Direction::H2d, 1, Misdeed::Panics)],
        vec![Fault::Round(Direction::H2d, 1, hangs)],
    ];
    let engine = EngineConfig { timeout: Some(Duration::from_secs(2)), ..engine() };
    let config = RunConfig { orders: vec![Order::Simultaneous], engine, ..config() };
    let done = run(faults, &config)?;
    assert_eq!(done.state.end, RunEnd::RankLost);
    assert!(done.took < Duration::from_secs(10), "{:?}", done.took);
    Ok(())
}
