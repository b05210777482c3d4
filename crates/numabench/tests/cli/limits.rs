//! Limits of processes and memory, and values at the ends of their ranges: a result or a message, never a
//! panic.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::run::{BINARY, Done, Ended, host, no_driver, run, skipped, variables};

/// The largest sizes and shortest times that can be typed.
#[test]
fn values_at_the_ends_of_their_ranges_are_followed_or_refused() -> Done {
    let most = u64::MAX.to_string();
    let mut said = BTreeSet::new();
    for command in [&["matrix"][..], &["latency"], &["latency", "--loaded"], &["contend", "--beside", "read"]]
    {
        for range in [&most, "16777215TiB", "129TiB"] {
            let ended = run(&[command, &["--backend", "host", "--range", range, "--dry-run"]].concat());
            said.extend(ended.refused(2, &[]).err.lines().next().map(str::to_owned));
        }
        // The largest that can be typed, which no machine has.
        let ended = run(&[command, &["--backend", "host", "--range", "128TiB", "--reps", "1"]].concat());
        assert!(matches!(ended.code, Some(2 | 3)), "{command:?}: {}{}", ended.out, ended.err);
    }
    for command in ["pingpong", "sweep"] {
        let ended = run(&[command, "--backend", "host", "--size", &most, "--dry-run"]);
        said.extend(ended.refused(2, &[]).err.lines().next().map(str::to_owned));
    }
    // Every command says the same of the same value.
    insta::assert_snapshot!(said.into_iter().collect::<Vec<_>>().join("\n"), @r#"
    error: invalid value '129TiB' for '--range <SIZE>': the size "129TiB" is too large: at most 128TiB, which is all that a process can address
    error: invalid value '16777215TiB' for '--range <SIZE>': the size "16777215TiB" is too large: at most 128TiB, which is all that a process can address
    error: invalid value '18446744073709551615' for '--range <SIZE>': the size "18446744073709551615" is too large: at most 128TiB, which is all that a process can address
    error: invalid value '18446744073709551615' for '--size <SIZES>': the size "18446744073709551615" is too large: at most 128TiB, which is all that a process can address
    "#);
    let ended = run(&["topo", "--measure", "--within", "500ms"]);
    assert!(
        [Some(0), Some(1), Some(3), Some(6), Some(77)].contains(&ended.code),
        "{:?}: {}",
        ended.code,
        ended.err
    );
    Ok(())
}

/// A command under a limit, as a user who has no rights beyond it.
fn limited(limit: &str, folder: &Path, args: &[&str]) -> Result<Option<Ended>, Box<dyn std::error::Error>> {
    let mut command = Command::new("timeout");
    command.args(["30", "prlimit", limit]);
    // The kernel's limit of processes does not hold for root.
    if rustix::process::geteuid().is_root() {
        command.args(["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps", "-all"]);
    }
    let output = command.arg(BINARY).args(args).current_dir(folder).envs(variables(&no_driver())).output()?;
    let missing = String::from_utf8_lossy(&output.stderr).contains("No such file");
    Ok((!missing).then(|| Ended::of(&output)))
}

#[test]
fn commands_that_need_no_thread_do_without_one_and_others_say_that_they_cannot() -> Done {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir()?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    let path = folder.path().join("result.json");
    let to = path.display().to_string();
    host(&["--gpus", "0", "--size", "4KiB..1MiB", "--reps", "40", "--json", &to]).well();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644))?;
    for (args, codes) in [
        (&["compare", "result.json", "result.json"][..], &[0, 6][..]),
        (&["export", "result.json", "--to", "csv"], &[0]),
        (&["pingpong", "--backend", "host", "--gpus", "0", "--size", "4KiB", "--reps", "6"], &[1]),
        (&["trial", "--vary", "X=1", "--", "true"], &[1, 126]),
    ] {
        let Some(ended) = limited("--nproc=1", folder.path(), args)? else {
            skipped("limits: prlimit and setpriv are not here");
            return Ok(());
        };
        if ended.err.contains("Permission denied") {
            skipped("limits: another user may not start the binary here");
            return Ok(());
        }
        let code = ended.code.unwrap_or_default();
        assert!(codes.contains(&code), "{args:?}: {code}: {}{}", ended.out, ended.err);
        assert!(code == 0 || code == 6 || ended.err.contains("error: "), "{args:?}: {}", ended.err);
    }
    // No memory to start a thread in, or none to go on: an answer, or the allocator's own message and end.
    let ended = limited("--data=1048576", folder.path(), &["compare", "result.json", "result.json"])?;
    assert!(ended.is_some_and(|ended| ended.code != Some(124)), "it hangs");
    Ok(())
}

#[test]
fn a_process_that_variables_call_a_rank_of_nobodys_launch_says_why_it_ends() {
    for (rank, size) in [("5", "2"), ("1", "2")] {
        let mut command = crate::run::numabench();
        command.envs([("PMI_RANK", rank), ("PMI_SIZE", size)]);
        crate::run::end(&mut command, ["matrix", "--backend", "host", "--dry-run"])
            .refused(2, &["one process"]);
    }
    let mut command = crate::run::numabench();
    command.envs([("OMPI_COMM_WORLD_RANK", "7"), ("OMPI_COMM_WORLD_SIZE", "2")]);
    crate::run::end(&mut command, ["matrix", "--backend", "host", "--dry-run"]).refused(2, &["one process"]);
}

#[test]
fn an_argument_of_many_thousand_characters_is_not_echoed_whole() {
    let long = "a".repeat(20_000);
    for args in [
        ["pingpong", "--size", &long],
        ["place", "--from", &long],
        ["export", "--to", &long],
        ["compare", "--json", &long],
    ] {
        let ended = run(&args);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.len() < 4000, "{:?}: {} bytes", args[..2].to_vec(), ended.err.len());
    }
}
