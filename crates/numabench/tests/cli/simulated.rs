//! The way from arguments to document on a stand-in driver, with every kind of driver: its devices are
//! simulated, which every output says, so what is held here is everything but the figures.

use std::error::Error;

use serde_json::Value;

use crate::driver;
use crate::kinds;
use crate::proof::{self, case_ids, list, number, results, text};
use crate::run::{Done, Ended, end, with_driver};

/// `numabench pingpong` on the stand-in for CUDA's driver, told these variables.
fn simulated(told: &[(&str, &str)], args: &[&str]) -> Result<Ended, Box<dyn Error>> {
    Ok(end(with_driver(&driver::fake()?).arg("pingpong").envs(told.iter().copied()), args))
}

#[test]
fn every_memory_and_direction_gives_numbers_and_says_that_they_are_simulated() -> Done {
    for kind in kinds::tried() {
        let args = ["--gpus", "0", "--size", "256KiB,1MiB", "--reps", "6", "--warmup", "1"];
        let args = [&args[..], &["--memory", "pinned,pinned-driver,pageable"]].concat();
        let ended = kind.pingpong(&[], &[&args[..], &["--json", "-"]].concat())?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        assert_eq!(text(&document, "/platform/kind"), kind.name);
        assert!(text(&document, "/platform/simulated").contains("fake"), "{}", document["platform"]);
        let ids = case_ids(&document);
        for memory in ["pinned", "pinned-driver", "pageable"] {
            for direction in ["h2d", "d2h", "roundtrip"] {
                for bytes in [262_144, 1_048_576] {
                    assert!(ids.contains(&format!("alone/{memory}/{direction}/{bytes}")), "{ids:?}");
                }
            }
        }
        assert_eq!(ids.len(), 18);
        results(&document).try_for_each(has_numbers)?;
        let table = kind.pingpong(&[], &args)?.well();
        assert!(table.out.contains("SIMULATED"), "{}", table.out);
        for title in ["pinned memory", "pinned-driver memory", "pageable memory"] {
            assert!(table.out.contains(title), "{title}: {}", table.out);
        }
    }
    Ok(())
}

/// A result that was measured, verified and seen where it was before and after.
fn has_numbers(result: &Value) -> Done {
    let rate = result["outcome"]["summary"]["bytes_per_s"].as_f64();
    let verified = result["verification"]["checked"] == true && result["verification"]["mismatch"].is_null();
    let (before, after) = (&result["seen_before"], &result["seen_after"]);
    let nodes = |seen: &Value| -> Vec<Value> {
        list(seen, "/host_pages/value").iter().map(|pages| pages["node"].clone()).collect()
    };
    let same =
        before["affinity"] == after["affinity"] && nodes(before) == nodes(after) && !nodes(before).is_empty();
    let seen = before["pu"]["value"].is_u64() && before["pu"] == after["pu"] && same;
    let measured = text(result, "/outcome/status") == "measured" && rate.is_some_and(|rate| rate > 0.0);
    if measured && verified && seen { Ok(()) } else { Err(format!("{result:#}").into()) }
}

#[test]
fn both_directions_at_once_need_pinned_memory_and_pageable_is_skipped_with_the_reason() -> Done {
    for kind in kinds::tried() {
        let args = [
            "--gpus",
            "0",
            "--size",
            "1MiB",
            "--reps",
            "6",
            "--timing",
            "host",
            "--direction",
            "bidir",
            "--json",
            "-",
        ];
        let document = proof::document(
            &kind.pingpong(&[], &[&args[..], &["--memory", "pinned,pinned-driver"]].concat())?,
        )?;
        assert_eq!(text(&document, "/status"), "complete", "{}", document["status_reason"]);
        results(&document).try_for_each(has_numbers)?;
        let ended = kind.pingpong(&[], &[&args[..], &["--memory", "pageable"]].concat())?;
        let document = proof::document(&ended)?;
        assert_eq!((ended.code, results(&document).count()), (Some(1), 1));
        for result in results(&document) {
            assert_eq!(text(result, "/outcome/status"), "skipped");
            assert!(
                text(result, "/outcome/reason").contains("one direction at a time"),
                "{}",
                result["outcome"]
            );
        }
    }
    Ok(())
}

