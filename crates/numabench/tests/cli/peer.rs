//! `numabench peer` on stand-in devices that reach each other at described rates, and on some that do not.

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::proof::{self, list, text};
use crate::run::{Done, Ended, end, run, with_driver};

/// The first copies twice as fast as the second.
const REACH: &str = "device 0000:05:00.0; peers 1; peer 200GB/s 1us; device 0000:c1:00.0; peers 0; peer 100GB/s 1us";

fn described(kind: &Kind, devices: &str, faults: &str, args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let told =
        [("FAKE_DEVICES", devices.to_owned()), ("FAKE_FAULTS", faults.to_owned()), ("LD_PRELOAD", kind.library()?)];
    let common = ["peer", "--backend", kind.name, "--size", "4MiB", "--json", "-"];
    Ok(end(with_driver(&kind.folder()?).args(common).envs(told), args))
}

/// The median rate of each pair in the cases of this group and size, GB/s.
fn rates(document: &Value, group: &str, bytes: u64) -> Vec<f64> {
    let wanted = |case: &&Value| text(case, "/group") == group && case["bytes"] == bytes;
    let ranks = list(document, "/cases").iter().filter(wanted).flat_map(|case| list(case, "/ranks"));
    ranks.filter_map(|rank| Some(rank["outcome"]["summary"]["median_bytes_per_s"].as_f64()? / 1e9)).collect()
}

#[test]
fn each_gpus_copies_to_each_other_have_its_rate_and_every_byte_is_compared() -> Done {
    for kind in kinds::all() {
        let ended = described(&kind, REACH, "", &["--reps", "20"])?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        for (group, bytes) in [("one-way", 4 << 20), ("both-ways", 4 << 20)] {
            let rates = rates(&document, group, bytes);
            let near = |rate: f64, want: f64| (rate / want - 1.0).abs() < 0.05;
            assert!(rates.len() == 2 && near(rates[0], 200.0) && near(rates[1], 100.0), "{group}: {rates:?}");
        }
        assert_eq!(rates(&document, "one-way", 4).len(), 2, "and how long the smallest copy takes");
        for result in proof::results(&document) {
            assert_eq!(result["verification"]["checked"], true, "{result:#}");
        }
        let said: Vec<&str> = list(&document, "/verdict").iter().filter_map(Value::as_str).collect();
        assert!(said[0].starts_with("GPU to GPU, one way (4 MiB, D2D): 19"), "{said:?}");
        assert!(
            said[0].contains("1 of 2 pairs are more than 10 % behind the best, the last is from GPU 1 to GPU 0"),
            "{said:?}"
        );
        assert!(!said.iter().any(|sentence| sentence.contains("staged")), "{said:?}");
    }
    Ok(())
}

#[test]
fn what_the_driver_stages_is_said_and_a_wrong_byte_ends_it_with_4() -> Done {
    for kind in kinds::all() {
        let apart = "device 0000:05:00.0; device 0000:c1:00.0";
        let document = proof::document(&described(&kind, apart, "", &["--reps", "6"])?)?;
        let said: Vec<&str> = list(&document, "/verdict").iter().filter_map(Value::as_str).collect();
        assert!(said.contains(&"from GPU 0: staged through host memory by the driver to GPU 1."), "{said:?}");

        let ended = described(&kind, REACH, "corrupt * 70001", &["--reps", "6"])?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(4), "{}", document["status_reason"]);
    }
    Ok(())
}

/// As `REACH`, with the time of a load of the other one's memory.
const LOADS: &str = "device 0000:05:00.0; peers 1; peer 200GB/s 1us; peer-loads 650ns; \
    device 0000:c1:00.0; peers 0; peer 100GB/s 1us; peer-loads 900ns";

/// The results of the loads.
fn loads(document: &Value) -> Vec<&Value> {
    let cases = list(document, "/cases").iter().filter(|case| text(case, "/group") == "loads");
    cases.flat_map(|case| list(case, "/ranks")).collect()
}

#[test]
fn each_gpus_load_of_each_others_memory_is_told_apart_from_the_smallest_copy() -> Done {
    for kind in &kinds::all() {
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
        let case = list(&document, "/cases").iter().find(|case| text(case, "/group") == "loads").ok_or("no loads")?;
        assert_eq!(
            (text(case, "/direction"), text(case, "/memory"), text(case, "/timing")),
            ("load", "device", "device")
        );
        assert_eq!(rates(&document, "one-way", 4).len(), 2, "the smallest copies are there as well");
        let said: Vec<&str> = list(&document, "/verdict").iter().filter_map(Value::as_str).collect();
        let sentence = "GPU to GPU, loads by a kernel (64 MiB, load latency): 650.0 ns to 900.0 ns; 1 of 2 pairs are more than 10 % behind \
                        the best, the last is by GPU 1 from GPU 0.";
        assert!(said.contains(&sentence), "{said:?}");

        let ended = described(kind, LOADS, "kernels chase-stops", &["--reps", "6", "--latency"])?;
        let document = proof::document(&ended)?;
        assert!(loads(&document).iter().all(|result| text(result, "/outcome/status") == "invalid"), "{document:#}");
    }
    Ok(())
}

