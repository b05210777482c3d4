//! GPUs that share memory with their CPU, on stand-in drivers: their device memory is memory of this process,
//! so the kernel does locate it, as on Grace or MI300A.

use std::error::Error;

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::proof::{self, list, text};
use crate::run::{Done, skipped};

/// One rank after the other: on a busy machine ranks do not overlap enough to be a result.
const QUICK: [&str; 10] =
    ["--size", "4MiB", "--reps", "6", "--warmup", "1", "--direction", "h2d", "--order", "alone"];

/// The document and the words of a run on these devices.
fn run(kind: &Kind, devices: &str, gpus: &str) -> Result<(Value, String), Box<dyn Error>> {
    let told = [("FAKE_DEVICES", devices)];
    let args = [&QUICK[..], &["--gpus", gpus]].concat();
    let document = proof::document(&kind.pingpong(&told, &[&args[..], &["--json", "-"]].concat())?)?;
    Ok((document, kind.pingpong(&told, &args)?.well().out))
}

/// The one node that all device pages of the first case were found on; `None` where this kernel or container
/// does not tell.
fn located(document: &Value) -> Option<u64> {
    let pages = &document["cases"][0]["ranks"][0]["seen_before"]["device_pages"];
    assert!(text(pages, "/source").starts_with("move_pages"), "it was not looked for: {pages}");
    match list(pages, "/value") {
        [one] => one["node"].as_u64(),
        _ => {
            skipped(&format!("where pages lie is not told here: {pages}"));
            None
        }
    }
}

#[test]
fn device_memory_that_is_not_on_its_own_node_is_located_and_said() -> Done {
    for kind in kinds::tried().into_iter().filter(|kind| kind.name == "cuda") {
        let own = "device 0000:05:00.0; name NVIDIA GH200 120GB; memory-node 0";
        let (document, words) = run(&kind, own, "0")?;
        let Some(node) = located(&document) else { return Ok(()) };
        let device = &document["devices"][0];
        assert_eq!(
            (text(device, "/coherence"), &device["memory_node"]["value"]),
            ("nvlink-c2c", &Value::from(0))
        );
        assert_eq!(
            device["bound_bytes_per_s"]["value"].as_f64(),
            Some(450e9),
            "NVLink-C2C's, and not PCIe's"
        );
        assert_eq!(words.contains("lies on"), node != 0, "{words}");

        let away = node + 1;
        let (_, words) = run(&kind, &format!("{}{away}", own.trim_end_matches('0')), "0")?;
        let want =
            format!("The memory of GPU 0 lies on NUMA node {node}, host memory, not on its own node {away}");
        assert!(words.replace("\n  ", " ").contains(&want), "{want}: {words}");

        let two = format!("{}{away}; device 0000:06:00.0; memory-node {node}", own.trim_end_matches('0'));
        let (_, words) = run(&kind, &two, "0,1")?;
        let want =
            format!("The memory of GPU 0 lies on NUMA node {node}, the memory of GPU 1, not on its own");
        assert!(words.replace("\n  ", " ").contains(&want), "{want}: {words}");
    }
    Ok(())
}

#[test]
fn copies_of_an_apu_are_said_to_be_within_its_memory() -> Done {
    for kind in kinds::tried() {
        let (document, words) = run(&kind, "device 0000:05:00.0; name AMD Instinct MI300A; shared", "0")?;
        let device = &document["devices"][0];
        assert_eq!(text(device, "/coherence"), "shared-hbm");
        assert!(device["bound_bytes_per_s"]["value"].is_null(), "{device}");
        assert!(words.contains("HBM"), "{words}");
        located(&document);
    }
    Ok(())
}

#[test]
fn the_memory_of_a_gpu_behind_pcie_is_not_looked_for() -> Done {
    for kind in kinds::tried() {
        let (document, words) = run(&kind, "device 0000:05:00.0", "0")?;
        let device = &document["devices"][0];
        assert!(device["coherence"].is_null() && device["memory_node"].is_null(), "{device}");
        let pages = &document["cases"][0]["ranks"][0]["seen_before"]["device_pages"];
        assert!(pages["value"].is_null() && text(pages, "/source") == "none", "{pages}");
        assert!(!words.contains("HBM") && !words.contains("lies"), "{words}");
    }
    Ok(())
}
