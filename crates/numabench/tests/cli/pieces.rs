//! `numabench sweep --pieces`: many small pieces by every way of sending them, on the stand-in drivers; what
//! is wrong with them is seen, and what a driver lacks is said.

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::proof::{self, case_ids, list, results, text};
use crate::run::{Done, Ended, end, run, with_driver};

/// Few pieces, often enough for an interval.
const FEW: [&str; 6] = ["--total", "2MiB", "--reps", "2", "--json", "-"];

/// In virtual time: a copy of 4 KiB takes 1 µs to begin and 0.41 µs for its bytes.
const DEVICES: &str = "device 0000:05:00.0; h2d 10GB/s 1us; d2h 10GB/s 1us; within 1000GB/s 1us";

/// `numabench sweep --pieces 4KiB,1MiB` on the stand-in.
fn sent(kind: &Kind, told: &[(&str, &str)], args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let mut command = with_driver(&kind.folder()?);
    command
        .args(["sweep", "--backend", kind.name, "--pieces", "4KiB,1MiB"])
        .args(FEW)
        .envs(told.iter().copied());
    Ok(end(&mut command, args))
}

fn rate(document: &Value, case: &str) -> f64 {
    let found = list(document, "/cases").iter().find(|found| found["id"] == case);
    let rate = found.and_then(|case| case["ranks"][0]["outcome"]["summary"]["median_bytes_per_s"].as_f64());
    rate.unwrap_or(0.0) / 1e9
}

#[test]
fn pieces_are_sent_in_every_way_wherever_they_lie_and_all_their_bytes_are_compared() -> Done {
    for kind in kinds::tried() {
        for scattered in ["both", "host", "device"] {
            let ended = sent(&kind, &[], &["--scattered", scattered])?;
            let document = proof::document(&ended)?;
            assert_eq!(ended.code, Some(0), "{scattered}: {}", document["status_reason"]);
            proof::valid(&document)?;
            assert_eq!(case_ids(&document).len(), 2 * 2 * 4, "{:?}", case_ids(&document));
            for result in results(&document) {
                assert!(
                    result["verification"]["bytes_checked"].as_u64() >= Some(2 << 20),
                    "{scattered}: {result:#}"
                );
                assert!(!list(result, "/host_round_ns").is_empty(), "{scattered}: {result:#}");
                assert_eq!(
                    list(result, "/blocks")[0]["bytes"].as_u64().map(|bytes| bytes % (2 << 20)),
                    Some(0)
                );
            }
        }
    }
    Ok(())
}

#[test]
fn the_answer_is_from_which_size_on_which_way_is_worth_it() -> Done {
    for kind in kinds::tried() {
        let told = [("FAKE_DEVICES", DEVICES), ("LD_PRELOAD", &kind.library()?[..])];
        let document = proof::document(&sent(&kind, &told, &["--ways", "loop,batch,kernel"])?)?;
        for (way, direction) in [("loop", "h2d"), ("batch", "h2d"), ("kernel", "d2h")] {
            let rate = rate(&document, &format!("alone/pinned/{direction}/4096/{way}"));
            let expected = if way == "loop" { 2.6..3.0 } else { 9.0..10.1 };
            assert!(expected.contains(&rate), "{}: {way} {direction}: {rate} GB/s", kind.name);
        }
        let said = text(&document, "/verdict/0");
        let begins = "H2D in pieces, scattered on both sides: of 4 KiB one batch of copies is 3.";
        assert!(said.starts_with(begins), "{said}");
        assert!(said.ends_with("from 1 MiB on a copy of each does as well as any other way."), "{said}");
        let worth = list(&document, "/pieces/worth");
        assert_eq!((&worth[0]["way"], &worth[0]["to_bytes"]), (&"batch".into(), &4096.into()), "{worth:?}");
    }
    Ok(())
}

#[test]
fn a_screen_has_both_directions_and_the_whole_every_size_and_the_hosts_part() -> Done {
    for kind in kinds::tried() {
        // In virtual time the answer is short and always the same.
        let told = [("FAKE_DEVICES", DEVICES), ("LD_PRELOAD", &kind.library()?[..])];
        let shown = |form: &str| -> Result<String, Box<dyn std::error::Error>> {
            let mut command = with_driver(&kind.folder()?);
            command.args([
                "sweep",
                "--backend",
                kind.name,
                "--pieces",
                "4KiB..256KiB",
                "--total",
                "256KiB",
                "--reps",
                "2",
            ]);
            command.args(["--ways", "loop,batch,kernel"]).envs(told);
            Ok(end(&mut command, [form]).well().out)
        };
        let (screen, whole) = (shown("--brief")?, shown("--full")?);
        assert!(screen.lines().count() <= 40, "{}: {screen}", kind.name);
        for direction in ["H2D", "D2H"] {
            let caption =
                format!("  {direction}, 256 KiB in pieces scattered on both sides: GB/s, and µs a piece");
            assert!(screen.contains(&format!("{caption}, 5 of 7 sizes")), "{}: {screen}", kind.name);
            assert!(whole.contains(&format!("{caption}\n")), "{}: {whole}", kind.name);
            assert!(
                whole.contains(&format!("{direction}: % of the time in which the host is in calls")),
                "{whole}"
            );
        }
        let rows =
            |text: &str, size: &str| text.lines().filter(|line| line.trim_start().starts_with(size)).count();
        assert_eq!(
            (rows(&screen, "16 KiB"), rows(&screen, "256 KiB"), rows(&whole, "16 KiB")),
            (0, 2, 4),
            "{screen}"
        );
    }
    Ok(())
}

