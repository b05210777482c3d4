//! `numabench peer` on stand-in devices that reach each other at described rates, and on some that do not.
//! Some 460 lines because they are tests of one command.

use std::process::Command;

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::proof::{self, list, text};
use crate::run::{Done, Ended, end, run, spawnable, with_driver};

/// The first copies to the second twice as fast as that one back, and within its own memory half as fast
/// again.
const REACH: &str = "device 0000:05:00.0; peers 1; peer 200GB/s 1us; within 400GB/s 10ns; \
    device 0000:c1:00.0; peers 0; peer 100GB/s 1us; within 300GB/s 10ns";

fn described(
    kind: &Kind,
    devices: &str,
    faults: &str,
    args: &[&str],
) -> Result<Ended, Box<dyn std::error::Error>> {
    let told = [
        ("FAKE_DEVICES", devices.to_owned()),
        ("FAKE_FAULTS", faults.to_owned()),
        ("LD_PRELOAD", kind.library()?),
    ];
    let common = ["peer", "--backend", kind.name, "--size", "4MiB", "--json", "-"];
    Ok(end(with_driver(&kind.folder()?).args(common).envs(told), args))
}

/// The median rate of each copy in the cases of this group and size, GB/s: of all pairs, then of each GPU
/// with itself.
fn rates(document: &Value, group: &str, bytes: u64) -> Vec<f64> {
    let wanted = |case: &&Value| text(case, "/group") == group && case["bytes"] == bytes;
    let ranks = list(document, "/cases").iter().filter(wanted).flat_map(|case| list(case, "/ranks"));
    ranks.filter_map(|rank| Some(rank["outcome"]["summary"]["median_bytes_per_s"].as_f64()? / 1e9)).collect()
}

/// Whether these are the rates wanted, to 5 %: a copy of 4 MiB waits for its 1 us.
fn near(rates: &[f64], wanted: &[f64]) -> bool {
    rates.len() == wanted.len()
        && rates.iter().zip(wanted).all(|(rate, wanted)| (rate / wanted - 1.0).abs() < 0.05)
}

fn sentences(document: &Value) -> Vec<&str> {
    list(document, "/verdict").iter().filter_map(Value::as_str).collect()
}

#[test]
fn each_gpus_copies_to_each_other_have_its_rate_and_every_byte_is_compared() -> Done {
    for kind in kinds::tried() {
        let ended = described(&kind, REACH, "", &["--reps", "20"])?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        let one_way = rates(&document, "one-way", 4 << 20);
        assert!(near(&one_way[..2], &[200.0, 100.0]), "{one_way:?}");
        assert!(near(&rates(&document, "both-ways", 4 << 20), &[200.0, 100.0]), "{document:#}");
        assert_eq!(rates(&document, "one-way", 4).len(), 2, "and how long the smallest copy takes");
        let both = list(&document, "/cases")
            .iter()
            .find(|case| text(case, "/group") == "both-ways")
            .ok_or("no case")?;
        let sum =
            both["aggregate"]["sum_bytes_per_s"].as_f64().ok_or("the two were at once, and have no sum")?
                / 1e9;
        assert!(near(&[sum], &[300.0]), "{sum}");
        for result in proof::results(&document) {
            assert_eq!(result["verification"]["checked"], true, "{result:#}");
        }
        let said = sentences(&document);
        insta::assert_snapshot!("copies_between_two_gpus", proof::without_figures(&said.join("\n")));
        assert!(!said.iter().any(|sentence| sentence.contains("staged")), "{said:?}");
    }
    Ok(())
}

#[test]
fn areas_are_allocated_once_an_allocation_and_not_for_every_block_of_every_pair() -> Done {
    for kind in kinds::tried() {
        let folder = tempfile::tempdir()?;
        let calls = folder.path().join("calls");
        let gpu = |at: usize, peers: &str| {
            format!(
                "device 0000:{at:02x}:00.0; memory 1GiB; peers {peers}; peer 200GB/s 1us; within 400GB/s 10ns"
            )
        };
        let devices = [gpu(5, "1 2"), gpu(6, "0 2"), gpu(7, "0 1")].join("; ");
        let told = [
            ("FAKE_DEVICES", devices),
            ("FAKE_CALLS", calls.display().to_string()),
            ("LD_PRELOAD", kind.library()?),
        ];
        let args = ["peer", "--backend", kind.name, "--size", "4MiB", "--reps", "20", "--json", "-"];
        let document = proof::document(&end(with_driver(&kind.folder()?).envs(told), args))?;
        assert_eq!(document["status"], "complete", "{}", document["status_reason"]);

        let counts = std::fs::read_to_string(&calls)?;
        let count = |name: &str| {
            counts
                .lines()
                .filter_map(|line| line.rsplit_once(' '))
                .find(|(call, _)| *call == name)?
                .1
                .parse()
                .ok()
        };
        let allocated: usize = count(kind.allocate).ok_or("nothing was allocated")?;
        // Three GPUs, three allocations, of 4 MiB an area to copy from and one on each GPU, of 4 B one on
        // each other GPU and one to copy from; and a few of each context's own. 21 setups of ten blocks would
        // be 420.
        assert!(allocated <= 3 * 3 * (4 + 3) + 3 * 8, "{allocated} areas: {counts}");
    }
    Ok(())
}

