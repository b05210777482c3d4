//! `numabench matrix`: rows and columns from arguments to document; the CPU's own accesses on this machine's
//! memory, GPUs on the stand-in driver, four nodes in the guest. Some 500 lines because they are tests of one
//! command.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::driver::{self, Driver};
use crate::guest::{guest_with, take};
use crate::kinds::{self, Kind};
use crate::proof::{self, case_ids, list, number, results, text};
use crate::run::{Done, Ended, end, is_whole, run, with_driver};

/// `numabench matrix` on the stand-in, with devices whose rates are described.
fn described(kind: &Kind, devices: &str, args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let told = [("FAKE_DEVICES", devices.to_owned()), ("LD_PRELOAD", kind.library()?)];
    Ok(end(with_driver(&kind.folder()?).args(["matrix", "--backend", kind.name]).envs(told), args))
}

/// The median rate of each place in each case, GB/s: (case, PU, device).
fn rates(document: &Value) -> BTreeMap<(String, u64, String), f64> {
    let rate = |row: &Value| {
        let key = (text(row, "/case").to_owned(), number(row, "/pu"), text(row, "/device").to_owned());
        Some((key, row["median_bytes_per_s"].as_f64()? / 1e9))
    };
    list(document, "/rows").iter().filter_map(rate).collect()
}

#[test]
fn without_a_gpu_every_access_of_every_row_is_measured_placed_and_verified() -> Done {
    let args =
        ["matrix", "--backend", "host", "--access", "read,write,copy,load", "--range", "1MiB", "--reps", "6"];
    let ended = run(&[&args[..], &["--threads", "1", "--json", "-"]].concat());
    let document = proof::document(&ended)?;
    assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
    let ids = case_ids(&document);
    for id in [
        "alone/pageable/read/1048576",
        "alone/pageable/write/1048576",
        "alone/pageable/copy/1048576",
        "alone/pageable/load/64",
    ] {
        assert!(ids.contains(&id.to_owned()), "{id}: {ids:?}");
    }
    for result in results(&document) {
        assert_eq!(text(result, "/outcome/status"), "measured", "{result:#}");
        assert_eq!(result["verification"]["checked"], true);
        let place = &document["ranks"][number(result, "/rank") as usize]["asked"];
        for moment in ["seen_before", "seen_after"] {
            let pages = list(&result[moment], "/host_pages/value");
            assert!(pages.len() == 1 && pages[0]["node"] == place["memory_node"], "{moment}: {result:#}");
            assert_eq!(result[moment]["pu"]["value"], place["pu"], "{moment}");
        }
    }
    let load =
        list(&document, "/cases").iter().find(|case| text(case, "/direction") == "load").ok_or("no load")?;
    let ns = load["ranks"][0]["outcome"]["summary"]["median_ns"].as_f64().ok_or("no time")?;
    // Of one load, not of a thousand: a cache answers in more than a tenth of a nanosecond, memory in less
    // than 20 µs.
    assert!((0.1..20_000.0).contains(&ns), "{ns} ns");
    assert!(!list(&document, "/verdict").is_empty(), "{}", document["verdict"]);
    let table = run(&[&args[..], &["--threads", "1"]].concat());
    let has = |parts: [&str; 2]| table.out.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(has([" ns ", "load"]) && has(["read", "CPU"]), "{}", table.out);
    Ok(())
}

#[test]
fn what_a_matrix_wrote_is_compared_and_exported_like_any_result() -> Done {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("m.json").display().to_string();
    let args = [
        "matrix",
        "--backend",
        "host",
        "--access",
        "read",
        "--range",
        "1MiB",
        "--reps",
        "60",
        "--threads",
        "1",
    ];
    run(&[&args[..], &["--json", &file]].concat());
    let csv = run(&["export", "--to", "csv", &file]).well().out;
    assert!(csv.contains("alone/pageable/read/1048576"), "{csv}");
    let compared = run(&["compare", &file, &file, "--json", "-"]);
    // One noisy run against itself: the same or undecided, and never a case that is not matched.
    assert!(matches!(compared.code, Some(0 | 6)), "{}{}", compared.out, compared.err);
    let document = compared.json()?;
    assert_eq!(
        (list(&document, "/missing").len(), list(&document, "/cases").is_empty()),
        (0, false),
        "{document:#}"
    );
    Ok(())
}

