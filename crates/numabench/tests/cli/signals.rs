//! Signals during a run: the first ends it with what is finished, its echo changes nothing, a later one ends
//! the process, and a process that is killed leaves the last whole document, which lacks no more than
//! docs/results.md says.

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::driver;
use crate::kinds;
use crate::peer;
use crate::proof::{self, list, results, text};
use crate::run::{BINARY, Done, Ended, no_driver, spawnable, variables};

/// A run with two cases that would take many seconds, of which a pass is written to `document` within the
/// first.
fn long_run(document: &Path) -> Result<Child, Box<dyn Error>> {
    let mut command = spawnable(&no_driver());
    command.args([
        "pingpong",
        "--backend",
        "host",
        "--gpus",
        "0",
        "--size",
        "64KiB",
        "--direction",
        "h2d,d2h",
    ]);
    command.args(["--reps", "3000000", "--json"]).arg(document);
    Ok(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
}

/// Waits until `there` holds, for 30 s at most.
fn wait_until(what: &str, there: impl Fn() -> bool) -> Done {
    let began = Instant::now();
    while !there() {
        if began.elapsed() > Duration::from_secs(30) {
            return Err(format!("{what} did not come in 30 s").into());
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// What lies in a folder.
fn names_in(folder: &Path) -> Result<Vec<OsString>, Box<dyn Error>> {
    Ok(std::fs::read_dir(folder)?.flatten().map(|entry| entry.file_name()).collect())
}

/// Sends a signal by its name.
fn signal(child: &Child, name: &str) -> Done {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status()?;
    assert!(sent.success(), "the process is gone already");
    Ok(())
}

/// The signal comes after the first pass, and `echoes` more times; the process must end with its code, a
/// table and an `interrupted` document.
fn interrupted(name: &str, number: i32, echoes: usize) -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("result.json");
    let child = long_run(&path)?;
    wait_until("the first document", || path.exists())?;
    for _ in 0..=echoes {
        signal(&child, name)?;
        thread::sleep(Duration::from_millis(3));
    }
    let ended = Ended::of(&child.wait_with_output()?);
    assert_eq!((ended.code, ended.err.as_str()), (Some(128 + number), ""), "{}", ended.out);
    let document = proof::file(&path)?;
    proof::agrees(&document, ended.code)?;
    assert_eq!(text(&document, "/status"), "interrupted");
    assert!(text(&document, "/status_reason").contains(&number.to_string()), "{}", document["status_reason"]);
    assert_eq!(list(&document, "/cases").len(), 2);
    for result in results(&document) {
        assert_eq!(
            (text(result, "/outcome/status"), text(result, "/outcome/stop_reason")),
            ("measured", "signal")
        );
        let blocks = list(result, "/blocks").len();
        assert!((1..10).contains(&blocks), "{blocks} blocks: the whole run has 10");
    }
    assert!(ended.out.contains(&format!("exit code {}", 128 + number)), "{}", ended.out);
    Ok(())
}

#[test]
fn ctrl_c_ends_the_run_with_130_and_keeps_what_is_finished() -> Done {
    interrupted("INT", 2, 0)
}

#[test]
fn sigterm_ends_the_run_with_143_and_keeps_what_is_finished() -> Done {
    interrupted("TERM", 15, 0)
}

#[test]
fn a_signal_that_comes_twice_at_once_is_one_signal() -> Done {
    // As Slurm sends it at a job's time limit, and `timeout` to its child and its group.
    interrupted("TERM", 15, 1)
}

#[test]
fn a_dropped_ssh_session_and_a_limit_of_cpu_time_end_a_run_as_sigterm_does() -> Done {
    interrupted("HUP", 1, 0)?;
    interrupted("XCPU", 24, 0)
}

#[test]
fn the_document_is_there_while_gpus_are_found_and_opened_and_a_signal_ends_the_wait_for_them() -> Done {
    let kind = kinds::tried().into_iter().next().ok_or("there is no stand-in driver")?;
    let found = format!("stall {} 1;exit waits", kind.init);
    for (command, fault) in
        peer::OPENING.into_iter().flat_map(|command| [(command, "hang 1"), (command, &found[..])])
    {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("result.json");
        let mut run = peer::hanging(&kind, command)?;
        run.env("FAKE_FAULTS", fault);
        run.args(["--timeout", "60s", "--json"]).arg(&path);
        let child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        wait_until("the first document", || path.exists())?;
        let document = proof::file(&path)?;
        assert_eq!((text(&document, "/status"), &document["exit_code"]), ("running", &Value::Null));
        signal(&child, "TERM")?;
        let ended = Ended::of(&child.wait_with_output()?);
        assert_eq!(
            (ended.code, text(&proof::file(&path)?, "/status")),
            (Some(143), "interrupted"),
            "{}",
            ended.err
        );
    }
    Ok(())
}

#[test]
fn a_run_under_nohup_survives_the_end_of_its_session() -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("result.json");
    let mut command = Command::new("sh");
    let run = "trap '' HUP; exec \"$0\" pingpong --backend host --gpus 0 --size 64KiB --direction h2d --reps \
        300000 --json \"$1\"";
    command.args(["-c", run, BINARY]).arg(&path).envs(variables(&no_driver()));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    wait_until("the first document", || path.exists())?;
    signal(&child, "HUP")?;
    let ended = Ended::of(&child.wait_with_output()?);
    assert_eq!((ended.code, text(&proof::file(&path)?, "/status")), (Some(0), "complete"), "{}", ended.err);
    Ok(())
}

#[test]
fn a_run_that_timeout_ends_keeps_its_document_and_its_table() -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("result.json");
    let mut command = Command::new("timeout");
    command.args([
        "2",
        BINARY,
        "pingpong",
        "--backend",
        "host",
        "--gpus",
        "0",
        "--size",
        "64KiB",
        "--direction",
        "h2d",
    ]);
    command.args(["--reps", "3000000", "--json"]).arg(&path).envs(variables(&no_driver()));
    let ended = Ended::of(&command.output()?);
    assert_eq!(ended.code, Some(124), "{}{}", ended.out, ended.err);
    assert!(ended.out.contains(" 143"), "{}{}", ended.out, ended.err);
    assert_eq!(text(&proof::file(&path)?, "/status"), "interrupted");
    Ok(())
}

#[test]
fn a_killed_run_loses_no_more_than_is_promised_and_leaves_no_more_than_the_next_one_removes() -> Done {
    // What docs/results.md promises, and the time a busy machine may take to start and to end a process.
    let (promised, slack) = (5.0, 2.0);
    let mut lost = Vec::new();
    for turn in 0..8_u64 {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("result.json");
        let began = Instant::now();
        let mut child = long_run(&path)?;
        wait_until("the first document", || path.exists())?;
        thread::sleep(Duration::from_millis(turn * 137 % 900));
        child.kill()?;
        let ran = began.elapsed().as_secs_f64();
        child.wait()?;
        let kept = proof::file(&path)?["elapsed_s"].as_f64().ok_or("no elapsed_s")?;
        lost.push(ran - kept);
        // A kill between the two names of a file leaves one, which opening the document again removes.
        assert!(names_in(folder.path())?.len() <= 2, "{:?}", names_in(folder.path())?);
        report::sink::Sink::open(&path)?;
        assert_eq!(names_in(folder.path())?, ["result.json"]);
    }
    lost.sort_by(f64::total_cmp);
    let (median, worst) = (lost[lost.len() / 2], lost[lost.len() - 1]);
    assert!(worst < promised + slack, "median {median:.3} s, worst {worst:.3} s");
    Ok(())
}

#[test]
fn a_killed_run_leaves_the_last_whole_document() -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("result.json");
    let mut child = long_run(&path)?;
    wait_until("the first document", || path.exists())?;
    child.kill()?;
    child.wait()?;
    let document = proof::file(&path)?;
    assert_eq!((text(&document, "/status"), document["exit_code"].is_null()), ("running", true));
    assert!(results(&document).all(|result| !list(result, "/blocks").is_empty()));
    Ok(())
}

