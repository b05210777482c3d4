//! What was asked for is what was done, and the document says both.

use std::error::Error;

use serde_json::{Value, json};

use crate::proof::{self, case_ids, list, number, results, text};
use crate::run::{Done, host};

/// The document of a host run of one rank on node 0 that must end well.
fn document(args: &[&str]) -> Result<Value, Box<dyn Error>> {
    let ended = host(&[&["--gpus", "0", "--json", "-"], args].concat());
    let document = proof::document(&ended)?;
    assert_eq!(ended.well().code, Some(0));
    Ok(document)
}

#[test]
fn a_fixed_number_of_rounds_is_exactly_that_number_of_counted_rounds() -> Done {
    for reps in [1, 7, 20, 100] {
        let document = document(&[
            "--size",
            "64KiB",
            "--reps",
            &reps.to_string(),
            "--warmup",
            "2",
            "--direction",
            "h2d,roundtrip",
        ])?;
        for result in results(&document) {
            let counted: u64 = list(result, "/blocks").iter().map(|block| number(block, "/rounds")).sum();
            assert_eq!(counted, reps, "{}", text(result, "/outcome/stop_reason"));
            assert_eq!(number(result, "/outcome/summary/rounds"), reps, "{}", result["outcome"]);
            assert_eq!(text(result, "/outcome/stop_reason"), "fixed");
        }
        let repetition = &document["settings"]["repetition"];
        assert_eq!((number(repetition, "/reps"), number(repetition, "/warmup")), (reps, 2));
    }
    Ok(())
}

#[test]
fn a_range_of_sizes_doubles_or_takes_the_factor_given() -> Done {
    let ids = |size: &str| -> Result<Vec<String>, Box<dyn Error>> {
        Ok(case_ids(&document(&["--size", size, "--reps", "1", "--direction", "h2d"])?))
    };
    let expected = |sizes: &[u64]| -> Vec<String> {
        sizes.iter().map(|bytes| format!("alone/pageable/h2d/{bytes}")).collect()
    };
    assert_eq!(ids("4B..64B")?, expected(&[4, 8, 16, 32, 64]));
    assert_eq!(ids("4B..1KiB:16")?, expected(&[4, 64, 1024]));
    assert_eq!(ids("1KiB,4B,1KiB")?, expected(&[4, 1024]));
    Ok(())
}

#[test]
fn floats_are_four_bytes_each() -> Done {
    let document = document(&["--floats", "1000", "--reps", "1", "--direction", "d2h"])?;
    assert_eq!(case_ids(&document), ["alone/pageable/d2h/4000"]);
    assert_eq!(document["settings"]["floats"], 1000);
    Ok(())
}

#[test]
fn without_a_fixed_number_blocks_are_measured_until_a_reason_to_stop() -> Done {
    let document = document(&["--size", "16KiB", "--direction", "h2d", "--max-time", "1s"])?;
    let result = results(&document).next().ok_or("no result")?;
    let stop = text(result, "/outcome/stop_reason");
    assert!(["target", "plateau", "max-blocks", "costly", "max-time"].contains(&stop), "{stop}");
    let (blocks, counted) = (list(result, "/blocks").len(), number(result, "/outcome/summary/blocks"));
    assert!(blocks >= 1 && blocks as u64 == counted, "{blocks} blocks, {counted} summarised");
    assert_eq!(document["settings"]["repetition"]["max_time_s"], 1.0);
    Ok(())
}

#[test]
fn both_orders_are_two_cases_and_a_penalty_for_each_rank() -> Done {
    let args = [
        "--gpus",
        "0,0",
        "--size",
        "256KiB",
        "--reps",
        "50",
        "--direction",
        "h2d",
        "--order",
        "both",
        "--json",
        "-",
    ];
    let ended = host(&args);
    let document = proof::document(&ended)?;
    assert_eq!(case_ids(&document), ["simultaneous/pageable/h2d/262144", "alone/pageable/h2d/262144"]);
    // Whether two ranks overlap enough to be compared is this machine's business now; what follows from it is
    // ours.
    let measured = list(&document, "/cases").iter().all(|case| text(case, "/status") == "measured");
    assert_eq!(ended.code == Some(0), measured);
    assert_eq!(
        list(&document, "/penalties").len(),
        if measured { 2 } else { 0 },
        "{}",
        document["penalties"]
    );
    Ok(())
}