#[test]
fn loads_where_a_gpu_reaches_no_other_or_runs_no_kernel_are_missing_with_the_reason() -> Done {
    for kind in kinds::all() {
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
        let said =
            list(&document, "/verdict").iter().filter_map(Value::as_str).filter(|said| said.contains(why)).count();
        assert_eq!(said, 1, "{}", document["verdict"]);
    }
    Ok(())
}

#[test]
fn one_gpu_has_no_peer_and_host_memory_is_no_gpu() -> Done {
    for kind in kinds::all() {
        let ended = described(&kind, "device 0000:05:00.0", "", &[])?;
        ended.refused(77, &["copies between GPUs need two"]);
    }
    run(&["peer", "--backend", "host"]).refused(77, &["there is no GPU here"]);
    let plan = run(&["peer", "--backend", "host", "--dry-run"]);
    assert_eq!(plan.code, Some(77), "{}", plan.err);
    Ok(())
}

#[test]
fn copies_by_a_kernel_are_measured_and_said_or_skipped_where_there_is_none() -> Done {
    let args = ["--gpus", "0", "--size", "4B,4MiB", "--engine", "sm", "--reps", "6", "--json", "-"];
    for kind in kinds::all() {
        let document = proof::document(&kind.pingpong(&[], &args)?)?;
        assert_eq!(text(&document, "/settings/engine"), "sm");
        for result in proof::results(&document) {
            assert_eq!(text(result, "/outcome/status"), "measured", "{result:#}");
        }
        assert!(text(&document, "/verdict/0").contains("pinned memory, by a kernel"), "{}", document["verdict"]);
    }
    for kind in kinds::all().iter().filter(|kind| kind.name == "hip") {
        for result in proof::results(&proof::document(&kind.faulty(kinds::NO_COMPILER, &args)?)?) {
            assert_eq!(text(result, "/outcome/status"), "skipped", "{result:#}");
            assert!(text(result, "/outcome/reason").contains(kinds::NO_KERNEL), "{result:#}");
        }
    }
    Ok(())
}

#[test]
fn a_driver_that_hangs_while_the_gpus_are_opened_ends_at_the_limit_and_is_named() -> Done {
    for kind in kinds::all() {
        let ended = described(&kind, REACH, "hang 1", &["--timeout", "2s"])?;
        assert_eq!(ended.code, Some(124), "{}", ended.err);
        assert!(ended.err.contains("a GPU was not opened within 2 s"), "{}", ended.err);
    }
    // Without kernels nothing is tried out when a device is opened: its first copy is a measured one.
    for kind in kinds::all().iter().filter(|kind| kind.name == "hip") {
        let ended = described(kind, REACH, &format!("{}; hang 1", kinds::NO_COMPILER), &["--timeout", "2s"])?;
        assert_eq!(ended.code, Some(124), "{}", ended.err);
        assert!(!ended.err.contains("was not opened"), "{}", ended.err);
    }
    Ok(())
}

#[test]
fn a_kernel_copies_too_where_the_gpus_reach_each_other_and_elsewhere_that_is_said() -> Done {
    for kind in kinds::all() {
        let ended = described(&kind, REACH, "", &["--reps", "20", "--engine", "sm"])?;
        let document = proof::document(&ended)?;
        assert_eq!(text(&document, "/settings/engine"), "sm");
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        let rates = rates(&document, "one-way", 4 << 20);
        assert!((190.0..201.0).contains(&rates[0]) && (95.0..101.0).contains(&rates[1]), "{rates:?}");
        let said: Vec<&str> = list(&document, "/verdict").iter().filter_map(Value::as_str).collect();
        assert!(said[0].starts_with("GPU to GPU by a kernel, one way (4 MiB, D2D)"), "{said:?}");
        for result in proof::results(&document) {
            assert_eq!(result["verification"]["checked"], true, "{result:#}");
        }

        let apart = "device 0000:05:00.0; device 0000:c1:00.0";
        let ended = described(&kind, apart, "", &["--reps", "6", "--engine", "sm"])?;
        let document = proof::document(&ended)?;
        let reason = text(&document, "/cases/0/ranks/0/outcome/reason");
        assert!(reason.contains("cannot reach the other one's memory"), "{reason}");
    }
    Ok(())
}
