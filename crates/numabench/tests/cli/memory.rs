//! Memory that is not there, is not enough, or cannot be pinned. (Nodes without memory and nodes outside a
//! cpuset: `guest`.)

use std::error::Error;

use crate::proof::{self, list, results, text};
use crate::run::{BINARY, Done, Ended, end, host, no_driver, skipped, spawnable, variables, with_driver};
use crate::{driver, kinds};

#[test]
fn a_memory_node_that_does_not_exist_is_answered_with_those_that_have_memory() {
    host(&["--membind", "60000"]).refused(2, &["NUMA node 60000 does not exist", "nodes with memory are"]);
}

#[test]
fn a_device_node_that_does_not_exist_is_answered_with_those_there_are() {
    host(&["--gpus", "60000"]).refused(77, &["no device 60000", "node 0"]);
}

#[test]
fn more_memory_than_the_node_has_is_refused_before_anything_is_allocated() -> Done {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("result.json").display().to_string();
    for size in ["90TiB", "127TiB"] {
        // Were it allocated first, the answer would be mmap's or the kernel's.
        let ended = host(&["--gpus", "0", "--size", size, "--json", &file]);
        let refused = ended.refused(2, &["NUMA node", "need", "TiB"]).err;
        let way_out = refused.rsplit_once(": ").map(|(_, way_out)| way_out.to_owned());
        insta::allow_duplicates! { insta::assert_snapshot!(way_out.unwrap_or_default(), @"one range for one \
        direction, two for more, and where the device is a node, its copy of them); ask for a smaller \
        --size or fewer ranks") }
    }
    assert_eq!(folder.path().read_dir()?.count(), 0, "a run that did not begin leaves nothing");
    Ok(())
}

#[test]
fn the_memory_of_all_ranks_on_a_node_is_counted_together() {
    let each = "60000GiB";
    let ended = host(&["--gpus", "0,0,0", "--size", each]);
    ended.refused(2, &["3 ranks need"]);
}

#[test]
fn more_memory_than_the_gpu_has_is_refused_before_anything_is_allocated() -> Done {
    // The simulated GPUs have 256 MiB each.
    let refuse = |args: &[&str], words: &[&str]| -> Done {
        end(with_driver(&driver::fake()?).args(["pingpong", "--reps", "1"]), args).refused(2, words);
        Ok(())
    };
    refuse(
        &["--gpus", "1", "--size", "300MiB"],
        &["GPU 0000:c1:00.0 has 256 MiB", "300 MiB", "smaller --size"],
    )?;
    refuse(
        &["--gpus", "0,0", "--size", "200MiB"],
        &["GPU 0000:05:00.0 has 256 MiB", "2 ranks need 400 MiB"],
    )?;
    refuse(
        &["--gpus", "0", "--size", "200MiB", "--direction", "bidir"],
        &["1 rank needs 400 MiB", "--direction bidir"],
    )?;
    refuse(&["--gpus", "0", "--floats", "35184372088832"], &["needs 256 TiB"])
}

/// A run on the stand-in driver that refuses to register memory, with this locked-memory limit in KiB.
fn unpinnable(limit_kib: &str, args: &str) -> Result<Ended, Box<dyn Error>> {
    let mut shell = std::process::Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("ulimit -l {limit_kib} && exec {BINARY} pingpong --gpus 0 --size 1MiB --reps 6 {args}"));
    shell
        .envs(variables(&driver::fake()?))
        .env("FAKE_FAULTS", "fail cuMemHostRegister * 2")
        .env_remove("CUDA_VISIBLE_DEVICES");
    Ok(Ended::of(&shell.output()?))
}

#[test]
fn memory_that_cannot_be_pinned_fails_with_the_limit_and_the_ways_out() -> Done {
    let ended = unpinnable("64", "--json -")?;
    let document = proof::document(&ended)?;
    assert_eq!(ended.code, Some(1));
    for result in results(&document) {
        assert_eq!((text(result, "/outcome/status"), text(result, "/outcome/stage")), ("failed", "allocate"));
        assert_eq!(
            (text(result, "/outcome/call"), &result["outcome"]["code"]),
            ("cuMemHostRegister", &2.into())
        );
        let message = text(result, "/outcome/message");
        for word in [
            "pinning 1048576 bytes",
            "may lock 65536 bytes does not bound this driver",
            "free -m",
            "--memory pageable",
        ] {
            assert!(message.contains(word), "{word}: {message}");
        }
    }
    let table = unpinnable("64", "")?;
    assert_eq!(table.code, Some(1));
    assert!(table.out.contains("FAILED") && table.out.contains("65536"), "{}", table.out);
    Ok(())
}

#[test]
fn what_can_be_measured_without_pinning_still_is_and_the_run_is_partial() -> Done {
    let ended = unpinnable("64", "--memory pinned,pageable --direction h2d --json -")?;
    let document = proof::document(&ended)?;
    assert_eq!(ended.code, Some(3));
    let outcomes: Vec<&str> = results(&document).map(|result| text(result, "/outcome/status")).collect();
    assert_eq!(outcomes, ["failed", "measured"], "{:?}", proof::case_ids(&document));
    Ok(())
}

/// A command as in a container whose filter forbids move_pages(2); `None` without strace.
fn without_move_pages(command: &std::process::Command) -> Option<Ended> {
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null"]);
    strace.args(["-e", "trace=move_pages", "-e", "inject=move_pages:error=EPERM"]);
    strace.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    let output = strace.output().ok();
    if output.is_none() {
        skipped("pages where move_pages is refused: there is no strace");
    }
    output.map(|output| Ended::of(&output))
}

#[test]
fn where_a_containers_filter_forbids_move_pages_placement_is_proven_by_get_mempolicy() -> Done {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("result.json");
    let mut command = spawnable(&no_driver());
    let args =
        ["pingpong", "--backend", "host", "--size", "1MiB", "--reps", "2", "--order", "alone", "--json"];
    command.args(args).arg(&file);

    let Some(ended) = without_move_pages(&command) else { return Ok(()) };
    ended.well();
    let seen = &proof::file(&file)?["cases"][0]["ranks"][0]["seen_after"]["host_pages"];
    match list(seen, "/value") {
        [_] => assert_eq!(text(seen, "/source"), "get_mempolicy(2)"),
        _ => skipped(&format!("where pages lie is not told here: {seen}")),
    }
    Ok(())
}

/// get_mempolicy(2) would bring the GPU's pages to the host, and a refusal is no page of the GPU's.
#[test]
fn where_move_pages_is_forbidden_nothing_is_said_of_where_managed_memory_lies() -> Done {
    let mut command = spawnable(&kinds::tried()[0].folder()?);
    command.args(["sweep", "--memory", "managed", "--size", "1MiB", "--max-time", "2s", "--json", "-"]);

    let Some(ended) = without_move_pages(&command) else { return Ok(()) };
    let document = proof::document(&ended)?;
    assert!(
        results(&document).count() > 0 && results(&document).all(|result| list(result, "/away").is_empty())
    );
    assert!(
        !ended.out.contains("Pages that the GPU has read")
            && !ended.err.contains("Pages that the GPU has read")
    );
    Ok(())
}
