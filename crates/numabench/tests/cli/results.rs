//! Commands that read documents: what they print, refuse and end with, on documents that this binary wrote.
//! Some 650 lines because they share those documents.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::driver;
use crate::run::{Done, end, numabench, run, with_driver};

/// A document of a short run on host memory.
fn measured(folder: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let path = folder.join("measured.json");
    let args =
        ["--size", "1MiB", "--direction", "h2d", "--max-time", "1s", "--gpus", "0", "--quiet", "--json"];
    let ended = end(numabench().args(["pingpong", "--backend", "host"]).args(args), [&path]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    Ok(path)
}

/// Blocks of a document that is compared: a busy machine measures fewer in its time than say anything.
const BLOCKS: usize = 20;

/// The document with as many blocks as say something, all times multiplied by `factor`, and each block's by
/// up to a tenth of a per cent more.
fn slowed(from: &Path, to: &Path, factor: f64) -> Done {
    let mut document: Value = serde_json::from_slice(&fs::read(from)?)?;
    let scale = |value: &mut Value, by: f64| {
        if let Some(number) = value.as_f64() {
            *value = json!(number * by);
        }
    };
    for case in document["cases"].as_array_mut().into_iter().flatten() {
        for result in case["ranks"].as_array_mut().into_iter().flatten() {
            let steady = result["outcome"]["summary"]["median_ns"].as_f64().unwrap_or(1.0);
            if let Some(measured) = result["blocks"].as_array_mut() {
                *measured = measured.iter().cycle().take(BLOCKS).cloned().collect();
            }
            for (at, block) in result["blocks"].as_array_mut().into_iter().flatten().enumerate() {
                let rounds = block["rounds"].as_f64().unwrap_or(1.0)
                    * block["copies_per_round"].as_f64().unwrap_or(1.0);
                block["elapsed_ns"] = json!(steady * rounds * factor * (1.0 + at as f64 * 1e-5));
            }
            scale(&mut result["outcome"]["summary"]["median_ns"], factor);
            scale(&mut result["outcome"]["summary"]["median_bytes_per_s"], 1.0 / factor);
        }
    }
    for row in document["rows"].as_array_mut().into_iter().flatten() {
        scale(&mut row["median_ns"], factor);
        for rate in ["median_bytes_per_s", "value"] {
            scale(&mut row[rate], 1.0 / factor);
        }
    }
    Ok(fs::write(to, serde_json::to_vec(&document)?)?)
}

#[test]
fn a_comparison_ends_with_what_it_found() -> Done {
    let folder = tempfile::tempdir()?;
    let measured = measured(folder.path())?;
    let (base, slow) = (folder.path().join("base"), folder.path().join("slow"));
    for (side, factor) in [(&base, 1.0), (&slow, 1.1)] {
        fs::create_dir(side)?;
        for (at, of_run) in [1.0, 1.001, 0.999].into_iter().enumerate() {
            slowed(&measured, &side.join(format!("{at}.json")), factor * of_run)?;
        }
    }
    let compare =
        |base: &Path, new: &Path, more: &[&str]| end(numabench().arg("compare").args([base, new]), more);
    let same = compare(&base, &base, &[]).well();
    assert!(same.out.starts_with("SAME:"), "{}", same.out);

    let regressed = compare(&base, &slow, &[]);
    assert_eq!(regressed.code, Some(5), "{}{}", regressed.out, regressed.err);
    assert!(regressed.out.starts_with("REGRESSED:") && regressed.out.contains(" 9.1 "), "{}", regressed.out);
    assert_eq!(compare(&base, &slow, &["--fail-on", "none"]).code, Some(0));
    assert_eq!(compare(&slow, &base, &[]).code, Some(0), "an improvement is no fault");
    assert_eq!(compare(&slow, &base, &["--fail-on", "improved"]).code, Some(5));
    assert_eq!(compare(&base, &slow, &["--threshold", "20%"]).code, Some(0), "less than what matters");

    // One run against one suspects.
    let (one, other) = (base.join("0.json"), slow.join("0.json"));
    let suspect = compare(&one, &other, &[]);
    assert_eq!(suspect.code, Some(6), "{}{}", suspect.out, suspect.err);
    assert!(
        suspect.out.starts_with("SUSPECT:") && suspect.out.contains("assumes the deviation between runs"),
        "{}",
        suspect.out
    );
    assert_eq!(compare(&one, &other, &["--fail-on", "suspect"]).code, Some(5));
    assert_eq!(
        compare(&other, &one, &["--fail-on", "suspect"]).code,
        Some(6),
        "faster, as far as one run tells"
    );
    assert_eq!(
        compare(&one, &other, &["--threshold", "9%"]).code,
        Some(6),
        "too near to the threshold to say"
    );

    let json = compare(&base, &slow, &["--json", "-"]).json()?;
    assert_eq!(json["counts"]["regressed"], 1);
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../analysis/schema/comparison-v1.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema)?)?;
    let faults: Vec<String> =
        jsonschema::validator_for(&schema)?.iter_errors(&json).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    let markdown = compare(&base, &slow, &["--markdown"]).out;
    let row =
        markdown.lines().find(|line| line.starts_with('|') && line.contains("REGRESSED")).unwrap_or_default();
    assert!(
        markdown.starts_with("**REGRESSED") && row.contains("H2D,") && row.contains("pageable"),
        "{markdown}"
    );
    Ok(())
}