#[test]
fn a_dry_run_names_rows_columns_and_figures_and_measures_nothing() {
    let plan = run(&["matrix", "--backend", "host", "--dry-run"]).well().out;
    for words in
        ["row       node 0: PU ", "memory on node 0", "columns   node 0", "load latency over", "read, "]
    {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    run(&["matrix", "--rows", "socket"]).refused(2, &["node, l3 or core"]);
    run(&["matrix", "--backend", "host", "--range", "100TiB"]).refused(2, &["smaller --range"]);
}

/// Two GPUs, one at half the rate of the other.
const UNEQUAL: &str =
    "device 0000:05:00.0; h2d 10GB/s 1us; d2h 8GB/s 1us; device 0000:c1:00.0; h2d 5GB/s 1us; d2h 4GB/s 1us";

#[test]
fn every_row_is_measured_against_every_gpu_in_each_direction() -> Done {
    for kind in kinds::tried() {
        let args = [
            "--rows",
            "core",
            "--size",
            "4MiB",
            "--memory",
            "pinned,pageable",
            "--reps",
            "12",
            "--json",
            "-",
        ];
        let ended = described(&kind, UNEQUAL, &args)?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        let rows = list(&document, "/matrices/0/rows").iter().filter(|row| row["reason"].is_null()).count();
        let ids = case_ids(&document);
        assert_eq!(ids.len(), 5, "pageable memory has no case of both directions at once: {ids:?}");
        assert_eq!(results(&document).count(), rows * 2 * 5);
        for ((case, _, device), rate) in rates(&document) {
            let want =
                match (case.contains("pinned/h2d"), case.contains("pinned/d2h"), device == "0000:05:00.0") {
                    (true, _, true) => 10.0,
                    (true, _, false) => 5.0,
                    (_, true, true) => 8.0,
                    (_, true, false) => 4.0,
                    _ => continue,
                };
            assert!((rate / want - 1.0).abs() < 0.03, "{case} {device}: {rate} GB/s, not {want}");
        }
        assert!(
            text(&document, "/verdict/0").contains("difference:") || rows == 1,
            "{}",
            document["verdict"]
        );
    }
    Ok(())
}

/// Every PU of this machine stands for node 0, where one device is.
const NEAR_LOADS: &str = "node 0 0-1023; device 0000:05:00.0; host-node 0; h2d 10GB/s 1us; loads 700ns \
    1100ns; device 0000:06:00.0; host-node 1; h2d 10GB/s 1us; loads 700ns 1100ns";

/// Copies one way and loads of 4 MiB, on the stand-in.
fn with_latency(kind: &Kind, faults: &str, more: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let told = [
        ("FAKE_DEVICES", NEAR_LOADS.to_owned()),
        ("FAKE_PUS", "seen".to_owned()),
        ("FAKE_FAULTS", faults.to_owned()),
        ("LD_PRELOAD", kind.library()?),
    ];
    let args = ["matrix", "--backend", kind.name, "--rows", "core", "--size", "1MiB", "--direction", "h2d"];
    let mut command = with_driver(&kind.folder()?);
    Ok(end(command.args(args).args(["--latency", "--range", "4MiB", "--reps", "12"]).envs(told), more))
}

/// The results of the loads of a matrix.
fn loads(document: &Value) -> Vec<&Value> {
    let cases = list(document, "/cases").iter().filter(|case| text(case, "/direction") == "load");
    cases.flat_map(|case| list(case, "/ranks")).collect()
}

#[test]
fn the_latency_of_loads_stands_beside_the_copies_in_the_same_places() -> Done {
    for kind in &kinds::tried() {
        let document = proof::document(&with_latency(kind, "", &["--json", "-"])?)?;
        assert_eq!(document["status"], "complete", "{}", document["status_reason"]);
        let (rows, columns) = (list(&document, "/matrices/0/rows").len(), 2);
        assert_eq!(list(&document, "/matrices").len(), 1, "one matrix has both");
        assert_eq!(list(&document, "/ranks").len(), rows * columns, "and no place twice");
        assert_eq!(results(&document).count(), 2 * rows * columns);
        let found = loads(&document);
        assert_eq!(found.len(), rows * columns);
        for result in found {
            let place = &document["ranks"][number(result, "/rank") as usize]["asked"];
            let ns = if place["device"] == "0000:05:00.0" { 700.0 } else { 1100.0 };
            for figure in ["median_ns", "p99_ns"] {
                let found = result["outcome"]["summary"][figure].as_f64().ok_or("no time")?;
                assert!((found / ns - 1.0).abs() < 0.01, "{figure}: {found} ns, not {ns}");
            }
            assert_eq!(result["verification"]["checked"], true);
            assert_eq!(
                result["seen_before"]["host_pages"]["value"][0]["node"], place["memory_node"],
                "{result:#}"
            );
            assert_eq!(result["seen_before"]["pu"]["value"], place["pu"], "{result:#}");
        }
        let shown = with_latency(kind, "", &[])?;
        for words in
            ["load by the GPU, random order over 4 MiB, ns a load", "700.0 █", "1100 ▒", "H2D, 1 MiB"]
        {
            assert!(shown.out.contains(words), "{words}: {}", shown.out);
        }
        for (range, why) in [("100TiB", "loads go over"), ("400GiB", "copied and loaded from")] {
            let large = described(kind, UNEQUAL, &["--latency", "--range", range])?;
            large.refused(2, &[why, "smaller", "--range"]);
        }
    }
    Ok(())
}

#[test]
fn loads_that_were_not_all_made_are_no_number_and_the_copies_are() -> Done {
    for kind in &kinds::tried() {
        let ended = with_latency(kind, "kernels chase-stops", &["--json", "-"])?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(3), "{}", document["status_reason"]);
        assert!(
            loads(&document).iter().all(|result| text(result, "/outcome/status") == "invalid"),
            "{document:#}"
        );
        let measured =
            results(&document).filter(|result| text(result, "/outcome/status") == "measured").count();
        assert_eq!(measured, loads(&document).len(), "one direction of every place");
    }
    Ok(())
}

