//! `numabench sweep`, `contend` and `suite` on stand-in drivers whose rates are described: what they find
//! must be what the driver was told.

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::proof::{self, list, number, text};
use crate::run::{Done, Ended, end, run, with_driver};

/// A command on the stand-in, with devices whose rates are described.
fn described(
    kind: &Kind,
    devices: &str,
    command: &str,
    args: &[&str],
) -> Result<Ended, Box<dyn std::error::Error>> {
    let told = [("FAKE_DEVICES", devices.to_owned()), ("LD_PRELOAD", kind.library()?)];
    Ok(end(with_driver(&kind.folder()?).args([command, "--backend", kind.name]).envs(told), args))
}

fn findings(document: &Value) -> Vec<&str> {
    list(document, "/verdict").iter().filter_map(Value::as_str).collect()
}

#[test]
fn a_sweep_finds_the_latency_and_the_rate_that_the_device_was_told() -> Done {
    let device = "device 0000:05:00.0; h2d 20GB/s 8us; d2h 10GB/s 5us";
    for kind in kinds::tried() {
        let args = ["--size", "4KiB..4MiB", "--reps", "60", "--timing", "device", "--json", "-"];
        let ended = described(&kind, device, "sweep", &args)?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        let fits = list(&document, "/fits");
        assert_eq!(fits.len(), 2, "{}", document["fits"]);
        for (fit, latency, rate) in [(&fits[0], 8e3, 20e9), (&fits[1], 5e3, 10e9)] {
            let of = |name: &str| fit[name].as_f64().unwrap_or(0.0);
            assert!((of("latency_ns") / latency - 1.0).abs() < 0.05, "{fit}");
            assert!((of("bytes_per_s") / rate - 1.0).abs() < 0.02, "{fit}");
            assert!(list(fit, "/dips").is_empty(), "{fit}");
        }
        assert!(
            findings(&document)[0].starts_with("H2D,") && findings(&document)[0].contains(" 8."),
            "{:?}",
            findings(&document)
        );
    }
    run(&["sweep", "--backend", "host", "--dry-run"]).well();
    Ok(())
}

/// Four GPUs: 0 and 1 behind one link, 2 and 3 behind another.
const TWO_LINKS: &str = "link left 12GB/s; link right 30GB/s; \
    device 0000:01:00.0; h2d 10GB/s 1us; d2h 10GB/s 1us; over left 1; \
    device 0000:02:00.0; h2d 10GB/s 1us; d2h 10GB/s 1us; over left 1; \
    device 0000:03:00.0; h2d 10GB/s 1us; d2h 10GB/s 1us; over right 1; \
    device 0000:04:00.0; h2d 10GB/s 1us; d2h 10GB/s 1us; over right 1";

#[test]
fn gpus_at_once_lose_what_their_link_lacks_and_the_smallest_set_that_loses_is_named() -> Done {
    for kind in kinds::tried() {
        let args = ["--size", "4MiB", "--direction", "h2d", "--reps", "60", "--json", "-"];
        let ended = described(&kind, TWO_LINKS, "contend", &args)?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        for case in list(&document, "/cases").iter().filter(|case| text(case, "/order") == "simultaneous") {
            assert!(case["overlap"].as_f64().is_some_and(|overlap| overlap >= 0.95), "{case}");
            for rank in list(case, "/ranks") {
                let rate = rank["outcome"]["summary"]["median_bytes_per_s"].as_f64().ok_or("no rate")? / 1e9;
                let want = if number(rank, "/rank") < 2 { 6.0 } else { 10.0 };
                assert!((rate / want - 1.0).abs() < 0.05, "{}: {rate}, not {want}", text(case, "/id"));
            }
        }
        let said = findings(&document);
        assert!(["0-3", " 31.9 ", " 80 "].iter().all(|part| said[0].contains(part)), "{said:?}");
        assert!(["smallest", " 0-1,", " 12."].iter().all(|part| said[1].contains(part)), "{said:?}");
        insta::assert_snapshot!("contention", proof::without_figures(said[1]));
        let penalties = list(&document, "/penalties");
        assert!(!penalties.is_empty());
        for penalty in penalties {
            let ratio = penalty["comparison"]["ratio"].as_f64().ok_or("no ratio")?;
            let want = if number(penalty, "/rank") < 2 { 0.6 } else { 1.0 };
            assert!((ratio - want).abs() < 0.05, "{penalty}");
        }
    }
    Ok(())
}