#[test]
fn folders_are_sides_and_what_is_no_document_is_left_out_and_said() -> Done {
    let folder = tempfile::tempdir()?;
    let measured = measured(folder.path())?;
    let (base, new) = (folder.path().join("base"), folder.path().join("new"));
    for (side, factors) in [(&base, [1.0, 1.001, 0.999]), (&new, [1.2, 1.201, 1.199])] {
        fs::create_dir(side)?;
        for (at, factor) in factors.into_iter().enumerate() {
            slowed(&measured, &side.join(format!("{at}.json")), factor)?;
        }
    }
    fs::write(new.join("other.json"), "{}")?;
    let ended = end(&mut numabench(), [Path::new("compare"), &base, &new]);
    assert_eq!(ended.code, Some(5), "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("other.json"), "{}{}", ended.out, ended.err);
    let json = end(numabench().args(["compare", "--json", "-"]), [&base, &new]).json()?;
    assert_eq!(
        (json["base"].as_array().map(Vec::len), json["new"].as_array().map(Vec::len)),
        (Some(3), Some(3))
    );
    Ok(())
}

#[test]
fn two_folders_of_nodes_say_in_every_form_which_node_got_worse_by_itself() -> Done {
    let folder = tempfile::tempdir()?;
    let measured = measured(folder.path())?;
    for side in ["before", "after"] {
        fs::create_dir(folder.path().join(side))?;
        for host in 0..10 {
            let file = folder.path().join(side).join(format!("{host}.json"));
            let slower = if side == "after" && host == 7 { 2.0 } else { 1.0 };
            slowed(&measured, &file, slower * (1.0 + 0.001 * f64::from(host)))?;
            let text = fs::read_to_string(&file)?;
            let own = serde_json::from_str::<Value>(&text)?["environment"]["hostname"].to_string();
            fs::write(&file, text.replace(&own, &format!("\"h{host}\"")))?;
        }
    }
    let path = |side: &str| folder.path().join(side).display().to_string();
    let compare = |more: &[&str]| run(&[&["compare", &path("before"), &path("after")], more].concat());
    let said = "Node by node: 1 of 10 got worse by themselves (measure them again): h7";
    let ended = compare(&[]);
    let text = ended.out;
    assert!(text.contains(said), "{text}");
    let first = text.lines().next().unwrap_or_default();
    let answer = "SUSPECT: 1 of 10 nodes got worse by itself. SAME: ";
    assert!(first.starts_with(answer) && ended.code == Some(6), "the answer first: {text}");
    let markdown = compare(&["--markdown"]).out;
    let row = markdown.lines().find(|line| line.starts_with("| h7")).unwrap_or_default();
    assert!(
        row.contains("\\*-50.0") && markdown.lines().any(|line| line.starts_with("**Node")),
        "{markdown}"
    );
    let json = compare(&["--json", "-"]).json()?;
    assert_eq!(
        (&json["nodes"]["rows"][0]["host"], json["nodes"]["rows"].as_array().map(Vec::len)),
        (&json!("h7"), Some(10))
    );
    let column = &json["nodes"]["columns"][0]["name"];
    assert_eq!(&json["nodes"]["rows"][0]["worse"][0], column);
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../analysis/schema/comparison-v1.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema)?)?;
    assert!(jsonschema::validator_for(&schema)?.is_valid(&json), "{json:#}");
    Ok(())
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_way_out() -> Done {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(folder.path().join("broken.json"), "{")?;
    fs::write(
        folder.path().join("newer.json"),
        r#"{"schema": "numabench.result", "schema_version": "2.0"}"#,
    )?;
    fs::create_dir(folder.path().join("empty"))?;
    let compare = |name: &str| run(&["compare", &path(name), &path(name)]);
    let refused =
        ["absent.json", "broken.json", "newer.json", "empty"].map(|name| compare(name).refused(2, &[]).err);
    let threshold = run(&["compare", "a", "b", "--threshold", "fast"]).refused(2, &[]).err;
    let said = refused.concat().replace(&folder.path().display().to_string(), "FOLDER");
    insta::assert_snapshot!(said + threshold.lines().next().unwrap_or_default(), @r#"
    numabench: error: cannot read FOLDER/absent.json: No such file or directory (os error 2)
    numabench: error: FOLDER/broken.json: this is not JSON (EOF while parsing an object at line 1 column 1): give a file that `numabench pingpong --json FILE` wrote
    numabench: error: FOLDER/newer.json: the document follows schema 2.0; this numabench reads 1.x: read it with the numabench that wrote it, or a newer one
    numabench: error: FOLDER/empty holds no result document: give a folder of files that `numabench pingpong --json` wrote
    error: invalid value 'fast' for '--threshold <PERCENT[,PERCENT]>': "fast" is not a percentage: give one above 0 and below 100, e.g. 3%
    "#);
    Ok(())
}

#[test]
fn a_document_is_exported_and_one_expression_reaches_a_figure() -> Done {
    let folder = tempfile::tempdir()?;
    let measured = measured(folder.path())?;
    let document: Value = serde_json::from_slice(&fs::read(&measured)?)?;
    let rate = document["rows"][0]["median_bytes_per_s"].as_f64().ok_or("rows[0] has the rate")?;
    let csv = end(&mut numabench(), [Path::new("export"), &measured, Path::new("--to"), Path::new("csv")])
        .well()
        .out;
    assert_eq!(csv.lines().count(), 2, "{csv}");
    assert!(csv.contains(&rate.to_string()), "{csv}");
    let file = folder.path().join("metrics.prom");
    end(numabench().arg("export").arg(&measured), ["--to", "openmetrics", "-o", &file.display().to_string()])
        .well();
    assert!(fs::read_to_string(file)?.ends_with("EOF\n"));
    for form in ["bmf", "gha", "gha-smaller", "junit", "influx"] {
        let ended = end(numabench().arg("export").arg(&measured), ["--to", form]).well();
        assert!(!ended.out.is_empty(), "{form}");
    }
    Ok(())
}

/// Two GPUs, the second at half the first's rate.
const UNLIKE_TWINS: &str = "device 0000:05:00.0; h2d 400MB/s 10us; d2h 400MB/s 10us; device 0000:c1:00.0; \
    h2d 200MB/s 10us; d2h 200MB/s 10us";

/// The binary with devices whose rates are described, in the stand-in's virtual time.
fn described(devices: &str) -> Result<assert_cmd::Command, Box<dyn std::error::Error>> {
    let folder = driver::fake()?;
    let mut command = with_driver(&folder);
    command.env("FAKE_DEVICES", devices).env("LD_PRELOAD", folder.join(driver::Driver::Cuda.library()));
    Ok(command)
}

#[test]
fn a_gpu_at_half_the_rate_of_its_twin_is_named_in_the_first_lines_and_fails_the_run_if_asked() -> Done {
    let run = |size: &str, more: &[&str]| -> Result<crate::run::Ended, Box<dyn std::error::Error>> {
        let args = [
            "pingpong",
            "--backend",
            "cuda",
            "--gpus",
            "0,1",
            "--order",
            "alone",
            "--size",
            size,
            "--reps",
            "10",
        ];
        let mut command = described(UNLIKE_TWINS)?;
        command.args(args).args(["--direction", "h2d", "--timing", "device"]);
        Ok(end(&mut command, more))
    };
    let told = run("1MiB", &[])?;
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    let first: String = told.out.lines().take(8).collect::<Vec<_>>().join(" ");
    assert!(["SLOWER", "0000:c1:00.0", " 50 "].iter().all(|part| first.contains(part)), "{}", told.out);
    let failed = run("1MiB", &["--fail-on", "slower-twin", "--json", "-"])?;
    assert_eq!(failed.code, Some(5), "{}", failed.err);
    let document = failed.json()?;
    assert_eq!((&document["exit_code"], &document["status"]), (&json!(5), &json!("complete")));
    assert_eq!(document["slower_twins"][0]["device"], "0000:c1:00.0");

    // Copies of 64 KiB are not compared.
    let undecided = run("64KiB", &["--fail-on", "slower-twin", "--json", "-"])?;
    assert_eq!(undecided.code, Some(6), "{}", undecided.err);
    let document = undecided.json()?;
    assert_eq!((&document["exit_code"], &document["status"]), (&json!(6), &json!("complete")));
    let first = document["verdict"][0].as_str().unwrap_or_default();
    assert!(first.starts_with("--fail-on slower-twin is not decided"), "{first}");
    Ok(())
}

/// Four GPUs, of which the third copies at half the others' rates, to the host and to other GPUs.
fn half_of_one_in_four() -> String {
    let one = |address: &str, rate: u32, between: u32| {
        format!(
            "device {address}; memory 256MiB; h2d {rate}GB/s 1ns; d2h {rate}GB/s 1ns; peer {between}GB/s \
             1ns; within 900GB/s 1ns; peers 0 1 2 3; "
        )
    };
    let like = |address| one(address, 50, 300);
    let all =
        [like("0000:18:00.0"), like("0000:28:00.0"), one("0000:38:00.0", 25, 150), like("0000:48:00.0")];
    format!("repeats skip; {}", all.concat())
}

#[test]
fn a_gpu_at_half_the_rates_of_its_twins_is_named_by_every_command_that_measures_links_and_marked_in_its_picture()
-> Done {
    let folder = tempfile::tempdir()?;
    let size = ["--size", "16MiB", "--reps", "6"];
    for (command, more) in [
        ("matrix", &size[..]),
        ("contend", &size),
        ("peer", &size),
        ("suite", &["--within", "10s", "--reps", "6"]),
    ] {
        let file = folder.path().join(format!("{command}.json"));
        let mut run = described(&half_of_one_in_four())?;
        run.args([command, "--backend", "cuda", "--json"]).arg(&file);
        let told = end(&mut run, more);
        // A suite reads this machine's own memory too, and where others work on it that part may come to
        // nothing.
        let ended_well = told.code == Some(0) || (command == "suite" && told.code == Some(3));
        assert!(ended_well, "{command}: {}{}", told.out, told.err);
        let words = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = "SLOWER TWIN: GPU 2 (0000:38:00.0) is 50 % slower than its 3 twins";
        assert!(
            words.contains(named) && words.matches("SLOWER TWIN").count() == 1,
            "{command}: {}",
            told.out
        );
        let document: Value = serde_json::from_slice(&fs::read(&file)?)?;
        assert_eq!(document["slower_twins"][0]["device"], "0000:38:00.0", "{command}");
        let page = folder.path().join(format!("{command}.html"));
        end(&mut numabench(), [Path::new("report"), &file, Path::new("-o"), &page]).well();
        let html = fs::read_to_string(&page)?;
        assert!(html.contains("class=\"verdict finding\">GPU 2 (0000:38:00.0)"), "{command}: {html}");
        let picture = folder.path().join(format!("{command}.svg"));
        let with = [Path::new("topo"), Path::new("--svg"), &picture, Path::new("--with"), &file];
        end(&mut numabench(), with).well();
        let svg = fs::read_to_string(&picture)?;
        assert!(svg.contains("▼"), "{command}: {svg}");
    }
    Ok(())
}

#[test]
fn a_prologue_finds_the_slow_gpu_and_says_what_it_measured_by() -> Done {
    let folder = tempfile::tempdir()?;
    let check = |devices: &str, more: &[&str]| -> Result<crate::run::Ended, Box<dyn std::error::Error>> {
        let mut command = described(devices)?;
        command.args(["check", "--bandwidth", "--timeout", "50s"]);
        Ok(end(&mut command, more))
    };
    let like = UNLIKE_TWINS.replace("200MB/s", "400MB/s");
    let well = check(&like, &[])?;
    assert_eq!(well.code, Some(0), "{}{}", well.out, well.err);
    assert!(well.out.contains("well;"), "{}", well.out);
    let found = check(UNLIKE_TWINS, &["--json"])?;
    assert_eq!(found.code, Some(5), "{}{}", found.out, found.err);
    let document = found.json()?;
    assert_eq!((&document["gate"], &document["passes"]), (&json!("finding"), &json!(3)));
    assert_eq!(document["slower_twins"][0]["device"], "0000:c1:00.0");
    fs::write(folder.path().join("baseline.json"), "{}")?;
    let against = folder.path().join("baseline.json").display().to_string();
    check(&like, &["--against", &against])?.refused(2, &["baseline.json", "numabench.baseline"]);
    run(&["check", "--bandwidth"]).refused(77, &["a GPU was asked for"]);
    Ok(())
}

#[test]
fn a_report_is_one_file_that_asks_for_nothing() -> Done {
    let folder = tempfile::tempdir()?;
    let measured = measured(folder.path())?;
    let (base, slow) = (folder.path().join("base.json"), folder.path().join("slow.json"));
    let file = folder.path().join("report.html");
    slowed(&measured, &base, 1.0)?;
    slowed(&measured, &slow, 1.1)?;
    end(&mut numabench(), [Path::new("report"), &base, &slow, Path::new("-o"), &file]).well();
    let html = fs::read_to_string(&file)?;
    assert!(html.starts_with("<!DOCTYPE") && html.contains("SUSPECT:"), "{html}");
    assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("href="), "{html}");
    Ok(())
}