#[test]
fn where_no_kernel_can_be_loaded_the_missing_latency_is_said_once() -> Done {
    const WHY: &str = kinds::NO_KERNEL;
    for kind in kinds::tried().iter().filter(|kind| kind.name == "hip") {
        let ended = with_latency(kind, kinds::NO_COMPILER, &["--json", "-"])?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(3), "what was asked for is missing: {}", document["status_reason"]);
        for result in loads(&document) {
            assert_eq!(text(result, "/outcome/status"), "skipped", "{result}");
            assert!(text(result, "/outcome/reason").contains(WHY), "{result}");
        }
        let said =
            list(&document, "/verdict").iter().filter_map(Value::as_str).filter(|said| said.contains(WHY));
        let said: Vec<&str> = said.collect();
        assert!(
            matches!(said[..], [one] if one.starts_with("load") && one.contains("(skipped:")),
            "{said:?}"
        );
        let shown =
            with_latency(kind, kinds::NO_COMPILER, &[])?.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(shown.matches(&format!("every cell skipped: {WHY}")).count(), 1, "{shown}");
        assert!(shown.contains("H2D,"), "{shown}");
    }
    Ok(())
}

#[test]
fn without_a_gpu_the_latency_is_that_of_a_cores_loads_and_at_once_there_is_none() -> Done {
    let args = [
        "matrix",
        "--backend",
        "host",
        "--access",
        "read",
        "--threads",
        "1",
        "--range",
        "1MiB",
        "--reps",
        "6",
    ];
    let document = proof::document(&run(&[&args[..], &["--latency", "--json", "-"]].concat()))?;
    let ids = case_ids(&document);
    for id in ["alone/pageable/read/1048576", "alone/pageable/load/64"] {
        assert!(ids.contains(&id.to_owned()), "{id}: {ids:?}");
    }
    run(&["matrix", "--latency", "--concurrent"])
        .refused(2, &["--latency", "cannot be used with", "--concurrent"]);
    Ok(())
}

