//! Runs that fail, hang, are moved or are interrupted, and a trial that is taken up again.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::{BINARY, Done, Ended, end, no_driver, numabench, skipped, spawnable};
use crate::{PRINTED, json, runs};

/// Runs a trial in this folder, with its document in `trial.json`.
fn in_folder(folder: &Path, args: &[&str]) -> Result<(Ended, Value), Box<dyn std::error::Error>> {
    let mut command = numabench();
    command.current_dir(folder).args(["trial", "--json", "trial.json"]);
    let ended = end(&mut command, args);
    let document =
        json(&folder.join("trial.json")).map_err(|error| format!("{error}: {}{}", ended.out, ended.err))?;
    Ok((ended, document))
}

#[test]
fn a_variant_that_begins_to_fail_is_given_up_and_the_others_are_decided() -> Done {
    let folder = tempfile::tempdir()?;
    // From its third run on X=2 fails: the warm-up and one block are well.
    let script = "echo run >>ran-$X; test \"$X\" = 2 && test $(wc -l <ran-2) -gt 2 && { echo broken; exit 3; \
        }; echo x=$((100 + ${X:-0} * 10))";
    let args = [&["--vary", "X=1,2"][..], &PRINTED, &["--", "sh", "-c", script]].concat();
    let (ended, document) = in_folder(folder.path(), &args)?;
    let outcomes: Vec<&str> = runs(&document)
        .into_iter()
        .filter(|run| run["variant"] == "X=2")
        .filter_map(|run| run["outcome"].as_str())
        .collect();
    assert_eq!(outcomes, ["counted", "failed", "failed", "failed"], "{}", ended.out);
    assert_eq!(document["comparisons"][0]["verdict"], "worse", "{}", ended.out);
    assert!(ended.out.lines().any(|line| line.contains("X=2") && line.contains("three")), "{}", ended.out);
    let file = runs(&document)
        .into_iter()
        .find_map(|run| run["output_file"].as_str())
        .ok_or("no output was kept")?;
    assert_eq!(std::fs::read_to_string(folder.path().join(file))?, "broken\n");
    assert_eq!(ended.code, Some(6), "one variant is not decided");
    Ok(())
}

#[test]
fn a_run_that_hangs_is_ended_and_the_trial_goes_on() -> Done {
    let folder = tempfile::tempdir()?;
    let script = "echo run >>ran; test $(wc -l <ran) -eq 6 && sleep 60; echo x=${X:-100}";
    let args =
        [&["--vary", "X=130", "--run-timeout", "3s"][..], &PRINTED, &["--", "sh", "-c", script]].concat();
    let (ended, document) = in_folder(folder.path(), &args)?;
    let hung = runs(&document).into_iter().filter(|run| run["outcome"] == "timed-out").count();
    assert_eq!((hung, ended.code), (1, Some(3)), "{}{}", ended.out, ended.err);
    assert_eq!(document["comparisons"][0]["verdict"], "worse");
    Ok(())
}

