//! `numabench latency`: a GPU's loads on stand-in devices of described latencies, a core's where no GPU takes
//! part, alone and beside traffic, and handovers between cores.

use std::process::Command;

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::processors::allowed;
use crate::proof::{self, list, number, text};
use crate::run::{BINARY, Done, Ended, end, run, skipped, with_driver};

/// Every PU of this machine stands for node 0: the second device is elsewhere.
const DEVICES: &str = "node 0 0-1023; device 0000:05:00.0; host-node 0; loads 700ns 1100ns; \
    device 0000:06:00.0; host-node 1; loads 700ns 1100ns";

fn described(kind: &Kind, faults: &str) -> Result<Ended, Box<dyn std::error::Error>> {
    let told = [
        ("FAKE_DEVICES", DEVICES.to_owned()),
        ("FAKE_PUS", "seen".to_owned()),
        ("FAKE_FAULTS", faults.to_owned()),
        ("LD_PRELOAD", kind.library()?),
    ];
    let args = ["--rows", "node", "--range", "4MiB", "--json", "-"];
    Ok(end(with_driver(&kind.folder()?).args(["latency", "--backend", kind.name]).envs(told), args))
}

/// The results of the only case, those of the first row.
fn outcomes(document: &Value) -> Vec<&Value> {
    list(&document["cases"][0], "/ranks").iter().map(|rank| &rank["outcome"]).collect()
}

#[test]
fn each_gpus_load_takes_what_its_way_to_the_memory_takes() -> Done {
    for kind in kinds::tried() {
        let ended = described(&kind, "")?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        let (case, found) = (&document["cases"][0], outcomes(&document));
        assert_eq!((text(case, "/direction"), number(case, "/range_bytes")), ("load", 4 << 20));
        assert_eq!(text(case, "/timing"), "device");
        assert_eq!(found.len(), 2 * list(&document, "/matrices/0/rows").len(), "{found:#?}");
        for (outcome, ns) in found.iter().zip([700.0, 1100.0]) {
            let median = outcome["summary"]["median_ns"].as_f64().ok_or("no time")?;
            assert!((median / ns - 1.0).abs() < 0.01, "{median} ns, not {ns}");
        }
        let loads = list(case, "/ranks").iter().all(|rank| rank["verification"]["checked"] == true);
        assert!(loads, "{case:#}");
        assert!(text(&document, "/platform/simulated").contains("fake"), "{}", document["platform"]);
    }
    Ok(())
}

#[test]
fn loads_that_were_not_all_made_are_no_number() -> Done {
    for kind in kinds::tried() {
        let ended = described(&kind, "kernels chase-stops")?;
        let document = proof::document(&ended)?;
        for outcome in outcomes(&document) {
            assert_eq!(text(outcome, "/status"), "invalid", "{outcome}");
            assert!(text(outcome, "/reason").contains("loads the device is at load"), "{outcome}");
        }
        assert_ne!(ended.code, Some(0));
    }
    Ok(())
}

#[test]
fn a_gpu_that_runs_no_kernel_is_skipped_with_the_reason() -> Done {
    for kind in kinds::tried().iter().filter(|kind| kind.name == "hip") {
        let ended = described(kind, kinds::NO_COMPILER)?;
        let document = proof::document(&ended)?;
        for outcome in outcomes(&document) {
            assert_eq!(text(outcome, "/status"), "skipped", "{outcome}");
            assert!(text(outcome, "/reason").contains(kinds::NO_KERNEL), "{outcome}");
        }
        assert_ne!(ended.code, Some(0));
    }
    Ok(())
}

#[test]
fn without_a_gpu_each_core_loads_from_each_nodes_memory() -> Done {
    let args = ["latency", "--backend", "host", "--range", "1MiB", "--reps", "6"];
    let document = proof::document(&run(&[&args[..], &["--json", "-"]].concat()))?;
    assert_eq!(text(&document, "/cases/0/direction"), "load", "{}", document["cases"]);
    assert!(run(&args).out.lines().any(|line| line.contains(" ns ") && line.contains("load")));
    Ok(())
}

