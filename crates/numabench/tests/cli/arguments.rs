//! Malformed arguments: each is answered with what was typed, why it cannot be read, and what to write
//! instead; exit code 2.

use crate::run::{Done, run};

/// What `COMMAND… OPTION VALUE` says, a line for each value: all are usage errors that name both.
#[track_caller]
fn malformed(command: &[&str], values: &[(&str, &str)]) -> String {
    let said = values.iter().map(|(option, value)| {
        let ended = run(&[command, &[*option, *value]].concat()).refused(2, &[]);
        assert!(ended.err.contains(&format!("invalid value '{value}' for '{option}")), "{}", ended.err);
        let (said, rest) = ended.err.split_once("\n\n").unwrap_or_default();
        assert!(rest.contains("try '--help'"), "{}", ended.err);
        said.to_owned()
    });
    said.collect::<Vec<_>>().join("\n")
}

/// The same of `pingpong` and one option.
#[track_caller]
fn malformed_option(option: &str, values: &[&str]) -> String {
    malformed(&["pingpong"], &values.iter().map(|value| (option, *value)).collect::<Vec<_>>())
}

#[test]
fn a_malformed_size_is_answered_with_how_sizes_are_written() {
    let values = [
        "128Q",
        "0",
        "0KiB",
        "3-1",
        "many",
        "1.5B",
        "128MB",
        "99999999TiB",
        "18446744073709551616",
        "4,,8",
        "1GiB..4B",
        "4B..1GiB:1",
        "4B..128Q",
        "1-5000",
    ];
    insta::assert_snapshot!(malformed_option("--size", &values), @r#"
    error: invalid value '128Q' for '--size <SIZES>': "128Q" is not a size, as there is no unit "Q": use B, KiB, MiB, GiB or TiB (K, M, G and T mean the same), e.g. 128MiB
    error: invalid value '0' for '--size <SIZES>': the size "0" is zero: at least 1 byte must move
    error: invalid value '0KiB' for '--size <SIZES>': the size "0KiB" is zero: at least 1 byte must move
    error: invalid value '3-1' for '--size <SIZES>': "3-1" is not a size, as there is no unit "-1": use B, KiB, MiB, GiB or TiB (K, M, G and T mean the same), e.g. 128MiB
    error: invalid value 'many' for '--size <SIZES>': "many" is not a size: write a positive number with B, KiB, MiB, GiB or TiB (bytes if there is none), e.g. 128MiB
    error: invalid value '1.5B' for '--size <SIZES>': the size "1.5B" is not a whole number of bytes (or has more than 18 decimals): write fewer decimals or a smaller unit, e.g. 1536KiB for 1.5MiB
    error: invalid value '128MB' for '--size <SIZES>': the unit of "128MB" is read in two ways: write 128MiB for powers of 1024 or 128000000B for powers of 1000
    error: invalid value '99999999TiB' for '--size <SIZES>': the size "99999999TiB" is too large: at most 128TiB, which is all that a process can address
    error: invalid value '18446744073709551616' for '--size <SIZES>': the size "18446744073709551616" is too large: at most 128TiB, which is all that a process can address
    error: invalid value '4,,8' for '--size <SIZES>': the size list "4,,8" has an empty item: write sizes and ranges with commas between, e.g. 4B,64KiB..1GiB
    error: invalid value '1GiB..4B' for '--size <SIZES>': the size range "1GiB..4B" runs backwards: write the smaller size first, e.g. 4B..1GiB
    error: invalid value '4B..1GiB:1' for '--size <SIZES>': the factor of the size range "4B..1GiB:1" must be a whole number of 2 or more, e.g. 4B..8GiB:4
    error: invalid value '4B..128Q' for '--size <SIZES>': "128Q" is not a size, as there is no unit "Q": use B, KiB, MiB, GiB or TiB (K, M, G and T mean the same), e.g. 128MiB
    error: invalid value '1-5000' for '--size <SIZES>': "1-5000" is not a size, as there is no unit "-5000": use B, KiB, MiB, GiB or TiB (K, M, G and T mean the same), e.g. 128MiB
    "#);
}

#[test]
fn a_malformed_list_of_pus_is_answered_with_how_lists_are_written() {
    let values = ["3-1", "0,,1", "", "x", "0-9:0", "99999999999999999999", "0-4294967295"];
    insta::assert_snapshot!(malformed_option("--cpus", &values), @r#"
    error: invalid value '3-1' for '--cpus <LIST>': the range "3-1" runs backwards: write the smaller id first
    error: invalid value '0,,1' for '--cpus <LIST>': the list "0,,1" has an empty item: write ids and ranges with commas between, e.g. 0-3,8 or 0-31:2
    error: invalid value '' for '--cpus <LIST>': the list "" has an empty item: write ids and ranges with commas between, e.g. 0-3,8 or 0-31:2
    error: invalid value 'x' for '--cpus <LIST>': "x" in the list "x" is not an id or a range: write N, N-M or N-M:STEP, e.g. 49, 0-3 or 0-31:2
    error: invalid value '0-9:0' for '--cpus <LIST>': the range "0-9:0" has a step of 0: the step must be 1 or more
    error: invalid value '99999999999999999999' for '--cpus <LIST>': the id in "99999999999999999999" is above 65536, the largest that numabench accepts
    error: invalid value '0-4294967295' for '--cpus <LIST>': the id in "0-4294967295" is above 65536, the largest that numabench accepts
    "#);
}

#[test]
fn reserved_pus_that_the_machine_does_not_have_are_refused_alike_wherever_they_are_named() {
    let plan = &["place", "--gpus", "none", "--reserve", "9999"][..];
    let measure = &["place", "--measure", "--backend", "host", "--max-time", "2s", "--reserve", "9999"];
    let exec = &["exec", "--gpus", "none", "--reserve", "9999", "--", "true"];
    let words = |command: &[&str]| run(command).refused(2, &["--reserve 9999: this machine has PUs "]).err;
    let planned = words(plan);
    assert_eq!([words(measure), words(exec)], [planned.clone(), planned]);
}

#[test]
fn reserved_pus_that_are_none_are_no_list() {
    // What a variable that is not set leaves of `--reserve "$PUS"`: nothing would be reserved, and nobody be
    // told.
    let planned = malformed(&["place"], &[("--reserve", "")]);
    assert_eq!(malformed(&["exec", "--print"], &[("--reserve", "")]), planned);
    insta::assert_snapshot!(planned, @r#"error: invalid value '' for '--reserve <LIST>': the list "" has an empty item: write ids and ranges with commas between, e.g. 0-3,8 or 0-31:2"#);
}

#[test]
fn a_malformed_list_of_gpus_is_answered_with_the_ways_to_name_one() {
    insta::assert_snapshot!(malformed_option("--gpus", &["gpu0", "0000:zz:00.0", "3-1", "0-1:0", ""]), @r#"
    error: invalid value 'gpu0' for '--gpus <LIST>': "gpu0" names no device: write indices in PCI order (0,1 or 0-3), PCI addresses (0000:c1:00.0), UUIDs (GPU-…) or all
    error: invalid value '0000:zz:00.0' for '--gpus <LIST>': "0000:zz:00.0" names no device: write indices in PCI order (0,1 or 0-3), PCI addresses (0000:c1:00.0), UUIDs (GPU-…) or all
    error: invalid value '3-1' for '--gpus <LIST>': the range "3-1" runs backwards: write the smaller id first
    error: invalid value '0-1:0' for '--gpus <LIST>': the range "0-1:0" has a step of 0: the step must be 1 or more
    error: invalid value '' for '--gpus <LIST>': the list "" has an empty item: write ids and ranges with commas between, e.g. 0-3,8 or 0-31:2
    "#);
}

#[test]
fn a_number_out_of_range_is_answered_with_the_range() {
    let values = [
        ("--floats", "0"),
        ("--floats", "35184372088833"),
        ("--floats", "99999999999999999999"),
        ("--reps", "0"),
        ("--reps", "18446744073709551615"),
        ("--reps", "18446744073709551616"),
        ("--reps", "1e6"),
        ("--seed", "x"),
        ("--seed", "18446744073709551616"),
        ("--membind", "here"),
        ("--max-time", "soon"),
        ("--timeout", "-"),
        ("--memory", "ram"),
        ("--direction", "up"),
        ("--backend", "rocm"),
    ];
    insta::assert_snapshot!(malformed(&["pingpong"], &values), @r#"
    error: invalid value '0' for '--floats <N>': "0" is not a whole number from 1 to 35184372088832
    error: invalid value '35184372088833' for '--floats <N>': "35184372088833" is not a whole number from 1 to 35184372088832
    error: invalid value '99999999999999999999' for '--floats <N>': "99999999999999999999" is not a whole number from 1 to 35184372088832
    error: invalid value '0' for '--reps <N>': "0" is not a whole number from 1 to 10000000
    error: invalid value '18446744073709551615' for '--reps <N>': "18446744073709551615" is not a whole number from 1 to 10000000
    error: invalid value '18446744073709551616' for '--reps <N>': "18446744073709551616" is not a whole number from 1 to 10000000
    error: invalid value '1e6' for '--reps <N>': "1e6" is not a whole number from 1 to 10000000
    error: invalid value 'x' for '--seed <N>': "x" is not a whole number from 0 to 18446744073709551615
    error: invalid value '18446744073709551616' for '--seed <N>': "18446744073709551616" is not a whole number from 0 to 18446744073709551615
    error: invalid value 'here' for '--membind <WHERE>': "here" is neither local, a NUMA node's number, interleave[:NODES] nor weighted[:NODES] (nodes as 0-1,3)
    error: invalid value 'soon' for '--max-time <TIME>': "soon" is not a duration: write a number with ns, us, ms, s, m or h (seconds if there is none), e.g. 30s, 1.5s, 500ms or 2m
    error: invalid value '-' for '--timeout <TIME>': "-" is not a duration: write a number with ns, us, ms, s, m or h (seconds if there is none), e.g. 30s, 1.5s, 500ms or 2m
    error: invalid value 'ram' for '--memory <KINDS>'
      [possible values: pinned, pinned-driver, pageable, managed, system]
    error: invalid value 'up' for '--direction <DIRECTIONS>'
      [possible values: h2d, d2h, roundtrip, bidir]
    error: invalid value 'rocm' for '--backend <BACKEND>'
      [possible values: auto, cuda, hip, host]
    "#);
    // Those of other commands, one of each type.
    let others = [
        &["exec", "--cores-per-rank", "18446744073709551616", "--", "true"][..],
        &["exec", "--ranks", "2", "--rank", "8192", "--", "true"],
        &["check", "--ranks", "0"],
        &["check", "--pid", "99999999999"],
        &["place", "-n", "99999999999999999999"],
        &["trial", "--max-runs", "4294967296", "--", "true"],
        &["topo", "--measure", "--reps", "99999999999999999999"],
        &["matrix", "--seed", "99999999999999999999"],
    ];
    let said = others.map(|args| run(args).refused(2, &[]).err.lines().next().unwrap_or_default().to_owned());
    insta::assert_snapshot!(said.join("\n"), @r#"
    error: invalid value '18446744073709551616' for '--cores-per-rank <N>': "18446744073709551616" is not a whole number from 1 to 8192
    error: invalid value '8192' for '--rank <N>': "8192" is not a whole number from 0 to 8191
    error: invalid value '0' for '--ranks <M>': "0" is not a whole number from 1 to 8192
    error: invalid value '99999999999' for '--pid <PID[,PID...]>': "99999999999" is not a whole number from 1 to 4194304
    error: invalid value '99999999999999999999' for '--ranks <N>': "99999999999999999999" is not a whole number from 1 to 8192
    error: invalid value '4294967296' for '--max-runs <N>': "4294967296" is not a whole number from 1 to 300
    error: invalid value '99999999999999999999' for '--reps <N>': "99999999999999999999" is not a whole number from 1 to 10000000
    error: invalid value '99999999999999999999' for '--seed <N>': "99999999999999999999" is not a whole number from 0 to 18446744073709551615
    "#);
}

#[test]
fn options_that_exclude_or_need_each_other_say_so() {
    run(&["pingpong", "--size", "1KiB", "--floats", "2"])
        .refused(2, &["--size", "cannot be used with", "--floats"]);
    run(&["pingpong", "--warmup", "2"]).refused(2, &["--warmup needs --reps"]);
    run(&["pingpong", "--dry-run", "--json", "x"])
        .refused(2, &["--dry-run", "cannot be used with", "--json"]);
}

#[test]
fn an_unknown_option_or_command_is_answered_with_the_usage() {
    run(&["pingpong", "--cpu", "0"]).refused(2, &["'--cpu'", "--cpus", "Usage: numabench pingpong"]);
    run(&["pinpong"]).refused(2, &["'pinpong'", "pingpong", "Usage: numabench"]);
}

#[test]
fn without_a_command_the_usage_is_shown_and_the_exit_code_is_usage() {
    let ended = run(&[]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("Usage:") && ended.out.is_empty(), "{}{}", ended.out, ended.err);
}

#[test]
fn bytes_that_are_no_text_are_refused_and_not_a_panic() -> Done {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let odd = OsStr::from_bytes(b"4\xff");
    let ended =
        crate::run::end(&mut crate::run::numabench(), [OsStr::new("pingpong"), OsStr::new("--size"), odd]);
    ended.refused(2, &["UTF-8"]);
    Ok(())
}
