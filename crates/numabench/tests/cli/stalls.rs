//! Drivers whose calls never return, with an exit handler that waits for those calls: a time limit holds all
//! the same, and what was found is shown.

use std::error::Error;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::driver;
use crate::run::{Done, Ended, spawnable};

/// The limit of these runs, and what they may take on a machine that is busy with other tests.
const LIMIT: &str = "1s";
const LATEST: Duration = Duration::from_secs(15);

/// Options of a short run, so that only the call that stalls can take it to its limit.
const SHORT: &[&str] = &["--size", "64KiB", "--reps", "4"];

/// The command on the stand-in driver, whose call stalls the Nth time; killed when it takes far too long.
fn stalled(command: &str, options: &[&str], fault: &str) -> Result<Ended, Box<dyn Error>> {
    let mut stalled = spawnable(&driver::fake()?);
    // One process of it is one rank with one GPU.
    let gpus = if command.starts_with("laplace") { "0" } else { "all" };
    stalled.arg(command).args(options).args(["--timeout", LIMIT]);
    if !command.starts_with("check") {
        stalled.args(["--backend", "cuda", "--gpus", gpus]);
    }
    stalled.args((!command.starts_with("topo")).then_some("--quiet"));
    stalled.env("FAKE_FAULTS", format!("stall {fault};exit waits"));
    let mut child = stalled.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let began = Instant::now();
    while child.try_wait()?.is_none() {
        if began.elapsed() > LATEST {
            child.kill()?;
            drop(child.wait());
            return Err(format!("{command}: stall {fault}: it goes on after {LATEST:?}").into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(Ended::of(&child.wait_with_output()?))
}

#[test]
fn a_driver_that_never_answers_while_gpus_are_found_or_opened_is_left_at_the_limit() -> Done {
    for (command, fault) in [
        ("pingpong", "cuInit 1"),
        ("peer", "cuDeviceGetName 1"),
        ("peer", "cuDevicePrimaryCtxRetain 1"),
        ("matrix", "cuDeviceTotalMem 2"),
    ] {
        let ended = stalled(command, SHORT, fault)?;
        assert_eq!(ended.code, Some(124), "{command}: {fault}: {}{}", ended.out, ended.err);
        let told = [
            "asking the CUDA driver for its GPUs took longer than 1 s",
            "opening GPU 0 took longer than 1 s",
        ];
        assert!(told.iter().any(|words| ended.err.contains(words)), "{fault}: {}", ended.err);
    }
    Ok(())
}

/// The calls are those that every run of this timing makes more often.
#[test]
fn a_rank_that_stays_in_the_driver_is_left_at_the_limit_and_what_there_is_is_shown() -> Done {
    for (timing, fault) in [
        ("host", "cuMemAlloc 1"),
        ("host", "cuMemcpyHtoD 20"),
        ("device", "cuStreamSynchronize 3"),
        ("device", "cuMemcpyHtoDAsync 5"),
    ] {
        let ended = stalled("pingpong", &[SHORT, &["--timing", timing]].concat(), fault)?;
        assert_eq!(ended.code, Some(124), "{fault}: {}{}", ended.out, ended.err);
        assert!(ended.out.to_lowercase().contains("timed"), "{fault}: {}", ended.out);
    }
    Ok(())
}

#[test]
fn groups_and_places_are_not_measured_beyond_the_limit() -> Done {
    // `place` has no `--reps`.
    let timed = &["--size", "64KiB", "--max-time", "1s"][..];
    for (command, options, fault, code) in [
        ("topo", SHORT, "cuInit 1", 124),
        ("topo", SHORT, "cuMemcpyHtoD 20", 124),
        ("place", timed, "cuInit 1", 124),
        ("place", timed, "cuMemcpyHtoD 2", 1),
    ] {
        let ended = stalled(command, &[&["--measure"], options].concat(), fault)?;
        assert_eq!(ended.code, Some(code), "{command}: {fault}: {}{}", ended.out, ended.err);
    }
    Ok(())
}

#[test]
fn a_check_whose_pass_is_left_says_what_did_not_come_back() -> Done {
    let ended = stalled("check", &["--bandwidth", "--what", "peer"], "cuMemcpyPeerAsync 2")?;
    assert_eq!(ended.code, Some(124), "{}{}", ended.out, ended.err);
    insta::assert_snapshot!(ended.err.replace("rank 1", "rank 0"), @"numabench: error: a pass (numabench \
        peer) ended early: rank 0 did not come back within the time limit of 1 s: a driver's call hangs, its \
        process is stopped, or its node is gone; --timeout changes the limit");
    Ok(())
}

#[test]
fn a_session_of_laplace_whose_driver_never_answers_is_left_at_the_limit() -> Done {
    for fault in ["cuDeviceGetName 1", "cuCtxSetCurrent 1"] {
        let ended = stalled("laplace", &["--grid", "64x64"], fault)?;
        assert_eq!(ended.code, Some(124), "{fault}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains("GPU") && ended.err.contains("opened"), "{fault}: {}", ended.err);
    }
    for fault in ["cuModuleLoadData 2", "cuMemAlloc 1", "cuMemHostAlloc 1"] {
        let ended = stalled("laplace", &["--grid", "64x64"], fault)?;
        assert_eq!(ended.code, Some(124), "{fault}: {}{}", ended.out, ended.err);
    }
    Ok(())
}

#[test]
fn a_driver_that_never_gives_a_device_back_does_not_keep_the_result() -> Done {
    // The last ones are of the thread that asked which GPUs reach each other.
    for fault in ["cuDevicePrimaryCtxRelease 1", "cuDevicePrimaryCtxRelease 5+"] {
        let ended = stalled("peer", SHORT, fault)?;
        assert!(ended.out.contains("GB/s"), "{fault}: {}{}", ended.out, ended.err);
    }
    Ok(())
}
