//! What ends a trial before its first counted run, with the way out.

use crate::run::{Done, run};
use crate::{PRINTED, PROGRAM};

#[test]
fn what_cannot_be_tried_is_refused_with_the_way_out() {
    let printed = |options: &[&'static str]| [&["trial"][..], options, &PRINTED, &PROGRAM].concat();
    let of = |options: &[&'static str], program: &[&'static str]| [&["trial"][..], options, &["--"], program].concat();
    for (args, code, words) in [
        (of(&["--vary", "X=1"], &["/no/such/program"]), 127, &["there is no program /no/such/program"][..]),
        (of(&["--launch", "no-such-launcher {app}"], &["true"]), 127, &["no-such-launcher"]),
        (of(&["--launch", "env true"], &["true"]), 2, &["{app} once"]),
        (of(&["--launch", "env {app}"], &["true"]), 2, &["nothing to compare", "--placements"]),
        (of(&["--placements", "close", "--launch", "env {app}"], &["true"]), 2, &["{bind}"]),
        (of(&["--metric", "x=([0-9]+)", "--vary", "X=1"], &["true"]), 2, &["--better lower or --better higher"]),
        (of(&["--better", "higher", "--vary", "X=1"], &["true"]), 2, &["of the wall time less is better"]),
        (of(&["--vary", "membind=near"], &["true"]), 2, &["membind=near", "local, interleave"]),
        (printed(&["--vary", "X=1", "--max-runs", "5"]), 2, &["--max-runs 5 is too few", "before 6 runs"]),
        (printed(&["--vary", "X=1", "--expect", "close"]), 2, &["--expect close", "baseline, X=1"]),
    ] {
        run(&args).refused(code, words);
    }
    for (args, words) in [
        (of(&["--placements", "closest"], &["true"]), "close, spread, compact or worst"),
        (of(&["--vary", "X"], &["true"]), "NAME=V1,V2"),
        (of(&["--equivalence", "0"], &["true"]), "not a percentage"),
        (of(&["--metric-json", "file"], &["true"]), "not FILE:POINTER"),
    ] {
        let ended = run(&args);
        assert!(ended.code == Some(2) && ended.err.contains(words), "{}", ended.err);
    }
}

#[test]
fn a_variant_that_does_not_work_in_the_warm_up_is_an_error_with_its_output() -> Done {
    let folder = tempfile::tempdir()?;
    let in_folder = |args: &[&str]| {
        let mut command = crate::run::numabench();
        command.current_dir(folder.path());
        crate::run::end(&mut command, args)
    };
    let script = "test \"$X\" != 2 || { echo what went wrong; exit 3; }; echo x=1";
    let ended = in_folder(&[&["trial", "--vary", "X=1,2"][..], &PRINTED, &["--", "sh", "-c", script]].concat());
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{}", ended.err);
    for words in [
        "the warm-up run of X=2 does not count: it ended with code 3",
        "| what went wrong",
        "numabench-trial/block-0-X_2.out",
    ] {
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
    }
    let ended = in_folder(&[
        "trial",
        "--vary",
        "X=1",
        "--metric",
        "GFLOPS ([0-9]+)",
        "--better",
        "higher",
        "--",
        "echo",
        "none",
    ]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("GFLOPS") && ended.err.contains("output"), "{}", ended.err);
    let ended = in_folder(&["trial", "--vary", "X=1", "--run-timeout", "200ms", "--", "sleep", "60"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("(--run-timeout)"), "{}", ended.err);
    Ok(())
}
