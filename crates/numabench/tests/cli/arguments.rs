//! Malformed arguments: each is answered with what was typed, why it cannot be read, and what to write instead; exit code 2.

use crate::run::{Done, run};

/// `pingpong OPTION VALUE` is a usage error that names both and says all of `words`.
#[track_caller]
fn malformed(option: &str, value: &str, words: &[&str]) {
    let ended = run(&["pingpong", option, value]).refused(2, words);
    assert!(ended.err.contains(&format!("invalid value '{value}' for '{option}")), "{}", ended.err);
    assert!(ended.err.contains("try '--help'"), "{}", ended.err);
}

#[test]
fn a_malformed_size_is_answered_with_how_sizes_are_written() {
    for (value, words) in [
        ("128Q", ["\"128Q\" is not a size", "use B, KiB, MiB, GiB or TiB"]),
        ("0", ["is zero", "at least 1 byte"]),
        ("0KiB", ["is zero", "at least 1 byte"]),
        ("3-1", ["\"3-1\" is not a size", "e.g. 128MiB"]),
        ("many", ["\"many\" is not a size", "e.g. 128MiB"]),
        ("1.5B", ["not a whole number of bytes", "write fewer decimals"]),
        ("128MB", ["is read in two ways", "128MiB for powers of 1024 or 128000000B"]),
        ("99999999TiB", ["is too large", "at most 128TiB"]),
        ("18446744073709551616", ["is too large", "at most 128TiB"]),
        ("4,,8", ["has an empty item", "with commas between"]),
        ("1GiB..4B", ["runs backwards", "write the smaller size first"]),
        ("4B..1GiB:1", ["factor", "a whole number of 2 or more"]),
        ("4B..128Q", ["there is no unit \"Q\"", "use B, KiB, MiB, GiB or TiB"]),
        ("1-5000", ["there is no unit", "use B, KiB, MiB"]),
    ] {
        malformed("--size", value, &words);
    }
}

#[test]
fn a_malformed_list_of_pus_is_answered_with_how_lists_are_written() {
    for (value, words) in [
        ("3-1", ["\"3-1\" runs backwards", "write the smaller id first"]),
        ("0,,1", ["has an empty item", "0-3,8 or 0-31:2"]),
        ("", ["has an empty item", "0-3,8 or 0-31:2"]),
        ("x", ["\"x\"", "write N, N-M or N-M:STEP"]),
        ("0-9:0", ["a step of 0", "must be 1 or more"]),
        ("99999999999999999999", ["is above 65536", "the largest"]),
        ("0-4294967295", ["is above 65536", "the largest"]),
    ] {
        malformed("--cpus", value, &words);
    }
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
    // What a variable that is not set leaves of `--reserve "$PUS"`: nothing would be reserved, and nobody be told.
    for command in [&["place", "--reserve", ""][..], &["exec", "--print", "--reserve", "", "--", "true"]] {
        run(command).refused(2, &["--reserve", "has an empty item", "0-3,8 or 0-31:2"]);
    }
}

#[test]
fn a_malformed_list_of_gpus_is_answered_with_the_ways_to_name_one() {
    for (value, words) in [
        ("gpu0", ["\"gpu0\" names no device", "0000:c1:00.0"]),
        ("0000:zz:00.0", ["\"0000:zz:00.0\" names no device", "GPU-"]),
        ("3-1", ["\"3-1\" runs backwards", "write the smaller id first"]),
        ("0-1:0", ["a step of 0", "must be 1 or more"]),
        ("", ["has an empty item", "commas between"]),
    ] {
        malformed("--gpus", value, &words);
    }
}

#[test]
fn a_number_out_of_range_is_answered_with_the_range() {
    for (option, value, words) in [
        ("--floats", "0", ["\"0\" is not a whole number from 1 to 35184372088832", ""]),
        ("--floats", "35184372088833", ["is not a whole number from 1 to", "35184372088832"]),
        ("--floats", "99999999999999999999", ["is not a whole number from 1 to", "35184372088832"]),
        ("--reps", "0", ["\"0\" is not a whole number from 1 to 10000000", ""]),
        ("--reps", "18446744073709551615", ["\"18446744073709551615\" is not a whole number from 1 to 10000000", ""]),
        ("--reps", "18446744073709551616", ["\"18446744073709551616\" is not a whole number from 1 to 10000000", ""]),
        ("--reps", "1e6", ["\"1e6\" is not a whole number from 1 to 10000000", ""]),
        ("--seed", "x", ["\"x\" is not a whole number from 0 to 18446744073709551615", ""]),
        ("--seed", "18446744073709551616", ["is not a whole number from 0 to", "18446744073709551615"]),
        ("--membind", "here", ["neither local nor a NUMA node's number", ""]),
        ("--max-time", "soon", ["is not a duration", "e.g. 30s"]),
        ("--timeout", "-", ["is not a duration", "e.g. 30s"]),
        ("--memory", "ram", ["possible values", "pinned-driver"]),
        ("--direction", "up", ["possible values", "roundtrip"]),
        ("--backend", "rocm", ["possible values", "cuda"]),
    ] {
        malformed(option, value, &words);
    }
    // Those of other commands, one of each type.
    for (args, range) in [
        (&["exec", "--cores-per-rank", "18446744073709551616", "--", "true"][..], "1 to 8192"),
        (&["exec", "--ranks", "2", "--rank", "8192", "--", "true"], "0 to 8191"),
        (&["check", "--ranks", "0"], "1 to 8192"),
        (&["check", "--pid", "99999999999"], "1 to 4194304"),
        (&["place", "-n", "99999999999999999999"], "1 to 8192"),
        (&["trial", "--max-runs", "4294967296", "--", "true"], "1 to 300"),
        (&["topo", "--measure", "--reps", "99999999999999999999"], "1 to 10000000"),
        (&["matrix", "--seed", "99999999999999999999"], "0 to 18446744073709551615"),
    ] {
        run(args).refused(2, &["is not a whole number from", range]);
    }
}

#[test]
fn options_that_exclude_or_need_each_other_say_so() {
    run(&["pingpong", "--size", "1KiB", "--floats", "2"]).refused(2, &["--size", "cannot be used with", "--floats"]);
    run(&["pingpong", "--warmup", "2"]).refused(2, &["required", "--reps"]);
    run(&["pingpong", "--dry-run", "--json", "x"]).refused(2, &["--dry-run", "cannot be used with", "--json"]);
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
    let ended = crate::run::end(&mut crate::run::numabench(), [OsStr::new("pingpong"), OsStr::new("--size"), odd]);
    ended.refused(2, &["UTF-8"]);
    Ok(())
}