#[test]
fn every_schema_is_printed_and_is_one() -> Done {
    let kinds = ["result", "place", "trial", "mpi", "imported", "comparison", "baseline", "gate", "history"];
    for kind in kinds.into_iter().chain(["doctor", "topology", "topology-diff", "check"]) {
        let schema = run(&["schema", kind]).well().json()?;
        assert!(jsonschema::meta::is_valid(&schema), "{kind}");
        assert_eq!(schema["properties"]["schema"]["const"], format!("numabench.{kind}"));
    }
    Ok(())
}

#[test]
fn what_topo_and_check_print_follows_the_schemas_that_are_printed() -> Done {
    let machine =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures/lumi-g.xml").display().to_string();
    for (kind, version, args) in [
        ("topology", "1.3", &["topo", "--json"][..]),
        ("topology", "1.3", &["topo", "--json", "--input", &machine]),
        ("topology-diff", "1.2", &["topo", "diff", "--json", &machine, &machine]),
        ("check", "1.1", &["check", "--json"]),
    ] {
        let document = run(args).json()?;
        let schema = run(&["schema", kind]).well().json()?;
        let faults: Vec<String> = jsonschema::validator_for(&schema)?
            .iter_errors(&document)
            .map(|fault| fault.to_string())
            .collect();
        assert!(faults.is_empty(), "{args:?}: {faults:?}");
        assert_eq!(
            (&document["schema"], &document["schema_version"]),
            (&json!(format!("numabench.{kind}")), &json!(version))
        );
    }
    Ok(())
}