#[test]
fn gpus_of_a_row_at_once_share_what_they_share() -> Done {
    let devices = "link root 10GB/s; device 0000:05:00.0; h2d 10GB/s 1us; d2h 10GB/s 1us; over root 1; \
                   device 0000:c1:00.0; h2d 10GB/s 1us; d2h 10GB/s 1us; over root 1";
    for kind in kinds::tried() {
        let args = ["--size", "4MiB", "--direction", "h2d", "--reps", "60", "--concurrent", "--json", "-"];
        let ended = described(&kind, devices, &args)?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        for case in list(&document, "/cases") {
            assert_eq!((text(case, "/order"), text(case, "/status")), ("simultaneous", "measured"), "{case}");
            assert!(case["overlap"].as_f64().is_some_and(|overlap| overlap >= 0.95));
        }
        for ((case, _, device), rate) in rates(&document) {
            assert!((rate / 5.0 - 1.0).abs() < 0.05, "{case} {device}: {rate} GB/s, not half of 10");
        }
    }
    Ok(())
}

#[test]
fn a_corrupt_copy_ends_a_matrix_with_4() -> Done {
    for kind in kinds::tried() {
        let mut command = with_driver(&kind.folder()?);
        command.args(["matrix", "--backend", kind.name]).env("FAKE_FAULTS", "corrupt * 70001");
        let ended = end(
            &mut command,
            ["--size", "1MiB", "--reps", "6", "--gpus", "0", "--direction", "h2d", "--json", "-"],
        );
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(4), "{}", document["status_reason"]);
    }
    Ok(())
}

/// A GPU at node 3 and one at node 1, whose copies from elsewhere share a slow link: 12 GB/s near, 3 GB/s
/// from afar.
const NEAR_AND_FAR: &str = "says a machine whose nodes are 4 times apart; repeats skip; \
    node 0 0-1; node 1 2-3; node 2 4-5; node 3 6-7; link far 3GB/s; \
    device 0000:c1:00.0; host-node 3; h2d 12GB/s 1us; d2h 12GB/s 1us; over far 1 remote; \
    device 0000:c9:00.0; host-node 1; h2d 12GB/s 1us; d2h 12GB/s 1us; over far 1 remote";

