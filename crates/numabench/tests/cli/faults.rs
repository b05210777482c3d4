//! A GPU driver that fails, in every way that the stand-in can be told, and with every kind of driver: what
//! goes wrong is a result with its status, call, code and message, the cases that nothing is wrong with are
//! kept, and nothing hangs past `--timeout`.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::proof::{self, list, results, text};
use crate::run::{Done, Ended};

/// One small case each of H2D and D2H, one rank.
const BOTH: &[&str] = &["--gpus", "0", "--size", "1MiB", "--reps", "6", "--direction", "h2d,d2h"];
/// Of a code that the driver itself cannot explain.
const UNKNOWN: &str = "unknown to this driver";
/// To standard output.
const JSON: &[&str] = &["--json", "-"];

/// The document of a run with a fault, and how it ended.
fn document(kind: &Kind, faults: &str, args: &[&[&str]]) -> Result<(Value, Ended), Box<dyn Error>> {
    let ended = kind.faulty(faults, &[&args.concat(), JSON].concat())?;
    Ok((proof::document(&ended)?, ended))
}

/// Each result's case and status.
fn outcomes(document: &Value) -> Vec<(String, String)> {
    let cases = list(document, "/cases").iter();
    cases
        .flat_map(|case| {
            let id = text(case, "/id");
            list(case, "/ranks")
                .iter()
                .map(move |rank| (id.to_owned(), text(rank, "/outcome/status").to_owned()))
        })
        .collect()
}

/// The outcome of the one case whose id has these words.
fn outcome<'a>(document: &'a Value, words: &str) -> Result<&'a Value, Box<dyn Error>> {
    let case = list(document, "/cases").iter().find(|case| text(case, "/id").contains(words));
    Ok(&case.ok_or(format!("no case {words}"))?["ranks"][0]["outcome"])
}

#[test]
fn a_code_of_any_call_is_the_result_of_its_case_with_the_drivers_own_words() -> Done {
    let mut said = BTreeSet::new();
    for kind in kinds::tried() {
        for (call, stage) in
            [(kind.register, "allocate"), (kind.allocate, "allocate"), (kind.to_device, "warm-up")]
        {
            // What a copy from the device begins with is put there by one to it.
            let stage_of =
                |id: &str| if call == kind.to_device && !id.contains("/h2d/") { "verify" } else { stage };
            for code in [917, 98765, -1] {
                let (document, ended) = document(&kind, &format!("fail {call} * {code}"), &[BOTH])?;
                assert_eq!(ended.code, Some(1), "{call} {code}: {document:#}");
                let cases = list(&document, "/cases").iter().flat_map(|case| {
                    list(case, "/ranks").iter().map(move |result| (text(case, "/id"), result))
                });
                for (id, result) in cases {
                    let outcome = &result["outcome"];
                    let told = (text(outcome, "/status"), text(outcome, "/stage"));
                    assert_eq!(told, ("failed", stage_of(id)), "{id}: {outcome}");
                    assert_eq!((text(outcome, "/call"), outcome["code"].as_i64()), (call, Some(code)));
                    let message = text(outcome, "/message").replace(call, "CALL");
                    said.insert(message.replace(&code.to_string(), "CODE"));
                }
            }
        }
    }
    insta::assert_snapshot!(said.into_iter().collect::<Vec<_>>().join("\n"), @"CALL failed with code CODE \
        (unknown to this driver): this driver does not describe it");
    Ok(())
}

#[test]
fn a_copy_that_fails_while_it_is_measured_fails_its_case_and_no_other() -> Done {
    for kind in kinds::tried() {
        // A hundred rounds in each of ten blocks: the 60th copy is one of the first block's.
        let host = ["--timing", "host", "--size", "64KiB", "--reps", "1000"];
        for (fault, call, args) in [
            (format!("fail {} 3 917", kind.queue_to_device), kind.queue_to_device, &[][..]),
            (format!("fail {} 60 98765", kind.to_device), kind.to_device, &host),
        ] {
            let base = if args.is_empty() { BOTH } else { &["--gpus", "0", "--direction", "h2d,d2h"] };
            let (document, ended) = document(&kind, &fault, &[base, args])?;
            assert_eq!(
                (ended.code, text(&document, "/status")),
                (Some(3), "partial"),
                "{fault}: {document:#}"
            );
            let failed = outcome(&document, "/h2d/")?;
            assert_eq!(
                (text(failed, "/status"), text(failed, "/stage"), text(failed, "/call")),
                ("failed", "measure", call)
            );
            assert_eq!(text(outcome(&document, "/d2h/")?, "/status"), "measured", "{fault}");
        }
    }
    Ok(())
}