#[test]
fn a_rank_by_itself_is_alone_whatever_order_was_asked_for() -> Done {
    let document = document(&["--size", "4KiB", "--reps", "6", "--direction", "h2d", "--order", "both"])?;
    assert_eq!(case_ids(&document), ["alone/pageable/h2d/4096"]);
    let mut messages = list(&document, "/messages").iter().map(|message| text(message, "/text"));
    insta::assert_snapshot!(messages.find(|text| text.contains("one rank")).unwrap_or_default(), @"there is \
        one rank only: alone and at once are the same, and there is no contention penalty");
    Ok(())
}

#[test]
fn what_was_asked_is_in_the_settings_as_it_was_asked() -> Done {
    let args = [
        "--size",
        "4KiB",
        "--reps",
        "6",
        "--direction",
        "d2h,h2d",
        "--huge-pages",
        "off",
        "--seed",
        "77",
        "--membind",
        "0",
    ];
    let document = document(&args)?;
    let settings = &document["settings"];
    assert_eq!(settings["directions"], json!(["d2h", "h2d"]));
    assert_eq!(settings["huge_pages"], false);
    assert_eq!(settings["seed"], 77);
    assert_eq!(settings["membind"], json!({"kind": "node", "node": 0}));
    assert_eq!((text(settings, "/backend_asked"), settings["verify"].as_bool()), ("host", Some(true)));
    let argv: Vec<&str> = list(&document, "/argv").iter().filter_map(Value::as_str).collect();
    assert!(argv[1..].starts_with(&["pingpong", "--backend", "host"]) && argv.ends_with(&args), "{argv:?}");
    Ok(())
}

#[test]
fn data_are_verified_unless_that_was_refused_and_both_are_on_record() -> Done {
    let args = ["--size", "64KiB", "--reps", "6"];
    let checked = document(&args)?;
    for result in results(&checked) {
        assert_eq!(
            (result["verification"]["checked"].as_bool(), number(result, "/verification/blocks_checked")),
            (Some(true), 6)
        );
    }
    let unchecked = document(&[&args[..], &["--no-verify"]].concat())?;
    for result in results(&unchecked) {
        assert_eq!(result["verification"]["checked"], false);
        insta::allow_duplicates! { insta::assert_snapshot!(text(result, "/verification/reason"), @"--no-verify was given") }
    }
    Ok(())
}

#[test]
fn what_host_memory_cannot_do_is_skipped_with_the_reason_and_is_no_success() -> Done {
    for args in [["--memory", "pinned"], ["--memory", "pinned-driver"], ["--timing", "device"]] {
        let ended =
            host(&[&["--gpus", "0", "--size", "4KiB", "--reps", "1", "--json", "-"], &args[..]].concat());
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(1));
        for result in results(&document) {
            assert_eq!(text(result, "/outcome/status"), "skipped");
            assert!(text(result, "/outcome/reason").contains("host copies"), "{}", result["outcome"]);
        }
    }
    let ended =
        host(&["--gpus", "0", "--size", "4KiB", "--reps", "1", "--json", "-", "--memory", "pinned,pageable"]);
    proof::document(&ended)?;
    assert_eq!(ended.code, Some(3), "half of what was asked for is not the whole");
    Ok(())
}

#[test]
fn the_document_of_a_run_proves_where_it_was_and_no_other_place() -> Done {
    let document = document(&["--size", "1MiB", "--reps", "6"])?;
    let (pu, node) =
        (number(&document, "/ranks/0/asked/pu"), number(&document, "/ranks/0/asked/memory_node"));
    proof::placed(&document, &[(pu, node)])?;
    for wrong in [&[(pu + 1, node)][..], &[(pu, node + 1)], &[(pu, node), (pu, node)], &[]] {
        assert!(proof::placed(&document, wrong).is_err(), "{wrong:?} is not where it was");
    }
    // Nor is it a proof when one page, the device or the thread was elsewhere at either moment, or there is
    // no result.
    let result = "/cases/1/ranks/0";
    for (place, other) in [
        ("seen_after/pu/value", json!(pu + 1)),
        ("seen_after/affinity/value", json!([pu, pu + 1])),
        (
            "seen_before/host_pages/value",
            json!([{"node": node, "pages": 511}, {"node": node + 1, "pages": 1}]),
        ),
        ("seen_after/host_pages/value", json!([{"node": node, "pages": 511}])),
        ("seen_after/host_pages/value", json!(null)),
        ("seen_before/device_pages/value", json!([{"node": node + 1, "pages": 256}])),
        ("outcome/status", json!("invalid")),
        ("seen_before", json!(null)),
    ] {
        let mut changed = document.clone();
        *changed.pointer_mut(&format!("{result}/{place}")).ok_or(place)? = other;
        assert!(proof::placed(&changed, &[(pu, node)]).is_err(), "{place}");
    }
    Ok(())
}