#[test]
fn in_a_guest_of_four_nodes_the_matrix_ranks_them_as_told() -> Done {
    let library = format!(
        "{}:/opt/libamdhip64.so.7",
        driver::stand_in(Driver::Hip)?.join("libamdhip64.so.7").display()
    );
    let script = format!(
        "export LD_LIBRARY_PATH=/opt FAKE_PUS=seen FAKE_DEVICES='{NEAR_AND_FAR}'\n\
         run gpus env LD_PRELOAD=/opt/libamdhip64.so.7 numabench matrix --backend hip --size 1MiB \
         --direction h2d,d2h --reps 10 --json -\n\
         unset LD_PRELOAD\n\
         run memory numabench matrix --backend host --access load,read --range 256KiB --threads 1 --reps 8 \
         --json -\n"
    );
    let Some(mut all) = guest_with("lumig", &[&library], &script)? else { return Ok(()) };
    let ended = take(&mut all, "gpus")?;
    let document = proof::document(&ended)?;
    assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
    let place = |row: &Value| (number(row, "/memory_node"), text(row, "/device").to_owned());
    for row in list(&document, "/rows") {
        let rate = row["median_bytes_per_s"].as_f64().ok_or("no rate")? / 1e9;
        let near = matches!(place(row), (3, ref device) if device == "0000:c1:00.0")
            || matches!(place(row), (1, ref device) if device == "0000:c9:00.0");
        let want = if near { 12.0 } else { 3.0 };
        assert!((rate / want - 1.0).abs() < 0.03, "{rate} GB/s, not {want}: {row}");
    }
    assert_eq!(list(&document, "/rows").len(), 4 * 2 * 2);
    let said: Vec<&str> = list(&document, "/verdict").iter().filter_map(Value::as_str).collect();
    assert!(said[0].contains("matters: up to 4.0x"), "{said:?}");
    assert!(said.iter().any(|sentence| sentence.starts_with("GPU 0: node 3 is 4.0x")), "{said:?}");
    assert!(said.iter().any(|sentence| sentence.starts_with("GPU 1: node 1 is 4.0x")), "{said:?}");

    let ended = take(&mut all, "memory")?;
    let document = proof::document(&ended)?;
    assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
    assert_eq!(list(&document, "/rows").len(), 4 * 4 * 2);
    for result in results(&document) {
        let asked = &document["ranks"][number(result, "/rank") as usize]["asked"];
        assert_eq!(
            result["seen_before"]["host_pages"]["value"][0]["node"], asked["memory_node"],
            "{result:#}"
        );
    }
    Ok(())
}

/// What `numabench matrix` asked of the driver, by the stand-in's count.
struct Asked(BTreeMap<String, usize>);

impl Asked {
    fn of(counted: &str) -> Self {
        let counts = counted.lines().filter_map(|line| line.split_once(' '));
        Self(counts.filter_map(|(name, count)| Some((name.to_owned(), count.parse().ok()?))).collect())
    }

    fn count(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or(0)
    }
}

/// Passes of the runs below, and how often memory is made anew in as many (METHOD, "Blocks and intervals": at
/// passes 0 and 4).
const PASSES: usize = 5;
const FRESH: usize = 2;