#[test]
fn what_the_driver_stages_is_said_and_a_wrong_byte_ends_it_with_4() -> Done {
    for kind in kinds::tried() {
        let apart = "device 0000:05:00.0; device 0000:c1:00.0";
        let document = proof::document(&described(&kind, apart, "", &["--reps", "6"])?)?;
        let said: Vec<&str> = list(&document, "/verdict").iter().filter_map(Value::as_str).collect();
        let staged =
            |sentence: &&str| ["GPU 0", "staged", "GPU 1"].iter().all(|part| sentence.contains(part));
        assert!(said.iter().any(staged), "{said:?}");

        let ended = described(&kind, REACH, "corrupt * 70001", &["--reps", "6"])?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(4), "{}", document["status_reason"]);
    }
    Ok(())
}

/// As `REACH`, with the time of a load of the other one's memory.
const LOADS: &str = "device 0000:05:00.0; peers 1; peer 200GB/s 1us; peer-loads 650ns; within 400GB/s 10ns; \
    device 0000:c1:00.0; peers 0; peer 100GB/s 1us; peer-loads 900ns; within 300GB/s 10ns";

/// The results of the loads.
fn loads(document: &Value) -> Vec<&Value> {
    let cases = list(document, "/cases").iter().filter(|case| text(case, "/group") == "loads");
    cases.flat_map(|case| list(case, "/ranks")).collect()
}

#[test]
fn each_gpus_load_of_each_others_memory_is_told_apart_from_the_smallest_copy() -> Done {
    for kind in &kinds::tried() {
        let ended = described(kind, LOADS, "", &["--reps", "12", "--latency"])?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        let found = loads(&document);
        assert_eq!(found.len(), 2, "{document:#}");
        for (result, ns) in found.iter().zip([650.0, 900.0]) {
            let median = result["outcome"]["summary"]["median_ns"].as_f64().ok_or("no time")?;
            assert!((median / ns - 1.0).abs() < 0.01, "{median} ns, not {ns}");
            assert_eq!(result["verification"]["checked"], true);
        }
        let case = list(&document, "/cases")
            .iter()
            .find(|case| text(case, "/group") == "loads")
            .ok_or("no loads")?;
        assert_eq!(
            (text(case, "/direction"), text(case, "/memory"), text(case, "/timing")),
            ("load", "device", "device")
        );
        assert_eq!(rates(&document, "one-way", 4).len(), 2, "the smallest copies are there as well");
        let said: Vec<&str> = list(&document, "/verdict").iter().filter_map(Value::as_str).collect();
        let sentence = "GPU to GPU, loads by a kernel (64 MiB, load latency): 650–900 ns; 1 of 2 pairs is \
            more than 10 % behind the best, slowest: by GPU 1 from GPU 0.";
        assert!(said.contains(&sentence), "{said:?}");

        let ended = described(kind, LOADS, "kernels chase-stops", &["--reps", "6", "--latency"])?;
        let document = proof::document(&ended)?;
        assert!(
            loads(&document).iter().all(|result| text(result, "/outcome/status") == "invalid"),
            "{document:#}"
        );
    }
    Ok(())
}