#[test]
fn gpus_that_share_nothing_lose_nothing() -> Done {
    let devices = "device 0000:01:00.0; h2d 10GB/s 1us; d2h 10GB/s 1us; device 0000:02:00.0; h2d 10GB/s 1us; \
        d2h 10GB/s 1us";
    for kind in kinds::tried() {
        let args = ["--size", "4MiB", "--direction", "h2d", "--reps", "60", "--json", "-"];
        let document = proof::document(&described(&kind, devices, "contend", &args)?)?;
        assert!(findings(&document)[0].contains("contention:"), "{:?}", findings(&document));
    }
    Ok(())
}

#[test]
fn ranks_that_share_a_gpu_share_its_rate() -> Done {
    let device = "device 0000:01:00.0; h2d 12GB/s 1us; d2h 12GB/s 1us";
    for kind in kinds::tried() {
        let args =
            ["--ranks-per-gpu", "3", "--size", "4MiB", "--direction", "h2d", "--reps", "60", "--json", "-"];
        let ended = described(&kind, device, "contend", &args)?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        let sum = |ranks: &str| {
            let case = list(&document, "/cases").iter().find(|case| text(case, "/group") == ranks)?;
            case["aggregate"]["sum_bytes_per_s"].as_f64().map(|sum| sum / 1e9)
        };
        for ranks in ["2 ranks", "3 ranks"] {
            let sum = sum(ranks).ok_or(ranks)?;
            assert!((sum / 12.0 - 1.0).abs() < 0.1, "{ranks}: {sum} GB/s together");
        }
    }
    let alone = described(&kinds::tried()[0], device, "contend", &["--dry-run"])?;
    alone.refused(77, &["the PCI bus shows no"]);
    Ok(())
}

#[test]
fn ranks_on_each_of_several_gpus_share_their_own_gpus_rate_and_the_path_of_all() -> Done {
    let devices = "link root 18GB/s; device 0000:01:00.0; h2d 12GB/s 1us; d2h 12GB/s 1us; over root; \
                   device 0000:02:00.0; h2d 12GB/s 1us; d2h 12GB/s 1us; over root";
    let args =
        ["--ranks-per-gpu", "2", "--size", "4MiB", "--direction", "h2d", "--reps", "60", "--json", "-"];
    let document = proof::document(&described(&kinds::tried()[0], devices, "contend", &args)?)?;

    let gpus: Vec<&str> = list(&document, "/ranks").iter().map(|rank| text(rank, "/asked/device")).collect();
    let [first, second] = ["0000:01:00.0", "0000:02:00.0"];
    assert_eq!(gpus, [first, second, first, second], "a first rank for every GPU, then a second one");
    let groups: Vec<&str> = list(&document, "/cases").iter().map(|case| text(case, "/group")).collect();
    assert_eq!(groups, ["alone", "1 rank on each of 2 GPUs", "2 ranks on each of 2 GPUs"]);
    assert_eq!(list(&document, "/cases/0/ranks").len(), 4, "each rank has its own figure alone");
    for case in &list(&document, "/cases")[1..] {
        let sum = case["aggregate"]["sum_bytes_per_s"].as_f64().ok_or("no sum")? / 1e9;
        assert!((sum / 18.0 - 1.0).abs() < 0.1, "{}: {sum} GB/s together", text(case, "/group"));
    }
    assert!(findings(&document)[1].contains("1 rank on each of 2 GPUs"), "{:?}", findings(&document));

    let twice = ["--ranks-per-gpu", "2", "--gpus", "0,0,1", "--reps", "6"];
    described(&kinds::tried()[0], devices, "contend", &twice)?.refused(2, &["--ranks-per-gpu"]);
    Ok(())
}

