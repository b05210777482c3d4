//! Devices with described rates: what is measured is what the description allows, so that the whole way from
//! copies to the figures in the document can be held against a known truth.
//!
//! Devices with described rates live in virtual time, and so does the program's clock: a busy machine changes
//! no figure.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::proof::{self, list, text};
use crate::run::{Done, run};

/// Two GPUs whose copies share a link.
const SHARED: &str = "link root 300MB/s; \
    device 0000:05:00.0; h2d 200MB/s 100us; d2h 160MB/s 100us; over root; \
    device 0000:c1:00.0; h2d 200MB/s 100us; d2h 160MB/s 100us; over root";

fn document(kind: &Kind, devices: &str, args: &[&str]) -> Result<Value, Box<dyn Error>> {
    let ended = kind.described(devices, &[args, &["--json", "-"]].concat())?;
    proof::document(&ended)
}

/// The rate of a rank in a case, bytes a nanosecond.
fn rate(document: &Value, case: &str, rank: usize) -> Result<f64, Box<dyn Error>> {
    let found =
        list(document, "/cases").iter().find(|found| text(found, "/id") == case).ok_or("no such case")?;
    let outcome = &found["ranks"][rank]["outcome"];
    let rate = outcome["summary"]["bytes_per_s"].as_f64().ok_or_else(|| format!("{case}: {outcome}"))?;
    Ok(rate / 1e9)
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.01, "{found:.4} GB/s, not {expected}");
}

#[test]
fn each_direction_has_the_rate_and_latency_described() -> Done {
    for kind in kinds::tried() {
        let args = [
            "--gpus",
            "0",
            "--size",
            "64KiB,4MiB",
            "--reps",
            "10",
            "--direction",
            "h2d,d2h",
            "--timing",
            "device",
        ];
        let document = document(&kind, SHARED, &args)?;
        let expected = |bytes: f64, rate: f64| bytes / (bytes / rate + 100e3);
        for (direction, rate_of) in [("h2d", 0.2), ("d2h", 0.16)] {
            for bytes in [65_536, 4_194_304] {
                let case = format!("alone/pinned/{direction}/{bytes}");
                close(rate(&document, &case, 0)?, expected(f64::from(bytes), rate_of));
            }
        }
    }
    Ok(())
}

#[test]
fn two_gpus_at_once_share_the_link_that_both_need() -> Done {
    for kind in kinds::tried() {
        let args =
            ["--gpus", "0,1", "--size", "4MiB", "--reps", "6", "--direction", "h2d", "--order", "both"];
        let document = document(&kind, SHARED, &args)?;
        for rank in [0, 1] {
            close(rate(&document, "alone/pinned/h2d/4194304", rank)?, 0.199);
        }
        let together = list(&document, "/cases").iter().find(|case| text(case, "/order") == "simultaneous");
        let together = together.ok_or("no simultaneous case")?;
        assert_eq!(text(together, "/status"), "measured", "{}", together["reason"]);
        for rank in [0, 1] {
            close(rate(&document, text(together, "/id"), rank)?, 0.1495);
        }
    }
    Ok(())
}

#[test]
fn several_gpus_are_also_measured_alone_for_a_moment_unless_the_user_says_how_they_are() -> Done {
    let kind = kinds::tried().into_iter().next().ok_or("a driver")?;
    let plain = ["--gpus", "0,1", "--size", "4MiB", "--direction", "h2d"];

    let brief = document(&kind, SHARED, &plain)?;
    let alone =
        list(&brief, "/cases").iter().find(|case| text(case, "/order") == "alone").ok_or("no case alone")?;
    for rank in [0, 1] {
        let outcome = format!("/ranks/{rank}/outcome");
        assert_eq!(text(alone, &format!("{outcome}/stop_reason")), "brief");
        assert_eq!(alone.pointer(&format!("{outcome}/summary/blocks")), Some(&Value::from(6)));
    }
    assert_eq!(text(&brief, "/settings/order"), "both");
    let verdicts = list(&brief, "/penalties").iter().map(|penalty| text(penalty, "/comparison/verdict"));
    assert_eq!(verdicts.collect::<Vec<_>>(), ["lower", "lower"]);

    for asked in [&["--order", "simultaneous"][..], &["--reps", "6"], &["--precision", "2%"]] {
        let document = document(&kind, SHARED, &[&plain[..], asked].concat())?;
        assert_eq!(text(&document, "/settings/order"), "simultaneous", "{asked:?}");
        assert_eq!(list(&document, "/cases").len(), 1, "{asked:?}");
    }
    Ok(())
}

#[test]
fn the_simulated_lumi_g_is_the_machine_of_the_fixture() -> Done {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fixture = root.join("crates/topo/tests/fixtures/lumi-g.xml").display().to_string();
    let machine = run(&["topo", "--json", "--input", &fixture]).well().json()?;
    let gpus = list(&machine, "/gpus");
    let described = fs::read_to_string(root.join("tests/replay/lumi-g.devices"))?;
    let after = |key: &'static str| {
        described.lines().filter_map(move |line| line.strip_prefix(key)?.strip_prefix(' '))
    };
    assert!(after("device").eq(gpus.iter().map(|gpu| text(gpu, "/pci"))), "the addresses, in PCI order");
    let nodes = gpus.iter().map(|gpu| gpu["locality"]["nodes"][0].to_string());
    assert!(after("host-node").map(str::to_owned).eq(nodes), "the node of each GPU");
    for (line, node) in after("node").zip(list(&machine, "/nodes")) {
        let pus = node["pus"]
            .as_array()
            .ok_or("a node has PUs")?
            .iter()
            .filter_map(Value::as_u64)
            .collect::<Vec<_>>();
        let [first, .., last] = pus[..] else { return Err("a node has PUs".into()) };
        let (begins, ends) = (format!("{} {first}-", node["os_index"]), format!("-{last}"));
        assert!(line.starts_with(&begins) && line.ends_with(&ends), "{line}: {pus:?}");
    }
    Ok(())
}