#[test]
fn one_corrupt_copy_is_found_and_the_run_ends_with_4_and_the_others_results() -> Done {
    for kind in kinds::tried() {
        // The copies that verification compares are the last of a block: of many, any may be the one.
        for copy in ["40+", "*"] {
            let (document, ended) = document(&kind, &format!("corrupt {copy} 777"), &[BOTH])?;
            assert_eq!((ended.code, text(&document, "/status")), (Some(4), "data-corrupt"), "{copy}");
            let corrupt: Vec<&Value> =
                results(&document).filter(|result| text(result, "/outcome/status") == "corrupt").collect();
            assert!(!corrupt.is_empty(), "{:?}", outcomes(&document));
            for result in corrupt {
                assert_eq!(result["verification"]["mismatch"]["offset_bytes"], 777);
            }
        }
    }
    Ok(())
}

/// The run must end by itself soon after its limit of 2 s, with 124 and these words in the message.
fn gives_up(kind: &Kind, faults: &str, args: &[&str]) -> Result<Value, Box<dyn Error>> {
    let began = Instant::now();
    let (document, ended) = document(kind, faults, &[args, &["--timeout", "2s"]])?;
    let took = began.elapsed();
    assert_eq!((ended.code, text(&document, "/status")), (Some(124), "timed-out"), "{faults}");
    assert!((Duration::from_secs(2)..Duration::from_secs(20)).contains(&took), "{faults}: {took:?}");
    assert!(text(&document, "/status_reason").contains("--timeout"), "{}", document["status_reason"]);
    Ok(document)
}

#[test]
fn a_copy_that_never_ends_is_given_up_at_the_timeout_wherever_it_comes() -> Done {
    for kind in kinds::tried() {
        for (copy, args) in [("1", &[][..]), ("9", &[]), ("30", &[]), ("9", &["--memory", "pageable"])] {
            let document = gives_up(&kind, &format!("hang {copy}"), &[BOTH, args].concat())?;
            let lost = list(&document, "/missing");
            assert_eq!(lost.len(), 1, "{lost:?}");
            insta::allow_duplicates! { insta::assert_snapshot!(text(&lost[0], "/why"), @"rank 0 did not come \
            back within the time limit of 2 s: a driver's call hangs, its process is stopped, or its \
            node is gone; --timeout changes the limit") }
        }
    }
    Ok(())
}

#[test]
fn what_was_finished_before_a_copy_hangs_is_kept() -> Done {
    for kind in kinds::tried() {
        let args =
            ["--gpus", "0", "--size", "64KiB", "--reps", "1000", "--direction", "h2d", "--timing", "host"];
        let document = gives_up(&kind, "hang 501", &args)?;
        let blocks = results(&document).map(|result| list(result, "/blocks").len()).sum::<usize>();
        assert!((1..10).contains(&blocks), "{blocks} of 10 blocks");
    }
    Ok(())
}

#[test]
fn a_device_that_is_lost_fails_what_comes_after_and_keeps_what_came_before() -> Done {
    for kind in kinds::tried() {
        for code in [719, 917] {
            let args = [
                "--gpus",
                "0",
                "--size",
                "64KiB",
                "--reps",
                "1000",
                "--direction",
                "h2d",
                "--timing",
                "host",
            ];
            let (document, ended) = document(&kind, &format!("lose 501 {code}"), &[&args])?;
            assert_eq!(ended.code, Some(1), "{document:#}");
            for result in results(&document) {
                assert_eq!(
                    (text(result, "/outcome/status"), result["outcome"]["code"].as_i64()),
                    ("failed", Some(code))
                );
                let blocks = list(result, "/blocks").len();
                assert!((1..10).contains(&blocks), "{blocks} blocks were measured before");
            }
        }
    }
    Ok(())
}

#[test]
fn a_device_that_is_lost_takes_no_other_device_with_it() -> Done {
    for kind in kinds::tried() {
        let args =
            ["--gpus", "0,1", "--order", "alone", "--size", "64KiB", "--reps", "100", "--timing", "host"];
        // Rank 0 and rank 1 take turns; which of them begins the 300th copy is the schedule's matter.
        let (document, ended) = document(&kind, "lose 300 719", &[&args])?;
        assert_eq!(
            (ended.code, text(&document, "/status")),
            (Some(3), "partial"),
            "{:?}",
            outcomes(&document)
        );
        let well = |rank: usize| {
            list(&document, "/cases")
                .iter()
                .all(|case| text(&case["ranks"][rank], "/outcome/status") == "measured")
        };
        assert!(
            well(0) != well(1),
            "one rank's device is lost, the other's is not: {:?}",
            outcomes(&document)
        );
    }
    Ok(())
}