#[test]
fn traffic_beside_copies_is_measured_with_them_and_without_them() -> Done {
    if std::thread::available_parallelism()?.get() < 2 {
        crate::run::skipped("a thread beside copies needs a PU of its own, and this machine has one");
        return Ok(());
    }
    for kind in kinds::tried() {
        let mut command = with_driver(&kind.folder()?);
        command.args([
            "contend",
            "--backend",
            kind.name,
            "--gpus",
            "0",
            "--beside",
            "read",
            "--beside-cpus",
            "1",
        ]);
        let args = [
            "--size",
            "1MiB",
            "--direction",
            "h2d",
            "--range",
            "1MiB",
            "--reps",
            "20",
            "--timing",
            "host",
            "--json",
            "-",
        ];
        let ended = end(&mut command, args);
        let document = proof::document(&ended)?;
        let groups: Vec<&str> = list(&document, "/cases").iter().map(|case| text(case, "/group")).collect();
        assert_eq!(
            groups,
            ["alone", "1 thread without copies", "beside 1 thread", "beside 1 thread"],
            "{groups:?}"
        );
        let ways: Vec<&str> = list(&document, "/cases").iter().map(|case| text(case, "/direction")).collect();
        assert_eq!(ways, ["h2d", "read", "h2d", "read"]);
        for case in &list(&document, "/cases")[..2] {
            assert_eq!(text(case, "/status"), "measured", "{case:#}");
        }
    }
    // Rows and columns that have nothing to do with a table are not in it: no figure is made up for them.
    let kind = &kinds::tried()[0];
    let mut command = with_driver(&kind.folder()?);
    command.args([
        "contend",
        "--backend",
        kind.name,
        "--gpus",
        "0",
        "--beside",
        "read",
        "--beside-cpus",
        "1",
    ]);
    let shown =
        end(&mut command, ["--size", "1MiB", "--direction", "h2d", "--range", "1MiB", "--reps", "20"]).out;
    let copies =
        shown.split("H2D, 1 MiB").nth(1).and_then(|rest| rest.split("\n\n").next()).ok_or("no table")?;
    assert!(copies.contains("beside") && !copies.contains("without"), "{shown}");
    assert!(!copies.contains("threads") && !copies.contains("0.0000"), "{shown}");
    Ok(())
}

#[test]
fn threads_beside_copies_are_compared_with_the_same_threads_without_in_one_direction_as_in_two() -> Done {
    if std::thread::available_parallelism()?.get() < 2 {
        crate::run::skipped("a thread beside copies needs a PU of its own, and this machine has one");
        return Ok(());
    }
    let shared = ["alone", "beside 1 thread", "without copies (1 thread)", "beside h2d copies (1 thread)"];
    let rows = [("h2d", &[][..]), ("h2d,d2h", &["beside d2h copies (1 thread)"][..])];
    for (kind, (directions, more)) in kinds::tried().iter().flat_map(|kind| rows.map(|row| (kind, row))) {
        let mut command = with_driver(&kind.folder()?);
        command.args([
            "contend",
            "--backend",
            kind.name,
            "--gpus",
            "0",
            "--beside",
            "read",
            "--beside-cpus",
            "1",
        ]);
        command
            .args(["--size", "1MiB", "--range", "1MiB", "--reps", "20", "--timing", "host", "--json", "-"]);
        let document = proof::document(&end(&mut command, ["--direction", directions]))?;
        let rows = list(&document, "/matrices/0/rows");
        // What threads get is held against the first row of the same threads.
        let names: Vec<&str> = rows.iter().map(|row| text(row, "/name")).collect();
        assert_eq!(names, [&shared[..], more].concat(), "{directions}");
        let groups: Vec<&str> = list(&document, "/cases").iter().map(|case| text(case, "/group")).collect();
        assert!(rows.iter().all(|row| groups.contains(&text(row, "/group"))), "{rows:?}: {groups:?}");
        let of_threads: Vec<&str> =
            findings(&document).into_iter().filter(|sentence| sentence.contains("threads:")).collect();
        // One sentence, and another one where a busy machine left a row that cannot be compared; which is
        // right is tested on given figures.
        assert!(!of_threads.is_empty(), "{directions}");
        assert!(of_threads.iter().all(|sentence| sentence.starts_with("read,")), "{of_threads:?}");
    }
    Ok(())
}

#[test]
fn a_thread_beside_copies_has_a_pu_of_its_own() {
    let beside = ["contend", "--backend", "host", "--beside", "read", "--cpus", "0", "--beside-cpus"];
    let refused = |pus: &str| run(&[&beside[..], &[pus]].concat());
    refused("0").refused(2, &["--beside-cpus names PU 0, which copies", "--cpus"]);
    refused("0,0").refused(2, &["--beside-cpus names PU 0 twice"]);
    run(&["latency", "--loaded", "--beside-cpus", "0,0"]).refused(2, &["--beside-cpus names PU 0 twice"]);
}

/// What tells rows of a document apart, as docs/results.md says.
const ROW_KEY: [&str; 7] = ["host", "experiment", "case", "device", "other_device", "pu", "memory_node"];