#[test]
fn an_imported_output_is_a_document_that_the_other_commands_read() -> Done {
    let folder = tempfile::tempdir()?;
    let outputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../render/tests/results/outputs");
    let path = |name: &str| outputs.join(name).display().to_string();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let import = |program: &str, from: &[String], to: &str| {
        end(
            numabench().args(["import", program]).args(from),
            ["-o", &file(to), "--started-at", "2026-11-22T14:01:28Z"],
        )
    };
    let ended = import("nvbandwidth", &[path("nvbandwidth.json")], "nv.json");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("verified"), "{}", ended.err);
    let first =
        ended.err.lines().next().and_then(|line| line.strip_prefix("numabench: ")).unwrap_or_default();
    assert!(
        first.starts_with("Normal for ")
            || first.starts_with("Low for ")
            || first.starts_with("No figure known"),
        "{first}"
    );
    assert_eq!(import("osu", &[path("osu_latency.txt"), path("osu_bw.txt")], "osu.json").code, Some(0));
    assert_eq!(import("transferbench", &[path("transferbench-config.txt")], "tb.json").code, Some(0));
    for name in ["nv.json", "osu.json", "tb.json"] {
        let document: Value = serde_json::from_slice(&fs::read(file(name))?)?;
        crate::proof::follows(&document, "imported-v1.json")?;
        assert_eq!(run(&["compare", &file(name), &file(name)]).code, Some(6), "single figures do not decide");
        assert!(run(&["export", &file(name), "--to", "csv"]).well().out.contains(",imported,"));
        run(&["report", &file(name), "-o", &file("report.html")]).well();
        let not_verified = document["verdict"][1].as_str().ok_or("a verdict")?;
        assert!(fs::read_to_string(file("report.html"))?.contains(not_verified));
    }
    let failed = import("nvbandwidth", &[path("nvbandwidth-out-of-memory.txt")], "failed.json");
    assert_eq!(failed.code, Some(1), "{}", failed.err);
    run(&["import", "osu", &path("nvbandwidth.txt")])
        .refused(2, &["nvbandwidth.txt", "not the output of OSU"]);
    run(&["import", "osu", &path("osu_bw.txt"), "--started-at", "today"])
        .refused(2, &["today", "not a time in UTC"]);
    run(&["report", &file("nv.json"), &file("tb.json"), "-o", &file("both.html")]).well();
    let ours = measured(folder.path())?.display().to_string();
    run(&["report", &file("nv.json"), &ours, "-o", &file("both.html")])
        .refused(2, &["one kind", "result, imported"]);
    run(&["compare", &ours, &file("nv.json")]).refused(2, &["no case in common"]);
    Ok(())
}

