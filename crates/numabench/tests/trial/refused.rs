//! What ends a trial before its first counted run, with the way out.

use crate::run::{Done, Ended, no_driver, run, spawnable};
use crate::{PRINTED, PROGRAM};

#[test]
fn what_cannot_be_tried_is_refused_with_the_way_out() {
    let printed = |options: &[&'static str]| [&["trial"][..], options, &PRINTED, &PROGRAM].concat();
    let of = |options: &[&'static str], program: &[&'static str]| {
        [&["trial"][..], options, &["--"], program].concat()
    };
    let mut said = String::new();
    for (args, code) in [
        (of(&["--vary", "X=1"], &["/no/such/program"]), 127),
        (of(&["--launch", "no-such-launcher {app}"], &["true"]), 127),
        (of(&["--launch", "env true"], &["true"]), 2),
        (of(&["--launch", "env {app}"], &["true"]), 2),
        (of(&["--placements", "close", "--launch", "env {app}"], &["true"]), 2),
        (of(&["--placements", "close", "--launch", "env {app}", "--launch", "nice {app}"], &["true"]), 2),
        (of(&["--gpu", "near", "--vary", "X=1"], &["true"]), 2),
        (of(&["--gpu", "own", "--aa", "2"], &["true"]), 2),
        (of(&["--aa", "2", "--launch", "env {app}", "--launch", "nice {app}"], &["true"]), 2),
        (of(&["--metric", "x=([0-9]+)", "--vary", "X=1"], &["true"]), 2),
        (of(&["--better", "higher", "--vary", "X=1"], &["true"]), 2),
        (of(&["--vary", "membind=near"], &["true"]), 2),
        (of(&["--vary", "X=1", "--vary", "X=2"], &["true"]), 2),
        (of(&["--vary", "X=1", "--launch", "env X=2 {app}"], &["true"]), 2),
        (printed(&["--vary", "X=1", "--max-runs", "5"]), 2),
        (printed(&["--vary", "X=1", "--expect", "close"]), 2),
        (of(&["--placements", "closest"], &["true"]), 2),
        (of(&["--vary", "X"], &["true"]), 2),
        (of(&["--equivalence", "0"], &["true"]), 2),
        (of(&["--metric-json", "file"], &["true"]), 2),
    ] {
        said += run(&args).refused(code, &[]).err.split("\n\nFor more").next().unwrap_or_default().trim_end();
        said += "\n";
    }
    insta::assert_snapshot!(said, @r#"
    numabench: error: there is no program /no/such/program: give a path, or a name that is in PATH
    numabench: error: there is no program no-such-launcher: give a path, or a name that is in PATH
    numabench: error: the launch line "env true" must have {app} once, as a word of its own: it stands for the program and its arguments
    numabench: error: there is nothing to compare the baseline with: give --placements, a second --launch, --vary, or --aa for the baseline against itself
    numabench: error: --placements: the launch line "env {app}" has no place for the binding: write {bind} among its options
    numabench: error: --placements: the launch line "env {app}" has no place for the binding: write {bind} among its options
    numabench: error: --gpu says which GPUs a placed program sees, and none is placed here: add --placements, or leave --gpu out
    numabench: error: --gpu says which GPUs a placed program sees, and none is placed here: add --placements, or leave --gpu out
    numabench: error: --aa tries one line against itself, and --launch gives 2: leave the others out
    numabench: error: say whether less or more of the metric is better: --better lower or --better higher
    numabench: error: --better higher needs a metric: of the wall time less is better
    numabench: error: --vary membind: "near" is neither local, none, a NUMA node's number, interleave[:NODES] nor weighted[:NODES] (nodes as 0-1,3)
    numabench: error: --vary names X more than once: give all its values as one list, --vary X=1,2
    numabench: error: the launch line "env X=2 {app}" sets X itself, which --vary is to set: leave it out of the line, and give --vary its value too
    numabench: error: --max-runs 5 is too few: with 1 comparison no difference can be told before 6 runs of each
    numabench: error: --expect close: there is no such variant; there are baseline, X=1
    error: invalid value 'closest' for '--placements <LIST>': "closest" is not a strategy: write close, spread, compact or worst
    error: invalid value 'X' for '--vary <NAME=V1,V2>': "X" is not a list of values: write NAME=V1,V2, e.g. OMP_NUM_THREADS=7,14 or membind=local,interleave
    error: invalid value '0' for '--equivalence <PERCENT>': "0" is not a percentage: give one above 0 and below 100, e.g. 3%
    error: invalid value 'file' for '--metric-json <FILE:POINTER>': "file" is not FILE:POINTER: write for example result.json:/fom/rate
    "#);
}

#[test]
fn a_file_as_standard_input_is_refused_because_every_run_has_none() -> Done {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("input");
    std::fs::write(&file, "2\n")?;
    let ended = |text: &str, input: &std::path::Path| -> Result<Ended, Box<dyn std::error::Error>> {
        std::fs::write(input, text)?;
        let mut command = spawnable(&no_driver());
        command.args(["trial", "--vary", "X=1"]).args(PRINTED).args(PROGRAM).current_dir(folder.path());
        Ok(Ended::of(&command.stdin(std::fs::File::open(input)?).output()?))
    };
    ended("2\n", &file)?.refused(2, &["standard input is a file", "sh -c './app <FILE'"]);
    assert_eq!(ended("", &file)?.code, Some(0), "an empty file is what every run has");
    Ok(())
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
    let ended =
        in_folder(&[&["trial", "--vary", "X=1,2"][..], &PRINTED, &["--", "sh", "-c", script]].concat());
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