#[test]
fn loads_are_measured_beside_traffic_of_each_step_and_every_thread_is_proven() -> Done {
    let plan = run(&["latency", "--loaded", "--dry-run"]);
    if plan.code != Some(0) {
        plan.refused(2, &["loads beside traffic need two cores", "may use PUs", "--beside-cpus"]);
        skipped("loads beside traffic: this process may use one core only");
        return Ok(());
    }
    assert!(plan.out.contains("tenths"), "{}", plan.out);
    let after = |words: &str| {
        let rest = plan.out.split(words).nth(1).unwrap_or_default();
        rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default().to_owned()
    };
    let (loads, writes) = (after("loads by PU "), after("traffic by PU "));
    let args = [
        "latency",
        "--loaded=write",
        "--rows",
        "node",
        "--beside-cpus",
        &writes,
        "--range",
        "1MiB",
        "--reps",
        "12",
    ];
    let ended = run(&[&args[..], &["--json", "-"]].concat());
    let document = proof::document(&ended)?;
    let rows = list(&document, "/matrices/0/rows");
    let names: Vec<&str> = rows.iter().map(|row| text(row, "/name")).collect();
    assert_eq!(
        (names.len(), names[0], names[1], names[10]),
        (11, "idle", "10 % write traffic", "full write traffic")
    );
    assert_eq!(text(&document, "/matrices/0/compares"), "loaded");
    let asked = |rank: u64| &document["ranks"][rank as usize]["asked"];
    for row in rows {
        let of_row = |case: &&Value| text(case, "/group") == text(row, "/group");
        let cases: Vec<&Value> = list(&document, "/cases").iter().filter(of_row).collect();
        let ways: Vec<&str> = cases.iter().map(|case| text(case, "/direction")).collect();
        let idle = text(row, "/name") == "idle";
        assert_eq!(ways, if idle { vec!["load"] } else { vec!["load", "write"] });
        for case in cases {
            let order = if idle { "alone" } else { "simultaneous" };
            assert_eq!((text(case, "/order"), number(case, "/range_bytes")), (order, 1 << 20));
            // On a busy machine the two may not be at work at once; then it is no figure, and says so.
            assert!(["measured", "invalid"].contains(&text(case, "/status")), "{case:#}");
            if text(case, "/status") == "invalid" && case["overlap"].is_null() {
                continue;
            }
            assert_eq!(case["overlap"].is_null(), idle, "{case:#}");
            let [result] = list(case, "/ranks") else { return Err(format!("{case:#}").into()) };
            let rank = number(result, "/rank");
            let pu = if text(case, "/direction") == "write" { &writes } else { &loads };
            assert_eq!(asked(rank)["pu"].to_string(), *pu);
            assert_eq!(result["verification"]["checked"], true);
            for moment in ["seen_before", "seen_after"] {
                assert_eq!(result[moment]["pu"]["value"], asked(rank)["pu"], "{moment}");
                assert_eq!(
                    result[moment]["host_pages"]["value"][0]["node"],
                    asked(rank)["memory_node"],
                    "{moment}"
                );
            }
        }
    }
    let curve = &document["loaded_latency"][0];
    assert_eq!(text(curve, "/traffic"), "write");
    assert_eq!((curve["pu"].to_string(), curve["traffic_pus"].to_string()), (loads, format!("[{writes}]")));
    let measured = list(&document, "/cases").iter().filter(|case| text(case, "/status") == "measured");
    let latencies = measured.filter(|case| text(case, "/direction") == "load").count();
    assert!(list(curve, "/points").len() <= latencies, "no point without a figure: {curve:#}");
    let sentences = list(&document, "/verdict").iter().filter_map(Value::as_str);
    assert!(sentences.clone().any(|sentence| sentence.starts_with("node")), "{}", document["verdict"]);
    Ok(())
}

#[test]
fn loads_without_a_core_of_their_own_beside_traffic_are_refused_with_what_to_do() -> Done {
    let all = run(&["latency", "--loaded", "--beside-cpus", "0-1023"]);
    all.refused(2, &["--beside-cpus names PUs", "allowed are"]);
    let mine = allowed()?.first().ok_or("no PU")?;
    let mut alone = Command::new("taskset");
    alone.args(["-c", &mine.to_string(), BINARY, "latency", "--loaded"]);
    let one = format!("one core (PU {mine})");
    Ended::of(&alone.output()?).refused(2, &["need two cores", &one, "start it where it may"]);
    run(&["latency", "--beside-cpus", "0"]).refused(2, &["--loaded"]);
    run(&["latency", "--loaded", "--between", "cores"]).refused(2, &["cannot be used with"]);
    run(&["latency", "--loaded=load"]).refused(2, &["read, write, copy"]);
    Ok(())
}