#[test]
fn a_killed_measurement_of_placements_leaves_the_turns_it_had() -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("place.json");
    let mut command = spawnable(&no_driver());
    command.args(["place", "--measure", "--size", "128MiB", "--max-time", "60s", "--json"]).arg(&path);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    wait_until("the first turn", || path.exists())?;
    child.kill()?;
    child.wait()?;
    let document: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    proof::follows(&document, "place-v1.json")?;
    assert!(!text(&document, "/measured/ended_early").is_empty(), "{document:#}");
    assert!(!list(&document, "/candidates/0/turns").is_empty(), "{document:#}");
    Ok(())
}

#[test]
fn a_signal_before_the_first_pass_ends_the_run_without_numbers() -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("result.json");
    let mut command = spawnable(&no_driver());
    command.args(["pingpong", "--backend", "host", "--gpus", "0", "--size", "1MiB", "--direction", "h2d"]);
    command.args(["--reps", "10000000", "--json"]).arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn()?;
    // Its second thread is the rank: then signals are caught.
    let tasks = format!("/proc/{}/task", child.id());
    wait_until("the rank", || std::fs::read_dir(&tasks).is_ok_and(|tasks| tasks.count() > 1))?;
    signal(&child, "INT")?;
    let ended = Ended::of(&child.wait_with_output()?);
    assert_eq!(ended.code, Some(130), "{}{}", ended.out, ended.err);
    let document = proof::file(&path)?;
    proof::agrees(&document, ended.code)?;
    assert!(results(&document).all(|result| text(result, "/outcome/status") == "skipped"), "{document:#}");
    Ok(())
}