#[test]
fn pinned_copies_of_a_mebibyte_are_timed_by_the_device_and_pageable_ones_by_the_host() -> Done {
    for kind in kinds::tried() {
        let args = [
            "--gpus",
            "0",
            "--size",
            "64KiB,1MiB",
            "--reps",
            "6",
            "--memory",
            "pinned,pageable",
            "--direction",
            "h2d",
        ];
        let document = proof::document(&kind.pingpong(&[], &[&args[..], &["--json", "-"]].concat())?)?;
        let clocks: Vec<(&str, &str)> =
            list(&document, "/cases").iter().map(|case| (text(case, "/id"), text(case, "/timing"))).collect();
        let has =
            |id: &str, timing: &str| assert!(clocks.contains(&(id, timing)), "{id} {timing}: {clocks:?}");
        has("alone/pinned/h2d/65536", "host");
        has("alone/pinned/h2d/1048576", "device");
        has("alone/pageable/h2d/65536", "host");
        has("alone/pageable/h2d/1048576", "host");
    }
    Ok(())
}

#[test]
fn corrupt_data_end_the_run_with_4_and_name_the_first_byte_that_differs() -> Done {
    for kind in kinds::tried() {
        for (direction, memory) in
            [("h2d", "pinned"), ("d2h", "pageable"), ("roundtrip", "pinned-driver"), ("bidir", "pinned")]
        {
            let args = [
                "--gpus",
                "0",
                "--size",
                "1MiB",
                "--reps",
                "6",
                "--direction",
                direction,
                "--memory",
                memory,
            ];
            let told = [("FAKE_FAULTS", "corrupt * 70001")];
            let ended = kind.pingpong(&told, &[&args[..], &["--json", "-"]].concat())?;
            let document = proof::document(&ended)?;
            assert_eq!(ended.code, Some(4), "{direction} {memory}");
            let result = results(&document).next().ok_or("no result")?;
            assert_eq!(text(result, "/outcome/status"), "corrupt", "{result}");
            let mismatch = &result["verification"]["mismatch"];
            assert_eq!(mismatch["offset_bytes"], 70001, "{mismatch}");
            assert_ne!(mismatch["expected"], mismatch["got"]);
            let table = kind.pingpong(&told, &args)?;
            assert_eq!(table.code, Some(4));
            assert!(table.out.contains("CORRUPT: byte 70001 should be 0x"), "{}", table.out);
        }
    }
    Ok(())
}

#[test]
fn corrupt_data_go_unseen_only_where_no_verification_was_asked_for_and_then_that_is_said() -> Done {
    for kind in kinds::tried() {
        let args = ["--gpus", "0", "--size", "1MiB", "--reps", "6", "--no-verify"];
        let table = kind.pingpong(&[("FAKE_FAULTS", "corrupt * 70001")], &args)?;
        assert_eq!(table.code, Some(0));
        assert!(table.out.contains("VERIFIED"), "{}", table.out);
    }
    Ok(())
}

#[test]
fn ranks_that_share_a_gpu_are_two_ranks_and_the_sharing_is_noted() -> Done {
    for kind in kinds::tried() {
        let args = [
            "--gpus",
            "0,0",
            "--size",
            "1MiB",
            "--reps",
            "6",
            "--direction",
            "h2d",
            "--order",
            "alone",
            "--json",
            "-",
        ];
        let ended = kind.pingpong(&[], &args)?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        assert_eq!(list(&document, "/devices").len(), 1);
        let ranks = list(&document, "/ranks");
        assert_eq!(ranks.len(), 2);
        for rank in ranks {
            assert_eq!(text(rank, "/asked/device"), "0000:05:00.0");
            assert!(list(rank, "/notes").iter().any(|note| note == "2 ranks share this device"), "{rank}");
        }
        assert!(results(&document).all(|result| text(result, "/outcome/status") == "measured"));
    }
    Ok(())
}

/// Two devices in virtual time, so that no chance decides who overlaps.
const DESCRIBED: &str = "device 0000:05:00.0; h2d 10GB/s 5us; d2h 10GB/s 5us; device 0000:c1:00.0; h2d \
    10GB/s 5us; d2h 10GB/s 5us";

