//! `--memory managed` and `--memory system`: memory that the GPU and the core touch by turns, on the stand-in
//! drivers; what is wrong with it is seen, and what a driver lacks is said.

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::proof::{self, case_ids, list, results, text};
use crate::run::{Done, Ended, end, run, with_driver};

/// In virtual time, as a GH200 has it: what is with the device is read at once, what is not comes at 25 GB/s.
const DEVICES: &str =
    "device 0000:05:00.0; system; h2d 25GB/s 10us; d2h 20GB/s 10us; kernel numabench_moving_read 2ns";

/// A command with memory that moves on the stand-in.
fn touched(kind: &Kind, told: &[(&str, &str)], args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let mut command = with_driver(&kind.folder()?);
    command.args(args).args(["--backend", kind.name, "--json", "-"]).envs(told.iter().copied());
    Ok(end(&mut command, [] as [&str; 0]))
}

fn rate(document: &Value, case: &str) -> f64 {
    let found = list(document, "/cases").iter().find(|found| found["id"] == case);
    let rate = found.and_then(|case| case["ranks"][0]["outcome"]["summary"]["median_bytes_per_s"].as_f64());
    rate.unwrap_or(0.0) / 1e9
}

#[test]
fn both_sides_touch_both_kinds_in_every_way_and_all_words_are_compared() -> Done {
    for kind in kinds::tried() {
        let told = [("FAKE_DEVICES", DEVICES)];
        let of = |command, memory, ways| [command, "--memory", memory, "--size", "1MiB", "--direction", ways];
        for (args, cases) in [
            (of("pingpong", "managed,system", "h2d,d2h"), 2 * (2 * 4 + 1)),
            (of("sweep", "system", "h2d"), 4),
            (of("matrix", "managed", "d2h"), 4),
        ] {
            let ended = touched(&kind, &told, &args)?;
            let document = proof::document(&ended)?;
            assert_eq!(ended.code, Some(0), "{args:?}: {}", document["status_reason"]);
            proof::valid(&document)?;
            assert_eq!(document["command"], args[0]);
            assert_eq!(case_ids(&document).len(), cases, "{:?}", case_ids(&document));
            for result in results(&document) {
                assert!(result["verification"]["bytes_checked"].as_u64() >= Some(1 << 20), "{result:#}");
                // The stand-in leaves all pages on the host.
                assert!(!list(result, "/away").is_empty(), "{result:#}");
                assert!(list(result, "/away").iter().all(|part| part == 0.0), "{result:#}");
                assert!(result["outcome"]["percent_of_bound"].is_null(), "{result:#}");
            }
            let in_turns =
                case_ids(&document).iter().filter(|id| id.ends_with("/roundtrip/1048576/in-turns")).count();
            assert_eq!(in_turns, if args[0] == "pingpong" { 2 } else { 0 });
        }
    }
    Ok(())
}

#[test]
fn the_answer_is_what_the_first_touch_costs_beside_later_ones_and_a_prefetch() -> Done {
    for kind in kinds::tried() {
        let told = [("FAKE_DEVICES", DEVICES), ("LD_PRELOAD", &kind.library()?[..])];
        // What the core does takes no virtual time, so that it is left out.
        let args = ["pingpong", "--memory", "managed", "--size", "1MiB", "--direction", "h2d"];
        let ended = touched(&kind, &told, &args)?;
        let document = proof::document(&ended)?;
        for (touch, expected) in [("first", 16.0..18.0), ("prefetch", 19.0..21.0), ("again", 120.0..130.0)] {
            let rate = rate(&document, &format!("alone/managed/h2d/1048576/{touch}"));
            assert!(expected.contains(&rate), "{}: {touch}: {rate} GB/s", kind.name);
        }
        let said = text(&document, "/verdict/0");
        assert!(said.contains("managed"), "{said}");
        for part in [
            ": the GPU reads pages that the core has at 17.4 GB/s, its own at 12",
            " times), and a prefetch brings them at 20.2 GB/s",
        ] {
            assert!(said.contains(part), "{said}");
        }
        let (_, fate) = said.rsplit_once("GB/s. ").ok_or("no second sentence")?;
        insta::allow_duplicates! { insta::assert_snapshot!(fate, @"Pages that the GPU has read stay with the \
        host.") }
    }
    Ok(())
}

#[test]
fn what_the_gpu_or_the_core_reads_wrong_ends_the_run_with_4() -> Done {
    for kind in kinds::tried() {
        for (kernel, args) in [
            (
                "numabench_moving_read",
                &["sweep", "--memory", "managed", "--size", "1MiB", "--direction", "h2d"][..],
            ),
            (
                "numabench_moving_write",
                &["sweep", "--memory", "managed", "--size", "1MiB", "--direction", "d2h"],
            ),
        ] {
            let told = [("FAKE_FAULTS", &format!("kernels wrong {kernel}")[..])];
            let ended = touched(&kind, &told, args)?;
            let document = proof::document(&ended)?;
            assert_eq!(ended.code, Some(4), "{kernel}: {}", document["status_reason"]);
            assert_eq!(text(&document, "/status"), "data-corrupt");
        }
    }
    Ok(())
}