#[test]
fn a_comparison_holds_both_sides_against_reference_figures_and_decides_nothing_by_it() {
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery");
    let path = |name: &str| gallery.join(name).display().to_string();
    let same = run(&["compare", &path("kernels.json"), &path("kernels.json")]).well().out;
    assert!(same.starts_with("SAME: "), "{same}");
    assert!(same.contains("base, new: Normal for NVIDIA H100 80GB HBM3: "), "{same}");
    let unknown = run(&["compare", &path("mpi.json"), &path("mpi.json")]).well().out;
    assert!(unknown.contains("base, new: No figure known to hold these against: "), "{unknown}");
    // Of simulated devices nothing is said.
    let simulated =
        run(&["compare", &path("history/2026-11-15.json"), &path("history/2026-11-15.json")]).well().out;
    assert!(!simulated.contains("base, new:"), "{simulated}");
}

#[test]
fn an_mpi_document_is_compared_exported_and_shown() -> Done {
    let folder = tempfile::tempdir()?;
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../render/tests/results/documents");
    let path = |name: &str| documents.join(name).display().to_string();
    let found = run(&["compare", &path("mpi-1.0-aware.json"), &path("mpi-1.0-not-aware.json")]);
    assert_eq!(found.code, Some(5), "{}{}", found.out, found.err);
    assert!(found.out.contains("MISSING") && found.out.contains(" 1024 "), "{}", found.out);
    assert!(
        run(&["export", &path("mpi-1.0-aware.json"), "--to", "csv"])
            .well()
            .out
            .contains("gpu-aware/ping-pong/8388608")
    );
    let file = folder.path().join("mpi.html").display().to_string();
    run(&["report", &path("mpi-1.0-aware.json"), "-o", &file]).well();
    assert!(fs::read_to_string(file)?.contains("<summary>Operations"));
    let baseline = folder.path().join("baseline.json").display().to_string();
    let refused = run(&["baseline", &path("mpi-1.0-aware.json"), "-o", &baseline]).refused(2, &[]).err;
    insta::assert_snapshot!(refused.replace(&path("mpi-1.0-aware.json"), "FILE"), @"numabench: error: FILE: \
        it is a document of kind MPI: give documents that `numabench pingpong --json` wrote");
    Ok(())
}