#[test]
fn pieces_of_every_row_say_whose_they_are() -> Done {
    for kind in kinds::tried() {
        let ended = sent(&kind, &[], &["--rows", "core", "--ways", "loop,kernel", "--direction", "h2d"])?;
        let document = proof::document(&ended)?;
        let said: Vec<String> = list(&document, "/verdict").iter().map(ToString::to_string).collect();
        for rank in list(&document, "/ranks") {
            let place =
                format!("from PU {}, NUMA node {}:", rank["asked"]["pu"], rank["asked"]["memory_node"]);
            let own = said.iter().filter(|sentence| sentence.contains(&place)).count();
            assert!(own == 1 || list(&document, "/ranks").len() == 1, "{place}: {said:?}");
        }
    }
    Ok(())
}

#[test]
fn a_piece_that_does_not_arrive_is_seen_in_every_way() -> Done {
    for kind in kinds::tried() {
        for (way, fault) in [
            ("kernel", "kernels wrong numabench_pieces"),
            ("packed", "kernels wrong numabench_pieces"),
            ("batch", "corrupt 12+ 70"),
            ("loop", "corrupt 40+ 70"),
        ] {
            let ended = sent(&kind, &[("FAKE_FAULTS", fault)], &["--direction", "h2d", "--ways", way])?;
            assert_eq!(ended.code, Some(4), "{} {way}: {}", kind.name, ended.err);
        }
    }
    Ok(())
}

#[test]
fn a_driver_without_batches_is_told_and_the_other_ways_are_measured() -> Done {
    for kind in kinds::tried() {
        let call = if kind.name == "cuda" { "cuMemcpyBatchAsync" } else { "hipMemcpyBatchAsync" };
        let export = if kind.name == "cuda" { "cuMemcpyBatchAsync_v2" } else { call };
        let mut command = with_driver(&kind.without(export)?);
        command.args(["sweep", "--backend", kind.name, "--pieces", "4KiB,1MiB", "--direction", "h2d"]);
        let document = proof::document(&end(&mut command, FEW))?;
        let skipped: Vec<&Value> =
            results(&document).filter(|result| result["outcome"]["status"] == "skipped").collect();
        assert_eq!(skipped.len(), 2, "{skipped:?}");
        assert!(skipped.iter().all(|result| text(result, "/outcome/reason").contains(call)), "{skipped:?}");
        let measured = results(&document).filter(|result| result["outcome"]["status"] == "measured").count();
        assert_eq!((measured, text(&document, "/status")), (6, "partial"));
    }
    Ok(())
}

#[test]
fn what_pieces_cannot_be_is_refused_with_the_way_out() {
    let refused = [
        &["--pieces", "3KiB"][..],
        &["--pieces", "1MiB", "--total", "64KiB"],
        &["--pieces", "4KiB", "--direction", "bidir"],
        &["--pieces", "4KiB", "--memory", "pageable"],
        &["--pieces", "4KiB", "--backend", "host"],
        &["--pieces", "4KiB", "--size", "1MiB"],
        &["--ways", "loop"],
    ];
    let said = refused.map(|args| {
        let ended = run(&[&["sweep"][..], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.err);
        ended.err.split("\n\nUsage").next().unwrap_or_default().trim_end().to_owned()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    numabench: error: a piece of 3072 B is no multiple of 4 KiB; ask for --pieces 4KiB..1MiB
    numabench: error: a piece of 1 MiB is more than all of them, 64 KiB; ask for a larger --total
    numabench: error: --pieces go one way at a time; ask for --direction h2d, d2h or both of them
    numabench: error: --pieces lie in pinned memory, which alone is copied asynchronously; leave out --memory
    numabench: error: --pieces needs a GPU, and none takes part here (--backend host); leave it out to sweep sizes of single copies
    error: the argument '--pieces <SIZES>' cannot be used with '--size <SIZES>'
    error: --ways needs --pieces: add it, or leave --ways out
    ");
}