#[test]
fn ranks_at_once_on_devices_of_their_own_or_on_one_overlap_and_are_numbers() -> Done {
    for kind in kinds::tried() {
        for gpus in ["0,0", "0,1"] {
            let args =
                ["--gpus", gpus, "--size", "1MiB", "--reps", "20", "--direction", "h2d,bidir", "--json", "-"];
            let ended = kind.described(DESCRIBED, &args)?;
            let document = proof::document(&ended)?;
            assert_eq!(ended.code, Some(0), "{gpus}: {}", document["status_reason"]);
            for case in list(&document, "/cases") {
                assert_eq!(
                    (text(case, "/order"), text(case, "/status")),
                    ("simultaneous", "measured"),
                    "{case}"
                );
                assert!(
                    case["overlap"].as_f64().is_some_and(|overlap| overlap >= 0.95),
                    "{}",
                    case["overlap"]
                );
            }
        }
    }
    Ok(())
}

#[test]
fn a_device_that_never_answers_is_given_up_at_the_timeout_with_what_was_finished() -> Done {
    for kind in kinds::tried() {
        let args =
            ["--gpus", "0", "--size", "64KiB", "--reps", "1000", "--direction", "h2d", "--timing", "host"];
        let ended = kind.pingpong(
            &[("FAKE_FAULTS", "hang 501+")],
            &[&args[..], &["--timeout", "2s", "--json", "-"]].concat(),
        )?;
        let document = proof::document(&ended)?;
        assert_eq!((ended.code, text(&document, "/status")), (Some(124), "timed-out"));
        let blocks = results(&document).map(|result| list(result, "/blocks").len()).sum::<usize>();
        assert!((1..10).contains(&blocks), "{blocks} of 10 blocks");
    }
    Ok(())
}

#[test]
fn a_latch_that_does_not_work_is_replaced_and_without_any_the_host_times() -> Done {
    let args = ["--gpus", "0", "--size", "1MiB", "--reps", "6", "--direction", "h2d", "--json", "-"];
    for (told, timing) in [
        ("fail cuStreamWaitValue32 * 801", "device"),
        ("wait holds-nothing", "device"),
        ("fail cuStreamWaitValue32 * 801; fail cuModuleLoadData * 222", "host"),
    ] {
        let document = proof::document(&simulated(&[("FAKE_FAULTS", told)], &args)?)?;
        assert_eq!(text(&document, "/cases/0/timing"), timing, "{told}");
        assert_eq!(text(&document, "/cases/0/status"), "measured");
        assert!(number(&document, "/cases/0/bytes") == 1 << 20);
    }
    Ok(())
}

#[test]
fn hip_over_cuda_moves_bytes_by_the_cuda_driver_and_says_what_it_is() -> Done {
    if !kinds::tried().iter().any(|kind| kind.name == "hip") {
        return Ok(());
    }
    let (hip, cuda) = (driver::hip_over_cuda()?, driver::fake()?);
    let mut command = with_driver(&hip);
    command.env("LD_LIBRARY_PATH", format!("{}:{}", hip.display(), cuda.display()));
    let args =
        ["--gpus", "0", "--size", "256KiB,1MiB", "--reps", "6", "--memory", "pinned,pinned-driver,pageable"];
    let ended = end(command.args(["pingpong", "--backend", "hip", "--json", "-"]), args);
    let document = proof::document(&ended)?;
    assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
    assert_eq!(text(&document, "/platform/kind"), "hip");
    let said = text(&document, "/platform/simulated");
    assert!(said.contains("shim)") && said.contains("fake"), "{said}");
    assert_eq!(text(&document, "/devices/0/id"), "0000:05:00.0");
    results(&document).try_for_each(has_numbers)
}

#[test]
fn each_case_has_as_many_rounds_as_were_asked_for_also_those_that_are_measured_later() -> Done {
    // Pinned copies of a mebibyte and more are a phase of their own.
    let asked =
        ["--gpus", "0", "--size", "4KiB,4MiB", "--direction", "h2d", "--memory", "pinned", "--json", "-"];
    for reps in ["15", "19"] {
        let run = simulated(&[], &[&asked[..], &["--reps", reps]].concat())?.well().json()?;
        let rounds = |result: &Value| -> u64 {
            let blocks = result["blocks"].as_array();
            blocks.into_iter().flatten().filter_map(|block| block["rounds"].as_u64()).sum()
        };
        let all: Vec<u64> =
            list(&run, "/cases").iter().flat_map(|case| list(case, "/ranks")).map(rounds).collect();
        assert_eq!(all, [reps.parse::<u64>()?; 2], "{run}");
    }
    Ok(())
}