#[test]
fn a_later_signal_ends_a_run_that_a_stuck_device_holds_at_once() -> Done {
    let mut command = spawnable(&driver::fake()?);
    command.args(["pingpong", "--gpus", "0", "--size", "64KiB", "--reps", "100", "--timing", "host"]);
    command.env("FAKE_FAULTS", "hang *").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let tasks = format!("/proc/{}/task", child.id());
    wait_until("the rank", || std::fs::read_dir(&tasks).is_ok_and(|tasks| tasks.count() > 1))?;
    thread::sleep(Duration::from_millis(300));
    signal(&child, "INT")?;
    // The second one comes too soon to be meant.
    thread::sleep(Duration::from_millis(500));
    signal(&child, "INT")?;
    thread::sleep(Duration::from_millis(1700));
    assert!(child.try_wait()?.is_none(), "the device is stuck, so the first signal cannot end the run yet");
    signal(&child, "TERM")?;
    let second = Instant::now();
    let ended = Ended::of(&child.wait_with_output()?);
    assert_eq!(ended.code, Some(143), "{}{}", ended.out, ended.err);
    assert!(second.elapsed() < Duration::from_secs(5), "{:?}: that is not at once", second.elapsed());
    Ok(())
}

#[test]
fn one_signal_ends_a_run_whose_device_is_stuck_after_a_while() -> Done {
    let mut command = spawnable(&driver::fake()?);
    command.args([
        "pingpong", "--gpus", "0", "--size", "64KiB", "--reps", "100", "--timing", "host", "--json", "-",
    ]);
    command.env("FAKE_FAULTS", "hang *").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let tasks = format!("/proc/{}/task", child.id());
    wait_until("the rank", || std::fs::read_dir(&tasks).is_ok_and(|tasks| tasks.count() > 1))?;
    thread::sleep(Duration::from_millis(300));
    signal(&child, "INT")?;
    let began = Instant::now();
    while child.try_wait()?.is_none() {
        if began.elapsed() > Duration::from_secs(25) {
            child.kill()?;
            return Err("the run waits for ever for a device that does not answer".into());
        }
        thread::sleep(Duration::from_millis(50));
    }
    let ended = Ended::of(&child.wait_with_output()?);
    assert_eq!(ended.code, Some(130), "{}{}", ended.out, ended.err);
    let document = proof::document(&ended)?;
    assert!(results(&document).all(|result| text(result, "/outcome/status") == "skipped"), "{document:#}");
    Ok(())
}