#[test]
fn a_gpu_that_does_not_read_what_malloc_gives_skips_system_memory_and_says_why() -> Done {
    for kind in kinds::tried() {
        let ended = touched(&kind, &[], &["sweep", "--memory", "system", "--size", "1MiB", "--gpus", "0"])?;
        let document = proof::document(&ended)?;
        assert_ne!(ended.code, Some(0));
        let reason = text(&document, "/cases/0/ranks/0/outcome/reason");
        assert!(reason.contains("malloc") && reason.contains("attribute"), "{reason}");
    }
    Ok(())
}

#[test]
fn more_than_the_gpu_has_is_refused_before_anything_is_touched() -> Done {
    for kind in kinds::tried() {
        let told = [("FAKE_DEVICES", "device 0000:05:00.0; memory 32MiB")];
        let ended = touched(&kind, &told, &["pingpong", "--memory", "managed", "--size", "64MiB"])?;
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        let parts = ["GPU 0", "32 MiB", "smaller", "--size"];
        assert!(parts.iter().all(|part| ended.err.contains(part)), "{}", ended.err);
    }
    Ok(())
}

#[test]
fn what_such_memory_is_not_measured_with_is_refused_with_the_way_out() -> Done {
    let refused = [
        &["sweep", "--memory", "managed,pinned"][..],
        &["sweep", "--memory", "managed", "--reps", "3"],
        &["pingpong", "--memory", "system", "--no-verify"],
        &["matrix", "--memory", "managed", "--concurrent", "--range", "1MiB"],
        &["pingpong", "--memory", "managed", "--membind", "0"],
        &["pingpong", "--memory", "managed", "--order", "both", "--engine", "sm"],
        &["sweep", "--memory", "system", "--timing", "device"],
        &["pingpong", "--memory", "managed", "--direction", "h2d,roundtrip"],
        &["matrix", "--memory", "system", "--direction", "d2h,bidir"],
        &["sweep", "--memory", "managed", "--size", "1000003"],
        &["sweep", "--memory", "managed", "--backend", "host"],
        &["contend", "--memory", "managed"],
    ];
    let said = refused.map(|args| {
        let ended = run(args);
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.err);
        ended.err.split("\n\n").next().unwrap_or_default().trim_end().to_owned()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    numabench: error: managed and system memory are touched, and other kinds copied: ask for them in runs of their own
    numabench: error: --memory managed and system: each block is one round; leave out --reps, or limit the time with --max-time
    numabench: error: --memory managed and system: what verifies it is what makes its pages move; leave out --no-verify
    error: --concurrent cannot be used with --memory managed: managed and system memory lie where they are touched, by one GPU and one core after the other, and by the host's clock; leave one of them out
    error: --membind cannot be used with --memory managed: managed and system memory lie where they are touched, by one GPU and one core after the other, and by the host's clock; leave one of them out
    error: --engine sm cannot be used with --memory managed: managed and system memory lie where they are touched, by one GPU and one core after the other, and by the host's clock; leave one of them out
    error: --timing device cannot be used with --memory system: managed and system memory lie where they are touched, by one GPU and one core after the other, and by the host's clock; leave one of them out
    error: --direction roundtrip cannot be used with --memory managed: managed and system memory are touched by the GPU (h2d) or by the core (d2h), and h2d,d2h has both in turns; leave one of them out
    error: --direction bidir cannot be used with --memory system: managed and system memory are touched by the GPU (h2d) or by the core (d2h), and h2d,d2h has both in turns; leave one of them out
    numabench: error: 1000003 B is no multiple of 16 B; ask for --size 1MiB..256MiB
    numabench: error: --memory managed and system need a GPU, and none takes part here (--backend host)
    error: invalid value 'managed' for '--memory <KIND>'
      [possible values: pinned, pinned-driver, pageable]
    ");
    Ok(())
}

#[test]
fn a_screen_has_both_sides() -> Done {
    for kind in kinds::tried() {
        let mut command = with_driver(&kind.folder()?);
        command.args([
            "pingpong",
            "--memory",
            "managed",
            "--size",
            "1MiB",
            "--brief",
            "--backend",
            kind.name,
        ]);
        let shown = end(&mut command, ["--gpus", "0"]).well().out;
        for side in ["GPU", "core"] {
            assert!(
                shown.contains(&format!("  managed memory touched by the {side}: GB/s")),
                "{}: {shown}",
                kind.name
            );
        }
        assert!(shown.lines().count() <= 40, "{}: {shown}", kind.name);
    }
    Ok(())
}

/// A GPU whose memory is a node of the host, as a Grace Hopper's: what lies there lies with the GPU, and the
/// kernel finds it.
#[test]
fn pages_on_the_node_that_is_the_gpus_memory_lie_with_the_gpu() -> Done {
    for kind in kinds::tried().iter().filter(|kind| kind.name == "cuda") {
        // All memory of this machine: the stand-in moves nothing.
        for (node, part) in [("0", 1.0), ("7", 0.0)] {
            let devices = format!("device 0000:05:00.0; memory-node {node}");
            let args = ["sweep", "--memory", "managed", "--size", "1MiB", "--direction", "h2d"];
            let document = proof::document(&touched(kind, &[("FAKE_DEVICES", &devices)], &args)?)?;
            let on_node_0 = |result: &&Value| {
                list(result, "/seen_before/host_pages/value").iter().all(|pages| pages["node"] == 0)
            };
            for result in results(&document).filter(on_node_0) {
                assert!(!list(result, "/away").is_empty(), "{result:#}");
                assert!(list(result, "/away").iter().all(|away| *away == part), "node {node}: {result:#}");
            }
        }
    }
    Ok(())
}