#[test]
fn between_cores_every_two_are_measured_once_placed_and_counted() -> Done {
    let plan = run(&["latency", "--between", "cores", "--dry-run"]);
    if plan.code != Some(0) {
        skipped("handovers between cores: this process may use one core only");
        return Ok(());
    }
    let args = ["latency", "--between", "cores", "--reps", "12"];
    let document = proof::document(&run(&[&args[..], &["--json", "-"]].concat()))?;
    let rows = list(&document, "/matrices/0/rows").len();
    let cases = list(&document, "/cases");
    assert_eq!((text(&document, "/matrices/0/compares"), cases.len()), ("cores", rows * (rows - 1) / 2));
    for case in cases {
        let [result] = list(case, "/ranks") else { return Err(format!("{case:#}").into()) };
        assert_eq!(
            (text(case, "/direction"), text(result, "/outcome/status")),
            ("core-to-core", "measured"),
            "{case:#}"
        );
        assert_eq!(result["verification"]["checked"], true);
        let asked = &document["ranks"][number(result, "/rank") as usize]["asked"];
        let pus = text(case, "/group").strip_prefix("PUs ").ok_or("no PUs")?;
        assert!(pus.ends_with(&format!(",{}", asked["pu"])), "{pus}: the one that asks is named last");
        for moment in ["seen_before", "seen_after"] {
            assert_eq!(result[moment]["pu"]["value"], asked["pu"], "{moment}");
            assert_eq!(result[moment]["host_pages"]["value"][0]["node"], asked["memory_node"], "{moment}");
        }
    }
    assert_eq!(list(&document, "/rows").len(), cases.len());
    let shown = run(&args).out;
    assert!(
        shown.lines().any(|line| line.contains(" ns ") && line.contains("way")) && shown.contains("p50"),
        "{shown}"
    );
    Ok(())
}

#[test]
fn cores_that_cannot_hand_over_are_refused_with_what_is_allowed() {
    run(&["latency", "--between", "cores", "--cpus", "0,0"]).refused(2, &["PU 0, twice", "each once"]);
    run(&["latency", "--between", "cores", "--cpus", "0,4711"]).refused(2, &["PU 4711", "may use PUs"]);
    run(&["latency", "--between", "cores", "--cpus", "0"])
        .refused(2, &["needs two PUs", "--cpus names PU 0 alone", "name another one of"]);
    run(&["latency", "--cpus", "0,1"]).refused(2, &["--between"]);
    run(&["latency", "--between", "nodes"]).refused(2, &["cores", "gpus"]);
    run(&["latency", "--between", "cores", "--range", "1MiB"]).refused(2, &["cannot be used with"]);
}

/// `numabench latency --between gpus` on a device of this kind, by the machine's own clock: the kernel that
/// answers and the core look without a pause.
fn answered(kind: &Kind, faults: &str, args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let told = [("FAKE_DEVICES", "device 0000:05:00.0".to_owned()), ("FAKE_FAULTS", faults.to_owned())];
    let command = ["latency", "--backend", kind.name, "--between", "gpus"];
    Ok(end(with_driver(&kind.folder()?).args(command).envs(told), args))
}

#[test]
fn a_flag_goes_to_each_gpu_and_back_and_every_answer_is_the_questions_own() -> Done {
    for kind in kinds::tried() {
        let ended = answered(&kind, "", &["--reps", "6", "--json", "-"])?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        let case = &document["cases"][0];
        assert_eq!(
            (text(case, "/direction"), text(case, "/timing"), number(case, "/bytes")),
            ("core-to-gpu", "host", 16)
        );
        for result in list(case, "/ranks") {
            assert_eq!(text(result, "/outcome/status"), "measured", "{result:#}");
            assert_eq!(result["verification"]["checked"], true);
            assert!(!list(result, "/seen_after/host_pages/value").is_empty(), "the flags' page is looked up");
        }
    }
    let table = answered(&kinds::tried()[0], "", &["--reps", "6"])?.out;
    assert!(
        table.starts_with("CPU-GPU") && table.matches("CPU-GPU").count() > 1,
        "the answer, and a table: {table}"
    );
    Ok(())
}

#[test]
fn a_gpu_that_stops_answering_or_runs_no_kernel_gives_no_number() -> Done {
    for kind in kinds::tried() {
        let document =
            proof::document(&answered(&kind, "kernels answers-stop", &["--reps", "6", "--json", "-"])?)?;
        let outcome = &document["cases"][0]["ranks"][0]["outcome"];
        assert_eq!(text(outcome, "/status"), "failed", "{outcome}");
        assert!(text(outcome, "/message").contains("the device stopped answering: it looked"), "{outcome}");
    }
    for kind in kinds::tried().iter().filter(|kind| kind.name == "hip") {
        let document =
            proof::document(&answered(kind, kinds::NO_COMPILER, &["--reps", "6", "--json", "-"])?)?;
        let outcome = &document["cases"][0]["ranks"][0]["outcome"];
        assert_eq!(text(outcome, "/status"), "skipped", "{outcome}");
        assert!(text(outcome, "/reason").contains(kinds::NO_KERNEL), "{outcome}");
    }
    Ok(())
}

#[test]
fn flags_of_one_kind_take_no_option_of_the_other() {
    for (args, why) in [
        (&["cores", "--rows", "core"][..], "--rows cannot be used with --between cores"),
        (&["cores", "--gpus", "0"], "--gpus cannot be used with --between cores"),
        (&["gpus", "--cpus", "0"], "--cpus needs --between cores"),
    ] {
        run(&[&["latency", "--between"], args].concat()).refused(2, &[why]);
    }
    run(&["latency", "--between", "gpus", "--backend", "host"]).refused(77, &["there is no GPU here"]);
}