#[test]
fn loads_where_a_gpu_reaches_no_other_or_runs_no_kernel_are_missing_with_the_reason() -> Done {
    for kind in kinds::tried() {
        let apart = "device 0000:05:00.0; device 0000:c1:00.0";
        let (faults, why) = match kind.name {
            "cuda" => ("", "cannot reach the other one's memory"),
            _ => (kinds::NO_COMPILER, kinds::NO_KERNEL),
        };
        let ended = described(&kind, apart, faults, &["--reps", "6", "--latency"])?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(3), "what was asked for is missing: {}", document["status_reason"]);
        let found = loads(&document);
        assert_eq!(found.len(), 2);
        for result in found {
            assert_eq!(text(result, "/outcome/status"), "skipped", "{result}");
            assert!(text(result, "/outcome/reason").contains(why), "{result}");
        }
        let said = list(&document, "/verdict")
            .iter()
            .filter_map(Value::as_str)
            .filter(|said| said.contains(why))
            .count();
        assert_eq!(said, 1, "{}", document["verdict"]);
    }
    Ok(())
}

#[test]
fn each_gpus_copies_within_its_memory_have_its_rate_and_no_pair_is_compared_with_them() -> Done {
    for kind in kinds::tried() {
        for (engine, by) in [("ce", ""), ("sm", ", by a kernel")] {
            let args = ["--reps", "12", "--engine", engine];
            let document = proof::document(&described(&kind, REACH, "", &args)?)?;
            let one_way = rates(&document, "one-way", 4 << 20);
            assert!(near(&one_way, &[200.0, 100.0, 400.0, 300.0]), "{one_way:?}");
            assert_eq!(rates(&document, "both-ways", 4 << 20).len(), 2);
            assert_eq!(rates(&document, "one-way", 4).len(), 2);
            let said = sentences(&document);
            assert!(said[0].contains("slowest:"), "{said:?}");
            let within = format!("Within a GPU's own memory{by} (4 MiB, D2D): ");
            assert!(said[1].starts_with(&within), "{said:?}");
            assert!(said[1].contains("slowest:") && said[1].ends_with(" 1."), "{said:?}");
            assert!(!said.iter().any(|sentence| sentence.contains("staged")), "{said:?}");
        }
        let alike = REACH.replace("300GB/s", "400GB/s");
        let document = proof::document(&described(&kind, &alike, "", &["--reps", "12"])?)?;
        let said = sentences(&document);
        assert!(said[1].ends_with("alike."), "{said:?}");
    }
    Ok(())
}

#[test]
fn one_gpu_copies_within_its_memory_and_has_no_pair_and_host_memory_is_no_gpu() -> Done {
    for kind in kinds::tried() {
        let one = "device 0000:05:00.0; within 400GB/s 10ns";
        for args in [
            &["--reps", "12"][..],
            &["--reps", "12", "--all", "--latency"],
            &["--reps", "12", "--gpus", "0,0"],
        ] {
            let ended = described(&kind, one, "", args)?;
            let document = proof::document(&ended)?;
            assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
            assert!(near(&rates(&document, "one-way", 4 << 20), &[400.0]), "{document:#}");
            assert_eq!(proof::results(&document).count(), 1, "there is nothing else to measure");
            assert_eq!(text(&document, "/cases/0/timing"), "device");
            let said = sentences(&document);
            let name = if args.contains(&"--all") {
                "no_copies_at_once_of_one_gpu"
            } else {
                "copies_within_one_gpu"
            };
            insta::assert_snapshot!(name, proof::without_figures(&said.join("\n")));
        }
        let ended = described(&kind, one, "corrupt * 70001", &["--reps", "6"])?;
        assert_eq!(ended.code, Some(4), "{}", ended.err);
    }
    run(&["peer", "--backend", "host"]).refused(77, &["there is no GPU here"]);
    let plan = run(&["peer", "--backend", "host", "--dry-run"]);
    assert_eq!(plan.code, Some(77), "{}", plan.err);
    Ok(())
}

/// Three GPUs whose copies take 1 ms and more, so that a wait for one is no part of them.
const THREE: &str = "device 0000:05:00.0; peers 1 2; peer 4GB/s 1us; within 40GB/s 1us; \
    device 0000:85:00.0; peers 0 2; peer 4GB/s 1us; within 40GB/s 1us; \
    device 0000:c1:00.0; peers 0 1; peer 4GB/s 1us; within 40GB/s 1us";

/// The clock of the case of this group.
fn clock<'a>(document: &'a Value, group: &str) -> Option<&'a str> {
    let mut cases = list(document, "/cases").iter();
    cases.find(|case| text(case, "/group") == group).map(|case| text(case, "/timing"))
}