#[test]
fn a_folder_of_runs_tells_the_day_on_which_a_figure_fell() -> Done {
    let folder = tempfile::tempdir()?;
    let measured = measured(folder.path())?;
    let runs = folder.path().join("runs");
    fs::create_dir(&runs)?;
    for day in 1..=28 {
        let path = runs.join(format!("{day:02}.json"));
        slowed(&measured, &path, if day < 15 { 1.0 } else { 1.1 } + f64::from(day % 3) * 1e-3)?;
        let mut document: Value = serde_json::from_slice(&fs::read(&path)?)?;
        document["started_at"] = json!(format!("2026-02-{day:02}T03:00:00.000Z"));
        document["environment"]["probes"][0] = json!({
            "name": "kernel.release", "value": if day < 15 { "6.1" } else { "6.12" }, "source": "uname", "reason": null
        });
        fs::write(&path, serde_json::to_vec(&document)?)?;
    }
    let found = end(&mut numabench(), [Path::new("history"), &runs]);
    assert_eq!(found.code, Some(5), "{}{}", found.out, found.err);
    let lines = |parts: [&str; 2]| found.out.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(
        lines(["2026-02-15T03:00:00.000Z", " 9.1 "]) && lines(["kernel.release:", " 6.12"]),
        "{}",
        found.out
    );
    assert_eq!(end(numabench().args(["history", "--by", "gpu"]), [&runs]).code, Some(5));

    let drifting = folder.path().join("drifting");
    fs::create_dir(&drifting)?;
    for day in 1..=28 {
        let path = drifting.join(format!("{day:02}.json"));
        slowed(&measured, &path, 1.0 + 0.005 * f64::from(day) + 0.002 * f64::from(day * 7 % 5))?;
        let mut document: Value = serde_json::from_slice(&fs::read(&path)?)?;
        document["started_at"] = json!(format!("2026-02-{day:02}T03:00:00.000Z"));
        fs::write(&path, serde_json::to_vec(&document)?)?;
    }
    let drift = end(&mut numabench(), [Path::new("history"), &drifting]);
    assert_eq!(drift.code, Some(5), "{}{}", drift.out, drift.err);
    assert!(drift.out.contains("a slow drift"), "{}", drift.out);
    Ok(())
}