#[test]
fn in_a_guest_of_eight_nodes_and_gpus_memory_is_pinned_for_each_node_and_a_context_made_for_each_gpu() -> Done
{
    let library = driver::stand_in(Driver::Cuda)?.join("libcuda.so.1");
    let device =
        |at| format!("device 0000:{at:02x}:00.0; memory 1GiB; h2d 12GB/s 1us; d2h 10GB/s 1us; loads 5us 5us");
    // Nodes and GPUs, and whether loads are measured too. Eight take an emulated machine minutes.
    let all = &[(2, false), (8, false), (2, true), (4, true)][..];
    let runs = if is_whole() { all } else { &[(2, false), (4, false)] };
    let mut script = "echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/job\n\
                      export LD_LIBRARY_PATH=/opt FAKE_PUS=seen LD_PRELOAD=/opt/libcuda.so.1\n"
        .to_owned();
    for (number, &(size, with_loads)) in runs.iter().enumerate() {
        let devices: Vec<String> = (1..=size).map(device).collect();
        let last = size - 1;
        let latency = if with_loads { "--latency --range 1MiB" } else { "" };
        script += &format!(
            "echo 0-{last} >$job/cpuset.cpus; echo 0-{last} >$job/cpuset.mems\n\
             export FAKE_CALLS=/tmp/calls FAKE_DEVICES='repeats skip; {}'\n\
             run matrix-{number} in_job numabench matrix --backend cuda --size 1MiB --direction h2d,d2h \
             {latency} --reps {PASSES} --json -\n\
             unset FAKE_CALLS\n\
             run calls-{number} cat /tmp/calls\n",
            devices.join("; ")
        );
    }
    let Some(mut all) = guest_with("eight", &[&format!("{}:/opt/libcuda.so.1", library.display())], &script)?
    else {
        return Ok(());
    };
    let mut per_cell = Vec::new();
    for (number, &(size, with_loads)) in runs.iter().enumerate() {
        let ended = take(&mut all, &format!("matrix-{number}"))?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        let (cells, loads) = (size * size, usize::from(with_loads));
        assert_eq!(list(&document, "/rows").len(), cells * (2 + loads), "every cell has both directions");
        assert!(results(&document).all(|result| list(result, "/blocks").len() == PASSES), "{size}");
        let asked = Asked::of(&take(&mut all, &format!("calls-{number}"))?.out);
        // Each node has the source and the destination of its copies, and what is loaded from; they go from
        // GPU to GPU.
        let (pinned, ranges) = (asked.count("cuMemHostRegister"), (2 + loads) * size);
        assert_eq!(pinned, ranges * FRESH, "of {size} nodes: {:?}", asked.0);
        assert_eq!(asked.count("contexts"), size, "one for each GPU: {:?}", asked.0);
        let at_most = asked.count("pinned-at-most");
        assert!((ranges << 20..(ranges + 1) << 20).contains(&at_most), "{at_most} bytes of {size} nodes");
        // A node's copies are on one GPU at a time.
        let areas = asked.count("areas-at-most");
        let kernels = 9000 * asked.count("cuDevicePrimaryCtxRetain");
        assert!(
            (1 << 20..(size << 20) + kernels).contains(&areas),
            "{areas} bytes on {size} GPUs: {:?}",
            asked.0
        );
        // What is made once for a cell's copies and once for its loads, whatever the number of their blocks.
        for (name, most) in [
            ("cuDevicePrimaryCtxRetain", 1),
            ("cuModuleLoadData", 1),
            ("cuMemHostAlloc", 2),
            ("cuStreamCreate", 2),
        ] {
            assert!(
                asked.count(name) <= most * (1 + loads) * cells,
                "{name} of {cells} cells: {:?}",
                asked.0
            );
        }
        let calls = asked.0.iter().filter(|(name, _)| name.starts_with("cu") && !name.ends_with("Query"));
        per_cell.push(calls.map(|(_, count)| *count).sum::<usize>() as f64 / cells as f64);
    }
    for of_a_cell in per_cell.chunks(2) {
        assert!(of_a_cell[1] <= of_a_cell[0] * 1.05, "calls of a cell, by number: {per_cell:?}");
    }
    Ok(())
}

#[test]
fn in_a_guest_memory_without_cpus_and_cpus_without_memory_are_labelled_rows() -> Done {
    let script = "run plan numabench matrix --backend host --dry-run\n\
                  run odd numabench matrix --backend host --access load --range 256KiB --reps 8 --json -\n";
    let Some(mut all) = guest_with("odd", &[], script)? else { return Ok(()) };
    let plan = take(&mut all, "plan")?.well().out;
    assert!(plan.contains("node 3: not measured: it has CPUs and no memory"), "{plan}");
    assert!(plan.contains("it has memory and no CPUs: measured from PU"), "{plan}");
    let document = proof::document(&take(&mut all, "odd")?)?;
    let rows = list(&document, "/matrices/0/rows");
    assert_eq!(rows.len(), 5, "no node is left out");
    assert_eq!(text(&rows[3], "/reason"), "it has CPUs and no memory");
    assert!(
        text(&rows[4], "/note").starts_with("it has memory and no CPUs: measured from PU"),
        "{}",
        rows[4]
    );
    let from = number(&rows[4], "/memory_node");
    assert_eq!(from, 4);
    assert!(results(&document).all(|result| text(result, "/outcome/status") == "measured"));
    Ok(())
}
