//! PUs that cannot be had, each answered with which ones can; and lists whose lengths do not fit. (Offline
//! PUs and cpusets: `guest`.)

use std::error::Error;
use std::fs;
use std::process::Command;

use stats::IdSet;

use crate::run::{BINARY, Done, Ended, host, no_driver, skipped, variables};

/// The PUs this test may use.
pub fn allowed() -> Result<IdSet, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Ok(line.ok_or("the kernel does not say")?.trim().parse()?)
}

#[test]
fn a_pu_that_does_not_exist_is_answered_with_those_that_do() -> Done {
    let allowed = format!("allowed here: {}", allowed()?);
    host(&["--cpus", "60000"]).refused(2, &["PU 60000 does not exist", "its PUs are", &allowed]);
    Ok(())
}

#[test]
fn a_pu_outside_the_affinity_is_answered_with_the_allowed_list_and_the_way_out() -> Done {
    let allowed = allowed()?;
    let pus: Vec<u32> = allowed.iter().collect();
    let [mine, other, ..] = pus[..] else {
        skipped("a PU outside the affinity: there is only one PU here");
        return Ok(());
    };
    let mut taskset = Command::new("taskset");
    taskset.args([
        "-c",
        &mine.to_string(),
        BINARY,
        "pingpong",
        "--backend",
        "host",
        "--cpus",
        &other.to_string(),
    ]);
    let ended = Ended::of(&taskset.envs(variables(&no_driver())).output()?);
    ended.refused(
        2,
        &[
            &format!("PU {other} is outside the affinity"),
            "taskset",
            &format!("allowed here: {mine};"),
            "choose one of these",
        ],
    );
    Ok(())
}

#[test]
fn the_affinity_a_run_was_started_with_is_not_escaped() -> Done {
    let Some(last) = allowed()?.iter().last() else { return Err("no PU".into()) };
    let mut taskset = Command::new("taskset");
    taskset.args(["-c", &last.to_string(), BINARY, "pingpong", "--backend", "host", "--gpus", "0"]);
    taskset.args(["--size", "64KiB", "--reps", "6", "--json", "-"]);
    let ended = Ended::of(&taskset.envs(variables(&no_driver())).output()?);
    let document = crate::proof::document(&ended)?;
    assert_eq!(document["ranks"][0]["asked"]["pu"], last);
    assert_eq!(document["environment"]["topology"]["allowed_pus"], serde_json::json!([last]));
    Ok(())
}

#[test]
fn lists_of_unequal_lengths_are_answered_with_both_lengths() -> Done {
    let first = allowed()?.first().ok_or("no PU")?;
    let twice = format!("{first},{first}");
    host(&["--cpus", &twice, "--gpus", "0"])
        .refused(2, &["--cpus names 2 PUs", &twice, "--gpus names 1 device", "the same length"]);
    host(&["--cpus", &first.to_string(), "--gpus", "0,0,0"])
        .refused(2, &["--cpus names 1 PU", "--gpus names 3 devices"]);
    Ok(())
}

#[test]
fn more_pus_than_devices_is_answered_with_how_to_share_one() -> Done {
    let first = allowed()?.first().ok_or("no PU")?.to_string();
    let many = vec![first.as_str(); 4096].join(",");
    host(&["--cpus", &many]).refused(2, &["--cpus names 4096 PUs", "only", "--gpus", "more than once"]);
    Ok(())
}