#[test]
fn one_run_named_several_times_is_one_run() -> Done {
    let folder = tempfile::tempdir()?;
    let measured = measured(folder.path())?;
    let (base, new) = (folder.path().join("base.json"), folder.path().join("new.json"));
    slowed(&measured, &base, 1.0)?;
    slowed(&measured, &new, 1.2)?;
    let list = |path: &Path| format!("{0},{0}", path.display());

    let args = ["--more-base", &list(&base), "--more-new", &list(&new)];
    let found = end(numabench().arg("compare").args([&base, &new]), args);
    assert_eq!(found.code, Some(6), "one run a side suspects: {}{}", found.out, found.err);
    assert!(found.out.starts_with("SUSPECT:") && found.err.contains("counts once"), "{}", found.err);

    let twelve = end(numabench().arg("history"), [&base; 12]);
    assert_eq!(twelve.code, Some(0), "{}{}", twelve.out, twelve.err);
    assert!(twelve.out.starts_with("Nothing was searched in 1 run: "), "{}", twelve.out);
    Ok(())
}

#[test]
fn a_pipe_or_an_endless_device_in_a_documents_place_is_refused_at_once() -> Done {
    let folder = tempfile::tempdir()?;
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status()?.success());
    let pipe = pipe.display().to_string();
    let page = folder.path().join("report.html").display().to_string();
    let mut said = BTreeSet::new();
    for path in [pipe.as_str(), "/dev/zero"] {
        for command in [
            &["compare", path, path][..],
            &["export", "--to", "csv", path],
            &["report", "-o", &page, path],
            &["history", path],
            &["trial", "--resume", path],
            &["check", "--bandwidth", "--against", path],
        ] {
            let ended = end(numabench().timeout(std::time::Duration::from_secs(20)), command);
            said.insert(ended.refused(2, &[]).err.replace(path, "FILE"));
        }
        let line = format!("mpirun -n 2 --rankfile {path} ./app");
        let ended =
            end(numabench().timeout(std::time::Duration::from_secs(20)), ["check", "--launch", &line]);
        said.insert(ended.refused(6, &[path]).err.replace(path, "FILE"));
        // A program that is none is no wrapper that says something of places.
        let ended = end(
            numabench().timeout(std::time::Duration::from_secs(20)),
            ["check", "--launch", &format!("srun -n 1 {path} ./app")],
        );
        assert!(ended.code.is_some(), "{path}: {}", ended.err);
    }
    insta::assert_snapshot!(said.into_iter().collect::<String>(), @"
    numabench: error: --launch: the rankfile FILE cannot be read: it is a device, not a regular file; to read what another program writes, give - and pipe it to standard input
    numabench: error: --launch: the rankfile FILE cannot be read: it is a pipe, not a regular file; to read what another program writes, give - and pipe it to standard input
    numabench: error: cannot read FILE: it is a device, not a regular file; to read what another program writes, give - and pipe it to standard input
    numabench: error: cannot read FILE: it is a pipe, not a regular file; to read what another program writes, give - and pipe it to standard input
    ");
    Ok(())
}

