//! `numabench latency`: a GPU's loads on stand-in devices of described latencies, a core's where no GPU takes part, and handovers between cores.

use serde_json::Value;

use crate::driver::{self, Driver};
use crate::proof::{self, list, number, text};
use crate::run::{Done, Ended, end, run, skipped, with_driver};

/// Every PU of this machine stands for node 0: the second device is elsewhere.
const DEVICES: &str = "node 0 0-1023; device 0000:05:00.0; host-node 0; loads 700ns 1100ns; \
    device 0000:06:00.0; host-node 1; loads 700ns 1100ns";

fn described(driver: Driver, backend: &str, faults: &str) -> Result<Ended, Box<dyn std::error::Error>> {
    let folder = driver::stand_in(driver)?;
    let told = [
        ("FAKE_DEVICES", DEVICES.to_owned()),
        ("FAKE_PUS", "seen".to_owned()),
        ("FAKE_FAULTS", faults.to_owned()),
        ("LD_PRELOAD", folder.join(driver.library()).display().to_string()),
    ];
    let args = ["--rows", "node", "--range", "4MiB", "--json", "-"];
    Ok(end(with_driver(&folder).args(["latency", "--backend", backend]).envs(told), args))
}

/// The results of the only case, those of the first row.
fn outcomes(document: &Value) -> Vec<&Value> {
    list(&document["cases"][0], "/ranks").iter().map(|rank| &rank["outcome"]).collect()
}

#[test]
fn each_gpus_load_takes_what_its_way_to_the_memory_takes() -> Done {
    let ended = described(Driver::Cuda, "cuda", "")?;
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
    assert!(text(&document, "/platform/simulated").contains("fake driver"), "{}", document["platform"]);
    Ok(())
}

#[test]
fn loads_that_were_not_all_made_are_no_number() -> Done {
    let ended = described(Driver::Cuda, "cuda", "kernels chase-stops")?;
    let document = proof::document(&ended)?;
    for outcome in outcomes(&document) {
        assert_eq!(text(outcome, "/status"), "invalid", "{outcome}");
        assert!(text(outcome, "/reason").contains("loads the device is at load"), "{outcome}");
    }
    assert_ne!(ended.code, Some(0));
    Ok(())
}

#[test]
fn a_gpu_that_runs_no_kernel_is_skipped_with_the_reason() -> Done {
    let ended = described(Driver::Hip, "hip", "")?;
    let document = proof::document(&ended)?;
    for outcome in outcomes(&document) {
        assert_eq!(text(outcome, "/status"), "skipped", "{outcome}");
        assert!(text(outcome, "/reason").contains("numabench has no kernel for HIP"), "{outcome}");
    }
    assert_ne!(ended.code, Some(0));
    Ok(())
}

#[test]
fn without_a_gpu_each_core_loads_from_each_nodes_memory() -> Done {
    let args = ["latency", "--backend", "host", "--range", "1MiB", "--reps", "6"];
    let document = proof::document(&run(&[&args[..], &["--json", "-"]].concat()))?;
    assert_eq!(text(&document, "/cases/0/direction"), "load", "{}", document["cases"]);
    assert!(run(&args).out.contains("ns a load"));
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
    assert!(shown.contains("ns a handover (half of a round trip)") && shown.contains("p50 ± "), "{shown}");
    Ok(())
}

#[test]
fn cores_that_cannot_hand_over_are_refused_with_what_is_allowed() {
    run(&["latency", "--between", "cores", "--cpus", "0,0"]).refused(2, &["PU 0, twice", "each once"]);
    run(&["latency", "--between", "cores", "--cpus", "0,4711"]).refused(2, &["PU 4711", "may use PUs"]);
    run(&["latency", "--between", "cores", "--cpus", "0"]).refused(2, &["needs two cores", "there is one (PU 0"]);
    run(&["latency", "--cpus", "0,1"]).refused(2, &["--between"]);
    run(&["latency", "--between", "gpus"]).refused(2, &["cores"]);
    run(&["latency", "--between", "cores", "--range", "1MiB"]).refused(2, &["cannot be used with"]);
}
