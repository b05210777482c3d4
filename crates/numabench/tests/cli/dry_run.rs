//! `--dry-run`: the plan, and no driver. (Its text word for word: `guest`, where the machine is always the
//! same.)

use crate::driver;
use crate::run::{Done, end, host, run, with_driver};

#[test]
fn a_dry_run_loads_no_driver_and_a_run_does() -> Done {
    let folder = tempfile::tempdir()?;
    let tripped = folder.path().join("driver-was-loaded");
    let with = |args: &[&str]| -> Result<crate::run::Ended, Box<dyn std::error::Error>> {
        Ok(end(with_driver(&driver::tripwire()?).env("TRIPWIRE", &tripped), args))
    };
    for args in [&["pingpong", "--dry-run"][..], &["topo"], &["topo", "--json"], &["--help"]] {
        with(args)?.well();
        assert!(!tripped.exists(), "{args:?} loaded the driver");
    }
    with(&["pingpong", "--dry-run", "--gpus", "60000"])?.refused(77, &[]);
    with(&["pingpong", "--backend", "host", "--gpus", "0", "--size", "4B", "--reps", "1"])?.well();
    assert!(!tripped.exists(), "host memory needs no driver");
    with(&["pingpong", "--size", "4B", "--reps", "1", "--order", "alone"])?.well();
    assert!(tripped.exists(), "the wire is not where the driver is loaded, so this test proves nothing");
    Ok(())
}

#[test]
fn a_dry_run_says_who_goes_where_and_what_would_be_measured() {
    let plan = host(&[
        "--dry-run",
        "--gpus",
        "0,0",
        "--size",
        "4B..16B",
        "--direction",
        "h2d,bidir",
        "--order",
        "both",
    ]);
    let text = plan.well().out;
    insta::assert_snapshot!(text.lines().next().unwrap_or_default(), @"Plan (dry run: no GPU was touched, \
        nothing was measured)");
    for words in ["dry run", "rank 0", "rank 1", "4 B, 8 B, 16 B", "h2d, bidir", "12 on 2 ranks"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let one = host(&["--dry-run", "--gpus", "0", "--size", "4B", "--direction", "h2d"]).well().out;
    assert!(one.lines().any(|line| line.contains("1 on 1") && !line.contains("ranks")), "{one}");
}

#[test]
fn a_dry_run_finds_the_faults_that_a_run_would() {
    host(&["--dry-run", "--cpus", "60000"]).refused(2, &["PU 60000 does not exist"]);
    host(&["--dry-run", "--membind", "60000"]).refused(2, &["NUMA node 60000 does not exist"]);
    let ended = host(&["--dry-run", "--gpus", "0", "--size", "100TiB"]);
    assert_eq!(ended.code, Some(2), "{}", ended.out);
    assert!(ended.err.contains("smaller") && ended.err.contains("--size"), "{}", ended.err);
    run(&["pingpong", "--dry-run", "--backend", "host", "--gpus", "60000"]).refused(77, &["no device 60000"]);
}

/// What no machine has and a process could address, asked of every command that has a size or a range: the
/// plan refuses it as the run does, and in the same words.
#[test]
fn a_dry_run_refuses_the_memory_that_a_run_would() {
    const MUCH: &str = "100TiB";
    let commands: [&[&str]; 6] = [
        &["pingpong", "--size", MUCH],
        &["sweep", "--size", MUCH],
        &["contend", "--ranks-per-gpu", "2", "--size", MUCH],
        &["contend", "--beside", "read", "--beside-cpus", "1", "--range", MUCH],
        &["matrix", "--access", "load", "--range", MUCH],
        &["latency", "--loaded", "--range", MUCH],
    ];
    for args in commands {
        let on_host: &[&str] = if args[0] == "latency" { &[] } else { &["--backend", "host"] };
        let args = [args, on_host].concat();
        let (dry, run) = (run(&[&args[..], &["--dry-run"]].concat()), run(&args));
        assert_eq!((dry.code, run.code), (Some(2), Some(2)), "{args:?}: {}{}{}", dry.out, dry.err, run.err);
        let option = if args.contains(&"--size") { "--size" } else { "--range" };
        let names = dry.err.contains("smaller") && dry.err.contains(option);
        assert!(names && dry.err == run.err, "{args:?}: {}{}", dry.err, run.err);
        assert!(!dry.out.contains(" 0 B"), "{args:?}: {}", dry.out);
    }
}