#[test]
fn nothing_of_a_document_steers_the_terminal_or_the_reader_of_a_page_or_fills_a_screen() -> Done {
    let folder = tempfile::tempdir()?;
    let path = measured(folder.path())?;
    let hostile = format!("a\u{1b}[31m\u{9b}2J\u{202e}gnp.exe{}", "b".repeat(20_000));
    let mut document: Value = serde_json::from_slice(&fs::read(&path)?)?;
    for row in document["rows"].as_array_mut().into_iter().flatten() {
        for field in ["host", "device", "device_name", "case", "reason"] {
            row[field] = json!(hostile);
        }
    }
    for at in [
        "/environment/hostname",
        "/devices/0/name",
        "/ranks/0/host",
        "/argv/0",
        "/cases/0/id",
        "/nodes/0/host",
        "/verdict/0",
        "/messages/0/text",
    ] {
        if let Some(text) = document.pointer_mut(at) {
            *text = json!(hostile);
        }
    }
    fs::write(&path, serde_json::to_vec(&document)?)?;
    let name = path.display().to_string();
    let clean = |what: &str, text: &str| {
        let steers = |c: char| (c.is_control() && !matches!(c, '\n' | '\t' | '\r')) || c == '\u{202e}';
        assert!(!text.chars().any(steers), "{what}: {text:?}");
    };
    for form in ["csv", "openmetrics", "influx", "junit"] {
        let ended = run(&["export", &name, "--to", form]);
        clean(form, &format!("{}{}", ended.out, ended.err));
    }
    let page = folder.path().join("page.html").display().to_string();
    let ended = run(&["report", &name, "-o", &page]);
    clean("report", &format!("{}{}", ended.out, ended.err));
    clean("the page", &fs::read_to_string(&page)?);
    for args in [
        &["compare", &name, &name][..],
        &["compare", &name, &name, "--markdown"],
        &["history", &name],
        &["place", "--from", &name],
    ] {
        let ended = run(args);
        let told = format!("{}{}", ended.out, ended.err);
        clean(args[0], &told);
        let longest = told.lines().map(|line| line.chars().count()).max();
        // Markdown is read by a program, which shows a line of any length.
        assert!(longest <= Some(1600) || args.contains(&"--markdown"), "{}: {longest:?}", args[0]);
    }
    // A name of a file is others' text too.
    let odd = folder.path().join("b\u{1b}[31m.json");
    fs::write(&odd, "{}")?;
    let ended = end(numabench().args(["export", "--to", "csv"]), [&odd]);
    clean("a file's name", &ended.err);
    Ok(())
}