#[test]
fn all_to_one_and_one_to_all_are_summed_and_what_a_pair_keeps_is_told_where_its_gpu_makes_them_all() -> Done {
    for kind in kinds::tried() {
        for (by, shared, apart) in [
            ("source", ["one-to-all", "from"], ["all-to-one", "to"]),
            ("destination", ["all-to-one", "to"], ["one-to-all", "from"]),
        ] {
            let group = |name: &str| if by == "source" { name.to_owned() } else { format!("{name}-by-{by}") };
            let ended = described(&kind, THREE, "", &["--reps", "24", "--all", "--by", by])?;
            let document = proof::document(&ended)?;
            assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
            assert!(near(&rates(&document, &group(shared[0]), 4 << 20), &[2.0; 6]), "{by}: {document:#}");
            assert!(near(&rates(&document, &group(apart[0]), 4 << 20), &[4.0; 6]), "{by}: {document:#}");
            assert_eq!(clock(&document, &group(shared[0])), Some("host"), "one GPU makes them all");
            assert_eq!(clock(&document, &group(apart[0])), Some("device"));
            for case in list(&document, "/cases") {
                assert!(case["aggregate"].is_null(), "not all of its copies were at once: {case:#}");
            }
            for result in proof::results(&document) {
                assert_eq!(result["verification"]["checked"], true, "{result:#}");
                let rank = &list(&document, "/ranks")[result["rank"].as_u64().ok_or("no rank")? as usize];
                assert_eq!(result["seen_before"]["pu"]["value"], rank["asked"]["pu"], "{result:#}");
            }
            let words = |group: &str| group.replace('-', " ");
            let said = sentences(&document);
            let is_said = |of: [&str; 2], what: &str| {
                let title = format!(", {} at once", words(of[0]));
                let each = format!("in all {} each GPU; {what}", of[1]);
                said.iter().any(|sentence| sentence.contains(&title) && sentence.ends_with(&each))
            };
            assert!(is_said(shared, "each pair keeps 50 % of its rate alone."), "{said:?}");
            assert!(is_said(apart, "the pairs keep their rates alone, within 5 %."), "{said:?}");
        }
    }
    Ok(())
}

#[test]
fn short_copies_that_the_host_times_are_not_compared_with_those_that_the_gpu_times() -> Done {
    for kind in kinds::tried() {
        let short = THREE.replace("4GB/s", "40GB/s");
        let document = proof::document(&described(&kind, &short, "", &["--reps", "24", "--all"])?)?;
        let said = sentences(&document);
        // What each pair keeps of its rate alone would be a percentage.
        let sums: Vec<&&str> = said.iter().filter(|sentence| sentence.contains(" to all")).collect();
        assert!(!sums.is_empty() && sums.iter().all(|sum| !sum.contains('%')), "{said:?}");
    }
    Ok(())
}

#[test]
fn a_kernel_out_of_whose_reach_a_gpu_is_takes_no_part_in_copies_of_all() -> Done {
    for kind in kinds::tried() {
        // The third reaches none and is reached by none.
        let apart =
            THREE.replace("peers 1 2", "peers 1").replace("peers 0 2", "peers 0").replace("; peers 0 1", "");
        let ended = described(&kind, &apart, "", &["--reps", "6", "--all", "--engine", "sm"])?;
        let document = proof::document(&ended)?;
        assert!(
            rates(&document, "all-to-one", 4 << 20).is_empty()
                && rates(&document, "one-to-all", 4 << 20).is_empty()
        );
        let why = "not measured: fewer than two pairs are in a kernel's reach.";
        assert_eq!(
            sentences(&document).iter().filter(|said| said.ends_with(why)).count(),
            2,
            "{}",
            document["verdict"]
        );
    }
    Ok(())
}

#[test]
fn between_two_gpus_all_to_one_is_the_pair_one_way_and_that_is_said() -> Done {
    for kind in kinds::tried() {
        let document = proof::document(&described(&kind, REACH, "", &["--reps", "6", "--all"])?)?;
        let why = "at once: not measured: between two GPUs they are the pairs one way.";
        assert_eq!(
            sentences(&document).iter().filter(|said| said.ends_with(why)).count(),
            2,
            "{}",
            document["verdict"]
        );
        assert!(rates(&document, "all-to-one", 4 << 20).is_empty());
    }
    Ok(())
}

/// `peer` and `suite`, whose first copy never ends: on CUDA it is one that a device tries out while it is
/// opened.
pub fn hanging(kind: &Kind, command: &[&str]) -> Result<Command, Box<dyn std::error::Error>> {
    let mut run = spawnable(&kind.folder()?);
    run.args(command).args(["--backend", kind.name]).env("FAKE_FAULTS", "hang 1");
    run.env("FAKE_DEVICES", REACH).env("LD_PRELOAD", kind.library()?);
    Ok(run)
}