#[test]
fn a_run_whose_binding_is_changed_meanwhile_is_shown_and_not_counted() -> Done {
    if thread::available_parallelism()?.get() < 2
        || Command::new("taskset").arg("--version").output().is_err()
    {
        skipped("a binding that is changed: needs two CPUs and taskset");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    // There is no time to warm up. The third run is moved while it runs, as by somebody else.
    let script = "echo run >>ran; sleep 1.2; test $(wc -l <ran) -eq 3 && taskset -cp 1 $$ >/dev/null; sleep \
        2; echo x=${X:-100}";
    let options = ["--launch", "taskset -c 0 {app}", "--vary", "X=130", "--max-time", "12s"];
    let args = [&options[..], &PRINTED, &["--", "sh", "-c", script]].concat();
    let (ended, document) = in_folder(folder.path(), &args)?;
    let moved: Vec<&Value> =
        runs(&document).into_iter().filter(|run| run["outcome"] == "misplaced").collect();
    assert_eq!(moved.len(), 1, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("MISPLACED,"), "{}", ended.out);
    assert!(moved[0]["reason"].as_str().is_some_and(|why| why.contains("binding")), "{}", moved[0]);
    let looks = |run: &&Value| run["looks"].as_array().map_or(0, Vec::len);
    assert!(
        runs(&document).iter().all(|run| looks(run) >= 2),
        "every run is looked at twice, the first of a variant oftener"
    );
    let well = runs(&document).into_iter().filter(|run| run["outcome"] == "counted");
    // The last look: on a busy machine the first one may still meet `taskset` before it binds itself.
    let seen = well.filter_map(|run| run["looks"].as_array().and_then(|looks| looks.last()));
    let pus = seen
        .flat_map(|look| look["ranks"].as_array().into_iter().flatten())
        .map(|rank| rank["pus"].to_string());
    assert_eq!(pus.collect::<std::collections::BTreeSet<_>>(), ["[0]".to_owned()].into_iter().collect());
    Ok(())
}

#[test]
fn short_runs_that_are_never_where_their_variant_puts_them_are_misplaced() -> Done {
    if thread::available_parallelism()?.get() < 2
        || Command::new("taskset").arg("--version").output().is_err()
    {
        skipped("a program that binds itself elsewhere: needs two CPUs and taskset");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let options = ["--placements", "compact", "--max-runs", "6", "--equivalence", "50%"];
    let (ended, document) =
        in_folder(folder.path(), &[&options[..], &["--", "taskset", "-c", "1", "sleep", "0.4"]].concat())?;
    let misplaced = runs(&document).into_iter().filter(|run| run["outcome"] == "misplaced");
    assert!(misplaced.clone().count() >= 3, "{}", ended.out);
    assert!(misplaced.into_iter().all(|run| run["variant"] == "compact"), "{}", ended.out);
    assert_eq!(ended.code, Some(5), "{}{}", ended.out, ended.err);
    Ok(())
}

#[test]
fn what_runs_leave_running_is_ended_and_said() -> Done {
    let folder = tempfile::tempdir()?;
    let script = "echo $$ >>pids; setsid sh -c 'echo $$ >>pids; exec sleep 100' & until test $(tail -n 1 pids) \
        != $$; do sleep 0.01; done; echo x=${X:-100}";
    let args = [&["--vary", "X=130"][..], &PRINTED, &["--", "sh", "-c", script]].concat();
    let (ended, document) = in_folder(folder.path(), &args)?;
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    assert!(runs(&document).iter().all(|run| run["left_running"] == 1), "{}", ended.out);
    assert!(ended.out.contains("14 of 14 runs left 14 processes running"), "{}", ended.out);
    let pids = std::fs::read_to_string(folder.path().join("pids"))?;
    let is_there =
        |pid: &str| std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|text| !text.is_empty());
    assert_eq!((pids.lines().count(), pids.lines().filter(|pid| is_there(pid)).count()), (28, 0));
    Ok(())
}

#[test]
fn a_varied_variable_reaches_ranks_that_open_mpis_launcher_starts_without_its_own_environment() -> Done {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir()?;
    let mpirun = folder.path().join("mpirun");
    // As on another host: a rank has what -x gives it, and nothing of the launcher's.
    let script = "#!/bin/sh\n\
        [ \"$1\" = --version ] && echo 'mpirun (Open MPI) 4.1.4' && exit\n\
        given=\nwhile :; do case $1 in -x) given=\"$given $2\"; shift 2;; -n) shift 2;; *) break;; esac; done\n\
        exec env -i PATH=\"$PATH\" $given \"$@\"\n";
    std::fs::write(&mpirun, script)?;
    std::fs::set_permissions(&mpirun, std::fs::Permissions::from_mode(0o755))?;

    let line = format!("{} -n 2 {{app}}", mpirun.display());
    let options = ["--launch", &line, "--vary", "X=80"];
    let (ended, document) = in_folder(folder.path(), &[&options[..], &PRINTED, &crate::PROGRAM].concat())?;
    assert!(ended.out.starts_with("A difference that matters: X=80 is best."), "{}{}", ended.out, ended.err);
    let used = format!("Use: {} -x X=80 -n 2 sh -c 'echo x=${{X:-100}}'", mpirun.display());
    assert_eq!(document["verdict"][3], used.as_str());
    Ok(())
}

#[test]
fn ctrl_c_keeps_what_was_run_and_the_trial_can_be_taken_up() -> Done {
    let folder = tempfile::tempdir()?;
    let script = "sleep 0.15; echo x=${X:-100}";
    let program = [&["--vary", "X=130"][..], &PRINTED, &["--", "sh", "-c", script]].concat();
    let mut command = spawnable(&no_driver());
    command.current_dir(folder.path()).args(["trial", "--json", "trial.json"]).args(&program);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let file = folder.path().join("trial.json");
    let began = Instant::now();
    while json(&file).map_or(0, |document| runs(&document).len()) < 5 {
        assert!(began.elapsed() < Duration::from_secs(60), "no fifth run");
        thread::sleep(Duration::from_millis(20));
    }
    Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status()?;
    let ended = Ended::of(&child.wait_with_output()?);
    assert_eq!(ended.code, Some(130), "{}{}", ended.out, ended.err);
    let cut = json(&file)?;
    assert_eq!(cut["status"], "interrupted");
    let finished: Vec<Value> =
        runs(&cut).into_iter().filter(|run| run["outcome"] == "counted").cloned().collect();
    assert!((5..12).contains(&finished.len()), "{}", finished.len());

    let mut command = numabench();
    let ended = end(command.current_dir(folder.path()).arg("trial").arg("--resume"), ["trial.json"]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    let whole = json(&file)?;
    assert_eq!(runs(&whole).len(), 12, "six blocks of two");
    let kept: Vec<Value> = runs(&whole).into_iter().take(finished.len()).cloned().collect();
    assert_eq!(kept, finished, "what was finished is not run again");
    assert_eq!(whole["comparisons"][0]["verdict"], "worse");
    Ok(())
}

#[test]
fn a_trial_that_ends_while_it_warms_up_does_not_say_that_it_still_runs() -> Done {
    let folder = tempfile::tempdir()?;
    // The baseline runs; the other variant interrupts the trial, or fails.
    for (other, code, status) in [("kill -INT $PPID; sleep 30", 130, "interrupted"), ("exit 3", 2, "failed")]
    {
        let script = format!("test -z \"$X\" && exec echo x=1; {other}");
        let args = [&["--vary", "X=1"][..], &PRINTED, &["--", "sh", "-c", &script]].concat();
        let (ended, document) = in_folder(folder.path(), &args)?;
        assert_eq!(ended.code, Some(code), "{}{}", ended.out, ended.err);
        assert_eq!((&document["status"], &document["exit_code"]), (&status.into(), &code.into()));
        assert_eq!(document["runs"].as_array().map(Vec::len), Some(1), "the baseline's run is kept");
    }
    Ok(())
}

/// A trial of a program that is deaf to SIGTERM and has a child in a session of its own, until both run; then
/// it gets the signal. The program's mark and the temporary folder of the trial, which must be gone soon.
fn signalled(name: &str) -> Result<Ended, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let script =
        "echo $$ >>pids; trap '' TERM; setsid sh -c 'echo $$ >>pids; exec sleep 60' & sleep 60; wait";
    let mut command = spawnable(&no_driver());
    command.current_dir(folder.path()).env("TMPDIR", folder.path());
    command.args(["trial", "--vary", "X=1", "--", "sh", "-c", script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let pids = || -> Vec<String> {
        let text = std::fs::read_to_string(folder.path().join("pids")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let began = Instant::now();
    while pids().len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(30), "no program");
        thread::sleep(Duration::from_millis(20));
    }
    Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status()?;
    let ended = Ended::of(&child.wait_with_output()?);
    let left = || {
        let is_there = |pid: &String| {
            std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
        };
        let folders =
            std::fs::read_dir(folder.path()).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let folders = folders.filter(|name| name.to_string_lossy().starts_with("numabench-trial-")).count();
        (pids().iter().filter(|pid| is_there(pid)).count(), folders)
    };
    let asked = Instant::now();
    while left() != (0, 0) {
        assert!(
            asked.elapsed() < Duration::from_secs(10),
            "after SIG{name}: processes and folders left: {:?}",
            left()
        );
        thread::sleep(Duration::from_millis(50));
    }
    Ok(ended)
}

#[test]
fn no_signal_that_ends_a_trial_leaves_its_program_or_its_folder_behind() -> Done {
    for (name, code) in
        [("HUP", Some(129)), ("TERM", Some(143)), ("INT", Some(130)), ("XCPU", Some(152)), ("KILL", None)]
    {
        let ended = signalled(name)?;
        assert_eq!(ended.code, code, "SIG{name}: {}{}", ended.out, ended.err);
    }
    Ok(())
}

#[test]
fn a_trial_passes_on_a_variable_that_is_no_text() -> Done {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir()?;
    let mut command = numabench();
    command.current_dir(folder.path()).env("NOT_TEXT", std::ffi::OsStr::from_bytes(b"\xff"));
    let args = [
        "trial",
        "--placements",
        "close",
        "--max-runs",
        "6",
        "--metric",
        "x=([0-9.]+)",
        "--better",
        "lower",
        "--",
        "sh",
        "-c",
    ];
    let script = "printf %s \"$NOT_TEXT\" | od -An -tx1 | grep -q ff && echo x=100";
    let ended = end(&mut command, args.into_iter().chain([script]));
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    Ok(())
}

#[test]
fn a_trial_of_a_newer_minor_version_is_not_taken_up_and_stays_as_it_is() -> Done {
    let folder = tempfile::tempdir()?;
    let fixture = include_str!("../../../render/tests/results/documents/trial-1.0.json");
    let head = "\"schema_version\": \"1.";
    let at = fixture.find(head).ok_or("it has a version")? + head.len();
    // A field that this version does not know would be lost when the file is written again.
    let newer = format!("{}9{}", &fixture[..at], &fixture[at + 1..]);
    let file = folder.path().join("trial.json");
    std::fs::write(&file, &newer)?;
    let mut command = numabench();
    let ended = end(command.current_dir(folder.path()).arg("trial").arg("--resume"), ["trial.json"]);
    ended.refused(2, &["trial.json", "schema 1.9", "with that one"]);
    assert_eq!(std::fs::read_to_string(&file)?, newer);
    Ok(())
}

#[test]
fn a_trial_among_several_launched_ones_is_refused() -> Done {
    let mut command = assert_cmd::Command::new(BINARY);
    for (name, value) in [
        ("OMPI_COMM_WORLD_SIZE", "2"),
        ("OMPI_COMM_WORLD_RANK", "0"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
    ] {
        command.env(name, value);
    }
    end(&mut command, ["trial", "--vary", "X=1", "--", "true"]).refused(2, &["start it once", "--launch"]);
    Ok(())
}