#[test]
fn times_that_no_clock_can_give_make_no_number_and_the_other_clock_still_does() -> Done {
    for kind in kinds::tried() {
        for (times, said) in [
            ("zero", "no time"),
            ("negative", "cannot be"),
            ("nan", "cannot be"),
            ("infinite", "cannot be"),
            ("huge", "cannot be"),
        ] {
            let fault = format!("times * {times}");
            let (document, ended) = document(&kind, &fault, &[BOTH, &["--timing", "device"]])?;
            assert_eq!(ended.code, Some(1), "{times}: {document:#}");
            for result in results(&document) {
                assert_eq!(text(result, "/outcome/status"), "invalid", "{times}: {}", result["outcome"]);
                let reason = text(result, "/outcome/reason");
                assert!(reason.contains(said) && reason.contains("--timing"), "{times}: {reason}");
            }
            let (document, ended) = self::document(&kind, &fault, &[BOTH, &["--timing", "host"]])?;
            assert_eq!(ended.code, Some(0), "{times}: {:?}", outcomes(&document));
        }
    }
    Ok(())
}

#[test]
fn one_impossible_time_among_many_spoils_its_case_only() -> Done {
    for kind in kinds::tried() {
        let (document, ended) = document(&kind, "times 2 huge", &[BOTH])?;
        assert_eq!(ended.code, Some(3), "{document:#}");
        let mut seen: Vec<String> = outcomes(&document).into_iter().map(|(_, status)| status).collect();
        seen.sort_unstable();
        assert_eq!(seen, ["invalid", "measured"]);
    }
    Ok(())
}

#[test]
fn a_driver_that_lacks_a_function_is_named_with_it_before_anything_runs() -> Done {
    for kind in kinds::tried() {
        for function in kind.required {
            let ended = kind.lacking(function, BOTH)?;
            let refused = ended.refused(77, &[&format!(" {function}: ")]).err.replace(function, "FUNCTION");
            insta::allow_duplicates! {
                insta::assert_snapshot!(refused.split(" (").next().unwrap_or_default(), @"numabench: error: \
                    a GPU was asked for, but the driver library has no FUNCTION: it is older than numabench \
                    needs")
            }
        }
        // The latch's wait is not required: without it something else holds, or the host times.
        let wait = if kind.name == "cuda" { "cuStreamWaitValue32_v2" } else { kind.wait_value };
        assert_eq!(kind.lacking(wait, BOTH)?.code, Some(0));
    }
    Ok(())
}

#[test]
fn a_driver_that_does_not_start_is_absent_hardware_with_its_code() -> Done {
    for kind in kinds::tried() {
        for code in ["917", "98765", "-1"] {
            let fault = format!("fail {} * {code}", kind.init);
            kind.faulty(&fault, BOTH)?.refused(77, &[kind.init, &format!("code {code}"), UNKNOWN]);
        }
    }
    Ok(())
}

#[test]
fn a_copy_to_the_host_that_fails_once_fails_only_the_case_it_was_in() -> Done {
    for kind in kinds::tried() {
        let args = [
            "--gpus",
            "0",
            "--size",
            "64KiB",
            "--reps",
            "1000",
            "--direction",
            "h2d,d2h",
            "--timing",
            "host",
        ];
        let (document, ended) = document(&kind, &format!("fail {} 60 917", kind.to_host), &[&args])?;
        assert_eq!(ended.code, Some(3), "{:?}", outcomes(&document));
        assert_eq!(text(outcome(&document, "/h2d/")?, "/status"), "measured");
        assert_eq!(text(outcome(&document, "/d2h/")?, "/call"), kind.to_host);
    }
    Ok(())
}

#[test]
fn nothing_turns_off_that_the_devices_are_simulated() -> Done {
    for kind in kinds::tried() {
        let (document, _) = document(&kind, "fail nothing * 0", &[BOTH, &["--no-verify", "--quiet"]])?;
        assert!(text(&document, "/platform/simulated").contains("fake"), "{}", document["platform"]);
        for args in [
            &["--quiet"][..],
            &["--color", "always"],
            &["--color", "never"],
            &["--no-verify"],
            &["--order", "alone"],
        ] {
            let told =
                [("NO_COLOR", "1"), ("FAKE_DEVICES", "device 0000:05:00.0"), ("numabench_simulation", "")];
            let table = kind.pingpong(&told, &[BOTH, args].concat())?;
            assert_eq!(table.code, Some(0), "{}", table.out);
            assert!(table.out.contains("SIMULATED") && table.out.contains("fake"), "{args:?}: {}", table.out);
        }
        // Also where there is nothing but failure to report.
        let table = kind.faulty(&format!("fail {} * 2", kind.allocate), BOTH)?;
        assert!(table.out.contains("SIMULATED"), "{}", table.out);
    }
    Ok(())
}

#[test]
fn a_wait_that_fails_frees_nothing_that_copies_may_still_use() -> Done {
    for kind in kinds::tried() {
        // The first wait fails, or all do: in either case the copies behind it go on.
        for when in ["1", "1", "1", "3", "*"] {
            let (document, ended) =
                document(&kind, &format!("fail {} {when} 999", kind.synchronize), &[BOTH])?;
            assert!(matches!(ended.code, Some(1 | 3)), "{when}: {:?} {}", ended.code, ended.err);
            proof::agrees(&document, ended.code)?;
        }
    }
    Ok(())
}