/// The commands that open all GPUs before anything is measured.
pub const OPENING: [&[&str]; 2] = [&["peer", "--size", "4MiB"], &["suite", "--within", "20s"]];

#[test]
fn a_driver_that_hangs_while_the_gpus_are_opened_ends_at_the_limit_with_a_document_that_names_the_gpu() -> Done
{
    for kind in kinds::tried() {
        for command in OPENING {
            let ended =
                Ended::of(&hanging(&kind, command)?.args(["--timeout", "2s", "--json", "-"]).output()?);
            assert_eq!(ended.code, Some(124), "{}", ended.err);
            let document: Value = serde_json::from_str(&ended.out)?;
            assert_eq!(
                (text(&document, "/status"), &document["exit_code"]),
                ("timed-out", &Value::from(124))
            );
            let (reason, failure) =
                (text(&document, "/status_reason"), &document["cases"][0]["ranks"][0]["outcome"]);
            assert!(
                reason.starts_with("opening") && reason.contains(" 0 ") && reason.contains(" 2 "),
                "{reason}"
            );
            assert_eq!((text(failure, "/status"), text(failure, "/stage")), ("failed", "open"), "{failure}");
        }
    }
    // Without kernels nothing is tried out when a device is opened: its first copy is a measured one.
    for kind in kinds::tried().iter().filter(|kind| kind.name == "hip") {
        let ended = described(kind, REACH, &format!("{}; hang 1", kinds::NO_COMPILER), &["--timeout", "2s"])?;
        assert_eq!(ended.code, Some(124), "{}", ended.err);
        let document: Value = serde_json::from_str(&ended.out)?;
        assert!(!text(&document, "/status_reason").starts_with("opening"), "{}", document["status_reason"]);
    }
    Ok(())
}

#[test]
fn a_driver_that_hangs_before_it_names_its_gpus_has_a_document_that_names_the_driver() -> Done {
    for kind in kinds::tried() {
        let driver = kind.name.to_uppercase();
        let wanted = format!("asking the {driver} driver for its GPUs took longer than 1 s");
        for command in OPENING {
            let mut run = hanging(&kind, command)?;
            run.env("FAKE_FAULTS", format!("stall {} 1;exit waits", kind.init));
            let ended = Ended::of(&run.args(["--timeout", "1s", "--json", "-"]).output()?);
            assert_eq!(ended.code, Some(124), "{}", ended.err);
            let document: Value = serde_json::from_str(&ended.out)?;
            assert_eq!(
                (text(&document, "/status"), &document["exit_code"]),
                ("timed-out", &Value::from(124))
            );
            assert_eq!(text(&document, "/command"), command[0]);
            assert!(text(&document, "/status_reason").starts_with(&wanted), "{}", document["status_reason"]);
            assert!(
                sentences(&document)[0].contains(&wanted) && ended.err.contains(&wanted),
                "{}",
                ended.err
            );
            proof::follows(&document, "result-v1.json")?;
        }
    }
    Ok(())
}

#[test]
fn a_kernel_copies_too_where_the_gpus_reach_each_other_and_elsewhere_that_is_said() -> Done {
    for kind in kinds::tried() {
        let ended = described(&kind, REACH, "", &["--reps", "20", "--engine", "sm"])?;
        let document = proof::document(&ended)?;
        assert_eq!(text(&document, "/settings/engine"), "sm");
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        let rates = rates(&document, "one-way", 4 << 20);
        assert!((190.0..201.0).contains(&rates[0]) && (95.0..101.0).contains(&rates[1]), "{rates:?}");
        let said: Vec<&str> = list(&document, "/verdict").iter().filter_map(Value::as_str).collect();
        assert!(said[0].contains("kernel"), "{said:?}");
        for result in proof::results(&document) {
            assert_eq!(result["verification"]["checked"], true, "{result:#}");
        }

        let apart = "device 0000:05:00.0; device 0000:c1:00.0";
        let ended = described(&kind, apart, "", &["--reps", "6", "--engine", "sm"])?;
        let document = proof::document(&ended)?;
        let reason = text(&document, "/cases/0/ranks/0/outcome/reason");
        assert!(reason.contains("reach"), "{reason}");
    }
    Ok(())
}