#[test]
fn a_suite_measures_memory_gpus_and_contention_in_its_time_as_one_document() -> Done {
    for (kind, gpus) in kinds::tried().iter().flat_map(|kind| [(kind, "0"), (kind, "0,1")]) {
        let mut command = with_driver(&kind.folder()?);
        command.args(["suite", "--backend", kind.name, "--within", "6s", "--gpus", gpus, "--json", "-"]);
        let document = end(&mut command, [""; 0]).json()?;
        proof::valid(&document)?;
        let titles: Vec<&str> =
            list(&document, "/matrices").iter().map(|matrix| text(matrix, "/title")).collect();
        if gpus == "0" {
            insta::allow_duplicates! { insta::assert_snapshot!(titles.join("\n"), @"
            host memory and GPUs
            GPU to GPU, one way
            cores and memory
            ") }
        } else {
            insta::allow_duplicates! { insta::assert_snapshot!(titles.join("\n"), @"
            host memory and GPUs
            GPU to GPU, one way
            GPU to GPU, bidirectional, per direction
            at once
            cores and memory
            ") }
        }
        let loads = list(&document, "/cases").iter().filter(|case| text(case, "/direction") == "load");
        assert!(loads.clone().any(|case| text(case, "/memory") == "pinned"), "the GPUs' loads");
        for matrix in list(&document, "/matrices") {
            let ranks = list(matrix, "/columns/0/ranks");
            assert!(
                !ranks.is_empty()
                    && ranks.iter().all(|rank| rank.as_u64() < Some(list(&document, "/ranks").len() as u64))
            );
        }
        let key = |row: &Value| ROW_KEY.map(|field| row[field].to_string()).join(" ");
        let mut keys: Vec<String> = list(&document, "/rows").iter().map(key).collect();
        keys.sort();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "two rows of the same place: {keys:#?}");
        assert!(
            document["elapsed_s"].as_f64().is_some_and(|elapsed| elapsed < 40.0),
            "{}",
            document["elapsed_s"]
        );
    }
    let plan = run(&["suite", "--backend", "host", "--dry-run"]).well().out;
    assert!(plan.contains("memory: read") && plan.contains(" 96 "), "{plan}");
    Ok(())
}

#[test]
fn a_screenful_is_forty_lines_where_it_is_asked_for_and_a_log_has_everything() -> Done {
    let kind = &kinds::tried()[0];
    let two = "device 0000:01:00.0; h2d 20GB/s 8us; d2h 10GB/s 5us; device 0000:02:00.0; h2d 10GB/s 8us; d2h \
        10GB/s 5us";
    // One after the other: ranks that were not at work together are told, whatever room that takes.
    let args =
        ["--size", "4B..4MiB", "--reps", "6", "--timing", "device", "--gpus", "0,1", "--order", "alone"];
    let shown = |more: &str| described(kind, two, "pingpong", &[&args[..], &[more]].concat());
    let (brief, full) = (shown("--brief")?.out, shown("--full")?.out);
    // The curve, and as many sizes as there is room for; where there is none, where they are.
    let sizes = ["GB/s of 8 of 21 sizes", "--full shows the rest: some sizes"]
        .iter()
        .any(|words| brief.contains(words));
    let has_curve = brief.lines().any(|line| line.contains("GB/s") && line.contains("over"));
    assert!(brief.lines().count() <= 40 && has_curve && sizes, "{brief}");
    assert!(brief.contains("--full") && full.lines().count() > 80, "{full}");
    assert!(
        described(kind, two, "pingpong", &args)?.out.lines().count() > 80,
        "what is no terminal has everything"
    );
    described(kind, two, "pingpong", &["--brief", "--full"])?.refused(2, &["--full"]);
    // In real time: cores that read memory do not move the stand-in's clock.
    let mut suite = with_driver(&kind.folder()?);
    suite.args(["suite", "--backend", kind.name, "--within", "4s", "--gpus", "0,1"]);
    let suite = end(&mut suite, ["--brief"]).out;
    assert!(suite.contains("GPUs:"), "{suite}");
    assert!(suite.lines().count() <= 40, "{} lines: {suite}", suite.lines().count());
    Ok(())
}

#[test]
fn a_launch_of_several_tasks_is_refused() {
    for command in ["matrix", "sweep", "contend", "suite"] {
        let mut launched = crate::run::numabench();
        launched.envs([
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("OMPI_COMM_WORLD_RANK", "0"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ]);
        let refused = end(launched.arg(command), ["--backend", "host"]).refused(2, &[]);
        insta::allow_duplicates! { insta::assert_snapshot!(refused.err, @"numabench: error: this command \
        measures a node from one process, and was launched as several: use srun -n1 --cpu-bind=none (or \
        mpirun -n 1 --bind-to none); to measure each node of a launch by itself, one task a node and \
        --json DIR/") }
    }
}
